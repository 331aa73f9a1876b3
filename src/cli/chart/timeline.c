/* One layer along time, a lane for each stream. */
#include "base/unit.h"
#include "cli/chart/ops.h"

/* "one moe layer of 58: 12.3 ms; the step 1.9 s" */
static const char *title(const struct csv *csv, struct arena *arena)
{
    char layer[48], step[48];
    double layers = chart_number(csv, 0, "layers");
    unit_print(layer, UNIT_SECONDS, chart_number(csv, 0, "layer_s"));
    unit_print(step, UNIT_SECONDS, chart_number(csv, 0, "step_s"));
    return arena_printf(arena, "one %s of %.0f: %s; the step %s", csv_cell(csv, 0, "layer"),
                        layers, layer, step);
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"op",      "phase",      "stream",  "part",
                                          "start_s", "duration_s", "layer_s", "layers",
                                          "step_s",  "layer",      NULL};
    struct csv csv;
    size_t n;
    TRY(chart_table(file, columns, chart_timeline.needs, p, &csv, err));
    p->chart.kind = "timeline";
    chart_titles(p, names, title(&csv, p->arena));
    picture_list(p, "streams", chart_distinct(&csv, "stream", p->arena, &n));
    picture_list(p, "parts", chart_distinct(&csv, "part", p->arena, &n));
    picture_list(p, "phases", chart_distinct(&csv, "phase", p->arena, &n));
    picture_number(p, "end_s", chart_number(&csv, 0, "layer_s"));
    return STATUS_OK;
}

const struct chart_kind chart_timeline = {
    .name = "timeline",
    .summary = "one layer along time by the profile, overlapped, a lane for each stream",
    .needs = "what `moeplan plot timeline -o FILE.csv` writes",
    .make = chart_ops_spans,
    .fill = fill,
};
