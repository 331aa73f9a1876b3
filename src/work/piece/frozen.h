/* Parts of the model that are not trained (frozen.modules), in the words of the list: of which
 * part a matrix or a product is. */
#ifndef MOEPLAN_WORK_PIECE_FROZEN_H
#define MOEPLAN_WORK_PIECE_FROZEN_H

#include "work/piece/matrix.h"

/* The part that a product of a segment belongs to; FROZEN_PARTS: none that can be frozen. */
enum frozen_part frozen_part_of(enum segment segment, enum module module);

/* Of the layers at hand of a walk those that train the matrix. */
struct size frozen_layers_of(const struct matrix_walk *walk, struct dims dims);

/* Whether a matrix of the table has no gradient in a layer with this network. */
bool frozen_matrix(const struct plan *plan, const struct layer_matrix *matrix, enum ffn ffn);

#endif
