/* What a run fetched: blocks begun, weights and tokens fetched for them, bytes between cores
 * (path blockwise); weights fetched for the experts that were chosen (path selective).
 * Predicted from the sample of routing by work/piece/block_loop.h, counted by the kernels that
 * fetch.
 */
#ifndef MOEPLAN_CALIB_RUN_RUN_LOADS_H
#define MOEPLAN_CALIB_RUN_RUN_LOADS_H

#include "exec/execute.h"
#include "exec/verify/verify.h"

/* Of all ranks, in the last routing sample; the counted are 0 when it was not performed. */
struct run_loads {
    uint64_t blocks_provisioned, blocks_valid, blocks_executed; /* 0: the path has none */
    uint64_t weight_loads; /* an expert's matrices, fetched once */
    uint64_t token_rows;   /* fetched into blocks */
    struct {
        uint64_t blocks_executed, weight_loads, token_rows;
        uint64_t weight_bytes, token_bytes; /* as they are stored */
        uint64_t core_bytes;                /* from one core of a rank to the other */
    } counted;
};

/* What the ranks of a list will fetch; nothing for paths that fetch in other ways,
 * and without a sample. */
void run_loads_predict(const struct plan *plan, const struct layer_sample *sample,
                       uint64_t first_rank, uint64_t n_ranks, struct run_loads *loads);

/* What the last step counted. */
void run_loads_count(const struct execution *x, struct run_loads *loads);

/* The sum over all processes. */
enum status run_loads_join(struct run_loads *loads, struct transport *transport,
                           struct err *err);

/* Counted against predicted, op by op and rank by rank. */
void run_loads_compare(const struct execution *x, struct checks *checks);

#endif
