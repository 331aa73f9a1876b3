/* DeepSpeed configurations, alone or named by a launch. Read at deepspeedai/DeepSpeed
 * edaa72212672. "auto" belongs to the trainer's flags, of which HuggingFace's are read. */
#include <inttypes.h>

#include "plan/trainer/trainer.h"
#include "plan/schema/schema.h"

#define PARALLEL "accelerate docs/source/concept_guides/sequence_parallelism.md"
#define LEAF "deepspeed/runtime/zero/leaf_module_config.py"
#define CONFIG "deepspeed/runtime/config.py"
#define ZERO "deepspeed/runtime/zero/config.py"
#define OFFLOAD "deepspeed/runtime/zero/offload_config.py"
#define PRECISION "deepspeed/runtime/precision_config.py"
#define AUTO_EP "deepspeed/module_inject/auto_ep_config.py"

static const struct job_flag flags[] = {
    RULE("train_batch_size", JOB_VALUE, "workload.global_batch", "micro x accumulation x dp",
         CONFIG),
    RULE("train_micro_batch_size_per_gpu", JOB_VALUE, "workload.micro_batch", NULL, CONFIG),
    RULE("gradient_accumulation_steps", JOB_VALUE, "workload.global_batch",
         "1 unless it follows from the batches", CONFIG),
    RULE("zero_optimization.stage", JOB_VALUE, "parallel.zero", "0 unless given", ZERO),
    RULE("zero_optimization.zero_hpz_partition_size", JOB_VALUE, "parallel.hpz_shard",
         "above 1: ranks that share a second copy", ZERO),
    RULE("zero_optimization.mics_shard_size", JOB_VALUE, "parallel.dp_shard",
         "above 0: ranks that share", ZERO),
    RULE("zero_optimization.offload_optimizer.device offload_optimizer_device", JOB_VALUE,
         "optimizer.offload", "cpu, nvme: ratio, or 1", OFFLOAD),
    RULE("zero_optimization.offload_optimizer.ratio", JOB_VALUE, "optimizer.offload",
         "1 unless given", OFFLOAD),
    RULE("zero_optimization.offload_param.device offload_param_device", JOB_VALUE,
         "optimizer.offload_params", "cpu, nvme: true, with the optimizer's states", OFFLOAD),
    RULE("zero_optimization.reduce_bucket_size", JOB_VALUE, "parallel.reduce_bucket",
         "elements; auto: hidden x hidden, which the trainer puts in", ZERO),
    IDLE("zero_optimization.allgather_bucket_size", JOB_VALUE,
         "updated weights are gathered in place, all at once where torch has "
         "all_gather_into_tensor (utils.py all_gather_dp_groups)",
         ZERO),
    RULE("zero_optimization.stage3_max_live_parameters zero_optimization.max_live_parameters",
         JOB_VALUE, "parallel.live_parameters", "elements; 0: the layer at hand, 1", ZERO),
    RULE("zero_optimization.stage3_prefetch_bucket_size "
         "zero_optimization.prefetch_bucket_size",
         JOB_VALUE, "parallel.prefetch_bucket",
         "elements; auto: 0.9 x hidden x hidden, which the trainer puts in", ZERO),
    RULE("zero_optimization.sub_group_size", JOB_VALUE, "optimizer.sub_group", "elements",
         ZERO),
    NEITHER("zero_optimization.offload_optimizer.pin_memory", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.stage3_gather_16bit_weights_on_model_save "
            "zero_optimization.gather_16bit_weights_on_model_save",
            JOB_VALUE, ZERO),
    NEITHER("zero_optimization.contiguous_gradients", JOB_VALUE, ZERO),
    RULE("zero_optimization.cpu_offload", JOB_VALUE, "optimizer.offload",
         "the older word for offload_optimizer on cpu", ZERO),
    NEITHER("zero_optimization.cpu_offload_use_pin_memory", JOB_VALUE, ZERO),
    RULE("zero_optimization.cpu_offload_params", JOB_VALUE, "optimizer.offload_params",
         "the older word for offload_param on cpu", ZERO),
    RULE("zero_optimization.zero_quantized_weights", JOB_VALUE, "precision.gather", "int8",
         ZERO),
    NEITHER("zero_optimization.stage3_param_persistence_threshold "
            "zero_optimization.param_persistence_threshold",
            JOB_VALUE, ZERO),
    NEITHER("zero_optimization.offload_param.pin_memory", JOB_VALUE, OFFLOAD),
    MEMORY("zero_optimization.zero_quantized_nontrainable_weights", JOB_VALUE, "false",
           "frozen weights are in 16 bits here", CONFIG),
    MEMORY("zero_optimization.zenflow.topk_ratio zero_optimization.zenflow.select_strategy "
           "zero_optimization.zenflow.overlap_step",
           JOB_VALUE, NULL, "what is selected has no states on the device here", CONFIG),
    MEMORY("zero_optimization.offload_optimizer.super_offload", JOB_VALUE, "false",
           "host memory is that of a plain offload here", OFFLOAD),
    NEITHER("zero_optimization.offload_param.nvme_path", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.offload_optimizer.nvme_path", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.reduce_scatter", JOB_VALUE, ZERO),
    NEITHER("zero_optimization.stage3_max_reuse_distance zero_optimization.max_reuse_distance",
            JOB_VALUE, ZERO),
    TIME("zero_optimization.zero_quantized_gradients", JOB_VALUE, "false", NULL, ZERO),
    TIME("communication_data_type", JOB_VALUE, NULL, NULL, CONFIG),
    RULE("zero_optimization.overlap_comm", JOB_VALUE, "parallel.overlap_reduce",
         "true: two buckets", ZERO),
    RULE("bf16.enabled", JOB_VALUE, "precision.weights", "and gradients; master, moments f32",
         PRECISION),
    RULE("fp16.enabled", JOB_VALUE, "precision.weights", "and gradients; master, moments f32",
         PRECISION),
    RULE("bf16.bf16_master_weights_and_grads", JOB_VALUE, "precision.master", "bf16",
         PRECISION),
    RULE("bf16.bf16_optimizer_states", JOB_VALUE, "precision.moments", "bf16", PRECISION),
    RULE("data_types.grad_accum_dtype", JOB_VALUE, "precision.gradients",
         "the weights' unless "
         "given",
         CONFIG),
    RULE("tensor_parallel.autotp_size", JOB_VALUE, "parallel.tp", "1 unless given", CONFIG),
    RULE("sequence_parallel_size parallelism_config_sp_size sp_size", JOB_VALUE, "parallel.cp",
         "1 unless given; of Accelerate's mesh, too", CONFIG),
    IDLE("parallelism_config_dp_shard_size dp_shard_size", JOB_VALUE,
         "what the sequences' ranks leave", PARALLEL),
    IDLE("parallelism_config_dp_replicate_size dp_replicate_size", JOB_VALUE,
         "DeepSpeed shares out over all of them", PARALLEL),
    NEITHER("parallelism_config_sp_backend sp_backend", JOB_VALUE, PARALLEL),
    NEITHER("parallelism_config_sp_seq_length sp_seq_length", JOB_VALUE, PARALLEL),
    NEITHER("parallelism_config_sp_attn_implementation", JOB_VALUE, PARALLEL),
    RULE("expert_parallel.enabled", JOB_VALUE, "parallel.ep", "with autoep_size", AUTO_EP),
    RULE("expert_parallel.autoep_size", JOB_VALUE, "parallel.ep", "etp 1, path ragged_a2a",
         AUTO_EP),
    RULE("activation_checkpointing.partition_activations", JOB_VALUE, "recompute.distribute",
         "where the trainer does not recompute by torch's own function", CONFIG),
    RULE("activation_checkpointing.cpu_checkpointing", JOB_VALUE, "recompute.offload",
         "layer_input, likewise", CONFIG),
    IDLE("activation_checkpointing.contiguous_memory_optimization", JOB_VALUE,
         "the same bytes in one buffer", CONFIG),
    IDLE("activation_checkpointing.number_checkpoints", JOB_VALUE,
         "of contiguous_memory_optimization", CONFIG),
    NEITHER("activation_checkpointing.synchronize_checkpoint_boundary", JOB_VALUE, CONFIG),
    NEITHER("activation_checkpointing.profile", JOB_VALUE, CONFIG),
    RULE("optimizer.type", JOB_VALUE, "optimizer.kind",
         "Adam, AdamW, OneBitAdam: adam; Lion, SGD, Muon by name", CONFIG),
    NEITHER("optimizer.params.lr", JOB_VALUE, CONFIG),
    NEITHER("optimizer.params.betas", JOB_LIST, CONFIG),
    NEITHER("optimizer.params.eps", JOB_VALUE, CONFIG),
    NEITHER("optimizer.params.weight_decay", JOB_VALUE, CONFIG),
    NEITHER("scheduler.type", JOB_VALUE, CONFIG),
    NEITHER("gradient_clipping", JOB_VALUE, CONFIG),
    IDLE("zero_optimization.leaf_module.classes zero_optimization.leaf_module.names "
         "zero_optimization.leaf_module.name_suffixes",
         JOB_LIST, "weights of a layer, its experts' too, are gathered together here", LEAF),
    NEITHER("steps_per_print", JOB_VALUE, CONFIG),
    NEITHER("wall_clock_breakdown", JOB_VALUE, CONFIG),

    /* ---- the trainer's own flags ---- */
    RULE("deepspeed deepspeed_config deepspeed_config_file", JOB_VALUE, NULL,
         "the configuration's file", CONFIG),
    RULE("activation_checkpointing", JOB_SWITCH, "recompute.kind",
         "full: a switch of DeepSpeed's own example scripts",
         "deepspeedai/DeepSpeedExamples training/DeepSpeed-SuperOffload/finetune_zero3.py"),
    RULE("zero_stage", JOB_VALUE, "parallel.zero", "Accelerate's, where no file says it",
         ACCELERATE),
    TRAINER_ROWS,
    NEITHER("use_deepspeed", JOB_SWITCH, ACCELERATE),
    NEITHER("deepspeed_multinode_launcher", JOB_VALUE, ACCELERATE),
    NEITHER("deepspeed_moe_layer_cls_names", JOB_VALUE, ACCELERATE),
    NEITHER("zero3_init_flag", JOB_VALUE, ACCELERATE),
    NEITHER("zero3_save_16bit_model", JOB_VALUE, ACCELERATE),
    RULE("num_gpus", JOB_VALUE, "cluster", "ranks of a node", CONFIG),
    RULE("num_nodes", JOB_VALUE, "cluster", "nodes", CONFIG),
    RULE("hostfile H", JOB_VALUE, "cluster", "its hosts and their slots",
         "deepspeed/launcher/runner.py"),
    NEITHER("master_port", JOB_VALUE, CONFIG),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* Accelerate's own file may name DeepSpeed's; its text may stand in the file's place. */
static enum status deepspeed_prepare(struct job *job)
{
    const char *name = NULL;
    bool again = false;
    TRY(trainer_prepare(job, &job_deepspeed));
    TRY(trainer_read_hosts(job));
    trainer_count_visible(job); /* launcher/runner.py: --include of them */
    TRY(job_switch(job, "activation_checkpointing", &again));
    if (again)
        job_retell(job, "activation_checkpointing", "gradient_checkpointing", "true");
    TRY(job_word(job, "deepspeed", &name));
    if (name && name[0] == '{')
        return job_flag_text(job, "deepspeed", JOB_FILE + 1);
    const struct setting *file = job_setting(job, "deepspeed");
    bool own = file && text_starts(file->said, "--deepspeed_config") &&
               !text_starts(file->said, "--deepspeed_config_file");
    job->loose_json = own; /* its own reader is hjson's, trainers read JSON (accelerate
                              utils/deepspeed.py, HfDeepSpeedConfig) */
    enum status status = job_flag_file(job, "deepspeed", JOB_FILE + 1);
    job->loose_json = false;
    return status;
}

static const char dtypes[] = "fp32=f32 bf16=bf16 fp16=f16";

static enum status set_formats(struct job *job)
{
    static const char names[] = "bf16.enabled fp16.enabled bf16 fp16 mixed_precision";
    bool bf16, fp16, master, moments;
    const char *accumulate = NULL;
    const char *mixed = "";
    TRY(trainer_switch(job, "bf16.enabled", "bf16", &bf16));
    TRY(trainer_switch(job, "fp16.enabled", "fp16", &fp16));
    TRY(job_word(job, "mixed_precision", &mixed));
    if (!bf16 && !fp16) {
        bf16 = text_equal(mixed, "bf16");
        fp16 = text_equal(mixed, "fp16");
    }
    if (bf16 && fp16)
        return job_fail(job, "fp16.enabled", "bf16 and fp16 exclude each other");
    TRY(trainer_switch(job, "bf16.bf16_master_weights_and_grads", NULL, &master));
    TRY(trainer_switch(job, "bf16.bf16_optimizer_states", NULL, &moments));
    TRY(job_word(job, "data_types.grad_accum_dtype", &accumulate));
    const char *weights = bf16 ? "bf16" : fp16 ? "f16" : "f32", *gradients = NULL;
    if (accumulate)
        gradients = job_convert(job, dtypes, accumulate);
    if (accumulate && !gradients)
        return job_fail(job, "data_types.grad_accum_dtype", "'%s' is no format", accumulate);
    job_set(job, "precision.weights", weights, names);
    job_set_rows(job, weights, names);
    bool half = bf16 || fp16;
    job_set(job, "precision.compute", half ? "bf16" : "f32", names);
    job_set(job, "precision.gradients", gradients ? gradients : weights,
            "data_types.grad_accum_dtype bf16.enabled fp16.enabled");
    job_set(job, "precision.master",
            !half    ? "none"
            : master ? "bf16"
                     : "f32",
            "bf16.bf16_master_weights_and_grads bf16.enabled fp16.enabled");
    job_set(job, "precision.moments", moments ? "bf16" : "f32",
            "bf16.bf16_optimizer_states bf16.enabled fp16.enabled");
    return STATUS_OK;
}

/* A degree that DeepSpeed's file says, else the one that the framework around it has set. */
static enum status set_degree(struct job *job, const char *flag, const char *key,
                              uint64_t *degree)
{
    bool given = job_given(job, flag);
    *degree = given ? 1 : job_drafted(job, key, 1);
    TRY(job_count(job, flag, degree));
    if (given || *degree <= 1)
        job_set_count(job, key, *degree, flag);
    return STATUS_OK;
}

static enum status set_layout(struct job *job, uint64_t *ranks)
{
    uint64_t zero = 0, tp, cp, ep = 1;
    bool experts;
    TRY(job_count(job, "zero_stage", &zero));
    TRY(job_count(job, "zero_optimization.stage", &zero));
    TRY(set_degree(job, "tensor_parallel.autotp_size", "parallel.tp", &tp));
    TRY(set_degree(job, "sequence_parallel_size", "parallel.cp", &cp));
    TRY(trainer_switch(job, "expert_parallel.enabled", NULL, &experts));
    if (experts)
        TRY(job_count(job, "expert_parallel.autoep_size", &ep));
    job_set_count(job, "parallel.zero", zero, "zero_optimization.stage zero_stage");
    job_set_count(job, "parallel.ep", ep, "expert_parallel.autoep_size");
    if (ep == 1)
        job_set_count(job, "parallel.etp", tp, "tensor_parallel.autotp_size");
    if (ep > 1)
        job_set(job, "moe.path", "ragged_a2a", "expert_parallel.autoep_size");
    *ranks = tp < 1000000 && cp < 1000000 ? tp * cp : 0;
    return STATUS_OK;
}

struct elements {
    const char *flag, *key;
    double least;   /* what 0 means; 0: nothing */
    double squared; /* of the hidden width, where the trainer fills in "auto"; 0: it does not */
};

/* transformers integrations/deepspeed.py, trainer_config_finalize */
static const struct elements elements[] = {
    {"zero_optimization.reduce_bucket_size", "parallel.reduce_bucket", 0, 1},
    {"zero_optimization.stage3_max_live_parameters", "parallel.live_parameters", 1, 0},
    {"zero_optimization.stage3_prefetch_bucket_size", "parallel.prefetch_bucket", 0, 0.9},
    {"zero_optimization.sub_group_size", "optimizer.sub_group", 1, 0},
};

enum { N_ELEMENTS = sizeof elements / sizeof *elements };

/* The width of the model, 0 where it is not known. */
static enum status hidden_of(struct job *job, uint64_t *hidden)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    *hidden = job_drafted(job, "model.hidden", 0);
    if (*hidden)
        return STATUS_OK;
    TRY(job_part(job, "model", plan, &known));
    *hidden = known ? plan->model.hidden : 0;
    return STATUS_OK;
}

/* A number of elements. */
static enum status set_elements(struct job *job, const struct elements *of)
{
    double value = 0;
    uint64_t hidden = 0;
    if (!job_given(job, of->flag))
        return STATUS_OK;
    if (trainer_decides(job, of->flag)) {
        TRY(job_real(job, of->flag, &value));
        value = value == 0 ? of->least : value;
    } else if (of->squared > 0) {
        TRY(hidden_of(job, &hidden));
        value = of->squared * (double)hidden * (double)hidden;
    }
    if (value >= 1 && value <= 1e15)
        job_set_count(job, of->key, (uint64_t)value, of->flag);
    return STATUS_OK;
}

static bool goes_away(struct job *job, const char *flag, enum status *status)
{
    const char *device = "none";
    *status = job_word(job, flag, &device);
    return !text_equal(device, "none");
}

static enum status set_offload(struct job *job)
{
    static const char states[] = "zero_optimization.offload_optimizer.device";
    static const char weights[] = "zero_optimization.offload_param.device";
    enum status status;
    double ratio = 1;
    char text[32];
    bool moved = goes_away(job, states, &status), old_states = false, old_weights = false;
    TRY(status);
    bool all = goes_away(job, weights, &status);
    TRY(status);
    TRY(job_switch(job, "zero_optimization.cpu_offload", &old_states));
    TRY(job_switch(job, "zero_optimization.cpu_offload_params", &old_weights));
    TRY(job_real(job, "zero_optimization.offload_optimizer.ratio", &ratio));
    text_double(text, ratio);
    if (moved || old_states)
        job_set(job, "optimizer.offload", text,
                "zero_optimization.offload_optimizer.device zero_optimization.cpu_offload");
    if (all || old_weights)
        job_set(job, "optimizer.offload_params", "true",
                "zero_optimization.offload_param.device zero_optimization.cpu_offload_params");
    return STATUS_OK;
}

/* DeepSpeed's own recomputation, which a script calls by itself: transformers' models under
 * gradient_checkpointing call torch's. */
static enum status set_checkpointing(struct job *job)
{
    static const char cut[] = "activation_checkpointing.partition_activations",
                      away[] = "activation_checkpointing.cpu_checkpointing";
    static const char *const inputs = "layer_input";
    bool distribute, offload;
    TRY(trainer_switch(job, cut, NULL, &distribute));
    TRY(trainer_switch(job, away, NULL, &offload));
    if ((!distribute && !offload) || trainer_decides(job, "gradient_checkpointing"))
        return STATUS_OK;
    if (distribute)
        job_set(job, "recompute.distribute", "true", cut);
    if (offload)
        job_set_list(job, "recompute.offload", &inputs, 1, away);
    if (!job_requested(job, "recompute.kind") && !job_requested(job, "recompute"))
        job_warn(
            job, job_setting(job, distribute ? cut : away)->mark,
            "whether the script recomputes, by DeepSpeed's own function, matters to memory "
            "and is not in the configuration: --set recompute=full where it does");
    return STATUS_OK;
}

static enum status set_zero_rest(struct job *job)
{
    bool overlap, quantised;
    double shard = -1;
    uint64_t second = 1;
    for (size_t i = 0; i < N_ELEMENTS; i++)
        TRY(set_elements(job, &elements[i]));
    TRY(trainer_switch(job, "zero_optimization.overlap_comm", NULL, &overlap));
    if (overlap)
        job_set(job, "parallel.overlap_reduce", "true", "zero_optimization.overlap_comm");
    TRY(job_count(job, "zero_optimization.zero_hpz_partition_size", &second));
    if (second > 1)
        job_set_count(job, "parallel.hpz_shard", second,
                      "zero_optimization.zero_hpz_partition_size");
    TRY(trainer_switch(job, "zero_optimization.zero_quantized_weights", NULL, &quantised));
    if (quantised)
        job_set(job, "precision.gather", "int8", "zero_optimization.zero_quantized_weights");
    TRY(job_real(job, "zero_optimization.mics_shard_size", &shard));
    if (shard >= 1)
        job_set_count(job, "parallel.dp_shard", (uint64_t)shard,
                      "zero_optimization.mics_shard_size");
    return set_offload(job);
}

enum status deepspeed_share(struct job *job)
{
    uint64_t ranks;
    /* the launcher's, in the job's size by now */
    job_setting(job, "num_gpus");
    job_setting(job, "num_nodes");
    job_set(job, "workload.mode", "train", "");
    TRY(set_layout(job, &ranks));
    TRY(trainer_set_batch(job, "train_batch_size", "train_micro_batch_size_per_gpu", ranks));
    TRY(trainer_finish(job, false, "optimizer.type"));
    TRY(set_zero_rest(job));
    TRY(set_checkpointing(job));
    TRY(set_formats(job));
    TRY(trainer_set_states(job));
    TRY(trainer_set_smoothing(job, false));
    return trainer_set_base(job);
}

/* ---- a plan as a launch ---- */

static void write_zero(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    const struct optimizer *o = &writer->plan->optimizer;
    char ratio[32];
    writer_count(writer, "zero_optimization.stage", p->zero);
    if (p->dp_shard)
        writer_count(writer, "zero_optimization.mics_shard_size", p->dp_shard);
    if (p->overlap_reduce)
        writer_flag(writer, "zero_optimization.overlap_comm", "true");
    if (p->hpz_shard > 1)
        writer_count(writer, "zero_optimization.zero_hpz_partition_size", p->hpz_shard);
    if (writer->plan->precision.gather == DTYPE_INT8)
        writer_flag(writer, "zero_optimization.zero_quantized_weights", "true");
    for (size_t i = 0; i < N_ELEMENTS; i++) {
        const char *value = writer_value(writer, elements[i].key);
        if (!text_equal(value, "0"))
            writer_flag(writer, elements[i].flag, value);
    }
    if (o->offload > 0)
        writer_flag(writer, "zero_optimization.offload_optimizer.device", "cpu");
    text_double(ratio, o->offload);
    if (o->offload > 0 && o->offload < 1)
        writer_flag(writer, "zero_optimization.offload_optimizer.ratio", ratio);
    if (o->offload_params)
        writer_flag(writer, "zero_optimization.offload_param.device", "cpu");
}

static void write_checkpointing(struct job_writer *writer)
{
    const struct recompute_plan *r = &writer->plan->recompute;
    if (r->kind != RECOMPUTE_FULL)
        return;
    if (r->distribute)
        writer_flag(writer, "activation_checkpointing.partition_activations", "true");
    if (r->offload.n == 1 && text_equal(r->offload.word[0], "layer_input"))
        writer_flag(writer, "activation_checkpointing.cpu_checkpointing", "true");
}

static void write_formats(struct job_writer *writer)
{
    const struct precision *p = &writer->plan->precision;
    bool few = p->weights != DTYPE_F32 && writer->plan->lora.rank; /* a base in few bits, too */
    enum dtype half = few ? p->activations : p->weights;
    const char *own = half == DTYPE_BF16  ? "bf16.enabled"
                      : half == DTYPE_F16 ? "fp16.enabled"
                                          : NULL;
    const char *gradients = writer_word(writer, dtypes, words_dtype[p->gradients]);
    if (own)
        writer_flag(writer, own, "true");
    if (half == DTYPE_BF16 && p->master == DTYPE_BF16)
        writer_flag(writer, "bf16.bf16_master_weights_and_grads", "true");
    if (half == DTYPE_BF16 && p->moments == DTYPE_BF16)
        writer_flag(writer, "bf16.bf16_optimizer_states", "true");
    if (p->gradients != half && gradients)
        writer_flag(writer, "data_types.grad_accum_dtype", gradients);
}

static enum status deepspeed_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    TRY(trainer_write_refuse(writer));
    if (plan->workload.global_batch)
        writer_count(writer, "train_batch_size", plan->workload.global_batch);
    writer_count(writer, "train_micro_batch_size_per_gpu", plan->workload.micro_batch);
    write_zero(writer);
    write_checkpointing(writer);
    write_formats(writer);
    if (p->tp > 1)
        writer_count(writer, "tensor_parallel.autotp_size", p->tp);
    if (p->cp > 1)
        writer_count(writer, "sequence_parallel_size", p->cp);
    if (p->ep > 1) {
        writer_flag(writer, "expert_parallel.enabled", "true");
        writer_count(writer, "expert_parallel.autoep_size", p->ep);
    }
    trainer_write_optimizer(writer);
    const struct cluster *c = &plan->cluster;
    const struct trainer_launch launch = {
        .launcher =
            arena_printf(writer->arena, "deepspeed --num_nodes %" PRIu64 " --num_gpus %" PRIu64,
                         c->nodes, c->node.devices),
        .file = "deepspeed.json",
        .flag = "deepspeed",
        .json = true,
        .behind = true};
    trainer_write(writer, &launch);
    return STATUS_OK;
}

const struct job_framework job_deepspeed = {
    .name = "deepspeed",
    .title = "a DeepSpeed job",
    .stack = "deepspeed",
    .source = "deepspeedai/DeepSpeed edaa72212672",
    .syntax = JOB_DASHES,
    .sections = "deepspeed_config. parallelism_config.",
    .loose_json = true, /* by hjson (runtime/config.py); trainers' files are not */
    .wrapped = true,
    .flags = flags,
    .n_flags = &n_flags,
    .prepare = deepspeed_prepare,
    .finish = deepspeed_share,
    .write = deepspeed_write,
    .write_flag = trainer_write_flag,
    .names = NAMES_HUB,
    .files = true,
    .own = "deepspeed/",
    .telling = "zero_optimization zero_stage train_batch_size train_micro_batch_size_per_gpu "
               "bf16 fp16 deepspeed_config",
    .kind_key = "distributed_type",
    .kind = "DEEPSPEED",
    .trains = true,
};
