/* One step's routing of a whole expert-parallel group, token by token, and what it makes of the
 * routing slots of each rank. The same sample is priced and performed. */
#ifndef MOEPLAN_WORK_LAYER_LAYER_SAMPLE_H
#define MOEPLAN_WORK_LAYER_LAYER_SAMPLE_H

#include <stdint.h>

#include "base/arena.h"
#include "work/list/shape.h"

struct layer_sample {
    uint64_t R, T, K, logical; /* ranks, tokens of each, experts per token, experts */
    uint64_t local;            /* e: physical experts of a rank; p = rank * e + number */
    const int32_t *ids;        /* [R, T, K] logical experts, distinct within a token */
    const int32_t *start;      /* [logical + 1] into replica */
    const int32_t *replica;    /* [R e] physical experts, by logical expert */
    /* what layer_sample_route finds: */
    int32_t *phys;    /* [R, T, K] physical experts */
    uint32_t *rows;   /* [R, R e] rows of a source for a physical expert */
    uint32_t *tokens; /* [R, R] tokens of a source with an expert on a rank */
    uint32_t most;    /* the largest of rows */
    uint64_t *seen;   /* [logical] scratch */
};

/* Places the ids of every rank by start and replica, and counts the result. Memory, at the
 * first call, from the arena; later ones overwrite it. */
void layer_sample_route(struct layer_sample *sample, struct arena *arena);

/* Physical experts of one rank's [n, K] ids: the j-th occurrence of an expert goes to its
 * replica j mod count. `seen` [logical] must be zero before the first token. */
void layer_sample_place(const struct layer_sample *sample, const int32_t *ids, uint64_t n,
                        uint64_t *seen, int32_t *phys);

/* All slots of one rank: the plan's, then those that routing decides (ROWS, RECEIVED, ...). */
void layer_sample_plan_slots(const struct plan *plan, const struct layer_sample *sample,
                             uint64_t rank, uint64_t workers, struct slots *slots);

/* The same as if no row arrived: the least that sizes can be. */
void layer_sample_least_slots(const struct plan *plan, uint64_t workers, struct slots *slots);

/* Rows that a rank drops when an expert takes at most `capacity` rows of each of `groups` equal
 * parts of its tokens, the first ones. */
uint64_t layer_sample_dropped(const struct layer_sample *sample, uint64_t rank, uint64_t groups,
                              uint64_t capacity);

#endif
