/* Cross-field rules, as a table: what must hold between values, with its message. */
#ifndef MOEPLAN_PLAN_RULE_H
#define MOEPLAN_PLAN_RULE_H

#include "base/err.h"
#include "plan/plan.h"

/* A rule: `broken` writes what is wrong ("top_k 9 is more than experts 8") and a hint into the
 * two buffers and returns true when the plan breaks it. `key` is the field to point at. */
struct rule {
    const char *name; /* "ep-divides-experts" */
    const char *key;
    bool (*broken)(const struct plan *plan, char text[512], char hint[512]);
};

const struct rule *rule_table(size_t *n);

/* First broken rule, or NULL; text and hint filled. No allocation: sweeps call it per point. */
const struct rule *rule_check(const struct plan *plan, char text[512], char hint[512]);

#endif
