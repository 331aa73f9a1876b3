/* What Megatron-Bridge's performance scripts make of their own arguments
 * (scripts/performance/utils/overrides.py, set_user_overrides and set_post_overrides). They
 * take a recipe's name, or a family and a size; anything of Hydra's behind them is Bridge's
 * own. */
#include "plan/framework/megatron.h"

/* "None": an argument as if it were not there. */
static void drop_none(struct job *job)
{
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        if (s->n == 1 && !s->trouble && text_equal(s->values[0], "None"))
            s->null = s->used = true;
    }
}

/* As another setting, where the job does not say that one itself. */
static void retell(struct job *job, const char *from, const char *flag, const char *value)
{
    if (!job_given(job, flag))
        job_retell(job, from, flag, value);
}

static enum status set_layers(struct job *job)
{
    static const char offload[] = "activation_offload_layers", again[] = "recompute-num-layers";
    const char *layers = NULL;
    TRY(job_word(job, offload, &layers));
    if (layers) {
        job_retell(job, offload, "cpu-offloading", "true");
        job_retell(job, offload, "cpu-offloading-num-layers", layers);
    }
    if (job_given(job, again)) {
        retell(job, again, "recompute-granularity", "full");
        retell(job, again, "recompute-method", "block");
    } else if (job_given(job, "recompute-modules")) {
        retell(job, "recompute-modules", "recompute-granularity", "selective");
    }
    return job->err->status;
}

static enum status set_experts(struct job *job)
{
    static const char overlap_flag[] = "moe_a2a_overlap", drop_flag[] = "use_tokendrop",
                      backend_flag[] = "moe-flex-dispatcher-backend";
    bool overlap = false, drop = false;
    TRY(job_switch(job, overlap_flag, &overlap));
    TRY(job_switch(job, drop_flag, &drop));
    if (overlap) {
        job_retell(job, overlap_flag, "overlap-moe-expert-parallel-comm", "true");
        job_retell(job, overlap_flag, "delay-wgrad-compute", "true");
        job_retell(job, overlap_flag, "moe-shared-expert-overlap", "false");
    }
    if (drop) { /* training/utils/moe_token_drop.py: padded to the capacity */
        job_retell(job, drop_flag, "moe-token-dispatcher-type", "alltoall");
        retell(job, drop_flag, "moe-expert-capacity-factor", "1.0");
        retell(job, drop_flag, "moe-pad-expert-input-to-capacity", "true");
    } else if (job_given(job, backend_flag)) {
        retell(job, backend_flag, "moe-token-dispatcher-type", "flex");
    }
    return job->err->status;
}

enum status bridge_set_script(struct job *job)
{
    const char *flag = job_given(job, "model_recipe_name") ? "model_recipe_name" : "model_size";
    const char *dtype = NULL;
    uint64_t tp = 1;
    bool fsdp = false;
    drop_none(job);
    if (!job_given(job, flag))
        return STATUS_OK;
    TRY(job_count(job, "tensor-model-parallel-size", &tp));
    TRY(job_word(job, "compute_dtype", &dtype));
    TRY(job_switch(job, "use-megatron-fsdp", &fsdp));
    if (job_given(job, "tensor-model-parallel-size"))
        retell(job, "tensor-model-parallel-size", "sequence-parallel",
               tp > 1 ? "true" : "false");
    if (fsdp)
        retell(job, "use-megatron-fsdp", "data-parallel-sharding-strategy",
               "optim_grads_params");
    if (text_equal(dtype ? dtype : "", "bf16") && !fsdp)
        retell(job, "compute_dtype", "use-precision-aware-optimizer", "true");
    retell(job, flag, "cross-entropy-fusion-impl", "te");
    TRY(set_layers(job));
    return set_experts(job);
}
