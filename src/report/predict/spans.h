/* Spans of a plan's step, or of one of its layers, as JSON: seconds from 0, each with what it
 * is of (op, phase), where (stage, stream), when (micro_batch, begin_s, end_s), and the part of
 * the step's time that it belongs to. */
#ifndef MOEPLAN_REPORT_PREDICT_SPANS_H
#define MOEPLAN_REPORT_PREDICT_SPANS_H

#include "base/json.h"
#include "sim/step/plan_spans.h"

/* Array "spans" of the open object. Of a step what each pipeline stage is at and what is done
 * once, without the ops inside; at most some 8,000. Rows from the arena. */
void spans_json(struct json *json, const struct plan_spans *spans, struct arena *arena);
void spans_schema(struct json *json);

#endif
