/* Evaluating many plans of one structure; see evaluate.h. */
#include "sim/step/evaluate_parts.h"

#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/pools.h"
#include "plan/rule/rule.h"
#include "sim/memory/address.h"
#include "sim/serve/serve.h"
#include "sim/time/step_time.h"
#include "work/stack/stack.h"

static void drop_stepper(struct evaluator *e)
{
    e->stepper = NULL;
    e->timeless = false;
}

static void set_slots(struct evaluator *e, const struct plan *plan)
{
    slots_from_plan(plan, &e->slots);
    if (e->cp != plan->parallel.cp)
        e->steady.pp = 0; /* stages anew */
    if (e->cp != plan->parallel.cp || e->pp != plan->parallel.pp)
        e->bank = NULL; /* nodes may hold other ranks */
    e->pp = plan->parallel.pp;
    e->vpp = plan->parallel.vpp;
    e->cp = plan->parallel.cp;
    e->staged = false;
}

static bool has_slots(const struct evaluator *e, const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return e->pp == p->pp && e->vpp == p->vpp && e->cp == p->cp;
}

/* Whether a list's sizes go by routing, of plans where tokens are routed. */
static bool follows_routing(const struct plan *plan, const struct work *work)
{
    return !plan->stack.static_shapes && demand_matters(work);
}

static void rebuild(struct evaluator *e, const struct plan *plan, enum moe_path path)
{
    struct err err = {0};
    drop_stepper(e);
    arena_clear(&e->arena);
    e->built = true;
    e->path = path;
    e->refused = work_build(plan, &e->arena, &e->work, &err) != STATUS_OK;
    if (e->refused)
        return;
    e->values = arena_alloc(&e->arena, e->work.sizes.n, sizeof *e->values);
    e->steady = (struct steady){.arena = &e->arena};
    set_slots(e, plan);
    e->follows = follows_routing(plan, &e->work) || e->work.room.set;
    e->bank = NULL;
}

/* Brings list and slots up to the plan; false when a rule or the stack refuses it. */
static bool follow(struct evaluator *e, const struct plan *plan, uint64_t structure)
{
    bool same = e->known && e->structure == structure;
    e->known = true;
    e->structure = structure;
    e->built = e->built && same;
    if (!evaluate_is_lawful(e, plan, same))
        return false;
    enum moe_path path = stack_path(plan, NULL);
    if (!e->built || e->path != path)
        rebuild(e, plan, path);
    else if (!e->refused && has_slots(e, plan))
        slots_set_numbers(plan, &e->slots);
    else if (!e->refused)
        set_slots(e, plan);
    steady_next(&e->steady, e->enough);
    e->steady.book = e->book;
    e->routed = e->follows && plan_is_routed(plan);
    if (!e->refused && e->routed)
        return evaluate_follow(e, plan);
    return !e->refused;
}

static const struct buffer *find_wall(const struct work *work, const uint64_t *values,
                                      const struct evaluation *result)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < work->n_placed; i++) {
        const struct buffer *buffer = &work->buffers[work->placed[i]];
        sum += memory_bytes_at_peak(work, values, buffer, result->schedule, &result->peak);
        if (sum > result->limit_bytes)
            return buffer;
    }
    return NULL;
}

static uint64_t host_bytes(const struct work *work, const uint64_t *values)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < work->n_host; i++)
        sum += values[work->host[i].bytes.node];
    return sum;
}

/* A rank's part of its node's memory: the second wall of what is offloaded. */
static void judge_host(const struct plan *plan, struct evaluation *out)
{
    uint64_t ranks = plan->cluster.node.devices * plan->cluster.device.logical_cores;
    out->host_limit_bytes = ranks ? plan->cluster.node.host_memory_bytes / ranks : 0;
    if (out->host_limit_bytes && out->host_bytes > out->host_limit_bytes)
        out->verdict = VERDICT_OOM;
}

static bool evaluate_steady(const struct plan *plan, const struct work *work,
                            struct slots *slots, uint64_t *values, struct steady *steady,
                            struct evaluation *out)
{
    *out = (struct evaluation){.limit_bytes = verdict_limit(plan)};
    if (!verdict_evaluate_steady(plan, work, slots, values, steady, &out->peak,
                                 &out->schedule)) {
        out->peak = (struct memory_peak){0}; /* a stage's that did not overflow */
        return false;
    }
    out->valid = true;
    out->verdict = verdict_of(plan, &out->peak);
    out->wall = address_beyond_library(work, values, out->schedule);
    out->unaddressable = out->wall != NULL;
    if (out->unaddressable)
        out->verdict = VERDICT_OOM;
    else if (out->verdict == VERDICT_OOM)
        out->wall = find_wall(work, values, out);
    out->host_bytes = host_bytes(work, values);
    judge_host(plan, out);
    return true;
}

bool evaluate_slots(const struct plan *plan, const struct work *work, struct slots *slots,
                    uint64_t *values, struct evaluation *out)
{
    struct steady none = {0};
    return evaluate_steady(plan, work, slots, values, &none, out);
}

/* The largest of the buffers that hold the rows. */
static const struct buffer *largest_of_rule(const struct work *work, const uint64_t *values,
                                            const struct evaluation *out)
{
    const struct buffer *largest = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < work->n_placed; i++) {
        const struct buffer *buffer = &work->buffers[work->placed[i]];
        uint64_t bytes = memory_bytes_at_peak(work, values, buffer, out->schedule, &out->peak);
        if (buffer->rule != RULE_FACTOR || bytes <= most)
            continue;
        most = bytes;
        largest = buffer;
    }
    return largest;
}

void evaluate_overflow(const struct work *work, const uint64_t *values,
                       const struct overflow *overflow, struct evaluation *out)
{
    enum verdict verdict = overflow_verdict(overflow, out->verdict);
    out->overflow = *overflow;
    out->overflows = verdict == VERDICT_OOM && out->verdict != VERDICT_OOM;
    if (out->overflows)
        out->wall = largest_of_rule(work, values, out);
    out->verdict = verdict;
}

bool evaluate_is_routed(const struct plan *plan, const struct work *work)
{
    return plan_is_routed(plan) && follows_routing(plan, work);
}

/* Of a plan whose sequences wait; plans are compared whole. */
struct evaluator_hold {
    struct plan asked, room;
    const struct plan *held;
    enum serve_start start;
};

const struct plan *evaluate_held(struct evaluator *e, const struct plan *plan,
                                 enum serve_start *start)
{
    enum serve_start unasked;
    start = start ? start : &unasked;
    *start = SERVE_TAKES;
    if (!engine_queues(plan))
        return plan;
    struct evaluator_hold *h = e->hold;
    if (!h)
        h = e->hold = arena_alloc(&e->kept, 1, sizeof *h);
    if (!h->held || memcmp(&h->asked, plan, sizeof *plan) != 0) {
        memcpy(&h->asked, plan, sizeof *plan);
        h->held = serve_held(&h->asked, &h->room, &h->start);
    }
    *start = h->start;
    return h->held;
}

/* An engine that takes no such request (serve_takes): its cache is the wall, unless what it
 * holds is over the limit already. */
static void refuse_requests(const struct work *work, struct evaluation *out)
{
    if (!out->valid)
        return;
    out->verdict = VERDICT_OOM;
    for (size_t i = 0; i < work->n_buffers && !out->wall; i++)
        if (work->buffers[i].category == CATEGORY_KV_CACHE)
            out->wall = &work->buffers[i];
}

/* A second cache in host memory goes by the pool. */
static void judge_host_cache(const struct plan *plan, struct evaluation *out)
{
    struct arena arena = {0};
    struct err err = {0};
    struct serving_report pool = {0};
    if (out->valid && serving_of(plan, &arena, &pool, &err) == STATUS_OK)
        out->host_bytes += serving_host_bytes(plan, &pool);
    arena_release(&arena);
    if (out->host_limit_bytes && out->host_bytes > out->host_limit_bytes)
        out->verdict = VERDICT_OOM;
}

/* A plan of one step, *out empty; whether an engine starts is asked of its own. */
static void evaluate_step(struct evaluator *e, const struct plan *plan, uint64_t structure,
                          bool asks_start, struct evaluation *out)
{
    enum serve_start start = SERVE_TAKES;
    if (plan->workload.queue && rule_check_layout(plan) && rule_check_run(plan))
        plan = evaluate_held(e, plan, &start);
    if (start != SERVE_UNSIZED && follow(e, plan, structure) &&
        evaluate_steady(plan, &e->work, &e->slots, e->values, &e->steady, out) && e->routed)
        evaluate_overflow(&e->work, e->values, &e->overflow, out);
    if (start == SERVE_REFUSES && asks_start)
        refuse_requests(&e->work, out);
    if (plan->memory.host_cache_bytes || plan->memory.host_cache_ratio > 0)
        judge_host_cache(plan, out);
    out->by = e;
}

static void evaluate_mode(struct evaluator *e, const struct plan *plan, enum mode mode,
                          uint64_t sequences, struct evaluation *out)
{
    struct plan step;
    serve_step_plan(plan, mode, sequences, &step);
    e->known = false; /* the other step's list */
    *out = (struct evaluation){0};
    evaluate_step(e, &step, 0, false, out);
}

/* Bytes over the limit; less than nothing where it fits. */
static int64_t over_limit(const struct evaluation *of)
{
    return (int64_t)of->peak.total_bytes - (int64_t)of->limit_bytes;
}

/* Of prefill and of decode, step or server. */
static bool prefill_is_worse(const struct evaluation *prefill, const struct evaluation *decode)
{
    return !prefill->valid || (decode->valid && over_limit(prefill) > over_limit(decode));
}

/* The worse of a served plan's two steps, which is the one that stays built: the wall is a
 * buffer of its list. The one that was the worse of the plan before goes last, since it mostly
 * is again. */
static void evaluate_serve(struct evaluator *e, const struct plan *plan, struct evaluation *out)
{
    struct arena arena = {0};
    struct err err = {0};
    struct serve_load load = {0};
    struct evaluation first;
    const enum mode modes[] = {MODE_DECODE, MODE_PREFILL};
    bool ok = rule_check_layout(plan) && rule_check_run(plan) &&
              serve_load_of(plan, &arena, &load, &err) == STATUS_OK;
    arena_release(&arena);
    if (!ok)
        return;
    evaluate_mode(e, plan, modes[!e->prefill_last], load.sequences, &first);
    evaluate_mode(e, plan, modes[e->prefill_last], load.sequences, out);
    bool worse =
        e->prefill_last ? prefill_is_worse(out, &first) : prefill_is_worse(&first, out);
    if (worse != e->prefill_last)
        evaluate_mode(e, plan, modes[worse], load.sequences, out);
    e->prefill_last = worse;
    if (!load.takes)
        refuse_requests(&e->work, out);
    out->by = NULL;
    e->known = false;
}

static void evaluate_one(struct evaluator *e, const struct plan *plan, uint64_t structure,
                         struct evaluation *out)
{
    *out = (struct evaluation){0};
    if (plan->workload.mode == MODE_SERVE)
        evaluate_serve(e, plan, out);
    else
        evaluate_step(e, plan, structure, true, out);
}

/* Of a plan whose prefill is apart: a server of each pool as it was evaluated last, by an
 * evaluator of its own, so that its list and its wall stay. */
struct evaluator_pools {
    struct evaluator of[2]; /* prefill, decode */
    struct plan plan[2];    /* compared whole */
    struct evaluation result[2];
    bool known[2], least[2];
    uint64_t structure; /* counts evaluations: what changed is not known here */
};

static const struct evaluation *evaluate_pool(struct evaluator *e, const struct plan *plan,
                                              enum duty duty)
{
    struct evaluator_pools *p = e->pools;
    struct arena arena = {0};
    unsigned i = duty == DUTY_ANSWERS;
    struct evaluator *own = &p->of[i];
    struct plan *pool = arena_alloc(&arena, 1, sizeof *pool);
    plan_pool(plan, duty, plan_deployments(plan, duty), pool);
    own->routing = e->routing;
    own->banks = e->banks;
    own->n_banks = e->n_banks;
    own->least = e->least;
    if (!p->known[i] || p->least[i] != e->least ||
        memcmp(&p->plan[i], pool, sizeof *pool) != 0) {
        memcpy(&p->plan[i], pool, sizeof *pool);
        p->known[i] = true;
        p->least[i] = e->least;
        evaluate_one(own, &p->plan[i], ++p->structure, &p->result[i]);
    }
    arena_release(&arena);
    return &p->result[i];
}

/* Of two servers: one that does not start does not fit, however little it holds. */
static bool server_is_worse(const struct evaluation *prefill, const struct evaluation *decode)
{
    bool judged = prefill->valid && decode->valid && prefill->verdict != decode->verdict;
    return judged ? prefill->verdict > decode->verdict : prefill_is_worse(prefill, decode);
}

/* A server of the pool that has less to spare, as predict says it; a step is of who decodes. */
static void evaluate_pools(struct evaluator *e, const struct plan *plan, struct evaluation *out)
{
    if (!e->pools)
        e->pools = arena_alloc(&e->kept, 1, sizeof *e->pools);
    const struct evaluation *prefill = evaluate_pool(e, plan, DUTY_PROMPTS);
    const struct evaluation *decode = evaluate_pool(e, plan, DUTY_ANSWERS);
    *out = server_is_worse(prefill, decode) ? *prefill : *decode;
    out->by = decode->by;
}

struct evaluator *evaluate_last(struct evaluator *e, const struct plan *plan)
{
    return plan->prefill && e->pools ? &e->pools->of[1] : e;
}

void evaluate(struct evaluator *e, const struct plan *plan, uint64_t structure,
              struct evaluation *out)
{
    if (plan->prefill)
        evaluate_pools(e, plan, out);
    else
        evaluate_one(e, plan, structure, out);
}

bool evaluate_list(struct evaluator *e, const struct plan *plan, uint64_t structure)
{
    bool least = e->least;
    e->least = true;
    bool followed = follow(e, plan, structure);
    e->least = least;
    return followed;
}

bool evaluate_exceeds(struct evaluator *e, const struct plan *plan, uint64_t structure,
                      uint64_t bytes)
{
    if (plan->prefill) /* two lists: nothing is cheaper than both */
        return false;
    if (plan->workload.queue && rule_check_layout(plan) && rule_check_run(plan))
        plan = evaluate_held(e, plan, NULL);
    return follow(e, plan, structure) &&
           verdict_exceeds(plan, &e->work, &e->slots, e->values, &e->steady, bytes);
}

void evaluator_release(struct evaluator *evaluator)
{
    for (unsigned i = 0; evaluator->pools && i < 2; i++)
        evaluator_release(&evaluator->pools->of[i]);
    if (evaluator->last_stepper)
        stepper_release(evaluator->last_stepper);
    arena_release(&evaluator->arena);
    if (evaluator->own)
        demand_banks_release(evaluator->own, 1);
    arena_release(&evaluator->kept);
    memset(evaluator, 0, sizeof *evaluator);
}
