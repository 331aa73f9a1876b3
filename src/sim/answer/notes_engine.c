/* What a serving engine does otherwise than the plan says, and what of the plan some of its
 * releases or checkpoints refuse; see notes.h. What all refuse is a rule (plan/rule/
 * rule_serve.c). */
#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/halves.h"
#include "plan/layers.h"
#include "plan/schema/schema.h"
#include "sim/answer/notes.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

/* SGLang quantization/mxfp4.py: of the kernels it takes by itself on Hopper none of 4 bits
 * knows expert parallelism. */
static const char *upcast(const struct plan *plan, struct arena *arena)
{
    (void)arena;
    return stack_weights(plan) == plan->precision.weights
               ? NULL
               : "SGLang makes bf16 of mxfp4 experts for Triton's kernels; with stack.experts "
                 "flashinfer (flashinfer_mxfp4) or marlin they stay in 4 bits";
}

static const char *other_experts(const struct plan *plan, struct arena *arena)
{
    if (!stack_other_experts(plan))
        return NULL;
    return arena_printf(arena, "%s takes no experts in %s here: TensorRT-LLM takes %s instead",
                        words_experts[plan->stack.experts],
                        words_dtype[plan->precision.weights],
                        words_experts[stack_experts(plan, NULL)]);
}

/* SGLang layers/moe/ep_moe/layer.py: 0.5.23 has DeepGEMM alone for 16 bits, and not by itself;
 * earlier releases had kernels of Triton's. */
static const char *plain_behind_deepep(const struct plan *plan, struct arena *arena)
{
    (void)arena;
    enum dtype weights = plan->precision.weights;
    bool plain = weights == DTYPE_BF16 || weights == DTYPE_F16;
    bool own = plan->stack.experts == EXPERTS_AUTO;
    bool deepep = path_reads(plan->moe.path, READS_DEEPEP);
    return plan->stack.kind == STACK_SGLANG && plain && own && deepep && plan->parallel.ep > 1
               ? "SGLang 0.5.23 runs experts in 16 bits behind DeepEP with stack.experts "
                 "deepgemm (--moe-runner-backend deep_gemm) alone"
               : NULL;
}

/* Input values that share a scale: 4-bit groups, which a rank's part of a matrix may not cut
 * (awq.py, gptq.py and compressed_tensors_wNa16.py of vLLM and SGLang: "not aligned with the
 * quantized weight shape"; moe_wna16.py has smaller groups for experts). */
static const char *cut_groups(const struct plan *plan, struct arena *arena)
{
    const struct model *model = &plan->model;
    uint64_t dense = plan->parallel.tp * plan_dense_replicas(plan);
    uint64_t part = ceil_div(model->dense_intermediate, dense);
    enum dtype format = plan_part_format(plan, PART_DENSE);
    uint64_t group = format == DTYPE_INT4 ? 128 : format == DTYPE_INT4_32 ? 32 : 0;
    bool parts = plan->stack.kind != STACK_TRTLLM && model_ffns(model, FFN_DENSE) > 0;
    if (!parts || !group || dense == 1 || part % group == 0)
        return NULL;
    return arena_printf(arena,
                        "4-bit groups of %llu do not divide dense networks of %llu over %llu "
                        "ranks: the engine loads them where the checkpoint has smaller groups "
                        "or padded widths alone",
                        (unsigned long long)group,
                        (unsigned long long)model->dense_intermediate,
                        (unsigned long long)dense);
}

/* vLLM config/model.py and SGLang configs/model_config.py, of a context longer than the
 * model's. */
static const char *long_context(const struct plan *plan, struct arena *arena)
{
    const struct workload *w = &plan->workload;
    bool vllm = plan->stack.kind == STACK_VLLM, serves = w->mode == MODE_SERVE;
    uint64_t most = plan->model.max_position;
    uint64_t context = serves ? w->input_length + w->output_length : w->context_length;
    if (!most || context <= most || plan->stack.kind == STACK_TRTLLM)
        return NULL;
    return arena_printf(arena,
                        "the model was built for %llu tokens: %s=1 or a scaled rope "
                        "(model.max_position) lets the engine start with more",
                        (unsigned long long)most,
                        vllm ? "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
                             : "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN");
}

/* vLLM config/cache.py: not in 0.19, in 0.33. SGLang arg_groups/kv_cache_hook.py asserts the
 * backend. */
static const char *young_cache(const struct plan *plan, struct arena *arena)
{
    enum dtype format = plan->precision.kv_cache;
    bool young = format == DTYPE_NVFP4 || format == DTYPE_INT8 || format == DTYPE_INT4 ||
                 format == DTYPE_FP8_CHANNEL;
    if (plan->stack.kind == STACK_VLLM && young)
        return arena_printf(arena, "vLLM keeps a cache in %s since a release after 0.19",
                            words_dtype[format]);
    if (plan->stack.kind == STACK_SGLANG && format == DTYPE_NVFP4 &&
        plan_generation(plan) != GENERATION_SM100)
        return "SGLang's fp4_mx_block16 here: with --attention-backend triton alone, of latent "
               "attention with flashinfer";
    return NULL;
}

/* vLLM lora/layers/fused_moe.py: 0.19 asserts against expert parallelism, 0.33 against it with
 * sharded adapters. */
static const char *spread_adapters(const struct plan *plan, struct arena *arena)
{
    bool spread = plan->parallel.ep > 1 && plan_has_moe(plan);
    if (plan->stack.kind != STACK_VLLM || !lora_is_served(plan) || !spread)
        return NULL;
    return arena_printf(arena, "vLLM %s runs adapters of experts that are spread over ranks%s",
                        plan->lora.sharded ? "never" : "0.19 never",
                        plan->lora.sharded ? " with lora.sharded" : ", 0.33 does");
}

/* SGLang token_dispatcher/deepep.py: its buffers hold 128 tokens of a rank unless told. */
static const char *small_slots(const struct plan *plan, struct arena *arena)
{
    uint64_t tokens = plan->workload.mode == MODE_DECODE ? plan_tokens(plan) : 0;
    tokens = plan_is_halved(plan) ? ceil_div(tokens, 2) : tokens;
    bool told = plan->moe.dispatch_tokens >= tokens;
    if (plan->stack.kind != STACK_SGLANG || !engine_sends_slots(plan) || told || tokens <= 128)
        return NULL;
    return arena_printf(arena,
                        "a rank sends %llu tokens at once: "
                        "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK has to say so, its "
                        "default is 128",
                        (unsigned long long)tokens);
}

static const char *joined_dense(const struct plan *plan, struct arena *arena)
{
    (void)arena;
    return plan_joins_dense(plan)
               ? "SGLang has dp attention of dense models where their code splits attention by "
                 "attn_tp_size (models/qwen3.py); llama.py and qwen2.py split it over tp_size"
               : NULL;
}

/* Steps of two halves (plan/halves.h), or why there are none. */
static const char *halves(const struct plan *plan, struct arena *arena)
{
    struct plan step = *plan;
    (void)arena;
    step.workload.mode = plan->workload.mode == MODE_SERVE ? MODE_DECODE : plan->workload.mode;
    step.moe.path = stack_path(plan, NULL);
    bool sglang = plan->stack.kind == STACK_SGLANG;
    bool serves = plan->workload.mode == MODE_SERVE;
    if (!plan_asks_halves(plan))
        return NULL;
    if (!plan_may_halve(&step))
        return sglang ? "steps are one batch: SGLang makes halves of it with DeepEP alone, of "
                        "prompts with its normal kernels"
                      : "steps are one batch: vLLM makes halves of it with DeepEP and data "
                        "parallelism alone";
    if (!serves && !plan_is_halved(&step))
        return "the step is one batch: too few tokens for two halves";
    return sglang ? "unvalidated: no run with steps of two halves was at hand; memory is that "
                    "of one batch; SGLang has them of DeepSeek's, Qwen3's and MiMo-V2's "
                    "layers alone"
                  : "unvalidated: no run with steps of two halves was at hand; memory is that "
                    "of one batch";
}

/* SGLang layers/moe: without it shared experts run on a stream of their own beside all that is
 * routed, which is counted in turn here. */
static const char *single(const struct plan *plan, struct arena *arena)
{
    struct plan step = *plan;
    (void)arena;
    step.workload.mode = plan->workload.mode == MODE_SERVE ? MODE_DECODE : plan->workload.mode;
    step.moe.path = stack_path(plan, NULL);
    if (!plan_overlaps_single(&step))
        return NULL;
    return "unvalidated: no run with it was at hand; without it SGLang has shared experts on a "
           "stream of their own, which stand in turn here";
}

size_t notes_engine(const struct plan *plan, struct arena *arena,
                    struct note notes[NOTES_ENGINE])
{
    static const struct {
        const char *key;
        const char *(*text)(const struct plan *plan, struct arena *arena); /* NULL: none */
        bool weighs; /* an engine that is started so refuses it */
    } table[NOTES_ENGINE] = {
        {"precision.weights", upcast, false},
        {"stack.experts", other_experts, false},
        {"stack.experts", plain_behind_deepep, false},
        {"precision.weights", cut_groups, false},
        {"workload.context_length", long_context, true},
        {"precision.kv_cache", young_cache, false},
        {"lora.slots", spread_adapters, false},
        {"moe.dispatch_tokens", small_slots, false},
        {"parallel.etp", joined_dense, false},
        {"moe.overlap", halves, false},
        {"moe.overlap_single", single, false},
    };
    size_t n = 0;
    bool serves = plan_is_engine(plan) && plan->workload.mode != MODE_TRAIN;
    for (size_t i = 0; serves && i < NOTES_ENGINE; i++) {
        const char *text = table[i].text(plan, arena);
        if (text)
            notes[n++] = (struct note){table[i].key, text, table[i].weighs};
    }
    return n;
}
