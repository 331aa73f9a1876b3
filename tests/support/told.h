/* A plan's text, and what predict says of it: no fixes, no time. */
#ifndef MOEPLAN_TESTS_SUPPORT_TOLD_H
#define MOEPLAN_TESTS_SUPPORT_TOLD_H

#include "sim/answer/predict.h"

struct told {
    struct arena arena;
    struct plan plan;
    struct prediction prediction;
    struct err err;
};

/* What does not load or is refused says why in t->err; must_tell fails the test. The arena is
 * the caller's to release. */
enum status tell(const char *text, struct told *t);
void must_tell(const char *text, struct told *t);

bool told_fits(const struct told *t);                   /* or is marginal */
bool told_note(const struct told *t, const char *part); /* one has it */
const struct buffer_report *told_buffer(const struct told *t, const char *name); /* or NULL */

#endif
