/* Pipeline stages; see stage.h. */
#include "work/piece/stage.h"

#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "plan/layout.h"
#include "plan/params.h"
#include "plan/speculation.h"
#include "work/piece/encoder.h"
#include "work/piece/stage_parts.h"

enum { CHUNKS = 128 };

/* Layers whose saved tensors are alive at one moment of the schedule, over all micro-batches.
 */
struct alive {
    uint64_t layers[KIND_COUNT], head, empty, encoder;
    uint64_t kept[KIND_COUNT];  /* those that do not run forward again */
    uint64_t plain[KIND_COUNT]; /* those that no recipe applies to */
};

/* The same of one micro-batch in one chunk: of 16 bits, as there are many, and a model has at
 * most 10,000 layers and 1,000 modules. */
struct chunk {
    uint16_t back[KIND_COUNT], kept[KIND_COUNT], plain[KIND_COUNT];
    bool layers; /* it has some */
    bool head, empty, encoder;
};

/* The chunks of one rank, and the moments of its schedule that no other exceeds in every count:
 * the peak is at one of them. */
struct chunks {
    uint64_t n;
    struct chunk one[CHUNKS];
    uint64_t modules[CHUNKS];
    uint64_t layers[KIND_COUNT], trained[KIND_COUNT], adapted[KIND_COUNT]; /* of all */
    bool embedding[CHUNKS], head[CHUNKS], encoder; /* encoder: the model has one */
    enum layer_kind kinds[KIND_COUNT];             /* that some chunk has a layer of */
    unsigned n_kinds;
    const struct layout *layout; /* that the plan writes out, or NULL */
    struct alive moment[STAGE_MOMENTS];
    unsigned moments;
};

static bool interleaved(const struct plan *plan)
{
    return plan->parallel.vpp > 1 && plan->parallel.schedule != PIPELINE_DUALPIPE;
}

/* Chunks of the whole model. */
static uint64_t chunk_count(const struct plan *plan)
{
    return plan->parallel.pp * (interleaved(plan) ? plan->parallel.vpp : 1);
}

/* Layers in the first n chunks. A list with one entry per stage splits each evenly over its
 * interleaved chunks. */
static uint64_t layers_before(const struct plan *plan, uint64_t n)
{
    const struct number_list *stages = &plan->parallel.stages;
    uint64_t chunks = chunk_count(plan), layers = plan->model.layers, sum = 0;
    if (stages->n == chunks) {
        for (uint64_t i = 0; i < n; i++)
            sum += stages->value[i];
        return sum;
    }
    if (stages->n == plan->parallel.pp) {
        for (uint64_t i = 0; i < n; i++)
            sum += ceil_div(stages->value[i % stages->n], plan->parallel.vpp);
        return sum < layers ? sum : layers;
    }
    uint64_t longer = layers % chunks;
    return n * (layers / chunks) + (n < longer ? n : longer);
}

static uint64_t written_before(const struct layout *layout, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += layout->chunk[i].layers;
    return sum;
}

/* The first layer of a chunk that runs backward: those below the first that is trained do not.
 */
static uint64_t first_back(const struct plan *plan, uint64_t first, uint64_t last)
{
    return lesser(last, greater(first, plan_first_back(plan)));
}

/* Adds those of layers [first, last) whose linear layers have adapters. */
static void count_adapted(const struct plan *plan, uint64_t first, uint64_t last,
                          uint64_t count[KIND_COUNT])
{
    for (uint64_t i = first; i < last; i++)
        if (plan_adapts_layer(plan, i))
            model_layers(&plan->model, i, i + 1, count);
}

/* Layers of a chunk that keep what others do not: those with adapters beside others, all behind
 * the first recompute.layers, or the first of every recompute.every. Prediction modules do not
 * run again then (Megatron multi_token_prediction.py, _checkpointed_forward: block is not
 * supported there, uniform of one layer alone). */
static void fill_kept(const struct plan *plan, uint64_t first, uint64_t last, uint64_t modules,
                      struct alive *one)
{
    uint64_t every = plan_recomputes_together(plan), begin = first_back(plan, first, last);
    bool some = plan_recomputes_some(plan);
    if (some)
        model_layers(&plan->model, greater(begin, lesser(first + plan->recompute.layers, last)),
                     last, one->kept);
    for (uint64_t i = first; every > 1 && i < last; i += every)
        if (i >= begin)
            model_layers(&plan->model, i, i + 1, one->kept);
    if (some || every > 1)
        one->kept[model_mtp_kind(&plan->model)] += modules;
    if (plan_adapts_some(plan))
        count_adapted(plan, begin, last, one->kept);
}

/* Layers count over the whole model, prediction modules are none of them (Megatron
 * fp8_utils.py, is_first_last_bf16_layer). */
static void fill_plain(const struct plan *plan, uint64_t first, uint64_t last,
                       struct alive *one)
{
    const struct precision *p = &plan->precision;
    uint64_t begin = lesser(p->plain_first, plan->model.layers),
             end = plan->model.layers - lesser(p->plain_last, plan->model.layers - begin);
    if (first < begin)
        model_layers(&plan->model, first, lesser(last, begin), one->plain);
    if (last > end)
        model_layers(&plan->model, first > end ? first : end, last, one->plain);
}

/* A chunk of the model, in the order a token meets them. */
struct extent {
    uint64_t first, last, modules; /* layers, prediction modules */
    bool embedding, head;
};

static struct extent extent_of(const struct plan *plan, const struct layout *layout,
                               uint64_t at)
{
    if (layout)
        return (struct extent){written_before(layout, at), written_before(layout, at + 1),
                               layout->chunk[at].modules, layout->chunk[at].embedding,
                               layout->chunk[at].loss};
    bool head = at + 1 == chunk_count(plan);
    return (struct extent){layers_before(plan, at), layers_before(plan, at + 1),
                           head ? plan_modules(plan) : 0, at == 0, head};
}

/* Adds the layers of a chunk from `begin` on, none before its first: of all of them `all`. */
static void add_from(const struct model *model, const struct extent *x, uint64_t begin,
                     const uint64_t all[KIND_COUNT], uint64_t count[KIND_COUNT])
{
    if (begin > x->first) {
        model_layers(model, begin, x->last, count);
        return;
    }
    for (unsigned k = 0; k < KIND_COUNT; k++)
        count[k] += all[k];
}

static void add_chunk(const struct plan *plan, struct chunks *chunks, uint64_t at)
{
    const struct model *model = &plan->model;
    const struct extent x = extent_of(plan, chunks->layout, at);
    const uint64_t first = x.first, last = x.last, modules = x.modules;
    chunks->embedding[chunks->n] = x.embedding;
    chunks->head[chunks->n] = x.head;
    chunks->modules[chunks->n] = modules;
    struct alive one = {0};
    uint64_t begin = first_back(plan, first, last),
             begin_trained = lesser(last, greater(first, plan_frozen_layers(plan)));
    enum layer_kind mtp = model_mtp_kind(model);
    uint64_t all[KIND_COUNT] = {0};
    model_layers(model, first, last, all);
    add_from(model, &x, first, all, chunks->layers);
    add_from(model, &x, begin_trained, all, chunks->trained);
    if (plan_adapts_some(plan))
        count_adapted(plan, first, last, chunks->adapted);
    add_from(model, &x, begin, all, one.layers);
    chunks->layers[mtp] += modules;
    chunks->trained[mtp] += modules;
    one.layers[mtp] += modules;
    fill_kept(plan, first, last, modules, &one);
    fill_plain(plan, first, last, &one);
    struct chunk *chunk = &chunks->one[chunks->n++];
    *chunk = (struct chunk){.layers = last > first || modules > 0};
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        chunk->back[k] = (uint16_t)one.layers[k];
        chunk->kept[k] = (uint16_t)one.kept[k];
        chunk->plain[k] = (uint16_t)one.plain[k];
    }
}

static void find_kinds(struct chunks *chunks)
{
    chunks->n_kinds = 0;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (chunks->layers[k])
            chunks->kinds[chunks->n_kinds++] = (enum layer_kind)k;
}

/* What a micro-batch has of each chunk beside its layers. */
static void find_ends(struct chunks *chunks)
{
    for (uint64_t i = 0; i < chunks->n; i++) {
        bool empty = !chunks->one[i].layers && !chunks->head[i] && !chunks->embedding[i];
        chunks->one[i].head = chunks->head[i];
        chunks->one[i].encoder = chunks->encoder && chunks->embedding[i];
        chunks->one[i].empty = empty;
    }
}

static void rank_chunks(const struct plan *plan, uint64_t rank, const struct layout *layout,
                        struct chunks *chunks)
{
    const struct parallel *p = &plan->parallel;
    chunks->n = chunks->moments = 0;
    memset(chunks->layers, 0, sizeof chunks->layers);
    memset(chunks->trained, 0, sizeof chunks->trained);
    memset(chunks->adapted, 0, sizeof chunks->adapted);
    chunks->layout = layout;
    chunks->encoder = encoder_is_there(plan);
    add_chunk(plan, chunks, rank);
    if (p->schedule == PIPELINE_DUALPIPE && p->pp > 1)
        add_chunk(plan, chunks, p->pp - 1 - rank);
    for (uint64_t i = 1; interleaved(plan) && i < p->vpp && i < CHUNKS; i++)
        add_chunk(plan, chunks, i * p->pp + rank);
    find_kinds(chunks);
    find_ends(chunks);
}

/* Forwards of a rank in their order: `group` micro-batches through each chunk in turn, then the
 * next ones; of the last group as many as are left (Megatron schedules.py, get_schedule_table).
 */
struct rounds {
    uint64_t group, chunks, micro_batches;
};

static uint64_t chunk_of(const struct rounds *r, uint64_t k)
{
    uint64_t whole = r->micro_batches - r->micro_batches % r->group;
    if (k < whole * r->chunks)
        return k / r->group % r->chunks;
    return (k - whole * r->chunks) / (r->micro_batches - whole);
}

static bool covers(const struct chunks *chunks, const struct alive *a, const struct alive *b)
{
    for (unsigned i = 0; i < chunks->n_kinds; i++)
        if (a->layers[chunks->kinds[i]] < b->layers[chunks->kinds[i]] ||
            a->kept[chunks->kinds[i]] < b->kept[chunks->kinds[i]] ||
            a->plain[chunks->kinds[i]] < b->plain[chunks->kinds[i]])
            return false;
    return a->head >= b->head && a->empty >= b->empty && a->encoder >= b->encoder;
}

/* n micro-batches more of a chunk. */
static void add_alive(const struct chunks *chunks, uint64_t chunk, uint64_t n,
                      struct alive *alive)
{
    const struct chunk *one = &chunks->one[chunk];
    for (unsigned i = 0; i < chunks->n_kinds; i++) {
        alive->layers[chunks->kinds[i]] += n * one->back[chunks->kinds[i]];
        alive->kept[chunks->kinds[i]] += n * one->kept[chunks->kinds[i]];
        alive->plain[chunks->kinds[i]] += n * one->plain[chunks->kinds[i]];
    }
    alive->head += n * one->head;
    alive->encoder += n * one->encoder;
    alive->empty += n * one->empty;
}

static void take_alive(const struct chunks *chunks, uint64_t chunk, struct alive *alive)
{
    const struct chunk *one = &chunks->one[chunk];
    for (unsigned i = 0; i < chunks->n_kinds; i++) {
        alive->layers[chunks->kinds[i]] -= one->back[chunks->kinds[i]];
        alive->kept[chunks->kinds[i]] -= one->kept[chunks->kinds[i]];
        alive->plain[chunks->kinds[i]] -= one->plain[chunks->kinds[i]];
    }
    alive->head -= one->head;
    alive->encoder -= one->encoder;
    alive->empty -= one->empty;
}

/* Adds a moment, unless another covers it. */
static void add_moment(struct chunks *chunks, const struct alive *alive)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < chunks->moments; i++) {
        if (covers(chunks, &chunks->moment[i], alive))
            return;
        if (!covers(chunks, alive, &chunks->moment[i]))
            chunks->moment[kept++] = chunks->moment[i];
    }
    chunks->moments = kept;
    if (chunks->moments < STAGE_MOMENTS)
        chunks->moment[chunks->moments++] = *alive;
}

/* Plays Megatron's interleaved 1F1B on one rank: until its last forward ahead more and more is
 * alive, then what is repeats, every chunk having had a group's forwards and backwards; a last
 * group that is smaller has an order of its own. */
static void play_interleaved(const struct plan *plan, uint64_t rank, struct chunks *chunks)
{
    const struct parallel *p = &plan->parallel;
    struct alive alive = {0};
    uint64_t all = plan_micro_batches(plan), group = plan_interleaved_group(plan, all);
    uint64_t m = lesser(all, 4 * group + all % group); /* more are as those before */
    uint64_t total = m * p->vpp;
    const struct rounds r = {group, p->vpp, m};
    uint64_t ahead = plan_overlaps_experts(plan) ? 1 : 0;
    uint64_t warmup = lesser(total, 2 * (p->pp - rank - 1) + (p->vpp - 1) * group + ahead);
    uint64_t steps = lesser(total, warmup + group * p->vpp);
    if (m % group >= p->pp)
        steps = total;
    for (uint64_t k = 0; k < steps; k++) {
        add_alive(chunks, chunk_of(&r, k), 1, &alive);
        if (k >= warmup || k + 1 == steps)
            add_moment(chunks, &alive);
        if (k >= warmup)
            take_alive(chunks, p->vpp - 1 - chunk_of(&r, k - warmup), &alive);
    }
}

static void fill_moments(const struct plan *plan, uint64_t rank, struct chunks *chunks)
{
    const struct parallel *p = &plan->parallel;
    uint64_t m = plan_micro_batches(plan);
    if (interleaved(plan) && chunks->n == p->vpp) {
        play_interleaved(plan, rank, chunks);
        return;
    }
    uint64_t own = lesser(m, p->pp - rank);
    struct alive alive = {0};
    for (uint64_t i = 1; i < chunks->n; i++) /* from 2: chunks that no schedule interleaves */
        add_alive(chunks, i, i == 1 ? lesser(m, rank + 1) : own, &alive);
    if (p->schedule == PIPELINE_GPIPE)
        own = p->pp > 1 ? m : 1;
    if (p->schedule == PIPELINE_ZERO_BUBBLE)
        own = lesser(m, p->pp);
    add_alive(chunks, 0, own, &alive);
    add_moment(chunks, &alive);
}

/* 1000 alive / layers, rounded up; 1000 where there is no layer. */
static uint64_t thousandths(uint64_t alive, uint64_t layers)
{
    return layers ? ceil_div(1000 * alive, layers) : 1000;
}

static void stage_of_chunks(const struct chunks *chunks, struct stage *stage)
{
    memcpy(stage->layers, chunks->layers, sizeof stage->layers);
    memcpy(stage->trained, chunks->trained, sizeof stage->trained);
    memcpy(stage->adapted, chunks->adapted, sizeof stage->adapted);
    for (uint64_t i = 0; i < chunks->n; i++) {
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            stage->back[k] += chunks->one[i].back[k];
            stage->kept[k] += chunks->one[i].kept[k];
            stage->plain[k] += chunks->one[i].plain[k];
        }
        stage->embedding |= chunks->embedding[i];
        stage->head |= chunks->head[i];
        stage->mtp_layers += chunks->modules[i];
    }
    stage_networks(stage);
}

void stage_layers(const struct plan *plan, uint64_t index, struct stage *stage)
{
    struct chunks chunks;
    struct layout layout;
    bool written = plan->parallel.layout[0] && layout_read(plan->parallel.layout, &layout);
    rank_chunks(plan, index, written ? &layout : NULL, &chunks);
    *stage = (struct stage){.index = index};
    stage_of_chunks(&chunks, stage);
}

bool stage_chunk_equal(const struct stage_chunk *a, const struct stage_chunk *b)
{
    return memcmp(a->layers, b->layers, sizeof a->layers) == 0 &&
           memcmp(a->back, b->back, sizeof a->back) == 0 && a->embedding == b->embedding &&
           a->head == b->head;
}

void stage_chunks(const struct plan *plan, struct stage_chunk *out)
{
    struct layout layout;
    bool written = plan->parallel.layout[0] && layout_read(plan->parallel.layout, &layout);
    const enum layer_kind mtp = model_mtp_kind(&plan->model);
    const uint64_t first_of_all = plan_first_back(plan);
    for (uint64_t i = 0; i < chunk_count(plan); i++) {
        const struct extent x = extent_of(plan, written ? &layout : NULL, i);
        out[i] = (struct stage_chunk){.embedding = x.embedding, .head = x.head};
        model_layers(&plan->model, x.first, x.last, out[i].layers);
        if (first_of_all <= x.first)
            memcpy(out[i].back, out[i].layers, sizeof out[i].back);
        else
            model_layers(&plan->model, lesser(x.last, first_of_all), x.last, out[i].back);
        out[i].layers[mtp] += x.modules;
        out[i].back[mtp] += x.modules;
    }
}

/* What is in flight at a moment. */
static void fill_in_flight(const struct plan *plan, const struct chunks *chunks,
                           const struct alive *alive, struct stage *stage)
{
    /* without a pipeline layers 1 to k of one micro-batch and 1 to L - k of the next are alive,
     * and the one that both are in: L + 1 */
    uint64_t beside = plan_overlaps_experts(plan) && plan->parallel.pp == 1 ? 1 : 0;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        bool experts = kind_ffn((enum layer_kind)k) == FFN_MOE;
        stage->in_flight[k] =
            thousandths(alive->layers[k] + (experts ? beside : 0), stage->back[k]);
        stage->kept_in_flight[k] = thousandths(
            alive->kept[k] + (experts && stage->kept[k] ? beside : 0), stage->kept[k]);
        stage->plain_in_flight[k] = thousandths(alive->plain[k], stage->plain[k]);
    }
    stage->head_in_flight = 1000 * alive->head;
    stage->encoder_in_flight = 1000 * (chunks->encoder ? alive->encoder : 1);
    stage->empty_in_flight = alive->empty;
}

/* The sum of floor(i / size) over the first n numbers. */
static uint64_t sum_of_floors(uint64_t n, uint64_t size)
{
    uint64_t whole = n / size;
    return size * (whole * (whole - (whole > 0)) / 2) + whole * (n % size);
}

/* Of attention residuals, whose block every residual_block-th layer begins: its mixer reads the
 * blocks before it and writes one more, its network reads that too (vLLM
 * models/kimi_k3/nvidia/model.py, prev_valid_blocks). Ranks with several chunks have the mean
 * of the model. */
static void take_blocks(const struct plan *plan, const struct layout *layout,
                        struct stage *stage)
{
    const uint64_t size = plan->model.residual_block;
    uint64_t first = 0, last = plan->model.layers;
    if (!size)
        return;
    if (chunk_count(plan) == plan->parallel.pp &&
        plan->parallel.schedule != PIPELINE_DUALPIPE) {
        first =
            layout ? written_before(layout, stage->index) : layers_before(plan, stage->index);
        last = layout ? written_before(layout, stage->index + 1)
                      : layers_before(plan, stage->index + 1);
    }
    stage->blocks_in = ceil_div(first, size);
    stage->blocks_out = ceil_div(last, size);
    uint64_t places = 2 * (last - first), moved = stage->blocks_out - stage->blocks_in;
    moved += sum_of_floors(last + size - 1, size) - sum_of_floors(first + size - 1, size);
    moved += sum_of_floors(last, size) - sum_of_floors(first, size) + (last - first);
    if (places)
        stage->blocks_moved = moved / places * 1000 + moved % places * 1000 / places;
}

/* The last layers of every group of a stage (vLLM model_executor/offloader/prefetch.py,
 * wrap_modules, of the layers that a rank makes). */
static void take_away(const struct plan *plan, struct stage *stage)
{
    const uint64_t group = plan->memory.offload_group, of = plan->memory.offload_in_group;
    uint64_t first = layers_before(plan, stage->index);
    uint64_t last = layers_before(plan, stage->index + 1);
    for (uint64_t i = first; i < last && engine_groups_layers(plan); i++)
        if ((i - first) % group + of >= group)
            model_layers(&plan->model, i, i + 1, stage->away);
}

/* A stage but for what is in flight, and the moments of its schedule. */
static void fill_stage(const struct plan *plan, uint64_t index, const struct params *params,
                       struct chunks *chunks, struct stage *stage)
{
    struct layout layout;
    bool written = plan->parallel.layout[0] && layout_read(plan->parallel.layout, &layout);
    rank_chunks(plan, index, written ? &layout : NULL, chunks);
    fill_moments(plan, index, chunks);
    *stage = (struct stage){
        .index = index, .moments = chunks->moments, .model_parameters = params->parameters};
    stage_of_chunks(chunks, stage);
    stage_parameters(plan, params, stage);
    if (plan_freezes(plan) || plan_draws_layers(plan))
        stage_trained(plan, params, chunks->trained, stage);
    take_blocks(plan, written ? &layout : NULL, stage);
    take_away(plan, stage);
}

unsigned stage_moments(const struct plan *plan, uint64_t index, const struct params *params,
                       struct stage stages[STAGE_MOMENTS])
{
    struct chunks chunks;
    struct stage *first = &stages[0];
    fill_stage(plan, index, params, &chunks, first);
    for (unsigned i = chunks.moments; i-- > 0;) {
        stages[i] = *first;
        fill_in_flight(plan, &chunks, &chunks.moment[i], &stages[i]);
    }
    return chunks.moments;
}

void stage_at(const struct plan *plan, uint64_t index, unsigned moment,
              const struct params *params, struct stage *stage)
{
    struct chunks chunks;
    fill_stage(plan, index, params, &chunks, stage);
    fill_in_flight(plan, &chunks, &chunks.moment[moment < chunks.moments ? moment : 0], stage);
}
