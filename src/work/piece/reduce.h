/* Who sends what in a reduce-scatter over p ranks: the schedules of seed 003, shared by their
 * cost models and whoever performs them. Chunks are the p equal parts of the reduced array;
 * rank i ends with chunk i, summed over all ranks. Source: seed-systems.md C3. */
#ifndef MOEPLAN_WORK_PIECE_REDUCE_H
#define MOEPLAN_WORK_PIECE_REDUCE_H

#include <stdint.h>

/* Ring: in step s (0 .. p-2) every rank sends one chunk to its right neighbour and adds the one
 * from its left into its own copy. */
struct ring_step {
    uint64_t to, from;       /* neighbours */
    uint64_t sent, received; /* chunks */
};

struct ring_step reduce_ring_step(uint64_t rank, uint64_t step, uint64_t ranks);

/* Recursive halving, far partner first: in step s (0 .. log2 p - 1) a rank keeps half of the
 * chunks it still works on and sends the other half to its partner. Ranks: a power of two. */
struct halving_step {
    uint64_t partner;
    uint64_t kept, sent; /* first chunks */
    uint64_t chunks;     /* of each half */
};

struct halving_step reduce_halving_step(uint64_t rank, uint64_t step, uint64_t ranks);

/* Steps of a schedule: p - 1, and log2 p. */
uint64_t reduce_ring_steps(uint64_t ranks);
uint64_t reduce_halving_steps(uint64_t ranks);

#endif
