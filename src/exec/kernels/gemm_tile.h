/* Tiles: how a product is cut, and how its operands become f32; for the product kernels. */
#ifndef MOEPLAN_EXEC_KERNELS_GEMM_TILE_H
#define MOEPLAN_EXEC_KERNELS_GEMM_TILE_H

#include "exec/kernels/kernel.h"

/* Where the operands of a tile lie once they are f32. */
struct scratch {
    float *a, *b, *c;
};
struct scratch tile_scratch(void *memory);

/* The result of every group is rows x columns; a tile is at most row_tile x column_tile. */
struct tiling {
    struct grouping grouping;
    uint64_t columns, row_tile, column_tile;
    bool fixed_rows; /* every group's result has `rows` rows (weight gradients) */
    uint64_t rows;
};
struct tile {
    uint64_t group;
    struct span_rows rows, columns; /* rows: inside the group */
};
uint64_t tile_count(const struct tiling *tiling);
struct tile tile_at(const struct tiling *tiling, uint64_t unit);

/* What a product by `columns` of its groups' weights computes. */
void tile_count_product(const struct call *call, uint64_t columns, struct counts *counts);

bool tile_is_f32(const struct tensor *tensor);

/* The number of a group's weight. */
uint64_t tile_weight_number(const struct call *call, uint64_t group);

/* One weight matrix [k, n]. */
struct matrix {
    const char *data;
    enum dtype dtype;
    uint64_t k, n;
};
struct matrix tile_matrix(const struct tensor *weights, uint64_t number);

/* The piece of the weight that `depth` x `columns` of a product needs, as B of a gemm. */
void tile_load_weight(const struct matrix *w, bool transposed, struct span_rows depth,
                      struct span_rows columns, float *scratch, struct gemm *gemm);

/* Rows x columns of a tensor as an operand: in place when f32. */
const float *tile_load_rows(const struct tensor *tensor, struct span_rows rows,
                            struct span_rows columns, float *scratch, int *ld);

/* The result's place: in place when f32, else scratch that tile_store writes back. */
float *tile_result(const struct tensor *c, struct span_rows rows, struct span_rows columns,
                   float *scratch, int *ld);
void tile_store(const struct tensor *c, struct span_rows rows, struct span_rows columns,
                const float *from);

#endif
