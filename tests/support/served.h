/* A plan's text, loaded and predicted; a test fails where it cannot be. */
#ifndef MOEPLAN_TESTS_SUPPORT_SERVED_H
#define MOEPLAN_TESTS_SUPPORT_SERVED_H

#include "plan/plan.h"
#include "sim/answer/predict.h"

struct plan load_text(const char *text, struct arena *arena);
struct prediction predict_text(const char *text, struct arena *arena);

/* The loader refuses it, and says `why`. */
void assert_refused(const char *text, const char *why);

/* Of all buffers of a name. */
uint64_t buffer_bytes(const struct prediction *prediction, const char *name);

#endif
