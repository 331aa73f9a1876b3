/* What evaluators (evaluate.h) share: lists and verdicts (evaluate.c), rules
 * (evaluate_lawful.c), routing (evaluate_routing.c). */
#ifndef MOEPLAN_SIM_STEP_EVALUATE_PARTS_H
#define MOEPLAN_SIM_STEP_EVALUATE_PARTS_H

#include "sim/step/evaluate.h"

/* Whether the plan obeys all rules; `same`: it is of the structure that was asked of last, of
 * which only what numbers may break (evaluate_is_slot) is looked at again. */
bool evaluate_is_lawful(struct evaluator *evaluator, const struct plan *plan, bool same);

/* Puts into the slots of a list that goes by routing what the plan's routing asks for: the
 * least (evaluator.least) or its 99th percentile, with what that does to buffers of given size.
 * False when it cannot be sampled. */
bool evaluate_follow(struct evaluator *evaluator, const struct plan *plan);

#endif
