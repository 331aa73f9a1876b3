/* GRPO and RLOO by TRL's flags, whether its own command or a script of one's own starts them:
 * the trainer's update over completions, and vLLM where it stands on the same devices. Read at
 * huggingface/trl 006d32c9bf5d (trainer/grpo_config.py), 02bf6bcd3be5
 * (generation/vllm_generation.py) and 0e4056b3a282 (MIGRATION.md). */
#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/trainer.h"

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
 * steps_per_generation, which is gradient_accumulation_steps unless given). */
static enum status count_generated(struct job *job, uint64_t *sequences)
{
    uint64_t steps = 1;
    bool overflow = false;
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_count(job, "steps_per_generation", &steps));
    *sequences = checked_mul(job_drafted(job, "workload.micro_batch", 1), steps, &overflow);
    return STATUS_OK;
}

/* Their keys and values in 16 bits (transformers' DynamicCache), of a model whose layers are
 * all of grouped queries over everything before; 0: of another, or not known. */
static enum status cache_of(struct job *job, uint64_t sequences, uint64_t *bytes)
{
    enum { KEY_AND_VALUE = 2, BYTES = 2 };
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const struct attention *a = &plan->model.attention;
    uint64_t length = job_drafted(job, "workload.sequence_length", 0);
    bool known, overflow = false;
    *bytes = 0;
    TRY(job_part(job, "model", plan, &known));
    if (!known || plan->model.layer_types.n || a->kind != ATTENTION_GQA)
        return STATUS_OK;
    uint64_t token = checked_mul(
        checked_mul(plan->model.layers, a->kv_heads ? a->kv_heads : a->heads, &overflow),
        checked_mul(a->head_dim, KEY_AND_VALUE * BYTES, &overflow), &overflow);
    *bytes = checked_mul(checked_mul(token, length, &overflow), sequences, &overflow);
    *bytes = overflow ? 0 : *bytes;
    return STATUS_OK;
}

/* The model generates itself, with its own weights; no part of the device is set apart. */
static enum status warn_of_generate(struct job *job)
{
    uint64_t sequences, bytes;
    TRY(count_generated(job, &sequences));
    TRY(cache_of(job, sequences, &bytes));
    const char *size = bytes ? arena_printf(job->arena, " (%" PRIu64 " sequences: %.2f GiB)",
                                            sequences, (double)bytes / (1 << 30))
                             : "";
    job_warn(job, job_place(job),
             "what the model holds while it generates matters to memory and is not modelled "
             "without use_vllm: keys and values of all completions%s, and under ZeRO-3 or FSDP "
             "gathered weights; the update is planned",
             size);
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
    TRY(job_real(job, "beta", &beta));
    if (fabs(beta) > 0 && !draft_find(&job->draft, "lora.rank"))
        job_set_count(job, "workload.colocated.reference", 1, "beta");
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

/* The loss reads completions alone (logits_to_keep), which a plan cannot say. */
enum status trl_finish_grpo(struct job *job, bool rloo)
{
    static const char reward_flag[] = "reward_model_name_or_path";
    bool vllm = false;
    TRY(job_switch(job, "use_vllm", &vllm));
    if (vllm)
        TRY(read_vllm(job));
    else
        TRY(warn_of_generate(job));
    if (vllm)
        warn_of_merge(job);
    job_warn(job, job_place(job),
             "the loss reads no logits of prompts, which matter to memory: those of whole "
             "sequences are planned, which is more");
    if (job_given(job, reward_flag))
        job_warn(job, job_setting(job, reward_flag)->mark,
                 "the reward model's size matters to memory and is not known: --set "
                 "workload.colocated.parameters=");
    return read_reference(job, rloo);
}
