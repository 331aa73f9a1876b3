/* LLaMA-Factory with USE_MCA=1: Megatron-Core's layers by mcore_adapter, whose settings are
 * Megatron's with underscores beside the trainer's. Read at alibaba/ROLL 1bc12057efe9
 * (mcore_adapter/src/mcore_adapter/training_args.py), 2d35671932eb (models/model_config.py) and
 * 044104da2ba6 (trainer/trainer.py), and hiyouga/LLaMA-Factory 568ab50847d3
 * (examples/megatron). */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/megatron.h"
#include "plan/trainer/llamafactory.h"

#define MCA "roll mcore_adapter/src/mcore_adapter/training_args.py"

#define DATA "llamafactory src/llamafactory/hparams"

static const struct job_flag flags[] = {
    RULE("model_name_or_path", JOB_VALUE, "model", "by its name on the hub", MCA),
    RULE("cutoff_len", JOB_VALUE, "workload.sequence_length", "2048 unless given", MCA),
    RULE("per_device_train_batch_size", JOB_VALUE, "workload.micro_batch", "8 unless given",
         MCA),
    RULE("gradient_accumulation_steps", JOB_VALUE, "workload.global_batch", "1 unless given",
         MCA),
    RULE("finetuning_type", JOB_VALUE, "lora.rank", "full; others warn", MCA),
    RULE("stage", JOB_VALUE, "workload.micro_batch",
         "pt, sft; dpo: both answers, and a reference; others warn", MCA),
    RULE("use_mca", JOB_SWITCH, "stack", "megatron, as any degree of its", MCA),
    NEITHER("bias_activation_fusion", JOB_VALUE, MCA),
    NEITHER("apply_rope_fusion", JOB_VALUE, MCA),
    NEITHER("do_train", JOB_VALUE, DATA),
    NEITHER("dataset", JOB_VALUE, DATA),
    NEITHER("template", JOB_VALUE, DATA),
    NEITHER("max_samples", JOB_VALUE, DATA),
    NEITHER("preprocessing_num_workers", JOB_VALUE, DATA),
    NEITHER("output_dir", JOB_VALUE, DATA),
    NEITHER("overwrite_output_dir", JOB_VALUE, DATA),
    NEITHER("logging_steps", JOB_VALUE, DATA),
    NEITHER("save_steps", JOB_VALUE, DATA),
    NEITHER("num_train_epochs", JOB_VALUE, DATA),
    NEITHER("learning_rate", JOB_VALUE, DATA),
    NEITHER("lr_scheduler_type", JOB_VALUE, DATA),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* Settings that are mcore_adapter's alone. */
static const char *const telling[] = {
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size",
    "virtual_pipeline_model_parallel_size", "context_parallel_size"};

enum status llamafactory_mca_take(struct job *job, bool *taken)
{
    const struct shell_word *word = job_environment_word(job, "USE_MCA");
    *taken = word && (text_equal(word->text, "1") || text_equal(word->text, "true"));
    if (!*taken)
        TRY(job_switch(job, "use_mca", taken));
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        *taken = *taken || job_given(job, telling[i]);
    if (!*taken)
        return STATUS_OK;
    job->framework = &job_llamafactory_mca;
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        s->flag = job_flag_find(job->framework, s->name, strlen(s->name));
    }
    return job->framework->prepare(job);
}

/* In Megatron's words; experts are cut by no tensor parallelism unless told, and layers run
 * again one by one (model_config.py, __post_init__). */
static enum status mca_prepare(struct job *job)
{
    static const char *const others[][3] = {
        {"cutoff_len", "seq-length", "2048"},
        {"per_device_train_batch_size", "micro-batch-size", "8"}};
    uint64_t tp = 1, ep = 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *value = NULL;
        TRY(job_word(job, others[i][0], &value));
        if (value)
            job_retell(job, others[i][0], others[i][1], value);
        else
            job_assume(job, others[i][1], others[i][2],
                       arena_printf(job->arena, "%s: %s", others[i][0], others[i][2]));
    }
    job_assume(job, "expert-tensor-parallel-size", "1",
               "expert_tensor_parallel_size: 1, training_args.py");
    job_assume(job, "recompute-method", "uniform",
               "recompute_method: uniform, model_config.py");
    TRY(job_count(job, "tensor_model_parallel_size", &tp));
    TRY(job_count(job, "expert_model_parallel_size", &ep));
    if (tp > 1 && ep > 1)
        job_retell(job, "expert_model_parallel_size", "sequence-parallel", "true");
    return job->err->status;
}

/* Micro-batches of a step are the trainer's accumulation, of each copy of the model. */
static enum status set_batch(struct job *job)
{
    static const char *const ranks[] = {"parallel.tp", "parallel.pp", "parallel.cp"};
    uint64_t world, steps = 1;
    bool overflow = false;
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_world(job, &world));
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        uint64_t n = job_drafted(job, ranks[i], 1);
        world = n ? world / n : 0;
    }
    uint64_t micro = job_drafted(job, "workload.micro_batch", 1);
    uint64_t all = checked_mul3(world, micro, steps, &overflow);
    if (all && !overflow)
        job_set_count(job, "workload.global_batch", all,
                      "gradient_accumulation_steps per_device_train_batch_size");
    return STATUS_OK;
}

static enum status mca_finish(struct job *job)
{
    const char *type = "lora", *stage = "sft";
    TRY(job_word(job, "finetuning_type", &type));
    TRY(job_word(job, "stage", &stage));
    TRY(job_set_model(job, "model_name_or_path"));
    TRY(megatron_finish(job));
    megatron_keep_vocabulary(job);
    TRY(set_batch(job));
    if (!text_equal(type, "full"))
        job_warn(job, job_place(job),
                 "finetuning_type '%s' of Megatron's layers matters to memory and is not "
                 "modelled: every weight is trained here",
                 type);
    if (text_equal(stage, "dpo"))
        colocated_set_pairs(job, "stage", true);
    else if (!text_equal(stage, "sft") && !text_equal(stage, "pt"))
        job_warn(job, job_setting(job, "stage")->mark,
                 "what stage '%s' holds beside the model matters to memory and is not "
                 "modelled: supervised training is planned",
                 stage);
    return STATUS_OK;
}

static const struct job_framework *const shares[] = {&job_megatron, NULL};

const struct job_framework job_llamafactory_mca = {
    .name = "llamafactory",
    .title = "a LLaMA-Factory job of Megatron's layers",
    .stack = "megatron",
    .source = "alibaba/ROLL 1bc12057efe9",
    .syntax = JOB_OVERRIDES,
    .flags = flags,
    .n_flags = &n_flags,
    .shares = shares,
    .wrapped = true,
    .prepare = mca_prepare,
    .finish = mca_finish,
    .names = NAMES_HUB,
    .files = true,
    .per_node = "NPROC_PER_NODE",
    .nodes = "NNODES",
    .trains = true,
};
