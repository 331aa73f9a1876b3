/* What share of the routed rows a plan of a search drops. */
#ifndef MOEPLAN_SIM_SEARCH_DROPS_H
#define MOEPLAN_SIM_SEARCH_DROPS_H

#include "sim/step/evaluate.h"

/* predict_drops of the plan, of rows as the evaluator draws them; 0 where its path has no
 * capacity. What is alike in routing, tokens and slots is sampled once where the evaluator has
 * rows_known. The arena takes scratch. */
double drops_of(struct evaluator *evaluator, const struct plan *plan, struct arena *arena);

#endif
