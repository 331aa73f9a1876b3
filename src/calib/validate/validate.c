/* See validate.h. */
#include "calib/validate/validate.h"

#include "calib/validate/validate_curves.h"
#include "calib/validate/validate_runs.h"
#include "plan/data/published.h"

const char *const validate_tables[] = {"moe_kernels_hopper",
                                       "deepgemm_kernels",
                                       "ep_dispatch_combine",
                                       "collectives",
                                       "seed000_primus_turbo",
                                       "seed001_rdep",
                                       "megatron_golden_memory",
                                       "megatron_moe_memory_b200",
                                       "memory_verdicts",
                                       "vllm_memory",
                                       "megatron_train_throughput",
                                       "serving_latency",
                                       NULL};

enum status validate_table(const struct csv *csv, struct arena *arena, struct validation *out,
                           struct err *err)
{
    if (!csv->n_rows)
        return err_at(err, (struct mark){csv->file, 1, 1}, "the table has no rows");
    if (curve_is_table(csv) && out->sets && out->sets->n)
        return published_no_sets(csv, err);
    if (curve_is_table(csv))
        return validate_curves(csv, arena, out, err);
    if (published_is_runs(csv))
        return validate_runs(csv, arena, out, err);
    err_at(err, (struct mark){csv->file, 1, 1},
           "these are not the columns of a table of measurements");
    return err_hint(err, "models/README.md describes the tables that are read");
}
