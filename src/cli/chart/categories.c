/* What memory holds, stacked, a bar per configuration. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/chart/sweep.h"
#include "cli/frontier/csv.h"
#include "plan/rule.h"
#include "sim/predict.h"

enum { BARS = 40 };

/* Parts that are less than this of every bar are one, "other". */
static const double least_part = 0.01;

/* ---- the table ---- */

static void append_header(const struct frontier *f, struct text *out)
{
    for (size_t i = 0; i < f->n_axes; i++)
        text_printf(out, "%s,", f->axes[i].column);
    text_append(out, "verdict,total_bytes,limit_bytes");
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_printf(out, ",%s", category_name((enum category)i));
    text_append(out, "\n");
}

static void append_memory(const struct memory_report *m, struct text *out)
{
    uint64_t bytes[CATEGORY_COUNT] = {0};
    for (unsigned i = 0; i < m->n_categories; i++)
        bytes[m->categories[i].category] = m->categories[i].bytes;
    text_printf(out, "%s,%" PRIu64 ",%" PRIu64, verdict_name(m->verdict), m->total_bytes,
                m->limit_bytes);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_printf(out, ",%" PRIu64, bytes[i]);
}

static void append_invalid(struct text *out)
{
    text_append(out, "invalid,,");
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        text_append(out, ",");
}

static void append_point(const struct frontier *f, const struct frontier_csv *csv,
                         uint64_t point, struct text *out)
{
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct prediction *prediction = arena_alloc(&arena, 1, sizeof *prediction);
    const struct predict_options options = {.memory_only = true};
    char text[RULE_TEXT], hint[RULE_TEXT];
    size_t indices[SWEEP_AXES] = {0};
    struct err refused = {0};
    sweep_indices(&f->sweep, point, indices);
    sweep_plan(&f->sweep, indices, plan);
    for (size_t i = 0; i < csv->n_axes; i++)
        text_printf(out, "%s,", csv->labels[i][indices[i]]);
    if (!rule_check(plan, text, hint) &&
        predict(plan, &options, &arena, prediction, &refused) == STATUS_OK)
        append_memory(&prediction->memory, out);
    else
        append_invalid(out);
    text_append(out, "\n");
    arena_release(&arena);
}

static enum status make(const struct chart_request *request, struct chart_names *names,
                        struct picture *p, struct err *err)
{
    static const char *const defaults[] = {"workload.micro_batch=1,2,4,8", NULL};
    struct frontier f;
    struct frontier_csv csv;
    TRY(chart_frontier(request, defaults, &f, err));
    uint64_t points = sweep_points(&f.sweep);
    if (points > BARS) {
        err_set(err, STATUS_USAGE, "%" PRIu64 " bars are too many to read, at most %d", points,
                BARS);
        return err_hint(err, "sweep fewer values, for example --over workload.micro_batch="
                             "1,2,4,8");
    }
    frontier_csv_init(&csv, f.axes, f.n_axes, p->arena);
    append_header(&f, &p->data);
    for (uint64_t point = 0; point < points; point++)
        append_point(&f, &csv, point, &p->data);
    *names = chart_names_of(&f.base, p->arena);
    return STATUS_OK;
}

/* ---- the picture ---- */

struct part {
    const char *name;
    double most, share; /* bytes of any bar; of its total */
};

static void measure_parts(const struct csv *csv, struct part *parts)
{
    for (unsigned i = 0; i < CATEGORY_COUNT; i++) {
        parts[i] = (struct part){.name = category_name((enum category)i)};
        for (size_t row = 0; row < csv->n_rows; row++) {
            double bytes = chart_number(csv, row, parts[i].name);
            double total = chart_number(csv, row, "total_bytes");
            parts[i].most = fmax(parts[i].most, bytes);
            parts[i].share = fmax(parts[i].share, total > 0 ? bytes / total : 0);
        }
    }
}

static void add_parts(const struct csv *csv, struct picture *p)
{
    struct part parts[CATEGORY_COUNT];
    const char **shown = arena_alloc(p->arena, CATEGORY_COUNT + 1, sizeof *shown);
    const char **others = arena_alloc(p->arena, CATEGORY_COUNT + 1, sizeof *others);
    size_t n_shown = 0, n_others = 0;
    measure_parts(csv, parts);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (parts[i].share >= least_part)
            shown[n_shown++] = parts[i].name;
        else if (parts[i].most > 0)
            others[n_others++] = parts[i].name;
    picture_list(p, "parts", shown);
    picture_list(p, "others", others);
}

void chart_bars(const struct sweep_table *table, struct picture *p)
{
    const struct csv *csv = &table->csv;
    const char **bars = arena_alloc(p->arena, csv->n_rows + 1, sizeof *bars);
    struct text title = {.arena = p->arena};
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct text label = {.arena = p->arena};
        for (size_t i = 0; i < table->n_axes; i++)
            text_printf(&label, "%s%s", i ? ", " : "", csv_cell(csv, row, table->axes[i].name));
        bars[row] = text_string(&label);
    }
    for (size_t i = 0; i < table->n_axes; i++)
        text_printf(&title, "%s%s", i ? ", " : "", table->axes[i].name);
    picture_text(p, "x_title", text_string(&title));
    picture_list(p, "bars", bars);
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"total_bytes", "limit_bytes", "weights", "activation",
                                          NULL};
    struct sweep_table table;
    struct csv csv;
    TRY(chart_table(file, columns, chart_categories.needs, p, &csv, err));
    TRY(sweep_table_parse(file, text_string(&p->data), p->data.length, p->arena, &table, err));
    p->chart.kind = "categories";
    chart_titles(p, names, "what the memory of a rank holds");
    chart_bars(&table, p);
    add_parts(&csv, p);
    chart_limits(&table, p);
    picture_number(p, "any_oom", strstr(text_string(&p->data), ",oom,") != NULL);
    return STATUS_OK;
}

const struct chart_kind chart_categories = {
    .name = "categories",
    .summary = "what memory holds, stacked, over a key",
    .needs = "what `moeplan plot categories -o FILE.csv` writes",
    .make = make,
    .fill = fill,
    .sweeps = true,
};
