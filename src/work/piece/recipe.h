/* Low precision recipes of TransformerEngine: what stands for a matrix and for a saved input of
 * a product, scales and their padding included. Source: training-stacks.md 6
 * (TransformerEngine pytorch/tensor, d0067d0d). */
#ifndef MOEPLAN_WORK_PIECE_RECIPE_H
#define MOEPLAN_WORK_PIECE_RECIPE_H

#include "plan/recipe.h"
#include "work/piece/dims.h"

/* Bytes of the copies that are kept of one [out, in] matrix: by rows and by columns, or the
 * first alone where the device multiplies fp8 in any layout. */
struct size recipe_matrix_bytes(const struct plan *plan, struct sizes *z, struct size out,
                                struct size in);

/* Bytes of the copy by columns of a product's input [rows, width], which backward reads. */
struct size recipe_input_bytes(const struct plan *plan, struct sizes *z, struct size rows,
                               struct size width);

/* Over the layers of a stage: bytes of those copies, and elements of the matrices they stand
 * for, dense and experts apart. Router, embedding, head, wide matrices and layers that the
 * recipe leaves alone keep 16 bits. */
struct recipe_sum {
    struct size bytes[2], elements[2];
};
struct recipe_sum recipe_matrices(const struct plan *plan, struct sizes *z);

#endif
