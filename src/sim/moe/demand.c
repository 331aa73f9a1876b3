/* What routing asks of the heaviest rank; see demand.h. */
#include "sim/moe/demand.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/stat.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/stack/stack.h"

static uint64_t alignment_of(const struct plan *plan)
{
    uint64_t alignment = plan->moe.alignment;
    return alignment ? alignment : path_alignment(stack_path(plan, NULL));
}

void demand_key_of(const struct plan *plan, const struct routing_data *data,
                   struct demand_key *key)
{
    memset(key, 0, sizeof *key);
    memcpy(&key->moe, &plan->model.moe, sizeof key->moe);
    memcpy(&key->routing, &plan->moe.routing, sizeof key->routing);
    key->data = data;
    key->ep = plan->parallel.ep;
    if (plan->moe.routing.placement == PLACEMENT_EPLB) /* which looks at nodes */
        key->ranks_per_node = rows_per_node(plan);
    key->redundant = plan->moe.redundant_experts;
    key->alignment = alignment_of(plan);
    key->allocated = layer_computes_allocated(stack_path(plan, NULL), plan);
    key->scenario = plan->workload.scenario;
    key->balanced = plan->moe.buffer == SIZING_BALANCED && stack_reads_buffer(plan);
    if (!crossing_map_of(plan, &key->crossing))
        memset(&key->crossing, 0, sizeof key->crossing);
}

enum status demand_prepare(const struct plan *plan, const struct routing_data *data,
                           struct demand_laws laws, struct arena *arena,
                           struct demand_source *source, struct err *err)
{
    struct rows_spec spec;
    rows_spec_from_plan(plan, data, &spec);
    struct crossing_map map;
    bool crosses = crossing_map_of(plan, &map);
    unsigned nodes = crosses && map.once ? ROWS_WANT_NODES : 0;
    spec.known = laws.known;
    spec.nodes_unread = !nodes;
    *source =
        (struct demand_source){.n = plan->moe.routing.samples, .alignment = alignment_of(plan)};
    source->allocated = layer_computes_allocated(stack_path(plan, NULL), plan);
    if (laws.rows)
        source->rows = *laws.rows;
    else
        TRY(rows_prepare(&spec, arena, &source->rows, err));
    rows_scratch_init(&source->rows, arena, &source->scratch);
    source->crosses = crosses;
    rows_step_init(&source->rows, ROWS_WANT_RECEIVED | nodes, arena, &source->step);
    if (source->crosses)
        crossing_init(&map, arena, &source->crossing);
    source->samples = arena_alloc(arena, source->n + 1, sizeof *source->samples);
    source->sorted = arena_alloc(arena, source->n + 1, sizeof *source->sorted);
    source->padded = arena_alloc(arena, spec.ranks, sizeof *source->padded);
    if (plan->moe.routing.layers == ROUTING_INDEPENDENT && !plan->stack.static_shapes)
        source->n_ranks = lesser(source->n, DEMAND_RANKS);
    source->stride = round_up(spec.ranks, DEMAND_LANES);
    source->ranks = arena_alloc(arena, source->n_ranks * DEMAND_PER_RANK * source->stride,
                                sizeof *source->ranks);
    return STATUS_OK;
}

static void raise(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

bool demand_exceeds(const struct demand *demand, const struct demand_room *room)
{
    uint64_t rows = room->padded ? demand->padded : demand->rows;
    return room->set && (rows > room->rows || demand->received > room->tokens);
}

/* Rows of the step that find no room on their rank. */
static uint64_t beyond(const struct demand_source *source)
{
    const struct demand_room *room = &source->room;
    const uint64_t *rows = room->padded ? source->padded : source->step.rank;
    uint64_t lost = 0;
    for (uint64_t rank = 0; room->set && rank < source->rows.map.ranks; rank++)
        lost += rows[rank] > room->rows ? rows[rank] - room->rows : 0;
    return lost;
}

/* The heaviest of the ranks, size by size. */
static struct demand heaviest(const struct demand_source *source)
{
    const struct expert_map *map = &source->rows.map;
    const struct rows_step *step = &source->step;
    struct demand most = {0};
    for (uint64_t rank = 0; rank < map->ranks; rank++)
        source->padded[rank] = 0;
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint64_t rows = step->replica[i];
        source->padded[map->rank[i]] += round_up(rows, source->alignment);
        raise(&most.hot, rows);
    }
    for (uint64_t rank = 0; source->allocated && rank < map->ranks; rank++) {
        const struct align_ask ask = {
            .rows = step->rank[rank], .experts = map->most_local, .align = source->alignment};
        source->padded[rank] = align_allocated(ALIGN_RDEP, &ask);
    }
    for (uint64_t rank = 0; rank < map->ranks; rank++) {
        raise(&most.padded, source->padded[rank]);
        raise(&most.rows, step->rank[rank]);
        raise(&most.received, step->received[rank]);
    }
    return most;
}

struct demand_links demand_links_of(const struct crossing_map *map,
                                    const struct rows_step *step, uint64_t units)
{
    struct demand_links links = {.told =
                                     units > 0 && (step->crossing || crossing_matters(map))};
    if (!links.told)
        return links;
    if (step->crossing)
        crossing_most(step->crossing, links.part);
    else
        crossing_alike(map, map->rows ? step->rank : step->received, step->node, links.part);
    for (unsigned i = 0; i < CROSSING_LEVELS; i++)
        links.part[i] /= (double)units;
    return links;
}

static uint64_t units_of(const struct demand_source *source, const struct demand *demand)
{
    return source->crossing.map.rows ? demand->rows : demand->received;
}

/* Of the means over samples. */
static void mean_links(const struct demand_source *source, struct demand_spread *spread)
{
    struct demand_links *mean = &spread->expected.links;
    double units = 0;
    for (uint64_t s = 0; s < source->n; s++) {
        const struct demand *one = &source->samples[s];
        double full = (double)units_of(source, one);
        units += full;
        mean->told = mean->told || one->links.told;
        for (unsigned i = 0; i < CROSSING_LEVELS; i++)
            mean->part[i] += full * one->links.part[i];
    }
    for (unsigned i = 0; units > 0 && i < CROSSING_LEVELS; i++)
        mean->part[i] /= units;
}

/* What a sample asks of every rank, for steps that are made of it. */
static void keep_ranks(const struct demand_source *source, uint64_t s)
{
    uint64_t n = source->rows.map.ranks;
    if (s >= source->n_ranks)
        return;
    float *to = source->ranks + s * DEMAND_PER_RANK * source->stride;
    for (uint64_t rank = 0; rank < n; rank++) {
        to[rank] = (float)source->step.rank[rank];
        to[source->stride + rank] = (float)source->step.received[rank];
        to[2 * source->stride + rank] = (float)source->padded[rank];
    }
}

/* Mean and 99th percentile of each size, rounded up to whole rows. */
static void summarise(struct demand_source *source, struct demand_spread *spread)
{
    for (unsigned i = 0; i < SLOTS_ROUTED; i++) {
        struct stat stat = {0};
        for (uint64_t s = 0; s < source->n; s++) {
            source->sorted[s] = (double)source->samples[s].sizes[i];
            stat_add(&stat, source->sorted[s]);
        }
        stat_sort(source->sorted, source->n);
        spread->expected.sizes[i] = (uint64_t)ceil(stat.mean);
        spread->p99.sizes[i] = (uint64_t)ceil(stat_percentile(source->sorted, source->n, 0.99));
    }
}

struct demand demand_of_rows(const struct demand_source *source, uint64_t rows)
{
    const struct rows_spec *spec = &source->rows.spec;
    struct rows_ceilings c =
        rows_ceilings(spec->tokens, spec->ranks, spec->top_k, source->rows.map.most_local);
    uint64_t slack = source->rows.map.most_local * (source->alignment - 1);
    return (struct demand){.rows = rows,
                           .received = lesser(rows, c.tokens),
                           .padded = round_up(rows + slack, source->alignment),
                           .hot = lesser(rows, c.tokens)};
}

double demand_tail(const struct demand_source *source, const struct demand_room *room)
{
    uint64_t slack = room->padded ? source->rows.map.most_local * (source->alignment - 1) : 0;
    uint64_t rows = room->rows > slack ? room->rows - slack : 0;
    /* a rank has no more tokens than rows */
    return rows_tail(&source->rows, lesser(rows, room->tokens));
}

/* Every token of every rank to this one, each to as many of its experts as it can. */
static struct demand certified(const struct demand_source *source)
{
    const struct rows_spec *spec = &source->rows.spec;
    struct rows_ceilings c =
        rows_ceilings(spec->tokens, spec->ranks, spec->top_k, source->rows.map.most_local);
    return demand_of_rows(source, c.rows);
}

void demand_sample(struct demand_source *source, uint64_t tokens, bool exact,
                   struct demand_spread *spread)
{
    source->rows.spec.tokens = tokens;
    source->rows.spec.all = source->all;
    bool gaussian = !exact && rows_gauss_valid(&source->rows);
    uint64_t all = rows_tokens(&source->rows.spec) * source->rows.spec.top_k, lost = 0;
    *spread = (struct demand_spread){
        .n = source->n, .samples = source->samples, .room = source->room};
    spread->worst = certified(source);
    source->step.crossing = source->crosses && !gaussian ? &source->crossing : NULL;
    for (uint64_t s = 0; s < source->n; s++) {
        progress_tell(source->progress, s, source->n);
        if (gaussian)
            rows_gauss_step(&source->rows, s, &source->scratch, &source->step);
        else
            rows_sample_step(&source->rows, s, &source->scratch, &source->step);
        source->samples[s] = heaviest(source);
        if (source->crosses)
            source->samples[s].links = demand_links_of(&source->crossing.map, &source->step,
                                                       units_of(source, &source->samples[s]));
        keep_ranks(source, s);
        spread->n_over += demand_exceeds(&source->samples[s], &source->room);
        lost += beyond(source);
    }
    spread->lost = all ? (double)lost / ((double)all * (double)source->n) : 0;
    summarise(source, spread);
    mean_links(source, spread);
}

void demand_to_slots(const struct demand *demand, struct slots *slots)
{
    memcpy(&slots->value[SLOT_ROWS], demand->sizes, sizeof demand->sizes);
    memcpy(&slots->value[SLOT_HELD_ROWS], demand->sizes, sizeof demand->sizes);
    slots->n_routed = 0;
}

bool demand_matters(const struct work *work)
{
    for (size_t i = 0; i < work->n_buffers; i++)
        if (work->buffers[i].rule == RULE_ROUTING)
            return true;
    return false;
}
