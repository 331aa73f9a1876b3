/* Routers: from logits to K experts and their gates, exactly as the frameworks do it.
 *
 * struct router of plan.h says which. score-then-topk: scores over all E experts, the best K
 * (with bias: the best of score + bias; gates stay the unbiased scores). topk-then-score: the
 * best K logits, scores over those K. Group-limited (groups > 1): only the experts of the best
 * top_groups groups; a group's score is the sum of its two best biased scores when the router
 * has a bias, else its best; other groups count as -infinity (masking with 0, as one published
 * router does, lets a masked expert win when all kept scores are negative). normalize divides
 * the K gates by their sum (not for K = 1), then all are multiplied by scale.
 * Ties go to the lowest index. Sources: buffers.md 14, seed-systems.md B1. */
#ifndef MOEPLAN_WORK_ROWS_ROUTER_H
#define MOEPLAN_WORK_ROWS_ROUTER_H

#include <stdint.h>

#include "plan/plan.h"

/* Chooses for n tokens: logits [n][E]; bias [E] or NULL (none); scratch [2 E + groups].
 * Fills ids [n][K], best first, and gates [n][K]. Computes in double. */
void router_choose(const struct router *router, uint64_t experts, uint64_t top_k, uint64_t n,
                   const float *logits, const float *bias, double *scratch, int32_t *ids,
                   float *gates);

/* The best k of n values, best first, ties to the lowest index. Values that are -infinity are
 * chosen last. */
void router_top(const double *values, uint64_t n, uint64_t k, int32_t *best);

/* Loss-free balancing: bias += rate x sign(mean - tokens) for each expert. */
void router_update_bias(float *bias, const uint64_t *tokens, uint64_t experts, double rate);

/* ---- what a capacity keeps ---- */

/* Slots per expert: ceil(T K cf / E), rounding of the quotient taken back; no more than T,
 * where cf >= E / K keeps everything. */
double router_slots(uint64_t tokens, uint64_t top_k, uint64_t experts, double factor);
uint64_t router_capacity(uint64_t tokens, uint64_t top_k, uint64_t experts, double factor);

#endif
