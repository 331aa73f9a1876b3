/* The way back to balance: loss-free bias updates of a router that is skewed.
 *
 * Popularity stays, the selection bias moves: after every step each expert's bias grows by the
 * rate when it got fewer rows than the mean, and falls when it got more (buffers.md 14.5).
 * Logits are log popularity plus Gumbel noise, so that without bias the choice is the
 * sampler's. */
#ifndef MOEPLAN_SIM_MOE_BALANCE_H
#define MOEPLAN_SIM_MOE_BALANCE_H

#include "base/arena.h"
#include "work/rows/rows.h"

struct balance_ask {
    uint64_t tokens; /* of a step; more make the counts less noisy and cost more */
    uint64_t steps;
    double rate; /* of the bias, in units of the score */
    double goal; /* fullest expert over mean that counts as balanced */
};

struct balance {
    double before,
        after;      /* fullest expert over mean: at first and at last, means of 10 steps */
    uint64_t steps; /* until the mean of 10 steps reached the goal; 0: not within ask->steps */
};

/* Follows the router of prepared rows. Deterministic for the seed. */
void balance_recover(const struct rows *rows, const struct balance_ask *ask,
                     struct arena *arena, struct balance *out);

#endif
