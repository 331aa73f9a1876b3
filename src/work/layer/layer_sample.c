/* Routing slots from a sample; see layer_sample.h. */
#include "work/layer/layer_sample.h"

#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "work/piece/block_loop.h"
#include "work/path/path.h"
#include "work/layer/layer.h"

void layer_sample_place(const struct layer_sample *s, const int32_t *ids, uint64_t n,
                        uint64_t *seen, int32_t *phys)
{
    for (uint64_t i = 0; i < n * s->K; i++) {
        int32_t first = s->start[ids[i]];
        uint64_t count = (uint64_t)(s->start[ids[i] + 1] - first);
        phys[i] = s->replica[(uint64_t)first + seen[ids[i]]++ % count];
    }
}

/* Whether slot k is the first of its token with an expert on that rank. */
static bool first_of_rank(const struct layer_sample *s, const int32_t *token, uint64_t k)
{
    for (uint64_t i = 0; i < k; i++)
        if ((uint64_t)token[i] / s->local == (uint64_t)token[k] / s->local)
            return false;
    return true;
}

static void count_token(struct layer_sample *s, uint64_t source, const int32_t *token)
{
    for (uint64_t k = 0; k < s->K; k++) {
        uint32_t rows = ++s->rows[source * s->R * s->local + (uint64_t)token[k]];
        s->most = rows > s->most ? rows : s->most;
        if (first_of_rank(s, token, k))
            s->tokens[source * s->R + (uint64_t)token[k] / s->local]++;
    }
}

void layer_sample_route(struct layer_sample *s, struct arena *arena)
{
    uint64_t experts = s->R * s->local;
    if (!s->phys) {
        s->phys = arena_alloc(arena, s->R * s->T * s->K, sizeof *s->phys);
        s->rows = arena_alloc(arena, s->R * experts, sizeof *s->rows);
        s->tokens = arena_alloc(arena, s->R * s->R, sizeof *s->tokens);
        s->seen = arena_alloc(arena, s->logical, sizeof *s->seen);
    }
    memset(s->rows, 0, s->R * experts * sizeof *s->rows);
    memset(s->tokens, 0, s->R * s->R * sizeof *s->tokens);
    s->most = 0;
    for (uint64_t source = 0; source < s->R; source++) {
        uint64_t at = source * s->T * s->K;
        memset(s->seen, 0, s->logical * sizeof *s->seen);
        layer_sample_place(s, s->ids + at, s->T, s->seen, s->phys + at);
        for (uint64_t t = 0; t < s->T; t++)
            count_token(s, source, s->phys + at + t * s->K);
    }
}

/* Rows and tokens between a rank and every other, and inside it. */
static void count_pairs(const struct layer_sample *s, uint64_t rank, uint64_t *v)
{
    uint64_t experts = s->R * s->local;
    for (uint64_t peer = 0; peer < s->R; peer++) {
        uint64_t to = 0, from = 0;
        for (uint64_t e = 0; e < s->local; e++) {
            to += s->rows[rank * experts + peer * s->local + e];
            from += s->rows[peer * experts + rank * s->local + e];
        }
        uint64_t tokens_to = s->tokens[rank * s->R + peer];
        uint64_t tokens_from = s->tokens[peer * s->R + rank];
        v[SLOT_ROWS] += from;
        v[SLOT_RECEIVED] += tokens_from;
        v[SLOT_TOKENS_OUT] += tokens_to;
        if (peer == rank)
            continue;
        v[SLOT_ROWS_FROM] += from;
        v[SLOT_TOKENS_FROM] += tokens_from;
        v[SLOT_ROWS_SENT] += to;
        v[SLOT_TOKENS_SENT] += tokens_to;
    }
}

/* What the rank's experts get from all sources together. */
static void count_experts(const struct layer_sample *s, uint64_t rank, uint64_t *v)
{
    uint64_t experts = s->R * s->local;
    for (uint64_t e = 0; e < s->local; e++) {
        uint64_t rows = 0;
        for (uint64_t source = 0; source < s->R; source++)
            rows += s->rows[source * experts + rank * s->local + e];
        v[SLOT_PADDED_ROWS] += round_up(rows, v[SLOT_ALIGNMENT]);
        v[SLOT_HIT_EXPERTS] += rows > 0;
        v[SLOT_BLOCKS] += v[SLOT_BLOCK] ? ceil_div(rows, v[SLOT_BLOCK]) : 0;
        if (rows > v[SLOT_HOT_EXPERT])
            v[SLOT_HOT_EXPERT] = rows;
    }
}

void layer_sample_least_slots(const struct plan *plan, uint64_t workers, struct slots *slots)
{
    static const enum slot counted[] = {
        SLOT_ROWS,        SLOT_RECEIVED,    SLOT_ROWS_FROM,   SLOT_ROWS_SENT,  SLOT_TOKENS_OUT,
        SLOT_TOKENS_FROM, SLOT_TOKENS_SENT, SLOT_PADDED_ROWS, SLOT_HOT_EXPERT, SLOT_BLOCKS,
        SLOT_HIT_EXPERTS, SLOT_ROUNDS,      SLOT_WEIGHT_LOADS};
    uint64_t *v = slots->value;
    slots_from_plan(plan, slots);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        v[counted[i]] = 0;
    v[SLOT_WORKERS] = workers;
    v[SLOT_ALIGNMENT] = layer_alignment(plan);
}

void layer_sample_plan_slots(const struct plan *plan, const struct layer_sample *s,
                             uint64_t rank, uint64_t workers, struct slots *slots)
{
    uint64_t *v = slots->value;
    layer_sample_least_slots(plan, workers, slots);
    v[SLOT_LOCAL_EXPERTS] = s->local;
    v[SLOT_EXPERTS] = s->R * s->local;
    count_pairs(s, rank, v);
    count_experts(s, rank, v);
    v[SLOT_PADDED_ROWS] = layer_computed_rows(plan->moe.path, plan, v);
    struct block_loop blocks = {0};
    if (path_system_of(plan->moe.path)->blocks)
        block_loop_of(plan, s, rank, &blocks);
    v[SLOT_WEIGHT_LOADS] = blocks.weight_loads;
    v[SLOT_ROUNDS] = v[SLOT_CHUNK] ? ceil_div(s->most, v[SLOT_CHUNK]) : 0;
}

uint64_t layer_sample_dropped(const struct layer_sample *s, uint64_t rank, uint64_t groups,
                              uint64_t capacity)
{
    uint64_t dropped = 0, per_group = s->T / groups * s->K, n = s->R * s->local;
    const int32_t *phys = s->phys + rank * s->T * s->K;
    struct arena arena = {0};
    uint64_t *counts = arena_alloc(&arena, n, sizeof *counts);
    for (uint64_t i = 0; i < s->T * s->K; i++) {
        if (i % per_group == 0)
            memset(counts, 0, n * sizeof *counts);
        dropped += ++counts[phys[i]] > capacity;
    }
    arena_release(&arena);
    return dropped;
}
