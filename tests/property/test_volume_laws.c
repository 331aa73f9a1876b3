/* Laws of what the complete list sends and holds, on random plans of every stack and mode:
 * collectives follow their closed forms, sharded weights are gathered whole, the optimizer
 * touches the state, and what the experts' exchange sends is what the host's layer sends. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "plan/schema/schema.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "support/listed.h"
#include "work/layer/layer.h"
#include "work/piece/lora.h"
#include "work/piece/state.h"
#include "work/stack/stack.h"

enum { DRAWS = 480 };

static uint64_t ranks_of(const struct plan *plan, enum process_group group)
{
    const struct parallel *p = &plan->parallel;
    struct sharers shard = plan_sharers(plan), same = plan_replicas(plan);
    struct sharers second = plan_second_sharers(plan);
    bool engine = plan_is_engine(plan); /* its context ranks have tokens of their own */
    const uint64_t ranks[GROUP_COUNT] = {[GROUP_TP] = p->tp,
                                         [GROUP_CP] = p->cp,
                                         [GROUP_EP] = p->ep,
                                         [GROUP_ETP] = p->etp,
                                         [GROUP_DP] = plan_dp(plan) * p->cp,
                                         [GROUP_EDP] = plan_expert_dp(plan),
                                         [GROUP_REPLICAS] =
                                             plan_dp(plan) * (engine ? p->cp : 1),
                                         [GROUP_DCP] = engine_cache_ranks(plan),
                                         [GROUP_HEADS] = engine_attention_ranks(plan),
                                         [GROUP_PROMPT] = engine_prompt_ranks(plan),
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
    uint64_t src = listed_at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_SRC)].bytes);
    uint64_t dst = listed_at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].bytes);
    uint64_t full = src > dst ? src : dst, expected;
    unsigned how = op->args.collective.how;
    if (how == SEND)
        return;
    if (op->group == GROUP_ETP && how != ALL_REDUCE)
        return; /* of used rows: the buffers reserve more */
    times = how == ALL_REDUCE ? 2 : 1;
    if (text_starts(op->name, "reduce_loss"))
        full = dst; /* three numbers a row */
    if (text_equal(op->name, "gather_images"))
        full = dst; /* of one product that stands for the whole projector */
    if (text_starts(op->name, "back_reduce_loss"))
        return;
    expected = how == RING ? full * (n - 1) * (op->phase == PHASE_BACKWARD ? 2 : 1)
                           : (full - ceil_div(full, n)) * times;
    if (listed_at(l, op->bytes_sent) != expected ||
        listed_at(l, op->bytes_received) != expected)
        fail_msg("seed %" PRIu64 ": '%s' over %" PRIu64 " ranks sends %" PRIu64
                 ", its closed form is %" PRIu64,
                 seed, op->name, n, listed_at(l, op->bytes_sent), expected);
}

/* Adapters of the stage, of those parts that have sharers: gathered with what they stand
 * beside.
 */
static uint64_t adapters_gathered(struct listed *l, bool dense, bool experts)
{
    if (!lora_is_on(&l->plan))
        return 0;
    struct lora_sum sum = lora_parameters(&l->plan, &l->work.sizes);
    struct size saved = lora_saved(&l->plan, &l->work.sizes);
    sum.dense = size_add(&l->work.sizes, sum.dense, saved);
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
            gathered +=
                listed_at(l, op->layers) *
                listed_at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].dims[0]);
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
        added[experts] +=
            listed_at(l, op->layers) *
            listed_at(l, l->work.buffers[op_buffer(&l->work, op, ROLE_DST)].dims[0]);
        parts[experts] += listed_at(l, op->layers);
    }
    struct sizes *z = &l->work.sizes;
    struct shards shards = step_trained(&l->plan, &l->work, 1); /* nodes behind the list's */
    struct shards saved = {lora_saved(&l->plan, z), size_const(z, 0)};
    shards.dense = size_add(z, shards.dense, step_share_out(&l->plan, z, saved, 1).dense);
    uint64_t *values = arena_alloc(&l->arena, l->work.sizes.n, sizeof *values);
    sizes_eval(&l->work.sizes, &l->slots, values);
    const uint64_t of[2] = {same.dense > 1 ? values[shards.dense.node] : 0,
                            same.experts > 1 ? values[shards.experts.node] : 0};
    const char *const what[2] = {"dense", "expert"};
    uint64_t layers = l->slots.value[SLOT_STAGE_MOE_LAYERS];
    if (!l->slots.value[SLOT_STAGE_HEAD] ||
        (layers && l->slots.value[SLOT_EXPERT_PARAMETERS] % layers))
        return;
    /* a layer's shard is rounded up on its own, and once with modules that are saved beside it
     */
    for (unsigned i = 0; i < 2; i++)
        if (added[i] + lora_is_on(&l->plan) < of[i] || added[i] > of[i] + parts[i])
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
        uint64_t bytes = listed_at(l, buffer->bytes) * listed_at(l, buffer->count);
        bool critics = text_ends(buffer->name, "critic_moments"); /* updated in its own turn */
        bool turned = text_equal(buffer->name, "projections");    /* every 200 steps: GaLore */
        bool moments =
            buffer->category == CATEGORY_OPTIMIZER && buffer->state && !critics && !turned;
        bool master = text_ends(buffer->name, "master_weights") ||
                      text_equal(buffer->name, "saved_modules_master");
        bool weights = l->plan.lora.rank ? text_ends(buffer->name, "adapters") ||
                                               text_equal(buffer->name, "saved_modules")
                                         : text_equal(buffer->name, "weights") ||
                                               text_equal(buffer->name, "expert_weights") ||
                                               text_ends(buffer->name, "quantized_weights");
        kept += moments || master ? bytes : 0;
        state += weights && buffer->state ? bytes : 0;
    }
    uint64_t written = 0;
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (text_equal(op->name, "optimizer_of_modules"))
            written += listed_at(l, op->bytes_written);
    }
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (!text_equal(op->name, "optimizer"))
            continue;
        written += listed_at(l, op->bytes_written);
        bool whole = l->plan.parallel.zero == 0 || l->plan.parallel.zero == 3;
        bool one = plan_trains_one_layer(&l->plan); /* states are of all layers in turn */
        uint64_t least = one ? 0 : kept, most = state + kept;
        if (whole && !one ? written != most : written < least || written > most)
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
            sent += listed_at(l, op->bytes_sent);
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
    uint64_t *values = NULL;
    if (layer_build(&l->plan, false, &arena, &host, &err) == STATUS_OK)
        values = arena_alloc(&arena, host.sizes.n, sizeof *values);
    /* what the host holds beside may be past 64 bits where the stack's list is not */
    if (values && sizes_eval(&host.sizes, &l->slots, values)) {
        for (size_t i = 0; i < host.n_ops; i++)
            wanted += values[host.ops[i].bytes_sent.node];
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
            bool routes = segment_has_experts((enum segment)segment) &&
                          listed_at(l, l->work.use[segment].repeat) > 0;
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
        if (listed_plan(&plan, &l) && listed_evaluate(&l, 0)) {
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
        cmocka_unit_test(volumes_follow_closed_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
