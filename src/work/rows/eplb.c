/* Packing, replication and the two-level placement; see eplb.h. */
#include "work/rows/eplb.h"

#include <stdlib.h>

struct item {
    double weight;
    uint32_t number;
};

/* Descending weight; equal weights keep their order. */
static int heavier(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

void eplb_pack(const double *weight, uint64_t n, uint64_t m, struct arena *arena,
               uint32_t *pack, uint32_t *place)
{
    uint64_t room = n / m;
    if (room == 1) {
        for (uint64_t i = 0; i < n; i++) {
            pack[i] = (uint32_t)i;
            place[i] = 0;
        }
        return;
    }
    struct item *items = arena_alloc(arena, n, sizeof *items);
    double *load = arena_alloc(arena, m, sizeof *load);
    uint32_t *used = arena_alloc(arena, m, sizeof *used);
    for (uint64_t i = 0; i < n; i++)
        items[i] = (struct item){weight[i], (uint32_t)i};
    qsort(items, n, sizeof *items, heavier);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t best = m;
        for (uint64_t j = 0; j < m; j++)
            if (used[j] < room && (best == m || load[j] < load[best]))
                best = j;
        pack[items[i].number] = (uint32_t)best;
        place[items[i].number] = used[best]++;
        load[best] += items[i].weight;
    }
}

/* Moves the item at `at` of a heap down to its place; the first is the one that goes first. */
static void sink(struct item *heap, uint64_t n, uint64_t at)
{
    for (;;) {
        uint64_t best = at;
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (heavier(&heap[child], &heap[best]) < 0)
                best = child;
        if (best == at)
            return;
        struct item moved = heap[at];
        heap[at] = heap[best];
        heap[best] = moved;
        at = best;
    }
}

/* Gives n items p copies: each further one to the item with the most weight per copy, the first
 * of equals. copy_of [p] is the item of a copy. */
static void replicate(const double *weight, uint64_t n, uint64_t p, struct arena *arena,
                      uint32_t *copy_of, uint32_t *count)
{
    struct item *heap = arena_alloc(arena, n, sizeof *heap);
    for (uint64_t i = 0; i < n; i++) {
        copy_of[i] = (uint32_t)i;
        count[i] = 1;
        heap[i] = (struct item){weight[i], (uint32_t)i};
    }
    for (uint64_t i = n / 2; i-- > 0;)
        sink(heap, n, i);
    for (uint64_t i = n; i < p; i++) {
        uint32_t best = heap[0].number;
        copy_of[i] = best;
        count[best]++;
        heap[0].weight = weight[best] / count[best];
        sink(heap, n, 0);
    }
}

static enum status check(uint64_t experts, uint64_t replicas, uint64_t groups, uint64_t nodes,
                         uint64_t ranks, struct err *err)
{
    if (replicas < experts)
        return err_set(err, STATUS_INPUT, "%llu physical experts are fewer than %llu experts",
                       (unsigned long long)replicas, (unsigned long long)experts);
    if (ranks == 0 || replicas % ranks)
        return err_set(err, STATUS_INPUT, "%llu physical experts do not divide over %llu ranks",
                       (unsigned long long)replicas, (unsigned long long)ranks);
    if (groups == 0 || nodes == 0 || experts % groups || groups % nodes || ranks % nodes)
        return err_set(
            err, STATUS_INPUT,
            "hierarchical placement needs experts %llu to divide by groups %llu, and "
            "groups and ranks %llu by nodes %llu",
            (unsigned long long)experts, (unsigned long long)groups, (unsigned long long)ranks,
            (unsigned long long)nodes);
    return STATUS_OK;
}

/* Order of experts node by node: groups packed onto nodes by their sums. */
static uint32_t *order_by_node(const double *weight, uint64_t experts, uint64_t groups,
                               uint64_t nodes, struct arena *arena)
{
    uint64_t size = experts / groups, groups_per_node = groups / nodes;
    double *sum = arena_alloc(arena, groups, sizeof *sum);
    uint32_t *node = arena_alloc(arena, groups, sizeof *node);
    uint32_t *place = arena_alloc(arena, groups, sizeof *place);
    uint32_t *order = arena_alloc(arena, experts, sizeof *order);
    for (uint64_t e = 0; e < experts; e++)
        sum[e / size] += weight[e];
    eplb_pack(sum, groups, nodes, arena, node, place);
    for (uint64_t e = 0; e < experts; e++) {
        uint64_t group = e / size;
        order[(node[group] * groups_per_node + place[group]) * size + e % size] = (uint32_t)e;
    }
    return order;
}

/* Replicates and packs the experts of one node; fills its slots. */
static void place_node(const double *weight, const uint32_t *order, uint64_t n,
                       uint64_t replicas, uint64_t ranks, struct arena *arena, uint32_t *slots,
                       struct eplb *out, uint64_t first_rank)
{
    double *local = arena_alloc(arena, n, sizeof *local);
    uint32_t *copy_of = arena_alloc(arena, replicas, sizeof *copy_of);
    uint32_t *count = arena_alloc(arena, n, sizeof *count);
    double *share = arena_alloc(arena, replicas, sizeof *share);
    uint32_t *rank = arena_alloc(arena, replicas, sizeof *rank);
    uint32_t *place = arena_alloc(arena, replicas, sizeof *place);
    for (uint64_t i = 0; i < n; i++)
        local[i] = weight[order[i]];
    replicate(local, n, replicas, arena, copy_of, count);
    for (uint64_t i = 0; i < replicas; i++)
        share[i] = local[copy_of[i]] / count[copy_of[i]];
    eplb_pack(share, replicas, ranks, arena, rank, place);
    uint64_t per_rank = replicas / ranks;
    for (uint64_t i = 0; i < replicas; i++) {
        slots[rank[i] * per_rank + place[i]] = order[copy_of[i]];
        out->load[first_rank + rank[i]] += share[i];
    }
    for (uint64_t i = 0; i < n; i++)
        out->count[order[i]] = count[i];
}

enum status eplb_place(const double *weight, uint64_t experts, uint64_t replicas,
                       uint64_t groups, uint64_t nodes, uint64_t ranks, struct arena *arena,
                       struct eplb *out, struct err *err)
{
    TRY(check(experts, replicas, groups, nodes, ranks, err));
    *out = (struct eplb){.experts = experts, .replicas = replicas, .ranks = ranks};
    out->expert = arena_alloc(arena, replicas, sizeof *out->expert);
    out->count = arena_alloc(arena, experts, sizeof *out->count);
    out->load = arena_alloc(arena, ranks, sizeof *out->load);
    uint32_t *order = order_by_node(weight, experts, groups, nodes, arena);
    uint64_t n = experts / nodes, p = replicas / nodes, r = ranks / nodes;
    for (uint64_t node = 0; node < nodes; node++)
        place_node(weight, order + node * n, n, p, r, arena, out->expert + node * p, out,
                   node * r);
    return STATUS_OK;
}
