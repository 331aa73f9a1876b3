/* More devices: see fix_parts.h. Counts double until one fits, then those between are tried
 * from the smallest up: what divides into the layout decides, so bisection would not do. */
#include "plan/derive.h"
#include "sim/search/fix_parts.h"

enum { GROW_MAX = 64, BETWEEN_MAX = 64, NODE_DEVICES = 8 };

/* A number of nodes, or of devices of the only node; `key` ends in the key that is counted. */
struct growth {
    const char *key;
    uint64_t present, most;
};

static struct fix_move grow(struct fix_search *search, const struct growth *growth,
                            uint64_t value)
{
    return (struct fix_move){
        growth->key,
        arena_printf(search->arena, "%s=%llu", growth->key, (unsigned long long)value),
        "more hardware", FIX_DEVICES};
}

/* With so many: as it is, or with one change of the layout. *second: that change. */
static bool enough(struct fix_search *search, struct fix_move more, struct fix_move *second,
                   bool *alone)
{
    struct fix_moves *moves = arena_alloc(search->arena, 1, sizeof *moves);
    struct evaluation result;
    struct plan larger;
    *alone = fix_fits(search, &more, 1, &result);
    if (*alone || !fix_apply(search->plan, &more, 1, &larger))
        return *alone;
    fix_list_moves(&larger, search->arena, moves);
    for (size_t i = 0; i < moves->n; i++) {
        const struct fix_move both[] = {more, moves->list[i]};
        if (both[1].kind != FIX_LAYOUT || !fix_fits(search, both, 2, &result) ||
            fix_fits(search, &both[1], 1, &result)) /* without more devices */
            continue;
        *second = both[1];
        return true;
    }
    return false;
}

static bool try_growth(struct fix_search *search, const struct growth *growth)
{
    struct fix_move both[2];
    bool alone = false;
    uint64_t low = growth->present, value = 2 * low;
    while (value <= growth->most &&
           !enough(search, grow(search, growth, value), &both[1], &alone)) {
        low = value;
        value *= 2;
    }
    if (value > growth->most)
        return false;
    /* where there are too many to try, the power of two stands */
    for (uint64_t between = low + 1; between < value && value - low <= BETWEEN_MAX; between++) {
        both[0] = grow(search, growth, between);
        if (enough(search, both[0], &both[1], &alone))
            return fix_keep(search, both, alone ? 1 : 2);
    }
    both[0] = grow(search, growth, value);
    return enough(search, both[0], &both[1], &alone) && fix_keep(search, both, alone ? 1 : 2);
}

void fix_devices(struct fix_search *search)
{
    const struct cluster *c = &search->plan->cluster;
    const struct growth devices = {"cluster.node.devices", c->node.devices, NODE_DEVICES};
    const struct growth nodes = {"cluster.nodes", c->nodes, c->nodes * GROW_MAX};
    const struct growth machines = {"cluster.node.devices=8 cluster.nodes", 1, GROW_MAX};
    if (c->mesh.n) /* a slice grows along its axes */
        return;
    if (c->nodes == 1 && c->node.devices < NODE_DEVICES && try_growth(search, &devices))
        return;
    if (!search->n && c->nodes * c->node.devices == 1)
        try_growth(search, &machines);
    if (c->node.devices > 1)
        try_growth(search, &nodes);
}
