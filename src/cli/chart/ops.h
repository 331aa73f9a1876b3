/* The ops of one MoE layer with what they cost by FLOPs and bytes: the table behind the
 * roofline and the timeline. */
#ifndef MOEPLAN_CLI_CHART_OPS_H
#define MOEPLAN_CLI_CHART_OPS_H

#include "cli/chart/chart.h"

/* One row per op: op, forward_op (whose backward it is), phase, lane (compute, memory,
 * scale-up, scale-out, host), bound (compute, memory or link), flop, bytes, bytes_sent,
 * flop_per_byte, roof_flop_per_s, peak_flop_per_s, memory_bytes_per_s, start_s, duration_s. A
 * duration is the longest of FLOPs over peak, bytes over bandwidth and bytes sent over the
 * link's; starts follow one another, or, with moe.overlap, what an op reads and whether its
 * lane is free. A stack that lists no ops is drawn with those of stack generic on the same
 * path, and the source line says so. */
enum status chart_ops_make(const struct chart_request *request, struct chart_names *names,
                           struct picture *picture, struct err *err);

#endif
