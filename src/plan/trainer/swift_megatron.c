/* Megatron-SWIFT: megatron sft, pt and rlhf of ms-swift, Megatron-Core's layers with Megatron's
 * flags in underscores and defaults of its own, the model from a hub. Its flags beside
 * Megatron's are in swift_table.c. Read at modelscope/ms-swift 006938be6c7c
 * (swift/megatron/arguments/megatron_args.py) and 069c473e71fe (swift/megatron/tuners/lora.py).
 */
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/trainer/swift.h"
#include "plan/trainer/trainer.h"

/* ---- defaults ---- */

/* Of MegatronArguments, where they are not those of Megatron's command line. */
static const char *const fallbacks[][3] = {
    {"micro-batch-size", "1", "micro_batch_size: 1, megatron_args.py"},
    {"global-batch-size", "16", "global_batch_size: 16, megatron_args.py"},
    {"expert-tensor-parallel-size", "1", "expert_tensor_parallel_size: 1, megatron_args.py"},
    {"moe-token-dispatcher-type", "alltoall",
     "moe_token_dispatcher_type: alltoall, megatron_args.py"},
    {"moe-grouped-gemm", "true", "moe_grouped_gemm: true, megatron_args.py"},
    {"use-distributed-optimizer", "true", "use_distributed_optimizer: true, megatron_args.py"},
};

/* By torch_dtype, which is the checkpoint's (model_args.py, _init_mixed_precision). */
static enum status assume_format(struct job *job)
{
    const char *type = "bfloat16";
    bool fp16 = false;
    TRY(job_word(job, "torch_dtype", &type));
    TRY(job_switch(job, "fp16", &fp16));
    bool half = fp16 || !text_equal(type, "bfloat16");
    if (!job_given(job, half ? "bf16" : "fp16"))
        job_assume(job, half ? "fp16" : "bf16", "true", "by torch_dtype, model_args.py");
    return job->err->status;
}

/* Muon's states are not shared out (megatron_args.py, _check_muon). */
static enum status assume_sharing(struct job *job)
{
    const char *optimizer = "adam";
    TRY(job_word(job, "optimizer", &optimizer));
    if (strstr(optimizer, "muon"))
        job_retell(job, "optimizer", "use-distributed-optimizer", "false");
    return job->err->status;
}

static enum status swift_megatron_prepare(struct job *job)
{
    TRY(trainer_read_own_file(job));
    TRY(job_flag_file(job, "config", JOB_FILE + 2));
    TRY(swift_refuse_ray(job));
    TRY(assume_format(job));
    TRY(assume_sharing(job));
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
        job_assume(job, fallbacks[i][0], fallbacks[i][1], fallbacks[i][2]);
    return job->err->status;
}

/* ---- the model ---- */

/* "--load Qwen3-30B-A3B-Base-mcore": converted weights, by what their folder is called. */
static enum status set_model(struct job *job)
{
    static const char flag[] = "load";
    const char *folder = NULL;
    TRY(job_set_model(job, "model"));
    TRY(job_word(job, flag, &folder));
    if (folder && !draft_find(&job->draft, "model")) {
        const char *model = model_name_of_path(folder, job->arena);
        if (model) {
            job_set(job, "model", model, flag);
            return STATUS_OK;
        }
    }
    if (draft_find(&job->draft, "model") || job->described)
        return STATUS_OK;
    job_fail(job, flag, "the job does not say which model it runs%s%s",
             folder ? ", which is not told by " : "", folder ? folder : "");
    return err_hint(job->err, "name it, as in --set model=qwen3-30b-a3b");
}

/* Layers that predict more tokens are the model's own where their number is given. */
static void set_mtp(struct job *job)
{
    if (job_given(job, "mtp-num-layers") && job_drafted(job, "model.mtp_layers", 0))
        job_set(job, "model.mtp_enabled", "true", "mtp-num-layers");
}

static enum status set_recompute(struct job *job)
{
    static const char flag[] = "recompute-granularity";
    const char *kind = "selective";
    TRY(job_word(job, flag, &kind));
    if (!job_convert(job, "full=full selective=selective none=none", kind))
        return job_fail(job, flag, "'%s' is no granularity: full, selective or none", kind);
    job_set(job, "recompute.kind", kind, flag);
    return STATUS_OK;
}

/* ---- adapters ---- */

/* Of each matrix and each expert, split on the side that the matrix beside it is split on, in
 * the weights' format (tuners/lora.py, LoraParallelLinear). */
static enum status set_adapters(struct job *job, bool adapters)
{
    static const char targets_flag[] = "target_modules";
    uint64_t rank = 8;
    if (!adapters)
        return STATUS_OK;
    TRY(job_count(job, "lora_rank", &rank));
    job_set_count(job, "lora.rank", rank, "lora_rank tuner_type");
    swift_tell_targets(job);
    const struct setting *s = job_setting(job, targets_flag);
    if (trainer_is_expression(s))
        job_warn(job, s->mark,
                 "an expression of Megatron's names matters to memory and is not read: every "
                 "matrix of a layer has an adapter here");
    else if (s && !(s->n == 1 && text_equal(s->values[0], "all-linear")))
        TRY(megatron_set_list(job, "lora.targets", targets_flag));
    if (job_given(job, "modules_to_save"))
        job_warn(job, job_setting(job, "modules_to_save")->mark,
                 "modules_to_save matters to memory and is not modelled of Megatron: trained "
                 "whole beside the adapters");
    return swift_set_adapter_format(job, true, "bf16");
}

static enum status swift_megatron_finish(struct job *job)
{
    const struct swift_rlhf *rlhf;
    bool adapters;
    TRY(swift_read_rlhf(job, &rlhf));
    TRY(swift_read_tuner(job, "full", &adapters));
    TRY(set_model(job));
    set_mtp(job);
    TRY(set_recompute(job));
    TRY(swift_set_length(job, rlhf));
    TRY(megatron_finish(job));
    megatron_keep_vocabulary(job);
    TRY(set_adapters(job, adapters));
    TRY(swift_set_encoder(job));
    TRY(swift_set_frozen(job, true));
    TRY(swift_set_task(job, rlhf, true));
    return swift_set_beside(job, rlhf, true);
}

static const struct job_framework *const shares[] = {&job_megatron, NULL};

const struct job_framework job_swift_megatron = {
    .name = "megatron-swift",
    .title = "a Megatron-SWIFT job",
    .stack = "megatron",
    .source = "modelscope/ms-swift 006938be6c7c",
    .syntax = JOB_DASHES,
    .sections = "megatron_extra_kwargs. extra_megatron_kwargs.",
    .flags = swift_megatron_flags,
    .n_flags = &swift_megatron_n_flags,
    .shares = shares,
    .prepare = swift_megatron_prepare,
    .finish = swift_megatron_finish,
    .names = NAMES_HUB,
    .files = true,
    .telling = "model load mcore_model",
    .per_node = "NPROC_PER_NODE",
    .nodes = "NNODES",
    .trains = true,
};
