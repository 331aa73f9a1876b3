/* The passes of a draft beside a step, of a plan that runs one (plan_runs_draft): each is a
 * step of the draft's own plan (plan_draft). */
#ifndef MOEPLAN_SIM_TIME_STEP_DRAFT_H
#define MOEPLAN_SIM_TIME_STEP_DRAFT_H

#include "sim/time/step_time.h"

/* Lists of both passes. Memory from the arena. */
enum status step_draft_build(struct stepper *stepper, const struct plan *plan,
                             const struct profile *profile, struct arena *arena,
                             struct err *err);

/* As stepper_turn. */
void step_draft_turn(struct stepper *stepper, const struct plan *plan);

/* Adds all passes to a step that was timed. false when a size overflows. */
bool step_draft_add(struct stepper *stepper, struct step_time *out);

#endif
