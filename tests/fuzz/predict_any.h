/* Predicts a plan that was read: whatever it asks for, an answer or an error with a text. */
#ifndef MOEPLAN_FUZZ_PREDICT_ANY_H
#define MOEPLAN_FUZZ_PREDICT_ANY_H

#include "plan/plan.h"

/* Aborts when the prediction contradicts itself. */
void predict_any(const struct plan *plan);

#endif
