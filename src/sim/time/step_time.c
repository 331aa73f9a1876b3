/* See step_time.h. Stretches of ops stand in stretch.c. */
#include "sim/time/step_time.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "plan/halves.h"
#include "plan/speculation.h"
#include "sim/moe/skew.h"
#include "sim/time/overlap.h"
#include "sim/time/paired_chunks.h"
#include "sim/time/shards.h"
#include "sim/time/step_draft.h"
#include "sim/time/step_halves.h"
#include "sim/time/step_parts.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

const char *time_part_name(enum time_part part)
{
    static const char *const names[] = {
#define PART_NAME(name, text, help) text,
        TIME_PART_LIST(PART_NAME)
#undef PART_NAME
    };
    return names[part];
}

/* ---- the list ---- */

/* Its passes are times of their own, the step's list is of the model that verifies. */
static void leave_out_module(struct plan *plan)
{
    if (plan_drafts_itself(plan))
        plan->model.mtp_enabled = false;
}

static const struct plan *without_module(const struct plan *plan, struct arena *arena)
{
    if (!plan_drafts_itself(plan))
        return plan;
    struct plan *verifies = arena_take(arena, 1, sizeof *verifies);
    *verifies = *plan;
    leave_out_module(verifies);
    return verifies;
}

/* Ops of the step: of the list that memory has, unless that holds a draft. */
static enum status take_list(struct stepper *s, const struct plan *plan,
                             const struct work *held, const struct profile *profile,
                             struct arena *arena, struct err *err)
{
    const struct plan *verifies = without_module(plan, arena);
    s->draft = NULL;
    s->work = *held;
    if (plan_runs_draft(plan)) {
        TRY(step_draft_build(s, plan, profile, arena, err));
        TRY(work_build(verifies, arena, &s->work, err));
    }
    return s->work.n_ops ? STATUS_OK : work_ops(verifies, &s->work, err);
}

/* At the first stage; where layers are frozen at the one with the most that run backward, as
 * the first may have nothing to update. */
static void fill_slots(struct stepper *s)
{
    const struct plan *plan = &s->plan;
    uint64_t most = 0, at = 0;
    slots_from_plan(plan, &s->slots);
    if (!plan_first_back(plan) || plan->parallel.stage)
        return;
    for (uint64_t i = 0; i < plan->parallel.pp; i++) {
        struct stage stage;
        uint64_t back = 0;
        stage_layers(plan, i, &stage);
        for (unsigned k = 0; k < KIND_COUNT; k++)
            back += stage.back[k];
        at = back > most ? i : at;
        most = back > most ? back : most;
    }
    slots_set_stage(plan, at, 0, &s->slots);
}

enum status stepper_share(struct stepper *s, const struct plan *plan, const struct work *held,
                          const struct profile *profile, struct arena *arena, struct err *err)
{
    s->plan = *plan;
    s->plan.moe.path = stack_path(plan, NULL);
    s->plan.moe.buffer = stack_sizing(plan);
    leave_out_module(&s->plan);
    s->pairs = paired_is_on(&s->plan);
    s->arena = arena;
    TRY(take_list(s, plan, held, profile, arena, err));
    s->values = arena_take(arena, s->work.sizes.n, sizeof *s->values);
    s->even = arena_take(arena, s->work.sizes.n, sizeof *s->even);
    s->op_s = arena_take(arena, s->work.n_ops + 1, sizeof *s->op_s);
    s->op_link_s = arena_take(arena, s->work.n_ops + 1, sizeof *s->op_link_s);
    s->item = arena_take(arena, s->work.n_ops + 1, sizeof *s->item);
    step_halves_take(s);
    fill_slots(s);
    pricing_renew(&s->pricing, &s->plan, s->plan.moe.path, profile);
    return STATUS_OK;
}

enum status stepper_build(struct stepper *s, const struct plan *plan,
                          const struct profile *profile, struct arena *arena, struct err *err)
{
    const struct routing_data *routing = s->routing;
    struct work work;
    *s = (struct stepper){.routing = routing};
    TRY(work_build(plan, arena, &work, err));
    return stepper_share(s, plan, &work, profile, arena, err);
}

void stepper_follow(struct stepper *s, const struct plan *plan)
{
    enum moe_path path = s->plan.moe.path;
    enum buffer_sizing buffer = s->plan.moe.buffer;
    s->plan = *plan;
    s->plan.moe.path = path;
    s->plan.moe.buffer = buffer;
    leave_out_module(&s->plan);
    s->pairs = paired_is_on(&s->plan);
    slots_set_numbers(&s->plan, &s->slots);
    pricing_follow(&s->pricing, &s->plan, path);
}

void stepper_turn(struct stepper *s, const struct plan *plan)
{
    const struct parallel was = s->plan.parallel, *now = &plan->parallel;
    stepper_follow(s, plan);
    if (s->draft)
        step_draft_turn(s, plan);
    bool moved = was.pp != now->pp || was.cp != now->cp;
    if (moved)
        pricing_place(&s->pricing, &s->plan, s->plan.moe.path);
    if (moved || was.vpp != now->vpp)
        fill_slots(s);
}

void stepper_price(struct stepper *s, const struct profile *profile,
                   const struct rates_try *attempt)
{
    pricing_init(&s->pricing, &s->plan, s->plan.moe.path, profile, attempt);
    for (unsigned i = 0; s->draft && i < DRAFT_PASSES; i++)
        stepper_price(&s->draft[i], profile, attempt);
}

void stepper_release(struct stepper *s)
{
    arena_release(&s->scratch);
}

/* ---- numbers of a step ---- */

/* A decode step of sequences for which no graph was captured; graphs that the plan asks for
 * without a size are of all. */
static bool beyond_graphs(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool sized = plan->stack.graph_batch || plan->stack.graphs == GRAPHS_AUTO;
    return sized && w->mode == MODE_DECODE && plan_is_engine(plan) &&
           !engine_has_graph(plan, w->micro_batch);
}

/* Of engines whose graphs of such steps are their own: TensorRT-LLM's of others are not taken
 * for them (pyexecutor/scheduler.py, can_run_cuda_graph). */
static bool reads_prompts(const struct plan *plan)
{
    enum stack_kind kind = plan->stack.kind;
    return plan->workload.mode == MODE_PREFILL &&
           (kind == STACK_SGLANG || kind == STACK_TRTLLM);
}

/* vLLM captures halves as whole graphs alone (v1/worker/gpu_ubatch_wrapper.py, __call__). */
static bool halves_prompts(const struct plan *plan)
{
    return plan->stack.kind == STACK_VLLM && plan->workload.mode == MODE_PREFILL &&
           plan->stack.graphs != GRAPHS_FULL && plan_is_halved(plan);
}

enum graphs step_graphs(const struct plan *plan)
{
    enum stack_kind kind = plan->stack.kind;
    if (halves_prompts(plan))
        return GRAPHS_NONE;
    if (beyond_graphs(plan))
        return GRAPHS_NONE;
    if (reads_prompts(plan))
        return engine_prompt_graphs(plan, plan_tokens(plan));
    if (plan->stack.graphs != GRAPHS_AUTO)
        return plan->stack.graphs;
    if (plan->stack.static_shapes)
        return GRAPHS_FULL;
    if (kind != STACK_VLLM && kind != STACK_SGLANG && kind != STACK_TRTLLM)
        return GRAPHS_NONE;
    return plan->workload.mode == MODE_DECODE ? GRAPHS_FULL : GRAPHS_PARTIAL;
}

double step_tokens(const struct plan *plan)
{
    return (double)plan->workload.micro_batch * (double)plan_sequence_tokens(plan) *
           (double)plan_dp(plan);
}

/* ---- values ---- */

/* Under static shapes rows are moved as they are reserved, whatever routing gives. */
static bool moves(enum profile_item item)
{
    return item == PROFILE_MOVE || item == PROFILE_INDEX || item == PROFILE_ALL_TO_ALL;
}

static bool evaluate_values(struct stepper *s, const struct demand *demand, bool least)
{
    struct slots slots = s->slots;
    if (least && !demand)
        skew_least(&s->plan, &slots);
    else
        skew_even(&s->plan, &slots);
    if (!demand) {
        s->pricing.carried = skew_carried(&s->plan, NULL, &slots);
        return sizes_eval(&s->work.sizes, &slots, s->values);
    }
    bool even = s->plan.stack.static_shapes || s->level_links;
    if (even && !sizes_eval(&s->work.sizes, &slots, s->even))
        return false;
    s->even_carried = even ? skew_carried(&s->plan, NULL, &slots) : 1;
    slots = s->slots;
    skew_full(&s->plan, demand, &slots);
    s->pricing.carried = skew_carried(&s->plan, demand, &slots);
    return sizes_eval(&s->work.sizes, &slots, s->values);
}

static void price_op(struct stepper *s, size_t i, const uint64_t *values)
{
    const double carried = s->pricing.carried;
    if (values == s->even)
        s->pricing.carried = s->even_carried;
    struct price price = price_of(&s->pricing, &s->work, &s->work.ops[i], values);
    s->pricing.carried = carried;
    s->op_s[i] = price.s;
    if (profile_item_class((enum profile_item)s->item[i]) == PROFILE_COLLECTIVE)
        memcpy(s->op_link_s[i], price.level_s, sizeof price.level_s);
}

static void price_ops(struct stepper *s, const struct demand *demand)
{
    bool evenly = demand && s->plan.stack.static_shapes, level = demand && s->level_links;
    s->pricing.least = s->bound;
    s->pricing.links = demand && !evenly && !level ? demand->links : (struct demand_links){0};
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        enum profile_item item = price_item(op, s->values);
        s->item[i] = (uint8_t)item;
        bool even = (evenly && moves(item)) || (level && price_is_routed(op));
        price_op(s, i, even ? s->even : s->values);
    }
}

bool stepper_ops(struct stepper *s, const struct demand *demand)
{
    bool fits = evaluate_values(s, demand, s->bound);
    if (fits)
        price_ops(s, demand);
    return fits;
}

bool stepper_even(struct stepper *s, bool halves)
{
    s->pricing.plan = &s->plan;
    s->pricing.least = true;
    s->pricing.links = (struct demand_links){0};
    if (!evaluate_values(s, NULL, true))
        return false;
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        s->op_s[i] = 0;
        if (!stretch_is_least(s, op) && !op->loop)
            continue;
        s->item[i] = (uint8_t)price_item(op, s->values);
        price_op(s, i, s->values);
    }
    s->halves = s->single = false;
    return !halves || step_halves_price(s, NULL, true);
}

/* ---- stages ---- */

const struct stage_chunk *step_held(const struct plan *plan, struct arena *arena)
{
    uint64_t stages = plan->parallel.pp, chunks = step_chunks(plan);
    struct stage_chunk *held = arena_alloc(arena, (size_t)(stages * chunks), sizeof *held);
    bool two = plan->parallel.schedule == PIPELINE_DUALPIPE && stages > 1;
    if (chunks > 1) {
        stage_chunks(plan, held);
        return held;
    }
    for (uint64_t i = 0; i < stages; i++) { /* all that a stage has */
        struct stage stage;
        stage_layers(plan, i, &stage);
        held[i].embedding = two ? i == 0 : stage.embedding;
        held[i].head = two ? i + 1 == stages : stage.head;
        memcpy(held[i].layers, stage.layers, sizeof stage.layers);
        memcpy(held[i].back, stage.back, sizeof stage.back);
    }
    return held;
}

/* DualPipe's ranks hold two chunks of the even split: its own chunk is half of what the stage
 * has. */
void step_chunk_layers(const struct plan *plan, const struct stage_chunk *held,
                       double out[PASSES][SEGMENT_COUNT])
{
    bool two = plan->parallel.schedule == PIPELINE_DUALPIPE && plan->parallel.pp > 1;
    double share = two ? 0.5 : 1;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        const uint64_t *layers = pass == PASS_FORWARD ? held->layers : held->back;
        memset(out[pass], 0, sizeof out[pass]);
        out[pass][SEGMENT_STEP] = 1;
        out[pass][SEGMENT_EMBED] = held->embedding;
        out[pass][SEGMENT_HEAD] = held->head;
        for (unsigned k = 0; k < KIND_COUNT; k++)
            out[pass][segment_of_kind((enum layer_kind)k)] = (double)layers[k] * share;
    }
}

static void chunk_of(const struct stretches *all, struct chunk_time *out)
{
    memset(out->pass, 0, sizeof out->pass);
    for (unsigned pass = 0; pass < PASSES; pass++)
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++)
            if (out->layers[pass][segment] > 0)
                stretch_add(&out->pass[pass], stretches_at(all, segment, pass),
                            out->layers[pass][segment]);
}

/* ---- the step ---- */

static void fill_chunks(struct step_parts *c)
{
    struct arena *arena = &c->s->scratch;
    struct pipeline *p = &c->pipe;
    size_t n = (size_t)(p->stages * p->chunks);
    c->chunks = arena_take(arena, n, sizeof *c->chunks);
    c->forward_s = arena_take(arena, 3 * n, sizeof *c->forward_s);
    c->backward_s = c->forward_s + n;
    c->weight_s = c->backward_s + n;
    const struct stage_chunk *held = step_held(&c->s->plan, arena);
    for (size_t i = 0; i < n; i++) {
        if (i && stage_chunk_equal(&held[i - 1], &held[i])) { /* most are */
            c->chunks[i] = c->chunks[i - 1];
        } else {
            step_chunk_layers(&c->s->plan, &held[i], c->chunks[i].layers);
            chunk_of(&c->all, &c->chunks[i]);
            step_halves_hide(c->s, &c->chunks[i]);
            if (c->s->pairs)
                paired_alone(&c->paired, &c->chunks[i]);
            overlap_passes(&c->s->pricing, c->chunks[i].pass);
        }
        c->forward_s[i] = stretch_s(&c->chunks[i].pass[PASS_FORWARD]);
        c->backward_s[i] = stretch_s(&c->chunks[i].pass[PASS_BACKWARD]);
        c->weight_s[i] = c->chunks[i].pass[PASS_BACKWARD].weight_s;
    }
    p->forward_s = c->forward_s;
    p->backward_s = c->backward_s;
    p->weight_s = c->weight_s;
    if (c->s->pairs)
        paired_chunks(c);
}

uint64_t step_chunks(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool interleaves =
        p->vpp > 1 && (p->schedule == PIPELINE_1F1B || p->schedule == PIPELINE_INTERLEAVED);
    return interleaves ? p->vpp : 1;
}

void step_pipeline_of(const struct plan *plan, struct pipeline *out)
{
    uint64_t micro_batches = plan_micro_batches(plan);
    *out = (struct pipeline){.schedule = plan->parallel.schedule,
                             .stages = plan->parallel.pp,
                             .chunks = step_chunks(plan),
                             .group = plan_interleaved_group(plan, micro_batches),
                             .micro_batches = micro_batches,
                             .overlapped = plan->stack.overlap_pp,
                             .inference = plan->workload.mode != MODE_TRAIN};
}

static void init_pipe(struct step_parts *c)
{
    bool record = c->pipe.record;
    step_pipeline_of(&c->s->plan, &c->pipe);
    c->pipe.record = record;
    c->pipe.send_s = c->all.send_s;
}

/* Batches that follow each other through the stages of a forward pass. */
static double in_flight(const struct plan *plan)
{
    return (double)(plan_is_engine(plan) ? engine_batches(plan) : plan->parallel.pp);
}

/* Exchanges that pairs hide; less of launches and copies is waited for beside more of work. */
static void take_saved(const struct pipeline_times *times, struct stretch *all)
{
    const struct pipeline_pair *saved = &times->saved;
    all->part_s[TIME_EXCHANGE] -= saved->hidden_s;
    all->part_s[TIME_HOST] -= saved->s - saved->hidden_s;
    all->least_s -= fmax(saved->s, saved->hidden_s);
}

/* Chunks by the first's: without stages Megatron has one. */
static void one_stage(const struct step_parts *c, struct pipeline_times *out)
{
    const struct pipeline *p = &c->pipe;
    double m = (double)p->micro_batches, turn = 0, both = 0;
    for (uint64_t i = 0; i < p->chunks; i++) {
        const struct pipeline_pair *pair = p->pairs ? &p->pairs[i * p->chunks + i] : NULL;
        double s = c->forward_s[i] + c->backward_s[i];
        turn += s;
        both += pair ? s - pair->s : 0;
        out->saved.hidden_s += pair ? (m - 1) * pair->hidden_s : 0;
    }
    out->saved.s = (m - 1) * both;
    out->end_s = out->busy_s = m * turn - out->saved.s;
}

/* What the busiest stage does, part by part, and what it waits. */
static void add_pipeline(struct step_parts *c, struct step_time *out)
{
    struct pipeline_times times = {0};
    struct stretch all = {0};
    const struct pipeline *p = &c->pipe;
    double m = (double)p->micro_batches, serial = 0;
    if (p->stages == 1) {
        one_stage(c, &times);
    } else {
        if (c->s->bound)
            pipeline_bound(p, &times);
        else
            pipeline_play(p, &c->s->scratch, &times);
    }
    for (uint64_t i = 0; i < p->stages * p->chunks; i++)
        for (unsigned pass = 0; pass < PASSES; pass++) {
            const struct stretch *b = &c->chunks[i].pass[pass];
            out->executed_flop += m * b->flop / (double)p->stages;
            out->first_s += pass == PASS_FORWARD ? stretch_s(b) : 0;
            serial += b->serial_s;
            double passes = pipeline_passes(p, times.busiest, i);
            if (passes > 0)
                stretch_add(&all, b, passes);
        }
    take_saved(&times, &all);
    out->first_s += c->all.send_s * (double)(p->stages * p->chunks - 1);
    out->beat_s = p->inference ? fmax(times.busy_s, out->first_s / in_flight(&c->s->plan)) : 0;
    for (unsigned i = 0; i < TIME_PARTS; i++)
        out->part_s[i] += all.part_s[i];
    out->host_sync_s += all.sync_s;
    out->comm_s += all.comm_s;
    if (p->stages > 1) /* one has nobody to wait for, and sums that round apart */
        out->part_s[TIME_PIPELINE] += times.end_s - stretch_s(&all);
    out->bubble_s = times.end_s - times.busy_s;
    out->least_s += all.least_s;
    out->most_s += m * (serial + 2 * c->all.send_s * (double)(p->stages * p->chunks));
    c->times = times;
}

/* Reductions may run beside the last backward, gathers beside the next forward, but for the
 * bucket whose gradients are the last, and the one that the first layer needs. */
static void add_update(struct step_parts *c, struct step_time *out)
{
    const struct stretches *b = &c->all;
    const struct stretch *pass = c->chunks[0].pass;
    const struct pricing *pricing = &c->s->pricing;
    const double times = (double)shards_reductions(&c->s->plan);
    double reduce = b->reduce_s, gather = b->gather_s, all = times * reduce + gather;
    if (shards_of_step(&c->s->plan, UPDATE_REDUCE))
        reduce = b->reduce_last_s + overlap_beside(pricing, &pass[PASS_BACKWARD],
                                                   reduce - b->reduce_last_s, b->reduce_link_s);
    if (shards_of_step(&c->s->plan, UPDATE_GATHER))
        gather =
            b->gather_first_s + overlap_beside(pricing, &pass[PASS_FORWARD],
                                               gather - b->gather_first_s, b->gather_link_s);
    reduce *= times;
    c->reduce_s = reduce;
    c->gather_s = gather;
    out->part_s[TIME_OPTIMIZER] += b->update_s;
    out->part_s[TIME_SHARDING] += reduce + gather;
    out->comm_s += all;
    out->least_s = fmax(out->least_s + b->update_s, 0);
    out->most_s += b->update_s + all;
}

static void add_fixed(struct step_parts *c, struct step_time *out)
{
    const struct plan *plan = &c->s->plan;
    const struct rates *r = &c->s->pricing.rates;
    double fixed = r->fixed_s;
    if (plan->workload.data == DATA_REAL && plan->workload.mode == MODE_TRAIN)
        fixed += r->data_s;
    double graphs = step_graphs(plan) == GRAPHS_NONE ? 0 : r->graph_s;
    c->fixed_s = fixed;
    c->graphs_s = graphs;
    out->part_s[TIME_FIXED] += fixed;
    out->part_s[TIME_HOST] += graphs;
    out->least_s += fixed + graphs;
    out->most_s += fixed + graphs;
}

/* All of the parts but s and pipe.record, which are set. */
static void compose(struct step_parts *c, struct step_time *out)
{
    static const enum time_part exposed[] = {TIME_EXCHANGE, TIME_TENSOR, TIME_SHARDING};
    stretches_of(&c->all, c->s);
    init_pipe(c);
    if (c->s->pairs)
        paired_layers_of(c->s, &c->paired);
    fill_chunks(c);
    add_pipeline(c, out);
    step_reference_add(c, out);
    add_update(c, out);
    add_fixed(c, out);
    for (unsigned i = 0; i < TIME_PARTS; i++)
        out->step_s += out->part_s[i];
    for (size_t i = 0; i < sizeof exposed / sizeof *exposed; i++)
        out->exposed_comm_s += out->part_s[exposed[i]];
    /* sends of the busiest stage: what rounds below nothing is nothing */
    out->exposed_comm_s += fmax(0, out->part_s[TIME_PIPELINE] - out->bubble_s);
}

bool stepper_parts(struct stepper *s, const struct demand *demand, bool tasks,
                   struct step_time *out, struct step_parts *parts)
{
    parts->s = s;
    parts->pipe.record = tasks;
    s->pricing.plan = &s->plan;
    if (!stepper_ops(s, demand) || !step_halves_price(s, demand, s->bound))
        return false;
    arena_clear(&s->scratch);
    *out = (struct step_time){.micro_batches = (double)plan_micro_batches(&s->plan)};
    out->tokens = step_tokens(&s->plan) * out->micro_batches;
    compose(parts, out);
    return isfinite(out->step_s);
}

double stepper_sum(struct stepper *s)
{
    struct step_parts parts;
    struct step_time out = {.step_s = 0};
    parts.s = s;
    parts.pipe.record = false;
    arena_clear(&s->scratch);
    compose(&parts, &out);
    return out.step_s;
}

bool stepper_time(struct stepper *s, const struct demand *demand, struct step_time *out)
{
    struct step_parts parts;
    if (!stepper_parts(s, demand, false, out, &parts) || (s->draft && !step_draft_add(s, out)))
        return false;
    if (plan_speculates(&s->plan) && s->plan.workload.mode == MODE_DECODE)
        out->tokens *= plan_accepted(&s->plan) / (double)s->plan.workload.tokens_per_sequence;
    return true;
}
