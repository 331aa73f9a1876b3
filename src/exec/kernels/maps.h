/* What the kernels that build index maps share. */
#ifndef MOEPLAN_EXEC_KERNELS_MAPS_H
#define MOEPLAN_EXEC_KERNELS_MAPS_H

#include "exec/kernels/kernel.h"

void map_clear(const struct tensor *map); /* every element -1: no row */
void map_zero(const struct tensor *tensor);

/* counts -> the start of each, in `cursor`; returns their sum. */
int64_t map_prefix(const int64_t *counts, uint64_t n, int64_t *cursor);

/* Starts of n groups of these sizes, each aligned, and the end: offsets [n + 1]. */
void map_align(const int64_t *sizes, uint64_t n, uint64_t alignment, int64_t *offsets);

/* A buffer is too short for what routing sends to this rank. */
enum status map_overflow(const struct call *call, uint64_t rows, uint64_t capacity,
                         struct err *err);

#endif
