/* More devices: see fix_parts.h. Counts double until one fits, then those between are tried
 * from the smallest up: what divides into the layout decides, so bisection would not do. */
#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/search/fix_parts.h"

/* So many times the present hardware; GROW_FEW where something else helps as it is. Slices of
 * two axes end at 16 x 16 (models/clusters/tpu-v5e.yaml, tpu-v6e.yaml). */
enum { GROW_MAX = 64, GROW_FEW = 4, SLICE_DEVICES = 256, BETWEEN_MAX = 64, NODE_DEVICES = 8 };

/* A number of nodes, or of devices of the only node; `key` ends in the key that is counted.
 * A slice is a node whose axes double. */
struct growth {
    const char *key;
    uint64_t present, most;
    bool slice;
};

/* " cluster.mesh=[8,4]": of the axes the shortest doubles until there are so many devices. */
static const char *grown_mesh(struct fix_search *search, uint64_t devices)
{
    struct number_list mesh = search->plan->cluster.mesh;
    struct text text = {.arena = search->arena};
    for (uint64_t n = search->plan->cluster.node.devices; n < devices; n *= 2) {
        uint64_t shortest = 0;
        for (uint64_t i = 1; i < mesh.n; i++)
            shortest = mesh.value[i] < mesh.value[shortest] ? i : shortest;
        mesh.value[shortest] *= 2;
    }
    for (uint64_t i = 0; i < mesh.n; i++)
        text_printf(&text, "%s%llu", i ? "," : " cluster.mesh=[",
                    (unsigned long long)mesh.value[i]);
    text_append(&text, mesh.n ? "]" : "");
    return text_string(&text);
}

static struct fix_move grow(struct fix_search *search, const struct growth *growth,
                            uint64_t value)
{
    return (struct fix_move){growth->key,
                             arena_printf(search->arena, "%s=%llu%s", growth->key,
                                          (unsigned long long)value,
                                          growth->slice ? grown_mesh(search, value) : ""),
                             "more hardware", FIX_DEVICES, NULL};
}

/* What a number of devices needs beside itself, which comes first. */
struct needs {
    struct fix_move moves[FIX_TOGETHER];
    size_t n;
    double seconds; /* per token */
};

/* Takes candidates that fit where they are faster than the best so far. */
static void consider(struct fix_search *search, const struct fix_move *moves, size_t n,
                     struct needs *best)
{
    double seconds = fix_seconds(search, moves, n);
    if (best->n && seconds >= best->seconds)
        return;
    memcpy(best->moves, moves, n * sizeof *moves);
    best->n = n;
    best->seconds = seconds;
}

/* Whether a change splits an engine's experts over replicas that more devices make: where the
 * plan names neither degree, they lie whole over them (read/follow), which needs no word. */
static bool joins(const struct fix_search *search, const struct fix_move *moves, size_t n)
{
    struct plan changed;
    return plan_is_engine(search->plan) && fix_apply(search->plan, moves, n, &changed) &&
           plan_joined_replicas(&changed) > 1;
}

/* One change of the layout that does not fit without more devices, to stages or of another
 * kind. */
static void try_layouts(struct fix_search *search, const struct fix_moves *moves, bool stages,
                        struct fix_move more, struct needs *best)
{
    for (size_t i = 0; i < moves->n; i++) {
        const struct fix_move both[] = {more, moves->list[i]};
        struct evaluation result;
        if (both[1].kind == FIX_LAYOUT && stages == !strcmp(both[1].key, "parallel.pp") &&
            !joins(search, both, 2) && fix_fits(search, both, 2, &result) &&
            !fix_fits(search, &both[1], 1, &result))
            consider(search, both, 2, best);
    }
}

/* Several changes: only what fits beyond doubt is worth so many. More devices are for those who
 * do not offload. */
static void try_several(struct fix_search *search, const struct fix_moves *moves,
                        struct fix_move more, struct needs *best)
{
    const struct fix_moves *others = fix_moves_but(moves, FIX_OFFLOAD, search->arena);
    struct fix_move taken[FIX_TOGETHER] = {more};
    enum verdict accept = search->accept;
    search->accept = VERDICT_FITS;
    size_t n = fix_gather(search, others, taken, 1);
    search->accept = accept;
    if (n > 1 && taken[0].set == more.set) /* else the same without more devices */
        consider(search, taken, n, best);
}

/* With so many: as it is, or else with what is fastest; several changes take longest to try. */
static bool is_enough(struct fix_search *search, struct fix_move more, bool several,
                      struct needs *needs)
{
    struct fix_moves *moves = arena_alloc(search->arena, 1, sizeof *moves);
    struct evaluation result;
    struct plan larger;
    *needs = (struct needs){.moves = {more}, .n = 1};
    if (fix_fits(search, &more, 1, &result))
        return true;
    needs->n = 0;
    if (!fix_apply(search->plan, &more, 1, &larger))
        return false;
    fix_list_moves(&larger, search->arena, moves);
    if (fix_is_hopeless(search, &larger, moves, false))
        return false;
    try_layouts(search, moves, false, more, needs);
    if (!needs->n ||
        search->plan->workload.mode == MODE_TRAIN) /* stages do not answer sooner */
        try_layouts(search, moves, true, more, needs);
    if (several)
        try_several(search, moves, more, needs);
    return needs->n > 0;
}

/* The same needs with fewer devices. */
static bool is_still_enough(struct fix_search *search, struct fix_move more,
                            struct needs *needs)
{
    struct fix_move first = needs->moves[0];
    struct evaluation result;
    needs->moves[0] = more;
    bool enough = needs->n > 2 && fix_fits(search, needs->moves, needs->n, &result) &&
                  result.verdict == VERDICT_FITS;
    if (!enough)
        needs->moves[0] = first;
    return enough;
}

static bool try_growth(struct fix_search *search, const struct growth *growth)
{
    struct needs needs, fewer;
    uint64_t low = growth->present, value = 2 * low;
    for (; value <= growth->most; low = value, value *= 2)
        if (is_enough(search, grow(search, growth, value), true, &needs))
            break;
    if (value > growth->most)
        return false;
    /* where there are too many to try, and of slices, the power of two stands */
    for (uint64_t between = low + 1;
         between < value && value - low <= BETWEEN_MAX && !growth->slice; between++) {
        struct fix_move more = grow(search, growth, between);
        if (is_enough(search, more, false, &fewer))
            return fix_keep(search, fewer.moves, fewer.n);
        if (is_still_enough(search, more, &needs))
            break;
    }
    return fix_keep(search, needs.moves, needs.n);
}

/* More devices of the only node, then nodes of 8 in place of a lone device; nodes. */
static bool try_hardware(struct fix_search *search)
{
    const struct cluster *c = &search->plan->cluster;
    uint64_t times = fix_count_harmless(search, VERDICT_FITS) ? GROW_FEW : GROW_MAX;
    bool lone = c->nodes * c->node.devices == 1;
    bool slice = c->mesh.n || (c->nodes == 1 && c->network.bandwidth <= 0);
    uint64_t most = c->mesh.n == 3 ? times * c->node.devices : SLICE_DEVICES;
    const struct growth devices = {"cluster.node.devices", c->node.devices,
                                   slice ? most : NODE_DEVICES, slice};
    const struct growth nodes = {"cluster.nodes", c->nodes, c->nodes * times, false};
    const struct growth machines = {"cluster.node.devices=8 cluster.nodes", 1, GROW_MAX, false};
    if (c->nodes == 1 && c->node.devices < devices.most && try_growth(search, &devices))
        return true;
    if (slice)
        return false;
    return lone ? try_growth(search, &machines) : try_growth(search, &nodes);
}

/* Nobody buys more for a verdict within the stack's error, while there is a better one. */
void fix_devices(struct fix_search *search)
{
    enum verdict accept = search->accept;
    search->accept = VERDICT_FITS;
    bool found = try_hardware(search);
    search->accept = accept;
    if (!found)
        try_hardware(search);
}
