/* A resolved plan as text. */
#ifndef MOEPLAN_PLAN_READ_SHOW_H
#define MOEPLAN_PLAN_READ_SHOW_H

#include "base/text.h"
#include "plan/plan.h"

/* Appends the plan as a YAML file with every key, model, cluster and stack written out in
 * place, and what its prefill servers have otherwise. plan_load of that text gives the same
 * plan, byte by byte. */
void plan_print(const struct plan *plan, struct text *out);

/* Appends one group alone ("model", "cluster", "stack"), as a file of the catalogue. */
void plan_print_group(const struct plan *plan, const char *group, struct text *out);

/* Whether a key stands in the part `prefill` of a plan that has one: its value there is another
 * than the plan's. */
struct field;
bool plan_prefill_has(const struct plan *plan, const struct field *field);

#endif
