/* What the paths share that sort rows by expert and exchange them: ragged_a2a, ragged_dot and
 * block_sparse; and deepep, which on one rank is ragged_a2a. */
#ifndef MOEPLAN_WORK_PATH_RAGGED_H
#define MOEPLAN_WORK_PATH_RAGGED_H

#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

/* Experts over rows x whose groups are padded to blocks; returns y of the same rows. */
typedef uint16_t sparse_experts(struct layer *l, uint16_t x, struct extent padded,
                                uint16_t offsets);

/* The ops of such a path; sparse NULL: grouped products over rows as they came. */
uint16_t ragged_build(struct layer *l, sparse_experts *sparse);

/* What stacks hold on one with grouped products. */
enum status ragged_hold(struct hold_path *p, uint16_t *output, struct err *err);

/* ---- parts of what stacks hold ---- */

bool ragged_spread(const struct hold_path *p);          /* ep > 1: rows travel */
struct row_dims ragged_rows(const struct hold_path *p); /* T K */

/* Rows in order of expert: an index of T K, and [T K, H] gathered through it. */
uint16_t ragged_permute(struct hold_path *p, uint16_t *row_gates);

/* Counts between ranks; the host waits `syncs` times where buffers are sized by them. */
void ragged_counts(struct hold_path *p, uint64_t syncs);

/* Rows of all sources, then sorted by local expert (a second copy); and the way back. */
uint16_t ragged_receive(struct hold_path *p, uint16_t sent, const struct row_dims *rows,
                        const struct row_dims *sorted, uint16_t *gates);
uint16_t ragged_send_back(struct hold_path *p, uint16_t from, const struct row_dims *rows);

#endif
