/* What a step takes at least, from one list for all pipelines and all sharding of weights that
 * have its layers: for sim/search. Pure.
 *
 * Why nothing is faster: of a layer only the ops are counted that every such plan has with the
 * same rows and the same ranks: not those between copies of weights (process_group_is_data) and
 * stages, not the update, none that only some layers run. Times of ops are added up, never
 * longer (sim/time/step_time: longer ops never make a shorter step). A chunk's pass takes its
 * device's seconds less what may be hidden (a chunk hides no more than the sum over its
 * layers), and no less than its host's; both are sums over layers, and the larger of two sums
 * is no more than the sum of the larger. The chunks go through pipeline_bound. */
#ifndef MOEPLAN_SIM_TIME_STEP_FLOOR_H
#define MOEPLAN_SIM_TIME_STEP_FLOOR_H

#include "sim/time/stretch.h"

/* One layer of each segment, forward and backward, under balanced routing. */
struct step_floor {
    double device_s[SEGMENT_COUNT][PASSES], host_s[SEGMENT_COUNT][PASSES];
    bool uses[GROUP_COUNT];               /* by its collectives */
    struct comm_place place[GROUP_COUNT]; /* where their ranks stand */
};

/* Which layers the chunks of a pipeline have, with room for their seconds. */
struct floor_chunks {
    size_t n;
    double (*layers)[PASSES][SEGMENT_COUNT]; /* [n] in a token's order */
    bool *again;                             /* [n] the same as the one before */
    double *forward_s, *backward_s;          /* [n] scratch */
    struct comm_place place[GROUP_COUNT];
};

/* The whole of it, or what lists of all paths have alike where no constant of the profile but
 * of moves is of one path: attention, and layers without experts. */
enum floor_part { FLOOR_COMMON, FLOOR_WHOLE };

/* Of the plan that the stepper stands at; false when a size overflows. */
bool step_floor_of(struct stepper *stepper, enum floor_part part, struct step_floor *out);

/* Of a plan that obeys all rules; memory from the arena. */
void floor_chunks_of(const struct plan *plan, struct arena *arena, struct floor_chunks *out);

/* Whether the floor's ops are between the same ranks as those of the plan of the chunks. */
bool step_floor_holds(const struct step_floor *floor, const struct floor_chunks *chunks);

/* step_s, or in inference beat_s, of a plan is no less: one that differs from the floor's in
 * parallel.pp, vpp and zero at most, whose chunks they are. */
double step_floor_s(const struct step_floor *floor, const struct plan *plan,
                    struct floor_chunks *chunks);

#endif
