/* What predict tells of memory: buffers, the peak and its walls, and, where sizes follow
 * routing, how the sampled steps spread; see predict_parts.h. */
#include <math.h>

#include "base/stat.h"
#include "base/text.h"
#include "plan/derive.h"
#include "sim/answer/predict_parts.h"
#include "sim/memory/address.h"
#include "work/stack/stack.h"

static const char *rule_name(enum sizing_rule rule)
{
    static const char *const names[] = {"fixed", "routing", "worst", "factor"};
    return names[rule];
}

static const char *buffer_formula(const struct predict_context *c, const struct buffer *buffer)
{
    struct text text = {.arena = c->arena};
    size_formula(&c->work.sizes, buffer->bytes, &text);
    text_append(&text, " = ");
    size_numbers(&c->work.sizes, buffer->bytes, &c->slots, &text);
    return text_string(&text);
}

static void report_buffer(const struct predict_context *c, const struct buffer *buffer,
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

static void report_buffers(const struct predict_context *c, struct memory_report *m)
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
static void report_moment(const struct predict_context *c, struct peak_report *out)
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

static void report_host(const struct predict_context *c, struct memory_report *m)
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
static void report_peak(const struct predict_context *c, struct memory_report *m)
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
static void report_walls(const struct predict_context *c, struct memory_report *m)
{
    m->largest = largest_of(m);
    m->wall = report_of(m, c->result.wall);
    m->address_wall = c->result.unaddressable ? m->wall : NULL;
    m->small_wall = c->result.overflows ? m->wall : NULL;
    m->int_wall = report_of(m, address_beyond_int(&c->work, c->values, c->result.schedule));
}

/* One sampled step after the other. */
struct steps {
    struct slots slots;
    uint64_t *values;
    struct steady steady;
};

/* What the step of these slots needs; more than there is where a size overflows. */
static uint64_t slots_bytes(const struct predict_context *c, struct steps *step)
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
static uint64_t rows_that_end(const struct predict_context *c, struct steps *step,
                              uint64_t limit_bytes)
{
    uint64_t fits = 0, ends = c->demand.worst.rows;
    while (ends - fits > 1) {
        uint64_t middle = fits + (ends - fits) / 2;
        struct demand demand = demand_of_rows(&c->source, middle);
        predict_set_alike(c, &demand, &step->slots);
        *(slots_bytes(c, step) > limit_bytes ? &ends : &fits) = middle;
    }
    return ends;
}

/* No sample ran out: what is left of the chance. Rank, layer and micro-step that decide may be
 * any (the union bound). */
static double chance_unseen(const struct predict_context *c, struct steps *step,
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
static uint64_t step_bytes(const struct predict_context *c, uint64_t s, struct steps *step)
{
    predict_set_alike(c, &c->demand.samples[s], &step->slots);
    if (c->stages.n)
        demand_step_to_slots(&c->source, &c->stages, s, &step->slots);
    return slots_bytes(c, step);
}

/* Where layers are routed apart, numbers have errors of their own. */
static uint64_t error_bytes(const struct predict_context *c, const double *sorted,
                            struct steps *step, const struct memory_report *m)
{
    if (!c->stages.n)
        return (uint64_t)ceil(stat_percentile_error(sorted, c->demand.n, 0.99));
    predict_set_demand(c, &c->demand.p99, DEMAND_HIGH, &step->slots);
    return slots_bytes(c, step) - m->total_bytes;
}

/* Expected and worst totals, and the chance of running out in a step: each sampled step through
 * the list. */
static void report_spread(const struct predict_context *c, struct memory_report *m)
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
static const char *sizing_of(const struct predict_context *c)
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

void predict_report_memory(struct predict_context *c, struct memory_report *m)
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
