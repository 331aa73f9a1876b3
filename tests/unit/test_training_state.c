/* What a training step keeps and makes, to the byte: the worked table of training-stacks.md 8
 * and the formulas of its section 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "sim/memory/memory.h"
#include "support/plans.h"
#include "work/stack/stack.h"

struct held {
    uint64_t state, step, host;
};

/* What the rank of a plan holds as state, what the update makes beside it, what waits in host
 * memory. The plan: Qwen3-30B-A3B on 8 devices, ep 8, then the row's own keys. */
static struct held held_by(const char *set)
{
    static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\n"
                               "stack: megatron\nparallel: {ep: 8, zero: 1}\n";
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    struct held held = {0};
    plan_set(base, set, &arena, &plan);
    if (work_build(&plan, &arena, &work, &err))
        fail_msg("%s: %s", set, err.text);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    for (size_t i = 0; i < work.n_buffers; i++) {
        const struct buffer *b = &work.buffers[i];
        held.state += b->state ? values[b->all.node] : 0;
        held.step +=
            b->segment == SEGMENT_STEP && b->life == LIFE_TRANSIENT ? values[b->all.node] : 0;
    }
    for (size_t i = 0; i < work.n_host; i++)
        held.host += values[work.host[i].bytes.node];
    arena_release(&arena);
    return held;
}

struct row {
    const char *set;
    struct held held;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct held held = held_by(rows[i].set);
        print_message("%s\n", rows[i].set);
        assert_int_equal(held.state, rows[i].held.state);
        assert_int_equal(held.step, rows[i].held.step);
        assert_int_equal(held.host, rows[i].held.host);
    }
}

#define BF16_GRADIENTS "precision.gradients=bf16 "
#define NATIVE "optimizer.precision_aware=native "

static void worked_states(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", {76788016128, 0, 0}},
        {BF16_GRADIENTS, {66458072064, 15266061312, 0}},
        {NATIVE "precision.moments=bf16", {53888924160, 0, 0}},
        {BF16_GRADIENTS "optimizer.precision_aware=copied precision.moments=bf16",
         {51192010752, 15266061312, 0}},
        {NATIVE "precision.moments=fp8 precision.moment2=f16", {50072408832, 30532122624, 0}},
        {NATIVE "optimizer.offload=1", {30989832192, 0, 61064245248}},
        {"parallel.zero=0", {92969496576, 0, 0}},
        {"stack=generic parallel.ep=1 parallel.zero=2 precision.gradients=bf16 "
         "precision.master=f32 precision.moments=f32",
         {114495459840, 0, 0}},
        {"stack=generic parallel.ep=1 parallel.zero=3 precision.gradients=bf16 "
         "precision.master=f32 precision.moments=f32",
         {61064245248, 0, 0}},
        {"stack=torchtitan parallel.ep=1 parallel.zero=3", {61064245248, 0, 0}},
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 optimizer.step=foreach",
         {61064245248, 15266061312, 0}},
        /* in the second moment's format */
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 optimizer.step=foreach "
         "precision.moments=bf16",
         {61064245248 - 15266061312, 7633030656, 0}},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* P/d = 3,816,515,328 parameters to update: 192,636,672 dense, 3,623,878,656 of experts. */
static void other_optimizers(void **state)
{
    (void)state;
    static const uint64_t weights_and_gradients = 30989832192, master = 15266061312;
    static const uint64_t shard = 3816515328;
    static const uint64_t scales = 192636672 / 256 + 3623878656 / 256;
    const struct row rows[] = {
        {"optimizer.kind=lion", {weights_and_gradients + master + 4 * shard, 0, 0}},
        {"optimizer.kind=sgd precision.moments=none", {weights_and_gradients + master, 0, 0}},
        {"optimizer.kind=adam8bit",
         {weights_and_gradients + master + 2 * shard + 8 * scales, 0, 0}},
        {"optimizer.kind=lion8bit",
         {weights_and_gradients + master + shard + 4 * scales, 0, 0}},
        {"optimizer.kind=adam4bit",
         {weights_and_gradients + master + shard + 8 * scales, 0, 0}},
        {"optimizer.kind=ademamix", {weights_and_gradients + master + 12 * shard, 0, 0}},
        {"optimizer.kind=ademamix8bit",
         {weights_and_gradients + master + 3 * shard + 12 * scales, 0, 0}},
        {"optimizer.kind=rmsprop", {weights_and_gradients + master + 4 * shard, 0, 0}},
        {"optimizer.kind=rmsprop8bit",
         {weights_and_gradients + master + shard + 4 * scales, 0, 0}},
        /* an f32 master loses nothing by rounding */
        {"optimizer.kind=kahan_adam", {weights_and_gradients + master + 8 * shard, 0, 0}},
        {"optimizer.kind=schedule_free", {weights_and_gradients + master + 8 * shard, 0, 0}},
        /* half of the states away, Megatron's master of all of them here */
        {"optimizer.offload=0.5",
         {weights_and_gradients + master + 8 * shard / 2, 0, 16 * shard / 2}},
        {NATIVE "optimizer.offload=0.5",
         {weights_and_gradients + 12 * shard / 2, 0, 16 * shard / 2}},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* FSDP2 over 8 ranks of P parameters, all in bf16: weights, gradients, two moments, and what
 * rounding takes, 2 bytes each; three moments of which wait on the host with a gradient in f32;
 * lists of f32 roots. */
static void states_of_a_trainer(void **state)
{
    (void)state;
    static const uint64_t part = UINT64_C(30532122624) / 8;
    static const uint64_t table = UINT64_C(151936) * 2048;
#define TRAINER                                                                                \
    "stack=fsdp parallel.ep=1 parallel.zero=3 precision.weights=bf16 "                         \
    "precision.gradients=bf16 precision.moments=bf16 precision.master=none optimizer.kind="
    static const struct row rows[] = {
        {TRAINER "adam", {8 * part, 0, 0}},
        {TRAINER "kahan_adam", {10 * part, 0, 0}},
        {TRAINER "kahan_adam precision.weights=f32", {10 * part, 0, 0}},
        {TRAINER "ademamix", {10 * part, 0, 0}},
        {TRAINER "ademamix optimizer.offload=1 optimizer.offload_params=true",
         {0, 0, (12 + 4 + 2) * part}},
        {TRAINER "schedule_free optimizer.step=foreach", {8 * part, 2 * part, 0}},
        {TRAINER "rmsprop optimizer.step=foreach", {6 * part, 2 * part, 0}},
    };
    check(rows, sizeof rows / sizeof *rows);
    /* the embedding's moments in f32, which no rank shares: 8 bytes for 2 and a scale per 256
     */
#define WHOLE TRAINER "adam8bit parallel.zero=0 "
    assert_int_equal(held_by(WHOLE "optimizer.plain_embedding=true").state,
                     held_by(WHOLE).state + 6 * table - 8 * table / 256);
    assert_int_equal(
        held_by(WHOLE "optimizer.plain_embedding=true lora.rank=8 lora.targets=[q_proj]").state,
        held_by(WHOLE "lora.rank=8 lora.targets=[q_proj]").state);
}

/* Momentum of everything; a second moment of the embedding, the head, and the norms: 2 of H and
 * 2 of the head size in each of 48 layers, one at the end. */
static void muon_keeps_a_second_moment_of_what_is_no_matrix(void **state)
{
    (void)state;
    uint64_t plain = 2 * UINT64_C(151936) * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048;
    struct held muon = held_by("optimizer.kind=muon"), lion = held_by("optimizer.kind=lion");
    assert_int_equal(muon.state - lion.state, 4 * ((plain + 7) / 8));
    /* among those that share a copy, of which there are two */
    muon = held_by("optimizer.kind=muon parallel.dp_shard=4");
    lion = held_by("optimizer.kind=lion parallel.dp_shard=4");
    assert_int_equal(muon.state - lion.state, 4 * ((plain + 3) / 4));
    /* adapters are all matrices */
    muon = held_by("optimizer.kind=muon lora.rank=8");
    assert_int_equal(muon.state, held_by("optimizer.kind=lion lora.rank=8").state);
}

/* Sums per row and per column: of qkv, output, router and the two tables; of 16 experts' two
 * matrices on this rank. */
static void adafactor_keeps_rows_and_columns(void **state)
{
    (void)state;
    uint64_t layer = (2048 + 5120) + (4096 + 2048) + (2048 + 128);
    uint64_t dense = 48 * layer + 2 * (151936 + 2048);
    uint64_t experts = 48 * UINT64_C(16) * ((2048 + 1536) + (768 + 2048));
    struct held none = held_by("optimizer.kind=sgd precision.moments=none");
    struct held adafactor = held_by("optimizer.kind=adafactor");
    assert_int_equal(adafactor.state - none.state, 4 * ((dense + 7) / 8) + 4 * experts);
    /* adapters' two sides of both matrices, of q and of gate_proj; nothing of the tables */
#define ADAPTERS " lora.rank=8 lora.targets=[q_proj,gate_proj]"
    none = held_by("optimizer.kind=sgd precision.moments=none" ADAPTERS);
    adafactor = held_by("optimizer.kind=adafactor" ADAPTERS);
    dense = 48 * (2048 + 8 + 8 + 4096);
    experts = 48 * UINT64_C(16) * (2048 + 8 + 8 + 768);
    assert_int_equal(adafactor.state - none.state, 4 * (dense / 8) + 4 * experts);
}

#define SHARDED "stack=torchtitan parallel.ep=1 parallel.zero=3 "
#define EMBEDDING (UINT64_C(151936) * 2048) /* the largest weight, gathered to be copied */

/* training-stacks.md 7: Qwen3-30B on 8 devices: actor 56.87 GiB, reference 7.11, an engine over
 * two devices 28.44 of weights, while it generates. */
static void models_beside_training(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 workload.colocated.reference=1",
         {61064245248 + 7633030656, 0, 0}},
        {SHARDED "workload.colocated.reference=1 workload.colocated.format=f32 "
                 "workload.colocated.passes=1",
         {61064245248 + 2 * UINT64_C(7633030656), 0, 0}},
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 workload.colocated.engine=asleep "
         "workload.colocated.tp=2 workload.colocated.fraction=0 "
         "workload.colocated.parameters=8000000000",
         {61064245248 + 2000000000, 30532122624 + 4 * EMBEDDING, 0}},
        /* of fp8 in blocks (30532122624 - 2 x 311164928) / 2 in 7302196 columns of 2048: a byte
         * each, 4 of 16 x 57049 blocks; embedding and head in 16 bits */
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 workload.colocated.engine=asleep "
         "workload.colocated.tp=2 workload.colocated.fraction=0 "
         "workload.colocated.weights=fp8_block",
         {61064245248, UINT64_C(7302196) * 2048 + 4 * 16 * 57049 + (2 + 4) * EMBEDDING, 0}},
        /* a critic: 12 bytes a parameter of f32 over 8, without gradients; Megatron's with
         * them: 2 + 4 of whole ones, 12 of a rank's share */
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 workload.colocated.critic=1",
         {61064245248 + 12 * UINT64_C(30532122624) / 8, 0, 0}},
        {"workload.colocated.critic=1", {2 * UINT64_C(76788016128), 0, 0}},
        /* in the same pass: with its gradients, twice all there is */
        {"stack=fsdp parallel.ep=1 parallel.zero=3 precision.weights=f32 "
         "precision.gradients=f32 precision.master=none moe.path=ragged_a2a "
         "workload.colocated.critic=1 workload.colocated.critic_joint=true",
         {2 * UINT64_C(61064245248), 0, 0}},
        {"stack=torchtitan parallel.ep=1 parallel.zero=3 workload.colocated.engine=awake",
         {61064245248, 0, 0}},
        /* in host memory: the reference, the critic without Megatron's buffer of gradients */
        {SHARDED "workload.colocated.reference=2 workload.colocated.away=[reference]",
         {61064245248, 0, 2 * UINT64_C(7633030656)}},
        {"workload.colocated.critic=1 workload.colocated.away=[critic]",
         {76788016128, 0, 76788016128 - 20659888128}},
        /* of it weights alone, or moments; a critic of 8 billion parameters of its own: 12
         * bytes each over 8, of Megatron 2 + 4 whole ones and 12 over 8 */
        {SHARDED "workload.colocated.critic=1 workload.colocated.away=[critic_weights]",
         {61064245248 + 30532122624, 0, 15266061312}},
        {SHARDED "workload.colocated.critic=1 workload.colocated.away=[critic_states]",
         {61064245248 + 15266061312, 0, 30532122624}},
        {SHARDED "workload.colocated.critic_parameters=8000000000",
         {61064245248 + 12000000000, 0, 0}},
        {"workload.colocated.critic_parameters=8000000000",
         {76788016128 + 48000000000 + 12000000000, 0, 0}},
        {"workload.colocated.critic_parameters=8000000000 "
         "workload.colocated.away=[critic_states]",
         {76788016128 + 48000000000, 0, 12000000000}},
        /* running means, and a reward model, both where they are */
        {SHARDED "workload.colocated.average=1", {61064245248 + 7633030656, 0, 0}},
        {SHARDED "workload.colocated.average=1 workload.colocated.parameters=8000000000 "
                 "workload.colocated.away=[average,frozen]",
         {61064245248, 0, 7633030656 + 2000000000}},
    };
    check(rows, sizeof rows / sizeof *rows);
}

/* What a device holds beside an engine that generates, and while the engine's weights are
 * filled; what the node holds. `engine`: weights and cache. */
struct turn {
    uint64_t rollout, sync, host, engine;
};

static struct turn turn_by(const char *set)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    struct turn turn = {0};
    plan_set("model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: megatron\n"
             "parallel: {ep: 8, zero: 1}\n"
             "workload: {colocated: {engine: asleep, tp: 2, fraction: 0.5}}\n",
             set, &arena, &plan);
    if (work_build(&plan, &arena, &work, &err))
        fail_msg("%s: %s", set, err.text);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    for (uint16_t t = 0; t < work.n_ticks; t++) {
        const struct memory_peak at = {.segment = SEGMENT_STEP, .tick = t};
        uint64_t sum = 0;
        for (size_t i = 0; i < work.n_buffers; i++) {
            const struct buffer *b = &work.buffers[i];
            bool model = b->category == CATEGORY_WEIGHTS || b->category == CATEGORY_KV_CACHE;
            if (b->state || model)
                sum += memory_bytes_at_peak(&work, values, b, 0, &at);
        }
        turn.rollout += text_equal(work.ticks[t].name, "rollout") ? sum : 0;
        turn.sync += text_equal(work.ticks[t].name, "sync") ? sum : 0;
    }
    for (size_t i = 0; i < work.n_host; i++)
        turn.host += values[work.host[i].bytes.node];
    turn.engine = plan_rank_memory(&plan) / 2;
    arena_release(&arena);
    return turn;
}

/* training-stacks.md 7. FSDP over 8: 4 bytes of weights and 8 of moments a parameter, no
 * gradients between steps. Megatron: 2 of weights and 4 of gradients of what a rank holds, 12
 * of its share; the gradients' buffer is freed with the weights. The engine's weights are
 * 28.44 GiB. Weights are back to be copied. */
static void what_waits_while_the_engine_generates(void **state)
{
    (void)state;
    static const uint64_t weights = 15266061312, moments = 30532122624, engine = 30532122624;
    static const uint64_t held = 10329944064, buffers = 20659888128, states = 45798183936;
    const struct {
        const char *set;
        uint64_t rollout, sync, host; /* without the engine */
    } rows[] = {
        {SHARDED, weights + moments, weights + moments, 0},
        {SHARDED "workload.colocated.away=[states]", weights, weights, moments},
        {SHARDED "workload.colocated.away=[weights]", moments, weights + moments, weights},
        {SHARDED "workload.colocated.away=[weights,states]", 0, weights, weights + moments},
        {SHARDED "parallel.reshard=never workload.colocated.away=[weights,states]", 0, weights,
         weights + moments}, /* what stays gathered does so until backward is through */
        /* the engine's weights, pinned */
        {SHARDED "workload.colocated.away=[engine]", weights + moments, weights + moments,
         engine},
        {"workload.steps=1000", held + buffers + states, held + buffers + states, 0},
        {"workload.colocated.away=[states]", held + buffers, held + buffers, states},
        {"workload.colocated.away=[weights]", states, held + states, held},
        {"workload.colocated.away=[states,weights]", 0, held, held + states},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool sharded = text_starts(rows[i].set, SHARDED);
        struct turn turn = turn_by(rows[i].set);
        print_message("%s\n", rows[i].set);
        assert_int_equal(turn.rollout, rows[i].rollout + turn.engine);
        assert_int_equal(turn.sync, rows[i].sync + engine + (sharded ? 4 : 2) * EMBEDDING);
        assert_int_equal(turn.host, rows[i].host);
    }
}

/* Sixteen answers of 4,096 tokens in 16 bits by the model that is trained: Qwen3-30B keeps
 * 2 x 4 x 128 numbers a token in 48 layers, of which one's half is copied; gpt-oss in 18 of 36
 * layers 128 tokens alone; DeepSeek-V3 keys of 192 and values of 128 of 128 heads. ZeRO-3
 * gathers all weights. */
static void the_model_generates_itself(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n"
                               "workload: {sequence_length: 4096, colocated: {sequences: 16}}\n"
                               "parallel: {zero: 3}\nprecision: {weights: bf16}\n";
    static const struct {
        const char *set, *buffer;
        uint64_t bytes;
    } rows[] = {
        {"", "generated_cache", UINT64_C(48) * 16 * 4096 * 1024 * 2},
        {"", "generated_cache_copy", UINT64_C(16) * 4096 * 512 * 2},
        {"", "generating_weights", 0},
        {"model=gpt-oss-120b", "generated_cache", UINT64_C(18) * 16 * (4096 + 128) * 1024 * 2},
        {"model=deepseek-v3", "generated_cache", UINT64_C(61) * 16 * 4096 * 128 * 320 * 2},
        {"stack=deepspeed", "generating_weights", UINT64_C(30532122624) * 2},
        {"stack=deepspeed workload.colocated.whole=false", "generating_weights", 0},
        {"stack=deepspeed workload.colocated.whole=false", "live_parameters",
         UINT64_C(1000000000) * 2},
        {"workload.colocated.engine=awake", "generated_cache", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        uint64_t bytes = 0;
        plan_build(text, rows[i].set, false, &b);
        for (size_t k = 0; k < b.work.n_buffers; k++)
            if (text_equal(b.work.buffers[k].name, rows[i].buffer))
                bytes += memory_buffer_bytes(&b.work, b.values, &b.work.buffers[k]);
        assert_int_equal(bytes, rows[i].bytes);
        arena_release(&b.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_states),
        cmocka_unit_test(other_optimizers),
        cmocka_unit_test(states_of_a_trainer),
        cmocka_unit_test(muon_keeps_a_second_moment_of_what_is_no_matrix),
        cmocka_unit_test(adafactor_keeps_rows_and_columns),
        cmocka_unit_test(models_beside_training),
        cmocka_unit_test(what_waits_while_the_engine_generates),
        cmocka_unit_test(the_model_generates_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
