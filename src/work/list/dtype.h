/* Bytes of a number format, block scales included. */
#ifndef MOEPLAN_WORK_LIST_DTYPE_H
#define MOEPLAN_WORK_LIST_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* Bits of one element without scales: 32, 16, 8, 4; 0 for DTYPE_NONE. */
unsigned dtype_bits(enum dtype dtype);

/* Formats whose elements stand alone, one after the other, without scales: f32, bf16, f16. */
bool dtype_is_plain(enum dtype dtype);

/* Integers of 4 bits with scales of groups: AWQ, GPTQ, compressed-tensors. */
bool dtype_is_int4(enum dtype dtype);

/* Elements of a [rows, columns] matrix that share a scale, and its bytes; rows UINT64_MAX: a
 * whole column. bytes 0: the format has no scales. */
struct dtype_scale {
    uint64_t rows, columns, bytes;
};
struct dtype_scale dtype_scale(enum dtype dtype);

/* Bytes of a [rows, columns] weight matrix with its scales (rows: input size, columns: output
 * channels): FP8_CHANNEL adds 4 per column, FP8_BLOCK 4 per 128x128 block, MXFP* 1 per 32
 * elements of a column, NVFP4 1 per 16. Source: seed-systems.md B8. INT4 2 per 128 or 32
 * (compressed-tensors group_size), NF4 4 per 64, doubly quantised 1 per 64 and 4 per 256 of
 * these (training-stacks.md 5). */
uint64_t dtype_matrix_bytes(enum dtype dtype, uint64_t rows, uint64_t columns);

#endif
