/* The weight matrices of a layer: one table from which its products, the bytes of its weights
 * and the volumes that shard and reduce them follow. */
#ifndef MOEPLAN_WORK_PIECE_MATRIX_H
#define MOEPLAN_WORK_PIECE_MATRIX_H

#include "work/piece/dims.h"

/* A weight matrix of a layer: [out, in], on one rank. */
struct layer_matrix {
    const char *name;
    unsigned segments, when;
    enum module op; /* that multiplies it */
    enum row rows;
    enum col in, out;
    bool expert; /* e of them */
};

/* The matrices of a layer; *n is their number. Constant. */
const struct layer_matrix *matrices_of_layer(size_t *n);

/* Whether a matrix exists under these facts in a layer of this kind (IN_DENSE, IN_MOE). */
bool matrix_exists(const struct layer_matrix *matrix, unsigned facts, unsigned in);

#endif
