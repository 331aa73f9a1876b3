/* Gathers and reductions of data parallelism: which run beside computation, and what is in
 * front of it or behind it whatever runs beside. */
#ifndef MOEPLAN_SIM_TIME_SHARDS_H
#define MOEPLAN_SIM_TIME_SHARDS_H

#include "sim/time/stretch.h"

/* Whether a layer's own (zero 3) run beside other layers; the others are waited for. */
bool shards_in_layers(const struct plan *plan, const struct op *op, enum profile_item item);

/* Whether a step runs an op once and not with every micro-batch: what is of the update, of a
 * layer's own reductions of gradients that wait for the last one (precision.accumulated) and
 * gathers of what stays gathered; whether that micro-batch's pass hides them. */
bool shards_once(const struct plan *plan, const struct op *op);
bool shards_hide(const struct plan *plan, const struct op *op, enum profile_item item);

/* Whether the step's own (zero 0 to 2) do: reductions beside the last backward, gathers beside
 * the next forward. */
bool shards_of_step(const struct plan *plan, enum update_part part);

/* How often a step does its reductions: DeepSpeed's stage 2 with every micro-batch, beside its
 * backward, all others once. */
uint64_t shards_reductions(const struct plan *plan);

/* Whether an op of the update takes gradients to the host while they are reduced. */
bool shards_go_in_backward(const struct plan *plan, const struct op *op);

/* The first layer's gather in forward has no layer in front of it to run beside, the last
 * layer's reduction in backward none behind it. */
bool shards_at_end(const struct op *op, enum profile_item item);

/* The part of a step's reduction that begins when the last gradient is there, or of its gather
 * that the first layer waits for: one bucket's, of so many elements of `bits`. */
double shards_last(const struct plan *plan, double elements, unsigned bits);

#endif
