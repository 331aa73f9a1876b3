/* Adapters beside frozen weights: parameters, states, what a layer still saves
 * (training-stacks.md 5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/list/kernel.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n"
                           "parallel: {zero: 0}\nprecision: {weights: bf16}\n"
                           "lora: {experts: linear}\n";

static uint64_t state_bytes(const char *set)
{
    return plan_state_bytes(base, set);
}

/* What a list has kept of its adapters is what they are. */
static void a_list_keeps_their_sum(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build(base, "lora.rank=8 ", false, &b);
    assert_true(b.work.adapters.known);
    struct lora_sum sum = lora_parameters(&b.plan, &b.work.sizes);
    assert_int_equal(b.work.adapters.dense.node, sum.dense.node);
    assert_int_equal(b.work.adapters.experts.node, sum.experts.node);
    arena_release(&b.arena);
}

/* Bytes that a MoE layer saves under this name. */
static uint64_t saved(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        bool here = buffer->segment == SEGMENT_MOE && buffer->life == LIFE_SAVED;
        sum += here && text_equal(buffer->name, name) ? b.values[buffer->bytes.node] : 0;
    }
    arena_release(&b.arena);
    return sum;
}

static bool makes_weight_gradients(const char *set)
{
    struct plan_built b;
    bool found = false;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++)
        found = found ||
                (b.work.ops[i].kernel == KERNEL_WGRAD &&
                 !text_starts(b.work.ops[i].name, "wgrad_lora")) ||
                b.work.ops[i].kernel == KERNEL_EMBED_GRAD;
    arena_release(&b.arena);
    return found;
}

#define QV "lora.rank=8 lora.targets=[q_proj,v_proj] "

/* r = 8 on q and v: 3,342,336 parameters of 16 bytes beside 30,532,122,624 of 2. */
static void only_adapters_have_states(void **state)
{
    (void)state;
    const uint64_t adapters = 3342336, weights = 30532122624;
    assert_int_equal(state_bytes(QV), 2 * weights + 16 * adapters);
    assert_int_equal(state_bytes(QV "parallel.zero=3"),
                     2 * ((weights - 28991029248 + 7) / 8 + 28991029248 / 8) +
                         16 * adapters / 8);
    /* bf16 adapters with f32 gradients, master and moments, as Megatron keeps them */
    assert_int_equal(state_bytes(QV "lora.format=bf16 stack=megatron precision.master=f32"),
                     2 * weights + 18 * adapters);
}

#define BRIDGES                                                                                \
    "stack=megatron precision.master=f32 lora.format=bf16 lora.rank=32 parallel.ep=8 "         \
    "lora.targets=[linear_qkv,linear_proj,linear_fc1,linear_fc2] "

/* Megatron-Bridge: r = 32 beside 2048 x 5120, 4096 x 2048 and, once for a rank's 16 experts,
 * 2048 x 1536 and 768 x 2048, in 48 layers; over tp 2 the rank of qkv's A and the outputs of
 * proj's B are split too: 32 x 1024 fewer each. */
static void adapters_of_a_ranks_experts(void **state)
{
    (void)state;
    const uint64_t weights = 1541093376 + 28991029248 / 8;
    const uint64_t dense = 48 * 32 * (2048 + 5120 + 4096 + 2048);
    const uint64_t experts = 48 * 32 * (2048 + 1536 + 768 + 2048);
    assert_int_equal(state_bytes(BRIDGES), 2 * weights + 18 * (dense + 16 * experts));
    assert_int_equal(state_bytes(BRIDGES "lora.share_experts=true"),
                     2 * weights + 18 * (dense + experts));
    const uint64_t half = state_bytes(BRIDGES "parallel.tp=2 parallel.etp=1"),
                   split = state_bytes(BRIDGES "parallel.tp=2 parallel.etp=1 "
                                               "lora.sharded=true");
    assert_int_equal(half - split, 18 * UINT64_C(48) * 2 * 32 * 1024);
}

/* Automodel: r = 32 beside q, k, v, o (2048 x 4096, twice 2048 x 512, 4096 x 2048) and, for
 * each of 128 experts of 48 layers, beside 2048 x 1536 and 768 x 2048 of 32 / 8, or of none;
 * 14 bytes each: 2 of weights, 4 of gradients, 8 of moments. */
static void experts_of_another_rank(void **state)
{
    (void)state;
    const uint64_t weights = 30532122624;
    const uint64_t dense = 48 * 32 * (2048 + 4096 + 2 * (2048 + 512) + 4096 + 2048),
                   expert = UINT64_C(48) * 128 * (2048 + 1536 + 768 + 2048);
#define AUTOMODEL "stack=torchtitan precision.weights=bf16 lora.rank=32 lora.format=bf16 "
    const uint64_t none = state_bytes(AUTOMODEL "lora.skip_experts=true"),
                   own = state_bytes(AUTOMODEL "lora.expert_rank=4"),
                   same = state_bytes(AUTOMODEL "lora.expert_rank=32");
    assert_int_equal(none, 2 * weights + 14 * dense);
    assert_int_equal(own - none, 14 * 4 * expert);
    assert_int_equal(same - none, 14 * 32 * expert);
    assert_int_equal(same, state_bytes(AUTOMODEL));
}

/* NF4: 4 bits and an f32 per 64, or a byte per 64 and an f32 per 256 of these; tables and norms
 * in f32. */
static void a_quantised_base(void **state)
{
    (void)state;
    const uint64_t adapters = 3342336, weights = 30532122624;
    const uint64_t plain = 2 * UINT64_C(151936) * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048;
    const uint64_t dense = weights - 28991029248 - plain, experts = 28991029248;
    assert_int_equal(state_bytes(QV "precision.weights=nf4"),
                     4 * plain + (dense + experts) / 2 + 4 * ((dense + experts) / 64) +
                         16 * adapters);
    uint64_t d = dense / 64, e = experts / 64;
    assert_int_equal(state_bytes(QV "precision.weights=nf4_double"),
                     4 * plain + (dense + experts) / 2 + d + e +
                         4 * ((d + 255) / 256 + (e + 255) / 256) + 16 * adapters);
}

/* embed_tokens and lm_head, of 151,936 x 2,048 each, trained in a copy: of a base in 16 bits
 * that and its gradient and moments in 16, 8 bytes; with a master copy 16; of one in few bits,
 * whose ends are f32, 16. Their gradients are made. */
static void modules_are_trained_whole(void **state)
{
    (void)state;
    const uint64_t one = UINT64_C(151936) * 2048;
#define ENDS "lora.modules_to_save=[embed_tokens,lm_head] "
    static const struct {
        const char *set;
        uint64_t bytes, modules;
    } rows[] = {{"lora.modules_to_save=[lm_head]", 8, 1},
                {ENDS, 8, 2},
                {ENDS "precision.master=f32 precision.moments=f32", 16, 2},
                {ENDS "precision.weights=nf4", 16, 2},
                {ENDS "optimizer.kind=adam8bit", 12, 2},
                {ENDS "optimizer.kind=ademamix", 10, 2},
                {ENDS "optimizer.kind=kahan_adam", 10, 2},
                {ENDS "parallel.zero=3", 1, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const char *with = arena_join(&arena, QV, rows[i].set);
        const char *none = arena_join(&arena, with, " lora.modules_to_save=[]");
        assert_int_equal(state_bytes(with) - state_bytes(none),
                         rows[i].bytes * rows[i].modules * one);
        assert_true(makes_weight_gradients(with));
        arena_release(&arena);
    }
}

/* A frozen product saves no input; an adapted one its input and T r. */
static void what_a_layer_saves(void **state)
{
    (void)state;
    const uint64_t rows = 4096, routed = 4096 * 8;
    assert_int_equal(saved("", "expert_input"), routed * 2048 * 2);
    assert_int_equal(saved(QV, "expert_input"), 0);
    assert_int_equal(saved(QV, "expert_product"), 0);
    assert_int_equal(saved(QV, "attention_norm_out"), rows * 2048 * 2);
    assert_int_equal(saved(QV, "lora_qkv"), rows * 16 * 2);
    assert_int_equal(saved("lora.rank=8 lora.targets=[o_proj]", "attention_norm_out"), 0);
    assert_int_equal(
        saved("lora.rank=8 lora.targets=[down_proj] moe.buffer=balanced", "expert_product"),
        routed * 768 * 2);
    /* the activation's own inputs stay */
    assert_int_equal(saved(QV, "expert_gate"), saved("", "expert_gate"));
}

/* ---- products ---- */

static const struct op *op_named(const struct plan_built *b, const char *name, enum phase phase)
{
    for (size_t i = 0; i < b->work.n_ops; i++) {
        const struct op *op = &b->work.ops[i];
        if (op->segment == SEGMENT_MOE && op->phase == phase && text_equal(op->name, name))
            return op;
    }
    return NULL;
}

/* r = 8 on q and v of a fused product of 2048 x 5120, 4096 tokens: A is 2048 x 16, B 8 x (4096
 * + 512). Both have gradients of rows and weights, the frozen product of rows alone. */
static void adapters_multiply(void **state)
{
    (void)state;
    const uint64_t rows = 4096, a = 2 * rows * 2048 * 16, b = 2 * rows * 8 * (4096 + 512);
    static const char *const all = "lora.rank=8 moe.buffer=balanced ";
    static const struct {
        const char *name;
        enum phase phase;
        int of; /* A, B, neither's: not there */
    } ops[] = {
        {"lora_a_qkv", PHASE_FORWARD, 0},        {"lora_b_qkv", PHASE_FORWARD, 1},
        {"dgrad_lora_a_qkv", PHASE_BACKWARD, 0}, {"dgrad_lora_b_qkv", PHASE_BACKWARD, 1},
        {"wgrad_lora_a_qkv", PHASE_BACKWARD, 0}, {"wgrad_lora_b_qkv", PHASE_BACKWARD, 1},
        {"wgrad_qkv", PHASE_BACKWARD, 2},        {"lora_a_attention_out", PHASE_FORWARD, 2},
    };
    struct plan_built built;
    plan_build(base, QV, true, &built);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const struct op *op = op_named(&built, ops[i].name, ops[i].phase);
        print_message("%s\n", ops[i].name);
        assert_int_equal(op == NULL, ops[i].of == 2);
        if (op)
            assert_int_equal(built.values[op->flop.node], ops[i].of ? b : a);
    }
    assert_non_null(op_named(&built, "dgrad_qkv", PHASE_BACKWARD));
    arena_release(&built.arena);
    /* gate and up of 128 experts, each with its own, over 8 rows a token */
    plan_build(base, all, true, &built);
    const struct op *up = op_named(&built, "lora_b_expert_gate_up", PHASE_FORWARD);
    assert_int_equal(built.values[up->flop.node], 2 * 8 * rows * 8 * (768 + 768));
    assert_int_equal(built.values[up->groups.node], 128);
    arena_release(&built.arena);
}

/* What is useful of a token: matrices forward and backward to their input, attention's products
 * three times; all that six times the parameters counts when everything is trained. */
static void frozen_matrices_have_no_gradient_to_count(void **state)
{
    (void)state;
    struct plan_built built;
    plan_build(base, QV, false, &built);
    const struct model *model = &built.plan.model;
    struct params params;
    params_count(model, &params);
    uint64_t scores = params_attention_flop(model, built.plan.workload.sequence_length);
    assert_int_equal(params_useful_flop_per_token(&built.plan), 4 * params.active + 3 * scores);
    built.plan.lora.rank = 0;
    assert_int_equal(params_useful_flop_per_token(&built.plan), 6 * params.active + 3 * scores);
    arena_release(&built.arena);
}

/* NF4 is widened before a product, forward and backward: 4 bits and an f32 per 64 read, 16
 * written. Gathers move the 4 bits (bitsandbytes' scales stay with every rank), and adapters
 * beside them. */
static void a_quantised_base_is_widened(void **state)
{
    (void)state;
    const uint64_t elements = 2048 * 5120, kept = elements / 2 + 4 * elements / 64;
    static const enum phase phases[] = {PHASE_FORWARD, PHASE_BACKWARD};
    struct plan_built built;
    plan_build(base, QV "precision.weights=nf4 parallel.zero=3", true, &built);
    for (unsigned i = 0; i < 2; i++) {
        const struct op *op = op_named(&built, "dequantize_w_qkv", phases[i]);
        assert_non_null(op);
        assert_int_equal(built.values[op->bytes_read.node], kept);
        assert_int_equal(built.values[op->bytes_written.node], 2 * elements);
    }
    const uint64_t experts = UINT64_C(128) * 3 * 2048 * 768;
    const struct op *gather = op_named(&built, "gather_expert_weights", PHASE_FORWARD);
    assert_int_equal(built.values[gather->bytes_sent.node], experts / 2 / 8 * 7);
    gather = op_named(&built, "gather_adapters", PHASE_FORWARD);
    assert_int_equal(built.values[gather->bytes_sent.node],
                     2 * 8 * (2 * 2048 + 4096 + 512) / 8 * 7);
    assert_null(op_named(&built, "gather_expert_adapters", PHASE_FORWARD));
    arena_release(&built.arena);
    plan_build(base, QV, true, &built);
    assert_null(op_named(&built, "dequantize_w_qkv", PHASE_FORWARD));
    arena_release(&built.arena);
}

/* ---- experts in one parameter ---- */

static uint64_t adapter_parameters(const char *set, const char *name)
{
    struct plan_built b;
    plan_build(base, set, false, &b);
    const struct buffer *buffer = plan_buffer(&b.work, name);
    uint64_t n = b.values[buffer->dims[0].node];
    arena_release(&b.arena);
    return n;
}

#define STACKED QV "lora.experts=auto "
#define NF4_STACKED STACKED "precision.weights=nf4 "

/* 28,991,029,248 parameters of experts are passed by: f32 as PEFT makes of it, 16 bits over
 * ranks that share it or where the trainer leaves it; 4 bits where it sees to them. */
static void stacked_experts_stay_whole(void **state)
{
    (void)state;
    const uint64_t adapters = 3342336, experts = 28991029248;
    const uint64_t plain = 2 * UINT64_C(151936) * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048;
    const uint64_t dense = 30532122624 - experts - plain, few = dense / 2 + 4 * (dense / 64);
    assert_int_equal(state_bytes(NF4_STACKED), 4 * (plain + experts) + few + 16 * adapters);
    assert_int_equal(state_bytes(NF4_STACKED "lora.plain_format=bf16"),
                     2 * (plain + experts) + few + 16 * adapters);
    assert_int_equal(state_bytes(NF4_STACKED "lora.experts=quantised"),
                     state_bytes(QV "precision.weights=nf4"));
    struct plan_built b;
    plan_build(base, NF4_STACKED "parallel.zero=3", true, &b);
    const struct buffer *kept = plan_buffer(&b.work, "plain_expert_weights");
    assert_int_equal(b.values[kept->bytes.node], 2 * experts / 8);
    const struct op *gather = op_named(&b, "gather_expert_weights", PHASE_FORWARD);
    assert_int_equal(b.values[gather->bytes_sent.node], 2 * experts / 48 / 8 * 7);
    assert_null(op_named(&b, "dequantize_w13", PHASE_FORWARD));
    assert_non_null(op_named(&b, "dequantize_w_qkv", PHASE_FORWARD));
    arena_release(&b.arena);
    /* a checkpoint's own few bits are of its experts, and the rest stays in 16 */
    assert_int_equal(state_bytes(STACKED "precision.weights=mxfp4"),
                     experts / 2 + experts / 32 + 2 * (plain + dense) + 16 * adapters);
    assert_int_equal(state_bytes(STACKED "precision.weights=mxfp4"),
                     state_bytes(QV "precision.weights=mxfp4"));
    assert_int_equal(state_bytes(STACKED), state_bytes(QV));
    assert_int_equal(state_bytes("lora.experts=auto"), state_bytes(""));
}

/* all-linear passes them by, too; two adapters of r = 8 for each of 128 experts in 48 layers,
 * [2048, 1536] and [768, 2048], are added to them: 1.125 GiB a layer, kept for backward, or of
 * one layer where layers run again. Its gradient is as large. */
static void adapters_of_stacked_experts(void **state)
{
    (void)state;
#define BOTH                                                                                   \
    "lora.rank=8 lora.experts=stacked lora.targets=[experts.gate_up_proj,experts.down_proj] "
    const uint64_t up = UINT64_C(128) * 2048 * 1536, down = UINT64_C(128) * 768 * 2048;
    assert_int_equal(adapter_parameters(BOTH, "expert_adapters"),
                     UINT64_C(48) * 128 * 8 * (2048 + 1536 + 768 + 2048));
    assert_int_equal(2 * (up + down), UINT64_C(9) << 27);
    assert_int_equal(saved(BOTH, "merged_expert_gate_up"), 2 * up);
    assert_int_equal(saved(BOTH, "merged_expert_down"), 2 * down);
    assert_int_equal(saved(BOTH "recompute=full", "merged_expert_down"), 0);
    assert_int_equal(saved(STACKED, "merged_expert_down"), 0);
    assert_int_equal(saved(BOTH, "lora_expert_gate_up"), 0);
    assert_int_equal(
        saved(BOTH "lora.fused_experts=true moe.buffer=balanced", "lora_expert_gate_up"),
        4096 * 8 * 8 * 2);
    assert_int_equal(saved(BOTH "lora.fused_experts=true", "merged_expert_gate_up"), 0);
    assert_true(saved(BOTH, "expert_input") > 0 && !saved(STACKED, "expert_input"));
    struct plan_built b;
    plan_build(base, "lora.rank=8 lora.experts=auto", true, &b);
    assert_int_equal(b.values[plan_buffer(&b.work, "expert_adapters")->dims[0].node], 0);
    arena_release(&b.arena);
    plan_build(base, BOTH "recompute=full", true, &b);
    const struct buffer *gradient = plan_buffer(&b.work, "d_merged_expert_gate_up");
    assert_int_equal(b.values[gradient->bytes.node], 2 * up);
    /* A B of every expert; what reads the sum has its gradient as one of whole weights */
    const struct op *merge = op_named(&b, "lora_expert_gate_up", PHASE_FORWARD);
    assert_int_equal(b.values[merge->flop.node], 2 * up * 8);
    const struct op *product = op_named(&b, "gate_up", PHASE_FORWARD),
                    *back = op_named(&b, "wgrad_gate_up", PHASE_BACKWARD);
    assert_int_equal(b.values[back->flop.node], b.values[product->flop.node]);
    assert_non_null(op_named(&b, "wgrad_lora_expert_down", PHASE_BACKWARD));
    assert_non_null(op_named(&b, "dgrad_lora_expert_down", PHASE_BACKWARD));
    arena_release(&b.arena);
}

/* ---- mixers ---- */

/* Qwen3-Next: 12 layers of 16 query heads of 256, each with a gate, over 2 pairs of k and v; 36
 * layers of 32 value and 16 key heads of 128. */
static void hybrid_models_have_adapters(void **state)
{
    (void)state;
#define NEXT "model=qwen3-next-80b-a3b lora.rank=8 lora.targets="
    const uint64_t q = 2 * 16 * 256, kv = 2 * 256, keys = 16 * 128, values = 32 * 128;
    const uint64_t qkvz = 2 * keys + 2 * values, ba = 2 * 32;
    const struct {
        const char *set;
        uint64_t parameters;
    } rows[] = {
        {NEXT "[linear_qkv]", 12 * 8 * (2048 + q + 2 * kv)},
        {NEXT "[q_proj]", 12 * 8 * (2048 + q)},
        {NEXT "[q_proj,k_proj,v_proj]", 12 * 8 * (3 * 2048 + q + 2 * kv)},
        {NEXT "[in_proj_qkvz,in_proj_ba]", 36 * 8 * (2 * 2048 + qkvz + ba)},
        {NEXT "[in_proj]", 36 * 8 * (2048 + qkvz + ba)},
        {NEXT "[in_proj_qkv,in_proj_z,in_proj_b,in_proj_a]", 36 * 8 * (4 * 2048 + qkvz + ba)},
        {NEXT "[out_proj]", 36 * 8 * (values + 2048)},
        {NEXT "[o_proj]", 12 * 8 * (16 * 256 + 2048)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("%s\n", rows[i].set);
        assert_int_equal(adapter_parameters(rows[i].set, "adapters"), rows[i].parameters);
    }
    /* all-linear is every matrix but router and the shared expert's gate */
    uint64_t attention = 3 * 2048 + q + 2 * kv + 16 * 256 + 2048;
    uint64_t linear = 2 * 2048 + qkvz + ba + values + 2048, shared = 3 * (2048 + 512);
    assert_int_equal(adapter_parameters(NEXT "[all-linear]", "adapters"),
                     8 * (12 * attention + 36 * linear + 48 * shared));
    /* Kimi's 20 linear layers have q, k, v, o like the 7 others, and 6 matrices more */
#define KIMI "model=kimi-linear-48b-a3b lora.rank=8 lora.targets="
    const uint64_t all = 32 * 128;
    assert_int_equal(
        adapter_parameters(KIMI "[f_a_proj,f_b_proj,g_a_proj,g_b_proj,b_proj]", "adapters"),
        20 * 8 * (2 * (2304 + 128) + 2 * (128 + all) + 2304 + 32));
    assert_int_equal(adapter_parameters(KIMI "[k_proj]", "adapters"), 20 * 8 * (2304 + all));
    /* Kimi-K3's gates are one matrix in both kinds of layer, and there is no g_a_proj */
#define K3 "model=kimi-k3 lora.rank=8 lora.targets="
    const uint64_t wide = 96 * 128;
    assert_int_equal(adapter_parameters(K3 "[g_proj]", "adapters"), 93 * 8 * (7168 + wide));
    assert_int_equal(adapter_parameters(K3 "[f_a_proj,g_a_proj]", "adapters"),
                     69 * 8 * (7168 + 128));
    /* Ling-3.0's decay is one matrix, and MLA's gate has a column a head */
#define LING "model=ling-3.0-flash lora.rank=8 lora.targets="
    assert_int_equal(adapter_parameters(LING "[f_proj]", "adapters"), 35 * 8 * (2560 + all));
    assert_int_equal(adapter_parameters(LING "[g_proj]", "adapters"),
                     8 * (35 * (2560 + all) + 7 * (2560 + 32)));
}

/* A layer saves the input of its own adapted matrices. */
static void each_mixer_saves_its_own(void **state)
{
    (void)state;
    const struct {
        const char *set, *tensor;
        bool full, linear;
    } rows[] = {
        {NEXT "[q_proj]", "attention_norm_out", true, false},
        {NEXT "[in_proj_qkvz]", "attention_norm_out", false, true},
        {NEXT "[o_proj]", "gated_context", true, false},
        {NEXT "[out_proj]", "gated_context", false, true},
        {NEXT "[up_proj]", "mlp_norm_out", true, true},
        {NEXT "[down_proj]", "mlp_norm_out", false, false},
        {"model=deepseek-v2-lite lora.rank=8 lora.targets=[q_proj]", "attention_norm_out", true,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        bool full = false, linear = false;
        plan_build(base, rows[i].set, false, &b);
        for (size_t j = 0; j < b.work.n_buffers; j++) {
            const struct buffer *buffer = &b.work.buffers[j];
            if (buffer->life != LIFE_SAVED || !text_equal(buffer->name, rows[i].tensor))
                continue;
            bool is_linear = kind_mixer(segment_kind(buffer->segment)) == MIXER_LINEAR;
            linear |= is_linear;
            full |= !is_linear;
        }
        arena_release(&b.arena);
        print_message("%s\n", rows[i].set);
        assert_int_equal(full, rows[i].full);
        assert_int_equal(linear, rows[i].linear);
    }
}

/* ---- what a step moves ---- */

/* Bytes that an op of the step sends, or copies, over all its layers; 0: there is none. */
static uint64_t moved(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++) {
        const struct op *op = &b.work.ops[i];
        uint64_t bytes = b.values[op->bytes_sent.node];
        if (text_equal(op->name, name))
            sum += b.values[op->layers.node] * (bytes ? bytes : b.values[op->bytes_read.node]);
    }
    arena_release(&b.arena);
    return sum;
}

/* Gradients of f32 adapters alone are reduced, their weights alone gathered: on 8 ranks twice
 * 7/8 of them, or once; the frozen base only where it is sharded itself. */
static void only_adapters_travel(void **state)
{
    (void)state;
    const uint64_t adapters = 4 * UINT64_C(3342336);
    assert_int_equal(moved(QV, "reduce_gradients_of_adapters"), 2 * adapters / 8 * 7);
    assert_int_equal(moved(QV "parallel.zero=1", "reduce_gradients_of_adapters"),
                     adapters / 8 * 7);
    assert_int_equal(moved(QV "parallel.zero=1", "gather_adapters"), adapters / 8 * 7);
    assert_int_equal(moved(QV "parallel.zero=3", "reduce_gradients_of_adapters"),
                     adapters / 2 / 8 * 7); /* Accelerate's FSDP reduces in bf16 */
    static const char *const none[] = {"reduce_gradients_of_weights", "gather_weights",
                                       "reduce_gradients_of_expert_weights",
                                       "reduce_gradients_of_expert_adapters"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(moved(QV "parallel.zero=1", none[i]), 0);
    assert_int_equal(moved(QV "parallel.zero=3", "reduce_gradients_of_weights"), 0);
    assert_true(moved(QV "parallel.zero=3", "gather_weights") > 0);
    assert_true(moved(QV "parallel.zero=3", "gather_weights") >
                moved("parallel.zero=3", "gather_weights"));
    /* to the host and back goes what is trained */
#define OFFLOAD "stack=deepspeed parallel.zero=1 optimizer.offload=1 "
    assert_int_equal(moved(QV OFFLOAD, "offload_gradients"), adapters / 8);
    assert_int_equal(moved(QV OFFLOAD, "reload_weights"), adapters / 8);
    /* shards that wait there come layer by layer, and behind the update no more */
#define WAITS "parallel.zero=3 optimizer.offload=1 optimizer.offload_params=true "
    assert_int_equal(moved(WAITS, "reload_weights"), 0);
    assert_true(moved(WAITS, "load_shard") > 0);
    assert_int_equal(moved("parallel.zero=3", "load_shard"), 0);
}

/* A frozen matrix passes the gradient of its rows on and has none of its own. */
static void frozen_matrices_have_no_gradient(void **state)
{
    (void)state;
    static const char *const sets[] = {"", "model=qwen3-next-80b-a3b ",
                                       "model=deepseek-v3 stack=torchtitan "};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct arena arena = {0};
        assert_true(makes_weight_gradients(sets[i]));
        assert_false(makes_weight_gradients(arena_printf(&arena, "%slora.rank=8", sets[i])));
        arena_release(&arena);
    }
}

/* An f32 per output channel of every matrix: q and k and v, output, router; gate, up and down
 * of 128 experts. */
static void channels_have_scales(void **state)
{
    (void)state;
    const uint64_t plain = 2 * UINT64_C(151936) * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048;
    const uint64_t dense = 48 * (5120 + 2048 + 128);
    const uint64_t experts = 48 * UINT64_C(128) * (2 * 768 + 2048);
#define CHANNEL QV "precision.weights=fp8_channel"
    assert_int_equal(state_bytes(CHANNEL),
                     4 * plain + (30532122624 - plain) + 4 * (dense + experts) + 16 * 3342336);
    assert_int_equal(state_bytes(CHANNEL " parallel.zero=3"),
                     2 * (plain / 8) + (30532122624 - plain) / 8 + 4 * (dense + experts) / 8 +
                         16 * 3342336 / 8);
}

static void wrong_targets_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    struct err err = {0};
    static const struct {
        const char *set, *text, *hint;
    } rows[] = {
        {"lora.targets=[q_prj]", "no matrix is called 'q_prj'", "q_proj"},
        {"lora.targets=[experts.down_proj]", "no parameter is called 'experts.down_proj'",
         "lora.experts"},
        {"lora.targets=[experts.down_proj] lora.experts=auto moe.path=expert_loop",
         "for grouped products alone", "moe.path: ragged_a2a"},
        {"lora.experts=auto lora.plain_format=fp8", "lora.plain_format", "bf16"},
        {"lora.experts=auto lora.targets=[down_proj]", "nothing is trained",
         "experts.down_proj"},
        {"lora.targets=[wq_b]", "nothing is trained", "all-linear"},
        {"lora.dora=true lora.experts=stacked lora.targets=[q_proj,experts.down_proj]",
         "have no magnitudes", "target_parameters"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (struct err){0};
        plan_set(base, arena_join(&arena, "lora.rank=8 ", rows[i].set), &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_non_null(strstr(err.hint, rows[i].hint));
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_their_sum),
        cmocka_unit_test(only_adapters_have_states),
        cmocka_unit_test(adapters_of_a_ranks_experts),
        cmocka_unit_test(experts_of_another_rank),
        cmocka_unit_test(a_quantised_base),
        cmocka_unit_test(modules_are_trained_whole),
        cmocka_unit_test(what_a_layer_saves),
        cmocka_unit_test(adapters_multiply),
        cmocka_unit_test(frozen_matrices_have_no_gradient_to_count),
        cmocka_unit_test(a_quantised_base_is_widened),
        cmocka_unit_test(stacked_experts_stay_whole),
        cmocka_unit_test(adapters_of_stacked_experts),
        cmocka_unit_test(hybrid_models_have_adapters),
        cmocka_unit_test(each_mixer_saves_its_own),
        cmocka_unit_test(only_adapters_travel),
        cmocka_unit_test(frozen_matrices_have_no_gradient),
        cmocka_unit_test(channels_have_scales),
        cmocka_unit_test(wrong_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
