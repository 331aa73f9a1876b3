/* What a search leaves out without evaluating it, no evaluation would list: on drawn plans
 * of several stacks, bounds of a whole family (one list for all pipelines of a kind, one
 * floor of a step for all pipelines and all sharding) are held against each plan alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "sim/search/search_parts.h"
#include "sim/step/interval.h"
#include "support/draws.h"
#include "support/catalogue.h"
#include "support/random_plan.h"
#include "support/shaped_plan.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

enum {
    SEEDS = 160,
    ROUNDS = 1600,
    FAMILIES = 48,
    BANKS = 16,
    VARIED = 10,
    MOST_FAMILIES = 16,
    KINDS = 8
};

/* A family: a plan whose pipeline, sharding, recomputation and micro-batch are tried. */
struct family {
    struct plan plan;
    struct search_space space;
    struct search_ask ask;
    struct profile profile;
    struct arena arena;
    uint64_t seed;
    size_t n_checked, n_timed, n_shared, n_rises, n_common;
    uint64_t smaller_bytes; /* of the micro-batch before; 0: none */
    double tightest;
};

static void values(struct search_space *space, enum search_key key, size_t n,
                   const double *list)
{
    space->n[key] = n;
    memcpy(space->value[key], list, n * sizeof *list);
}

/* A tiny plan of one stack after the other, some keys otherwise. */
static void draw_plan(uint64_t seed, struct plan *plan)
{
    static const enum stack_kind stacks[] = {STACK_MEGATRON,   STACK_MAXTEXT, STACK_GENERIC,
                                             STACK_TORCHTITAN, STACK_PRIMUS,  STACK_DEEPSPEED};
    static const enum mode modes[] = {MODE_TRAIN, MODE_PREFILL, MODE_TRAIN, MODE_DECODE};
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 7, 0, 0, 0);
    plan_tiny(plan);
    plan->stack.kind = stacks[seed % (sizeof stacks / sizeof *stacks)];
    plan->stack.static_shapes = plan->stack.kind == STACK_MAXTEXT;
    plan->stack.fraction = 0.9;
    plan->stack.relax = 1.1;
    plan->stack.grad_copies = 2;
    plan->workload.mode = modes[seed / 6 % 4];
    plan->moe.path = seed % 4 == 3 ? PATH_CAPACITY : PATH_RAGGED_A2A;
    for (unsigned i = 0; i < VARIED; i++)
        plan_vary(plan, &rng);
    plan->cluster.device.memory_bytes = UINT64_C(1) << 40;
}

/* Of a family whose plan and profile are set. */
static void open_space(struct family *f)
{
    static const double stages[] = {1, 2, 4, 8}, chunks[] = {1, 2}, parts[] = {1, 2, 4},
                        zero[] = {0, 1, 2, 3},
                        again[] = {RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL},
                        micro[] = {1, 2, 4};
    f->plan.parallel.dp = f->plan.parallel.stage = f->plan.parallel.stages.n = 0;
    f->plan.parallel.layout[0] = '\0';
    f->plan.moe.routing.samples = 4;
    for (unsigned key = 0; key < SEARCH_KEYS; key++) {
        double own = search_get(&f->plan, (enum search_key)key);
        values(&f->space, (enum search_key)key, 1, &own);
    }
    if (search_spans(&f->plan)) { /* elsewhere a family has one of each */
        values(&f->space, SEARCH_PP, 4, stages);
        values(&f->space, SEARCH_CP, 3, parts);
        values(&f->space, SEARCH_ETP, 3, parts);
    }
    size_t paths = paths_count() - 1, own = f->plan.moe.path; /* beside `auto` */
    double path[] = {(double)own, (double)(1 + (own + f->seed % (paths - 1)) % paths)};
    values(&f->space, SEARCH_PATH, 2, path);
    values(&f->space, SEARCH_VPP, 2, chunks);
    values(&f->space, SEARCH_ZERO, 4, zero);
    values(&f->space, SEARCH_RECOMPUTE, 3, again);
    values(&f->space, SEARCH_MICRO_BATCH, 3, micro);
    f->ask = (struct search_ask){.plan = &f->plan, .profile = &f->profile, .space = &f->space};
}

static bool open_family(struct family *f, uint64_t seed)
{
    struct err err = {0};
    *f = (struct family){.seed = seed};
    draw_plan(seed, &f->plan);
    if (f->plan.workload.mode == MODE_SERVE || f->plan.moe.path == PATH_AUTO ||
        plan_world(&f->plan) > 64 || f->plan.model.moe.experts > 64 ||
        plan_tokens(&f->plan) > 4096) /* sampling them takes its time */
        return false;
    if (profile_load(&f->plan, &f->arena, &f->profile, &err) != STATUS_OK)
        return false;
    open_space(f);
    return true;
}

static void set_plan(const struct family *f, const uint8_t index[SEARCH_KEYS],
                     struct plan *plan)
{
    *plan = f->plan;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        search_set(plan, (enum search_key)key, f->space.value[key][index[key]]);
}

static void fail_bound(const struct family *f, const struct plan *plan, const char *what,
                       double bound, double is)
{
    fail_msg("seed %llu, %s, path %d, pp %llu vpp %llu zero %llu recompute %d micro-batch "
             "%llu, mode %d: %s "
             "bound %.17g of %.17g",
             (unsigned long long)f->seed, plan->stack_name, (int)plan->moe.path,
             (unsigned long long)plan->parallel.pp, (unsigned long long)plan->parallel.vpp,
             (unsigned long long)plan->parallel.zero, (int)plan->recompute.kind,
             (unsigned long long)plan->workload.micro_batch, (int)plan->workload.mode, what,
             bound, is);
}

/* One combination: its bounds, and what it is. */
static void check_one(struct family *f, struct search_bounds *bounds,
                      struct search_place *place, const struct plan *plan,
                      const uint8_t index[SEARCH_KEYS], struct evaluator *evaluator)
{
    struct refold_peak peak;
    struct evaluation is;
    struct step_time step;
    bool bounded = search_least_memory(bounds, place, plan, index, &peak);
    if (!bounded || index[SEARCH_MICRO_BATCH] == 0)
        f->smaller_bytes = 0;
    if (bounded && search_rises(bounds, place, plan, index)) {
        if (peak.total_bytes < f->smaller_bytes)
            fail_bound(f, plan, "a larger micro-batch's", (double)f->smaller_bytes,
                       (double)peak.total_bytes);
        f->n_rises += f->smaller_bytes > 0;
        f->smaller_bytes = peak.total_bytes;
    }
    evaluate(evaluator, plan, ++evaluator->structure + 1, &is);
    assert_true(bounded || !is.valid);
    if (!is.valid)
        return;
    f->n_checked++;
    if (peak.total_bytes > is.peak.total_bytes)
        fail_bound(f, plan, "memory", (double)peak.total_bytes, (double)is.peak.total_bytes);
    assert_false(evaluate_exceeds(evaluator, plan, evaluator->structure, is.peak.total_bytes));
    assert_true(
        evaluate_exceeds(evaluator, plan, evaluator->structure, is.peak.total_bytes - 1));
    double common = search_least_seconds(bounds, place, plan, index, FLOOR_COMMON),
           least = search_least_seconds(bounds, place, plan, index, FLOOR_WHOLE);
    bool unsampled = time_least(evaluator, plan, evaluator->structure, &f->profile, &step);
    double balanced = unsampled ? time_seconds_per_token(plan, &step) : 0;
    if (!time_step(evaluator, plan, &f->profile, &step))
        return;
    f->n_timed++;
    f->n_common += common > 0;
    double error = 1 + time_error(&f->profile, plan, NULL);
    double score = time_seconds_per_token(plan, &step) * error;
    if (least > score)
        fail_bound(f, plan, "time", least, score);
    if (common > score)
        fail_bound(f, plan, "time of all paths", common, score);
    if (balanced * error > score)
        fail_bound(f, plan, "time of balanced routing", balanced * error, score);
    f->tightest = least / score > f->tightest ? least / score : f->tightest;
}

/* Combination `at` of a family: a sharding, recomputation and micro-batch of one of its
 * layouts. As a search walks it: structures outside, layouts inside. False where there is none.
 */
static bool take(const struct family *f, unsigned at, uint8_t index[SEARCH_KEYS],
                 struct plan *plan)
{
    const unsigned of[][2] = {{SEARCH_MICRO_BATCH, 3}, {SEARCH_VPP, 2}, {SEARCH_PP, 4},
                              {SEARCH_ETP, 3},         {SEARCH_CP, 3},  {SEARCH_PATH, 2},
                              {SEARCH_RECOMPUTE, 3},   {SEARCH_ZERO, 4}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        index[of[i][0]] = (uint8_t)(at % of[i][1]);
        at /= of[i][1];
    }
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (index[key] >= f->space.n[key])
            return false;
    set_plan(f, index, plan);
    return rule_check_layout(plan) && rule_check_run(plan) && stack_offers(plan);
}

static void check_family(struct family *f)
{
    struct search_place *places[3 * 3 * 4 * 2] = {NULL};
    struct search_bounds *bounds[MOST_FAMILIES] = {NULL};
    struct demand_bank banks[BANKS] = {{.known = false}};
    struct evaluator evaluator = {.banks = banks, .n_banks = BANKS};
    uint8_t index[SEARCH_KEYS] = {0};
    for (unsigned at = 0; at < 4 * 3 * 2 * 3 * 3 * 4 * 2 * 3; at++) {
        struct plan plan;
        if (!take(f, at, index, &plan))
            continue;
        struct search_bounds **of = &bounds[search_family(&plan, index) % MOST_FAMILIES];
        struct search_place **place = &places[at / 3 % (3 * 3 * 4 * 2)];
        if (!*of)
            *of = search_bounds_create(&f->ask, &f->arena);
        if (!*place)
            *place = search_place_create(*of, &plan, index, &f->arena);
        check_one(f, *of, *place, &plan, index, &evaluator);
    }
    evaluator_release(&evaluator);
    demand_banks_release(banks, BANKS);
    for (size_t i = 0; i < MOST_FAMILIES; i++)
        if (bounds[i])
            search_bounds_release(bounds[i]);
}

static void test_bounds(void **state)
{
    (void)state;
    static struct family f;
    size_t families = 0, checked = 0, timed = 0, rises = 0, common = 0;
    double tightest = 0;
    draws_print(FAMILIES);
    for (uint64_t seed = 0; seed < SEEDS && families < draws_of(FAMILIES); seed++) {
        if (open_family(&f, seed)) {
            check_family(&f);
            families += f.n_timed > 0;
            checked += f.n_checked;
            timed += f.n_timed;
            rises += f.n_rises;
            common += f.n_common;
            tightest = f.tightest > tightest ? f.tightest : tightest;
        }
        arena_release(&f.arena);
    }
    printf(
        "%zu families, %zu plans, %zu timed, %zu by what all paths have; the tightest bound is "
        "%.4f of the step\n",
        families, checked, timed, common, tightest);
    draws_reach("families", families, draws_of(20));
    draws_reach("timed", timed, draws_of(400));
    draws_reach("larger micro-batches", rises, draws_of(200));
    draws_reach("bounded by what all paths have", common, draws_of(200));
    assert_true(tightest > 0.5);
}

/* ---- rounds that run ahead ---- */

/* A plan of chunk loops, whose rounds are as many as the fullest queue needs. */
static bool draw_rounds(uint64_t seed, struct plan *plan)
{
    struct rng rng;
    char text[RULE_TEXT], hint[RULE_TEXT];
    rng_init(&rng, draws_seed(seed), 8, 0, 0, 0);
    if (!plan_shaped(plan, seed % 4 ? STACK_GENERIC : STACK_HOST, seed))
        return false;
    plan->moe.path = PATH_CHUNKED_A2A;
    plan->moe.chunk = UINT64_C(1) << rng_below(&rng, 7);
    plan->moe.overlap = rng_below(&rng, 4) > 0;
    plan->stack.overlap_ep = rng_below(&rng, 2);
    plan->moe.routing.samples = 8;
    return plan->workload.mode != MODE_SERVE && plan_tokens(plan) <= 4096 &&
           plan->model.moe.experts <= 64 && !rule_check(plan, text, hint);
}

/* The bound of a step, and the step; false where the plan has none. */
static bool time_both(const struct plan *plan, struct step_time *least, struct step_time *full)
{
    struct arena arena = {0};
    struct evaluator evaluator = {0};
    struct profile profile;
    struct err err = {0};
    bool timed = profile_load(plan, &arena, &profile, &err) == STATUS_OK &&
                 time_least(&evaluator, plan, 1, &profile, least) &&
                 time_step(&evaluator, plan, &profile, full);
    evaluator_release(&evaluator);
    arena_release(&arena);
    return timed;
}

/* The fullest rank's step is never shorter than what its bound is, though more rounds hide more
 * of each other. The first fetch is waited for, whatever else a loop's link carries. */
static void test_rounds(void **state)
{
    (void)state;
    size_t timed = 0, hidden = 0, waited = 0;
    draws_print(ROUNDS);
    for (uint64_t seed = 1; seed <= draws_of(ROUNDS); seed++) {
        struct plan plan;
        struct step_time least, full;
        if (draw_rounds(seed, &plan) && time_both(&plan, &least, &full)) {
            if (least.step_s > full.step_s)
                fail_msg("seed %llu: a step of %.9g, its bound is %.9g",
                         (unsigned long long)seed, full.step_s, least.step_s);
            bool waits = plan.parallel.ep > 1 && plan.parallel.pp == 1 &&
                         plan_moe_layers(&plan) > 0 && !plan.stack.overlap_ep;
            if (waits && full.part_s[TIME_EXCHANGE] <= 0)
                fail_msg("seed %llu: %.9g s of exchange", (unsigned long long)seed,
                         full.part_s[TIME_EXCHANGE]);
            timed++;
            hidden += plan.moe.overlap;
            waited += waits;
        }
    }
    printf("%zu timed, %zu with rounds that run ahead\n", timed, hidden);
    draws_reach("timed", timed, draws_of(ROUNDS) / 2.0);
    draws_reach("first fetches", waited, draws_of(ROUNDS) / 16.0);
}

/* ---- exchanges over nodes ---- */

/* 16 ranks in four nodes, some under leaves of two, of any law of routing. */
static bool draw_exchange(uint64_t seed, struct plan *plan)
{
    static const enum moe_path paths[] = {PATH_DEEPEP, PATH_RAGGED_A2A, PATH_DEEPEP_LL};
    static const uint64_t groups[] = {1, 4, 8, 16};
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 9, 0, 0, 0);
    plan_tiny(plan);
    plan->model.moe.experts = 64;
    plan->model.moe.top_k = 1 + rng_below(&rng, 8);
    plan->model.moe.router.groups = groups[rng_below(&rng, 4)];
    plan->model.moe.router.top_groups =
        plan->model.moe.router.groups > 1 ? plan->model.moe.router.groups / 2 : 1;
    plan->cluster.nodes = 4;
    if (rng_below(&rng, 2))
        plan->cluster.network.tier[NETWORK_LEAF] =
            (struct network_tier){2, 1 + 3 * rng_uniform(&rng), 0};
    plan->parallel.ep = 16;
    plan->moe.path = paths[rng_below(&rng, 3)];
    plan->moe.redundant_experts = 16 * rng_below(&rng, 2);
    plan->workload.mode = rng_below(&rng, 2) ? MODE_TRAIN : MODE_PREFILL;
    plan->workload.scenario = (enum scenario)rng_below(&rng, 3);
    plan->workload.sequence_length = UINT64_C(1) << rng_below(&rng, 11);
    plan->moe.routing.distribution = (enum distribution)rng_below(&rng, 5);
    plan->moe.routing.alpha = 2 * rng_uniform(&rng);
    plan->moe.routing.sigma = 2 * rng_uniform(&rng);
    plan->moe.routing.concentration = 0.1 + rng_uniform(&rng);
    plan->moe.routing.share = rng_uniform(&rng);
    plan->moe.routing.placement =
        plan->moe.redundant_experts ? PLACEMENT_EPLB : (enum placement)rng_below(&rng, 2);
    plan->moe.routing.samples = 16;
    return !rule_check(plan, text, hint);
}

/* However routing falls on nodes and leaves, links take no less than what is told without
 * sampling it. */
static void test_exchanges(void **state)
{
    (void)state;
    size_t timed = 0;
    double tightest = 0;
    draws_print(ROUNDS);
    for (uint64_t seed = 1; seed <= draws_of(ROUNDS); seed++) {
        struct plan plan;
        struct step_time least, full;
        if (draw_exchange(seed, &plan) && time_both(&plan, &least, &full)) {
            double part = least.part_s[TIME_EXCHANGE] / full.part_s[TIME_EXCHANGE];
            if (least.step_s > full.step_s || part > 1)
                fail_msg("seed %llu: a step of %.9g, its bound is %.9g; %.9g of its exchange",
                         (unsigned long long)seed, full.step_s, least.step_s, part);
            tightest = part > tightest ? part : tightest;
            timed++;
        }
    }
    printf("%zu timed, the tightest bound is %.4f of the exchange\n", timed, tightest);
    draws_reach("timed", timed, draws_of(ROUNDS) / 3.0);
}

/* ---- routings ---- */

static bool routing_of(const struct plan *plan, struct arena *arena, struct demand_key *key,
                       struct demand_spread *spread)
{
    struct err err = {0};
    struct demand_source *source = arena_alloc(arena, 1, sizeof *source);
    demand_key_of(plan, NULL, key);
    if (demand_prepare(plan, NULL, (struct demand_laws){0}, arena, source, &err) != STATUS_OK)
        return false;
    demand_sample(source, 64, false, spread);
    return true;
}

/* A group of ranks whose nodes hold fewer of them is the same routing, but where replicas are
 * placed by node, or what crosses the network is told, or can no longer be because nodes hold
 * no whole part of the group (7 devices, tp 2): one key, and what is sampled is the same.
 */
static void test_routings(void **state)
{
    (void)state;
    size_t same = 0, other = 0;
    draws_print(SEEDS);
    for (uint64_t seed = 0; seed < draws_of(SEEDS); seed++) {
        struct arena arena = {0};
        struct plan plan, split;
        struct demand_key a, b;
        struct demand_spread x, y;
        draw_plan(seed, &plan);
        plan.moe.routing.samples = 8;
        plan.moe.routing.placement = seed % 2 ? PLACEMENT_EPLB : PLACEMENT_STRIDED;
        plan.parallel.ep = seed / 2 % 2 ? 8 : 1;
        plan.cluster.node.devices *= plan.cluster.nodes;
        plan.cluster.nodes = 1;
        split = plan;
        split.cluster.nodes = 2;
        split.cluster.node.devices = (plan.cluster.node.devices + 1) / 2;
        split.parallel.tp *= seed % 4 < 2 ? 1 : 2;
        if (plan_tokens(&plan) <= 4096 && routing_of(&plan, &arena, &a, &x) &&
            routing_of(&split, &arena, &b, &y)) {
            bool equal = memcmp(&a, &b, sizeof a) == 0;
            if (equal && (memcmp(&x.p99, &y.p99, sizeof x.p99) ||
                          memcmp(&x.expected, &y.expected, sizeof x.expected)))
                fail_msg("seed %llu: one key, but other samples", (unsigned long long)seed);
            bool uneven = a.crossing.ranks && !b.crossing.ranks;
            assert_true(equal || seed % 2 || uneven || b.crossing.ranks > b.crossing.per_node);
            same += equal;
            other += !equal;
        }
        arena_release(&arena);
    }
    printf("%zu routings the same, %zu placed by node\n", same, other);
    draws_reach("the same routing", same, draws_of(SEEDS) / 4.0);
    draws_reach("placed by node", other, draws_of(SEEDS) / 16.0);
}

/* ---- lists ---- */

static bool list_of(const struct plan *plan, struct arena *arena, struct work *work)
{
    struct err err = {0};
    return work_build(plan, arena, work, &err) == STATUS_OK &&
           (work->n_ops || work_ops(plan, work, &err) == STATUS_OK); /* the host's has them */
}

static bool same_op(const struct op *x, const struct op *y)
{
    const struct size a[] = {
        x->layers,     x->rows,   x->flop, x->bytes_read, x->bytes_sent, x->bytes_received,
        x->host_syncs, x->groups, x->m,    x->n,          x->k,          x->bytes_written,
        x->trips};
    const struct size b[] = {
        y->layers,     y->rows,   y->flop, y->bytes_read, y->bytes_sent, y->bytes_received,
        y->host_syncs, y->groups, y->m,    y->n,          y->k,          y->bytes_written,
        y->trips};
    return x->kind == y->kind && x->segment == y->segment && x->phase == y->phase &&
           x->module == y->module && x->group == y->group && x->kernel == y->kernel &&
           x->loop == y->loop && x->ahead == y->ahead && memcmp(a, b, sizeof a) == 0;
}

/* Two lists are one: the same buffers and ops of the same sizes, and these are worth the same
 * whatever the slots say. */
static void assert_same(const struct family *f, const struct plan *plan, const struct work *x,
                        const struct work *y)
{
    struct slots slots;
    bool same = x->sizes.n == y->sizes.n && x->n_buffers == y->n_buffers &&
                x->n_ops == y->n_ops && x->n_schedules == y->n_schedules;
    for (size_t i = 0; same && i < x->n_buffers; i++)
        same = x->buffers[i].bytes.node == y->buffers[i].bytes.node &&
               x->buffers[i].segment == y->buffers[i].segment &&
               x->buffers[i].category == y->buffers[i].category &&
               strcmp(x->buffers[i].name, y->buffers[i].name) == 0;
    for (size_t i = 0; same && i < x->n_ops; i++)
        same = same_op(&x->ops[i], &y->ops[i]);
    if (same) {
        struct arena arena = {0};
        uint64_t *a = arena_alloc(&arena, x->sizes.n, sizeof *a),
                 *b = arena_alloc(&arena, x->sizes.n, sizeof *b);
        slots_from_plan(plan, &slots);
        same = sizes_eval(&x->sizes, &slots, a) == sizes_eval(&y->sizes, &slots, b) &&
               memcmp(a, b, x->sizes.n * sizeof *a) == 0;
        arena_release(&arena);
    }
    if (!same)
        fail_bound(f, plan, "list", (double)x->n_ops, (double)y->n_ops);
}

static void check_lists(struct family *f)
{
    struct work lists[MOST_FAMILIES * KINDS];
    bool known[MOST_FAMILIES * KINDS] = {false};
    uint8_t index[SEARCH_KEYS] = {0};
    unsigned zero = (unsigned)(f->seed % 4), recompute = (unsigned)(f->seed / 4 % 3);
    for (unsigned at = 0; at < 3 * 3 * 4 * 2; at++) {
        struct plan plan;
        struct work work;
        if (!take(f, 3 * (at + 72 * (recompute + 3 * zero)), index, &plan) ||
            !list_of(&plan, &f->arena, &work))
            continue;
        struct search_bounds *bounds = search_bounds_create(&f->ask, &f->arena);
        uint32_t list = search_place_list(search_place_create(bounds, &plan, index, &f->arena));
        search_bounds_release(bounds);
        assert_in_range(list, 0, sizeof lists / sizeof *lists - 1);
        if (known[list])
            assert_same(f, &plan, &lists[list], &work);
        f->n_shared += known[list];
        known[list] = true;
        lists[list] = work;
    }
}

static void test_lists(void **state)
{
    (void)state;
    static struct family f;
    size_t shared = 0;
    draws_print(SEEDS);
    for (uint64_t seed = 0; seed < draws_of(SEEDS); seed++) {
        if (open_family(&f, seed))
            check_lists(&f);
        shared += f.n_shared;
        arena_release(&f.arena);
    }
    printf("%zu lists shared\n", shared);
    draws_reach("shared", shared, draws_of(280));
}

/* Matrices of these have one shape by chance under some layouts, and then share buffers. */
static void test_models(void **state)
{
    (void)state;
    static const char *const models[] = {"qwen3-30b-a3b", "deepseek-v3", "mixtral-8x7b"};
    static const char *const stacks[] = {"megatron", "torchtitan", "maxtext"};
    static struct family f;
    size_t shared = 0;
    for (unsigned i = 0; i < 9 * 4; i++) {
        f = (struct family){.seed = i % 4};
        catalogue_plan(models[i / 12], "h200-8x8", stacks[i / 4 % 3], &f.arena, &f.plan);
        f.plan.parallel.tp = 8;
        f.plan.parallel.ep = 2;
        f.plan.parallel.sp = true;
        open_space(&f);
        check_lists(&f);
        shared += f.n_shared;
        arena_release(&f.arena);
    }
    printf("%zu lists of models shared\n", shared);
    assert_true(shared > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routings), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_models),   cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_rounds),   cmocka_unit_test(test_exchanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
