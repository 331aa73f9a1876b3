/* A plan along time: the spans behind the seconds of its prediction, as documents. */
#ifndef MOEPLAN_LIB_ALONG_H
#define MOEPLAN_LIB_ALONG_H

#include <stdio.h>

#include "lib/answer.h"
#include "sim/step/plan_spans.h"

/* Those of one layer (plan_spans_layer names the one that stands for the model), or of the
 * whole step: SEGMENT_COUNT. Release them, also after a failure. */
enum status along_spans(const struct answer *answer, enum segment segment, struct arena *arena,
                        struct plan_spans *out, struct err *err);

/* The step as a Chrome trace. */
enum status along_trace_print(const struct answer *answer, struct arena *arena, FILE *out,
                              struct err *err);

/* As JSON, seconds from 0: `layer`, one layer as it is played, forward and backward, absent
 * where there is none; `step`, the whole one: what each pipeline stage is at, without the ops
 * inside. Both hold what they are `of`, end_s, and `spans` of op, phase, stage, stream, part
 * (of the step's time), micro_batch, begin_s, end_s. An empty object where no time is told. */
enum status along_print_json(const struct answer *answer, struct arena *arena, FILE *out,
                             struct err *err);

#endif
