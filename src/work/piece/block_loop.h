/* What the loop over the blocks of path blockwise does on a rank, as plan and routing have it:
 * the prediction that the executor's counts are held against (seed-systems.md B3, B4). */
#ifndef MOEPLAN_WORK_PIECE_BLOCK_LOOP_H
#define MOEPLAN_WORK_PIECE_BLOCK_LOOP_H

#include "work/rows/blocks.h"
#include "work/layer/layer_sample.h"

struct block_loop {
    uint64_t cores;       /* that share the blocks */
    uint64_t provisioned; /* N */
    uint64_t valid;       /* blocks with a row */
    uint64_t executed;
    uint64_t weight_loads;  /* times the matrices of an expert are fetched; two cores that share
                               every block fetch a half each, together one load */
    uint64_t token_rows;    /* rows of tokens fetched into blocks, halves counted likewise */
    uint64_t crossed_bytes; /* from one core to the other, both directions together */
};

/* Whether both cores work on every block (moe.shard h, i), not on blocks of their own. */
bool block_loop_split(const struct plan *plan);

/* Blocks begun together: 2 where every core has its own. */
uint64_t block_loop_step(const struct plan *plan);

enum block_order block_loop_order(const struct plan *plan);

/* Blocks that run whatever they hold, of N for `rows` of the whole group and `experts` held. */
uint64_t block_loop_fixed(const struct plan *plan, uint64_t rows, uint64_t experts, uint64_t N);

/* Everything, for a rank of a sample. */
void block_loop_of(const struct plan *plan, const struct layer_sample *sample, uint64_t rank,
                   struct block_loop *out);

#endif
