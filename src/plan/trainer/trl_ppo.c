/* PPO by TRL: a policy and a value model of its own in one pass under one optimizer, a
 * reference, a model that scores; the policy generates by itself. Read at huggingface/trl
 * 0062ee10a9bc (experimental/ppo/ppo_trainer.py), 2d3eb40f6a44 (ppo_config.py) and 07e1b4fe3820
 * (examples/scripts/ppo/ppo.py: the value model is the reward model's copy). Before 0.12 it
 * trained a value head on the policy's own layers instead, one row of a matrix; scripts of that
 * have other names. */
#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/trainer/trainer.h"

static const char policy_flag[] = "sft_model_path", reward_flag[] = "reward_model_path",
                  at_once_flag[] = "local_rollout_forward_batch_size",
                  response_flag[] = "response_length";

bool trl_is_ppo(struct job *job)
{
    static const char *const signs[] = {"num_ppo_epochs", at_once_flag, policy_flag,
                                        "total_episodes"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (job_given(job, signs[i]))
            return true;
    return false;
}

/* model_name_or_path gives the tokenizer alone. */
enum status trl_tell_ppo(struct job *job)
{
    const char *policy = NULL;
    TRY(job_word(job, policy_flag, &policy));
    if (policy)
        job_retell(job, policy_flag, "model_name_or_path", policy);
    return job->err->status;
}

/* Sequences of a rank that are generated before it learns from them (PPOTrainer.__init__). */
static enum status local_batch(struct job *job, uint64_t *sequences)
{
    uint64_t steps = 1, parts = 1;
    bool overflow = false;
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_count(job, "num_mini_batches", &parts));
    *sequences = checked_mul(job_drafted(job, "workload.micro_batch", 1),
                             checked_mul(steps, parts, &overflow), &overflow);
    return STATUS_OK;
}

/* Of a rank's batch so many generate at once, and the logits of all answers wait in f32 until
 * they are scored (batch_generation). */
static enum status set_generation(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t all, at_once = 64, response = 53;
    bool known;
    TRY(local_batch(job, &all));
    TRY(job_count(job, at_once_flag, &at_once));
    TRY(job_count(job, response_flag, &response));
    TRY(job_part(job, "model", plan, &known));
    job_set_count(job, "workload.colocated.sequences", lesser(lesser(at_once, all), 1000000000),
                  at_once_flag);
    double logits = 4.0 * (double)all * (double)response * (double)plan->model.vocab;
    if (known)
        job_warn(job, job_place(job),
                 "logits of all answers, which wait in f32 until they are scored, matter to "
                 "memory and are not modelled: %.3g GiB while the policy generates",
                 logits / (1 << 30));
    return STATUS_OK;
}

/* In the policy's pass, of its shape or of its own. */
static enum status set_value_model(struct job *job)
{
    const char *policy = NULL, *scorer = NULL;
    TRY(job_word(job, "model_name_or_path", &policy));
    TRY(job_word(job, reward_flag, &scorer));
    bool other = scorer && policy && !models_are_alike(job, scorer, policy);
    uint64_t n = other ? scorer_parameters(job, scorer) : 0;
    if (n)
        job_set_count(job, "workload.colocated.critic_parameters", n, reward_flag);
    else
        job_set_count(job, "workload.colocated.critic", 1, reward_flag);
    job_set(job, "workload.colocated.critic_joint", "true", reward_flag);
    if (other)
        job_warn(job, job_setting(job, reward_flag)->mark,
                 "%s of the value model matters to memory and is not %s: %s",
                 n ? "what the pass" : "the shape", n ? "modelled" : "known",
                 n ? "its states and gradients are planned"
                   : "the policy's stands in; --set workload.colocated.critic=0 --set "
                     "workload.colocated.critic_parameters=8e9");
    return STATUS_OK;
}

enum status trl_finish_ppo(struct job *job)
{
    bool again = false;
    TRY(set_value_model(job));
    TRY(set_generation(job));
    TRY(trl_set_reward(job, reward_flag));
    TRY(job_switch(job, "gradient_checkpointing", &again));
    if (!again)
        job_warn(job, job_setting(job, "gradient_checkpointing")->mark,
                 "what the value model's layers save where none runs again matters to memory "
                 "and is not modelled");
    job_warn(job, job_place(job),
             "the value model's pass matters to time and is not modelled: a step is priced as "
             "the policy's");
    if (!draft_find(&job->draft, "lora.rank"))
        job_set_count(job, "workload.colocated.reference", 1, reward_flag);
    return STATUS_OK;
}
