/* Laws of the complete list, on random plans of every stack and mode: FLOPs are the model's,
 * every op has bytes and operands, what is computed hangs together, collectives follow their
 * closed forms, sharded weights are gathered whole, the optimizer touches the state, and what
 * the experts' exchange sends is what the host's layer sends. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/rng.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/step/ops.h"
#include "support/drawn_layers.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "work/list/kernel.h"
#include "work/piece/layer.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

enum { DRAWS = 480, BLOCKS = 600 };

struct listed {
    struct arena arena;
    struct plan plan; /* path and sizes of buffers resolved */
    struct work work;
    struct slots slots;
    uint64_t *values;
};

/* False when a rule or the stack refuses the plan. */
static bool list_plan(const struct plan *plan, struct listed *l)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct err err = {0};
    memset(l, 0, sizeof *l);
    if (!drawn_is_quick(plan) || rule_check(plan, text, hint) ||
        work_build(plan, &l->arena, &l->work, &err) != STATUS_OK) {
        arena_release(&l->arena);
        return false;
    }
    l->plan = *plan;
    l->plan.moe.path = stack_path(plan, NULL);
    l->plan.moe.buffer = stack_sizing(plan);
    if (!l->work.n_ops) /* stack host has them already */
        assert_int_equal(work_ops(plan, &l->work, &err), STATUS_OK);
    return true;
}

static uint64_t at(const struct listed *l, struct size size)
{
    return l->values[size.node];
}

/* False when the routing cannot be sampled. */
static bool evaluate(struct listed *l, uint64_t rank)
{
    struct err err = {0};
    struct ops_report report = {0};
    const struct ops_ask ask = {.named = true, .rank = rank};
    if (ops_slots(&l->plan, &ask, &l->arena, &l->slots, &report, &err) != STATUS_OK)
        return false;
    l->values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *l->values);
    return sizes_eval(&l->work.sizes, &l->slots, l->values); /* past 64 bits: not listed */
}

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

/* Laws hold of what is listed: most draws, some of each stack, and where all are drawn of each
 * mode (four of a share are too few to count on). */
static void check_covered(unsigned listed[STACK_COUNT][MODE_SERVE])
{
    unsigned total = 0;
    for (int i = 0; i < STACK_COUNT; i++) {
        unsigned before = total;
        for (int j = 0; j < MODE_SERVE; j++) {
            total += listed[i][j];
            if (draws_are_own() && draws_share() == 1 && !listed[i][j] &&
                drawn_has_mode((enum stack_kind)i, (enum mode)j))
                fail_msg("no plan of stack %s, mode %s", words_stack[i], words_mode[j]);
        }
        if (total == before)
            fail_msg("no plan of stack %s", words_stack[i]);
    }
    print_message("%u of %u plans are listed\n", total, draws_of(DRAWS));
    draws_reach("listed", total, draws_of(DRAWS) / 2.0);
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
        if (list_plan(&plan, &l) && evaluate(&l, 0)) {
            check_graph(&l, seed);
            if (plan.workload.mode < MODE_SERVE)
                listed[plan.stack.kind][plan.workload.mode]++;
        }
        arena_release(&l.arena);
    }
    check_covered(listed);
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
        if (list_plan(&plan, &l) && evaluate(&l, 0)) {
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
            *(is_of_experts(op) ? experts : others) += at(l, op->layers) * at(l, op->flop);
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
    if (rng_below(rng, 4) || plan->stack.kind == STACK_HOST)
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
    struct rng rng;
    rng_init(&rng, draws_seed(1), 91, 0, 0, 0);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct listed l;
        draw_even(&rng, &plan);
        if (!list_plan(&plan, &l))
            continue;
        struct params params;
        params_count(&l.plan.model, &params);
        uint64_t others = 0, experts = 0, R = l.plan.parallel.ep, T = plan_tokens(&l.plan);
        uint64_t layers = plan_moe_layers(&l.plan);
        bool sampled = true;
        for (uint64_t rank = 0; rank < R && sampled; rank++) {
            sampled = evaluate(&l, rank);
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

/* ---- collectives, shards, state ---- */

static uint64_t ranks_of(const struct plan *plan, enum process_group group)
{
    const struct parallel *p = &plan->parallel;
    struct sharers shard = plan_sharers(plan), same = plan_replicas(plan);
    struct sharers second = plan_second_sharers(plan);
    const uint64_t ranks[GROUP_COUNT] = {[GROUP_TP] = p->tp,
                                         [GROUP_CP] = p->cp,
                                         [GROUP_EP] = p->ep,
                                         [GROUP_ETP] = p->etp,
                                         [GROUP_DP] = plan_dp(plan) * p->cp,
                                         [GROUP_EDP] = plan_expert_dp(plan),
                                         [GROUP_REPLICAS] = plan_dp(plan),
                                         [GROUP_DP_SHARD] = shard.dense,
                                         [GROUP_EDP_SHARD] = shard.experts,
                                         [GROUP_DP_REPLICA] = same.dense,
                                         [GROUP_EDP_REPLICA] = same.experts,
                                         [GROUP_DP_SECOND] = second.dense,
                                         [GROUP_EDP_SECOND] = second.experts};
    return ranks[group];
}

/* Bytes of the whole array, and how often (n - 1) / n of it goes over a link. */
static void check_volume(const struct listed *l, const struct op *op, uint64_t seed)
{
    uint64_t n = ranks_of(&l->plan, op->group), times = 1;
    uint64_t src = at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_SRC)].bytes);
    uint64_t dst = at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].bytes);
    uint64_t full = src > dst ? src : dst, expected;
    unsigned how = op->args.collective.how;
    if (how == SEND)
        return;
    if (op->group == GROUP_ETP && how != ALL_REDUCE)
        return; /* of used rows: the buffers reserve more */
    times = how == ALL_REDUCE ? 2 : 1;
    if (text_starts(op->name, "reduce_loss"))
        full = dst; /* three numbers a row */
    if (text_starts(op->name, "back_reduce_loss"))
        return;
    expected = how == RING ? full * (n - 1) * (op->phase == PHASE_BACKWARD ? 2 : 1)
                           : (full - ceil_div(full, n)) * times;
    if (at(l, op->bytes_sent) != expected || at(l, op->bytes_received) != expected)
        fail_msg("seed %" PRIu64 ": '%s' over %" PRIu64 " ranks sends %" PRIu64
                 ", its closed form is %" PRIu64,
                 seed, op->name, n, at(l, op->bytes_sent), expected);
}

/* Adapters of the stage, of those parts that have sharers: gathered with what they stand
 * beside.
 */
static uint64_t adapters_gathered(struct listed *l, bool dense, bool experts)
{
    if (!lora_is_on(&l->plan))
        return 0;
    struct lora_sum sum = lora_parameters(&l->plan, &l->work.sizes);
    uint64_t *values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *values);
    sizes_eval(&l->work.sizes, &l->slots, values);
    return (dense ? values[sum.dense.node] : 0) + (experts ? values[sum.experts.node] : 0);
}

static void check_gathers(struct listed *l, uint64_t seed)
{
    uint64_t gathered = 0;
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        bool weights = text_equal(op->name, "gather_weights") ||
                       text_equal(op->name, "gather_expert_weights") ||
                       text_equal(op->name, "gather_adapters") ||
                       text_equal(op->name, "gather_expert_adapters");
        if (weights && op->phase == PHASE_FORWARD)
            gathered += at(l, op->layers) *
                        at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].dims[0]);
    }
    const struct parallel *p = &l->plan.parallel;
    struct sharers ranks = plan_sharers(&l->plan);
    bool dense = ranks.dense > 1, experts = ranks.experts > 1;
    bool head = l->slots.value[SLOT_STAGE_HEAD];
    if (p->zero < 3 || !head || l->plan.workload.mode != MODE_TRAIN ||
        l->slots.value[SLOT_EXPERT_PARAMETERS] %
            (l->slots.value[SLOT_STAGE_MOE_LAYERS] ? l->slots.value[SLOT_STAGE_MOE_LAYERS] : 1))
        return;
    uint64_t expected = (dense ? l->slots.value[SLOT_DENSE_PARAMETERS] : 0) +
                        (experts ? l->slots.value[SLOT_EXPERT_PARAMETERS] : 0) +
                        adapters_gathered(l, dense, experts);
    if (gathered != expected)
        fail_msg("seed %" PRIu64 ": %" PRIu64 " elements gathered, %" PRIu64 " sharded", seed,
                 gathered, expected);
}

/* With shards over some of dp: what the groups that hold the same add up once a step are the
 * shards of what is trained, and shards times sharers times groups all of dp. Groups that share
 * the states out have a part of the sum each. */
static void check_copies(struct listed *l, uint64_t seed)
{
    uint64_t added[2] = {0, 0}, parts[2] = {0, 0};
    struct sharers ranks = plan_sharers(&l->plan), same = plan_replicas(&l->plan);
    bool outside = plan_shares_states_outside(&l->plan);
    if (!plan_shards_in_part(&l->plan) || l->plan.workload.mode != MODE_TRAIN)
        return;
    assert_int_equal(ranks.dense * same.dense, plan_dp(&l->plan) * l->plan.parallel.cp);
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        unsigned experts = op->group == GROUP_EDP_REPLICA;
        if (op->group != GROUP_DP_REPLICA && !experts)
            continue;
        if (outside && op->args.collective.how == ALL_GATHER)
            continue; /* of weights that each group has a part of updated */
        assert_int_equal(op->args.collective.how, outside ? REDUCE_SCATTER : ALL_REDUCE);
        added[experts] += at(l, op->layers) *
                          at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].dims[0]);
        parts[experts] += at(l, op->layers);
    }
    struct shards shards = step_trained(&l->plan, &l->work, 1); /* nodes behind the list's */
    uint64_t *values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *values);
    sizes_eval(&l->work.sizes, &l->slots, values);
    const uint64_t of[2] = {same.dense > 1 ? values[shards.dense.node] : 0,
                            same.experts > 1 ? values[shards.experts.node] : 0};
    const char *const what[2] = {"dense", "expert"};
    uint64_t layers = l->slots.value[SLOT_STAGE_MOE_LAYERS];
    if (!l->slots.value[SLOT_STAGE_HEAD] ||
        (layers && l->slots.value[SLOT_EXPERT_PARAMETERS] % layers))
        return;
    for (unsigned i = 0; i < 2; i++) /* a layer's shard is rounded up on its own */
        if (added[i] < of[i] || added[i] > of[i] + parts[i])
            fail_msg("seed %" PRIu64 ": %" PRIu64
                     " %s parameters added up, shards have %" PRIu64,
                     seed, added[i], what[i], of[i]);
}

/* All of the state is read or written once but for the weights under zero 1 and 2. */
static void check_optimizer(const struct listed *l, uint64_t seed)
{
    uint64_t state = 0, kept = 0;
    for (size_t i = 0; i < l->work.n_held; i++) {
        const struct buffer *buffer = &l->work.buffers[i];
        uint64_t bytes = at(l, buffer->bytes) * at(l, buffer->count);
        if (strstr(buffer->name, "critic_")) /* whose own step updates it */
            continue;
        bool moments = buffer->category == CATEGORY_OPTIMIZER && buffer->state;
        bool master = text_ends(buffer->name, "master_weights");
        bool weights = l->plan.lora.rank ? text_ends(buffer->name, "adapters")
                                         : text_equal(buffer->name, "weights") ||
                                               text_equal(buffer->name, "expert_weights") ||
                                               text_ends(buffer->name, "quantized_weights");
        kept += moments || master ? bytes : 0;
        state += weights && buffer->state ? bytes : 0;
    }
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (!text_equal(op->name, "optimizer"))
            continue;
        uint64_t written = at(l, op->bytes_written);
        bool whole = l->plan.parallel.zero == 0 || l->plan.parallel.zero == 3;
        if (whole ? written != state + kept : written < kept || written > state + kept)
            fail_msg("seed %" PRIu64 ": the optimizer writes %" PRIu64 " bytes of %" PRIu64,
                     seed, written, state + kept);
    }
}

/* What the layer of a segment sends on its way forward. */
static uint64_t sent_by(const struct listed *l, enum segment segment)
{
    uint64_t sent = 0;
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (op->kind == OP_EXCHANGE && op->phase == PHASE_FORWARD && op->segment == segment)
            sent += at(l, op->bytes_sent);
    }
    return sent;
}

/* Rows, width and dtype of what the path sends are the same under every stack: those of the
 * layer that the host performs on the same sample, in each kind of layers that the stage has.
 */
static void check_payload(const struct listed *l, uint64_t seed)
{
    struct arena arena = {0};
    struct work host;
    struct err err = {0};
    uint64_t wanted = 0;
    if (layer_build(&l->plan, false, &arena, &host, &err) == STATUS_OK) {
        uint64_t *values = arena_alloc(&arena, host.sizes.n, sizeof *values);
        assert_true(sizes_eval(&host.sizes, &l->slots, values));
        for (size_t i = 0; i < host.n_ops; i++)
            wanted += values[host.ops[i].bytes_sent.node];
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
            bool routes = segment_has_experts((enum segment)segment) &&
                          at(l, l->work.use[segment].repeat) > 0;
            uint64_t sent = sent_by(l, (enum segment)segment);
            if (routes && sent != wanted)
                fail_msg("seed %" PRIu64 ", %s, %s: %" PRIu64
                         " bytes sent by a layer, by the host's %" PRIu64,
                         seed, words_stack[l->plan.stack.kind], words_path[l->plan.moe.path],
                         sent, wanted);
        }
    }
    arena_release(&arena);
}

static void volumes_follow_closed_forms(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct listed l;
        drawn_plan(seed, DRAWS, &plan);
        if (list_plan(&plan, &l) && evaluate(&l, 0)) {
            for (size_t i = 0; i < l.work.n_ops; i++)
                if (l.work.ops[i].kind == OP_COLLECTIVE)
                    check_volume(&l, &l.work.ops[i], seed);
            check_gathers(&l, seed);
            check_copies(&l, seed);
            check_optimizer(&l, seed);
            if (l.plan.model.moe.experts)
                check_payload(&l, seed);
        }
        arena_release(&l.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_bytes_and_operands),
        cmocka_unit_test(blocks_of_cores_have_gradients),
        cmocka_unit_test(training_flop_is_the_models),
        cmocka_unit_test(volumes_follow_closed_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
