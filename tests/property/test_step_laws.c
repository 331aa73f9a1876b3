/* Laws of the complete list, on random plans of every stack and mode: FLOPs are the model's,
 * every op has bytes and operands, what is computed hangs together. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/frozen.h"
#include "plan/schema/schema.h"
#include "support/drawn_layers.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "support/listed.h"
#include "support/random_plan.h"
#include "work/list/kernel.h"
#include "work/layer/layer.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

enum { DRAWS = 480, BLOCKS = 600 };

/* ---- bytes, operands, one graph ---- */

static uint16_t root_of(uint16_t *parent, uint16_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join(uint16_t *parent, uint16_t a, uint16_t b)
{
    parent[root_of(parent, a)] = root_of(parent, b);
}

static void check_operands(const struct listed *l, size_t number, uint16_t *parent,
                           uint64_t seed)
{
    const struct op *op = &l->work.ops[number];
    bool touches = op->n_operands > 0;
    for (unsigned i = 0; i < op->n_operands; i++) {
        uint16_t buffer = op_operands(&l->work, op)[i].buffer;
        assert_in_range(buffer, 0, l->work.n_buffers - 1);
        join(parent, (uint16_t)number, (uint16_t)(l->work.n_ops + buffer));
    }
    bool waits = op->kernel == KERNEL_WAIT;
    const struct sizes *z = &l->work.sizes; /* a rank without rows may still count none */
    bool bytes = !size_is_zero(z, op->bytes_read) || !size_is_zero(z, op->bytes_written) ||
                 !size_is_zero(z, op->bytes_sent);
    if (!touches != waits || (!bytes && !waits))
        fail_msg("seed %" PRIu64 ", stack %s, path %s: op '%s' (%s) has %s", seed,
                 words_stack[l->plan.stack.kind], words_path[l->plan.moe.path], op->name,
                 phase_name(op->phase), touches ? "no bytes" : "no operand");
}

static void check_graph(const struct listed *l, uint64_t seed)
{
    size_t n = l->work.n_ops + l->work.n_buffers;
    uint16_t *parent = test_calloc(n, sizeof *parent);
    for (size_t i = 0; i < n; i++)
        parent[i] = (uint16_t)i;
    for (size_t i = 0; i < l->work.n_ops; i++)
        check_operands(l, i, parent, seed);
    uint16_t layers = WORK_NONE; /* all that a token passes through hangs together */
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (op->kind == OP_COLLECTIVE || op->kernel == KERNEL_WAIT || op->kind == OP_COPY ||
            op->phase == PHASE_UPDATE)
            continue;
        uint16_t root = root_of(parent, (uint16_t)i);
        layers = layers == WORK_NONE ? root : layers;
        if (root != layers)
            fail_msg("seed %" PRIu64 ": op '%s' hangs on nothing", seed, op->name);
    }
    test_free(parent);
}

static void every_op_has_bytes_and_operands(void **state)
{
    (void)state;
    unsigned listed[STACK_COUNT][MODE_SERVE] = {0}; /* mode serve is of many steps */
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct listed l;
        drawn_plan(seed, DRAWS, &plan);
        if (listed_plan(&plan, &l) && listed_evaluate(&l, 0)) {
            check_graph(&l, seed);
            if (plan.workload.mode < MODE_SERVE)
                listed[plan.stack.kind][plan.workload.mode]++;
        }
        arena_release(&l.arena);
    }
    listed_covers(listed, DRAWS);
}

/* Cores that share a block have no gradients of their own: those of the loop are made from
 * plainer ops, in every kind of layers. */
static void blocks_of_cores_have_gradients(void **state)
{
    (void)state;
    unsigned listed = 0;
    draws_print(BLOCKS);
    for (uint64_t seed = 1; seed <= draws_of(BLOCKS); seed++) {
        struct plan plan;
        struct listed l;
        drawn_plan(seed, BLOCKS, &plan);
        plan.moe.path = PATH_BLOCKWISE;
        plan.moe.cores = 1 + (seed % 3 > 0);
        plan.moe.shard = (enum shard)(seed / 3 % 3);
        plan.moe.skip_dynamic = seed % 2;
        if (listed_plan(&plan, &l) && listed_evaluate(&l, 0)) {
            check_graph(&l, seed);
            listed++;
        }
        arena_release(&l.arena);
    }
    draws_reach("listed", listed, draws_of(BLOCKS) / 6.0);
}

/* ---- FLOPs ---- */

static bool is_of_experts(const struct op *op)
{
    return segment_has_experts(op->segment) &&
           (op->module == MODULE_GATE_UP || op->module == MODULE_EXPERT_DOWN);
}

/* Forward FLOPs of the rank, all its layers; those of the routed experts apart. */
static void forward_flop(const struct listed *l, uint64_t *others, uint64_t *experts)
{
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (op->phase == PHASE_FORWARD)
            *(is_of_experts(op) ? experts : others) +=
                listed_at(l, op->layers) * listed_at(l, op->flop);
    }
}

static uint64_t expert_flop_per_token(const struct model *model)
{
    uint64_t matrices = model->moe.glu ? 3 : 2;
    return 2 * matrices * model_row_width(model) * model->moe.intermediate * model->moe.top_k;
}

/* The paths that compute each row once, in no padding. */
static bool computes_rows_only(const struct plan *plan)
{
    static const char *const words[] = {"ragged_a2a", "deepep", "allgather", "expert_loop"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(words_path[plan->moe.path], words[i]))
            return plan->moe.matmul == MATMUL_GROUPED;
    return false;
}

/* A plan of one stage in which every width is divided evenly by what splits it and no rank has
 * another's tokens: what rounding and copies add is zero. */
static void draw_even(struct rng *rng, struct plan *plan)
{
    static const enum stack_kind stacks[] = {STACK_GENERIC,    STACK_MEGATRON, STACK_PRIMUS,
                                             STACK_TORCHTITAN, STACK_MAXTEXT,  STACK_HOST};
    static const char *const paths[] = {"ragged_a2a", "deepep",      "allgather",
                                        "rdep",       "expert_loop", "masked"};
    enum { STACKS = sizeof stacks / sizeof *stacks, PATHS = sizeof paths / sizeof *paths };
    plan_tiny(plan);
    plan->stack.kind = stacks[rng_below(rng, STACKS)];
    const char *path = paths[rng_below(rng, PATHS)];
    for (int p = 0; p < PATH_COUNT; p++)
        if (text_equal(words_path[p], path))
            plan->moe.path = (enum moe_path)p;
    drawn_attention(rng, &plan->model.attention);
    plan->model.moe.shared_experts = rng_below(rng, 2);
    plan->model.moe.shared_intermediate = 64 * plan->model.moe.shared_experts;
    plan->model.moe.glu = rng_below(rng, 2);
    plan->model.moe.latent_size = rng_below(rng, 3) ? 0 : 48;
    drawn_layers(rng, &plan->model);
    plan->parallel.tp = UINT64_C(1) << rng_below(rng, 3);
    plan->parallel.sp = plan->parallel.tp > 1;
    plan->parallel.cp = UINT64_C(1) << rng_below(rng, 2);
    plan->parallel.ep = UINT64_C(1) << rng_below(rng, 4);
    plan->parallel.zero = rng_below(rng, 4);
    plan->moe.shared = rng_below(rng, 2) ? SHARED_SP : SHARED_TP;
    plan->workload.mode = MODE_TRAIN;
    plan->workload.sequence_length = 256;
    plan->workload.micro_batch = 1 + rng_below(rng, 2);
    plan->stack.vocab_multiple = 0;
    plan->recompute.kind = rng_below(rng, 2) ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    if (plan_has_blocks(plan)) { /* every tp rank makes all keys that blocks are chosen by */
        plan->parallel.tp = 1;
        plan->parallel.sp = false;
    }
    if (rng_below(rng, 3) || plan->stack.kind == STACK_HOST)
        return;
    plan->lora.rank = 8 + 8 * rng_below(rng, 2); /* tp ranks each have A of the whole input */
    plan->parallel.tp = 1;
    plan->parallel.sp = false;
}

/* What adapters add to a rank's forward per token: 2 FLOP a parameter that it meets. */
struct adapter_flop {
    uint64_t others, experts;
};

static struct adapter_flop adapter_flop(struct listed *l)
{
    if (!lora_is_on(&l->plan))
        return (struct adapter_flop){0, 0};
    struct lora_sum sum = lora_parameters(&l->plan, &l->work.sizes);
    uint64_t *values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *values);
    sizes_eval(&l->work.sizes, &l->slots, values);
    uint64_t local = plan_local_experts(&l->plan), K = l->plan.model.moe.top_k;
    return (struct adapter_flop){2 * values[sum.dense.node],
                                 local ? 2 * K * values[sum.experts.node] / local : 0};
}

/* Without the experts, a rank's tokens cost what the model's do; with them, summed over the
 * group, since each computes the others' rows. */
static void training_flop_is_the_models(void **state)
{
    (void)state;
    unsigned rows_only = 0, all = 0, adapted = 0;
    struct rng rng, gates; /* apart: they move no other draw */
    rng_init(&rng, draws_seed(1), 91, 0, 0, 0);
    rng_init(&gates, draws_seed(1), 92, 0, 0, 0);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct listed l;
        draw_even(&rng, &plan);
        plan.model.linear.full_rank_gate = rng_below(&gates, 2);
        plan.model.moe.latent_norm = rng_below(&gates, 2) && plan.stack.kind != STACK_HOST;
        plan.model.linear.full_rank_decay =
            plan.model.linear.full_rank_gate && rng_below(&gates, 2);
        if (!listed_plan(&plan, &l))
            continue;
        struct params params;
        params_count(&l.plan.model, &params);
        uint64_t others = 0, experts = 0, R = l.plan.parallel.ep, T = plan_tokens(&l.plan);
        uint64_t layers = plan_moe_layers(&l.plan);
        bool sampled = true;
        for (uint64_t rank = 0; rank < R && sampled; rank++) {
            sampled = listed_evaluate(&l, rank);
            if (sampled)
                forward_flop(&l, &others, &experts);
        }
        if (!sampled) {
            arena_release(&l.arena);
            continue;
        }
        struct adapter_flop beside = adapter_flop(&l);
        uint64_t each = expert_flop_per_token(&l.plan.model) * layers;
        uint64_t model =
            params_forward_flop_per_token(&l.plan.model, l.plan.workload.sequence_length);
        model += beside.others;
        if (others != R * T * (model - each))
            fail_msg("seed %" PRIu64 ", %s, %s, tp %" PRIu64 ": %" PRIu64
                     " FLOP besides the experts, the model has %" PRIu64,
                     seed, words_stack[l.plan.stack.kind], words_path[l.plan.moe.path],
                     l.plan.parallel.tp, others, R * T * (model - each));
        each += beside.experts;
        if (computes_rows_only(&l.plan) && experts != R * T * each)
            fail_msg("seed %" PRIu64 ", %s, %s: %" PRIu64
                     " FLOP of the experts, the model has %" PRIu64,
                     seed, words_stack[l.plan.stack.kind], words_path[l.plan.moe.path], experts,
                     R * T * each);
        rows_only += computes_rows_only(&l.plan);
        adapted += beside.others > 0;
        all++;
        arena_release(&l.arena);
    }
    draws_reach("listed", all, draws_of(100));
    draws_reach("of rows alone", rows_only, draws_of(40));
    draws_reach("with adapters", adapted, draws_of(40));
}

/* ---- gradients ---- */

static bool is_weight_gradient(const struct op *op)
{
    return op->kernel == KERNEL_WGRAD || op->kernel == KERNEL_EXPANDED_WGRAD ||
           op->kernel == KERNEL_SPARSE_WGRAD;
}

/* FLOPs of a segment's products by weights, forward, and of the gradients of these weights. An
 * indexer's are left out: no gradient passes its choice, and the time of Megatron's loss of its
 * own is not modelled; a router's, too: gates of one choice have none. */
static void weighed_flop(const struct listed *l, enum segment segment, uint64_t flop[2])
{
    flop[0] = flop[1] = 0;
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        bool product = op_buffer(&l->work, op, ROLE_WEIGHT) != WORK_NONE &&
                       !text_starts(op->name, "index_") && !text_equal(op->name, "router");
        uint64_t amount = listed_at(l, op->layers) * listed_at(l, op->flop);
        if (op->segment == segment && op->phase == PHASE_FORWARD && product)
            flop[0] += amount;
        else if (op->segment == segment && is_weight_gradient(op) &&
                 !text_equal(op->name, "wgrad_router"))
            flop[1] += amount;
    }
}

/* What is multiplied by weights that are all trained is multiplied once more for their
 * gradients: a segment's products as many times as they run. */
static void every_weight_has_its_gradient(void **state)
{
    (void)state;
    unsigned trained = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct listed l;
        drawn_plan(seed, DRAWS, &plan);
        plan.workload.mode = MODE_TRAIN;
        plan.lora.rank = 0;
        plan.frozen = (struct frozen){0};
        plan.optimizer.one_layer = false;
        plan.workload.encoder.train = ENCODER_ALL;
        if (plan.moe.path == PATH_DEEPEP_LL || plan_cores(&plan) == 2)
            continue; /* an engine's; cores round halves of a width */
        if (listed_plan(&plan, &l) && listed_evaluate(&l, 0)) {
            for (unsigned s = 0; s < SEGMENT_COUNT; s++) {
                uint64_t flop[2];
                weighed_flop(&l, (enum segment)s, flop);
                if (flop[0] != flop[1])
                    fail_msg("seed %" PRIu64 ", %s, %s, segment %u: %" PRIu64
                             " FLOP by weights, %" PRIu64 " of their gradients",
                             seed, words_stack[l.plan.stack.kind], words_path[l.plan.moe.path],
                             s, flop[0], flop[1]);
            }
            trained++;
        }
        arena_release(&l.arena);
    }
    draws_reach("trained", trained, draws_of(DRAWS) / 6.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_bytes_and_operands),
        cmocka_unit_test(blocks_of_cores_have_gradients),
        cmocka_unit_test(training_flop_is_the_models),
        cmocka_unit_test(every_weight_has_its_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
