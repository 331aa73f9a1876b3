/* The ops of a layer under the device's roofs. */
#include "cli/chart/ops.h"

/* Ops without FLOPs have no place under a roof of FLOP/s; one phase each for what runs again.
 */
static const char *const *op_names(const struct csv *csv, struct arena *arena)
{
    const char **list = arena_alloc(arena, csv->n_rows + 1, sizeof *list);
    size_t n = 0;
    for (size_t row = 0; row < csv->n_rows; row++)
        if (chart_number(csv, row, "flop") > 0 && chart_number(csv, row, "bytes") > 0 &&
            text_equal(csv_cell(csv, row, "phase"), "forward"))
            list[n++] = csv_cell(csv, row, "op");
    return list;
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"forward_op",
                                          "phase",
                                          "flop",
                                          "bytes",
                                          "flop_per_byte",
                                          "roof_flop_per_s",
                                          "peak_flop_per_s",
                                          "memory_bytes_per_s",
                                          NULL};
    struct csv csv;
    TRY(chart_table(file, columns, chart_roofline.needs, p, &csv, err));
    const char *const *ops = op_names(&csv, p->arena);
    if (!ops[0])
        return err_at(err, STATUS_INPUT, (struct mark){file, 1, 1},
                      "no op of this layer computes anything");
    p->chart.kind = "roofline";
    chart_titles(p, names, "ops of one MoE layer under the device's roofs");
    picture_list(p, "ops", ops);
    picture_number(p, "peak", chart_number(&csv, 0, "peak_flop_per_s"));
    picture_number(p, "bandwidth", chart_number(&csv, 0, "memory_bytes_per_s"));
    return STATUS_OK;
}

const struct chart_kind chart_roofline = {
    .name = "roofline",
    .summary = "the layer's ops under the device's roofs",
    .needs = "what `moeplan plot roofline -o FILE.csv` writes",
    .make = chart_ops_make,
    .fill = fill,
};
