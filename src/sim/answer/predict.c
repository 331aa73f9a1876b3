/* predict: the plan's work list built, evaluated, folded, and told as a record. */
#include "sim/answer/predict_parts.h"

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "sim/answer/notes.h"
#include "work/piece/matmul.h"
#include "plan/params.h"

/* Every token of every rank to this one, each to as many of its experts as it can. */
static struct demand certified(const struct predict_context *c)
{
    const uint64_t *v = c->slots.value;
    struct rows_ceilings most = rows_ceilings(plan_joined_tokens(c->plan), v[SLOT_EP],
                                              v[SLOT_TOP_K], v[SLOT_LOCAL_EXPERTS]);
    return (struct demand){
        .rows = most.rows, .received = most.tokens, .padded = most.rows, .hot = most.tokens};
}

void predict_set_alike(const struct predict_context *c, const struct demand *demand,
                       struct slots *slots)
{
    *slots = c->slots;
    demand_to_slots(demand, slots);
}

void predict_set_demand(const struct predict_context *c, const struct demand *demand,
                        enum demand_level level, struct slots *slots)
{
    predict_set_alike(c, demand, slots);
    if (c->stages.n)
        demand_layers_to_slots(&c->layers, &c->stages, level, slots);
}

static enum status evaluate_other(const struct predict_context *c, const struct slots *slots,
                                  struct predict_other **out, struct err *err)
{
    struct predict_other *other = arena_alloc(c->arena, 1, sizeof *other);
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
static enum status sample(struct predict_context *c, const struct predict_options *options,
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
static enum status evaluate_all(struct predict_context *c,
                                const struct predict_options *options, struct err *err)
{
    struct demand worst = certified(c);
    struct slots slots;
    c->routed = evaluate_is_routed(c->plan, &c->work);
    c->sampled = c->routed || c->work.room.set;
    if (c->sampled)
        TRY(sample(c, options, err));
    if (c->routed) {
        worst = c->demand.worst;
        predict_set_demand(c, &c->demand.expected, DEMAND_EXPECTED, &slots);
        TRY(evaluate_other(c, &slots, &c->expected, err));
        predict_set_demand(c, &c->demand.p99, DEMAND_P99, &c->slots);
    }
    predict_set_alike(c, &worst, &slots);
    TRY(evaluate_other(c, &slots, &c->worst, err));
    if (!evaluate_slots(c->plan, &c->work, &c->slots, c->values, &c->result))
        return too_large(err);
    if (c->sampled)
        evaluate_overflow(&c->work, c->values, &c->overflow, &c->result);
    return STATUS_OK;
}

static void report_model(const struct predict_context *c, struct model_report *m)
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
static void report_sync(const struct predict_context *c, struct sync_report *sync)
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

static enum status report_moe(const struct predict_context *c,
                              const struct predict_options *options, struct prediction *out,
                              struct err *err)
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

static void report_notes(const struct predict_context *c, const struct origins *origins,
                         struct prediction *out)
{
    out->notes = notes_of(c->plan, origins, c->arena, &out->n_notes);
}

/* Ops of the stage that counts; under stack host also what run performs of them. */
static enum status report_ops(struct predict_context *c, const struct predict_options *options,
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

static enum status report_time(const struct predict_context *c,
                               const struct predict_options *options, struct time_report *out,
                               struct err *err)
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
    struct predict_context c = {.plan = plan, .arena = arena};
    *out = (struct prediction){0};
    TRY(work_build(plan, arena, &c.work, err));
    if (!plan_is_routed(plan))
        c.work.room.set = false; /* nobody comes */
    slots_from_plan(plan, &c.slots);
    c.values = arena_alloc(arena, c.work.sizes.n, sizeof *c.values);
    TRY(predict_rows(plan, options, arena, &c.rows, err));
    TRY(evaluate_all(&c, options, err));
    predict_report_memory(&c, &out->memory);
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
