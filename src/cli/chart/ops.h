/* The ops of one layer (plan_spans_layer) with what they cost by the plan's profile: the tables
 * behind the roofline and the timeline. */
#ifndef MOEPLAN_CLI_CHART_OPS_H
#define MOEPLAN_CLI_CHART_OPS_H

#include "cli/chart/chart.h"

/* One row per span, or, summed, per op: op, forward_op (whose backward it is), phase, stream,
 * part (as `predict` divides the step's time), bound (compute, memory, link or host), flop,
 * bytes, bytes_sent, flop_per_byte, flop_per_s (by its duration), peak_flop_per_s,
 * memory_bytes_per_s (of the device), start_s, duration_s, layer_s, layers, step_s, layer (its
 * kind). Spans are those of a trace (sim/time/step_spans): of the expected fullest rank,
 * overlapped as the stack does. */
enum status chart_ops_spans(const struct chart_request *request, struct chart_names *names,
                            struct picture *picture, struct err *err);
enum status chart_ops_sums(const struct chart_request *request, struct chart_names *names,
                           struct picture *picture, struct err *err);

#endif
