/* The ops of one task of a step along time; for step_spans.c. */
#ifndef MOEPLAN_SIM_TIME_TASK_SPANS_H
#define MOEPLAN_SIM_TIME_TASK_SPANS_H

#include "sim/time/step_spans.h"

/* One micro-batch through a chunk in one direction, from 0 to out->end_s. */
void task_spans(const struct step_parts *parts, uint64_t chunk, enum task_kind kind,
                struct span_list *out);

/* One layer of it, forward, then backward unless there is none. */
void layer_spans(const struct step_parts *parts, uint64_t chunk, enum segment segment,
                 struct span_list *out);

/* What a stage does once a step, in a row from `begin_s`. */
void update_spans(const struct step_parts *parts, uint64_t stage, enum update_part part,
                  double begin_s, struct span_list *out);

#endif
