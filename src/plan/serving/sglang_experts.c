/* What computes the experts of an SGLang launch (arg_groups/choices.py of 0.5.23,
 * MOE_RUNNER_BACKEND_CHOICES; layers/quantization/mxfp4.py). */
#include "plan/serving/sglang.h"

/* Humming's rows are in 16 bits as Marlin's, and its kernels take what DeepEP sends. */
static const char backends[] =
    "auto=auto triton=triton triton_kernel=triton_oai cutlass=cutlass deep_gemm=deepgemm "
    "flashinfer_cutlass=flashinfer flashinfer_trtllm=trtllm_gen "
    "flashinfer_trtllm_routed=trtllm_gen marlin=marlin humming=marlin";

/* flashinfer_mxfp4 is TRT-LLM's on Blackwell and CUTLASS's before. */
static const char *mxfp4_of(const struct job *job)
{
    static const char *const blackwell[] = {"b200", "b300", "gb200", "gb300"};
    const struct draft_item *cluster = draft_find(&job->draft, "cluster");
    for (size_t i = 0; cluster && i < sizeof blackwell / sizeof *blackwell; i++)
        if (text_starts(cluster->words[0], blackwell[i]))
            return "trtllm_gen";
    return cluster ? "flashinfer" : "trtllm_gen";
}

enum status sglang_set_experts(struct job *job)
{
    static const char flag[] = "moe-runner-backend";
    static const char *const older[][2] = {{"enable-flashinfer-cutlass-moe", "flashinfer"},
                                           {"enable-flashinfer-trtllm-moe", "trtllm_gen"},
                                           {"enable-triton-kernel-moe", "triton_oai"}};
    const char *word = "auto";
    TRY(job_word(job, flag, &word));
    const char *backend =
        text_equal(word, "flashinfer_mxfp4") ? mxfp4_of(job) : job_convert(job, backends, word);
    if (!backend)
        job_warn(job, job_setting(job, flag)->mark,
                 "experts' kernels '%s' matter to memory and are not modelled: SGLang's own "
                 "choice stands in",
                 word);
    job_set(job, "stack.experts", backend ? backend : "auto", flag);
    for (size_t i = 0; i < sizeof older / sizeof *older; i++) {
        bool on = false;
        TRY(job_switch(job, older[i][0], &on));
        if (on)
            job_set(job, "stack.experts", older[i][1], older[i][0]);
    }
    return STATUS_OK;
}

/* Experts that the CPU multiplies, of KTransformers' (layers/moe/kt_ep_wrapper.py), and those
 * of groups of layers that come in (utils/offloader.py: of models whose layers say what; those
 * that do not fail). */
static enum status set_host_experts(struct job *job)
{
    static const char path_flag[] = "kt-weight-path", here_flag[] = "kt-num-gpu-experts";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t here = 0;
    bool known;
    TRY(job_count(job, here_flag, &here));
    TRY(job_part(job, "model", plan, &known));
    if (!job_given(job, path_flag))
        return STATUS_OK;
    if (!job_given(job, here_flag))
        return job_fail(job, path_flag, "SGLang asks for kt-num-gpu-experts beside it");
    uint64_t all = known ? plan->model.moe.experts : 0;
    if (here < all)
        job_set_count(job, "memory.host_experts", all - here, "kt-num-gpu-experts");
    job_warn(job, job_setting(job, path_flag)->mark,
             "what the CPU takes to multiply experts matters to time and is not modelled, nor "
             "the format that it has them in");
    return STATUS_OK;
}

enum status sglang_set_away(struct job *job)
{
    static const char flag[] = "offload-group-size";
    int64_t group = -1;
    TRY(job_integer(job, flag, &group));
    if (group > 0)
        job_set_count(job, "memory.offload_group", (uint64_t)group, flag);
    return set_host_experts(job);
}

/* Where KTransformers' weights lie a plan does not say. */
void sglang_write_away(struct job_writer *writer)
{
    if (writer->plan->memory.offload_group)
        writer_count(writer, "offload-group-size", writer->plan->memory.offload_group);
}

void sglang_write_experts(struct job_writer *writer)
{
    static const char *const words[EXPERTS_COUNT] = {
        [EXPERTS_TRITON] = "triton",
        [EXPERTS_TRITON_OAI] = "triton_kernel",
        [EXPERTS_CUTLASS] = "cutlass",
        [EXPERTS_DEEPGEMM] = "deep_gemm",
        [EXPERTS_FLASHINFER] = "flashinfer_cutlass",
        [EXPERTS_TRTLLM_GEN] = "flashinfer_trtllm",
        [EXPERTS_MARLIN] = "marlin",
    };
    const struct plan *plan = writer->plan;
    enum expert_backend experts = plan->stack.experts;
    bool mxfp4 = plan->precision.weights == DTYPE_MXFP4 &&
                 (experts == EXPERTS_FLASHINFER || experts == EXPERTS_TRTLLM_GEN);
    bool sent = path_reads(plan->moe.path, READS_DEEPEP);
    const char *word = mxfp4                               ? "flashinfer_mxfp4"
                       : sent && experts == EXPERTS_MARLIN ? "humming"
                                                           : words[experts];
    if (word)
        writer_flag(writer, "moe-runner-backend", word);
}

/* Kimi-K3 alone reads them (models/kimi_k3.py 0.5.23): of shared experts behind an all-to-all,
 * whole on every rank unless told, and of dense networks beside replicas of attention. */
enum status sglang_set_kimi(struct job *job, uint64_t attention_ranks, bool replicas,
                            bool exchanges)
{
    static const char size_flag[] = "shared-experts-tp-size",
                      shared_flag[] = "enable-shared-experts-attn-tp",
                      dense_flag[] = "enable-dense-mlp-attn-tp";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, shared = false, dense = false, sized = job_given(job, size_flag);
    uint64_t ranks = 0;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_count(job, size_flag, &ranks));
    TRY(job_switch(job, shared_flag, &shared));
    TRY(job_switch(job, dense_flag, &dense));
    bool kimi = known && plan->model.linear.full_rank_gate;
    if (sized && (!kimi || !exchanges || !ranks || attention_ranks % ranks != 0))
        return job_fail(job, size_flag,
                        "SGLang takes it of Kimi-K3 alone, behind an all-to-all backend, as a "
                        "divisor of the %llu ranks of attention",
                        (unsigned long long)attention_ranks);
    if (!kimi)
        return STATUS_OK;
    if (!sized && shared && exchanges)
        ranks = attention_ranks;
    if (ranks > 1 && ranks != attention_ranks)
        job_warn(job, job_setting(job, size_flag)->mark,
                 "shared experts over some of attention's ranks matter to memory and are not "
                 "modelled: they are whole on every rank here");
    else if (ranks)
        job_set(job, "moe.shared", ranks > 1 ? "tp" : "sp", sized ? size_flag : shared_flag);
    if (dense && replicas)
        job_set(job, "parallel.dense_apart", "true", dense_flag);
    return STATUS_OK;
}
