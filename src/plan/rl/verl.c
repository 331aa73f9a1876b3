/* verl: reinforcement learning whose engine generates on the devices that train. What is
 * planned is the actor's update, with the engine in its turn and the reference beside it. Read
 * at volcengine/verl 008db456bf61 (trainer/config/ppo_trainer.yaml), f471e0b92575
 * (actor/megatron_actor.yaml), 0017354ef582 (workers/engine_workers.py) and verl-project/verl
 * 05a1edd6195e (trainer/config/ppo_trainer.yaml: model_engine is which actor's file is taken).
 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/frozen_names.h"
#include "plan/framework/megatron.h"
#include "plan/framework/packed.h"
#include "plan/trainer/trainer.h"
#include "plan/rl/verl.h"

/* The job's own configuration, above one of verl's that it names: `--config-path=DIR
 * --config-name=NAME` of Hydra. verl's have names that begin alike. */
static enum status read_config(struct job *job)
{
    static const char flag[] = "config-name";
    const char *name = NULL, *folder = NULL;
    TRY(job_word(job, flag, &name));
    TRY(job_word(job, "config-path", &folder));
    if (!name || text_starts(name, "ppo_") || text_starts(name, "_generated_ppo"))
        return STATUS_OK;
    const char *file =
        arena_printf(job->arena, "%s%s%s%s", folder ? folder : "", folder ? "/" : "", name,
                     text_ends(name, ".yaml") ? "" : ".yaml");
    bool found;
    TRY(job_add_file(job, file, JOB_FILE, &found));
    if (!found)
        job_warn(job, job_setting(job, flag)->mark,
                 "file '%s' is not there, and what it sets may matter to memory: what this job "
                 "does not say is taken as in verl's ppo_trainer.yaml",
                 file);
    return STATUS_OK;
}

static enum status verl_prepare(struct job *job)
{
    TRY(read_config(job));
    return job_read_size(job, "trainer.nnodes", "trainer.n_gpus_per_node");
}

/* ---- the update ---- */

static enum status read_batch(struct job *job)
{
    const char *micro_flag;
    uint64_t prompt = 512, response = 512, micro = 0, mini = 256, n = 1, most = 16384;
    bool dynamic = false;
    TRY(job_count(job, "data.max_prompt_length", &prompt));
    TRY(job_count(job, "data.max_response_length", &response));
    TRY(verl_read_micro(job, "actor.ppo_micro_batch_size_per_gpu", "actor.ppo_micro_batch_size",
                        &micro, &micro_flag));
    TRY(job_count(job, "actor.ppo_mini_batch_size", &mini));
    TRY(job_count(job, "rollout.n", &n));
    TRY(job_count(job, "actor.ppo_max_token_len_per_gpu", &most));
    TRY(job_switch(job, "actor.use_dynamic_bsz", &dynamic));
    bool overflow = false;
    uint64_t cp = job_drafted(job, "parallel.cp", 1),
             packed = checked_mul(most, cp, &overflow), /* beyond any limit of a key's */
        longest = checked_add(prompt, response, &overflow);
    if (dynamic)
        return packed_set(
            job, &(struct packed_batch){
                     .most = packed,
                     .longest = longest,
                     .sequences = checked_mul(mini, n, &overflow),
                     .even = true,
                     .switch_flags = "actor.use_dynamic_bsz",
                     .most_flags = "actor.ppo_max_token_len_per_gpu",
                     .longest_flags = "data.max_response_length data.max_prompt_length",
                     .sequences_flags = "actor.ppo_mini_batch_size rollout.n"});
    if (!micro && !job_requested(job, "workload.micro_batch")) {
        job_refuse(job, "the micro-batch is missing");
        return err_hint(job->err, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu, or "
                                  "use_dynamic_bsz=True");
    }
    job_set_count(job, "workload.sequence_length", longest,
                  "data.max_response_length data.max_prompt_length");
    if (micro)
        job_set_count(job, "workload.micro_batch", micro, micro_flag);
    job_set_count(job, "workload.global_batch", checked_mul(mini, n, &overflow),
                  "actor.ppo_mini_batch_size rollout.n");
    return STATUS_OK;
}

static enum status read_adapter(struct job *job, bool fsdp)
{
    static const char lora[] = "model.lora_rank", targets[] = "model.lora.target_modules";
    static const char *const all[] = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
    uint64_t rank = 0;
    const struct setting *s = job_setting(job, targets);
    TRY(job_count(job, lora, &rank));
    if (!rank)
        return STATUS_OK;
    job_set_count(job, "lora.rank", rank, lora);
    bool every = s && s->n == 1 && text_starts(s->values[0], "all");
    if (s && !every)
        TRY(megatron_set_list(job, "lora.targets", targets));
    if (fsdp)
        return STATUS_OK;
    if (!s)
        job_set_list(job, "lora.targets", all, 4, targets);
    return bridge_set_adapters(job);
}

static enum status read_recompute(struct job *job)
{
    static const char again[] = "model.enable_gradient_checkpointing";
    bool checkpoints = true;
    TRY(job_switch(job, again, &checkpoints));
    job_set(job, "recompute.kind", checkpoints ? "full" : "none", again);
    return trainer_set_moved(job, "model.enable_activation_offload", checkpoints);
}

/* Rows whose logits and entropy are made at once, and again in backward
 * (utils/experimental/torch_functional.py, FusedLinearForPPO). */
enum { CHUNK = 512 };

/* Log-probabilities by flash-attn's loss, whose gradient takes the place of the logits unless
 * an entropy is trained of them; then both have a gradient of their own, which are added up
 * (workers/actor/dp_actor.py and workers/engine/fsdp/transformer_impl.py): 6 bytes a logit,
 * which is what "te" holds too. Not compiled, the entropy is torch's softmax in f32 with all
 * that autograd keeps of it. */
static enum status set_loss(struct job *job)
{
    static const char entropy_flag[] = "actor.entropy_coeff",
                      compile_flag[] = "actor.use_torch_compile";
    double entropy = 0;
    bool compiled = true;
    TRY(job_real(job, entropy_flag, &entropy));
    TRY(job_switch(job, compile_flag, &compiled));
    if (entropy > 0 || entropy < 0)
        job_set(job, "stack.cross_entropy", compiled ? "te" : "torch",
                compiled ? entropy_flag : compile_flag);
    else
        job_set(job, "stack.cross_entropy", "in_place", entropy_flag);
    return STATUS_OK;
}

/* Fused kernels of Triton make no logits at all (utils/kernel/linear_cross_entropy.py). */
enum status verl_read_loss(struct job *job, bool actor)
{
    static const char flag[] = "model.use_fused_kernels",
                      backend_flag[] = "model.fused_kernel_options.impl_backend";
    const char *backend = "torch";
    bool fused = false;
    TRY(job_switch(job, flag, &fused));
    TRY(job_word(job, backend_flag, &backend));
    const bool megatron = verl_is_megatron(job);
    if (!fused)
        return actor && !megatron ? set_loss(job) : STATUS_OK;
    if (megatron || text_equal(backend, "triton")) {
        job_set(job, "stack.cross_entropy", "fused", flag);
        return STATUS_OK;
    }
    uint64_t rows = job_drafted(job, "workload.micro_batch", 1);
    uint64_t length = job_drafted(job, "workload.sequence_length", 1);
    uint64_t cp = job_drafted(job, "parallel.cp", 1);
    if (!rows || !length || !cp || rows > 1000000 || length > 100000000)
        return STATUS_OK; /* out of the plan's bounds, which say so */
    uint64_t parts = ceil_div(ceil_div(rows * length, cp), CHUNK);
    job_set(job, "stack.cross_entropy", "chunked", flag);
    job_set_count(job, "stack.loss_chunks", parts < 1000000 ? parts : 1000000, flag);
    return STATUS_OK;
}

/* Megatron's layers are run again where its own configuration says so (engine/megatron.yaml);
 * "null" is none. */
static enum status read_megatron_recompute(struct job *job)
{
    static const char flag[] = VERL_TRANSFORMER ".recompute_granularity",
                      method_flag[] = VERL_TRANSFORMER ".recompute_method",
                      layers_flag[] = VERL_TRANSFORMER ".recompute_num_layers";
    const char *kind = "null", *method = "uniform";
    uint64_t layers = 1;
    TRY(job_word(job, flag, &kind));
    if (text_equal(kind, "null") || text_equal(kind, "None"))
        kind = "none";
    job_set(job, "recompute.kind", kind, flag);
    if (text_equal(kind, "selective"))
        return megatron_set_list(job, "recompute.modules",
                                 VERL_TRANSFORMER ".recompute_modules");
    if (!text_equal(kind, "full"))
        return STATUS_OK;
    TRY(job_word(job, method_flag, &method));
    TRY(job_count(job, layers_flag, &layers));
    job_set_count(job, text_equal(method, "block") ? "recompute.layers" : "recompute.every",
                  layers, layers_flag);
    return STATUS_OK;
}

/* ---- how it is shared out ---- */

/* What says it, of an actor or of a supervised job. */
static const char strategy_flags[] = "actor.strategy model_engine engine";

/* Gathered in 16 bits, and multiplied. */
static void set_compute(struct job *job)
{
    job_set(job, "precision.compute", "bf16", strategy_flags);
    job_set_rows(job, "bf16", strategy_flags);
}

/* Kept in f32 (training-stacks.md section 7), or all as the weights are. */
static enum status set_sharded_formats(struct job *job)
{
    static const char flag[] = "actor.fsdp_config.model_dtype",
                      words[] = "fp32=f32 float32=f32 bf16=bf16 bfloat16=bf16 fp16=f16 "
                                "float16=f16";
    static const char *const keys[] = {"precision.weights", "precision.gradients",
                                       "precision.moments"};
    const char *word = "fp32";
    TRY(job_word(job, flag, &word));
    const char *format = job_convert(job, words, word);
    if (!format)
        return job_fail(job, flag, "'%s' is no format of weights", word);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        job_set(job, keys[i], format, flag);
    job_set(job, "precision.master", "none", strategy_flags);
    set_compute(job);
    return STATUS_OK;
}

static void set_megatron_formats(struct job *job)
{
    job_set(job, "precision.weights", "bf16", strategy_flags);
    job_set(job, "precision.gradients", "f32", strategy_flags);
    job_set(job, "precision.moments", "f32", strategy_flags);
    job_set(job, "precision.master", "f32", strategy_flags);
    set_compute(job);
}

static enum status read_fsdp(struct job *job)
{
    static const char shard_flag[] = "actor.fsdp_config.fsdp_size",
                      keep_flag[] = "actor.fsdp_config.reshard_after_forward",
                      offload_flag[] = "actor.fsdp_config.offload_policy",
                      sequence_flag[] = "actor.ulysses_sequence_parallel_size",
                      waits_flag[] = "actor.fsdp_config.use_no_sync_for_gradient_accumulation";
    int64_t shard = -1;
    uint64_t cp = 1;
    bool reshard = true, offload = false, waits = false;
    TRY(job_integer(job, shard_flag, &shard));
    TRY(job_count(job, sequence_flag, &cp));
    TRY(job_switch(job, keep_flag, &reshard));
    TRY(job_switch(job, offload_flag, &offload));
    TRY(job_switch(job, waits_flag, &waits));
    job_set(job, "precision.accumulated", waits ? "f32" : "none", waits_flag);
    job_set(job, "parallel.zero", "3", strategy_flags);
    job_set(job, "parallel.reshard", reshard ? "always" : "never", keep_flag);
    job_set_count(job, "parallel.cp", cp, sequence_flag);
    if (shard > 0 && cp &&
        (uint64_t)shard < job->size.world) /* those of a sequence share, too */
        job_set_count(job, "parallel.dp_shard", ceil_div((uint64_t)shard, cp), shard_flag);
    if (offload) {
        job_set(job, "optimizer.offload", "1", offload_flag);
        job_set(job, "optimizer.offload_params", "true", offload_flag);
    }
    TRY(set_sharded_formats(job));
    TRY(read_recompute(job));
    return read_adapter(job, true);
}

static enum status read_ends(struct job *job)
{
    static const char first[] = VERL_TRANSFORMER ".num_layers_in_first_pipeline_stage",
                      last[] = VERL_TRANSFORMER ".num_layers_in_last_pipeline_stage";
    struct megatron_ends ends = {.first = job_given(job, first), .last = job_given(job, last)};
    uint64_t layers;
    ends.flag = ends.first ? first : last;
    TRY(job_switch(job, VERL_TRANSFORMER ".account_for_embedding_in_pipeline_split",
                   &ends.embedding));
    TRY(job_switch(job, VERL_TRANSFORMER ".account_for_loss_in_pipeline_split", &ends.loss));
    TRY(job_layers(job, &layers));
    TRY(job_count(job, first, &ends.first_layers));
    TRY(job_count(job, last, &ends.last_layers));
    return megatron_set_ends(job, ends, job_drafted(job, "parallel.pp", 1),
                             job_drafted(job, "parallel.vpp", 1), layers);
}

/* What the host keeps of the optimizer's states, and in whose format. */
static enum status read_states(struct job *job)
{
    static const char offload_flag[] = VERL_OPTIMIZER ".optimizer_cpu_offload",
                      fraction_flag[] = VERL_OPTIMIZER ".optimizer_offload_fraction",
                      aware_flag[] = VERL_OPTIMIZER ".use_precision_aware_optimizer";
    bool offload = false, aware = false;
    double fraction = 0;
    TRY(job_switch(job, offload_flag, &offload));
    TRY(job_real(job, fraction_flag, &fraction));
    TRY(job_switch(job, aware_flag, &aware));
    if (offload && fraction > 0)
        job_set(job, "optimizer.offload", arena_printf(job->arena, "%.9g", fraction),
                fraction_flag);
    if (aware)
        job_set(job, "optimizer.precision_aware", "native", aware_flag);
    return STATUS_OK;
}

static enum status read_megatron(struct job *job)
{
    static const struct {
        const char *flag, *key;
    } axes[] = {
        {"actor.megatron.tensor_model_parallel_size", "parallel.tp"},
        {"actor.megatron.pipeline_model_parallel_size", "parallel.pp"},
        {"actor.megatron.virtual_pipeline_model_parallel_size", "parallel.vpp"},
        {"actor.megatron.context_parallel_size", "parallel.cp"},
        {"actor.megatron.expert_model_parallel_size", "parallel.ep"},
    };
    static const char experts[] = "actor.megatron.expert_tensor_parallel_size",
                      dispatcher[] = VERL_TRANSFORMER ".moe_token_dispatcher_type",
                      paths[] = "alltoall=ragged_a2a flex=deepep allgather=allgather";
    const char *path = "alltoall"; /* engine/megatron.yaml */
    uint64_t etp;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        uint64_t value = 1;
        TRY(job_count(job, axes[i].flag, &value));
        job_set_count(job, axes[i].key, value, axes[i].flag);
    }
    etp = job_drafted(job, "parallel.tp", 1);
    if (etp > 1)
        job_set(job, "parallel.sp", "true", axes[0].flag);
    if (job_drafted(job, "parallel.vpp", 1) > 1)
        job_set(job, "parallel.schedule", "interleaved", axes[2].flag);
    TRY(job_count(job, experts, &etp));
    job_set_count(job, "parallel.etp", etp, experts);
    job_set(job, "stack", "megatron", strategy_flags);
    TRY(job_word(job, dispatcher, &path));
    if (!job_convert(job, paths, path))
        return job_fail(job, dispatcher, "'%s' is no dispatcher of Megatron's", path);
    job_set(job, "moe.path", job_convert(job, paths, path), dispatcher);
    job_set(job, "parallel.zero", "1", strategy_flags);
    megatron_keep_vocabulary(job);
    set_megatron_formats(job);
    TRY(read_ends(job));
    TRY(read_states(job));
    TRY(read_megatron_recompute(job));
    return read_adapter(job, false);
}

enum status verl_read_layout(struct job *job)
{
    static const char engine_flag[] = "engine", strategy_flag[] = "actor.strategy",
                      config_flag[] = "config-name", group_flag[] = "model_engine";
    const char *strategy = "fsdp", *config = "";
    bool told = job_given(job, strategy_flag);
    const struct setting *parents = job_setting(job, "defaults");
    TRY(job_word(job, config_flag, &config));
    bool all =
        strstr(config, "megatron") != NULL; /* ppo_megatron_trainer.yaml: every strategy */
    for (size_t i = 0; parents && i < parents->n; i++)
        all = all || text_equal(parents->values[i], "ppo_megatron_trainer");
    if (all)
        strategy = "megatron";
    const char *flag = told                         ? strategy_flag
                       : job_given(job, group_flag) ? group_flag
                                                    : engine_flag;
    TRY(job_word(job, flag, &strategy));
    if (text_equal(strategy, "dp") && flag == group_flag) /* dp_actor.yaml: fsdp */
        strategy = "fsdp";
    if (text_equal(strategy, "megatron"))
        return read_megatron(job);
    if (text_equal(strategy, "fsdp") || text_equal(strategy, "fsdp2"))
        return read_fsdp(job);
    job_fail(job, flag, "trainers of '%s' are not read", strategy);
    return err_hint(job->err, "fsdp, fsdp2 or megatron");
}

/* ---- what stands beside it ---- */

/* Whether the engine gives way to the trainer. The actor waits in host memory while it
 * generates, as it is told: parameters, with Megatron's buffers of gradients, and the
 * optimizer's states; gradients alone move nothing (engine/megatron/transformer_impl.py). */
static enum status read_engine(struct job *job, struct away *away)
{
    static const char *const weights[] = {"actor.fsdp_config.param_offload",
                                          "actor.megatron.param_offload"},
                             *const states[] = {"actor.fsdp_config.optimizer_offload",
                                                "actor.megatron.optimizer_offload"};
    const char *name = "vllm";
    struct engine_beside engine = {
        .sleeps = true,
        .tp = 2,
        .fraction = 0.5,
        .sleep_flags = "rollout.free_cache_engine rollout.name",
        .tp_flag = "rollout.tensor_model_parallel_size",
        .fraction_flag = "rollout.gpu_memory_utilization",
    };
    TRY(job_word(job, "rollout.name", &name));
    TRY(job_switch(job, "rollout.free_cache_engine", &engine.sleeps));
    TRY(colocated_read(job, &engine));
    TRY(verl_either_on(job, weights, &engine.weights_flag));
    TRY(verl_either_on(job, states, &engine.states_flag));
    if (!text_equal(name, "hf")) {
        colocated_set(job, &engine, away);
        return colocated_set_format(job, "rollout.quantization", "fp8_block");
    } else
        job_warn(job, job_setting(job, "rollout.name")->mark,
                 "what the actor holds while it generates itself matters to memory and is not "
                 "modelled: keys and values of all responses; the update is planned");
    return STATUS_OK;
}

/* Megatron's layers alone are asked (models/mcore/mbridge.py, freeze_moe_router). */
static enum status read_frozen(struct job *job)
{
    static const char flag[] = "model.override_config.moe_config.freeze_moe_router";
    return verl_is_megatron(job) ? frozen_set_part(job, "router", flag) : STATUS_OK;
}

static enum status verl_finish(struct job *job)
{
    struct away away = {.flags = ""};
    job_set(job, "workload.mode", "train", "");
    TRY(job_set_model(job, "model.path"));
    TRY(verl_read_layout(job));
    TRY(read_batch(job));
    TRY(verl_read_loss(job, true));
    TRY(read_frozen(job));
    TRY(read_engine(job, &away));
    TRY(verl_read_models(job, &away));
    away_set(job, &away);
    return STATUS_OK;
}

const struct job_framework job_verl = {
    .name = "verl",
    .title = "a verl job, its actor's update",
    .stack = "fsdp",
    .source = "volcengine/verl 008db456bf61",
    .syntax = JOB_OVERRIDES,
    .sections = "actor_rollout_ref.",
    .flags = verl_flags,
    .n_flags = &verl_n_flags,
    .prepare = verl_prepare,
    .finish = verl_finish,
    .names = NAMES_HUB,
    .trains = true,
};
