/* PEFT's adapters beyond two matrices: the inputs that each keeps, and DoRA's magnitudes
 * (training-stacks.md 5, PEFT tuners/lora). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_have_magnitudes),
        cmocka_unit_test(magnitudes_keep_both_products),
        cmocka_unit_test(adapters_keep_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
