/* What the paths share that sort rows by expert and exchange them: ragged_a2a, ragged_dot and
 * block_sparse. */
#ifndef MOEPLAN_WORK_PATH_RAGGED_H
#define MOEPLAN_WORK_PATH_RAGGED_H

#include "work/piece/layer.h"

/* Experts over rows x whose groups are padded to blocks; returns y of the same rows. */
typedef uint16_t sparse_experts(struct layer *l, uint16_t x, struct extent padded,
                                uint16_t offsets);

/* The ops of such a path; sparse NULL: grouped products over rows as they came. */
uint16_t ragged_build(struct layer *l, sparse_experts *sparse);

#endif
