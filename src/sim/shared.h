/* Shared experts: replicated weights on a part of the tokens each (SP), or sharded weights on
 * all tokens (TP). Source: seed-systems.md B5. */
#ifndef MOEPLAN_SIM_SHARED_H
#define MOEPLAN_SIM_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct shared_ask {
    uint64_t tokens, hidden,
        inter; /* T of all tp ranks together; width of all shared experts */
    uint64_t tp, layers;
    uint64_t element_bytes;
    bool gathered;       /* the routed path gathers the tokens anyway */
    double ridge;        /* FLOP per byte, 0: unknown */
    uint64_t room_bytes; /* free for replicated weights; UINT64_MAX: unknown */
};

struct shared_mode_cost {
    uint64_t weight_bytes;   /* on a rank, all layers */
    uint64_t exchange_bytes; /* received by a rank per layer: gather in, reduce-scatter out */
    double intensity; /* FLOP per byte of weights: tokens on the rank, for 2-byte weights */
};

struct shared_choice {
    struct shared_mode_cost sp, tp;
    enum shared_mode choice; /* SHARED_SP or SHARED_TP */
    const char *why;         /* constant text */
};

/* SP when the replicated weights fit and leave enough tokens per rank for the ridge. */
void shared_choose(const struct shared_ask *ask, struct shared_choice *out);

#endif
