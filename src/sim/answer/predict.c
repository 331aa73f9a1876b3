/* predict: the plan's work list built, evaluated, folded, and told as a record. */
#include "sim/answer/predict.h"

#include <math.h>

#include "base/checked.h"
#include "base/stat.h"
#include "base/text.h"
#include "plan/derive.h"
#include "sim/memory/address.h"
#include "sim/step/evaluate.h"
#include "sim/answer/notes.h"
#include "work/piece/matmul.h"
#include "plan/params.h"
#include "work/stack/stack.h"

/* The list evaluated for another demand of routing. */
struct other {
    struct slots slots;
    uint64_t *values;
    struct evaluation result;
};

/* One sampled step after the other. */
struct steps {
    struct slots slots;
    uint64_t *values;
    struct steady steady;
};

struct context {
    const struct plan *plan;
    struct arena *arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    struct evaluation result;
    bool routed;             /* sizes follow routing */
    const struct rows *rows; /* the laws that memory, time and the layer share, or NULL */
    bool sampled;            /* they do, or overflow of buffers of given size: demand is set */
    struct demand_spread demand;
    struct demand_source source;
    struct demand_stages stages; /* none: all layers are routed alike */
    struct demand_layers layers; /* of layers that are not */
    struct overflow overflow;
    struct other *expected, *worst; /* the same list for other demands */
};

static const char *rule_name(enum sizing_rule rule)
{
    static const char *const names[] = {"fixed", "routing", "worst", "factor"};
    return names[rule];
}

static const char *buffer_formula(const struct context *c, const struct buffer *buffer)
{
    struct text text = {.arena = c->arena};
    size_formula(&c->work.sizes, buffer->bytes, &text);
    text_append(&text, " = ");
    size_numbers(&c->work.sizes, buffer->bytes, &c->slots, &text);
    return text_string(&text);
}

/* Every token of every rank to this one, each to as many of its experts as it can. */
static struct demand certified(const struct context *c)
{
    const uint64_t *v = c->slots.value;
    struct rows_ceilings most = rows_ceilings(plan_joined_tokens(c->plan), v[SLOT_EP],
                                              v[SLOT_TOP_K], v[SLOT_LOCAL_EXPERTS]);
    return (struct demand){
        .rows = most.rows, .received = most.tokens, .padded = most.rows, .hot = most.tokens};
}

/* The slots with every layer as full as that. */
static void set_alike(const struct context *c, const struct demand *demand, struct slots *slots)
{
    *slots = c->slots;
    demand_to_slots(demand, slots);
}

/* The same where all layers are routed alike; of layers that are routed apart, what they ask.
 */
static void set_demand(const struct context *c, const struct demand *demand,
                       enum demand_level level, struct slots *slots)
{
    set_alike(c, demand, slots);
    if (c->stages.n)
        demand_layers_to_slots(&c->layers, &c->stages, level, slots);
}

static enum status evaluate_other(const struct context *c, const struct slots *slots,
                                  struct other **out, struct err *err)
{
    struct other *other = arena_alloc(c->arena, 1, sizeof *other);
    other->values = arena_alloc(c->arena, c->work.sizes.n, sizeof *other->values);
    other->slots = *slots;
    *out = other;
    if (evaluate_slots(c->plan, &c->work, &other->slots, other->values, &other->result))
        return STATUS_OK;
    return err_set(err, STATUS_INPUT, "a size of the plan's worst case overflows 64 bits");
}

static enum status too_large(struct err *err)
{
    err_set(err, STATUS_INPUT, "a size of the plan overflows 64 bits");
    return err_hint(err, "look for a number with too many digits: `moeplan show`");
}

/* The plan's routing, and what it does to receive buffers of given size. */
static enum status sample(struct context *c, const struct predict_options *options,
                          struct err *err)
{
    const struct demand_laws laws = {.rows = c->rows};
    TRY(demand_prepare(c->plan, options->routing, laws, c->arena, &c->source, err));
    if (c->work.room.set) {
        if (!sizes_eval(&c->work.sizes, &c->slots, c->values))
            return too_large(err);
        c->source.room = overflow_room(&c->work, c->values);
    }
    c->source.progress = options->progress;
    demand_sample(&c->source, plan_joined_tokens(c->plan), options->exact, &c->demand);
    struct overflow_layer layer = overflow_sampled(&c->source, &c->demand);
    overflow_of(c->plan, &layer, &c->overflow);
    if (!c->work.apart)
        return STATUS_OK;
    demand_stages_of(c->plan, &c->stages);
    demand_layers_of(&c->source, &c->demand, plan_moe_layers(c->plan), &c->layers);
    return STATUS_OK;
}

/* Samples routing where sizes follow it, and evaluates the list for what is expected, for the
 * 99th percentile (the verdict's) and for the certified worst. */
static enum status evaluate_all(struct context *c, const struct predict_options *options,
                                struct err *err)
{
    struct demand worst = certified(c);
    struct slots slots;
    c->routed = evaluate_is_routed(c->plan, &c->work);
    c->sampled = c->routed || c->work.room.set;
    if (c->sampled)
        TRY(sample(c, options, err));
    if (c->routed) {
        worst = c->demand.worst;
        set_demand(c, &c->demand.expected, DEMAND_EXPECTED, &slots);
        TRY(evaluate_other(c, &slots, &c->expected, err));
        set_demand(c, &c->demand.p99, DEMAND_P99, &c->slots);
    }
    set_alike(c, &worst, &slots);
    TRY(evaluate_other(c, &slots, &c->worst, err));
    if (!evaluate_slots(c->plan, &c->work, &c->slots, c->values, &c->result))
        return too_large(err);
    if (c->sampled)
        evaluate_overflow(&c->work, c->values, &c->overflow, &c->result);
    return STATUS_OK;
}

static void report_buffer(const struct context *c, const struct buffer *buffer,
                          struct buffer_report *out)
{
    uint64_t now =
        memory_bytes_at_peak(&c->work, c->values, buffer, c->result.schedule, &c->result.peak);
    *out = (struct buffer_report){
        .name = buffer->name,
        .rule = rule_name(buffer->rule),
        .category = buffer->category,
        .segment = buffer->segment,
        .dtype = buffer->dtype,
        .n_dims = buffer->n_dims,
        .one_bytes = c->values[buffer->bytes.node],
        .bytes = now ? now : memory_buffer_bytes(&c->work, c->values, buffer),
        .at_peak = now != 0,
        .formula = buffer_formula(c, buffer),
        .source = buffer->source,
    };
    for (unsigned i = 0; i < buffer->n_dims; i++)
        out->dims[i] = c->values[buffer->dims[i].node];
    out->copies = out->one_bytes ? (out->bytes + out->one_bytes - 1) / out->one_bytes : 0;
    out->expected_bytes =
        c->routed ? memory_buffer_bytes(&c->work, c->expected->values, buffer) : out->bytes;
    /* the worst case may be another stage's, which has less of this buffer */
    out->worst_bytes = memory_buffer_bytes(&c->work, c->worst->values, buffer);
    if (out->worst_bytes < out->bytes)
        out->worst_bytes = out->bytes;
}

static void report_buffers(const struct context *c, struct memory_report *m)
{
    m->buffers = arena_alloc(c->arena, c->work.n_buffers, sizeof *m->buffers);
    for (size_t i = 0; i < c->work.n_placed; i++) {
        const struct buffer *buffer = &c->work.buffers[c->work.placed[i]];
        if (buffer->schedules >> c->result.schedule & 1)
            report_buffer(c, buffer, &m->buffers[m->n_buffers++]);
    }
}

/* The report of a buffer of the list; reports keep its name's pointer and segment. */
static const struct buffer_report *report_of(const struct memory_report *m,
                                             const struct buffer *buffer)
{
    for (size_t i = 0; buffer && i < m->n_buffers; i++)
        if (m->buffers[i].name == buffer->name && m->buffers[i].segment == buffer->segment)
            return &m->buffers[i];
    return NULL;
}

/* The largest buffer alive at the peak, all its copies together. */
static const struct buffer_report *largest_of(const struct memory_report *m)
{
    const struct buffer_report *found = NULL;
    for (size_t i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].at_peak && (!found || m->buffers[i].bytes > found->bytes))
            found = &m->buffers[i];
    return found;
}

/* Op and phase of the peak. Some stacks say only what they hold for the whole of a layer: then
 * the op is the layer, and the phase of a training step its backward, which follows. */
static void report_moment(const struct context *c, struct peak_report *out)
{
    const bool trains = c->plan->workload.mode == MODE_TRAIN;
    const char *const ends[SEGMENT_COUNT] = {
        [SEGMENT_EMBED] = "embedding", [SEGMENT_HEAD] = trains ? "loss" : "logits"};
    const struct memory_peak *peak = &c->result.peak;
    const struct tick *tick = peak->tick < c->work.n_ticks ? &c->work.ticks[peak->tick] : NULL;
    out->op = segment_is_layer(peak->segment) ? "layer" : ends[peak->segment];
    if (tick && tick->segment == peak->segment)
        *out =
            (struct peak_report){out->stage, out->segment, tick->name, phase_name(tick->phase)};
    else if (peak->tick == WORK_NONE || !out->op)
        out->op = NULL;
    else
        out->phase = phase_name(trains ? PHASE_BACKWARD : PHASE_FORWARD);
}

static void report_host(const struct context *c, struct memory_report *m)
{
    uint64_t most = 0;
    m->host_bytes = c->result.host_bytes;
    m->host_limit_bytes = c->result.host_limit_bytes;
    for (size_t i = 0; i < c->work.n_host; i++) {
        uint64_t bytes = c->values[c->work.host[i].bytes.node];
        if (bytes > most)
            m->host_largest = c->work.host[i].name;
        most = bytes > most ? bytes : most;
    }
}

/* Stage, segment, op and phase of the peak, and every stage's own. */
static void report_peak(const struct context *c, struct memory_report *m)
{
    const struct memory_peak *peak = &c->result.peak;
    struct slots slots = c->slots;
    uint64_t *values = arena_alloc(c->arena, c->work.sizes.n, sizeof *values);
    m->peak =
        (struct peak_report){.stage = peak->stage, .segment = segment_name(peak->segment)};
    report_moment(c, &m->peak);
    m->n_stages = (size_t)verdict_n_stages(c->plan);
    m->stages = arena_alloc(c->arena, m->n_stages, sizeof *m->stages);
    if (!verdict_stages(c->plan, &c->work, &slots, values, m->stages))
        m->n_stages = 0; /* an overflow was reported by evaluate_all already */
}

/* The wall, and the first buffer that no int can index, however much memory there is. */
static void report_walls(const struct context *c, struct memory_report *m)
{
    m->largest = largest_of(m);
    m->wall = report_of(m, c->result.wall);
    m->address_wall = c->result.unaddressable ? m->wall : NULL;
    m->small_wall = c->result.overflows ? m->wall : NULL;
    m->int_wall = report_of(m, address_beyond_int(&c->work, c->values, c->result.schedule));
}

/* What the step of these slots needs; more than there is where a size overflows. */
static uint64_t slots_bytes(const struct context *c, struct steps *step)
{
    struct memory_peak peak;
    unsigned schedule;
    steady_next(&step->steady, 0);
    return verdict_evaluate_steady(c->plan, &c->work, &step->slots, step->values, &step->steady,
                                   &peak, &schedule)
               ? peak.total_bytes
               : UINT64_MAX;
}

/* The least rows of a rank, however they fall, at which the step's memory ends: by bisection,
 * as memory grows with rows. The certified worst case must not fit. */
static uint64_t rows_that_end(const struct context *c, struct steps *step, uint64_t limit_bytes)
{
    uint64_t fits = 0, ends = c->demand.worst.rows;
    while (ends - fits > 1) {
        uint64_t middle = fits + (ends - fits) / 2;
        struct demand demand = demand_of_rows(&c->source, middle);
        set_alike(c, &demand, &step->slots);
        *(slots_bytes(c, step) > limit_bytes ? &ends : &fits) = middle;
    }
    return ends;
}

/* No sample ran out: what is left of the chance. Rank, layer and micro-step that decide may be
 * any (the union bound). */
static double chance_unseen(const struct context *c, struct steps *step,
                            const struct memory_report *m)
{
    if (m->worst_bytes <= m->limit_bytes)
        return 0;
    struct overflow_layer layer = {.n = c->demand.n};
    layer.room = (struct demand_room){.set = true, .tokens = UINT64_MAX};
    layer.room.rows = rows_that_end(c, step, m->limit_bytes) - 1;
    layer.tail = demand_tail(&c->source, &layer.room);
    struct overflow all;
    overflow_of(c->plan, &layer, &all);
    return fmin(all.probability, stat_chance_bound(0, c->demand.n));
}

/* Bytes of a sampled step. */
static uint64_t step_bytes(const struct context *c, uint64_t s, struct steps *step)
{
    set_alike(c, &c->demand.samples[s], &step->slots);
    if (c->stages.n)
        demand_step_to_slots(&c->source, &c->stages, s, &step->slots);
    return slots_bytes(c, step);
}

/* Where layers are routed apart, numbers have errors of their own. */
static uint64_t error_bytes(const struct context *c, const double *sorted, struct steps *step,
                            const struct memory_report *m)
{
    if (!c->stages.n)
        return (uint64_t)ceil(stat_percentile_error(sorted, c->demand.n, 0.99));
    set_demand(c, &c->demand.p99, DEMAND_HIGH, &step->slots);
    return slots_bytes(c, step) - m->total_bytes;
}

/* Expected and worst totals, and the chance of running out in a step: each sampled step through
 * the list. */
static void report_spread(const struct context *c, struct memory_report *m)
{
    struct steps step = {.values = arena_alloc(c->arena, c->work.sizes.n, sizeof *step.values),
                         .steady = {.arena = c->arena}};
    double *sorted = arena_alloc(c->arena, c->demand.n, sizeof *sorted);
    uint64_t hits = 0;
    m->has_distribution = true;
    m->samples = c->demand.n;
    m->expected_bytes = c->expected->result.peak.total_bytes;
    m->worst_bytes = c->worst->result.peak.total_bytes;
    for (uint64_t i = 0; i < c->demand.n; i++) {
        uint64_t bytes = step_bytes(c, i, &step);
        hits += bytes > m->limit_bytes;
        sorted[i] = (double)bytes;
    }
    stat_sort(sorted, c->demand.n);
    m->p99_error_bytes = error_bytes(c, sorted, &step, m);
    m->oom_samples = hits;
    m->oom_probability =
        hits ? stat_chance_bound(hits, c->demand.n) : chance_unseen(c, &step, m);
}

/* What the total stands for; see struct memory_report. */
static const char *sizing_of(const struct context *c)
{
    if (c->routed)
        return "p99";
    if (c->work.room.set)
        return "factor";
    if (c->plan->moe.buffer == SIZING_BALANCED && stack_reads_buffer(c->plan))
        return "balanced";
    for (size_t i = 0; i < c->work.n_placed && plan_is_routed(c->plan); i++)
        if (c->work.buffers[c->work.placed[i]].rule == RULE_WORST)
            return "worst";
    return "fixed";
}

static void report_categories(const struct memory_peak *peak, struct memory_report *m)
{
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (peak->category[i])
            m->categories[m->n_categories++] =
                (struct category_bytes){(enum category)i, peak->category[i]};
}

static void report_memory(struct context *c, struct memory_report *m)
{
    *m = (struct memory_report){
        .capacity_bytes = plan_rank_memory(c->plan),
        .limit_bytes = verdict_limit(c->plan),
        .state_bytes = c->result.peak.state_bytes,
        .temp_bytes = c->result.peak.temp_bytes,
        .total_bytes = c->result.peak.total_bytes,
        .verdict = c->result.verdict,
        .sizing = sizing_of(c),
        .schedule = c->work.schedule_name[c->result.schedule],
    };
    m->margin_bytes = (int64_t)m->limit_bytes - (int64_t)m->total_bytes;
    memory_explain(&c->work, c->values, c->result.schedule, &c->result.peak);
    m->allocated_bytes = c->result.peak.total_bytes - c->result.peak.outside_bytes;
    m->reserved_bytes =
        (uint64_t)((double)m->allocated_bytes * (1 + c->plan->stack.fragmentation));
    m->resident_bytes = c->result.peak.resident_bytes;
    report_categories(&c->result.peak, m);
    report_buffers(c, m);
    report_walls(c, m);
    report_host(c, m);
    report_peak(c, m);
    m->expected_bytes = m->p99_bytes = m->worst_bytes = m->total_bytes;
    m->overflow = c->overflow;
    if (c->routed)
        report_spread(c, m);
}

static void report_model(const struct context *c, struct model_report *m)
{
    struct params params;
    params_count(&c->plan->model, &params);
    const uint64_t *v = c->slots.value;
    uint64_t dense = v[SLOT_DENSE_PARAMETERS], experts = v[SLOT_EXPERT_PARAMETERS];
    if (c->plan->parallel.zero >= 3) {
        const struct sharers n = plan_sharers(c->plan);
        dense = ceil_div(dense, n.dense);
        experts = ceil_div(experts, n.experts);
    }
    m->parameters = params.parameters;
    m->active_parameters = params.active;
    m->parameters_per_device = dense + experts;
    m->flop_per_token = params_useful_flop_per_token(c->plan);
}

/* Host waits of one MoE layer's forward. */
static void report_sync(const struct context *c, struct sync_report *sync)
{
    enum segment segment = SEGMENT_STEP; /* of the first layers with experts */
    for (size_t i = 0; i < c->work.n_ticks; i++) {
        const struct tick *tick = &c->work.ticks[i];
        if (segment == SEGMENT_STEP && segment_has_experts(tick->segment))
            segment = tick->segment;
        if (segment != SEGMENT_STEP && tick->segment == segment && tick->phase == PHASE_FORWARD)
            sync->per_layer += c->values[tick->host_syncs.node];
    }
}

static enum status report_moe(const struct context *c, const struct predict_options *options,
                              struct prediction *out, struct err *err)
{
    const struct predict_moe_options moe = {
        .routing = options->routing,
        .rows = c->rows,
        .lost = c->work.room.set && c->overflow.policy == OVERFLOW_DROP ? c->demand.lost : 0,
        .exact = options->exact,
        .drops_mean = options->drops_mean,
        .pool = options->pool,
        .progress = options->progress,
        .known = options->known,
        .free_bytes = out->memory.margin_bytes > 0 ? (uint64_t)out->memory.margin_bytes : 0,
    };
    return predict_moe(c->plan, &moe, c->arena, &out->moe, err);
}

static void report_notes(const struct context *c, const struct origins *origins,
                         struct prediction *out)
{
    out->notes = notes_of(c->plan, origins, c->arena, &out->n_notes);
}

/* Ops of the stage that counts; under stack host also what run performs of them. */
static enum status report_ops(struct context *c, const struct predict_options *options,
                              struct prediction *out, struct err *err)
{
    if (!options->ops)
        return STATUS_OK;
    const struct plan *plan = options->ops_plan ? options->ops_plan : c->plan;
    struct ops_ask ask = *options->ops;
    struct slots slots;
    ask.rows = ask.data == options->routing ? c->rows : NULL;
    struct err refused = {0}; /* sizes past 64 bits, or a plan that the host cannot perform */
    TRY(ops_check(plan, &ask, err));
    slots_from_plan(plan, &slots);
    out->has_ops =
        ops_of(plan, &ask, &c->work, &slots, c->arena, &out->ops, &refused) == STATUS_OK;
    bool backward = c->plan->workload.mode == MODE_TRAIN;
    if (c->plan->stack.kind == STACK_HOST)
        out->has_slice = ops_slice(c->plan, options->routing, backward, options->workers,
                                   c->arena, &out->slice, &refused) == STATUS_OK;
    return STATUS_OK;
}

/* A second cache beside what else waits in the host's memory. */
static void report_host_cache(const struct plan *plan, struct prediction *out)
{
    struct memory_report *m = &out->memory;
    uint64_t bytes = serving_host_bytes(plan, &out->serving);
    if (bytes > m->host_bytes)
        m->host_largest = "host_cache";
    m->host_bytes += bytes;
    if (bytes && m->host_limit_bytes && m->host_bytes > m->host_limit_bytes)
        m->verdict = VERDICT_OOM;
}

enum status predict_rows(const struct plan *plan, const struct predict_options *options,
                         struct arena *arena, const struct rows **out, struct err *err)
{
    struct rows_spec spec;
    bool asked = options->time || !options->memory_only;
    *out = options->rows;
    if (options->rows || !asked || !plan_is_routed(plan) || plan_tokens(plan) == 0)
        return STATUS_OK;
    struct rows *rows = arena_alloc(arena, 1, sizeof *rows);
    rows_spec_from_plan(plan, options->routing, &spec);
    spec.known = options->known;
    *out = rows;
    return rows_prepare(&spec, arena, rows, err);
}

enum status predict_time(const struct plan *plan, const struct time_ask *ask,
                         struct arena *arena, struct time_report *out, struct err *err)
{
    enum status status = time_of(plan, ask, arena, out, err);
    if (status == STATUS_OK || !out->overflows)
        return status;
    *err = (struct err){0};
    return STATUS_OK;
}

static enum status report_time(const struct context *c, const struct predict_options *options,
                               struct time_report *out, struct err *err)
{
    if (!options->time)
        return STATUS_OK;
    struct time_ask ask = *options->time;
    bool same = ask.routing == options->routing;
    ask.rows = same ? c->rows : NULL;
    ask.drawn = same && c->sampled && !options->exact ? &c->demand : NULL;
    return predict_time(c->plan, &ask, c->arena, out, err);
}

/* What the links of the step that was timed have, beside what one rank of a sample sends. */
static void join_links(const struct time_report *time, struct ops_report *ops)
{
    for (size_t i = 0; i < ops->n; i++)
        for (size_t j = 0; j < time->n_links; j++) {
            const struct time_link *link = &time->links[j];
            struct op_report *op = &ops->ops[i];
            if (link->segment != op->segment || link->phase != op->phase ||
                !text_equal(link->name, op->name))
                continue;
            op->fullest_up = link->up_bytes;
            op->fullest_out = link->out_bytes;
            op->fullest_s = link->seconds;
            op->balanced_s = link->even_s;
        }
}

enum status predict_step(const struct plan *plan, const struct predict_options *options,
                         struct arena *arena, struct prediction *out, struct err *err)
{
    struct context c = {.plan = plan, .arena = arena};
    *out = (struct prediction){0};
    TRY(work_build(plan, arena, &c.work, err));
    if (!plan_is_routed(plan))
        c.work.room.set = false; /* nobody comes */
    slots_from_plan(plan, &c.slots);
    c.values = arena_alloc(arena, c.work.sizes.n, sizeof *c.values);
    TRY(predict_rows(plan, options, arena, &c.rows, err));
    TRY(evaluate_all(&c, options, err));
    report_memory(&c, &out->memory);
    report_model(&c, &out->model);
    report_sync(&c, &out->sync);
    TRY(serving_of(plan, arena, &out->serving, err));
    report_host_cache(plan, out);
    report_notes(&c, options->origins, out);
    TRY(report_ops(&c, options, out, err));
    TRY(report_time(&c, options, &out->time, err));
    join_links(&out->time, &out->ops);
    out->has_collective = collective_block_of(plan, matmul_tiles(plan), &out->collective);
    return options->memory_only ? STATUS_OK : report_moe(&c, options, out, err);
}
