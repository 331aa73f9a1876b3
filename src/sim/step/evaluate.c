/* Evaluating many plans of one structure; see evaluate.h. */
#include "sim/step/evaluate.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "sim/memory/address.h"
#include "sim/serve/serve.h"
#include "sim/time/step_time.h"
#include "work/stack/stack.h"

enum { PROBES = 8 }; /* places that a table is looked for something at */

union bank_key {
    struct demand_key key;
    uint64_t words[sizeof(struct demand_key) / 8];
};

/* The bank of a key, or where it belongs: of the next few places the first that is free. */
static struct demand_bank *bank_of(struct evaluator *e, const union bank_key *is)
{
    if (!e->banks)
        return e->own ? e->own : (e->own = arena_alloc(&e->kept, 1, sizeof *e->own));
    size_t first = (hash_words(HASH_START, is->words, sizeof is->words / 8) >> 32) % e->n_banks;
    for (size_t i = 0; i < PROBES && i < e->n_banks; i++) {
        struct demand_bank *bank = &e->banks[(first + i) % e->n_banks];
        if (!bank->known || memcmp(&bank->key, &is->key, sizeof is->key) == 0)
            return bank;
    }
    return &e->banks[first];
}

/* A bank of the plan's routing; NULL when that cannot be sampled. */
static struct demand_bank *bank_open(struct evaluator *e, const struct plan *plan)
{
    struct err err = {0};
    union bank_key is;
    demand_key_of(plan, e->routing, &is.key);
    struct demand_bank *bank = bank_of(e, &is);
    if (bank->known && memcmp(&bank->key, &is.key, sizeof is.key) == 0)
        return bank->refused ? NULL : bank;
    uint64_t turn = bank->turn + 1;
    arena_release(&bank->arena);
    memset(bank, 0, sizeof *bank);
    memcpy(&bank->key, &is.key, sizeof is.key);
    bank->known = true;
    bank->turn = turn;
    const struct demand_laws laws = {.known = e->rows_known};
    bank->refused =
        demand_prepare(plan, e->routing, laws, &bank->arena, &bank->source, &err) != STATUS_OK;
    return bank->refused ? NULL : bank;
}

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

/* The heaviest rank has at least the mean of the group: balanced rows, each token to as few
 * ranks as can hold its experts. What does not fit with these does not fit with any sample. */
static void set_least(struct slots *slots)
{
    uint64_t *v = slots->value;
    uint64_t together =
        v[SLOT_TOP_K] < v[SLOT_LOCAL_EXPERTS] ? v[SLOT_TOP_K] : v[SLOT_LOCAL_EXPERTS];
    v[SLOT_RECEIVED] = together ? v[SLOT_ROWS] / together : 0;
    v[SLOT_HELD_RECEIVED] = v[SLOT_RECEIVED];
}

static bool same_room(const struct demand_room *a, const struct demand_room *b)
{
    return a->set == b->set && a->padded == b->padded && a->rows == b->rows &&
           a->tokens == b->tokens;
}

/* Where a bank keeps what so many tokens ask for, or will: of the next few places the first
 * that is empty. They are multiples of a sequence: their low bits say nothing. */
static size_t place_of(const uint64_t kept[EVALUATE_CACHE], uint64_t tokens)
{
    size_t first = tokens * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (size_t i = 0; i < PROBES; i++) {
        size_t at = (first + i) & (EVALUATE_CACHE - 1);
        if (!kept[at] || kept[at] == tokens)
            return at;
    }
    return first & (EVALUATE_CACHE - 1);
}

/* What was sampled of a routing says the expected rows, too, whatever room there is. */
static void keep_expected(struct demand_bank *bank, uint64_t tokens,
                          const struct demand_spread *spread)
{
    size_t at = place_of(bank->expected_tokens, tokens);
    bank->expected_tokens[at] = tokens;
    bank->expected[at] = spread->expected;
}

/* The 99th percentile of the plan's routing into the slots; what it does to buffers of given
 * size. */
static void set_demand(struct evaluator *e, const struct plan *plan)
{
    uint64_t tokens = plan_joined_tokens(plan);
    struct demand_bank *bank = e->bank;
    size_t at = place_of(bank->tokens, tokens);
    struct demand_room room = {0};
    if (e->work.room.set && steady_sizes(&e->steady, &e->work, &e->slots, e->values))
        room = overflow_room(&e->work, e->values);
    if (bank->tokens[at] != tokens || !same_room(&bank->layer[at].room, &room) ||
        (e->work.apart && !bank->apart[at])) {
        struct demand_spread spread;
        bank->source.room = room;
        demand_sample(&bank->source, tokens, false, &spread);
        keep_expected(bank, tokens, &spread);
        bank->tokens[at] = tokens;
        bank->p99[at] = spread.p99;
        bank->layer[at] = overflow_sampled(&bank->source, &spread);
        bank->apart[at] = e->work.apart;
        if (e->work.apart)
            demand_layers_of(&bank->source, &spread, plan_moe_layers(plan), &bank->layers[at]);
    }
    demand_to_slots(&bank->p99[at], &e->slots);
    if (e->work.apart && !e->staged)
        demand_stages_of(plan, &e->stages);
    e->staged = true;
    if (e->work.apart)
        demand_layers_to_slots(&bank->layers[at], &e->stages, DEMAND_P99, &e->slots);
    overflow_of(plan, &bank->layer[at], &e->overflow);
}

/* False when this plan's routing cannot be sampled. */
static bool follow_routing(struct evaluator *e, const struct plan *plan)
{
    e->overflow = (struct overflow){0};
    if (e->least) {
        set_least(&e->slots);
        return true;
    }
    if (plan_joined_tokens(plan) >
        PLAN_MOST_TOKENS) /* others of the structure may be sampled */
        return false;
    if (!e->bank || e->bank->turn != e->turn)
        e->bank = bank_open(e, plan);
    e->refused = !e->bank;
    if (e->refused)
        return false;
    e->turn = e->bank->turn;
    set_demand(e, plan);
    return true;
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
        return follow_routing(e, plan);
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

bool evaluate_expected(struct evaluator *e, const struct plan *plan, bool evaluated,
                       struct demand *expected)
{
    uint64_t tokens = plan_joined_tokens(plan);
    bool known = evaluated && e->bank && e->bank->turn == e->turn;
    if (tokens > PLAN_MOST_TOKENS)
        return false;
    struct demand_bank *bank = known ? e->bank : bank_open(e, plan);
    if (!bank)
        return false;
    if (evaluated) {
        e->bank = bank;
        e->turn = bank->turn;
    }
    size_t at = place_of(bank->expected_tokens, tokens);
    if (bank->expected_tokens[at] != tokens) {
        struct demand_spread spread;
        bank->source.room = (struct demand_room){0};
        demand_sample(&bank->source, tokens, false, &spread);
        keep_expected(bank, tokens, &spread);
    }
    *expected = bank->expected[at];
    return true;
}

bool evaluate_rows(struct evaluator *e, const struct plan *plan, struct rows *rows)
{
    struct demand_bank *bank =
        plan_joined_tokens(plan) <= PLAN_MOST_TOKENS ? bank_open(e, plan) : NULL;
    if (!bank)
        return false;
    *rows = bank->source.rows;
    rows->spec.tokens = plan_joined_tokens(plan);
    return true;
}

void demand_banks_release(struct demand_bank *banks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        arena_release(&banks[i].arena);
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
