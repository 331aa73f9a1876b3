/* See bars.h. */
#include "cli/chart/bars.h"

#include <inttypes.h>

#include "cli/chart/sweep.h"
#include "cli/frontier/csv.h"
#include "plan/rule/rule.h"

enum { BARS = 40 };

static void append_point(const struct frontier *f, const struct frontier_csv *csv,
                         const struct bar_table *table, uint64_t point, struct text *out)
{
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    char text[RULE_TEXT], hint[RULE_TEXT];
    size_t indices[SWEEP_AXES] = {0};
    sweep_indices(&f->sweep, point, indices);
    sweep_plan(&f->sweep, indices, plan);
    for (size_t i = 0; i < csv->n_axes; i++)
        text_printf(out, "%s,", csv->labels[i][indices[i]]);
    if (rule_check(plan, text, hint) || !table->cells(f, plan, &arena, out))
        table->invalid(out);
    text_append(out, "\n");
    arena_release(&arena);
}

enum status chart_make_bars(const struct chart_request *request, const struct bar_table *table,
                            struct frontier *f, struct picture *p, struct err *err)
{
    static const char *const defaults[] = {"workload.micro_batch=1,2,4,8", NULL};
    struct frontier_csv csv;
    TRY(chart_frontier(request, defaults, f, err));
    uint64_t points = sweep_points(&f->sweep);
    if (points > BARS) {
        err_set(err, STATUS_USAGE, "%" PRIu64 " bars are too many to read, at most %d", points,
                BARS);
        return err_hint(err, "sweep fewer values, for example --over workload.micro_batch="
                             "1,2,4,8");
    }
    frontier_csv_init(&csv, f->axes, f->n_axes, p->arena);
    for (size_t i = 0; i < f->n_axes; i++)
        text_printf(&p->data, "%s,", f->axes[i].column);
    table->header(&p->data);
    text_append(&p->data, "\n");
    for (uint64_t point = 0; point < points; point++)
        append_point(f, &csv, table, point, &p->data);
    return STATUS_OK;
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
