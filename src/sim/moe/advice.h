/* Advice on the layout of a MoE layer, by rule and by cost, each with its reason in numbers. */
#ifndef MOEPLAN_SIM_MOE_ADVICE_H
#define MOEPLAN_SIM_MOE_ADVICE_H

#include <stddef.h>

#include "base/arena.h"
#include "plan/plan.h"
#include "sim/moe/predict_moe.h"

/* Sentences that apply to the plan, in the arena; *n their number. free_bytes: what the plan
 * leaves of a rank's limit. */
const char **advice_of(const struct plan *plan, enum moe_path path, const struct rows *rows,
                       const struct moe_report *report, uint64_t free_bytes,
                       struct arena *arena, size_t *n);

/* ---- the numbers behind them (seed-systems.md A2, B1, B6) ---- */

/* Bytes a rank receives when router results are gathered from tp sequence shards: naive [T, E]
 * scores; delayed until after the choice [T, K] scores and indices. */
uint64_t advice_router_gather(uint64_t tokens, uint64_t experts, uint64_t score_bytes,
                              uint64_t tp);
uint64_t advice_router_delayed(uint64_t tokens, uint64_t top_k, uint64_t score_bytes,
                               uint64_t index_bytes, uint64_t tp);

/* Gathering all tokens on all ranks, over sending each rank only tokens it has experts for. */
double advice_gather_ratio(uint64_t experts, uint64_t top_k, uint64_t ranks);

/* Share of the tensor engine's 128 lanes that an intermediate size of I / tp keeps busy. */
double advice_engine_use(uint64_t inter, uint64_t tp);

/* Relative time of the expert products: rows / useful lanes, the fullest rank counting; tp x ep
 * ranks each, imbalance the fullest over the mean at this ep. Lower is better. */
double advice_layout_cost(uint64_t inter, uint64_t tp, double imbalance);

/* Rows that RDEP sends over those of a transport that sends a token once per rank. */
double advice_row_ratio(uint64_t experts, uint64_t top_k, uint64_t ranks);

#endif
