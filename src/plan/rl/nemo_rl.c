/* NeMo-RL: GRPO, supervised training and preferences by one YAML file, on DTensor (FSDP2, with
 * Automodel's layers where experts are shared out) or on Megatron. What is planned is the
 * policy's update, with a colocated engine in its turn: optimizer and gradients leave before
 * the engine's weights are filled, the policy's weights before its cache comes, and the
 * reference's wait in host memory and take the policy's place for a pass. Read at
 * NVIDIA-NeMo/RL 001de1bab25c (models/automodel/setup.py, models/megatron/setup.py),
 * 01a0e455b293 (models/policy/workers) and the algorithms beside them. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/frozen_names.h"
#include "plan/framework/automodel.h"
#include "plan/framework/colocated.h"
#include "plan/framework/megatron.h"
#include "plan/rl/nemo_rl.h"
#include "plan/framework/packed.h"

static const char on_dtensor[] = NEMO_DTENSOR ".enabled",
                  on_megatron[] = NEMO_MEGATRON ".enabled";

/* The same job on Megatron, whose names stand in its section. */
static const struct job_framework on_megatron_too;

/* ---- which of the trainers ---- */

/* What stands in a part that is turned off. */
static void drop_part(struct job *job, const char *head)
{
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        if (!text_starts(s->name, head))
            continue;
        s->flag = NULL;
        s->used = true;
    }
}

static enum status drop_unless(struct job *job, const char *switch_flag, const char *head)
{
    bool on = false;
    TRY(job_switch(job, switch_flag, &on));
    if (!on)
        drop_part(job, head);
    return STATUS_OK;
}

/* The newest files say policy.automodel_cfg for the same section (6f79f7244413). */
static void take_new_name(struct job *job)
{
    static const char head[] = "policy.automodel_cfg.";
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        const char *name;
        if (!text_starts(s->name, head))
            continue;
        name = arena_printf(job->arena, NEMO_DTENSOR ".%s", s->name + strlen(head));
        s->flag = job_flag_find(job->framework, name, strlen(name));
        s->name = s->flag ? name : s->name;
    }
}

static enum status choose_trainer(struct job *job)
{
    bool dtensor, megatron = false;
    take_new_name(job);
    TRY(job_switch(job, on_megatron, &megatron));
    dtensor = !megatron;
    TRY(job_switch(job, on_dtensor, &dtensor));
    if (dtensor == megatron) {
        job_fail(job, on_megatron, "%s",
                 megatron ? "both trainers are on" : "no trainer is on");
        return err_hint(job->err, "one of " NEMO_DTENSOR ".enabled and " NEMO_MEGATRON
                                  ".enabled is to be true");
    }
    if (!megatron) {
        drop_part(job, NEMO_MEGATRON ".");
        return drop_unless(job, NEMO_DTENSOR ".lora_cfg.enabled", NEMO_DTENSOR ".lora_cfg.");
    }
    drop_part(job, NEMO_DTENSOR ".");
    drop_part(job, "policy.optimizer.");
    job->framework = &on_megatron_too;
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        if (text_starts(s->name, NEMO_MEGATRON "."))
            s->flag = job_flag_find(job->framework, s->name, strlen(s->name));
    }
    TRY(drop_unless(job, NEMO_MEGATRON ".fp8_cfg.enabled", NEMO_MEGATRON ".fp8_cfg."));
    TRY(drop_unless(job, NEMO_MEGATRON ".peft.enabled", NEMO_MEGATRON ".peft."));
    job_assume(job, "use-distributed-optimizer", "true", "use_distributed_optimizer: true");
    job_assume(job, "moe-token-dispatcher-type", "alltoall", "alltoall");
    job_assume(job, "micro-batch-size", "1", "train_micro_batch_size");
    return job->err->status;
}

/* ---- devices ---- */

static const char apart_flag[] = NEMO_GENERATION ".colocated.enabled",
                  nodes_flag[] = "cluster.num_nodes", per_node_flag[] = "cluster.gpus_per_node";

/* Those of an engine that has its own are taken out of the job's (grpo.py, setup). */
static enum status leave_out_engine(struct job *job)
{
    static const char node_flag[] = NEMO_GENERATION ".colocated.resources.num_nodes",
                      gpus_flag[] = NEMO_GENERATION ".colocated.resources.gpus_per_node";
    struct job_size *size = &job->size;
    uint64_t nodes = 0, gpus = 0;
    bool colocated = true;
    TRY(job_switch(job, apart_flag, &colocated));
    TRY(job_count(job, node_flag, &nodes));
    TRY(job_count(job, gpus_flag, &gpus));
    if (colocated || !nemo_rl_says(job, NEMO_GENERATION "."))
        return STATUS_OK;
    bool one = size->nodes == 1;
    uint64_t *of = one ? &size->per_node : &size->nodes, taken = one ? gpus : nodes;
    const char *flag = one ? gpus_flag : node_flag;
    if (!taken || taken >= *of)
        return job_fail(job, flag,
                        "an engine on devices of its own takes %" PRIu64 " of %" PRIu64
                        " %s: the trainer needs some, too",
                        taken, *of, one ? "devices" : "nodes");
    *of -= taken;
    return STATUS_OK;
}

static enum status read_size(struct job *job)
{
    struct job_size *size = &job->size;
    bool overflow = false;
    *size = (struct job_size){.nodes = 1};
    TRY(job_count(job, nodes_flag, &size->nodes));
    TRY(job_count(job, per_node_flag, &size->per_node));
    if (!job_given(job, per_node_flag)) {
        *size = (struct job_size){.nodes = 0};
        return STATUS_OK;
    }
    if (!size->nodes || !size->per_node)
        return job_fail(job, size->nodes ? per_node_flag : nodes_flag,
                        "the job starts no ranks");
    TRY(leave_out_engine(job));
    size->world = checked_mul(size->nodes, size->per_node, &overflow);
    return overflow ? job_fail(job, nodes_flag, "too many ranks") : STATUS_OK;
}

static enum status nemo_prepare(struct job *job)
{
    TRY(nemo_rl_add_files(job));
    job_interpolate(job);
    TRY(read_size(job));
    return choose_trainer(job);
}

/* ---- the step ---- */

/* A preference is two sequences of one micro-batch (dpo.py, rm.py). */
static bool has_pairs(const struct job *job)
{
    return nemo_rl_says(job, "dpo.") || nemo_rl_says(job, "rm.");
}

static const char length_flag[] = "policy.max_total_sequence_length",
                  batch_flag[] = "policy.train_global_batch_size",
                  micro_flag[] = "policy.train_micro_batch_size",
                  packs_flag[] = "policy.sequence_packing.enabled",
                  packed_flag[] = "policy.sequence_packing.train_mb_tokens",
                  sorts_flag[] = "policy.dynamic_batching.enabled",
                  sorted_flag[] = "policy.dynamic_batching.train_mb_tokens";

/* Sequences packed into one, or as many of the longest as the tokens of a micro-batch allow. */
static enum status read_micro_batch(struct job *job, uint64_t length, uint64_t pair,
                                    uint64_t sequences)
{
    uint64_t micro = 1, packed = 0, sorted = 0;
    bool packs = false, sorts = false, overflow = false;
    TRY(job_count(job, micro_flag, &micro));
    TRY(job_switch(job, packs_flag, &packs));
    TRY(job_switch(job, sorts_flag, &sorts));
    if (packs)
        TRY(job_count(job, packed_flag, &packed));
    if (sorts)
        TRY(job_count(job, sorted_flag, &sorted));
    uint64_t rows = checked_mul(micro, pair, &overflow);
    if (packs && !packed)
        packed = checked_mul(length, rows, &overflow);
    if (packs)
        return packed_set(job, &(struct packed_batch){.most = packed,
                                                      .longest = length,
                                                      .sequences = sequences,
                                                      .switch_flags = packs_flag,
                                                      .most_flags = packed_flag,
                                                      .longest_flags = length_flag,
                                                      .sequences_flags = batch_flag});
    if (sorted)
        rows = sorted > length && length ? sorted / length : 1;
    job_set_count(job, "workload.sequence_length", length, length_flag);
    job_set_count(job, "workload.micro_batch", rows, sorted ? sorted_flag : micro_flag);
    if (sorted)
        return packed_set_rows(job, rows, sequences, batch_flag);
    if (sequences)
        job_set_count(job, "workload.global_batch", sequences, batch_flag);
    return STATUS_OK;
}

static enum status read_batch(struct job *job)
{
    uint64_t length = 0, batch = 0, pair = has_pairs(job) ? 2 : 1;
    bool overflow = false;
    TRY(job_count(job, length_flag, &length));
    TRY(job_count(job, batch_flag, &batch));
    if (!length && !job_requested(job, "workload.sequence_length")) {
        job_refuse(job, "'%s' is missing", length_flag);
        return err_hint(job->err, "say it, or inherit it: defaults: grpo_math_1B.yaml");
    }
    return read_micro_batch(job, length, pair, checked_mul(batch, pair, &overflow));
}

static enum status read_precision(struct job *job, const char **format)
{
    static const char flag[] = "policy.precision";
    const char *word = "bfloat16";
    TRY(job_word(job, flag, &word));
    *format = job_convert(job, "bfloat16=bf16 float16=f16 float32=f32", word);
    if (*format)
        return STATUS_OK;
    job_fail(job, flag, "'%s' is no precision", word);
    return err_hint(job->err, "bfloat16, float16 or float32");
}

static enum status read_recompute(struct job *job, const char *flag)
{
    bool on = false;
    TRY(job_switch(job, flag, &on));
    if (on || !draft_find(&job->draft, "recompute.kind"))
        job_set(job, "recompute.kind", on ? "full" : "none", flag);
    return STATUS_OK;
}

/* ---- DTensor ---- */

/* Weights are loaded and kept in f32, gathered in `format`, and gradients reduced in f32
 * (MixedPrecisionPolicy). */
static enum status set_dtensor_formats(struct job *job)
{
    static const char precision_flag[] = "policy.precision";
    static const char *const keys[] = {"precision.weights", "precision.gradients",
                                       "precision.moments"};
    const char *format;
    TRY(read_precision(job, &format));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        job_set(job, keys[i], "f32", "");
    job_set(job, "precision.master", "none", "");
    job_set(job, "precision.compute", text_equal(format, "f32") ? "f32" : "bf16",
            precision_flag);
    job_set_rows(job, format, precision_flag);
    return STATUS_OK;
}

/* torch's AdamW works on lists of tensors unless it is told not to. */
static enum status read_optimizer(struct job *job)
{
    static const char name_flag[] = "policy.optimizer.name",
                      lists_flag[] = "policy.optimizer.kwargs.foreach",
                      fused_flag[] = "policy.optimizer.kwargs.fused";
    bool lists = true, fused = false;
    TRY(job_switch(job, lists_flag, &lists));
    TRY(job_switch(job, fused_flag, &fused));
    job_set(job, "optimizer.step", lists && !fused ? "foreach" : "fused",
            "policy.optimizer.kwargs.foreach policy.optimizer.kwargs.fused");
    return job_set_optimizer(job, name_flag,
                             "torch.optim.AdamW=adam torch.optim.Adam=adam torch.optim.SGD=sgd "
                             "torch.optim.adamw.AdamW=adam");
}

static enum status read_dtensor_adapter(struct job *job)
{
    static const char enabled_flag[] = NEMO_DTENSOR ".lora_cfg.enabled",
                      rank_flag[] = NEMO_DTENSOR ".lora_cfg.dim",
                      all_flag[] = NEMO_DTENSOR ".lora_cfg.match_all_linear",
                      targets_flag[] = NEMO_DTENSOR ".lora_cfg.target_modules",
                      scale_flag[] = NEMO_DTENSOR ".lora_cfg.moe_rank_scaling";
    bool on = false, all = false, scales = false;
    uint64_t rank = 8;
    TRY(job_switch(job, enabled_flag, &on));
    TRY(job_count(job, rank_flag, &rank));
    TRY(job_switch(job, all_flag, &all));
    if (!on)
        return STATUS_OK;
    job_set_count(job, "lora.rank", rank, rank_flag);
    job_set(job, "lora.format", "f32", enabled_flag);
    TRY(job_switch(job, scale_flag, &scales));
    const struct automodel_patterns patterns = {
        .targets = job_setting(job, targets_flag),
        .excluded = job_setting(job, NEMO_DTENSOR ".lora_cfg.exclude_modules"),
        .all = all,
        .backend = job_drafted(job, "parallel.ep", 1) > 1,
        .rank = rank,
        .scales = scales,
        .flags = targets_flag,
        .scale_flag = scale_flag,
    };
    return automodel_set_targets(job, &patterns);
}

static enum status read_dtensor_layout(struct job *job, bool *own_layers)
{
    static const struct {
        const char *flag, *key;
    } axes[] = {{NEMO_DTENSOR ".tensor_parallel_size", "parallel.tp"},
                {NEMO_DTENSOR ".context_parallel_size", "parallel.cp"},
                {NEMO_DTENSOR ".expert_parallel_size", "parallel.ep"}};
    static const char sequence_flag[] = NEMO_DTENSOR ".sequence_parallel",
                      keep_flag[] = NEMO_DTENSOR ".moe_parallelizer.reshard_after_forward",
                      offload_flag[] = NEMO_DTENSOR ".cpu_offload";
    bool sequence = false, offload = false, reshard;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        uint64_t degree = 1;
        TRY(job_count(job, axes[i].flag, &degree));
        job_set_count(job, axes[i].key, degree, axes[i].flag);
    }
    *own_layers = job_drafted(job, "parallel.ep", 1) > 1;
    reshard = !*own_layers;
    TRY(job_switch(job, sequence_flag, &sequence));
    TRY(job_switch(job, keep_flag, &reshard));
    TRY(job_switch(job, offload_flag, &offload));
    uint64_t tp = job_drafted(job, "parallel.tp", 1);
    if (tp > 1)
        job_set(job, "parallel.sp", sequence ? "true" : "false", sequence_flag);
    job_set_count(job, "parallel.etp", *own_layers ? 1 : tp, axes[0].flag);
    job_set(job, "parallel.zero", "3", on_dtensor);
    job_set(job, "parallel.reshard", reshard ? "always" : "never", keep_flag);
    /* each micro-batch's are reduced (models/automodel/train.py, automodel_forward_backward) */
    job_set(job, "precision.accumulated", "none", "");
    if (offload) {
        job_set(job, "optimizer.offload", "1", offload_flag);
        job_set(job, "optimizer.offload_params", "true", offload_flag);
    }
    return STATUS_OK;
}

static enum status read_dtensor(struct job *job)
{
    bool own_layers;
    TRY(read_dtensor_layout(job, &own_layers));
    if (own_layers)
        TRY(automodel_set_experts(job));
    TRY(set_dtensor_formats(job));
    TRY(read_recompute(job, NEMO_DTENSOR ".activation_checkpointing"));
    TRY(read_optimizer(job));
    return read_dtensor_adapter(job);
}

/* ---- the loss ---- */

static const char part_flag[] = "policy.logprob_chunk_size",
                  fused_flag[] = NEMO_MEGATRON ".use_linear_ce_fusion_loss";

/* Parts of `rows` tokens each that a rank's sequence makes. */
static uint64_t parts_of(struct job *job, uint64_t rows)
{
    uint64_t cp = job_drafted(job, "parallel.cp", 1);
    uint64_t length = job_drafted(job, "workload.sequence_length", 1);
    uint64_t parts = ceil_div(ceil_div(length, cp ? cp : 1), rows ? rows : 1);
    return lesser(parts ? parts : 1, 1000000);
}

/* Every loss of Megatron's reads log-probabilities of vocabulary-parallel logits
 * (models/megatron/ train.py; distributed/model_utils.py), in parts where they are told, or
 * with the head in it; DTensor's those of tp, and torch's log-softmax without. Its parts are of
 * passes without a gradient alone. */
static enum status read_loss(struct job *job, bool megatron)
{
    static const char head_flag[] = NEMO_MEGATRON ".linear_ce_fusion_chunk_size";
    bool fused = false;
    uint64_t part = 0, rows = 256;
    TRY(job_count(job, part_flag, &part));
    TRY(job_switch(job, fused_flag, &fused));
    TRY(job_count(job, head_flag, &rows));
    if (!megatron) {
        if (job_drafted(job, "parallel.tp", 1) > 1)
            job_set(job, "stack.cross_entropy", "log_softmax", "");
        return STATUS_OK;
    }
    job_set(job, "stack.cross_entropy",
            fused  ? "linear_log_probs"
            : part ? "log_probs_part"
                   : "log_softmax",
            fused ? fused_flag : part_flag);
    if (fused || part)
        job_set_count(job, "stack.loss_chunks", parts_of(job, fused ? rows : part),
                      fused ? fused_flag : part_flag);
    return STATUS_OK;
}

/* ---- Megatron ---- */

static enum status read_megatron_adapter(struct job *job)
{
    static const char enabled_flag[] = NEMO_MEGATRON ".peft.enabled";
    static const char *const all[] = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
    const struct setting *targets = job_setting(job, "peft.target_modules");
    uint64_t rank = 8;
    if (!job_given(job, enabled_flag))
        return STATUS_OK;
    TRY(job_count(job, "peft.dim", &rank));
    job_set_count(job, "lora.rank", rank, "peft.dim");
    if (targets && targets->n)
        TRY(megatron_set_list(job, "lora.targets", "peft.target_modules"));
    else
        job_set_list(job, "lora.targets", all, 4, "");
    return bridge_set_adapters(job);
}

/* Gradients are reduced in the weights' format unless they are told f32. The optimizer is given
 * no recipe of fp8, so one that is aware of precisions keeps no master of its own. */
static enum status set_megatron_formats(struct job *job, const char *format)
{
    static const char reduce_flag[] = "grad_reduce_in_fp32",
                      aware_flag[] = "use-precision-aware-optimizer";
    bool reduce = false, aware = false;
    TRY(job_switch(job, reduce_flag, &reduce));
    TRY(job_switch(job, aware_flag, &aware));
    job_set(job, "precision.gradients", reduce ? "f32" : format, reduce_flag);
    if (aware)
        job_set(job, "optimizer.precision_aware", "native", aware_flag);
    return STATUS_OK;
}

static enum status read_megatron(struct job *job)
{
    const char *format;
    TRY(read_precision(job, &format));
    if (!text_equal(format, "f32"))
        job_assume(job, text_equal(format, "bf16") ? "bf16" : "fp16", "true",
                   "policy.precision");
    TRY(megatron_finish(job));
    megatron_keep_vocabulary(job);
    TRY(read_recompute(job, NEMO_MEGATRON ".activation_checkpointing"));
    TRY(set_megatron_formats(job, format));
    TRY(read_megatron_adapter(job));
    return frozen_set_part(job, "router", NEMO_MEGATRON ".freeze_moe_router");
}

/* ---- the engine ---- */

static const char backend_flag[] = NEMO_GENERATION ".backend";

/* Of an engine's experts more ranks may have a part than of its other weights. */
static enum status warn_of_engine(struct job *job, uint64_t tp)
{
    static const char experts_flag[] = NEMO_GENERATION ".vllm_cfg.expert_parallel_size";
    uint64_t ep = 1;
    TRY(job_count(job, experts_flag, &ep));
    if (ep > tp)
        job_warn(job, job_setting(job, experts_flag)->mark,
                 "the engine's experts over %" PRIu64 " ranks matter to memory and are not "
                 "modelled: %" PRIu64 " share all of its weights here",
                 ep, tp);
    return STATUS_OK;
}

static enum status read_vllm(struct job *job, struct engine_beside *engine)
{
    static const char stages_flag[] = NEMO_GENERATION ".vllm_cfg.pipeline_parallel_size";
    uint64_t stages = 1;
    bool overflow = false;
    engine->tp_flag = NEMO_GENERATION ".vllm_cfg.tensor_parallel_size";
    engine->fraction_flag = NEMO_GENERATION ".vllm_cfg.gpu_memory_utilization";
    engine->kept_flag = engine->sleep_flags; /* sleep(level=1), vllm_worker.py */
    TRY(job_count(job, stages_flag, &stages));
    TRY(colocated_read(job, engine));
    engine->tp = checked_mul(engine->tp, stages, &overflow);
    return warn_of_engine(job, engine->tp);
}

static enum status read_sglang(struct job *job, struct engine_beside *engine)
{
    static const char ranks_flag[] =
        NEMO_GENERATION ".sglang_cfg.sglang_server_config.num_gpus_per_engine";
    engine->tp_flag =
        job_given(job, ranks_flag) ? ranks_flag : NEMO_GENERATION ".sglang_cfg.tp_size";
    engine->fraction_flag = NEMO_GENERATION ".sglang_cfg.mem_fraction_static";
    return colocated_read(job, engine);
}

static enum status read_engine(struct job *job, struct away *away)
{
    const char *backend = "vllm";
    bool colocated = true;
    struct engine_beside engine = {.sleeps = true,
                                   .tp = 1,
                                   .fraction = 0.6,
                                   .sleep_flags = NEMO_GENERATION ".backend",
                                   .weights_flag = NEMO_GENERATION ".backend",
                                   .states_flag = NEMO_GENERATION ".backend"};
    TRY(job_word(job, backend_flag, &backend));
    TRY(job_switch(job, apart_flag, &colocated));
    if (!colocated || !nemo_rl_says(job, NEMO_GENERATION ".") || has_pairs(job) ||
        nemo_rl_says(job, "sft."))
        return STATUS_OK;
    if (text_equal(backend, "vllm"))
        TRY(read_vllm(job, &engine));
    else if (text_equal(backend, "sglang"))
        TRY(read_sglang(job, &engine));
    else
        job_warn(job, job_setting(job, backend_flag)->mark,
                 "generation by '%s' matters to memory and is not modelled: its cache is left "
                 "out",
                 backend);
    if (engine.tp_flag)
        colocated_set(job, &engine, away);
    if (text_equal(backend, "vllm")) /* in blocks (models/generation/fp8.py) */
        TRY(colocated_set_format(job, NEMO_GENERATION ".vllm_cfg.precision", "fp8_block"));
    return STATUS_OK;
}

static enum status read_models(struct job *job, struct away *away)
{
    static const char skip_flag[] = "grpo.skip_reference_policy_logprobs_calculation",
                      reward_flag[] = "policy.reward_model_cfg.enabled";
    bool skips = false, reward = false;
    TRY(job_switch(job, skip_flag, &skips));
    TRY(job_switch(job, reward_flag, &reward));
    if (nemo_rl_says(job, "distillation.") || nemo_rl_says(job, "teacher."))
        job_warn(job, job_place(job),
                 "the teacher's weights matter to memory and are not modelled: they wait in "
                 "host memory while the student is trained");
    if (reward)
        job_warn(job, job_setting(job, reward_flag)->mark,
                 "a score in place of logits matters to memory and is not modelled: logits are "
                 "planned");
    if ((!nemo_rl_says(job, "grpo.") && !nemo_rl_says(job, "dpo.")) || skips)
        return STATUS_OK;
    job_set_count(job, "workload.colocated.reference", 1, "");
    if (nemo_rl_says(job, "dpo.")) /* asked before every step (algorithms/dpo.py) */
        job_set_count(job, "workload.colocated.passes", 1, "");
    away_add(job, away, "reference", skip_flag);
    return STATUS_OK;
}

static enum status nemo_finish(struct job *job)
{
    struct away away = {.flags = ""};
    job_set(job, "workload.mode", "train", "");
    TRY(job_set_model(job, "policy.model_name"));
    bool megatron = job->framework == &on_megatron_too;
    TRY(megatron ? read_megatron(job) : read_dtensor(job));
    TRY(read_batch(job));
    TRY(read_loss(job, megatron));
    TRY(read_engine(job, &away));
    TRY(read_models(job, &away));
    away_set(job, &away);
    return STATUS_OK;
}

#define NEMO_RL                                                                                \
    .name = "nemo-rl", .title = "a NeMo-RL job, its policy's update",                          \
    .source = "NVIDIA-NeMo/RL 001de1bab25c", .syntax = JOB_OVERRIDES, .flags = nemo_rl_flags,  \
    .n_flags = &nemo_rl_n_flags, .prepare = nemo_prepare, .finish = nemo_finish,               \
    .names = NAMES_HUB, .files = true, .own = "nemo-rl", .trains = true

const struct job_framework job_nemo_rl = {NEMO_RL, .stack = "fsdp"};

static const struct job_framework *const shares[] = {&job_megatron, NULL};

static const struct job_framework on_megatron_too = {
    NEMO_RL,
    .stack = "megatron",
    .sections = NEMO_MEGATRON ".optimizer. " NEMO_MEGATRON
                              ".distributed_data_parallel_config. " NEMO_MEGATRON
                              ".fp8_cfg. " NEMO_MEGATRON ".scheduler. " NEMO_MEGATRON ".",
    .shares = shares,
};
