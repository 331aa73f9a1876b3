/* predict: the plan's work list built, evaluated, folded, and told as a record. */
#include "sim/predict.h"

#include "base/checked.h"
#include "sim/address.h"
#include "work/params.h"
#include "work/stack.h"

struct context {
    const struct plan *plan;
    struct arena *arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    struct memory_peak peak;
    unsigned schedule;
};

static const char *rule_name(enum sizing_rule rule)
{
    static const char *const names[] = {"fixed", "routing", "worst"};
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

/* Evaluates with the certified worst case of routing: every token of every rank to this one. */
static enum status evaluate_worst(const struct context *c, uint64_t *values, struct err *err)
{
    struct slots slots = c->slots;
    uint64_t *v = slots.value;
    uint64_t copies =
        v[SLOT_TOP_K] < v[SLOT_LOCAL_EXPERTS] ? v[SLOT_TOP_K] : v[SLOT_LOCAL_EXPERTS];
    v[SLOT_RECEIVED] = v[SLOT_TOKENS] * v[SLOT_EP];
    v[SLOT_ROWS] = v[SLOT_RECEIVED] * copies;
    v[SLOT_PADDED_ROWS] = v[SLOT_ROWS];
    v[SLOT_HOT_EXPERT] = v[SLOT_RECEIVED];
    if (!sizes_eval(&c->work.sizes, &slots, values))
        return err_set(err, STATUS_INPUT, "a size of the plan's worst case overflows 64 bits");
    return STATUS_OK;
}

static void report_buffer(const struct context *c, const uint64_t *worst,
                          const struct buffer *buffer, struct buffer_report *out)
{
    uint64_t now = memory_bytes_at_peak(&c->work, c->values, buffer, c->schedule, &c->peak);
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
    out->expected_bytes = out->bytes;
    out->worst_bytes = memory_buffer_bytes(&c->work, worst, buffer);
}

static enum status report_buffers(const struct context *c, struct memory_report *m,
                                  struct err *err)
{
    uint64_t *worst = arena_alloc(c->arena, c->work.sizes.n, sizeof *worst);
    TRY(evaluate_worst(c, worst, err));
    m->buffers = arena_alloc(c->arena, c->work.n_buffers, sizeof *m->buffers);
    for (size_t i = 0; i < c->work.n_placed; i++) {
        const struct buffer *buffer = &c->work.buffers[c->work.placed[i]];
        if (buffer->schedules >> c->schedule & 1)
            report_buffer(c, worst, buffer, &m->buffers[m->n_buffers++]);
    }
    return STATUS_OK;
}

/* The allocation that crosses the limit, in the order above. */
static void find_wall(struct memory_report *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->n_buffers && m->verdict == VERDICT_OOM; i++) {
        if (!m->buffers[i].at_peak)
            continue;
        sum += m->buffers[i].bytes;
        if (sum > m->limit_bytes) {
            m->wall = &m->buffers[i];
            return;
        }
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

/* Buffers no index reaches, however much memory there is. */
static void find_address_walls(const struct context *c, struct memory_report *m)
{
    m->int_wall = report_of(m, address_beyond_int(&c->work, c->values, c->schedule));
    m->address_wall = report_of(m, address_beyond_library(&c->work, c->values, c->schedule));
    if (!m->address_wall)
        return;
    m->verdict = VERDICT_OOM;
    m->wall = m->address_wall;
}

static void report_categories(const struct memory_peak *peak, struct memory_report *m)
{
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (peak->category[i])
            m->categories[m->n_categories++] =
                (struct category_bytes){(enum category)i, peak->category[i]};
}

static enum status report_memory(struct context *c, const struct predict_options *options,
                                 struct memory_report *m, struct err *err)
{
    *m = (struct memory_report){
        .capacity_bytes = verdict_capacity(c->plan),
        .limit_bytes = verdict_limit(c->plan),
        .state_bytes = c->peak.state_bytes,
        .temp_bytes = c->peak.temp_bytes,
        .total_bytes = c->peak.total_bytes,
        .verdict = verdict_of(c->plan, &c->peak),
        .sizing = c->plan->stack.static_shapes ? "worst" : "expected",
        .schedule = c->work.schedule_name[c->schedule],
    };
    m->margin_bytes = (int64_t)m->limit_bytes - (int64_t)m->total_bytes;
    memory_explain(&c->work, c->values, c->schedule, &c->peak);
    m->allocated_bytes = c->peak.total_bytes - c->peak.outside_bytes;
    m->reserved_bytes =
        (uint64_t)((double)m->allocated_bytes * (1 + c->plan->stack.fragmentation));
    m->resident_bytes = c->peak.resident_bytes;
    report_categories(&c->peak, m);
    TRY(report_buffers(c, m, err));
    find_wall(m);
    find_address_walls(c, m);
    if (options->fixes && m->verdict == VERDICT_OOM)
        m->fixes = fix_find(c->plan, c->arena, &m->n_fixes);
    return STATUS_OK;
}

static void report_model(const struct context *c, struct model_report *m)
{
    struct params params;
    params_count(&c->plan->model, &params);
    const uint64_t *v = c->slots.value;
    uint64_t dense = v[SLOT_DENSE_PARAMETERS], experts = v[SLOT_EXPERT_PARAMETERS];
    if (c->plan->parallel.zero >= 3) {
        dense = ceil_div(dense, v[SLOT_DP] * v[SLOT_CP]);
        experts = ceil_div(experts, v[SLOT_EXPERT_DP]);
    }
    m->parameters = params.parameters;
    m->active_parameters = params.active;
    m->parameters_per_device = dense + experts;
    m->flop_per_token =
        c->plan->workload.mode == MODE_TRAIN
            ? params_flop_per_token(&c->plan->model, c->plan->workload.sequence_length)
            : params_forward_flop_per_token(&c->plan->model, c->plan->workload.sequence_length);
}

enum status predict(const struct plan *plan, const struct predict_options *options,
                    struct arena *arena, struct prediction *out, struct err *err)
{
    struct context c = {.plan = plan, .arena = arena};
    *out = (struct prediction){0};
    TRY(work_build(plan, arena, &c.work, err));
    slots_from_plan(plan, &c.slots);
    c.values = arena_alloc(arena, c.work.sizes.n, sizeof *c.values);
    if (!verdict_evaluate(plan, &c.work, &c.slots, c.values, &c.peak, &c.schedule)) {
        err_set(err, STATUS_INPUT, "a size of the plan overflows 64 bits");
        return err_hint(err, "look for a number with too many digits: `moeplan show`");
    }
    TRY(report_memory(&c, options, &out->memory, err));
    report_model(&c, &out->model);
    return STATUS_OK;
}
