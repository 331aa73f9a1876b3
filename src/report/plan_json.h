/* A plan as a nested JSON object, which loads again as a plan file. */
#ifndef MOEPLAN_REPORT_PLAN_JSON_H
#define MOEPLAN_REPORT_PLAN_JSON_H

#include "base/json.h"
#include "plan/plan.h"
#include "plan/schema/schema.h"

/* "parallel.ep": 8. The plan's value of one key, by its full name. */
void plan_json_value(struct json *json, const struct field *field, const struct plan *plan);

/* The keys below `prefix` ("" for all, "model." for a model file) as one object: base units,
 * exact numbers, words as texts. The names of model, cluster and stack give way to the mappings
 * that stand for them. */
void plan_json(struct json *json, const char *key, const char *prefix, const struct plan *plan);

#endif
