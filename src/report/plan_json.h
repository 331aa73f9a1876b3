/* A plan as a nested JSON object, which loads again as a plan file. */
#ifndef MOEPLAN_REPORT_PLAN_JSON_H
#define MOEPLAN_REPORT_PLAN_JSON_H

#include "base/json.h"
#include "plan/plan.h"

/* The keys below `prefix` ("" for all, "model." for a model file) as one object: base units,
 * exact numbers, words as texts. The names of model, cluster and stack give way to the mappings
 * that stand for them. */
void plan_json(struct json *json, const char *key, const char *prefix, const struct plan *plan);

#endif
