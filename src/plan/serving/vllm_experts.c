/* What computes the experts of a vLLM launch (config/kernel.py, MoEBackend). Before 0.19
 * variables of the environment chose them. */
#include "plan/serving/vllm.h"

static const char backends[] =
    "auto=auto triton=triton triton_unfused=triton_oai batched_triton=triton "
    "deep_gemm=deepgemm "
    "cutlass=cutlass flashinfer_cutlass=flashinfer flashinfer_trtllm=trtllm_gen marlin=marlin";

enum status vllm_set_experts(struct job *job)
{
    static const char flag[] = "moe-backend";
    const char *word = "auto";
    TRY(job_word(job, flag, &word));
    if (!job_given(job, flag))
        return STATUS_OK;
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    bool mxfp4 = weights && text_equal(weights->words[0], "mxfp4");
    const char *backend = job_convert(job, backends, word);
    if (backend && mxfp4 && text_equal(backend, "triton")) /* oracle/mxfp4.py */
        backend = "triton_oai";
    if (!backend)
        job_warn(job, job_setting(job, flag)->mark,
                 "experts' kernels '%s' matter to memory and are not modelled: vLLM's own "
                 "choice stands in",
                 word);
    job_set(job, "stack.experts", backend ? backend : "auto", flag);
    return STATUS_OK;
}

void vllm_write_experts(struct job_writer *writer)
{
    static const char *const words[EXPERTS_COUNT] = {
        [EXPERTS_TRITON] = "triton",
        [EXPERTS_TRITON_OAI] = "triton",
        [EXPERTS_CUTLASS] = "cutlass",
        [EXPERTS_DEEPGEMM] = "deep_gemm",
        [EXPERTS_FLASHINFER] = "flashinfer_cutlass",
        [EXPERTS_TRTLLM_GEN] = "flashinfer_trtllm",
        [EXPERTS_MARLIN] = "marlin",
    };
    const char *word = words[writer->plan->stack.experts];
    if (word)
        writer_flag(writer, "moe-backend", word);
}
