/* Placements and replica splits; see placement.h. */
#include "work/rows/placement.h"

#include <stdbool.h>

#include "work/rows/eplb.h"

static void allocate(const struct placement_ask *ask, struct arena *arena,
                     struct expert_map *out)
{
    uint64_t p = ask->experts + ask->redundant;
    *out = (struct expert_map){
        .experts = ask->experts, .replicas = p, .ranks = ask->ranks, .most_local = 0};
    out->expert = arena_alloc(arena, p, sizeof *out->expert);
    out->rank = arena_alloc(arena, p, sizeof *out->rank);
    out->local = arena_alloc(arena, p, sizeof *out->local);
    out->replica = arena_alloc(arena, p, sizeof *out->replica);
    out->first = arena_alloc(arena, ask->experts, sizeof *out->first);
    out->count = arena_alloc(arena, ask->experts, sizeof *out->count);
    out->held = arena_alloc(arena, ask->ranks, sizeof *out->held);
}

/* Fills what follows from expert[] and rank[]: local numbers, replica lists, counts. */
static void index_replicas(struct expert_map *out)
{
    for (uint64_t i = 0; i < out->replicas; i++) {
        out->count[out->expert[i]]++;
        out->local[i] = (uint32_t)out->held[out->rank[i]]++;
    }
    uint32_t start = 0;
    for (uint64_t e = 0; e < out->experts; e++) {
        out->first[e] = start;
        start += out->count[e];
        out->count[e] = 0;
    }
    for (uint64_t i = 0; i < out->replicas; i++) {
        uint32_t e = out->expert[i];
        out->replica[out->first[e] + out->count[e]++] = (uint32_t)i;
    }
    for (uint64_t r = 0; r < out->ranks; r++)
        if (out->held[r] > out->most_local)
            out->most_local = out->held[r];
}

/* The remainder, one each, on the first ranks (vLLM fused_moe/expert_map_manager.py,
 * determine_expert_map, "linear"). */
static uint64_t contiguous(uint64_t i, uint64_t n, uint64_t ranks)
{
    uint64_t each = n / ranks, more = n % ranks, fuller = more * (each + 1);
    return i < fuller ? i / (each + 1) : more + (i - fuller) / each;
}

static uint64_t strided(uint64_t i, uint64_t n, uint64_t ranks)
{
    (void)n;
    return i % ranks;
}

static enum status by_rule(const struct placement_ask *ask,
                           uint64_t (*rule)(uint64_t, uint64_t, uint64_t),
                           struct expert_map *out)
{
    for (uint64_t i = 0; i < out->replicas; i++) {
        out->expert[i] = (uint32_t)(i % ask->experts);
        out->rank[i] = (uint32_t)rule(i, out->replicas, ask->ranks);
    }
    return STATUS_OK;
}

static enum status by_table(const struct placement_ask *ask, struct expert_map *out,
                            struct err *err)
{
    if (!ask->owner)
        return err_set(err, STATUS_INPUT, "placement 'table' has no table");
    for (uint64_t i = 0; i < out->replicas; i++) {
        uint64_t e = i % ask->experts;
        if (ask->owner[e] >= ask->ranks)
            return err_set(
                err, STATUS_INPUT, "placement puts expert %llu on rank %u of %llu ranks",
                (unsigned long long)e, ask->owner[e], (unsigned long long)ask->ranks);
        out->expert[i] = (uint32_t)e;
        out->rank[i] = (uint32_t)((ask->owner[e] + i / ask->experts) % ask->ranks);
    }
    return STATUS_OK;
}

/* The hierarchical policy where groups and ranks allow it, as the library chooses. */
static enum status by_eplb(const struct placement_ask *ask, struct arena *arena,
                           struct expert_map *out, struct err *err)
{
    uint64_t groups = ask->groups, nodes = ask->nodes;
    bool hierarchical = nodes > 1 && groups > 1 && groups % nodes == 0 &&
                        ask->ranks % nodes == 0 && ask->experts % groups == 0;
    if (!hierarchical)
        groups = nodes = 1;
    struct eplb eplb;
    TRY(eplb_place(ask->weight, ask->experts, out->replicas, groups, nodes, ask->ranks, arena,
                   &eplb, err));
    uint64_t per_rank = out->replicas / ask->ranks;
    for (uint64_t i = 0; i < out->replicas; i++) {
        out->expert[i] = eplb.expert[i];
        out->rank[i] = (uint32_t)(i / per_rank);
    }
    return STATUS_OK;
}

enum status placement_make(const struct placement_ask *ask, struct arena *arena,
                           struct expert_map *out, struct err *err)
{
    struct expert_map made;
    allocate(ask, arena, &made);
    switch (ask->kind) {
    case PLACEMENT_CONTIGUOUS:
        TRY(by_rule(ask, contiguous, &made));
        break;
    case PLACEMENT_STRIDED:
        TRY(by_rule(ask, strided, &made));
        break;
    case PLACEMENT_TABLE:
        TRY(by_table(ask, &made, err));
        break;
    case PLACEMENT_EPLB:
        TRY(by_eplb(ask, arena, &made, err));
        break;
    }
    index_replicas(&made);
    *out = made;
    return STATUS_OK;
}
