/* The weight matrices of a layer: one table from which its products, the bytes of its weights
 * and the volumes that shard and reduce them follow. */
#ifndef MOEPLAN_WORK_PIECE_MATRIX_H
#define MOEPLAN_WORK_PIECE_MATRIX_H

#include "work/piece/dims.h"

/* A weight matrix of a layer: [out, in], on one rank. */
struct layer_matrix {
    const char *name;
    unsigned segments;
    uint64_t when;
    enum module op; /* that multiplies it */
    enum row rows;
    enum col in, out;
    unsigned mixers;       /* MIX_...; 0: whatever the mixer is */
    bool expert;           /* e of them */
    enum weight_part part; /* whose format it has; PART_AUTO: of its own kind */
};

/* The matrices of a layer; *n is their number. Constant. */
const struct layer_matrix *matrices_of_layer(size_t *n);

/* Whether a matrix exists in a layer of the mixer at hand and a network (IN_DENSE, ...). */
bool matrix_exists(const struct layer_matrix *matrix, const struct dims *dims, unsigned in);

/* Whether some layer of the model has a matrix: takes the first mixer beside which it is at
 * hand (its widths stand in dims then), *layers: layers of this stage that have it. */
bool matrix_in_model(const struct layer_matrix *matrix, struct dims *dims, struct size *layers);

/* Of those layers the ones that no recipe applies to. */
struct size matrix_plain_layers(const struct layer_matrix *matrix, struct dims dims);

#endif
