/* GRPO and RLOO by TRL's flags, whether its own command or a script of one's own starts them:
 * the trainer's update over completions, and vLLM where it stands on the same devices. Read at
 * huggingface/trl 006d32c9bf5d (trainer/grpo_config.py), 02bf6bcd3be5
 * (generation/vllm_generation.py) and 0e4056b3a282 (MIGRATION.md). */
#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/trainer/trainer.h"

static const char prompt_flag[] = "max_prompt_length",
                  completion_flag[] = "max_completion_length", whole_flag[] = "max_length";

bool trl_is_grpo(struct job *job)
{
    static const char *const signs[] = {"num_generations", completion_flag, "vllm_mode",
                                        "steps_per_generation"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (job_given(job, signs[i]))
            return true;
    return false;
}

/* Prompts are as long as the data's; releases that have the flag cut them at 512. */
enum status trl_set_completions(struct job *job)
{
    static const char key[] = "workload.sequence_length",
                      lengths[] = "max_completion_length max_prompt_length";
    uint64_t prompt = 512, completion = 256;
    bool overflow = false;
    TRY(job_count(job, prompt_flag, &prompt));
    TRY(job_count(job, completion_flag, &completion));
    if (job_given(job, whole_flag))
        return STATUS_OK;
    if (!job_given(job, prompt_flag) && !job_requested(job, key))
        job_warn(job, job_place(job),
                 "no flag gives max_prompt_length, and how long prompts are matters to memory: "
                 "%" PRIu64 " tokens are planned, TRL's default while it had one; --set %s=",
                 prompt, key);
    job_set_count(job, key, checked_add(prompt, completion, &overflow), lengths);
    return STATUS_OK;
}

/* Sequences that a rank generates at once (grpo_config.py: per_device_train_batch_size x
 * steps_per_generation, which is gradient_accumulation_steps unless given; or a part of
 * generation_batch_size). */
static enum status count_generated(struct job *job, uint64_t *sequences)
{
    uint64_t steps = 1, all = 0, ranks = 0;
    bool overflow = false;
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_count(job, "steps_per_generation", &steps));
    TRY(job_count(job, "generation_batch_size", &all));
    TRY(job_world(job, &ranks));
    *sequences = checked_mul(job_drafted(job, "workload.micro_batch", 1), steps, &overflow);
    if (all && ranks)
        *sequences = (all + ranks - 1) / ranks;
    return STATUS_OK;
}

/* The model generates itself, with its own weights; no part of the device is set apart. */
enum status trl_set_generation(struct job *job)
{
    static const char key[] = "workload.colocated.sequences",
                      flags[] = "generation_batch_size steps_per_generation "
                                "gradient_accumulation_steps per_device_train_batch_size";
    static const char gathers[] = "ds3_gather_for_generation";
    uint64_t sequences;
    bool whole = true;
    TRY(count_generated(job, &sequences));
    TRY(job_switch(job, gathers, &whole));
    job_set_count(job, key, lesser(sequences, 1000000000), flags);
    if (!whole)
        job_set(job, "workload.colocated.whole", "false", gathers);
    if (job->framework == &job_unsloth)
        job_warn(job, job_place(job),
                 "Unsloth's own generation matters to memory and is not modelled without "
                 "fast_inference: transformers' cache stands in");
    return STATUS_OK;
}

static enum status read_vllm(struct job *job)
{
    static const char mode_flag[] = "vllm_mode";
    const char *mode = "colocate";
    struct away none = {0}; /* TRL moves nothing of the trainer */
    struct engine_beside engine = {
        .tp = 1,
        .fraction = 0.3,
        .sleep_flags = "vllm_enable_sleep_mode vllm_mode use_vllm",
        .tp_flag = "vllm_tensor_parallel_size",
        .fraction_flag = "vllm_gpu_memory_utilization",
    };
    TRY(job_word(job, mode_flag, &mode));
    TRY(job_switch(job, "vllm_enable_sleep_mode", &engine.sleeps));
    TRY(colocated_read(job, &engine));
    if (!job_given(job, mode_flag))
        job_warn(job, job_place(job),
                 "no flag gives vllm_mode, which matters to memory: colocate is planned, TRL's "
                 "since 1.0 (MIGRATION.md); before, it was server, an engine on other devices");
    if (text_equal(mode, "server"))
        return STATUS_OK;
    if (!text_equal(mode, "colocate")) {
        job_fail(job, mode_flag, "'%s' is no mode of vLLM's", mode);
        return err_hint(job->err, "colocate or server");
    }
    colocated_set(job, &engine, &none);
    return STATUS_OK;
}

/* The base of adapters is the reference; GRPO has none unless it is weighed (beta). */
static enum status read_reference(struct job *job, bool rloo)
{
    double beta = rloo ? 0.05 : 0;
    uint64_t times = 1;
    TRY(job_real(job, "beta", &beta));
    TRY(job_count(job, "num_iterations", &times));
    if (!(fabs(beta) > 0))
        return STATUS_OK;
    /* asked once for what is trained num_iterations times */
    colocated_set_reference(job, "beta num_iterations", times <= 1);
    return trl_set_reference_format(job);
}

/* Of DeepSpeed a model that scores is an engine of its own in 16 bits, shared out from ZeRO-3
 * on (prepare_deepspeed); of FSDP it is whole, in its checkpoint's format or f32. */
enum status trl_set_reward(struct job *job, const char *flag)
{
    const char *path = NULL;
    TRY(job_word(job, flag, &path));
    uint64_t n = path ? scorer_parameters(job, path) : 0;
    if (n && trainer_sharer(job) == TRAINER_DEEPSPEED)
        job_set_count(job, "workload.colocated.parameters", n, flag);
    else if (path)
        job_warn(job, job_setting(job, flag)->mark,
                 "the reward model, which stands whole on every device, matters to memory and "
                 "is not planned: --set workload.colocated.parameters=");
    return STATUS_OK;
}

/* Adapters are merged before they are copied, of whole weights where ZeRO-3 shares them out. */
static void warn_of_merge(struct job *job)
{
    bool adapters = draft_find(&job->draft, "lora.rank") != NULL;
    if (adapters && trainer_sharer(job) == TRAINER_DEEPSPEED &&
        job_drafted(job, "parallel.zero", 0) >= 3)
        job_warn(job, job_place(job),
                 "all weights gathered at once, as vLLM's are filled, matter to memory and are "
                 "not modelled: ZeRO-3 merges adapters so");
}

/* Logits are made of a completion and of the token before it (grpo_trainer.py: logits_to_keep +
 * 1); where the whole length alone is given, a completion has the default's. */
static enum status set_logits(struct job *job)
{
    uint64_t completion = 256;
    bool overflow = false;
    TRY(job_count(job, completion_flag, &completion));
    job_set_count(job, "workload.logits_to_keep", checked_add(completion, 1, &overflow),
                  completion_flag);
    return STATUS_OK;
}

enum status trl_finish_grpo(struct job *job, bool rloo)
{
    static const char reward_flag[] = "reward_model_name_or_path";
    bool vllm = false;
    TRY(job_switch(job, "use_vllm", &vllm));
    if (vllm)
        TRY(read_vllm(job));
    else
        TRY(trl_set_generation(job));
    if (vllm)
        warn_of_merge(job);
    TRY(set_logits(job));
    TRY(trl_set_reward(job, reward_flag));
    return read_reference(job, rloo);
}
