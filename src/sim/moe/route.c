/* From the sampler's placement and tokens to a layer's sample; see route.h. */
#include "sim/moe/route.h"

#include <math.h>

/* Physical experts are numbered rank * e + number on the rank, replicas by logical expert. A
 * rank with fewer than e experts leaves numbers that no token chooses. */
static void place(struct route *r, struct arena *arena)
{
    const struct expert_map *map = &r->rows.map;
    struct layer_sample *s = &r->sample;
    int32_t *start = arena_alloc(arena, s->logical + 1, sizeof *start);
    int32_t *replica = arena_alloc(arena, s->R * s->local, sizeof *replica);
    int32_t n = 0;
    for (uint64_t e = 0; e < s->logical; e++) {
        start[e] = n;
        for (uint32_t j = 0; j < map->count[e]; j++) {
            uint32_t p = map->replica[map->first[e] + j];
            replica[n++] = (int32_t)(map->rank[p] * s->local + map->local[p]);
        }
    }
    start[s->logical] = n;
    s->start = start;
    s->replica = replica;
}

enum status route_init(const struct plan *plan, const struct routing_data *data,
                       const struct rows *rows, struct arena *arena, struct route *r,
                       struct err *err)
{
    struct rows_spec spec;
    rows_spec_from_plan(plan, data, &spec);
    *r = (struct route){.arena = arena};
    if (rows)
        r->rows = *rows;
    else
        TRY(rows_prepare(&spec, arena, &r->rows, err));
    rows_scratch_init(&r->rows, arena, &r->scratch);
    struct layer_sample *s = &r->sample;
    *s = (struct layer_sample){.R = spec.ranks,
                               .T = spec.tokens,
                               .K = spec.top_k,
                               .logical = spec.experts,
                               .local = r->rows.map.most_local};
    r->ids = arena_alloc(arena, s->R * s->T * s->K, sizeof *r->ids);
    s->ids = r->ids;
    place(r, arena);
    return STATUS_OK;
}

/* Chosen and placed experts of every token; rows of every source for every expert. */
uint64_t route_bytes(const struct plan *plan)
{
    struct rows_spec spec;
    rows_spec_from_plan(plan, NULL, &spec);
    double ids = (double)spec.ranks * (double)spec.tokens * (double)spec.top_k;
    double counts = (double)spec.ranks * (double)(spec.experts + spec.ranks);
    return (uint64_t)fmin(4 * (2 * ids + counts), 0x1p63);
}

void route_step(struct route *r, uint64_t step)
{
    struct layer_sample *s = &r->sample;
    uint64_t each = s->T * s->K;
    for (uint64_t rank = 0; rank < s->R; rank++)
        rows_sample_tokens(&r->rows, step, rank, 0, s->T, &r->scratch, r->ids + rank * each);
    layer_sample_route(s, r->arena);
}
