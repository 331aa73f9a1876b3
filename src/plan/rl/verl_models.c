/* What verl keeps beside the actor; see verl.h. Read at volcengine/verl 008db456bf61
 * (trainer/config), b38119fa2482 (workers/fsdp_workers.py), 3f7c31b41b7c
 * (trainer/config/ref/dp_ref.yaml) and 5f181fa59134 (workers/engine/fsdp). */
#include <inttypes.h>

#include "base/checked.h"
#include "plan/rl/verl.h"

/* ---- those that only answer ---- */

/* FSDP's are put into host memory whatever param_offload says: the engine of a reference is
 * forward_only, which is CPUOffload(offload_params=True), or CPUOffloadPolicy of FSDP2, as in
 * the workers before. Megatron's go there where they are told. */
static enum status read_reference(struct job *job, struct away *away)
{
    static const char own_flag[] = "ref.megatron.param_offload";
    bool loss = false, reward = false, there = false;
    TRY(job_switch(job, "actor.use_kl_loss", &loss));
    TRY(job_switch(job, "algorithm.use_kl_in_reward", &reward));
    TRY(job_switch(job, own_flag, &there));
    bool adapters =
        draft_find(&job->draft, "lora.rank") != NULL; /* the base is the reference */
    if ((!loss && !reward) || adapters)
        return STATUS_OK;
    job_set_count(job, "workload.colocated.reference", 1,
                  "actor.use_kl_loss algorithm.use_kl_in_reward");
    if (!verl_is_megatron(job))
        away_add(job, away, "reference", "actor.strategy");
    else if (there)
        away_add(job, away, "reference", own_flag);
    return STATUS_OK;
}

/* Parameters of a reward model on one rank of its own tp and pp. */
static enum status reward_parameters(struct job *job, const char *flag, uint64_t *n)
{
    const char *path = NULL;
    uint64_t tp = 1, pp = 1;
    bool overflow = false;
    *n = 0;
    TRY(job_path(job, flag, &path));
    TRY(job_count(job, "reward_model.megatron.tensor_model_parallel_size", &tp));
    TRY(job_count(job, "reward_model.megatron.pipeline_model_parallel_size", &pp));
    uint64_t parts = verl_is_megatron(job) ? checked_mul(tp, pp, &overflow) : 1;
    if (path)
        *n = ceil_div(scorer_parameters(job, path), parts ? parts : 1);
    return STATUS_OK;
}

/* A worker of its own scores by a model as the reference answers by its (RewardModelWorker;
 * RewardModelConfig since has an engine, which sleeps while others have their turn). */
static enum status read_reward(struct job *job, struct away *away)
{
    static const char flag[] = "reward_model.enable", path_flag[] = "reward_model.model.path",
                      pool_flag[] = "reward_model.enable_resource_pool",
                      own_flag[] = "reward_model.megatron.param_offload",
                      engine_flag[] = "reward_model.rollout.name";
    bool on = false, apart = false, there = false;
    uint64_t n;
    TRY(job_switch(job, flag, &on));
    TRY(job_switch(job, pool_flag, &apart));
    TRY(job_switch(job, own_flag, &there));
    TRY(reward_parameters(job, path_flag, &n));
    if (!on || apart || job_given(job, engine_flag))
        return STATUS_OK;
    if (!n) {
        job_warn(job, job_setting(job, job_given(job, path_flag) ? path_flag : flag)->mark,
                 "the reward model's size matters to memory and is not known: --set "
                 "workload.colocated.parameters=8e9");
        return STATUS_OK;
    }
    job_set_count(job, "workload.colocated.parameters", n, path_flag);
    if (!verl_is_megatron(job) || there)
        away_add(job, away, "frozen", there ? own_flag : flag);
    return STATUS_OK;
}

/* ---- a critic ---- */

/* What of a critic waits in host memory gives way to the actor; where the actor's does not to
 * it, both are there while it is trained. */
static enum status read_turns(struct job *job, struct away *away)
{
    static const struct {
        const char *flag, *actor, *word;
    } rows[] = {
        {"critic.model.fsdp_config.param_offload", "weights", "critic_weights"},
        {"critic.model.fsdp_config.optimizer_offload", "states", "critic_states"},
    };
    bool gives[2] = {false, false};
    for (size_t i = 0; i < 2; i++) {
        bool waits = false;
        TRY(job_switch(job, rows[i].flag, &waits));
        gives[i] = waits && away_has(away, rows[i].actor);
        if (waits && !gives[i])
            job_warn(job, job_setting(job, rows[i].flag)->mark,
                     "%s of the critic wait in host memory while the actor's do not for it, "
                     "which matters to memory: all of it stays on the device here",
                     rows[i].actor);
    }
    if (gives[0] && gives[1])
        away_add(job, away, "critic", rows[0].flag);
    for (size_t i = 0; i < 2; i++)
        if (gives[i] && !gives[1 - i])
            away_add(job, away, rows[i].word, rows[i].flag);
    return STATUS_OK;
}

/* Of another shape than the actor's: its parameters on a rank of its own tp and pp. */
static enum status set_critic(struct job *job, const char *path, const char *flags)
{
    static const char path_flag[] = "critic.model.path";
    const char *actor = NULL;
    uint64_t tp = job_drafted(job, "parallel.tp", 1), pp = job_drafted(job, "parallel.pp", 1);
    bool overflow = false;
    TRY(job_path(job, "model.path", &actor));
    TRY(job_count(job, "critic.megatron.tensor_model_parallel_size", &tp));
    TRY(job_count(job, "critic.megatron.pipeline_model_parallel_size", &pp));
    bool other = path && actor && !models_are_alike(job, path, actor);
    uint64_t n = other ? scorer_parameters(job, path) : 0,
             parts = verl_is_megatron(job) ? checked_mul(tp, pp, &overflow) : 1;
    if (n) {
        job_set_count(job, "workload.colocated.critic_parameters",
                      ceil_div(n, parts ? parts : 1), path_flag);
        return STATUS_OK;
    }
    job_set_count(job, "workload.colocated.critic", 1, flags);
    if (other)
        job_warn(job, job_setting(job, path_flag)->mark,
                 "the critic's own shape matters to memory and is not known: the actor's "
                 "stands in; --set workload.colocated.critic=0 --set "
                 "workload.colocated.critic_parameters=8e9");
    return STATUS_OK;
}

/* A critic's own step reads no logits, so that twice the actor's rows may be in it; what is
 * more, or not run again where the actor's is, may have the peak. */
static enum status warn_of_step(struct job *job)
{
    static const char again_flag[] = "critic.model.enable_gradient_checkpointing";
    const char *micro_flag;
    uint64_t micro = 0, actor = job_drafted(job, "workload.micro_batch", 1);
    bool again = true;
    const struct draft_item *kind = draft_find(&job->draft, "recompute.kind");
    TRY(verl_read_micro(job, "critic.ppo_micro_batch_size_per_gpu",
                        "critic.ppo_micro_batch_size", &micro, &micro_flag));
    TRY(job_switch(job, again_flag, &again));
    const bool less = !again && kind && !text_equal(kind->words[0], "none");
    const char *flag = less ? again_flag : micro_flag;
    if (less || (job_drafted(job, "workload.packing.length", 0) == 0 && micro > 2 * actor))
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' makes the critic's own step larger than the actor's, which matters to "
                 "memory and is not modelled: the actor's is planned",
                 flag);
    return STATUS_OK;
}

/* A critic is trained where the estimator needs one, or as it is told (critic.yaml). */
static enum status read_critic(struct job *job, struct away *away)
{
    static const char estimator_flag[] = "algorithm.adv_estimator",
                      enable_flag[] = "critic.enable";
    const char *estimator = "gae", *enable = "null", *path = NULL;
    TRY(job_word(job, estimator_flag, &estimator));
    TRY(job_word(job, enable_flag, &enable));
    TRY(job_path(job, "critic.model.path", &path));
    bool trained = text_equal(enable, "null")
                       ? text_equal(estimator, "gae")
                       : text_equal(enable, "True") || text_equal(enable, "true");
    if (!trained)
        return STATUS_OK;
    TRY(set_critic(job, path, arena_printf(job->arena, "%s %s", enable_flag, estimator_flag)));
    TRY(warn_of_step(job));
    return read_turns(job, away);
}

enum status verl_read_models(struct job *job, struct away *away)
{
    TRY(read_critic(job, away));
    TRY(read_reference(job, away));
    return read_reward(job, away);
}
