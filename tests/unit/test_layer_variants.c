/* Layers of every format and option: small, on two ranks unless the option needs others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/layer_case.h"

typedef void change(struct plan *plan);

static void f16(struct plan *plan)
{
    plan->precision.activations = plan->precision.dispatch = DTYPE_F16;
    plan->precision.combine = DTYPE_F16;
}

static void bf16_weights(struct plan *plan)
{
    plan->precision.weights = DTYPE_BF16;
}

static void f32_combine(struct plan *plan)
{
    case_bf16(plan);
    plan->precision.combine = plan->precision.gradients = DTYPE_F32;
}

static void fp8_weights(struct plan *plan)
{
    case_bf16(plan);
    plan->precision.weights = DTYPE_FP8_BLOCK;
}

static void fp8_channel_weights(struct plan *plan)
{
    plan->precision.weights = DTYPE_FP8_CHANNEL;
}

static void mxfp4_weights(struct plan *plan)
{
    plan->precision.weights = DTYPE_MXFP4;
}

static void nvfp4_weights(struct plan *plan)
{
    plan->precision.weights = DTYPE_NVFP4;
}

static void biases(struct plan *plan)
{
    plan->model.moe.bias = true;
}

static void no_gate_matrix(struct plan *plan)
{
    plan->model.moe.glu = false;
    plan->model.moe.activation = ACTIVATION_GELU;
}

static void gpt_oss(struct plan *plan)
{
    plan->model.moe.bias = true;
    plan->model.moe.activation = ACTIVATION_SWIGLU_OAI;
    plan->model.moe.router.order = ORDER_TOPK_THEN_SCORE;
    plan->model.moe.router.normalize = false;
    plan->model.moe.router.linear_bias = true;
}

static void router_linear_bias(struct plan *plan)
{
    plan->model.moe.router.linear_bias = true;
    plan->model.moe.router.bias = true;
    plan->model.moe.top_k = 3;
}

static void shared_experts(struct plan *plan)
{
    plan->model.moe.shared_experts = 1;
    plan->model.moe.shared_intermediate = 10;
}

static void shared_gate(struct plan *plan)
{
    shared_experts(plan);
    plan->model.moe.shared_gate = true;
}

static void shared_gate_fp8(struct plan *plan)
{
    fp8_weights(plan);
    shared_gate(plan);
    plan->precision.dispatch = DTYPE_FP8_BLOCK;
}

static void arctic(struct plan *plan)
{
    plan->model.residual_intermediate = 20;
}

static void everything_beside(struct plan *plan)
{
    case_bf16(plan);
    shared_gate(plan);
    arctic(plan);
    no_gate_matrix(plan);
}

static void sigmoid_router(struct plan *plan)
{
    plan->model.moe.router.score = SCORE_SIGMOID;
    plan->model.moe.router.bias = true;
    plan->model.moe.router.scale = 2.5;
}

static void softplus_router(struct plan *plan)
{
    plan->model.moe.router.score = SCORE_SQRTSOFTPLUS;
    plan->model.moe.router.normalize = false;
}

static void exact_buffers(struct plan *plan)
{
    plan->moe.buffer = SIZING_EXACT;
}

static void dynamic_blocks(struct plan *plan)
{
    plan->moe.skip_dynamic = true;
}

static void loads_by_token(struct plan *plan)
{
    plan->moe.dedup = false;
}

static void biases_by_token(struct plan *plan)
{
    biases(plan);
    fp8_weights(plan);
    loads_by_token(plan);
}

static void input_scaled_by_token(struct plan *plan)
{
    plan->model.moe.scale = GATE_PRE;
    loads_by_token(plan);
}

static void two_cores_on_h(struct plan *plan)
{
    plan->moe.cores = 2;
}

static void two_cores_on_i(struct plan *plan)
{
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_I;
}

static void two_cores_on_blocks(struct plan *plan)
{
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_BLOCK;
    plan->moe.skip_weight = WEIGHT_SKIP_HI_LO;
}

static void two_cores_scale_input(struct plan *plan)
{
    two_cores_on_h(plan);
    plan->model.moe.scale = GATE_PRE;
}

static void two_cores_with_biases(struct plan *plan)
{
    gpt_oss(plan);
    two_cores_on_h(plan);
    plan->moe.skip_token = true;
}

static void two_cores_without_gates(struct plan *plan)
{
    no_gate_matrix(plan);
    biases(plan);
    two_cores_on_i(plan);
}

static void two_cores_with_fp8(struct plan *plan)
{
    fp8_weights(plan);
    two_cores_on_h(plan);
    plan->moe.skip_weight = WEIGHT_SKIP_PING_PONG;
}

static void two_cores_with_mxfp4(struct plan *plan)
{
    mxfp4_weights(plan);
    two_cores_on_i(plan);
}

static void default_alignment(struct plan *plan)
{
    plan->moe.alignment = 0;
}

static void overlapped_rounds(struct plan *plan)
{
    plan->moe.overlap = true;
}

static void four_per_token(struct plan *plan)
{
    plan->model.moe.top_k = 4;
}

static void one_per_token(struct plan *plan)
{
    plan->model.moe.top_k = 1;
    plan->model.moe.router.normalize = false;
}

static void scale_pre(struct plan *plan)
{
    plan->model.moe.scale = GATE_PRE;
}

static void llama4(struct plan *plan)
{
    case_bf16(plan);
    shared_experts(plan);
    scale_pre(plan);
    one_per_token(plan);
    plan->model.moe.router.score = SCORE_SIGMOID;
}

static void llama4_fp8(struct plan *plan)
{
    llama4(plan);
    plan->precision.dispatch = DTYPE_FP8_BLOCK;
}

static void scale_pre_fp8(struct plan *plan)
{
    scale_pre(plan);
    four_per_token(plan);
    plan->precision.dispatch = DTYPE_FP8_BLOCK;
}

static void scale_pre_mxfp4(struct plan *plan)
{
    case_bf16(plan);
    scale_pre(plan);
    biases(plan);
    plan->precision.dispatch = DTYPE_MXFP4;
}

static void scale_pre_exact(struct plan *plan)
{
    scale_pre(plan);
    everything_beside(plan);
    plan->moe.buffer = SIZING_EXACT;
    plan->moe.overlap = plan->moe.skip_dynamic = true;
    plan->model.moe.router.linear_bias = true;
}

static void latent_norm(struct plan *plan)
{
    plan->model.moe.latent_size = 8;
    plan->model.moe.latent_norm = true;
}

static void latent_norm_bf16(struct plan *plan)
{
    case_bf16(plan);
    latent_norm(plan);
    shared_gate(plan);
}

static void latent_norm_f16(struct plan *plan)
{
    f16(plan);
    latent_norm(plan);
    plan->model.moe.scale = GATE_PRE;
}

static void latent_norm_nvfp4(struct plan *plan)
{
    nvfp4_weights(plan);
    latent_norm(plan);
}

static void gemma_4(struct plan *plan)
{
    plan->model.moe.router.learned_scale = true;
    plan->model.moe.activation = ACTIVATION_GELU;
    shared_experts(plan);
}

static void gemma_4_bf16(struct plan *plan)
{
    case_bf16(plan);
    gemma_4(plan);
    biases(plan);
}

static void gemma_4_fp8(struct plan *plan)
{
    case_fp8_dispatch(plan);
    gemma_4(plan);
    plan->model.moe.scale = GATE_PRE;
}

static void learned_and_normed(struct plan *plan)
{
    f16(plan);
    plan->model.moe.router.learned_scale = true;
    plan->model.moe.router.linear_bias = true;
    latent_norm(plan);
    plan->model.moe.top_k = 4;
}

static void odd_sizes(struct plan *plan)
{
    plan->model.hidden = 33;
    plan->model.moe.intermediate = 19;
    plan->moe.block_size = 5;
    plan->moe.chunk = 3;
}

static const struct variant {
    const char *name;
    change *change;
} variants[] = {
    {"bf16", case_bf16},
    {"f16", f16},
    {"bf16 weights, f32 activations", bf16_weights},
    {"bf16, f32 combine and gradients", f32_combine},
    {"fp8 dispatch", case_fp8_dispatch},
    {"mxfp8 dispatch", case_mxfp8_dispatch},
    {"fp8 weights by block", fp8_weights},
    {"fp8 weights by channel", fp8_channel_weights},
    {"mxfp4 weights", mxfp4_weights},
    {"nvfp4 weights", nvfp4_weights},
    {"biases", biases},
    {"no gate matrix", no_gate_matrix},
    {"gpt-oss", gpt_oss},
    {"router with both biases", router_linear_bias},
    {"shared experts", shared_experts},
    {"gate on the shared experts", shared_gate},
    {"the same in fp8", shared_gate_fp8},
    {"MLP beside the experts", arctic},
    {"MLP and gated shared experts beside", everything_beside},
    {"sigmoid router with bias", sigmoid_router},
    {"square root of softplus", softplus_router},
    {"exact buffers", exact_buffers},
    {"dynamic blocks", dynamic_blocks},
    {"loads by token", loads_by_token},
    {"loads by token, biases, fp8 weights", biases_by_token},
    {"loads by token, gates on the input", input_scaled_by_token},
    {"two cores share H", two_cores_on_h},
    {"two cores share I", two_cores_on_i},
    {"two cores share blocks", two_cores_on_blocks},
    {"two cores share H, gates on the input", two_cores_scale_input},
    {"two cores share H, biases", two_cores_with_biases},
    {"two cores share I, no gate matrix", two_cores_without_gates},
    {"two cores share H, fp8 weights", two_cores_with_fp8},
    {"two cores share I, mxfp4 weights", two_cores_with_mxfp4},
    {"default alignment", default_alignment},
    {"overlapped rounds", overlapped_rounds},
    {"four experts per token", four_per_token},
    {"one expert per token", one_per_token},
    {"gates scale the input", scale_pre},
    {"llama 4", llama4},
    {"llama 4, fp8 dispatch", llama4_fp8},
    {"gates scale the input of four, fp8 dispatch", scale_pre_fp8},
    {"gates scale the input, mxfp4 dispatch and biases", scale_pre_mxfp4},
    {"gates scale the input, everything beside", scale_pre_exact},
    {"latent rows normed", latent_norm},
    {"latent rows normed, bf16", latent_norm_bf16},
    {"latent rows normed, f16, gates on the input", latent_norm_f16},
    {"latent rows normed, nvfp4 weights", latent_norm_nvfp4},
    {"gemma 4", gemma_4},
    {"gemma 4, bf16", gemma_4_bf16},
    {"gemma 4, fp8 dispatch, gates on the input", gemma_4_fp8},
    {"learned scales and a norm, f16", learned_and_normed},
    {"odd sizes", odd_sizes},
};

static void expect_passed(const struct plan *plan, const char *variant,
                          const struct case_options *options, struct case_result *result)
{
    struct arena arena = {0};
    struct layer_sample sample;
    struct err err = {0};
    case_sample(plan, CASE_ZIPF, &arena, &sample);
    if (case_run(plan, &sample, options, result, &err) != STATUS_OK)
        fail_msg("%s, %s: %s", variant, words_path[plan->moe.path], err.text);
    char name[128];
    snprintf(name, sizeof name, "%s, %s", variant, words_path[plan->moe.path]);
    case_expect(result, name);
    arena_release(&arena);
}

static void every_variant_of_every_path(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        for (size_t p = 0; p < CASE_PATHS; p++) {
            struct plan plan;
            struct case_result result;
            case_plan(&plan, case_paths[p], 2);
            variants[v].change(&plan);
            struct case_options options = {.backward = case_paths[p] != PATH_DEEPEP_LL};
            expect_passed(&plan, variants[v].name, &options, &result);
        }
    }
}

/* Random numbers in f32: the same bits whatever the number of ranks and of workers, wherever
 * sums are made by the tree over experts. The plain C products make rows independent of the
 * rows beside them. */
static void outputs_do_not_depend_on_ranks(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        uint64_t first = 0;
        bool adds_in_turn = case_paths[p] == PATH_MASKED || case_paths[p] == PATH_EXPERT_LOOP ||
                            case_paths[p] == PATH_BLOCKWISE;
        for (uint64_t ranks = 1; ranks <= 8 && !adds_in_turn; ranks *= 2) {
            struct plan plan;
            struct case_result result;
            case_plan(&plan, case_paths[p], ranks);
            plan.model.moe.top_k = 4;
            plan.moe.capacity_factor = 8; /* nothing is dropped */
            struct case_options options = {.plain_c = true, .workers = 1 + (ranks & 1)};
            expect_passed(&plan, "ranks", &options, &result);
            if (ranks == 1)
                first = result.out_hash;
            if (result.out_hash != first)
                fail_msg("%s: %llu ranks give other bits than one", words_path[case_paths[p]],
                         (unsigned long long)ranks);
        }
    }
}

/* The same bits from every path that adds by the tree. */
static void paths_agree(void **state)
{
    (void)state;
    uint64_t first = 0;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        struct plan plan;
        struct case_result result;
        case_plan(&plan, case_paths[p], 2);
        plan.moe.capacity_factor = 8;
        struct case_options options = {.plain_c = true};
        expect_passed(&plan, "agreement", &options, &result);
        first = p == 0 ? result.out_hash : first;
        if (case_paths[p] == PATH_RAGGED_DOT)
            continue; /* adds products with rows of zeros: the order of sums differs */
        if (result.out_hash != first)
            fail_msg("%s gives other bits than %s", words_path[case_paths[p]],
                     words_path[case_paths[0]]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_of_every_path),
        cmocka_unit_test(outputs_do_not_depend_on_ranks),
        cmocka_unit_test(paths_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
