/* Decode: which experts' weights a small batch loads, and when loading all of them is better
 * (seed 002, seed-systems.md B7). Uniform independent choices unless chances are given. */
#ifndef MOEPLAN_SIM_MOE_DECODE_H
#define MOEPLAN_SIM_MOE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* Distinct experts that `tokens` tokens with K distinct uniform choices of E touch: mean
 * E (1 - (1 - K/E)^tokens), and variance. */
double decode_distinct(uint64_t experts, uint64_t top_k, double tokens);
double decode_distinct_variance(uint64_t experts, uint64_t top_k, double tokens);

/* The same mean for given inclusion chances pi [E]. */
double decode_distinct_of(const double *pi, uint64_t experts, double tokens);

/* Smallest batch at which the rule loads all experts: tokens K >= threshold E. */
uint64_t decode_switch_batch(uint64_t experts, uint64_t top_k, double threshold);

/* Batch at which loading the distinct experts one by one, at `efficiency` of the streaming
 * rate, costs as much as streaming all: ln(1 - efficiency) / ln(1 - K/E). Infinite for 1.
 * Without dedup (a load per token and choice) it is efficiency E / K. */
double decode_break_even(uint64_t experts, uint64_t top_k, double efficiency);
double decode_break_even_plain(uint64_t experts, uint64_t top_k, double efficiency);

/* Bytes of one expert's matrices with scales: gate and up [H, I] (up alone without GLU), down
 * [I, H]. */
uint64_t decode_expert_bytes(enum dtype dtype, uint64_t hidden, uint64_t inter, bool glu);

struct decode {
    double expected_experts_loaded; /* distinct, of one rank's experts */
    double sd;
    double fraction_loaded; /* of the experts on the rank */
    uint64_t bytes_loaded;  /* per layer and rank, by the algorithm taken */
    uint64_t bytes_selective, bytes_all;
    uint64_t switch_batch;
    double break_even_batch; /* 0: never */
    const char *algorithm;   /* "selective", "all_experts": the one taken */
};

struct decode_ask {
    uint64_t experts, top_k, local; /* local: experts on the rank */
    uint64_t batch; /* tokens that reach the rank's experts: all of its EP group */
    uint64_t expert_bytes;
    const double *pi; /* [E], or NULL: uniform */
    double threshold; /* moe.switch */
    bool dedup;
};

/* The algorithm by the threshold rule, and what both would load. */
void decode_of(const struct decode_ask *ask, struct decode *out);

#endif
