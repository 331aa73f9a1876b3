/* The segments of a step: which layers they are of, and how often each stands in it. */
#ifndef MOEPLAN_WORK_PIECE_SEGMENTS_H
#define MOEPLAN_WORK_PIECE_SEGMENTS_H

#include "work/list/work.h"

/* Repeat counts and in-flight factors of the segments from the pipeline stage's slots. */
void segments_use(const struct plan *plan, struct work *work);

/* Kinds of layers whose buffers a stack holds: those of the model, and in one without a list
 * the dense ones, whatever dense_layers is. */
void segments_kinds(const struct plan *plan, bool has[KIND_COUNT]);

#endif
