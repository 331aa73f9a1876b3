/* Predicts a plan that was read: whatever it asks for, an answer or an error with a text. */
#ifndef MOEPLAN_FUZZ_PREDICT_ANY_H
#define MOEPLAN_FUZZ_PREDICT_ANY_H

#include <stdbool.h>

#include "plan/plan.h"

/* Aborts when the prediction contradicts itself. Looking for fixes costs a hundred predictions:
 * one target does it. */
void predict_any(const struct plan *plan, bool fixes);

#endif
