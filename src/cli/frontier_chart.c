/* The picture of a sweep; see frontier_chart.h. */
#include "cli/frontier_chart.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"

static bool is_numeric(const struct axis *axis)
{
    for (size_t i = 0; i < axis->n_values; i++) {
        char *end;
        strtod(axis->values[i].label, &end);
        if (end == axis->values[i].label || *end)
            return false;
    }
    return true;
}

/* The last axis of numbers runs along the bottom; two axes of the same kind make a map. */
static void choose(struct frontier_chart *c)
{
    const struct frontier *f = c->frontier;
    size_t numeric = 0;
    c->x = f->n_axes - 1;
    for (size_t i = 0; i < f->n_axes; i++)
        if (is_numeric(&f->axes[i])) {
            numeric++;
            c->x = i;
        }
    c->map = f->n_axes == 2 && numeric != 1;
    for (size_t i = 0; i < f->n_axes; i++)
        if (i != c->x)
            c->y[c->n_y++] = i;
}

static void add(struct frontier_chart *c, struct chart_variable variable)
{
    c->variables[c->chart.n_variables++] = variable;
}

static const char *const *labels(const struct frontier *f, const struct axis *axis)
{
    const char **list = arena_alloc(f->arena, axis->n_values + 1, sizeof *list);
    for (size_t i = 0; i < axis->n_values; i++)
        list[i] = axis->values[i].label;
    return list;
}

/* Labels of all combinations of the axes that are not x: "deepep, 8". */
static const char *const *series(const struct frontier_chart *c)
{
    const struct frontier *f = c->frontier;
    size_t n = 1;
    for (size_t i = 0; i < c->n_y; i++)
        n *= f->axes[c->y[i]].n_values;
    const char **list = arena_alloc(f->arena, n + 1, sizeof *list);
    for (size_t k = 0; k < n; k++) {
        struct text text = {.arena = f->arena};
        size_t rest = k, each = n;
        for (size_t i = 0; i < c->n_y; i++) {
            const struct axis *axis = &f->axes[c->y[i]];
            each /= axis->n_values;
            text_printf(&text, "%s%s", i ? ", " : "", axis->values[rest / each].label);
            rest %= each;
        }
        list[k] = c->n_y ? text_string(&text) : "memory";
    }
    return list;
}

/* Powers of two and the like are drawn on a logarithmic axis. */
static bool is_geometric(const struct axis *axis)
{
    if (axis->n_values < 4)
        return false;
    double first = strtod(axis->values[0].label, NULL);
    double last = strtod(axis->values[axis->n_values - 1].label, NULL);
    double middle = strtod(axis->values[axis->n_values / 2].label, NULL);
    return first > 0 && last >= 16 * first && middle < 0.3 * last;
}

static const char *key_of(const struct frontier_chart *c, size_t i)
{
    return i < c->n_y ? c->frontier->axes[c->y[i]].column : "";
}

static void fill_curves(struct frontier_chart *c)
{
    const struct frontier *f = c->frontier;
    const double gib = 1024.0 * 1024 * 1024;
    add(c, (struct chart_variable){.name = "series_key", .text = key_of(c, 0)});
    add(c, (struct chart_variable){.name = "series_key2", .text = key_of(c, 1)});
    add(c, (struct chart_variable){.name = "series_key3", .text = key_of(c, 2)});
    add(c, (struct chart_variable){.name = "series", .list = series(c)});
    add(c, (struct chart_variable){.name = "limit_gib",
                                   .number = (double)verdict_limit(&f->base) / gib});
    add(c, (struct chart_variable){.name = "capacity_gib",
                                   .number = (double)verdict_capacity(&f->base) / gib});
    add(c, (struct chart_variable){.name = "overlay", .text = ""});
    add(c, (struct chart_variable){.name = "log_x", .number = is_geometric(&f->axes[c->x])});
}

static void fill_map(struct frontier_chart *c)
{
    const struct frontier *f = c->frontier;
    const struct axis *y = &f->axes[c->y[0]];
    add(c, (struct chart_variable){.name = "y_key", .text = y->column});
    add(c, (struct chart_variable){.name = "y_title", .text = y->column});
    add(c, (struct chart_variable){.name = "y_values", .list = labels(f, y)});
    add(c, (struct chart_variable){.name = "x_values", .list = labels(f, &f->axes[c->x])});
}

static void fill(struct frontier_chart *c)
{
    const struct frontier *f = c->frontier;
    const struct axis *x = &f->axes[c->x];
    const struct plan *plan = &f->base;
    c->chart.kind = c->map ? "map" : "memory";
    c->chart.variables = c->variables;
    add(c,
        (struct chart_variable){
            .name = "title_text",
            .text = arena_printf(f->arena, "%s on %s: %s", plan->model_name, plan->cluster_name,
                                 c->map ? "memory of a rank, GiB in the cells"
                                        : "memory of a rank against its limit")});
    add(c, (struct chart_variable){
               .name = "source_text",
               .text = arena_printf(
                   f->arena, "moeplan " MOEPLAN_VERSION ": modelled, %s; plan %s, stack %s",
                   plan->stack.static_shapes ? "worst case (static shapes)"
                                             : "p99 of routing (dynamic shapes)",
                   plan->name, plan->stack_name)});
    add(c, (struct chart_variable){.name = "x_key", .text = x->column});
    add(c, (struct chart_variable){.name = "x_title", .text = x->column});
    if (c->map)
        fill_map(c);
    else
        fill_curves(c);
}

/* FILE.csv and FILE.gp beside FILE.png; those of a terminal chart in a folder of their own. */
static enum status choose_files(struct frontier_chart *c, const char *picture, struct err *err)
{
    struct arena *arena = c->frontier->arena;
    const char *base;
    if (text_equal(picture, "-")) {
        c->folder = arena_strdup(arena, "/tmp/moeplan-XXXXXX");
        if (!mkdtemp(c->folder))
            return err_set(err, STATUS_SYSTEM, "no folder for the chart's data in /tmp");
        base = arena_printf(arena, "%s/chart", c->folder);
    } else {
        base = arena_strndup(arena, picture, (size_t)(strrchr(picture, '.') - picture));
    }
    c->chart.data = arena_printf(arena, "%s.csv", base);
    c->chart.script = arena_printf(arena, "%s.gp", base);
    return STATUS_OK;
}

enum status frontier_chart_init(struct frontier_chart *c, const struct frontier *frontier,
                                const char *picture, struct err *err)
{
    *c = (struct frontier_chart){.frontier = frontier};
    c->chart = (struct chart){.picture = picture, .columns = 96, .rows = 30};
    TRY(chart_type_of(picture, &c->chart.type, err));
    choose(c);
    fill(c);
    return choose_files(c, picture, err);
}

static enum status write_rows(const struct frontier_chart *c, const struct text *rows,
                              struct err *err)
{
    struct output output;
    TRY(output_open(&output, c->chart.data, err));
    fwrite(text_string(rows), 1, rows->length, output.file);
    return output_close(&output, err);
}

static void remove_folder(const struct frontier_chart *c)
{
    if (!c->folder)
        return;
    unlink(c->chart.data);
    unlink(c->chart.script);
    rmdir(c->folder);
}

enum status frontier_chart_finish(struct frontier_chart *c, const struct text *rows, bool only,
                                  const struct invocation *call, struct err *err)
{
    enum status status = write_rows(c, rows, err);
    if (status == STATUS_OK)
        status = chart_write(&c->chart, call->arena, err);
    if (status == STATUS_OK)
        status = chart_draw(&c->chart, call->out, err);
    remove_folder(c);
    if (status == STATUS_ABSENT && !only) {
        fprintf(stderr, "moeplan: %s; data and script are written: %s\n", err->text, err->hint);
        err_clear(err);
        return STATUS_OK;
    }
    if (status == STATUS_OK && !c->folder && only)
        fprintf(call->out, "wrote %s, %s and %s\n", c->chart.picture, c->chart.data,
                c->chart.script);
    return status;
}
