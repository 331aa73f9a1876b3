/* PEFT's adapters beyond two matrices: the inputs that each keeps, and DoRA's magnitudes
 * (training-stacks.md 5, PEFT tuners/lora). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/memory/memory.h"
#include "support/plans.h"

#define QV "lora.rank=8 lora.targets=[q_proj,v_proj] "

/* Bytes of the buffers that a plan has: of a MoE layer's under a name with a life, or where
 * there is no name of the state. */
static uint64_t held(const char *set, const char *name, enum life life)
{
    static const char base[] =
        "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\nparallel: {zero: 0}\n"
        "precision: {weights: bf16}\nlora: {experts: linear}\n";
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        bool here = buffer->segment == SEGMENT_MOE && buffer->life == life;
        if (name && here && text_equal(buffer->name, name))
            sum += b.values[buffer->bytes.node];
        if (!name && buffer->state)
            sum += b.values[buffer->all.node];
    }
    arena_release(&b.arena);
    return sum;
}

static uint64_t state_of(const char *set)
{
    return held(set, NULL, LIFE_PERSISTENT);
}

static uint64_t saved(const char *set, const char *name)
{
    return held(set, name, LIFE_SAVED);
}

static uint64_t passing(const char *set, const char *name)
{
    return held(set, name, LIFE_TRANSIENT);
}

#define DORA "lora.dora=true "

/* q and v have 4096 and 512 outputs: 221,184 magnitudes of 48 layers, of 16 bytes as adapters.
 * Experts' linear layers have theirs. */
static void outputs_have_magnitudes(void **state)
{
    (void)state;
    const uint64_t n = UINT64_C(48) * (4096 + 512), experts = UINT64_C(48) * 128 * 2048;
#define F32_STATES "precision.gradients=f32 precision.moments=f32 "
    assert_int_equal(state_of(QV DORA F32_STATES) - state_of(QV F32_STATES), 16 * n);
#define DOWN "lora.rank=8 lora.targets=[down_proj] " F32_STATES
    assert_int_equal(state_of(DOWN DORA) - state_of(DOWN), 16 * experts);
    /* vectors, of which Adafactor keeps all squares, and Muon a second moment */
#define NO_STATES QV "optimizer.kind=sgd precision.moments=none "
#define OTHER(kind) QV "precision.moments=f32 optimizer.kind=" kind " "
    uint64_t plain = state_of(NO_STATES DORA) - state_of(NO_STATES);
    assert_int_equal(plain, 8 * n);
    assert_int_equal(state_of(OTHER("adafactor") DORA) - state_of(OTHER("adafactor")),
                     plain + 4 * n);
    assert_int_equal(state_of(OTHER("muon") DORA) - state_of(OTHER("muon")), plain + 8 * n);
}

/* dora.py. Kept: what base and adapter make of 4096 rows, 16 bits each. Passing, of q, in 2048
 * and out 4096: an identity in f32 and its 16-bit copy, the adapter's product in 16 bits, the
 * weight in f32, and the larger of the product scaled and added to it and three sums of outputs
 * in f32; where FSDP2 has cast the adapters, all of it in 16 bits and the weight as it is. */
static void magnitudes_keep_both_products(void **state)
{
    (void)state;
    const uint64_t rows = 4096, in = 2048, out = 4096;
    assert_int_equal(saved(QV, "dora_base_qkv"), 0);
    assert_int_equal(saved(QV DORA, "dora_base_qkv"), rows * (4096 + 512) * 2);
    assert_int_equal(saved(QV DORA, "dora_low_qkv"), rows * (4096 + 512) * 2);
    assert_int_equal(passing(QV DORA, "dora_norm_qkv"),
                     6 * in * in + 6 * in * out + 12 * rows * out);
    assert_int_equal(passing(QV DORA, "d_dora_qkv"), 12 * rows * out);
    assert_int_equal(passing(QV DORA "workload.sequence_length=1024", "dora_norm_qkv"),
                     6 * in * in + 6 * in * out + 12 * 1024 * out);
    assert_int_equal(passing(QV DORA "workload.sequence_length=128", "dora_norm_qkv"),
                     6 * in * in + 12 * in * out);
    assert_int_equal(passing(QV DORA "parallel.zero=3", "dora_norm_qkv"),
                     2 * in * in + 2 * in * out + 6 * rows * out);
    assert_int_equal(passing(QV DORA "precision.weights=nf4", "dora_norm_qkv"),
                     6 * in * in + 6 * in * out + 12 * rows * out);
    /* of an expert its mean rows: 4096 x 8 / 128 */
    assert_int_equal(passing("lora.rank=8 lora.targets=[down_proj] moe.buffer=balanced " DORA,
                             "dora_norm_expert_down"),
                     6 * UINT64_C(768) * 768 + 12 * UINT64_C(768) * 2048);
    /* a layer that is run again keeps neither */
    assert_int_equal(saved(QV DORA "recompute.kind=full", "dora_base_qkv"), 0);
    assert_int_equal(passing(QV DORA "recompute.kind=full", "dora_base_qkv"),
                     rows * (4096 + 512) * 2);
}

/* Adapters of q and v read one input of 2048; with copies of their own each keeps it, behind a
 * dropout with a byte of mask, and the matrix's own goes as a frozen one's does. DoRA
 * multiplies rows behind a dropout by the weights once more, in 16 bits. */
static void adapters_keep_inputs(void **state)
{
    (void)state;
    const uint64_t input = UINT64_C(4096) * 2048;
#define COPIED "lora.inputs=copied "
#define DROPPED "lora.inputs=dropped "
    assert_int_equal(saved(QV, "lora_input_qkv"), 0);
    assert_int_equal(saved(QV COPIED, "lora_input_qkv"), 2 * input * 2);
    assert_int_equal(saved(QV COPIED, "attention_norm_out"), 0);
    assert_int_equal(saved(QV COPIED, "lora_mask_qkv"), 0);
    assert_int_equal(saved(QV DROPPED, "lora_input_qkv"), 2 * input * 2);
    assert_int_equal(saved(QV DROPPED, "lora_mask_qkv"), 2 * input);
    assert_int_equal(saved(QV DROPPED, "dora_weight_qkv"), 0);
    assert_int_equal(saved(QV DROPPED DORA, "dora_weight_qkv"), 2048 * (4096 + 512) * 2);
    assert_int_equal(saved(QV DROPPED DORA "parallel.zero=3", "dora_weight_qkv"), 0);
    /* stacked experts' adapters are added to their weights before */
#define ADDED "lora.experts=stacked lora.rank=8 lora.targets=[experts.down_proj] "
    assert_int_equal(saved(ADDED COPIED, "lora_input_expert_down"), 0);
    assert_int_equal(saved(ADDED COPIED, "expert_product"), saved(ADDED, "expert_product"));
}

/* Llama-3.1-8B: of attention q [4096, 4096], k, v [4096, 1024], o [4096, 4096], of networks
 * three of [4096, 14336]; 2,048 tokens. */
static const char llama[] = "model: llama-3.1-8b\ncluster: h200-8x1\nstack: fsdp\n"
                            "parallel: {zero: 0}\nprecision: {weights: bf16}\n"
                            "workload: {sequence_length: 2048, micro_batch: 1}\n"
                            "lora: {rank: 8, targets: [q_proj, v_proj], format: f32}\n";

/* Of the layers' buffers of this name what is saved of all layers, or what the layer at hand
 * has. */
static uint64_t of_layers(const char *set, const char *name, enum life life)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(llama, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if (segment_is_layer(buffer->segment) && buffer->life == life &&
            text_equal(buffer->name, name))
            sum += memory_buffer_bytes(&b.work, b.values, buffer);
    }
    arena_release(&b.arena);
    return sum;
}

#define FOUR "lora.layers=[3,29,30,31] "
#define LAST "lora.layers=[30,31] "

/* Adapters of a layer: 8 x (4096 + 4096) + 8 x (4096 + 1024), of 4 bytes with gradients and two
 * moments in as many. */
static void adapters_of_some_layers(void **state)
{
    (void)state;
    const uint64_t one = 8 * (4096 + 4096) + 8 * (4096 + 1024);
    const uint64_t whole = plan_state_bytes(llama, ""), four = plan_state_bytes(llama, FOUR);
    const uint64_t base = UINT64_C(2) * 8030261248;
    assert_int_equal(whole, base + 32 * one * 16);
    assert_int_equal(four, base + 4 * one * 16);
    assert_int_equal(plan_state_bytes(llama, FOUR FOUR), four);
    /* one of them named twice is one */
    assert_int_equal(plan_state_bytes(llama, "lora.layers=[3,3]"), base + one * 16);
    /* magnitudes with them, 4096 + 1024 of a layer */
    assert_int_equal(plan_state_bytes(llama, FOUR "lora.dora=true"),
                     four + UINT64_C(4) * (4096 + 1024) * 16);
    /* Adafactor's rows and columns of A and B: 4096 + 8, 8 + 4096; 4096 + 8, 8 + 1024 */
    assert_int_equal(plan_state_bytes(llama, FOUR "optimizer.kind=adafactor"),
                     base + 4 * one * 8 + 4 * 4 * (4 * UINT64_C(8) + 3 * 4096 + 1024));
}

/* Without running again, gradients of rows end at the first layer with adapters: layer 3 of 32,
 * so that 29 keep attention's queries, 4 the input of q and v and the adapters' products of 16.
 * The layer at hand may be another: it has the input until it is multiplied. */
static void some_layers_keep_inputs(void **state)
{
    (void)state;
    const uint64_t rows = 2048, wide = rows * 4096 * 2;
    assert_int_equal(of_layers("", "q", LIFE_SAVED), 32 * wide);
    assert_int_equal(of_layers("", "attention_norm_out", LIFE_SAVED), 32 * wide);
    assert_int_equal(of_layers("", "lora_qkv", LIFE_SAVED), 32 * rows * 16 * 2);
    assert_int_equal(of_layers(FOUR, "q", LIFE_SAVED), 29 * wide);
    assert_int_equal(of_layers(FOUR, "attention_norm_out", LIFE_SAVED), 4 * wide);
    assert_int_equal(of_layers(FOUR, "attention_norm_out", LIFE_TRANSIENT), wide);
    assert_int_equal(of_layers(FOUR, "lora_qkv", LIFE_SAVED), 4 * rows * 16 * 2);
    assert_int_equal(of_layers(LAST, "q", LIFE_SAVED), 2 * wide);
    /* the embedding is trained, or layers run again, whose first one asks for a gradient */
    assert_int_equal(of_layers(LAST "lora.modules_to_save=[embed_tokens]", "q", LIFE_SAVED),
                     32 * wide);
    assert_int_equal(of_layers(LAST "recompute.kind=full", "layer_input", LIFE_SAVED),
                     32 * wide);
    assert_int_equal(of_layers(LAST "recompute.kind=full", "attention_norm_out", LIFE_SAVED),
                     0);
}

/* Experts as one parameter are chosen by names of parameters, in all layers. */
static void stacked_experts_are_in_all(void **state)
{
    (void)state;
    static const char moe[] =
        "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\nparallel: {zero: 0}\n"
        "precision: {weights: bf16}\nlora: {rank: 8, targets: [q_proj, experts.down_proj]}\n";
    const uint64_t q = UINT64_C(8) * (2048 + 4096), down = UINT64_C(128) * 8 * (768 + 2048);
    const uint64_t all = plan_state_bytes(moe, "precision.moments=f32"),
                   two = plan_state_bytes(moe, "precision.moments=f32 lora.layers=[0,47]");
    assert_int_equal(all - two, 46 * q * 16);
    assert_int_equal(two - UINT64_C(2) * 30532122624, (2 * q + 48 * down) * 16);
}

/* Of the base in 4 bits attention stays in 16: 41,943,040 weights of a layer, which nf4 has in
 * half a byte and 4 per 64. In 8 bits of outputs the scales of 10,240 are left out, too. */
static void parts_stay_whole(void **state)
{
    (void)state;
    const uint64_t attention = UINT64_C(32) * 41943040, outputs = UINT64_C(32) * 10240;
#define NF4 "precision.weights=nf4 lora.plain_format=bf16 "
#define ROWS "precision.weights=fp8_channel lora.plain_format=bf16 "
#define ATTENTION "precision.plain=[attention] "
    assert_int_equal(plan_state_bytes(llama, NF4 ATTENTION) - plan_state_bytes(llama, NF4),
                     2 * attention - attention / 2 - attention / 16);
    assert_int_equal(plan_state_bytes(llama, ROWS ATTENTION) - plan_state_bytes(llama, ROWS),
                     attention - 4 * outputs);
    assert_int_equal(plan_state_bytes(llama, NF4 "precision.plain=[attention,dense]"),
                     plan_state_bytes(llama, ""));
}

/* Of 32 layers of 218,103,808 weights three are on the device while one runs; the table has
 * 128,256 rows of 4,096. Beside a base in 4 bits it is in what that leaves whole. */
static void the_base_waits_in_host_memory(void **state)
{
    (void)state;
    const uint64_t layer = 218103808, table = UINT64_C(128256) * 4096;
    const uint64_t all = plan_state_bytes(llama, "");
#define HOST(parts) "lora.host=[" parts "] "
    assert_int_equal(all - plan_state_bytes(llama, HOST("layers")), 2 * 32 * layer);
    assert_int_equal(all - plan_state_bytes(llama, HOST("embed_tokens")), 2 * table);
    assert_int_equal(all - plan_state_bytes(llama, HOST("layers,embed_tokens")),
                     2 * (32 * layer + table));
    assert_int_equal(plan_state_bytes(llama, "precision.weights=nf4") -
                         plan_state_bytes(llama, "precision.weights=nf4 " HOST("embed_tokens")),
                     4 * table);
    assert_int_equal(of_layers(HOST("layers"), "loaded_weights", LIFE_TRANSIENT),
                     3 * 2 * layer);
    struct plan_built b;
    plan_build(llama, HOST("layers,embed_tokens"), false, &b);
    assert_int_equal(b.work.n_host, 2);
    assert_int_equal(b.values[b.work.host[0].bytes.node], 2 * 32 * layer);
    assert_int_equal(b.values[b.work.host[1].bytes.node], 2 * table);
    arena_release(&b.arena);
}

/* Qwen2.5-VL's encoder alone has adapters: what the language model had goes, its layers keep no
 * input of a matrix. */
static void an_encoder_alone_has_adapters(void **state)
{
    (void)state;
#define VISION "model=qwen2.5-vl-7b lora.encoder=true "
    const uint64_t both = plan_state_bytes(llama, VISION),
                   one = plan_state_bytes(llama, VISION "lora.language=false");
    const uint64_t q = 8 * (3584 + 3584), v = 8 * (3584 + 512);
    assert_int_equal(both - one, UINT64_C(28) * (q + v) * 16);
    assert_int_equal(of_layers(VISION "lora.language=false", "attention_norm_out", LIFE_SAVED),
                     0);
    assert_int_equal(of_layers(VISION "lora.language=false", "q", LIFE_SAVED),
                     UINT64_C(28) * 2048 * 3584 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_have_magnitudes),
        cmocka_unit_test(magnitudes_keep_both_products),
        cmocka_unit_test(adapters_keep_inputs),
        cmocka_unit_test(adapters_of_some_layers),
        cmocka_unit_test(some_layers_keep_inputs),
        cmocka_unit_test(stacked_experts_are_in_all),
        cmocka_unit_test(parts_stay_whole),
        cmocka_unit_test(the_base_waits_in_host_memory),
        cmocka_unit_test(an_encoder_alone_has_adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
