/* OpenRLHF's launches: supervised training, preferences and PPO, by DeepSpeed. Read at
 * OpenRLHF/OpenRLHF 021d1b096419 (cli/train_ppo_ray.py), 006cd7081fc2 (cli/train_sft.py),
 * 0a3fbcef0548 (utils/deepspeed/deepspeed_utils.py). */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/packed.h"
#include "plan/trainer/trainer.h"

#define CLI "openrlhf openrlhf/cli/train_ppo_ray.py"
#define SUPERVISED "openrlhf openrlhf/cli/train_sft.py"
#define PAIRS "openrlhf openrlhf/cli/train_dpo.py"
#define ZERO "openrlhf openrlhf/utils/deepspeed/deepspeed_utils.py"
#define STRATEGY "openrlhf openrlhf/utils/deepspeed/deepspeed.py"
#define ACTOR "openrlhf openrlhf/trainer/ray/ppo_actor.py"

static const struct job_flag flags[] = {
    RULE("pretrain", JOB_VALUE, "model", "by its name on the hub, or its folder", CLI),
    RULE("zero_stage", JOB_VALUE, "parallel.zero", "2 unless given", ZERO),
    RULE("adam_offload", JOB_SWITCH, "optimizer.offload", "1", ZERO),
    RULE("zpg", JOB_VALUE, "parallel.hpz_shard", "above 1", ZERO),
    RULE("grad_accum_dtype", JOB_VALUE, "precision.gradients", "the weights' unless given",
         ZERO),
    RULE("overlap_comm", JOB_SWITCH, "parallel.overlap_reduce", "two buckets", ZERO),
    RULE("ds_tensor_parallel_size", JOB_VALUE, "parallel.tp", "1 unless given", ZERO),
    RULE("ring_attn_size", JOB_VALUE, "parallel.cp", "1 unless given", CLI),
    RULE("bf16", JOB_SWITCH, "precision.weights", "bf16, given or not", CLI),
    RULE("param_dtype", JOB_VALUE, "precision.weights", "bf16, fp16", CLI),
    RULE("micro_train_batch_size", JOB_VALUE, "workload.micro_batch",
         "4 of PPO, else 8, unless given", CLI),
    RULE("train_batch_size", JOB_VALUE, "workload.global_batch", "128 unless given", CLI),
    RULE("max_len", JOB_VALUE, "workload.sequence_length",
         "2048 unless given, of pairs 512; of PPO in place of both lengths", SUPERVISED),
    RULE("prompt_max_len", JOB_VALUE, "workload.sequence_length",
         "of PPO, with generate_max_len; 1024 each unless given", CLI),
    RULE("generate_max_len", JOB_VALUE, "workload.sequence_length", "of PPO, with the prompt",
         CLI),
    RULE("use_dynamic_batch", JOB_SWITCH, "workload.micro_batch",
         "1 of train_max_tokens_per_gpu", CLI),
    RULE("train_max_tokens_per_gpu", JOB_VALUE, "workload.sequence_length",
         "with use_dynamic_batch; 16192 unless given", CLI),
    RULE("lora_rank", JOB_VALUE, "lora.rank", "0: none", CLI),
    RULE("target_modules", JOB_LIST, "lora.targets", "by name; all-linear unless given", CLI),
    RULE("actor_num_nodes", JOB_VALUE, "cluster", "1 unless given", CLI),
    RULE("actor_num_gpus_per_node", JOB_VALUE, "cluster", "8 unless given", CLI),
    RULE("colocate_all_models", JOB_SWITCH, "workload.colocated.engine",
         "with critic and reference; otherwise what has devices of its own is left out", CLI),
    RULE("colocate_actor_ref", JOB_SWITCH, "workload.colocated.reference", "1", CLI),
    RULE("vllm_enable_sleep", JOB_SWITCH, "workload.colocated.engine", "asleep; awake without",
         CLI),
    RULE("vllm_tensor_parallel_size", JOB_VALUE, "workload.colocated.tp", "1 unless given",
         CLI),
    RULE("vllm_gpu_memory_utilization", JOB_VALUE, "workload.colocated.fraction",
         "0.95 unless given", CLI),
    RULE("deepspeed_enable_sleep", JOB_SWITCH, "workload.colocated.away",
         "states, critic_states, unless adam_offload has them there", CLI),
    RULE("init_kl_coef", JOB_VALUE, "workload.colocated.reference", "1 unless it is 0", CLI),
    RULE("ref_reward_offload ref_offload", JOB_SWITCH, "workload.colocated.away",
         "reference, frozen, of ZeRO-3; below it both stay", STRATEGY),
    RULE("advantage_estimator", JOB_VALUE, "workload.colocated.critic",
         "gae, which holds unless given: 1", CLI),
    RULE("reward_pretrain", JOB_VALUE, "workload.colocated.parameters",
         "with colocate_all_models, unless scores come from elsewhere", CLI),
    RULE("critic_pretrain", JOB_VALUE, "workload.colocated.critic_parameters",
         "of another model than pretrain; the reward model's unless given", CLI),
    RULE("enable_ema", JOB_SWITCH, "workload.colocated.average",
         "1, in host memory under ZeRO-3", ACTOR),
    RULE("aux_loss_coef", JOB_VALUE, "stack.balance_loss",
         "above 0: masked; joint with packing_samples", CLI),
    RULE("packing_samples", JOB_SWITCH, "stack.balance_loss",
         "no mask; all sequences have the longest length here", CLI),
    IDLE("flash_attn", JOB_SWITCH, "flash attention is planned", CLI),
    RULE("attn_implementation", JOB_VALUE, "stack.attention", "eager unfused", CLI),
    RULE("freeze_visual_encoder", JOB_SWITCH, "workload.encoder.train", "none", CLI),
    MEMORY("fsdp2_enable_sleep", JOB_SWITCH, NULL,
           "a trainer of FSDP2's is planned as DeepSpeed", CLI),
    RULE("remote_rm_url", JOB_LIST, "workload.colocated.parameters",
         "0: scores come from elsewhere", CLI),
    RULE("agent_func_path", JOB_LIST, "workload.colocated.parameters",
         "0: scores come from elsewhere", CLI),
    IDLE("vllm_num_engines", JOB_VALUE, "as many as the devices give", CLI),
    IDLE("entropy_loss_coef", JOB_VALUE, "logits are in f32 either way", CLI),
    TIME("use_liger_kernel", JOB_SWITCH, NULL,
         "torch's kernels stand in; the logits are made either way", CLI),
    TIME("deepcompile", JOB_SWITCH, NULL, NULL, ZERO),
    RULE("async_train", JOB_SWITCH, "workload.colocated.engine",
         "none: colocate_all_models is of DeepSpeed's models then", CLI),
    NEITHER("ref_num_nodes", JOB_VALUE, CLI),
    NEITHER("ref_num_gpus_per_node", JOB_VALUE, CLI),
    NEITHER("reward_num_nodes", JOB_VALUE, CLI),
    NEITHER("reward_num_gpus_per_node", JOB_VALUE, CLI),
    NEITHER("critic_num_nodes", JOB_VALUE, CLI),
    NEITHER("critic_num_gpus_per_node", JOB_VALUE, CLI),
    NEITHER("micro_rollout_batch_size", JOB_VALUE, CLI),
    NEITHER("rollout_batch_size", JOB_VALUE, CLI),
    NEITHER("n_samples_per_prompt", JOB_VALUE, CLI),
    NEITHER("rollout_max_tokens_per_gpu", JOB_VALUE, CLI),
    NEITHER("max_epochs", JOB_VALUE, CLI),
    NEITHER("num_episodes", JOB_VALUE, CLI),
    NEITHER("max_samples", JOB_VALUE, CLI),
    NEITHER("actor_learning_rate", JOB_VALUE, CLI),
    NEITHER("critic_learning_rate", JOB_VALUE, CLI),
    NEITHER("prompt_data", JOB_VALUE, CLI),
    NEITHER("max_new_tokens", JOB_VALUE, CLI), /* of max_len */
    NEITHER("image_key", JOB_VALUE, CLI),
    NEITHER("input_key", JOB_VALUE, CLI),
    NEITHER("label_key", JOB_VALUE, CLI),
    NEITHER("output_key", JOB_VALUE, SUPERVISED),
    NEITHER("chosen_key", JOB_VALUE, PAIRS),
    NEITHER("rejected_key", JOB_VALUE, PAIRS),
    NEITHER("dataset", JOB_VALUE, SUPERVISED),
    NEITHER("input_template", JOB_VALUE, CLI),
    NEITHER("apply_chat_template", JOB_SWITCH, CLI),
    NEITHER("normalize_reward", JOB_SWITCH, CLI),
    NEITHER("save_path", JOB_VALUE, CLI),
    NEITHER("ckpt_path", JOB_VALUE, CLI),
    NEITHER("save_steps", JOB_VALUE, CLI),
    NEITHER("logging_steps", JOB_VALUE, CLI),
    NEITHER("eval_steps", JOB_VALUE, CLI),
    NEITHER("load_checkpoint", JOB_SWITCH, CLI),
    NEITHER("save_hf_ckpt", JOB_SWITCH, CLI),
    NEITHER("use_wandb", JOB_VALUE, CLI),
    NEITHER("use_tensorboard", JOB_VALUE, CLI),
    NEITHER("gamma", JOB_VALUE, CLI),
    NEITHER("use_kl_loss", JOB_SWITCH, CLI),
    NEITHER("kl_estimator", JOB_VALUE, CLI),
    NEITHER("vllm_sync_backend", JOB_VALUE, CLI),
    NEITHER("enforce_eager", JOB_SWITCH, CLI),
    NEITHER("enable_prefix_caching", JOB_SWITCH, CLI),
    NEITHER("learning_rate", JOB_VALUE, SUPERVISED),
    NEITHER("l2", JOB_VALUE, CLI),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static const struct job_framework *const shares[] = {&job_deepspeed, NULL};

/* ---- which of its trainers ---- */

enum trainer { RUN_SFT, RUN_DPO, RUN_KTO, RUN_RM, RUN_PPO, RUNS };

static const struct {
    const char *module, *batch, *length;
    bool pairs, reference;
} trainers[RUNS] = {
    [RUN_SFT] = {"train_sft", "8", "2048", false, false},
    [RUN_DPO] = {"train_dpo", "8", "512", true, true},
    [RUN_KTO] = {"train_kto", "8", "512", false, true},
    [RUN_RM] = {"train_rm", "8", "512", true, false},
    [RUN_PPO] = {"train_ppo", "4", "2048", false, false},
};

static enum trainer trainer_of(const struct job *job)
{
    for (size_t i = 0; job->command && i < job->command->n; i++)
        for (unsigned t = 0; t < RUNS; t++)
            if (strstr(job->command->items[i].text, trainers[t].module))
                return (enum trainer)t;
    return RUN_SFT;
}

/* ---- in DeepSpeed's and the trainer's words ---- */

static enum status tell_names(struct job *job)
{
    static const char *const others[][2] = {
        {"pretrain", "model_name_or_path"},
        {"zero_stage", "zero_optimization.stage"},
        {"zpg", "zero_optimization.zero_hpz_partition_size"},
        {"grad_accum_dtype", "data_types.grad_accum_dtype"},
        {"ds_tensor_parallel_size", "tensor_parallel.autotp_size"},
        {"ring_attn_size", "sequence_parallel_size"},
        {"micro_train_batch_size", "train_micro_batch_size_per_gpu"},
        {"max_len", "max_length"},
    };
    bool offload = false, overlap = false;
    uint64_t rank = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *value = NULL;
        TRY(job_word(job, others[i][0], &value));
        if (value)
            job_retell(job, others[i][0], others[i][1], value);
    }
    TRY(job_switch(job, "adam_offload", &offload));
    TRY(job_switch(job, "overlap_comm", &overlap));
    TRY(job_count(job, "lora_rank", &rank));
    if (offload)
        job_retell(job, "adam_offload", "zero_optimization.offload_optimizer.device", "cpu");
    if (overlap)
        job_retell(job, "overlap_comm", "zero_optimization.overlap_comm", "true");
    if (rank) {
        const struct setting *s = job_setting(job, "target_modules");
        const char *words[PLAN_NAMES], *joined = "";
        size_t n = s ? trainer_words(job, "target_modules", words) : 0;
        for (size_t i = 0; i < n; i++)
            joined = arena_printf(job->arena, "%s%s%s", joined, i ? "," : "", words[i]);
        job_retell(job, "lora_rank", "lora_r", arena_printf(job->arena, "%" PRIu64, rank));
        job_assume(job, "use_peft", "true", "lora_rank above 0");
        if (n)
            job_retell(job, "target_modules", "lora_target_modules", joined);
    }
    return job->err->status;
}

static enum status tell_formats(struct job *job)
{
    const char *type = "bf16";
    TRY(job_word(job, "param_dtype", &type));
    job_retell(job, "param_dtype", text_equal(type, "fp16") ? "fp16.enabled" : "bf16.enabled",
               "true");
    job_assume(job, text_equal(type, "fp16") ? "fp16.enabled" : "bf16.enabled", "true",
               "param_dtype: bf16");
    return job->err->status;
}

static enum status openrlhf_prepare(struct job *job)
{
    const enum trainer kind = trainer_of(job);
    if (kind == RUN_PPO)
        TRY(job_read_size(job, "actor_num_nodes", "actor_num_gpus_per_node"));
    TRY(tell_names(job));
    TRY(tell_formats(job));
    job_assume(job, "zero_optimization.stage", "2", "zero_stage: 2");
    job_assume(job, "train_micro_batch_size_per_gpu", trainers[kind].batch,
               "micro_train_batch_size, by its trainer");
    job_assume(job, "train_batch_size", "128", "train_batch_size: 128");
    if (kind != RUN_PPO)
        job_assume(job, "max_length", trainers[kind].length, "max_len, by its trainer");
    return job->err->status;
}

/* ---- how long sequences are ---- */

static enum status set_length(struct job *job)
{
    static const char lengths[] = "generate_max_len prompt_max_len max_len";
    uint64_t prompt = 1024, answer = 1024, whole = 0, most = 16192;
    bool dynamic = false, overflow = false;
    TRY(job_count(job, "prompt_max_len", &prompt));
    TRY(job_count(job, "generate_max_len", &answer));
    TRY(job_count(job, "max_len", &whole));
    TRY(job_count(job, "train_max_tokens_per_gpu", &most));
    TRY(job_switch(job, "use_dynamic_batch", &dynamic));
    uint64_t length = whole ? whole : checked_add(prompt, answer, &overflow);
    if (!dynamic) {
        job_set_count(job, "workload.sequence_length", length, lengths);
        return STATUS_OK;
    }
    /* of all that a sequence is split over (utils/seqlen_balancing.py) */
    most = checked_mul(most, job_drafted(job, "parallel.cp", 1), &overflow);
    most = checked_mul(most, job_drafted(job, "parallel.tp", 1), &overflow);
    return packed_set(
        job, &(struct packed_batch){.most = most,
                                    .longest = length,
                                    .sequences = job_drafted(job, "workload.global_batch", 0),
                                    .switch_flags = "use_dynamic_batch",
                                    .most_flags = "train_max_tokens_per_gpu use_dynamic_batch",
                                    .longest_flags = lengths,
                                    .sequences_flags = "train_batch_size"});
}

/* ---- what stands beside the actor ---- */

struct beside {
    bool all;    /* models share the actor's devices */
    bool whole;  /* below ZeRO-3: on every device, where offloading does nothing
                    (get_ds_eval_config: stage 0, whose engine moves the model there) */
    bool sleeps; /* DeepSpeed's states leave while others have their turn */
    bool scored; /* by a model of the job's own */
    const char *scorer;
};

static enum status read_beside(struct job *job, bool all, struct beside *b)
{
    bool moved = false;
    *b = (struct beside){.all = all, .whole = job_drafted(job, "parallel.zero", 2) < 3};
    TRY(job_switch(job, "deepspeed_enable_sleep", &b->sleeps));
    TRY(job_switch(job, "adam_offload", &moved));
    TRY(job_word(job, "reward_pretrain", &b->scorer));
    b->sleeps = b->sleeps && !moved; /* else Adam's are there already */
    b->scored =
        b->scorer && !job_given(job, "remote_rm_url") && !job_given(job, "agent_func_path");
    return STATUS_OK;
}

/* Both beside the actor by colocate_all_models, the reference by colocate_actor_ref, too. */
static enum status set_frozen(struct job *job, const struct beside *b, struct away *away)
{
    static const char kl_flag[] = "init_kl_coef", offload_flag[] = "ref_reward_offload",
                      reward_flag[] = "reward_pretrain";
    double kl = 0.01;
    bool beside = b->all, offloaded = false;
    TRY(job_switch(job, "colocate_actor_ref", &beside));
    TRY(job_real(job, kl_flag, &kl));
    TRY(job_switch(job, offload_flag, &offloaded));
    offloaded = offloaded && !b->whole;
    if ((b->all || beside) && kl > 0) {
        job_set_count(job, "workload.colocated.reference", 1,
                      "init_kl_coef colocate_actor_ref colocate_all_models");
        if (offloaded)
            away_add(job, away, "reference", offload_flag);
    }
    uint64_t n = b->all && b->scored ? scorer_parameters(job, b->scorer) : 0;
    if (n)
        job_set_count(job, "workload.colocated.parameters", n, reward_flag);
    if (n && offloaded)
        away_add(job, away, "frozen", offload_flag);
    if (b->all && b->scored && !n)
        job_warn(job, job_setting(job, reward_flag)->mark,
                 "the reward model's size matters to memory and is not known: --set "
                 "workload.colocated.parameters=8e9");
    return STATUS_OK;
}

/* Made of what it is told, else of the reward model, else of the actor (train_ppo_ray.py); its
 * states leave with DeepSpeed's while the actor steps, its weights stay. */
static enum status set_critic(struct job *job, const struct beside *b, struct away *away)
{
    static const char estimator_flag[] = "advantage_estimator", path_flag[] = "critic_pretrain";
    const char *estimator = "gae", *actor = NULL, *path = b->scored ? b->scorer : NULL;
    TRY(job_word(job, estimator_flag, &estimator));
    TRY(job_word(job, "pretrain", &actor));
    TRY(job_word(job, path_flag, &path));
    if (!b->all || !text_equal(estimator, "gae"))
        return STATUS_OK;
    const char *said = "critic_pretrain reward_pretrain advantage_estimator";
    bool other = path && actor && !models_are_alike(job, path, actor);
    uint64_t n = other ? scorer_parameters(job, path) : 0;
    if (n)
        job_set_count(job, "workload.colocated.critic_parameters", n, said);
    else
        job_set_count(job, "workload.colocated.critic", 1, said);
    if (other && !n)
        job_warn(job, job_place(job),
                 "the critic's own shape ('%s') matters to memory and is not known: the "
                 "actor's stands in; --set workload.colocated.critic=0 --set "
                 "workload.colocated.critic_parameters=8e9",
                 path);
    if (b->sleeps)
        away_add(job, away, "critic_states", "deepspeed_enable_sleep");
    return STATUS_OK;
}

/* A running mean of the actor's weights, made as the reference is, always to be offloaded
 * (trainer/ray/ppo_actor.py). */
static enum status set_average(struct job *job, const struct beside *b, struct away *away)
{
    static const char flag[] = "enable_ema";
    bool mean = false;
    TRY(job_switch(job, flag, &mean));
    if (!mean)
        return STATUS_OK;
    job_set_count(job, "workload.colocated.average", 1, flag);
    if (!b->whole)
        away_add(job, away, "average", flag);
    return STATUS_OK;
}

static enum status set_engine(struct job *job)
{
    struct away away = {0};
    struct engine_beside engine = {
        .tp = 1,
        .fraction = 0.95,
        .sleep_flags = "vllm_enable_sleep colocate_all_models",
        .tp_flag = "vllm_tensor_parallel_size",
        .fraction_flag = "vllm_gpu_memory_utilization",
    };
    struct beside beside;
    bool all = false, apart = false;
    TRY(job_switch(job, "colocate_all_models", &all));
    TRY(job_switch(job, "async_train", &apart)); /* which colocates DeepSpeed's models alone */
    TRY(job_switch(job, "vllm_enable_sleep", &engine.sleeps));
    TRY(colocated_read(job, &engine));
    TRY(read_beside(job, all, &beside));
    if (beside.sleeps)
        engine.states_flag = "deepspeed_enable_sleep";
    if (all && !apart)
        colocated_set(job, &engine, &away);
    TRY(set_critic(job, &beside, &away));
    TRY(set_frozen(job, &beside, &away));
    TRY(set_average(job, &beside, &away));
    away_set(job, &away);
    return STATUS_OK;
}

/* How attention is made, and what of an encoder is trained. */
static enum status set_model(struct job *job)
{
    static const char attention_flag[] = "attn_implementation",
                      encoder_flag[] = "freeze_visual_encoder";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *attention = "";
    bool frozen = false, packs = false, known;
    TRY(job_switch(job, "packing_samples", &packs));
    TRY(trainer_set_balance(job, "aux_loss_coef", packs));
    TRY(job_word(job, attention_flag, &attention));
    TRY(job_switch(job, encoder_flag, &frozen));
    TRY(job_part(job, "model", plan, &known));
    if (text_equal(attention, "eager"))
        job_set(job, "stack.attention", "unfused", attention_flag);
    if (frozen && known && plan->model.encoder.layers)
        job_set(job, "workload.encoder.train", "none", encoder_flag);
    return STATUS_OK;
}

static enum status openrlhf_finish(struct job *job)
{
    const enum trainer kind = trainer_of(job);
    job_set(job, "stack", "deepspeed", "");
    if (kind == RUN_PPO)
        TRY(set_length(job));
    TRY(deepspeed_share(job));
    TRY(set_model(job));
    if (job_given(job, "use_liger_kernel")) /* no loss of its own: logits come out */
        job_set(job, "stack.cross_entropy", "torch", "use_liger_kernel");
    if (kind == RUN_PPO) {
        TRY(set_length(job));
        return set_engine(job);
    }
    if (trainers[kind].pairs)
        colocated_set_pairs(job, "train_batch_size", trainers[kind].reference);
    else if (trainers[kind].reference)
        colocated_set_reference(job, "", COLOCATED_KTO_PASSES);
    if (kind == RUN_RM) /* openrlhf/models/model.py, _get_reward_model: a linear layer of one */
        job_set(job, "model.labels", "1", "pretrain");
    return STATUS_OK;
}

const struct job_framework job_openrlhf = {
    .name = "openrlhf",
    .title = "an OpenRLHF job",
    .stack = "deepspeed",
    .source = "OpenRLHF/OpenRLHF 021d1b096419",
    .syntax = JOB_DASHES,
    .flags = flags,
    .n_flags = &n_flags,
    .shares = shares,
    .prepare = openrlhf_prepare,
    .finish = openrlhf_finish,
    .names = NAMES_HUB,
    .trains = true,
};
