/* What a step was composed of: for sim/time/step_spans, which lays it out along time. */
#ifndef MOEPLAN_SIM_TIME_STEP_PARTS_H
#define MOEPLAN_SIM_TIME_STEP_PARTS_H

#include "sim/time/paired.h"
#include "sim/time/pipeline.h"
#include "sim/time/stretch.h"
#include "work/piece/stage.h"

/* What a chunk does with one micro-batch, forward and backward. */
struct chunk_time {
    double layers[PASSES][SEGMENT_COUNT]; /* that run; not whole where chunks share them */
    struct stretch pass[PASSES];
};

struct step_parts {
    struct stepper *s;
    struct stretches all;
    struct chunk_time
        *chunks; /* [stages chunks], in a token's order; lives until the next step */
    struct pipeline pipe;
    double *forward_s, *backward_s, *weight_s; /* [stages chunks] */
    struct paired_layers paired;               /* where the stepper pairs */
    struct pipeline_times times;
    double reduce_s, gather_s; /* of the whole step's collectives what nothing hides */
    double fixed_s, graphs_s;  /* once a step: the profile's own, the graph's launch */
    double reference_s;        /* passes without gradients, in front of all else */
};

/* stepper_time, and what it is of. tasks: those of the pipeline are kept too (times.tasks;
 * without stages there are none). */
bool stepper_parts(struct stepper *stepper, const struct demand *demand, bool tasks,
                   struct step_time *out, struct step_parts *parts);

/* Adds workload.colocated.passes to a step whose chunks are known. */
void step_reference_add(struct step_parts *parts, struct step_time *out);

/* Values of the sizes, and prices of all ops, of the plan's step in one. False as above. */
bool stepper_ops(struct stepper *stepper, const struct demand *demand);

/* Values under balanced routing, and prices of the ops that stretches_least is of, where asked
 * for those of halves; false when a size overflows. */
bool stepper_even(struct stepper *stepper, bool halves);

/* A plan's pipeline but for seconds; the chunks of a stage; what all chunks hold [pp chunks],
 * in a token's order, from the arena; the layers of one, those that run forward and those that
 * run backward. */
void step_pipeline_of(const struct plan *plan, struct pipeline *out);
uint64_t step_chunks(const struct plan *plan);
const struct stage_chunk *step_held(const struct plan *plan, struct arena *arena);
void step_chunk_layers(const struct plan *plan, const struct stage_chunk *held,
                       double out[PASSES][SEGMENT_COUNT]);

#endif
