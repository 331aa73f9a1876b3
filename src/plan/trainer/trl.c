/* TRL's own commands: launches of Accelerate with defaults that are not HuggingFace's. See
 * trainer.h. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/text/python_word.h"
#include "plan/trainer/script.h"

enum command {
    COMMAND_NONE,
    COMMAND_SFT,
    COMMAND_DPO,
    COMMAND_GRPO,
    COMMAND_RLOO,
    COMMAND_REWARD,
    COMMAND_PPO
};

/* "trl sft" starts trl/scripts/sft.py, its flags among the script's (trl/cli.py), which may be
 * started by itself. Trainers that hold more than a model and its reference are not read. */
static enum command command_of(const struct shell_words *words)
{
    static const struct {
        const char *name, *script, *module;
        enum command command;
    } rows[] = {{"sft", "trl/scripts/sft.py", "trl.scripts.sft", COMMAND_SFT},
                {"dpo", "trl/scripts/dpo.py", "trl.scripts.dpo", COMMAND_DPO},
                {"grpo", "trl/scripts/grpo.py", "trl.scripts.grpo", COMMAND_GRPO},
                {"rloo", "trl/scripts/rloo.py", "trl.scripts.rloo", COMMAND_RLOO},
                {"reward", "trl/scripts/reward.py", "trl.scripts.reward", COMMAND_REWARD}};
    for (size_t i = 1; words && i < words->n; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            const char *text = words->items[i].text, *before = words->items[i - 1].text;
            bool own =
                text_equal(text, rows[j].name) && text_equal(text_base_name(before), "trl");
            if (own || text_ends(text, rows[j].script) || text_equal(text, rows[j].module))
                return rows[j].command;
        }
    return COMMAND_NONE;
}

size_t trl_ends(const struct shell_words *words)
{
    return command_of(words) == COMMAND_NONE ? 0 : words->n;
}

#define RANKS(n) "num_machines: 1, num_processes: " #n ", mixed_precision: bf16}"
#define ZERO(stage)                                                                            \
    "{distributed_type: DEEPSPEED, deepspeed_config: {zero_stage: " #stage "}, " RANKS(8)

/* trl/accelerate_configs, at 5b2c1fa76872 and beside; examples/accelerate_configs, where files
 * of DeepSpeed begin with its name. */
static const struct trainer_file trl_files[] = {
    {"fsdp1", "{distributed_type: FSDP, fsdp_config: {fsdp_version: 1, "
              "fsdp_reshard_after_forward: FULL_SHARD}, " RANKS(8)},
    {"fsdp2", "{distributed_type: FSDP, fsdp_config: {fsdp_version: 2, "
              "fsdp_reshard_after_forward: true}, " RANKS(8)},
    {"zero1", ZERO(1)},
    {"zero2", ZERO(2)},
    {"zero3", ZERO(3)},
    {"multi_gpu", "{distributed_type: MULTI_GPU, " RANKS(8)},
    {"single_gpu", "{distributed_type: 'NO', " RANKS(1)},
    {NULL, NULL}};

const struct trainer_file *trl_file(struct job *job, const char *name)
{
    static const char ending[] = ".yaml", prefix[] = "deepspeed_";
    const char *base = text_base_name(name);
    bool found = strstr(name, "accelerate_configs/") ||
                 (base == name && !text_ends(name, ending) && trl_ends(job->command));
    if (!found)
        return NULL;
    base += text_starts(base, prefix) ? sizeof prefix - 1 : 0;
    size_t length = strlen(base) - (text_ends(base, ending) ? sizeof ending - 1 : 0);
    return trainer_known(trl_files, arena_strndup(job->arena, base, length));
}

/* What a script in Python makes: of transformers' own arguments TRL's trainer of texts has no
 * defaults of its own. */
static enum command command_of_script(struct job *job)
{
    return script_trains(job, "DPO")                         ? COMMAND_DPO
           : script_trains(job, "GRPO")                      ? COMMAND_GRPO
           : script_trains(job, "RLOO")                      ? COMMAND_RLOO
           : script_trains(job, "Reward")                    ? COMMAND_REWARD
           : script_is_trl(job) && script_trains(job, "SFT") ? COMMAND_SFT
                                                             : COMMAND_NONE;
}

/* A script of one's own beside the job that parses its flags (TrlParser) for one of TRL's
 * trainers, whose configuration has TRL's defaults. */
static enum command command_of_parser(struct job *job)
{
    static const struct {
        const char *trainer, *config;
        enum command command;
    } rows[] = {{"SFTTrainer(", "SFTConfig", COMMAND_SFT},
                {"DPOTrainer(", "DPOConfig", COMMAND_DPO},
                {"GRPOTrainer(", "GRPOConfig", COMMAND_GRPO},
                {"RLOOTrainer(", "RLOOConfig", COMMAND_RLOO},
                {"RewardTrainer(", "RewardConfig", COMMAND_REWARD}};
    const char *path, *text = NULL;
    size_t length;
    if (script_launched(job, &path, &text, &length) != STATUS_OK || !text ||
        !python_imports(text, "trl"))
        return COMMAND_NONE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].trainer) && strstr(text, rows[i].config))
            return rows[i].command;
    return COMMAND_NONE;
}

/* The command, or what flags of a script of one's own are of; other frameworks around the
 * trainer have theirs. */
static enum command kind_of(struct job *job)
{
    if (job->framework == &job_trl || job->framework == &job_unsloth)
        return command_of_script(job);
    enum command command = command_of(job->command);
    bool script = job->framework == &job_deepspeed || job->framework == &job_fsdp;
    if (command != COMMAND_NONE || !script)
        return command;
    return trl_is_ppo(job)    ? COMMAND_PPO
           : trl_is_grpo(job) ? COMMAND_GRPO
                              : command_of_parser(job);
}

static bool generates(enum command command)
{
    return command == COMMAND_GRPO || command == COMMAND_RLOO;
}

/* What SFTConfig and DPOConfig have in place of the trainer's (trl base_config.py,
 * sft_config.py; gradient_checkpointing by PR 3510, bf16 by PR 3515). */
enum status trl_assume(struct job *job)
{
    enum command command = kind_of(job);
    bool half = false;
    if (command == COMMAND_NONE)
        return STATUS_OK;
    job_assume(job, "gradient_checkpointing", "true",
               "gradient_checkpointing: true, base_config.py");
    TRY(job_switch(job, "fp16", &half));
    if (!half)
        job_assume(job, "bf16", "true", "bf16: true unless fp16, base_config.py");
    job_assume(job, "lora_dropout", "0.05", "lora_dropout: 0.05, model_config.py");
    job_assume(job, "per_device_train_batch_size", "8",
               "per_device_train_batch_size: 8, training_args.py");
    if (generates(command))
        return STATUS_OK;
    if (command == COMMAND_PPO)
        return trl_tell_ppo(job);
    job_assume(job, "max_length", "1024",
               command == COMMAND_SFT      ? "max_length: 1024, sft_config.py"
               : command == COMMAND_REWARD ? "max_length: 1024, reward_config.py"
                                           : "max_length: 1024, dpo_config.py");
    return STATUS_OK;
}

bool trl_makes_loss(struct job *job)
{
    enum command command = kind_of(job);
    return command != COMMAND_NONE && command != COMMAND_SFT;
}

bool trl_is_sft(struct job *job)
{
    return kind_of(job) == COMMAND_SFT;
}

/* Rows whose logits "chunked_nll" makes at once (trl sft_trainer.py). */
enum { CHUNK = 256 };

/* The loss is made in parts, unless told or Liger's (SFTConfig; TRL PR 5846, release 1.7.0). */
static enum status set_loss(struct job *job)
{
    static const char flag[] = "loss_type";
    bool fused = false, smooths;
    const char *loss = NULL;
    TRY(job_switch(job, "use_liger_kernel", &fused));
    TRY(job_word(job, flag, &loss));
    TRY(trainer_smooths(job, &smooths));
    if (fused || smooths || (loss && !text_equal(loss, "chunked_nll")))
        return STATUS_OK;
    uint64_t rows = job_planned(job, "workload.micro_batch", 1);
    uint64_t length = job_planned(job, "workload.sequence_length", 1);
    uint64_t cp = job_planned(job, "parallel.cp", 1); /* of a rank's own rows */
    if (!rows || !length || rows > 1000000 || length > 100000000)
        return STATUS_OK; /* out of the plan's bounds, which say so */
    uint64_t own = cp > 1 ? ceil_div(length, cp) : length;
    uint64_t parts = ceil_div(rows * own, CHUNK);
    if (!loss)
        job_assume(job, flag, "chunked_nll", "loss_type: chunked_nll, sft_config.py");
    job_set(job, "stack.cross_entropy", "chunked", flag);
    job_set_count(job, "stack.loss_chunks", parts < 1000000 ? parts : 1000000, flag);
    if (!loss && !job_requested(job, "stack.cross_entropy"))
        job_warn(job, job_place(job),
                 "no flag gives loss_type, which matters to memory: chunked_nll is planned, "
                 "TRL's since 1.7.0; --set stack.cross_entropy=torch is what it did before");
    return STATUS_OK;
}

enum status trl_set_length(struct job *job)
{
    return generates(kind_of(job)) ? trl_set_completions(job) : STATUS_OK;
}

/* Its trainers cast adapters beside a base in few bits (sft_trainer.py, grpo_trainer.py,
 * dpo_trainer.py: "weights are converted to bf16"). */
static enum status set_adapters(struct job *job)
{
    static const char flags[] = "load_in_4bit load_in_8bit";
    bool four = false, eight = false;
    if (job->framework == &job_unsloth) /* takes that out (unsloth/models/rl.py) */
        return STATUS_OK;
    TRY(job_switch(job, "load_in_4bit", &four));
    TRY(job_switch(job, "load_in_8bit", &eight));
    if ((four || eight) && draft_find(&job->draft, "lora.rank"))
        job_set(job, "lora.format", "bf16", flags);
    return STATUS_OK;
}

/* Mixes weights into the reference's in place (callbacks.py, sync_target_model), both gathered
 * under DeepSpeed's stage 3. */
static enum status warn_of_mixing(struct job *job)
{
    static const char flag[] = "sync_ref_model";
    const struct draft_item *stack = draft_find(&job->draft, "stack");
    bool mixes = false;
    TRY(job_switch(job, flag, &mixes));
    if (mixes && stack && text_equal(stack->words[0], "deepspeed") &&
        job_drafted(job, "parallel.zero", 0) == 3)
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' gathers all weights of the model and of the reference, which matters to "
                 "memory and is not modelled",
                 flag);
    return STATUS_OK;
}

/* The reference is loaded as the model is, and nothing but DeepSpeed makes 16 bits of what was
 * loaded in 32 (dpo_trainer.py, create_model_from_path; models/utils.py, prepare_deepspeed). */
enum status trl_set_reference_format(struct job *job)
{
    static const char flag[] = "torch_dtype";
    const char *loaded = "float32";
    TRY(job_word(job, flag, &loaded));
    bool wide = text_equal(loaded, "float32") || text_equal(loaded, "fp32");
    if (wide && trainer_sharer(job) != TRAINER_DEEPSPEED &&
        !draft_find(&job->draft, "lora.rank"))
        job_set(job, "workload.colocated.format", "f32", flag);
    return STATUS_OK;
}

enum status trl_finish(struct job *job)
{
    enum command command = kind_of(job);
    bool precomputed = false;
    TRY(warn_of_mixing(job));
    if (command == COMMAND_NONE)
        return STATUS_OK;
    TRY(trainer_set_offloading(job, "activation_offloading"));
    TRY(set_adapters(job));
    if (command == COMMAND_SFT)
        return job->framework == &job_unsloth ? STATUS_OK : set_loss(job);
    if (generates(command))
        return trl_finish_grpo(job, command == COMMAND_RLOO);
    if (command == COMMAND_PPO)
        return trl_finish_ppo(job);
    if (command == COMMAND_REWARD) { /* one score of both answers (reward_trainer.py) */
        colocated_set_pairs(job, "per_device_train_batch_size", false);
        job_set(job, "model.labels", "1", "model_name_or_path");
        return STATUS_OK;
    }
    TRY(job_switch(job, "precompute_ref_log_probs", &precomputed));
    colocated_set_pairs(job, "per_device_train_batch_size precompute_ref_log_probs",
                        !precomputed);
    return precomputed ? STATUS_OK : trl_set_reference_format(job);
}
