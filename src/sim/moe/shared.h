/* Shared experts: sequence parallel (SP: weights on every rank, a part of the tokens each)
 * against tensor parallel (TP: a part of the weights each, all tokens).
 *
 * A core does 6 H I_s T / tp FLOP either way. SP reads all the weights for T / tp tokens and
 * moves nothing; TP reads 1 / tp of them for T tokens, and gathers its input and scatters its
 * output unless the routed path gathers anyway. Source: seed-systems.md B5. */
#ifndef MOEPLAN_SIM_MOE_SHARED_H
#define MOEPLAN_SIM_MOE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct shared_ask {
    uint64_t tokens; /* T: of the whole tensor-parallel group */
    uint64_t tp;
    uint64_t hidden, inter; /* I_s: of all shared experts together */
    bool glu;
    enum dtype weights, activations;
    uint64_t layers;
    bool gathered;       /* the routed path gathers tokens and scatters outputs anyway */
    bool decode;         /* replicated weights: each core still reads its 1 / tp of them */
    uint64_t free_bytes; /* memory of a rank that is left for these weights */
    double flop_per_s, bytes_per_s; /* of a rank; 0: not known */
    double link_bytes_per_s;
};

struct shared_cost {
    uint64_t weight_bytes;     /* a rank keeps, per layer */
    uint64_t all_weight_bytes; /* in all layers */
    uint64_t read_bytes;       /* weights read from memory, per layer */
    uint64_t sent_bytes;       /* by a rank, per layer */
    double flop;               /* of a rank, per layer */
    double flop_per_byte;      /* of weights read */
    double seconds;            /* roofline and exchange, per layer */
};

struct shared {
    struct shared_cost sp, tp;
    enum shared_mode choice; /* SHARED_SP or SHARED_TP */
    const char *why;         /* constant text */
};

/* The cheaper of the two among those whose weights fit. */
void shared_of(const struct shared_ask *ask, struct shared *out);

/* The question that a plan poses; false when the model has no shared experts. */
bool shared_ask_of(const struct plan *plan, uint64_t free_bytes, struct shared_ask *ask);

#endif
