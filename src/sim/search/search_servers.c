/* See search_servers.h. */
#include "sim/search/search_servers.h"

#include "plan/derive.h"
#include "plan/pools.h"

void servers_init(struct servers *servers, size_t n, struct arena *arena)
{
    *servers = (struct servers){n, arena_alloc(arena, n + 1, sizeof(struct server_slot *))};
}

struct server_slot *servers_slot(struct servers *servers, size_t layout, uint64_t count,
                                 struct arena *arena)
{
    struct server_slot *slot = servers->slots[layout];
    while (slot && slot->count != count)
        slot = slot->next;
    if (slot)
        return slot;
    slot = arena_alloc(arena, 1, sizeof *slot);
    slot->count = count;
    slot->next = servers->slots[layout];
    servers->slots[layout] = slot;
    return slot;
}

void server_fill(struct server_slot *slot, const struct plan *plan, enum duty duty,
                 const struct serve_ask *ask)
{
    struct err err = {0};
    slot->priced = serve_server_price(plan, duty, ask, &slot->server, &err) == STATUS_OK;
    if (slot->priced && plan_arrives(plan))
        serve_pool_play(&slot->server.pool);
}

const struct server_memory *server_size(struct server_slot *slot, const struct plan *plan,
                                        enum duty duty, struct evaluator *evaluator)
{
    struct arena arena = {0};
    if (slot->sized)
        return &slot->memory;
    struct plan *pool = arena_alloc(&arena, 1, sizeof *pool);
    struct evaluation result;
    plan_pool(plan, duty, plan_deployments(plan, duty), pool);
    evaluate(evaluator, pool, 0, &result);
    slot->memory = (struct server_memory){result.peak.total_bytes, result.peak.state_bytes,
                                          result.limit_bytes, result.verdict};
    slot->sized = true;
    arena_release(&arena);
    return &slot->memory;
}

void servers_release(struct servers *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        for (struct server_slot *slot = servers->slots[i]; slot; slot = slot->next)
            if (slot->priced)
                serve_pool_release(&slot->server.pool);
}
