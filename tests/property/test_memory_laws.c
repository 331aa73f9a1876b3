/* Laws of training memory, on random plans of every training stack. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "sim/memory/verdict.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "work/stack/stack.h"

enum { DRAWS = 300 };

static const enum stack_kind stacks[] = {STACK_GENERIC, STACK_MAXTEXT, STACK_MEGATRON,
                                         STACK_PRIMUS, STACK_TORCHTITAN};
enum { STACKS = sizeof stacks / sizeof *stacks };

/* A plan evaluated: list, slots and values of its heaviest place. */
struct evaluated {
    struct arena arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    struct memory_peak peak;
    unsigned schedule;
};

/* False when a rule or the stack refuses the plan, or a size overflows. */
static bool evaluate_plan(const struct plan *plan, struct evaluated *e)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct err err = {0};
    memset(e, 0, sizeof *e);
    if (rule_check(plan, text, hint) ||
        work_build(plan, &e->arena, &e->work, &err) != STATUS_OK)
        return false;
    slots_from_plan(plan, &e->slots);
    e->values = arena_alloc(&e->arena, e->work.sizes.n, sizeof *e->values);
    if (!verdict_evaluate(plan, &e->work, &e->slots, e->values, &e->peak, &e->schedule))
        return false;
    memory_explain(&e->work, e->values, e->schedule, &e->peak);
    return true;
}

static uint64_t power(struct rng *rng, uint64_t most)
{
    return UINT64_C(1) << rng_below(rng, most);
}

static void draw_model(struct rng *rng, struct model *model)
{
    model->layers = 2 + rng_below(rng, 40);
    model->dense_layers = rng_below(rng, 4) % model->layers;
    model->hidden = 64 * power(rng, 7);
    model->dense_intermediate = 64 * (1 + rng_below(rng, 100));
    model->vocab = 128 * (1 + rng_below(rng, 1000));
    model->tied_embeddings = rng_below(rng, 4) == 0;
    model->mtp_enabled = rng_below(rng, 4) == 0;
    model->mtp_layers = 1;
    model->moe.experts = power(rng, 9);
    model->moe.top_k = 1 + rng_below(rng, model->moe.experts < 8 ? model->moe.experts : 8);
    model->moe.intermediate = 64 * (1 + rng_below(rng, 64));
    model->moe.shared_experts = rng_below(rng, 2);
    model->moe.shared_intermediate = model->moe.shared_experts * model->moe.intermediate;
    if (rng_below(rng, 2))
        model->attention = (struct attention){.kind = ATTENTION_MLA,
                                              .heads = 16,
                                              .kv_heads = 16,
                                              .q_lora_rank = 64 * rng_below(rng, 3),
                                              .kv_lora_rank = 64,
                                              .qk_nope_head_dim = 32,
                                              .qk_rope_head_dim = 16,
                                              .v_head_dim = 32};
}

static void draw_parallel(struct rng *rng, struct plan *plan)
{
    struct parallel *p = &plan->parallel;
    plan->cluster.node.devices = 8;
    plan->cluster.nodes = power(rng, 5);
    p->tp = power(rng, 3);
    p->sp = p->tp > 1;
    p->pp = power(rng, 3);
    p->vpp = p->pp > 1 ? power(rng, 3) : 1;
    p->cp = power(rng, 2);
    p->ep = power(rng, 5);
    p->etp = power(rng, 2);
    p->zero = rng_below(rng, 4);
    p->schedule = p->vpp > 1 ? PIPELINE_INTERLEAVED : (enum pipeline_schedule)rng_below(rng, 5);
}

/* A random training plan of one of the stacks; most are valid. */
static void draw(struct plan *plan, uint64_t seed)
{
    static const enum moe_path paths[] = {PATH_AUTO, PATH_RAGGED_A2A, PATH_DEEPEP,
                                          PATH_CAPACITY};
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 0, 0, 0, 0);
    plan_tiny(plan);
    draw_model(&rng, &plan->model);
    draw_parallel(&rng, plan);
    plan->stack.kind = stacks[seed % STACKS];
    plan->stack.relax = 1e6; /* one schedule, whatever the limit */
    plan->stack.cross_entropy = (enum cross_entropy)rng_below(&rng, 2);
    plan->stack.wgrad_placeholders = rng_below(&rng, 2);
    plan->workload.micro_batch = 1 + rng_below(&rng, 8);
    plan->workload.sequence_length = 64 * power(&rng, 7);
    plan->workload.global_batch =
        rng_below(&rng, 2) * 8 * plan->workload.micro_batch * plan_dp(plan);
    plan->precision.master = rng_below(&rng, 2) ? DTYPE_F32 : DTYPE_NONE;
    plan->precision.compute = rng_below(&rng, 3) ? COMPUTE_BF16 : COMPUTE_FP8;
    plan->moe.path = paths[rng_below(&rng, 4)];
    plan->recompute.kind = (enum recompute)rng_below(&rng, 3);
    plan->recompute.layers = rng_below(&rng, 3) ? 0 : 1 + rng_below(&rng, 4);
    plan->recompute.every = 1 + rng_below(&rng, 3);
}

/* Calls a law for every valid draw; fails when too few are. */
static void for_draws(void (*law)(const struct plan *plan, const struct evaluated *e))
{
    static struct plan plan;
    unsigned valid = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct evaluated e;
        draw(&plan, seed);
        if (evaluate_plan(&plan, &e)) {
            print_message("seed %" PRIu64 "\n", seed);
            valid++;
            law(&plan, &e);
        }
        arena_release(&e.arena);
    }
    print_message("%u of %u draws valid\n", valid, draws_of(DRAWS));
    draws_reach("valid", valid, draws_of(DRAWS) / 3.0);
}

static uint64_t bytes_at(const struct evaluated *e, enum segment segment, uint16_t op)
{
    struct memory_peak moment = {.segment = segment, .tick = op};
    uint64_t bytes = 0;
    for (size_t i = 0; i < e->work.n_buffers; i++)
        bytes += memory_bytes_at_peak(&e->work, e->values, &e->work.buffers[i], e->schedule,
                                      &moment);
    return bytes;
}

static void no_op_holds_more(const struct plan *plan, const struct evaluated *e)
{
    (void)plan;
    for (size_t i = 0; i < e->work.n_ticks; i++) {
        enum segment segment = e->work.ticks[i].segment;
        if (e->values[e->work.use[segment].repeat.node])
            assert_true(bytes_at(e, segment, (uint16_t)i) <= e->peak.total_bytes);
    }
}

static void peak_is_at_least_every_op(void **state)
{
    (void)state;
    for_draws(no_op_holds_more);
}

static void sums_agree(const struct plan *plan, const struct evaluated *e)
{
    (void)plan;
    uint64_t sum = 0;
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        sum += e->peak.category[i];
    assert_int_equal(sum, e->peak.total_bytes);
    assert_int_equal(e->peak.state_bytes + e->peak.temp_bytes, e->peak.total_bytes);
    assert_int_equal(bytes_at(e, e->peak.segment, e->peak.tick), e->peak.total_bytes);
}

static void categories_sum_to_the_peak(void **state)
{
    (void)state;
    for_draws(sums_agree);
}

static void grows_with_the_micro_batch(const struct plan *plan, const struct evaluated *e)
{
    struct plan larger = *plan;
    struct evaluated other;
    larger.workload.micro_batch *= 2;
    larger.workload.global_batch *= 2;
    larger.workload.tokens_per_step *= 2;
    if (evaluate_plan(&larger, &other) && other.schedule == e->schedule)
        assert_true(other.peak.total_bytes >= e->peak.total_bytes);
    arena_release(&other.arena);
}

static void memory_is_monotone_in_the_micro_batch(void **state)
{
    (void)state;
    for_draws(grows_with_the_micro_batch);
}

/* Every token of every rank to this one: the certified worst case. */
static void worst_is_at_least_balanced(const struct plan *plan, const struct evaluated *e)
{
    struct slots slots = e->slots;
    uint64_t *v = slots.value;
    uint64_t copies =
        v[SLOT_TOP_K] < v[SLOT_LOCAL_EXPERTS] ? v[SLOT_TOP_K] : v[SLOT_LOCAL_EXPERTS];
    bool overflow = __builtin_mul_overflow(v[SLOT_TOKENS], v[SLOT_EP], &v[SLOT_RECEIVED]) ||
                    __builtin_mul_overflow(v[SLOT_RECEIVED], copies, &v[SLOT_ROWS]);
    struct memory_peak peak;
    (void)plan;
    if (overflow || !sizes_eval(&e->work.sizes, &slots, e->values))
        return;
    memory_fold(&e->work, e->values, e->schedule, &peak);
    assert_true(peak.total_bytes >= e->peak.total_bytes);
}

static void worst_routing_needs_most(void **state)
{
    (void)state;
    for_draws(worst_is_at_least_balanced);
}

/* ---- laws of layout, on one model ---- */

static struct plan layout(enum stack_kind stack, uint64_t ep)
{
    struct plan plan;
    plan_tiny(&plan);
    plan.stack.kind = stack;
    plan.stack.relax = 1e6;
    plan.parallel.ep = ep;
    plan.parallel.zero = stack == STACK_TORCHTITAN ? 3 : 0; /* its ep has no other ranks */
    plan.moe.path = PATH_RAGGED_A2A;
    plan.moe.buffer = SIZING_BALANCED;
    return plan;
}

/* One copy of everything a layer's experts read or write, rows x width. */
static uint64_t expert_bytes(const struct evaluated *e)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < e->work.n_buffers; i++)
        if (e->work.buffers[i].category == CATEGORY_EXPERT)
            bytes += e->values[e->work.buffers[i].bytes.node];
    return bytes;
}

static uint64_t state_of(const struct evaluated *e, const char *name)
{
    for (size_t i = 0; i < e->work.n_buffers; i++)
        if (!strcmp(e->work.buffers[i].name, name))
            return memory_buffer_bytes(&e->work, e->values, &e->work.buffers[i]);
    return 0;
}

/* Tokens are traded over ep, not removed: the rows of a rank stay, its weights divide. */
static void ep_never_divides_routed_activations(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STACKS; i++) {
        struct evaluated one;
        struct plan plan = layout(stacks[i], 1);
        assert_true(evaluate_plan(&plan, &one));
        for (uint64_t ep = 2; ep <= 8; ep *= 2) {
            struct evaluated many;
            plan = layout(stacks[i], ep);
            assert_true(evaluate_plan(&plan, &many));
            print_message("stack %d ep %" PRIu64 "\n", (int)stacks[i], ep);
            assert_int_equal(expert_bytes(&many), expert_bytes(&one));
            assert_int_equal(state_of(&many, "expert_weights") *
                                 (plan.parallel.zero == 3 ? 1 : ep),
                             state_of(&one, "expert_weights"));
            arena_release(&many.arena);
        }
        arena_release(&one.arena);
    }
}

/* ep 1 is the unsharded layer: all experts on a rank, and no rows on their way. */
static void ep_one_is_unsharded(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STACKS; i++) {
        struct evaluated e;
        struct plan plan = layout(stacks[i], 1);
        plan.parallel.zero = 0;
        const struct model *m = &plan.model;
        assert_true(evaluate_plan(&plan, &e));
        uint64_t each = (m->moe.glu ? 3 : 2) * m->hidden * m->moe.intermediate;
        assert_int_equal(state_of(&e, "expert_weights"),
                         2 * plan_moe_layers(&plan) * m->moe.experts * each);
        if (stacks[i] == STACK_MEGATRON || stacks[i] == STACK_TORCHTITAN)
            assert_int_equal(state_of(&e, "received_rows"), 0);
        arena_release(&e.arena);
    }
}

/* Twice the layers: twice what each layer holds, the ends stay. */
static void doubling_layers_doubles_their_state(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STACKS; i++) {
        uint64_t weights[3], experts[3];
        for (unsigned times = 1; times <= 2; times++) {
            struct evaluated e;
            struct plan plan = layout(stacks[i], 4);
            plan.model.layers *= times;
            plan.model.dense_layers *= times;
            assert_true(evaluate_plan(&plan, &e));
            weights[times] = state_of(&e, "weights");
            experts[times] = state_of(&e, "expert_weights");
            arena_release(&e.arena);
        }
        const struct plan plan = layout(stacks[i], 4);
        uint64_t ends = 2 * (2 * plan.model.vocab * plan.model.hidden + plan.model.hidden);
        ends /= plan.parallel.zero == 3 ? plan_dp(&plan) : 1;
        assert_int_equal(experts[2], 2 * experts[1]);
        assert_int_equal(weights[2] - ends, 2 * (weights[1] - ends));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_is_at_least_every_op),
        cmocka_unit_test(categories_sum_to_the_peak),
        cmocka_unit_test(memory_is_monotone_in_the_micro_batch),
        cmocka_unit_test(worst_routing_needs_most),
        cmocka_unit_test(ep_never_divides_routed_activations),
        cmocka_unit_test(ep_one_is_unsharded),
        cmocka_unit_test(doubling_layers_doubles_their_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
