/* Variables of an engine's environment that change memory or time and are not modelled, and
 * the values that leave both as they are. Those that are read stand where they are read
 * (sglang.c, sglang_cache.c, vllm.c, vllm_chunks.c, trtllm.c). Read at vLLM envs.py of 0.11,
 * 0.19 and 0.33, SGLang environ.py of 0.5.23 and TensorRT-LLM cpp/tensorrt_llm/common/
 * envUtils.cpp and docs/source/features/disagg-serving.md. */
#include <string.h>

#include "plan/serving/serving.h"

#define VLLM(name, matters, harmless, note)                                                    \
    {                                                                                          \
        "vllm", "VLLM_" name, matters, harmless, note                                          \
    }
#define SGLANG(name, matters, harmless, note)                                                  \
    {                                                                                          \
        "sglang", "SGLANG_" name, matters, harmless, note                                      \
    }
#define TRTLLM(name, matters, harmless, note)                                                  \
    {                                                                                          \
        "trtllm", "TRTLLM_" name, matters, harmless, note                                      \
    }

enum matters { MEMORY, TIME };

#define OFF "0 false False"
#define ON "1 true True"
#define GRAPHS "how much memory graphs are taken for is as by default here"
#define KERNELS "the release's own choice of kernels stands in"

static const struct variable {
    const char *engine, *name;
    enum matters matters;
    const char *harmless; /* values, spaces between */
    const char *note;     /* what is taken in its place; or NULL */
} variables[] = {
    VLLM("DEEPEP_BUFFER_SIZE_MB", MEMORY, "1024", "buffers of 1,024 MiB stand here"),
    VLLM("FLASHINFER_WORKSPACE_BUFFER_SIZE", MEMORY, "413138944", "394 MiB stand here"),
    VLLM("MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", MEMORY, "", GRAPHS),
    VLLM("SPARSE_INDEXER_MAX_LOGITS_MB", MEMORY, "512", "512 MiB stand here"),
    VLLM("USE_V1", MEMORY, ON, "the engine is V1 here"),
    VLLM("USE_V2_MODEL_RUNNER", MEMORY, "", "the release's own profile run stands here"),
    VLLM("MLA_DISABLE", MEMORY, OFF, "caches are latent here"),
    VLLM("USE_FLASHINFER_SAMPLER", MEMORY, "", "the release's own sampler stands here"),
    VLLM("MAX_TOKENS_PER_EXPERT_FP4_MOE", MEMORY, "163840", NULL),
    VLLM("USE_DEEP_GEMM", MEMORY, ON, KERNELS),
    VLLM("MOE_USE_DEEP_GEMM", MEMORY, ON, KERNELS),
    VLLM("USE_FLASHINFER_MOE_FP16", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_FP8", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_FP4", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_INT4", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_MXFP4_BF16", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_MXFP4_MXFP8", MEMORY, OFF, KERNELS),
    VLLM("USE_FLASHINFER_MOE_MXFP4_MXFP8_CUTLASS", MEMORY, OFF, KERNELS),
    VLLM("FLASHINFER_MOE_BACKEND", MEMORY, "", KERNELS),
    VLLM("ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE", MEMORY, "", NULL),
    VLLM("DCP_Q_REPLICATE", MEMORY, OFF, "queries are split over ranks here"),
    VLLM("DEEPEPLL_NVFP4_DISPATCH", MEMORY, OFF, "rows are sent as experts take them here"),
    VLLM("MXFP4_EMULATION_DEQUANT_AT_LOAD", MEMORY, OFF, "weights stay in 4 bits here"),
    VLLM("MXFP8_EMULATION_DEQUANT_AT_LOAD", MEMORY, OFF, "weights stay in 8 bits here"),
    VLLM("HUMMING_ONLINE_QUANT_CONFIG", MEMORY, "", "weights stay as stored here"),
    VLLM("ROCM_MOE_PADDING", MEMORY, "", "experts are not padded here"),
    VLLM("ROCM_FP8_PADDING", MEMORY, "", "matrices are not padded here"),
    VLLM("REPLICATE_EMBED", MEMORY, OFF, "the embedding is split over ranks here"),
    VLLM("KIMI_K3_SHARD_SP_SHARED_EXPERT", MEMORY, OFF, NULL),
    VLLM("STEP5_SHARD_SP_SHARED_EXPERT", MEMORY, OFF, NULL),
    VLLM("USE_NCCL_SYMM_MEM", MEMORY, OFF, "symmetric buffers are not counted"),
    VLLM("ALLREDUCE_USE_SYMM_MEM", MEMORY, ON, NULL),
    VLLM("ALLREDUCE_USE_FLASHINFER", TIME, "", NULL),
    VLLM("ATTENTION_BACKEND", TIME, "", NULL),
    VLLM("BATCH_INVARIANT", TIME, OFF, NULL),
    VLLM("USE_BREAKABLE_CUDAGRAPH", TIME, OFF, NULL),
    VLLM("DISABLE_SHARED_EXPERTS_STREAM", TIME, OFF, NULL),
    VLLM("SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD", TIME, "256", NULL),
    VLLM("MARLIN_INPUT_DTYPE", TIME, "", NULL),
    VLLM("ROCM_USE_AITER", TIME, "", NULL),
    VLLM("ROCM_USE_AITER_MOE", TIME, "", NULL),
    VLLM("ROCM_USE_AITER_MLA", TIME, "", NULL),
    VLLM("ROCM_USE_AITER_MHA", TIME, "", NULL),
    VLLM("ROCM_USE_AITER_FUSION_SHARED_EXPERTS", MEMORY, OFF, NULL),
    VLLM("ROCM_QUICK_REDUCE_QUANTIZATION", TIME, "NONE", NULL),
    VLLM("WEIGHT_OFFLOADING_DISABLE_UVA", TIME, OFF, NULL),

    SGLANG("ENABLE_POST_CAPTURE_KV_SIZING", MEMORY, OFF,
           "the pool is sized before graphs are captured here"),
    SGLANG("MAMBA_CONV_DTYPE", MEMORY, "bfloat16", NULL),
    SGLANG("DISAGG_STAGING_BUFFER", MEMORY, OFF, "caches are sent in place here"),
    SGLANG("MOONCAKE_CUSTOM_MEM_POOL", MEMORY, "", NULL),
    SGLANG("ENABLE_EMBED_REPLICATION", MEMORY, OFF, "the embedding is split over ranks here"),
    SGLANG("MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK", MEMORY, "4096", NULL),
    SGLANG("NIXL_EP_NUM_MAX_DISPATCH_TOKENS_PER_RANK", MEMORY, "128", NULL),
    SGLANG("PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK", MEMORY, "128", NULL),
    SGLANG("FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK", MEMORY, "", NULL),
    SGLANG("DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK", MEMORY, "128", NULL),
    SGLANG("OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK", MEMORY, "8192", NULL),
    SGLANG("FLASHINFER_MEGAMOE_MAX_TOKENS_PER_RANK", MEMORY, "0", NULL),
    SGLANG("FORCE_FP8_MARLIN", MEMORY, OFF, KERNELS),
    SGLANG("ENABLE_JIT_DEEPGEMM", MEMORY, ON, KERNELS),
    SGLANG("DEEPGEMM_STANDARD_LAYOUT", MEMORY, "auto", KERNELS),
    SGLANG("DEEPGEMM_MASKED_MEMORY_BUDGET_FRACTION", MEMORY, "0.25", NULL),
    SGLANG("MOE_NVFP4_DISPATCH", MEMORY, OFF, "rows are sent as experts take them here"),
    SGLANG("NVFP4_CKPT_FP8_GEMM_IN_ATTN", MEMORY, OFF, "attention is as stored here"),
    SGLANG("NVFP4_CKPT_FP8_NEXTN_MOE", MEMORY, OFF, "the module is as stored here"),
    SGLANG("FP8_IGNORED_LAYERS", MEMORY, "", "no layers are left out here"),
    SGLANG("FP4_IGNORED_LAYERS", MEMORY, "", "no layers are left out here"),
    SGLANG("HUMMING_ONLINE_QUANT_CONFIG", MEMORY, "", "weights stay as stored here"),
    SGLANG("FLASHINFER_WORKSPACE_SIZE", MEMORY, "402653184", "384 MiB stand here"),
    SGLANG("DSA_MQA_LOGITS_FREE_MEM_FRACTION", MEMORY, "0.2", NULL),
    SGLANG("DSV4_FP4_EXPERTS", MEMORY, ON, "experts are in 4 bits here"),
    SGLANG("DSV4_FP4_DEQUANT", MEMORY, OFF, "experts are in 4 bits here"),
    SGLANG("DSV4_KV_LAYOUT", MEMORY, "v4", NULL),
    SGLANG("DSV4_COMPRESSED_KV_LAYOUT", MEMORY, "auto", NULL),
    SGLANG("DSV4_UNIFIED_KV_FP8", MEMORY, OFF, NULL),
    SGLANG("OPT_MINIMAX_M3_FP8_INDEX_CACHE", MEMORY, ON, NULL),
    SGLANG("MOE_PADDING", MEMORY, OFF, "experts are not padded here"),
    SGLANG("ROPE_CACHE_FP32", MEMORY, OFF, NULL),
    SGLANG("MM_FEATURE_CACHE_MB", MEMORY, "1024", NULL),
    SGLANG("MM_BUFFER_SIZE_MB", MEMORY, "0", NULL),
    SGLANG("VLM_CACHE_SIZE_MB", MEMORY, "100", NULL),
    SGLANG("EMBEDDING_POOL_SIZE_MB", MEMORY, "4096", NULL),
    SGLANG("MEMORY_SAVER_CUDA_GRAPH", MEMORY, OFF, GRAPHS),
    SGLANG("USE_BREAKABLE_CUDA_GRAPH", MEMORY, OFF, GRAPHS),
    SGLANG("INIT_NEW_TOKEN_RATIO", TIME, "0.7", NULL),
    SGLANG("ENABLE_DP_GATHER_FP8", TIME, OFF, NULL),
    SGLANG("USE_AITER", TIME, "", NULL),

    TRTLLM("MOE_A2A_WORKSPACE_MB", MEMORY, "", "buffers of the layer's own size stand here"),
    TRTLLM("DEEPGEMM_MOE_MAX_NUM_TOKENS", MEMORY, "", NULL),
    TRTLLM("FORCE_ALLTOALL_METHOD", MEMORY, "NotEnabled", "tokens are gathered here"),
    TRTLLM("FORCE_COMM_METHOD", MEMORY, "", "tokens are gathered here"),
    TRTLLM("CAN_USE_DEEP_EP", MEMORY, OFF, "tokens are gathered here"),
    TRTLLM("DEEP_EP_TOKEN_LIMIT", MEMORY, "", NULL),
    TRTLLM("KVCACHE_POOL_USE_FABRIC_MEMORY", TIME, OFF, NULL),
    TRTLLM("KVCACHE_TRANSFER_ALL_BLOCKS_FOR_WINDOW", MEMORY, OFF, NULL),
    TRTLLM("REQUEST_KV_CACHE_CONCURRENT", MEMORY, OFF, "one cache comes at a time here"),
    TRTLLM("ENABLE_PDL", TIME, "", NULL),
    {"trtllm", "FORCE_ALLREDUCE_KERNEL_WORKSPACE_SIZE", MEMORY, "1000000000", NULL},
};

/* Whether the value is one of those, or nothing. */
static bool is_harmless(const char *harmless, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = harmless; length && *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, value, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return length == 0;
}

void serving_warn_environment(struct job *job)
{
    static const char *const matter[] = {"memory", "time"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const struct variable *v = &variables[i];
        const struct shell_word *word = job_environment_word(job, v->name);
        if (!word || !text_equal(v->engine, job->framework->name) ||
            is_harmless(v->harmless, word->text))
            continue;
        job_warn(job, word->mark, "'%s=%s' matters to %s and is not modelled%s%s", v->name,
                 word->text, matter[v->matters], v->note ? ": " : "", v->note ? v->note : "");
    }
}

/* ---- layers of stages ---- */

/* "42,36" (vLLM distributed/utils.py, get_pp_indices, which SGLang has too: as many numbers as
 * stages, which add up to the layers; a pipeline's rules say so of a plan). */
void serving_set_stages(struct job *job)
{
    static const char *const names[][2] = {{"vllm", "VLLM_PP_LAYER_PARTITION"},
                                           {"sglang", "SGLANG_PP_LAYER_PARTITION"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct shell_word *word = job_environment_word(job, names[i][1]);
        const char *layers[PLAN_LIST];
        size_t n = 0;
        if (!word || !text_equal(names[i][0], job->framework->name))
            continue;
        for (const char *at = word->text; *at && n < PLAN_LIST;) {
            at += strspn(at, " ");
            size_t length = strcspn(at, ", ");
            layers[n++] = arena_strndup(job->arena, at, length);
            at += length + strspn(at + length, ", ");
        }
        if (n)
            draft_set_list(&job->draft, "parallel.stages", layers, n, word->mark, names[i][1]);
    }
}

enum status serving_refuse_encoder(struct job *job, const char *flag)
{
    bool alone = false;
    TRY(job_switch(job, flag, &alone));
    if (!alone)
        return STATUS_OK;
    job_fail(job, flag, "'%s' has the encoder of a vision model alone: there is no plan of it",
             flag);
    return err_hint(job->err, "give the launch of the language model that it serves");
}
