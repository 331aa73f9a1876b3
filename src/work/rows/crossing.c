/* See crossing.h. */
#include "work/rows/crossing.h"

#include <math.h>
#include <string.h>

#include "plan/derive.h"
#include "work/list/comm_place.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

bool crossing_map_of(const struct plan *plan, struct crossing_map *map)
{
    enum path_exchange exchange = path_system_of(stack_path(plan, NULL))->exchange;
    struct comm_place place = comm_place(plan, GROUP_EP);
    bool whole = fmod(place.ranks, place.inside) <= 0;
    memset(map, 0, sizeof *map);
    map->ranks = (uint64_t)place.ranks;
    map->per_node = (uint64_t)fmax(1, place.inside);
    map->rows = exchange == EXCHANGE_ROWS || exchange == EXCHANGE_MESSAGES;
    map->once = exchange == EXCHANGE_TOKENS && map->ranks > map->per_node;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        double joined =
            place.tier[t].ranks > 0 ? fmin(place.tier[t].ranks, place.ranks) : place.ranks;
        map->joined[t] = (uint64_t)fmax(1, joined);
        whole = whole && fmod(place.ranks, joined) <= 0 && fmod(joined, place.inside) <= 0;
    }
    return map->ranks > 1 && whole && (map->rows || exchange == EXCHANGE_TOKENS);
}

void crossing_init(const struct crossing_map *map, struct arena *arena, struct crossing *out)
{
    out->map = *map;
    for (unsigned i = 0; i < CROSSING_LEVELS; i++) {
        out->in[i] = arena_alloc(arena, map->ranks, sizeof *out->in[i]);
        out->out[i] = arena_alloc(arena, map->ranks, sizeof *out->out[i]);
    }
    out->sent = arena_alloc(arena, map->ranks, sizeof *out->sent);
    out->reached = arena_alloc(arena, map->ranks, sizeof *out->reached);
}

void crossing_clear(struct crossing *crossing)
{
    for (unsigned i = 0; i < CROSSING_LEVELS; i++) {
        memset(crossing->in[i], 0, crossing->map.ranks * sizeof *crossing->in[i]);
        memset(crossing->out[i], 0, crossing->map.ranks * sizeof *crossing->out[i]);
    }
}

static void count(struct crossing *crossing, unsigned level, uint64_t from, uint64_t to,
                  uint64_t units)
{
    crossing->out[level][from] += units;
    crossing->in[level][to] += units;
}

static void count_tiers(struct crossing *crossing, uint64_t from, uint64_t to, uint64_t units)
{
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        uint64_t joined = crossing->map.joined[t];
        if (joined < crossing->map.ranks && from / joined != to / joined)
            count(crossing, CROSSING_TIER + t, from / joined, to / joined, units);
    }
}

/* The rank of a node that gets what a source sends to it. */
static uint64_t entry(const struct crossing_map *map, uint64_t source, uint64_t node)
{
    return node * map->per_node + source % map->per_node;
}

/* Units from a source to a rank; where a node gets a token once, beside the latter. */
static void add_rank(struct crossing *crossing, uint64_t source, uint64_t rank, uint64_t units)
{
    const struct crossing_map *map = &crossing->map;
    uint64_t node = rank / map->per_node;
    uint64_t from = map->once ? entry(map, source, node) : source;
    if (from == rank)
        return;
    bool inside = from / map->per_node == node;
    count(crossing, inside ? CROSSING_UP : CROSSING_OUT, from, rank, units);
    if (!inside)
        count_tiers(crossing, from, rank, units);
}

static void add_node(struct crossing *crossing, uint64_t source, uint64_t node, uint64_t tokens)
{
    const struct crossing_map *map = &crossing->map;
    if (!map->once || source / map->per_node == node)
        return;
    uint64_t to = entry(map, source, node);
    count(crossing, CROSSING_OUT, source, to, tokens);
    count_tiers(crossing, source, to, tokens);
}

void crossing_add(struct crossing *crossing, uint64_t source)
{
    for (uint64_t i = 0; i < crossing->map.ranks; i++) {
        if (crossing->sent[i])
            add_rank(crossing, source, i, crossing->sent[i]);
        if (crossing->reached[i])
            add_node(crossing, source, i, crossing->reached[i]);
        crossing->sent[i] = crossing->reached[i] = 0;
    }
}

/* Ranks that share the links of a level. */
static uint64_t sharers(const struct crossing_map *map, unsigned level)
{
    return level < CROSSING_TIER ? 1 : map->joined[level - CROSSING_TIER];
}

void crossing_most(const struct crossing *crossing, double most[CROSSING_LEVELS])
{
    const struct crossing_map *map = &crossing->map;
    for (unsigned i = 0; i < CROSSING_LEVELS; i++) {
        uint64_t found = 0;
        for (uint64_t r = 0; r < map->ranks; r++) {
            found = crossing->in[i][r] > found ? crossing->in[i][r] : found;
            found = crossing->out[i][r] > found ? crossing->out[i][r] : found;
        }
        most[i] = (double)found / (double)sharers(map, i);
    }
}

/* Of n values the most that any `group` of them in a row add up to. */
static double fullest(const uint64_t *values, uint64_t n, uint64_t group)
{
    uint64_t most = 0;
    for (uint64_t first = 0; first < n; first += group) {
        uint64_t sum = 0;
        for (uint64_t i = first; i < first + group; i++)
            sum += values[i];
        most = sum > most ? sum : most;
    }
    return (double)most;
}

void crossing_alike(const struct crossing_map *map, const uint64_t *rank, const uint64_t *node,
                    double most[CROSSING_LEVELS])
{
    double R = (double)map->ranks, inside = (double)map->per_node;
    double of_rank = fullest(rank, map->ranks, 1);
    uint64_t nodes = map->ranks / map->per_node;
    most[CROSSING_UP] = of_rank * (inside - 1) / (map->once ? inside : R);
    most[CROSSING_OUT] = of_rank * (R - inside) / R;
    if (map->once)
        most[CROSSING_OUT] = fullest(node, nodes, 1) / inside * (R - inside) / R;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        double joined = (double)map->joined[t];
        double all = map->joined[t] == map->ranks ? 0
                     : map->once ? fullest(node, nodes, map->joined[t] / map->per_node)
                                 : fullest(rank, map->ranks, map->joined[t]);
        most[CROSSING_TIER + t] = all / joined * (R - joined) / R;
    }
}

bool crossing_matters(const struct crossing_map *map)
{
    bool tiers = false;
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        tiers = tiers || map->joined[t] < map->ranks;
    return map->once || tiers;
}
