/* Chunks of a stage whose forward runs beside another's backward (sim/time/paired.h). */
#ifndef MOEPLAN_SIM_TIME_PAIRED_CHUNKS_H
#define MOEPLAN_SIM_TIME_PAIRED_CHUNKS_H

#include "sim/time/paired.h"
#include "sim/time/step_parts.h"

/* Of the stepper's priced ops. */
void paired_layers_of(const struct stepper *stepper, struct paired_layers *out);

/* Takes what a backward by itself hides out of a chunk's, before it is overlapped. */
void paired_alone(const struct paired_layers *layers, struct chunk_time *chunk);

/* The pipeline's pairs, of chunks that are overlapped; memory from the stepper's scratch. As
 * many layers as both chunks have are paired, a kind with its like: Megatron pairs the first of
 * the one with the last of the other, so that dense layers may stand beside those with experts;
 * what these hide is left out. */
void paired_chunks(struct step_parts *parts);

#endif
