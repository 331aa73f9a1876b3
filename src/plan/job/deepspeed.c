/* DeepSpeed configurations, alone or named by a launch. Read at deepspeedai/DeepSpeed
 * edaa72212672. "auto" belongs to the trainer's flags, of which HuggingFace's are read. */
#include <inttypes.h>
#include <string.h>

#include "plan/job/rows.h"

#define CONFIG "deepspeed/runtime/config.py"
#define ZERO "deepspeed/runtime/zero/config.py"
#define OFFLOAD "deepspeed/runtime/zero/offload_config.py"
#define PRECISION "deepspeed/runtime/precision_config.py"
#define AUTO_EP "deepspeed/module_inject/auto_ep_config.py"
#define PEFT "trl trl/trainer/model_config.py"
#define ACCELERATE "accelerate src/accelerate/commands/launch.py"
#define TRAINER "transformers src/transformers/training_args.py"

static const struct job_flag flags[] = {
    RULE("train_batch_size", JOB_VALUE, "workload.global_batch", "micro x accumulation x dp",
         CONFIG),
    RULE("train_micro_batch_size_per_gpu", JOB_VALUE, "workload.micro_batch", NULL, CONFIG),
    RULE("gradient_accumulation_steps", JOB_VALUE, "workload.global_batch",
         "1 unless it follows from the batches", CONFIG),
    RULE("zero_optimization.stage", JOB_VALUE, "parallel.zero", "0 unless given", ZERO),
    MEMORY("zero_optimization.zero_hpz_partition_size", JOB_VALUE, "1",
           "a plan shares over all data-parallel ranks", ZERO),
    RULE("zero_optimization.mics_shard_size", JOB_VALUE, "parallel.dp_shard",
         "above 0: ranks that share", ZERO),
    RULE("zero_optimization.offload_optimizer.device offload_optimizer_device", JOB_VALUE,
         "optimizer.offload", "cpu, nvme: ratio, or 1", OFFLOAD),
    RULE("zero_optimization.offload_optimizer.ratio", JOB_VALUE, "optimizer.offload",
         "1 unless given", OFFLOAD),
    RULE("zero_optimization.offload_param.device offload_param_device", JOB_VALUE,
         "optimizer.offload_params", "cpu, nvme: true, with the optimizer's states", OFFLOAD),
    RULE("zero_optimization.reduce_bucket_size", JOB_VALUE, "parallel.reduce_bucket",
         "elements; auto: as if it were not given", ZERO),
    MEMORY("zero_optimization.allgather_bucket_size", JOB_VALUE, "5e8", "elements, not bytes",
           ZERO),
    RULE("zero_optimization.stage3_max_live_parameters", JOB_VALUE, "parallel.live_parameters",
         "elements", ZERO),
    MEMORY("zero_optimization.stage3_prefetch_bucket_size", JOB_VALUE, NULL,
           "elements, not bytes", ZERO),
    MEMORY("zero_optimization.sub_group_size", JOB_VALUE, "1e9", NULL, ZERO),
    NEITHER("zero_optimization.offload_optimizer.pin_memory", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.stage3_gather_16bit_weights_on_model_save", JOB_VALUE, ZERO),
    NEITHER("zero_optimization.contiguous_gradients", JOB_VALUE, ZERO),
    RULE("zero_optimization.cpu_offload", JOB_VALUE, "optimizer.offload",
         "the older word for offload_optimizer on cpu", ZERO),
    NEITHER("zero_optimization.cpu_offload_use_pin_memory", JOB_VALUE, ZERO),
    RULE("zero_optimization.cpu_offload_params", JOB_VALUE, "optimizer.offload_params",
         "the older word for offload_param on cpu", ZERO),
    MEMORY("zero_optimization.zero_quantized_weights", JOB_VALUE, "false",
           "gathered weights are taken as they are stored", ZERO),
    NEITHER("zero_optimization.stage3_param_persistence_threshold", JOB_VALUE, ZERO),
    NEITHER("zero_optimization.offload_param.pin_memory", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.offload_param.nvme_path", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.offload_optimizer.nvme_path", JOB_VALUE, OFFLOAD),
    NEITHER("zero_optimization.reduce_scatter", JOB_VALUE, ZERO),
    NEITHER("zero_optimization.stage3_max_reuse_distance", JOB_VALUE, ZERO),
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
    RULE("sequence_parallel_size", JOB_VALUE, "parallel.cp", "1 unless given", CONFIG),
    RULE("expert_parallel.enabled", JOB_VALUE, "parallel.ep", "with autoep_size", AUTO_EP),
    RULE("expert_parallel.autoep_size", JOB_VALUE, "parallel.ep", "etp 1, path ragged_a2a",
         AUTO_EP),
    MEMORY("activation_checkpointing.partition_activations", JOB_VALUE, "false", NULL, CONFIG),
    MEMORY("activation_checkpointing.cpu_checkpointing", JOB_VALUE, "false", NULL, CONFIG),
    RULE("optimizer.type", JOB_VALUE, "optimizer.kind",
         "Adam, AdamW, OneBitAdam: adam; Lion, SGD, Muon by name", CONFIG),
    NEITHER("optimizer.params.lr", JOB_VALUE, CONFIG),
    NEITHER("optimizer.params.betas", JOB_LIST, CONFIG),
    NEITHER("optimizer.params.eps", JOB_VALUE, CONFIG),
    NEITHER("optimizer.params.weight_decay", JOB_VALUE, CONFIG),
    NEITHER("scheduler.type", JOB_VALUE, CONFIG),
    NEITHER("gradient_clipping", JOB_VALUE, CONFIG),
    NEITHER("steps_per_print", JOB_VALUE, CONFIG),
    NEITHER("wall_clock_breakdown", JOB_VALUE, CONFIG),

    /* ---- the trainer's own flags ---- */
    RULE("deepspeed deepspeed_config deepspeed_config_file", JOB_VALUE, NULL,
         "the configuration's file", CONFIG),
    RULE("model_name_or_path", JOB_VALUE, "model", "by its name on the hub", TRAINER),
    RULE("per_device_train_batch_size", JOB_VALUE, "workload.micro_batch", "8 unless given",
         TRAINER),
    DIRECT("max_seq_length max_length model_max_length block_size", JOB_VALUE,
           "workload.sequence_length", NULL, NULL, TRAINER),
    RULE("gradient_checkpointing", JOB_VALUE, "recompute.kind", "full", TRAINER),
    RULE("use_peft", JOB_SWITCH, "lora.rank", "with lora_r", PEFT),
    RULE("lora_r lora_rank", JOB_VALUE, "lora.rank", "16 with use_peft", PEFT),
    RULE("lora_target_modules lora_target", JOB_LIST, "lora.targets",
         "by name; all-linear, all: every one", PEFT),
    NEITHER("lora_alpha", JOB_VALUE, PEFT),
    NEITHER("lora_dropout", JOB_VALUE, PEFT),
    RULE("zero_stage", JOB_VALUE, "parallel.zero", "accelerate, where no file says it",
         ACCELERATE),
    RULE("optim", JOB_VALUE, "optimizer.kind", "adamw*: adam; *8bit: adam8; sgd, adafactor",
         TRAINER),
    RULE("bf16", JOB_VALUE, "precision.weights", "where the file says auto", TRAINER),
    RULE("fp16", JOB_VALUE, "precision.weights", "where the file says auto", TRAINER),
    RULE("config_file", JOB_VALUE, NULL, "accelerate's YAML file", ACCELERATE),
    RULE("mixed_precision", JOB_VALUE, "precision.weights",
         "accelerate: bf16, fp16, where no file says it", ACCELERATE),
    RULE("distributed_type", JOB_VALUE, NULL, "accelerate: DEEPSPEED, others are refused",
         ACCELERATE),
    NEITHER("use_deepspeed", JOB_SWITCH, ACCELERATE),
    NEITHER("num_processes", JOB_VALUE, ACCELERATE),
    NEITHER("num_machines", JOB_VALUE, ACCELERATE),
    NEITHER("machine_rank", JOB_VALUE, ACCELERATE),
    NEITHER("main_process_ip", JOB_VALUE, ACCELERATE),
    NEITHER("main_process_port", JOB_VALUE, ACCELERATE),
    NEITHER("zero3_init_flag", JOB_VALUE, ACCELERATE),
    NEITHER("zero3_save_16bit_model", JOB_VALUE, ACCELERATE),
    NEITHER("num_gpus", JOB_VALUE, CONFIG),
    NEITHER("num_nodes", JOB_VALUE, CONFIG),
    NEITHER("hostfile", JOB_VALUE, CONFIG),
    NEITHER("master_port", JOB_VALUE, CONFIG),
    NEITHER("learning_rate", JOB_VALUE, TRAINER),
    NEITHER("output_dir", JOB_VALUE, TRAINER),
    NEITHER("num_train_epochs", JOB_VALUE, TRAINER),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static enum status add_file(struct job *job, const char *flag, unsigned layer)
{
    const char *name = NULL;
    bool found;
    TRY(job_word(job, flag, &name));
    if (!name || !job->shell)
        return STATUS_OK;
    TRY(job_add_file(job, name, layer, &found));
    if (found)
        return STATUS_OK;
    job_fail(job, flag, "file '%s' is not there", name);
    return err_hint(job->err,
                    "it is looked for beside the script and in the working directory");
}

/* accelerate's own file may name DeepSpeed's, and how many ranks start. */
static enum status deepspeed_prepare(struct job *job)
{
    const char *type = "DEEPSPEED";
    uint64_t ranks = job->size.world, nodes = job->size.nodes;
    TRY(add_file(job, "config_file", JOB_FILE));
    TRY(job_word(job, "distributed_type", &type));
    if (!text_equal(type, "DEEPSPEED")) {
        job_fail(job, "distributed_type", "accelerate's '%s' is not read", type);
        return err_hint(job->err, "of accelerate's kinds DEEPSPEED is: name what it does in a "
                                  "plan of stack fsdp");
    }
    TRY(job_count(job, "num_processes", &ranks));
    TRY(job_count(job, "num_machines", &nodes));
    if (job_given(job, "num_processes"))
        job->size = (struct job_size){.world = ranks, .nodes = nodes};
    return add_file(job, "deepspeed", JOB_FILE + 1);
}

/* A setting that is there and is not "auto"; a bare switch is. */
static bool decided(struct job *job, const char *name)
{
    const struct setting *s = job_setting(job, name);
    return s && (s->n == 0 || (s->n == 1 && !text_equal(s->values[0], "auto")));
}

static enum status count_of(struct job *job, const char *name, const char *trainer,
                            uint64_t *value, bool *known)
{
    const char *flag = decided(job, name) ? name : trainer;
    *known = flag && decided(job, flag);
    return *known ? job_count(job, flag, value) : STATUS_OK;
}

static enum status switch_of(struct job *job, const char *name, const char *trainer,
                             bool *value)
{
    const char *flag = decided(job, name) ? name : trainer;
    *value = false;
    if (!flag || !job_given(job, flag) || (flag == name && !decided(job, name)))
        return STATUS_OK;
    return job_switch(job, flag, value);
}

static enum status no_batch(struct job *job)
{
    job_fail(job, job_given(job, "train_batch_size") ? "train_batch_size" : NULL,
             "the micro-batch is neither in the configuration nor among the trainer's flags");
    return err_hint(job->err, "add train_micro_batch_size_per_gpu, "
                              "--per_device_train_batch_size, or --set workload.micro_batch=1");
}

/* train = micro x accumulation x dp: any two give the third. */
static enum status set_batch(struct job *job, uint64_t ranks)
{
    static const char micro_flags[] = "train_micro_batch_size_per_gpu "
                                      "per_device_train_batch_size train_batch_size";
    uint64_t global = 0, micro = 0, steps = 1, world;
    bool has_global, has_micro, has_steps;
    TRY(count_of(job, "train_batch_size", NULL, &global, &has_global));
    TRY(count_of(job, "train_micro_batch_size_per_gpu", "per_device_train_batch_size", &micro,
                 &has_micro));
    TRY(count_of(job, "gradient_accumulation_steps", NULL, &steps, &has_steps));
    TRY(job_world(job, &world));
    uint64_t dp = ranks && world ? world / ranks : 0;
    bool set = job_requested(job, "workload.micro_batch");
    if (!has_micro && has_global && dp && steps) {
        if (global % dp != 0 || global / dp % steps != 0)
            return job_fail(job, "train_batch_size",
                            "train_batch_size %" PRIu64 " is no multiple of %" PRIu64
                            " ranks x %" PRIu64 " steps",
                            global, dp, steps);
        micro = global / dp / steps;
    } else if (!has_micro && !set && !(has_global && !dp)) {
        return no_batch(job);
    }
    if (micro)
        job_set_count(job, "workload.micro_batch", micro, micro_flags);
    if (has_global)
        job_set_count(job, "workload.global_batch", global, "train_batch_size");
    else if (dp && steps > 1 && micro < 1000000 && steps < 1000000)
        job_set_count(job, "workload.global_batch", micro * steps * dp,
                      "gradient_accumulation_steps");
    if (has_global && has_micro && dp && micro &&
        (global % dp != 0 || global / dp % micro != 0))
        return job_fail(job, "train_batch_size",
                        "train_batch_size %" PRIu64 " is no multiple of "
                        "%" PRIu64 " sequences x %" PRIu64 " ranks",
                        global, micro, dp);
    return STATUS_OK;
}

static enum status set_formats(struct job *job)
{
    static const char *const sixteen[] = {"precision.activations", "precision.dispatch",
                                          "precision.combine"};
    static const char names[] = "bf16.enabled fp16.enabled bf16 fp16 mixed_precision";
    bool bf16, fp16, master, moments;
    const char *accumulate = NULL;
    const char *mixed = "";
    TRY(switch_of(job, "bf16.enabled", "bf16", &bf16));
    TRY(switch_of(job, "fp16.enabled", "fp16", &fp16));
    TRY(job_word(job, "mixed_precision", &mixed));
    if (!bf16 && !fp16) {
        bf16 = text_equal(mixed, "bf16");
        fp16 = text_equal(mixed, "fp16");
    }
    if (bf16 && fp16)
        return job_fail(job, "fp16.enabled", "bf16 and fp16 exclude each other");
    TRY(switch_of(job, "bf16.bf16_master_weights_and_grads", NULL, &master));
    TRY(switch_of(job, "bf16.bf16_optimizer_states", NULL, &moments));
    TRY(job_word(job, "data_types.grad_accum_dtype", &accumulate));
    const char *weights = bf16 ? "bf16" : fp16 ? "f16" : "f32", *gradients = NULL;
    if (accumulate)
        gradients = job_convert(job, "fp32=f32 bf16=bf16 fp16=f16", accumulate);
    if (accumulate && !gradients)
        return job_fail(job, "data_types.grad_accum_dtype", "'%s' is no format", accumulate);
    job_set(job, "precision.weights", weights, names);
    for (size_t i = 0; i < 3; i++)
        job_set(job, sixteen[i], weights, names);
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

static enum status set_layout(struct job *job, uint64_t *ranks)
{
    uint64_t zero = 0, tp = 1, cp = 1, ep = 1;
    bool experts;
    TRY(job_count(job, "zero_stage", &zero));
    TRY(job_count(job, "zero_optimization.stage", &zero));
    TRY(job_count(job, "tensor_parallel.autotp_size", &tp));
    TRY(job_count(job, "sequence_parallel_size", &cp));
    TRY(switch_of(job, "expert_parallel.enabled", NULL, &experts));
    if (experts)
        TRY(job_count(job, "expert_parallel.autoep_size", &ep));
    job_set_count(job, "parallel.zero", zero, "zero_optimization.stage zero_stage");
    job_set_count(job, "parallel.tp", tp, "tensor_parallel.autotp_size");
    job_set_count(job, "parallel.cp", cp, "sequence_parallel_size");
    job_set_count(job, "parallel.ep", ep, "expert_parallel.autoep_size");
    if (ep == 1)
        job_set_count(job, "parallel.etp", tp, "tensor_parallel.autotp_size");
    if (ep > 1)
        job_set(job, "moe.path", "ragged_a2a", "expert_parallel.autoep_size");
    *ranks = tp < 1000000 && cp < 1000000 ? tp * cp : 0;
    return STATUS_OK;
}

/* A number of elements that is there and not "auto". */
static enum status set_elements(struct job *job, const char *flag, const char *key)
{
    double value = 0;
    if (!decided(job, flag))
        return STATUS_OK;
    TRY(job_real(job, flag, &value));
    if (value >= 1 && value <= 1e15)
        job_set_count(job, key, (uint64_t)value, flag);
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

static enum status set_zero_rest(struct job *job)
{
    static const struct {
        const char *flag, *key;
    } elements[] = {
        {"zero_optimization.reduce_bucket_size", "parallel.reduce_bucket"},
        {"zero_optimization.stage3_max_live_parameters", "parallel.live_parameters"},
    };
    bool overlap;
    double shard = -1;
    const char *type = "AdamW";
    for (size_t i = 0; i < 2; i++)
        TRY(set_elements(job, elements[i].flag, elements[i].key));
    TRY(switch_of(job, "zero_optimization.overlap_comm", NULL, &overlap));
    if (overlap)
        job_set(job, "parallel.overlap_reduce", "true", "zero_optimization.overlap_comm");
    TRY(job_real(job, "zero_optimization.mics_shard_size", &shard));
    if (shard >= 1)
        job_set_count(job, "parallel.dp_shard", (uint64_t)shard,
                      "zero_optimization.mics_shard_size");
    bool own = decided(job, "optimizer.type"); /* else the trainer's */
    const char *flag = own ? "optimizer.type" : "optim";
    TRY(job_word(job, flag, &type));
    const char *kind = job_convert(
        job,
        "Adam=adam AdamW=adam FusedAdam=adam OneBitAdam=adam Lion=lion SGD=sgd Muon=muon "
        "adamw_torch=adam adamw_torch_fused=adam adamw_hf=adam adamw_apex_fused=adam "
        "adamw_8bit=adam8bit adamw_bnb_8bit=adam8bit paged_adamw_8bit=adam8bit "
        "paged_adamw_32bit=adam paged_adamw=adam lion_32bit=lion lion_8bit=lion8bit "
        "adafactor=adafactor sgd=sgd",
        type);
    if (kind && !text_equal(kind, "adam"))
        job_set(job, "optimizer.kind", kind, flag);
    if (!kind)
        job_warn(job, job_setting(job, flag)->mark,
                 "optimizer '%s' matters to memory and is not modelled: Adam's states stand in",
                 type);
    return set_offload(job);
}

/* TRL's adapters. */
static enum status set_adapter(struct job *job)
{
    bool used = job_given(job, "lora_r");
    uint64_t rank = 16;
    TRY(job_switch(job, "use_peft", &used));
    if (!used)
        return STATUS_OK;
    TRY(job_count(job, "lora_r", &rank));
    job_set_count(job, "lora.rank", rank, "lora_r use_peft");
    const struct setting *s = job_setting(job, "lora_target_modules");
    bool all = s && s->n == 1 &&
               (text_equal(s->values[0], "all-linear") || text_equal(s->values[0], "all"));
    if (s && !s->trouble && !all)
        draft_set_list(&job->draft, "lora.targets", s->values, s->n, s->mark, s->said);
    return STATUS_OK;
}

static enum status deepspeed_finish(struct job *job)
{
    const char *model = NULL;
    bool checkpoints;
    uint64_t ranks;
    job_set(job, "workload.mode", "train", "");
    TRY(job_word(job, "model_name_or_path", &model));
    if (model && !draft_find(&job->draft, "model")) {
        const char *ours = model_name_from(NAMES_HUB, model, job->arena);
        if (!ours)
            return job_fail(job, "model_name_or_path", "model '%s' is not among moeplan's",
                            model);
        job_set(job, "model", ours, "model_name_or_path");
    }
    TRY(set_layout(job, &ranks));
    TRY(set_batch(job, ranks));
    TRY(set_zero_rest(job));
    TRY(set_adapter(job));
    TRY(switch_of(job, "gradient_checkpointing", NULL, &checkpoints));
    job_set(job, "recompute.kind", checkpoints ? "full" : "none", "gradient_checkpointing");
    return set_formats(job);
}

const struct job_framework job_deepspeed = {
    .name = "deepspeed",
    .title = "a DeepSpeed job",
    .stack = "deepspeed",
    .source = "deepspeedai/DeepSpeed edaa72212672",
    .syntax = JOB_DASHES,
    .sections = "deepspeed_config.",
    .flags = flags,
    .n_flags = &n_flags,
    .prepare = deepspeed_prepare,
    .finish = deepspeed_finish,
    .trains = true,
};
