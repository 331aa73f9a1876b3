/* Schedules: how an array of p equal chunks is reduced or gathered in hops between pairs of
 * ranks, every rank with one peer to send to and one to receive from. The steps of reduce.h and
 * their reverse, in the terms that an exchange is performed in. Source: seed-systems.md C3.
 *
 * A reduction ends with chunk i summed on rank i; a gather begins with chunk i on rank i and
 * ends with all chunks on every rank. */
#ifndef MOEPLAN_WORK_PIECE_SCHEDULE_H
#define MOEPLAN_WORK_PIECE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule {
    SCHEDULE_RING_REDUCE,     /* p - 1 steps to the right, a chunk each */
    SCHEDULE_HALVING_REDUCE,  /* log2 p steps, far partner first; p a power of two */
    SCHEDULE_RING_GATHER,     /* p - 1 steps to the right, a chunk each */
    SCHEDULE_DOUBLING_GATHER, /* halving backwards: near partner first */
    SCHEDULE_PASS_LEFT        /* p - 1 steps: a rank's whole array to the left neighbour */
};

/* What a rank does in one step. Chunks `sent` .. sent + chunks - 1 go to `to`, as many from
 * `from` are the chunks `received` of the array. When passing, the array is one chunk. */
struct hop {
    uint64_t to, from;
    uint64_t sent, received, chunks;
};

/* step < schedule_steps(schedule, ranks) */
struct hop schedule_hop(enum schedule schedule, uint64_t rank, uint64_t step, uint64_t ranks);
uint64_t schedule_steps(enum schedule schedule, uint64_t ranks);

/* Whether what arrives is added to the rank's own. */
bool schedule_reduces(enum schedule schedule);

#endif
