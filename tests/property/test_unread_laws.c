/* plan/read/unread: a key that the table says is not read changes nothing of a prediction; a
 * key that changes nothing is said not to be read, or stands below with the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/read/load.h"
#include "plan/rule/rule.h"
#include "plan/read/unread.h"
#include "plan/read/unread_table.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "support/record.h"
#include "support/shaped_plan.h"
#include "work/stack/stack.h"

enum { KEYS = 512, WORDS = 32, LOOKED_AT = 16, LISTED_AT = 3 };

/* What was seen of each key, over all plans. */
struct seen {
    unsigned unread[KEYS]; /* changed where it is not read */
    bool mattered[KEYS];   /* where it is read, a change of it was one of the prediction */
};

static struct unread_plan of(const struct plan *plan)
{
    return (struct unread_plan){plan, stack_path(plan, NULL)};
}

static bool is_read(const struct field *field, const struct plan *plan, struct arena *arena)
{
    const struct unread_plan asked = of(plan);
    return unread_reason(field, &asked, arena) == NULL;
}

/* ---- keys that are not read ---- */

/* Changes every unread key in turn, each only to what leaves it unread, so that no step may
 * change the prediction. With a record, compares after each step and returns the first field
 * that broke it; without, only goes there. */
static const struct field *walk(const struct plan *plan, uint64_t seed, const char *record,
                                struct plan *other, struct seen *seen)
{
    struct arena arena = {0};
    struct rng rng;
    size_t n;
    const struct field *fields = schema_fields(&n), *broken = NULL;
    rng_init(&rng, draws_seed(seed), 1, 0, 0, 0);
    *other = *plan;
    for (size_t i = 0; i < n && !broken; i++) {
        struct plan next = *other;
        if (is_read(&fields[i], other, &arena) || !plan_alter(&rng, &fields[i], &next) ||
            is_read(&fields[i], &next, &arena))
            continue;
        seen->unread[i]++;
        *other = next;
        if (record && !text_equal(plan_record(other, &arena), record))
            broken = &fields[i];
    }
    arena_release(&arena);
    return broken;
}

static bool has_sound_rows(const struct plan *plan, uint64_t seed, struct seen *seen)
{
    struct arena arena = {0};
    struct plan other;
    const char *record = plan_record(plan, &arena);
    walk(plan, seed, NULL, &other, seen);
    bool same = text_equal(plan_record(&other, &arena), record);
    const struct field *broken = same ? NULL : walk(plan, seed, record, &other, seen);
    if (broken) {
        struct text value = {.arena = &arena};
        const struct unread_plan asked = of(&other);
        schema_print(broken, &other, &value);
        print_error("stack %s, seed %d: %s = %s: %s, but the prediction is another\n",
                    words_stack[plan->stack.kind], (int)seed, broken->key, text_string(&value),
                    unread_reason(broken, &asked, &arena));
    }
    arena_release(&arena);
    return same;
}

/* ---- keys that are read ---- */

/* Draw number i: of words each in turn, of anything else by chance. */
static bool alter(struct rng *rng, const struct field *field, size_t i, struct plan *plan)
{
    struct plan other = *plan;
    struct err err = {0};
    char text[RULE_TEXT], hint[RULE_TEXT];
    if (!field->words)
        return plan_alter(rng, field, plan);
    for (size_t j = 0; j <= i; j++)
        if (!field->words[j])
            return false;
    if (schema_set(field, &other, field->words[i], false, (struct mark){0}, &err) ||
        memcmp(&other, plan, sizeof other) == 0 || !plan_is_complete(&other) ||
        rule_check(&other, text, hint))
        return false;
    *plan = other;
    return true;
}

/* Tries other values; whether one changed the prediction. */
static bool changes(struct rng *rng, const struct field *field, const struct plan *plan,
                    const char *record, unsigned draws, unsigned *compared)
{
    struct arena arena = {0};
    bool changed = false;
    for (size_t i = 0; i < (field->words ? WORDS : draws) && !changed; i++) {
        struct plan other = *plan;
        if (!alter(rng, field, i, &other))
            continue;
        ++*compared;
        changed = !text_equal(plan_record(&other, &arena), record);
    }
    arena_release(&arena);
    return changed;
}

/* Keys that no random plan sees at work. */
static const struct silent {
    const char *key, *why;
} unseen[] = {
    {"name", "a name in results"},
    {"model.name", "a name in results"},
    {"model.moe.shared_experts", "the loader makes the shared width of it"},
    {"cluster.name", "a name in results"},
    {"stack", "the loader reads it"},
    {"stack.calibration_device", "a name in results"},
    {"stack.calibration_tpu", "a name in results"},
    {"stack.random_dummies", "of vLLM's replicas behind DeepEP"},
    {"stack.profile", "names a file, which these plans do not have"},
    {"cluster.device.peak.fp4", "of weights in nvfp4 on an engine"},
    {"model.mtp_first", "of several prediction modules on vLLM, which few plans have"},
    {"model.moe.shortcut", "of layers by turns dense and with experts, which few plans have"},
    {"cluster.device.units", "of profiles with waves of tiles"},
    {"workload.data", "of profiles that time an input pipeline"},
    {"workload.speculation.model", "the loader reads it: the sizes stand for it"},
    {"workload.request_rate", "of plans without a concurrency"},
    {"workload.fit_context", "of a cache that holds no sequence, but for a short one"},
    {"memory.transfer_tokens", "of servers that have a part of requests"},
    {"memory.offload_in_group", "of plans with groups of layers"},
    {"memory.offload_ahead", "of plans with groups of layers"},
    {"stack.graph_padding", "of times, and of batches between the sizes of graphs"},
    {"workload.chunked_prefill", "of prompts that do not fit beside answers"},
    {"workload.balance.timeout", "of replicas whose prompts come at different times"},
    {"workload.balance.wait", "of replicas whose prompts come at different times"},
    {"workload.poll_steps", "of requests that end at different times"},
    {"workload.limit.share", "of plans without a concurrency"},
    {"moe.overlap_decode", "of vLLM's decode steps behind DeepEP, over replicas"},
    {"moe.overlap_prefill", "of vLLM's prompts behind DeepEP, over replicas"},
    {"moe.overlap_balance", "of odd numbers of prompts on SGLang behind DeepEP"},
    {"moe.overlap_single", "of SGLang's decode steps with low-latency exchanges"},
    {"parallel.dp", "checked against what the cluster leaves, derived otherwise"},
    {"parallel.attention_dp", "checked against what tp and pp leave, derived otherwise"},
    {"moe.routing.placement_file", "names a file, which these plans do not have"},
    {"moe.routing.file", "names a file, which these plans do not have"},
    /* of options of training stacks that these plans do not turn on */
    {"cluster.device.fp8_transpose", "of recipes that quantise weights"},
    {"cluster.node.host_memory", "of an optimizer that is offloaded"},
    {"cluster.node.host_bandwidth", "of an optimizer that is offloaded"},
    {"cluster.node.host_memory_bandwidth", "of an optimizer that is offloaded"},
    {"parallel.layout", "a string of stages, which is not drawn"},
    {"recompute.save", "names of tensors, which are not drawn"},
    {"stack.graph_modules", "of partial graphs"},
    {"cluster.device.family", "of profiles that are named after one"},
    {"lora.sharded", "beside an engine's adapters over tp"},
    {"workload.colocated.tp", "beside an engine's model"},
    {"workload.colocated.weights", "beside an engine's model"},
    {"workload.colocated.fraction", "beside an engine's model"},
    {"workload.colocated.away", "beside an engine's model"},
    {"workload.colocated.critic_joint", "beside critics"},
    {"workload.colocated.format", "of frozen copies and means"},
    {"stack.loss_chunks", "of the chunked loss"},
    {"precision.quantized_params", "of recipes that quantise weights"},
    {"precision.plain_first", "of recipes that quantise weights"},
    {"precision.plain_last", "of recipes that quantise weights"},
    {"optimizer.offload_params", "of an optimizer that is offloaded"},
    {"lora.targets", "of adapters"},
    {"lora.share_experts", "of adapters"},
    {"lora.format", "of adapters"},
    {"lora.slots", "of adapters"},
    {"lora.experts", "of adapters"},
    {"lora.fused_experts", "of adapters"},
    {"lora.skip_experts", "of adapters"},
    {"lora.expert_rank", "of adapters"},
    {"lora.plain_format", "of adapters"},
    {"lora.modules_to_save", "of adapters"},
    {"lora.inputs", "of adapters"},
    {"lora.dora", "of adapters"},
    {"frozen.format", "of what is frozen"},
    {"lora.encoder", "of images beside adapters, on two stacks"},
    {"lora.layers", "of adapters"},
    {"lora.ranks", "of adapters"},
    {"precision.fake_inputs", "beside precision.fake_weights, which no drawn plan has"},
    {"stack.delay_wgrad", "of exchanges that another micro-batch hides"},
    {"lora.host", "of adapters"},
    {"lora.language", "of images beside adapters, on two stacks"},
    {"optimizer.active_layers", "of one device that trains a model whole"},
    {"model.rotary", "of rotary tables, of a model that says its longest position"},
    {"model.rotary_beside", "of rotary tables, of a model that says its longest position"},
    {"model.rotary_table", "of a model in vLLM that states its longest sequence"},
    {"model.moe_every", "of as many dense layers as go with it, which a change alone leaves"},
    {"workload.deployments.prefill", "of two pools, which no drawn plan has a part of"},
    {"workload.deployments.decode", "of two pools, which no drawn plan has a part of"},
    {"workload.colocated.whole", "of a model that generates by itself under ZeRO-3"},
    {"lora.rows", "of adapters, at a moment that is not the fullest"},
    {"optimizer.rank", "of projected gradients"},
    {"optimizer.projected", "of projected gradients"},
    {"optimizer.plain_embedding", "of moments in bytes, of a model that is trained whole"},
    {"parallel.attention_cp", "of sglang's ranks that split heads"},
    {"parallel.dcp", "of ranks that hold the same keys and values"},
    {"model.encoder.nested", "of the pool by SGLang's own fraction"},
    {"model.encoder.said_layers", "of the pool by SGLang's own fraction"},
    {"model.encoder.said_hidden", "of the pool by SGLang's own fraction"},
    {"parallel.outer_zero", "of a copy of the weights in every group of dp_shard"},
    {"precision.keep_transpose", "of recipes that quantise weights"},
    {"optimizer.in_backward", "of a layout without experts or stages apart"},
    {"optimizer.sub_group", "of more elements than these models have"},
    {"cluster.network.leaf.nodes", "of tiers, which these two nodes do not have"},
    {"cluster.network.leaf.oversubscription", "of tiers"},
    {"cluster.network.leaf.latency", "of tiers"},
    {"cluster.network.pod.nodes", "of tiers"},
    {"cluster.network.pod.oversubscription", "of tiers"},
    {"cluster.network.pod.latency", "of tiers"},
};

static bool is_listed(const struct silent *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(list[i].key, key))
            return true;
    return false;
}

static bool is_unseen(const char *key)
{
    return is_listed(unseen, sizeof unseen / sizeof *unseen, key);
}

/* Looks for a change by each key that none was seen of yet; by one that is listed as unseen, so
 * that every plan would try it in vain, in the first plans of a stack alone. */
static void look_for_changes(const struct plan *plan, uint64_t seed, struct seen *seen)
{
    struct arena arena = {0};
    struct rng rng;
    size_t n;
    unsigned compared = 0;
    const struct field *fields = schema_fields(&n);
    const char *record = plan_record(plan, &arena);
    rng_init(&rng, draws_seed(seed), 2, 0, 0, 0);
    for (size_t i = 0; i < n; i++)
        if (!seen->mattered[i] && (seed <= LISTED_AT || !is_unseen(fields[i].key)) &&
            is_read(&fields[i], plan, &arena))
            seen->mattered[i] = changes(&rng, &fields[i], plan, record, 3, &compared);
    arena_release(&arena);
}

static uint64_t plans_per_stack(void)
{
    const char *wanted = getenv("MOEPLAN_TEST_PLANS"); /* for a long run by hand */
    return wanted ? strtoull(wanted, NULL, 10) : 24;
}

static bool is_never(const char *key)
{
    for (size_t i = 0; i < unread_rows_n; i++)
        if (text_equal(unread_rows[i].key, key) && unread_rows[i].never)
            return true;
    return false;
}

/* Every key that may be unread was put to the test, every other changed something somewhere. */
static void assert_all_seen(const struct seen *seen)
{
    struct arena arena = {0};
    size_t n;
    unsigned missing = 0;
    const struct field *fields = schema_fields(&n);
    assert_true(n <= KEYS);
    for (size_t i = 0; i < n; i++) {
        bool listed = is_unseen(fields[i].key);
        bool untested = !listed && unread_when(&fields[i], &arena) && !seen->unread[i];
        bool idle = !is_never(fields[i].key) && !seen->mattered[i];
        if (!untested && idle == listed)
            continue;
        print_error("%s: %u times unread, %s%s\n", fields[i].key, seen->unread[i],
                    seen->mattered[i] ? "mattered" : "never mattered",
                    listed ? ", but listed as unseen" : "");
        missing++;
    }
    arena_release(&arena);
    assert_int_equal(missing, 0);
}

/* Puts a small encoder before the model, and packs what it trains on. */
static void encode(struct plan *plan)
{
    plan->model.encoder = (struct encoder){.layers = 2,
                                           .hidden = 64,
                                           .heads = 4,
                                           .intermediate = 96,
                                           .bias = true,
                                           .norm_bias = true,
                                           .inputs = 48,
                                           .merge = 4,
                                           .outputs = 2,
                                           .embedding = 1000,
                                           .projector = 5000,
                                           .on_request = true};
    if (plan->workload.mode != MODE_DECODE)
        plan->workload.encoder.patches = 64;
    plan->workload.encoder.item = 16;
    uint64_t length = plan->workload.sequence_length / 4;
    if (plan->workload.mode == MODE_TRAIN)
        plan->workload.packing = (struct packing){length, 2 * length * length};
}

/* Makes an engine's plan one that answers requests; false where it cannot be one. */
static bool serve(struct plan *plan)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    plan->workload.mode = MODE_SERVE;
    plan->workload.concurrency = 4;
    plan->workload.input_length = 24;
    plan->workload.output_length = 8;
    return plan_is_engine(plan) && plan_is_complete(plan) && !rule_check(plan, text, hint);
}

/* Puts a small draft beside the model, on one stage's devices. */
static void draft(struct plan *plan)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct plan other = *plan;
    uint64_t *devices =
        plan->cluster.nodes > 1 ? &other.cluster.nodes : &other.cluster.node.devices;
    *devices /= plan->parallel.pp;
    other.parallel.pp = other.parallel.vpp = 1;
    other.parallel.stage = 0;
    other.parallel.stages.n = 0;
    other.workload.tokens_per_sequence = 4;
    other.workload.speculation = (struct speculation){.tokens = 2,
                                                      .branches = 1,
                                                      .acceptance = 0.8,
                                                      .method = DRAFT_MODEL,
                                                      .size = {.layers = 2,
                                                               .hidden = 64,
                                                               .heads = 16,
                                                               .kv_heads = 8,
                                                               .head_dim = 8,
                                                               .intermediate = 128,
                                                               .vocab = 1024}};
    if (plan->model.attention.kind == ATTENTION_SHARED_KV) { /* layers of its own */
        other.workload.speculation.method = DRAFT_DSPARK;
        other.model.dspark = (struct dspark){.layers = 2, .inputs = 3, .rank = 16};
    }
    if (!rule_check(&other, text, hint))
        *plan = other;
}

/* A checkpoint of two formats, as the model or the plan says it. */
static void part(struct plan *plan, uint64_t seed)
{
    static const struct enum_list parts = {3, {PART_ATTENTION, PART_DENSE, PART_SHARED}};
    plan->model.checkpoint = plan->precision.weights = DTYPE_INT8;
    if (seed % 2)
        plan->precision.plain = parts;
    else
        plan->model.plain = parts;
}

/* The same on one rank; false where it cannot be. */
static bool alone(const struct plan *plan, struct plan *out)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    *out = *plan;
    struct parallel *p = &out->parallel;
    out->cluster.nodes = out->cluster.node.devices = out->cluster.device.logical_cores = 1;
    p->tp = p->cp = p->pp = p->vpp = p->ep = p->etp = 1;
    p->dp = p->stage = p->stages.n = 0;
    p->sp = false;
    return !rule_check(out, text, hint);
}

static void unread_keys_change_nothing(void **state)
{
    (void)state;
    static struct seen seen;
    unsigned wrong = 0;
    for (uint64_t seed = 1; seed <= plans_per_stack(); seed++)
        for (unsigned stack = 0; stack < STACK_COUNT; stack++) {
            static struct plan plan;
            if (!plan_shaped(&plan, (enum stack_kind)stack, seed))
                fail_msg("no plan of stack %s from seed %d", words_stack[stack], (int)seed);
            if (seed % 2)
                encode(&plan);
            wrong += !has_sound_rows(&plan, seed, &seen);
            if (seed <= LOOKED_AT)
                look_for_changes(&plan, seed, &seen);
            static struct plan single, parted;
            if (seed <= LOOKED_AT && alone(&plan, &single))
                wrong += !has_sound_rows(&single, seed, &seen);
            if (seed > LOOKED_AT || !serve(&plan))
                continue;
            parted = plan;
            part(&parted, seed);
            wrong += !has_sound_rows(&parted, seed, &seen);
            look_for_changes(&parted, seed, &seen);
            draft(&plan);
            wrong += !has_sound_rows(&plan, seed, &seen);
            look_for_changes(&plan, seed, &seen);
        }
    assert_int_equal(wrong, 0);
    if (draws_are_own())
        assert_all_seen(&seen);
}

/* ---- the examples ---- */

/* Those that cost most stand last: what is silent before is not looked for there. */
static const char *const examples[] = {
    "host-collective",          "host-small",
    "maxtext-mixtral-8x7b-v5p", "megatron-qwen3-30b-h100",
    "seed000-primus-turbo",     "seed001-rdep",
    "seed002-neuron-decode",    "seed002-neuron-prefill",
    "seed003-tpu-v5e",          "torchtitan-deepseek-16b-b200",
    "vllm-deepseek-v3-h200",    "host-deepseek-rank",
};

/* Keys that change nothing of some example and have no note there. */
static const struct silent silents[] = {
    {"name", "a name in results"},
    {"model", "a name in results once it is loaded"},
    {"model.name", "a name in results"},
    {"model.moe_every", "says which layers are dense: here all are, or none"},
    {"model.layer_types", "full, as without it: others need sizes that no example has"},
    {"model.moe.shared_experts", "the loader makes the shared width of it"},
    {"cluster", "a name in results once it is loaded"},
    {"cluster.name", "a name in results"},
    {"cluster.device.name", "a name in results"},
    {"cluster.device.family", "of profiles that are named after one"},
    {"cluster.mesh", "a mesh of another shape is a line as long"},
    {"stack", "a name in results once it is loaded"},
    {"cluster.device.units", "of profiles with waves of tiles"},
    {"workload.data", "of profiles that time an input pipeline"},
    {"stack.overlap.ep", "of exchanges"},
    {"stack.overlap.dp", "of gathers and reductions"},
    {"stack.overlap.pp", "of pipelines"},
    {"stack.overlap.tp", "of tensor-parallel groups"},
    {"moe.routing.layers", "of more than one MoE layer"},
    {"workload.steps", "the chance of a run is said where few samples bound it"},
    {"parallel.dp", "checked against what the cluster leaves"},
    {"parallel.ep", "of experts: a matmul without them has it where it has copies"},
    {"parallel.etp", "of experts, as parallel.ep"},
    {"moe.path", "of experts: not of a matmul of a model without them"},
    {"parallel.zero", "shares out among copies of which there is one"},
    /* what the list of ops reads: where no op here computes, sends or stores in that way */
    {"model.moe.scale", "an op more where gates multiply the input"},
    {"model.moe.shared_gate", "an op of shared experts"},
    {"model.moe.bias", "of the layer that run performs, or of matmuls beside it"},
    {"cluster.device.peak.f32", "the rate of another precision.compute"},
    {"cluster.device.peak.bf16", "the rate of another precision.compute"},
    {"cluster.device.peak.fp8", "the rate of another precision.compute"},
    {"cluster.node.link_latency", "of groups inside a node"},
    {"cluster.node.link_devices", "of links that nodes have between them"},
    {"stack.calibration_device", "a name in results"},
    {"stack.calibration_tpu", "of TPUs"},
    {"stack.calibration", "of devices that are no TPUs"},
    {"cluster.node.link_jitter", "of the tails of times, beside the expected ones"},
    {"cluster.network.jitter", "of the tails of times, beside the expected ones"},
    {"cluster.network.bandwidth", "of groups that cross nodes"},
    {"cluster.network.latency", "of groups that cross nodes"},
    {"cluster.network.leaf.nodes", "of tiers that are narrower or farther"},
    {"cluster.network.pod.nodes", "of tiers that are narrower or farther"},
    {"workload.context_length", "of a cache that a decode step reads"},
    {"workload.shared_prefix", "counts whole blocks of the cache"},
    {"parallel.order", "all orders place the groups alike"},
    {"moe.matmul", "decides how a grouped product is made"},
    {"moe.shared", "decides where shared experts stand"},
    {"precision.gradients", "of gradients that are reduced"},
    {"precision.dispatch", "of rows on their way"},
    {"precision.kv_cache", "of a cache"},
    {"model.moe.router.groups", "balance is asserted: nothing is drawn"},
    {"workload.scenario", "balance is asserted: nothing is drawn"},
    {"moe.skip.static", "fewer blocks are fixed than hold tokens"},
    {"moe.expert_tokens", "of steps with more tokens than a chunk"},
    {"cluster.device.l2", "of profile runs whose peak is not their sampler's"},
};

static void load_example(const char *name, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    const char *file = arena_printf(arena, "examples/%s.yaml", name);
    const struct override few = {"moe.routing.samples", "8", "--set moe.routing.samples=8"};
    if (plan_load(file, &few, 1, arena, plan, NULL, &err))
        fail_msg("%s: %s", err.where, err.text);
}

enum { SILENTS = sizeof silents / sizeof *silents };

/* A sample takes every key of some example, each example its own, and half as many as other
 * tests do, as there are thousands; and those that are listed in every one until they are found
 * silent. */
static bool is_taken(const char *key, size_t number, const bool *stale)
{
    unsigned share = draws_share();
    if (number % (share > 1 ? 2 * share : 1) == 0)
        return true;
    for (size_t j = 0; j < SILENTS; j++)
        if (stale[j] && text_equal(silents[j].key, key))
            return true;
    return false;
}

/* Prints the keys that are not in the list; marks those that are. Counts the keys that are
 * taken. */
static unsigned silent_keys(size_t example, const struct plan *plan, bool *stale, size_t *taken)
{
    enum { DRAWS = 16, MORE_DRAWS = 160 };
    const char *name = examples[example];
    struct arena arena = {0};
    struct rng rng;
    size_t n;
    unsigned wrong = 0;
    const struct field *fields = schema_fields(&n);
    const char *record = plan_record(plan, &arena);
    for (size_t i = 0; i < n; i++) {
        unsigned compared = 0;
        if (!is_taken(fields[i].key, i + example, stale))
            continue;
        ++*taken;
        rng_init(&rng, draws_seed(1), 3, (uint32_t)i, 0, 0); /* the same values in a sample */
        bool listed = is_listed(silents, SILENTS, fields[i].key);
        if (!is_read(&fields[i], plan, &arena) ||
            changes(&rng, &fields[i], plan, record, DRAWS, &compared) || !compared ||
            (!listed && changes(&rng, &fields[i], plan, record, MORE_DRAWS, &compared)))
            continue;
        if (!listed) {
            print_error("%s: %s changes nothing and has no note\n", name, fields[i].key);
            wrong++;
        }
        for (size_t j = 0; j < SILENTS; j++)
            stale[j] = stale[j] && !text_equal(silents[j].key, fields[i].key);
    }
    arena_release(&arena);
    return wrong;
}

static void examples_keep_no_silence(void **state)
{
    (void)state;
    bool stale[SILENTS];
    size_t taken = 0, keys;
    unsigned wrong = 0;
    memset(stale, true, sizeof stale);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct arena arena = {0};
        static struct plan plan;
        load_example(examples[i], &arena, &plan);
        wrong += silent_keys(i, &plan, stale, &taken);
        arena_release(&arena);
    }
    for (size_t j = 0; draws_are_own() && j < SILENTS; j++)
        if (stale[j])
            print_error("%s is listed, but is silent in no example\n", silents[j].key);
    schema_fields(&keys);
    printf("%zu of %zu keys of examples\n", taken, keys * (sizeof examples / sizeof *examples));
    assert_int_equal(wrong, 0);
    for (size_t j = 0; draws_are_own() && j < SILENTS; j++)
        assert_false(stale[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unread_keys_change_nothing),
        cmocka_unit_test(examples_keep_no_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
