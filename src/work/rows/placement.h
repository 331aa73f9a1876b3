/* Where experts live: logical experts, their replicas, and the ranks that hold them.
 *
 * A replica is a physical expert. Without redundancy every expert has one. Replicas of one
 * expert stand together, in the order of their numbers, in `replica`. */
#ifndef MOEPLAN_WORK_ROWS_PLACEMENT_H
#define MOEPLAN_WORK_ROWS_PLACEMENT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

struct expert_map {
    uint64_t experts;        /* E, logical */
    uint64_t replicas;       /* P = E + redundant experts */
    uint64_t ranks;          /* R */
    uint64_t most_local;     /* replicas on the fullest rank */
    uint32_t *expert;        /* [P] logical expert of a replica */
    uint32_t *rank;          /* [P] rank of a replica */
    uint32_t *local;         /* [P] its number on the rank, from 0 */
    uint32_t *first, *count; /* [E] into replica */
    uint32_t *replica;       /* [P] replicas sorted by expert */
    uint64_t *held;          /* [R] replicas on a rank */
};

struct placement_ask {
    enum placement kind;
    uint64_t experts, ranks, redundant;
    uint64_t groups,
        nodes;             /* EPLB: router groups and nodes of the EP group; 1: global policy */
    const double *weight;  /* EPLB: [E] expected load of an expert */
    const uint32_t *owner; /* table: [E] rank of an expert */
};

/* contiguous: e / ceil(E/R); strided: e mod R; table: as told; EPLB: work/rows/eplb.h,
 * hierarchical when groups and ranks divide by nodes. Redundant experts without EPLB replicate
 * experts 0, 1, ... in turn. STATUS_INPUT when a table names a rank that does not exist, or
 * when the replicas do not divide over the ranks (EPLB). Memory from the arena. */
enum status placement_make(const struct placement_ask *ask, struct arena *arena,
                           struct expert_map *out, struct err *err);

/* Rows of replica j when an expert has `rows` rows from one source, round robin. */
static inline uint64_t placement_share(uint64_t rows, uint64_t count, uint64_t j)
{
    return rows / count + (j < rows % count);
}

#endif
