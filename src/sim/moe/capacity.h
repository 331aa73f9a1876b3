/* Capacity: how many rows fixed slots per expert drop, and what other factors would cost. */
#ifndef MOEPLAN_SIM_MOE_CAPACITY_H
#define MOEPLAN_SIM_MOE_CAPACITY_H

#include <stdint.h>

#include "base/arena.h"
#include "work/rows/rows.h"

/* Frameworks round the slots of S tokens differently (buffers.md 5.2, 9.3, 10.4, 10.6). */
enum capacity_rule {
    CAPACITY_RULE_MAXTEXT,  /* int(max(ceil(S K / E) cf, cf)), per sequence */
    CAPACITY_RULE_MEGATRON, /* ceil(S K cf / E) over the rank's tokens */
    CAPACITY_RULE_NEURON,   /* min(S, ceil(S K cf / E)) over the group's tokens */
    CAPACITY_RULE_TUTEL     /* K int(cf ceil(S / E)) */
};

enum capacity_rule capacity_rule_of(const struct plan *plan);

uint64_t capacity_slots(enum capacity_rule rule, uint64_t tokens, uint64_t top_k,
                        uint64_t experts, double factor);

/* Tokens that share the slots of each expert: a sequence, a rank's or a group's. */
struct capacity_unit {
    enum capacity_rule rule;
    uint64_t tokens, slots;
};

/* That of a plan whose path has capacity; `rows`: its sampler. */
struct capacity_unit capacity_unit_of(const struct plan *plan, const struct rows *rows);

/* Expected share of rows dropped when `tokens` tokens share `slots` per expert: normal counts
 * over the law's moments. */
double capacity_drop(const struct rows *rows, uint64_t tokens, uint64_t slots);

/* Share of rows dropped in sampled capacity units (sequences or batches). */
struct capacity_sample {
    double mean, p99;
};

/* Samples whole units of `tokens` tokens of successive source ranks and steps, at most `units`.
 * The mean is exact for the sampled steps: what an execution of them drops. */
void capacity_sampled(const struct rows *rows, uint64_t tokens, uint64_t slots, uint64_t units,
                      struct arena *arena, struct capacity_sample *out);

/* One line of the trade: more slots drop less, and pad, hold and compute more. */
struct capacity_point {
    double factor;
    uint64_t slots;
    double drop;           /* expected share of rows */
    double padding;        /* slots / rows kept */
    double flop_factor;    /* slots / rows: computed over useful without drops */
    uint64_t buffer_bytes; /* [E, slots, H] of one unit */
};

enum { CAPACITY_POINTS = 7 };

/* Factors 1, 1.25, 1.5, 2, 4, the plan's own, and E / K (drops nothing), ascending, each once.
 * Returns their number. */
unsigned capacity_trade(const struct rows *rows, enum capacity_rule rule, uint64_t tokens,
                        double factor, uint64_t row_bytes,
                        struct capacity_point points[CAPACITY_POINTS]);

#endif
