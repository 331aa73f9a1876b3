/* verl's supervised training, by its newer engines or by its FSDP trainer. Names stand in
 * verl's table beside those of an actor. Read at volcengine/verl 7ab32cc20c56
 * (trainer/config/sft_trainer_engine.yaml), 17aa18cb172d (engine/fsdp.yaml,
 * model/hf_model.yaml) and 005a83db8921 (sft_trainer.yaml, of the FSDP trainer). */
#include <string.h>

#include "base/checked.h"
#include "plan/framework/packed.h"
#include "plan/rl/verl.h"
#include "plan/job/rows.h"

#define ENGINE "verl verl/trainer/config/sft_trainer_engine.yaml"
#define SFT "verl verl/trainer/config/sft_trainer.yaml"

static const struct job_flag flags[] = {
    RULE("data.train_batch_size", JOB_VALUE, "workload.global_batch", "256 unless given",
         ENGINE),
    RULE("data.micro_batch_size_per_gpu", JOB_VALUE, "workload.micro_batch",
         "4 unless given; without use_dynamic_bsz", ENGINE),
    RULE("data.max_length", JOB_VALUE, "workload.sequence_length",
         "1024 unless given; with use_dynamic_bsz workload.packing.length", ENGINE),
    RULE("data.use_dynamic_bsz", JOB_VALUE, "workload.micro_batch",
         "1 of max_token_len_per_gpu x sequence parallel; on unless turned off, of an engine",
         ENGINE),
    RULE("data.max_token_len_per_gpu", JOB_VALUE, "workload.sequence_length",
         "with use_dynamic_bsz; 8192 unless given", ENGINE),
    RULE("model.fsdp_config.cpu_offload", JOB_VALUE, "optimizer.offload",
         "1, with offload_params", SFT),
    RULE("model.fsdp_config.offload_params", JOB_VALUE, "optimizer.offload_params",
         "with cpu_offload", SFT),
    RULE("trainer.nnodes", JOB_VALUE, "cluster", "where the launcher does not say it", SFT),
    RULE("trainer.n_gpus_per_node", JOB_VALUE, "cluster", "where the launcher does not say it",
         SFT),
    IDLE("engine.param_offload engine.optimizer_offload engine.grad_offload", JOB_VALUE,
         "back on the device for the step", ENGINE),
    IDLE("data.pad_mode", JOB_VALUE, "all sequences have the longest length here", ENGINE),
    RULE("model.enable_activation_offload", JOB_VALUE, "recompute.offload",
         "layer_input, with enable_gradient_checkpointing", ENGINE),
    NEITHER("optim", JOB_VALUE, ENGINE),
    NEITHER("optim.lr", JOB_VALUE, ENGINE),
    NEITHER("optim.betas", JOB_LIST, ENGINE),
    NEITHER("optim.weight_decay", JOB_VALUE, ENGINE),
    NEITHER("optim.clip_grad", JOB_VALUE, ENGINE),
    NEITHER("data.truncation", JOB_VALUE, ENGINE),
    NEITHER("data.messages_key", JOB_VALUE, ENGINE),
    NEITHER("data.prompt_key", JOB_VALUE, SFT),
    NEITHER("data.response_key", JOB_VALUE, SFT),
    NEITHER("data.multiturn.enable", JOB_VALUE, SFT),
    NEITHER("model.lora_alpha", JOB_VALUE, ENGINE),
    NEITHER("model.trust_remote_code", JOB_VALUE, ENGINE),
    NEITHER("trainer.default_local_dir", JOB_VALUE, ENGINE),
    NEITHER("trainer.resume_mode", JOB_VALUE, ENGINE),
    NEITHER("trainer.total_training_steps", JOB_VALUE, ENGINE),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static const struct job_framework *const shares[] = {&job_verl, NULL};

/* The trainer of its own settings, without engines; each starts by another module. */
static bool is_plain(const struct job *job)
{
    for (size_t i = 0; job->command && i < job->command->n; i++)
        if (strstr(job->command->items[i].text, "fsdp_sft_trainer"))
            return true;
    return false;
}

static enum status sft_prepare(struct job *job)
{
    if (job->size.world || job->size.per_node)
        return STATUS_OK;
    TRY(job_count(job, "trainer.nnodes", &job->size.nodes));
    return job_count(job, "trainer.n_gpus_per_node", &job->size.per_node);
}

static enum status read_batch(struct job *job)
{
    static const char dynamic_flag[] = "data.use_dynamic_bsz",
                      most_flag[] = "data.max_token_len_per_gpu",
                      length_flag[] = "data.max_length",
                      micro_flag[] = "data.micro_batch_size_per_gpu",
                      batch_flag[] = "data.train_batch_size";
    uint64_t batch = 256, micro = 4, length = 1024, most = 8192;
    bool dynamic = !is_plain(job), overflow = false;
    TRY(job_count(job, batch_flag, &batch));
    TRY(job_count(job, micro_flag, &micro));
    TRY(job_count(job, length_flag, &length));
    TRY(job_count(job, most_flag, &most));
    TRY(job_switch(job, dynamic_flag, &dynamic));
    if (!dynamic) {
        job_set_count(job, "workload.sequence_length", length, length_flag);
        job_set_count(job, "workload.micro_batch", micro, micro_flag);
        job_set_count(job, "workload.global_batch", batch, batch_flag);
        return STATUS_OK;
    }
    return packed_set(
        job, &(struct packed_batch){
                 .most = checked_mul(most, job_drafted(job, "parallel.cp", 1), &overflow),
                 .longest = length,
                 .sequences = batch,
                 .even = true,
                 .switch_flags = dynamic_flag,
                 .most_flags = most_flag,
                 .longest_flags = length_flag,
                 .sequences_flags = batch_flag});
}

/* Whole shards in host memory (CPUOffload, CPUOffloadPolicy); one of the two alone moves
 * nothing. */
static enum status read_offload(struct job *job)
{
    static const char offload_flag[] = "model.fsdp_config.cpu_offload",
                      params_flag[] = "model.fsdp_config.offload_params";
    bool offload = false, params = false;
    TRY(job_switch(job, offload_flag, &offload));
    TRY(job_switch(job, params_flag, &params));
    if (!offload || !params)
        return STATUS_OK;
    job_set(job, "optimizer.offload", "1", offload_flag);
    job_set(job, "optimizer.offload_params", "true", params_flag);
    return STATUS_OK;
}

static enum status sft_finish(struct job *job)
{
    static const char again[] = "model.enable_gradient_checkpointing";
    job_set(job, "workload.mode", "train", "");
    TRY(job_set_model(job, "model.path"));
    if (is_plain(job) && !job_given(job, again) && !job_requested(job, "recompute.kind"))
        job_warn(job, job_place(job),
                 "no flag gives model.enable_gradient_checkpointing, which matters to memory: "
                 "it is on here, as it is where fsdp2 is the default strategy; before, it was "
                 "off");
    TRY(verl_read_layout(job));
    TRY(read_offload(job));
    TRY(read_batch(job));
    return verl_read_loss(job, !is_plain(job));
}

const struct job_framework job_verl_sft = {
    .name = "verl-sft",
    .title = "a verl job of supervised training",
    .stack = "fsdp",
    .source = "volcengine/verl 7ab32cc20c56",
    .syntax = JOB_OVERRIDES,
    .flags = flags,
    .n_flags = &n_flags,
    .shares = shares,
    .prepare = sft_prepare,
    .finish = sft_finish,
    .names = NAMES_HUB,
    .trains = true,
};
