/* What share of the routed rows many plans of one search drop. */
#ifndef MOEPLAN_SIM_SEARCH_DROPS_H
#define MOEPLAN_SIM_SEARCH_DROPS_H

#include "sim/step/evaluate.h"

/* {.evaluator, .arena}, both the caller's; its routing is what rows are drawn by. */
struct drops {
    struct evaluator *evaluator;
    struct arena *arena;
    struct drops_known *known; /* the last first */
};

/* predict_drops of the plan; 0 where its path has no capacity. What is alike in routing, tokens
 * and slots is sampled once. */
double drops_of(struct drops *drops, const struct plan *plan);

#endif
