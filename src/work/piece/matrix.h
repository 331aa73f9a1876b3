/* The weight matrices of a layer: one table from which its products, the bytes of its weights
 * and the volumes that shard and reduce them follow. */
#ifndef MOEPLAN_WORK_PIECE_MATRIX_H
#define MOEPLAN_WORK_PIECE_MATRIX_H

#include "work/piece/dims.h"

/* A weight matrix of a layer: [out, in], on one rank. */
struct layer_matrix {
    const char *name;
    unsigned segments;
    fact_set when;
    enum module op; /* that multiplies it */
    enum row rows;
    enum col in, out;
    unsigned mixers;       /* MIX_...; 0: whatever the mixer is */
    bool expert;           /* e of them */
    bool wide;             /* no low precision recipe runs its product */
    enum weight_part part; /* whose format it has; PART_AUTO: of its own kind */
};

/* The matrices of a layer; *n is their number. Constant. */
const struct layer_matrix *matrices_of_layer(size_t *n);

/* Whether a matrix exists in a layer of the mixer at hand and a network (IN_DENSE, ...). */
bool matrix_exists(const struct layer_matrix *matrix, const struct dims *dims, unsigned in);

/* The columns of the matrices that a checkpoint has in place of one that is multiplied at once
 * (q, k and v; gate and up); of any other matrix its own. Returns how many there are. */
enum { MATRIX_PIECES = 4 };
size_t matrix_pieces(const struct layer_matrix *matrix, const struct dims *dims,
                     enum col pieces[MATRIX_PIECES]);

/* A way over the matrices that the model's layers have; window layers with heads of their own
 * have those of attention in a shape of their own, layers that borrow keys also those of their
 * network. Begins with zeros. */
struct matrix_walk {
    size_t next;
    unsigned part;
    const struct layer_matrix *matrix;
    struct size layers; /* of this stage that have the matrix in this shape */
};

/* The next matrix and shape: takes the first mixer beside which it is at hand (its widths stand
 * in dims then). False after the last. */
bool matrix_next(struct matrix_walk *walk, struct dims *dims);

/* Of the layers at hand those that a slot of their kind counts: that no recipe applies to
 * (slot_kind_plain), whose weights have gradients (slot_kind_trained). */
struct size matrix_layers_by(const struct matrix_walk *walk, struct dims dims,
                             enum slot (*slot)(enum layer_kind kind));

#endif
