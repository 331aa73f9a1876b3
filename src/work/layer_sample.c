/* Routing slots from a sample; see layer_sample.h. */
#include "work/layer_sample.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "work/layer.h"

void layer_sample_place(const struct layer_sample *s, const int32_t *ids, uint64_t n,
                        uint64_t *seen, int32_t *phys)
{
    for (uint64_t i = 0; i < n * s->K; i++) {
        int32_t first = s->start[ids[i]];
        uint64_t count = (uint64_t)(s->start[ids[i] + 1] - first);
        phys[i] = s->replica[(uint64_t)first + seen[ids[i]]++ % count];
    }
}

void layer_sample_contiguous(struct layer_sample *s, struct arena *arena)
{
    int32_t *start = arena_alloc(arena, s->logical + 1, sizeof *start);
    int32_t *replica = arena_alloc(arena, s->R * s->local, sizeof *replica);
    for (uint64_t i = 0; i <= s->logical; i++)
        start[i] = (int32_t)i;
    for (uint64_t i = 0; i < s->logical; i++)
        replica[i] = (int32_t)i;
    s->start = start;
    s->replica = replica;
    s->phys = arena_alloc(arena, s->R * s->T * s->K, sizeof *s->phys);
    uint64_t *seen = arena_alloc(arena, s->logical, sizeof *seen);
    for (uint64_t rank = 0; rank < s->R; rank++) {
        memset(seen, 0, s->logical * sizeof *seen);
        uint64_t at = rank * s->T * s->K;
        layer_sample_place(s, s->ids + at, s->T, seen, s->phys + at);
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

static void count_source(const struct layer_sample *s, uint64_t source, uint64_t rank,
                         uint64_t *v)
{
    const int32_t *phys = s->phys + source * s->T * s->K;
    for (uint64_t t = 0; t < s->T; t++) {
        for (uint64_t k = 0; k < s->K; k++) {
            const int32_t *token = phys + t * s->K;
            uint64_t owner = (uint64_t)token[k] / s->local;
            bool first = first_of_rank(s, token, k);
            if (owner == rank) {
                v[SLOT_ROWS]++;
                v[SLOT_RECEIVED] += first;
                v[SLOT_ROWS_FROM] += source != rank;
                v[SLOT_TOKENS_FROM] += source != rank && first;
            }
            if (source == rank) {
                v[SLOT_ROWS_SENT] += owner != rank;
                v[SLOT_TOKENS_OUT] += first;
                v[SLOT_TOKENS_SENT] += owner != rank && first;
            }
        }
    }
}

/* Rows per local expert of a rank: from every source ([R, e]). */
static void count_experts(const struct layer_sample *s, uint64_t rank, uint64_t *counts)
{
    for (uint64_t i = 0; i < s->R * s->T * s->K; i++) {
        uint64_t expert = (uint64_t)s->phys[i];
        if (expert / s->local == rank)
            counts[i / (s->T * s->K) * s->local + expert % s->local]++;
    }
}

static void count_groups(const struct layer_sample *s, const uint64_t *counts, uint64_t *v)
{
    v[SLOT_PADDED_ROWS] = v[SLOT_HOT_EXPERT] = v[SLOT_BLOCKS] = v[SLOT_HIT_EXPERTS] = 0;
    for (uint64_t e = 0; e < s->local; e++) {
        uint64_t rows = 0;
        for (uint64_t r = 0; r < s->R; r++)
            rows += counts[r * s->local + e];
        v[SLOT_PADDED_ROWS] += round_up(rows, v[SLOT_ALIGNMENT]);
        v[SLOT_HIT_EXPERTS] += rows > 0;
        v[SLOT_BLOCKS] += v[SLOT_BLOCK] ? ceil_div(rows, v[SLOT_BLOCK]) : 0;
        if (rows > v[SLOT_HOT_EXPERT])
            v[SLOT_HOT_EXPERT] = rows;
    }
}

/* Rounds of chunks of C: the fullest (source, expert) pair of the whole group decides. */
static uint64_t rounds(const struct layer_sample *s, uint64_t chunk)
{
    uint64_t most = 0, n = s->R * s->local;
    uint64_t *counts = calloc(n, sizeof *counts);
    for (uint64_t i = 0; counts && i < s->R * s->T * s->K; i++) {
        if (i % (s->T * s->K) == 0)
            memset(counts, 0, n * sizeof *counts);
        uint64_t rows = ++counts[s->phys[i]];
        most = rows > most ? rows : most;
    }
    free(counts);
    return chunk ? ceil_div(most, chunk) : 0;
}

/* The slots that routing decides (ROWS, RECEIVED, ...) of one rank. */
static void routing_slots(const struct layer_sample *s, uint64_t rank, struct slots *slots)
{
    static const enum slot counted[] = {SLOT_ROWS,       SLOT_RECEIVED,    SLOT_ROWS_FROM,
                                        SLOT_ROWS_SENT,  SLOT_TOKENS_FROM, SLOT_TOKENS_OUT,
                                        SLOT_TOKENS_SENT};
    uint64_t *v = slots->value;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        v[counted[i]] = 0;
    for (uint64_t source = 0; source < s->R; source++)
        count_source(s, source, rank, v);
    uint64_t *counts = calloc(s->R * s->local, sizeof *counts);
    if (counts) {
        count_experts(s, rank, counts);
        count_groups(s, counts, v);
    }
    free(counts);
    v[SLOT_ROUNDS] = rounds(s, v[SLOT_CHUNK]);
}

void layer_sample_plan_slots(const struct plan *plan, const struct layer_sample *s,
                             uint64_t rank, uint64_t workers, struct slots *slots)
{
    slots_from_plan(plan, slots);
    slots->value[SLOT_WORKERS] = workers;
    slots->value[SLOT_ALIGNMENT] = layer_alignment(plan);
    slots->value[SLOT_LOCAL_EXPERTS] = s->local;
    slots->value[SLOT_EXPERTS] = s->R * s->local;
    routing_slots(s, rank, slots);
}

uint64_t layer_sample_dropped(const struct layer_sample *s, uint64_t rank, uint64_t groups,
                              uint64_t capacity)
{
    uint64_t dropped = 0, per_group = s->T / groups * s->K, n = s->R * s->local;
    const int32_t *phys = s->phys + rank * s->T * s->K;
    uint64_t *counts = calloc(n, sizeof *counts);
    for (uint64_t i = 0; counts && i < s->T * s->K; i++) {
        if (i % per_group == 0)
            memset(counts, 0, n * sizeof *counts);
        dropped += ++counts[phys[i]] > capacity;
    }
    free(counts);
    return dropped;
}
