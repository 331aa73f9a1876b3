/* The ops of a layer along time, a lane per resource. */
#include "cli/chart/ops.h"

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"forward_op", "phase",      "lane", "bound",
                                          "start_s",    "duration_s", NULL};
    struct csv csv;
    size_t n;
    TRY(chart_table(file, columns, chart_timeline.needs, p, &csv, err));
    double end = 0;
    for (size_t row = 0; row < csv.n_rows; row++) {
        double start = chart_number(&csv, row, "start_s");
        double last = start + chart_number(&csv, row, "duration_s");
        end = last > end ? last : end;
    }
    p->chart.kind = "timeline";
    chart_titles(p, names, "one MoE layer, op by op");
    picture_list(p, "ops", chart_distinct(&csv, "forward_op", p->arena, &n));
    picture_list(p, "phases", chart_distinct(&csv, "phase", p->arena, &n));
    picture_number(p, "end_s", end);
    return STATUS_OK;
}

const struct chart_kind chart_timeline = {
    .name = "timeline",
    .summary = "the layer's ops along time, by FLOPs and bytes",
    .needs = "what `moeplan plot timeline -o FILE.csv` writes",
    .make = chart_ops_make,
    .fill = fill,
};
