/* torchtitan: TOML with command line overrides (until February 2026), or a Python configuration
 * with the same overrides. Read at pytorch/torchtitan 238fa9953e4a and b5bcd76c66d0. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/primus.h"
#include "plan/framework/torchtitan.h"
#include "plan/job/rows.h"

#define OLD "torchtitan/config/job_config.py"
#define NEW "torchtitan/config/configs.py"
#define DIMS "torchtitan/distributed/parallel_dims.py"
#define PIPE "torchtitan/distributed/pipeline_parallel.py"
#define FSDP "torchtitan/distributed/fsdp.py"
#define SAVED "torchtitan/distributed/activation_checkpoint.py"
#define TURBO "primus/configs/modules/torchtitan/pre_trainer.yaml"
#define LOSS "torchtitan/components/loss.py"

static const struct job_flag flags[] = {
    RULE("model.name module", JOB_VALUE, "model", "with the flavor", OLD),
    RULE("model.flavor", JOB_VALUE, "model", "with the name", OLD),
    RULE("job.config_file", JOB_VALUE, NULL, "the TOML file below the command line", OLD),
    RULE("config", JOB_VALUE, NULL, "a Python function, not read", NEW),
    RULE("training.local_batch_size training.batch_size", JOB_VALUE, "workload.micro_batch",
         "8 unless given; with a pipeline the batch of a step", OLD),
    DIRECT("training.seq_len training.max_context_length", JOB_VALUE,
           "workload.sequence_length", NULL, "2048", OLD),
    RULE("training.global_batch_size", JOB_VALUE, "workload.global_batch", "-1: local x dp",
         OLD),
    RULE("training.num_tokens_per_microbatch_per_dp_rank", JOB_VALUE, "workload.micro_batch",
         "/ max_context_length", NEW),
    RULE("training.num_tokens_per_train_step", JOB_VALUE, "workload.tokens_per_step",
         "-1: one micro-step", NEW),
    RULE("parallelism.data_parallel_shard_degree training.data_parallel_shard_degree",
         JOB_VALUE, "parallel.zero", "3; 1: 0; -1: what the others leave", DIMS),
    RULE("parallelism.data_parallel_replicate_degree training.data_parallel_replicate_degree",
         JOB_VALUE, "parallel.dp_shard", "above 1: dp / degree share, the groups replicate",
         DIMS),
    DIRECT("parallelism.fsdp_reshard_after_forward", JOB_VALUE, "parallel.reshard",
           "default=auto always=always never=never", "default", FSDP),
    DIRECT("parallelism.tensor_parallel_degree training.tensor_parallel_degree", JOB_VALUE,
           "parallel.tp", NULL, "1", DIMS),
    DIRECT("parallelism.pipeline_parallel_degree experimental.pipeline_parallel_degree",
           JOB_VALUE, "parallel.pp", NULL, "1", DIMS),
    DIRECT("parallelism.context_parallel_degree experimental.context_parallel_degree",
           JOB_VALUE, "parallel.cp", NULL, "1", DIMS),
    DIRECT("parallelism.expert_parallel_degree", JOB_VALUE, "parallel.ep", NULL, "1", DIMS),
    RULE("parallelism.expert_tensor_parallel_degree", JOB_VALUE, "parallel.etp",
         "1 unless given; without expert parallelism tp", DIMS),
    DIRECT("parallelism.pipeline_parallel_schedule experimental.pipeline_parallel_schedule",
           JOB_VALUE, "parallel.schedule",
           "1F1B=1f1b Interleaved1F1B=interleaved GPipe=gpipe ZBVZeroBubble=zero_bubble "
           "InterleavedZeroBubble=zero_bubble DualPipeV=dualpipe",
           "1F1B", PIPE),
    RULE("parallelism.pipeline_parallel_schedule_csv", JOB_VALUE, NULL, "refused", PIPE),
    RULE("parallelism.pipeline_parallel_microbatch_size", JOB_VALUE, "workload.micro_batch",
         "1 unless given", PIPE),
    RULE("parallelism.pipeline_parallel_layers_per_stage", JOB_VALUE, "parallel.vpp",
         "layers / (pp x value)", PIPE),
    RULE("parallelism.pipeline_parallel_first_stage_less_layers", JOB_VALUE, "parallel.stages",
         "layers that the embedding stands for; 1 unless given", PIPE),
    RULE("parallelism.pipeline_parallel_last_stage_less_layers", JOB_VALUE, "parallel.stages",
         "layers that the output stands for; 1 unless given", PIPE),
    RULE("parallelism.module_fqns_per_model_part", JOB_LIST, "parallel.stages",
         "layers.N of each part; parts / pp is vpp", PIPE),
    DIRECT("parallelism.expert_parallel_comm_backend parallelism.moe_comm_backend", JOB_VALUE,
           "moe.path", "standard=ragged_a2a deepep=deepep hybridep=deepep", "standard", OLD),
    RULE("activation_checkpoint.mode", JOB_VALUE, "recompute.kind", "selective unless given",
         SAVED),
    RULE("activation_checkpoint.selective_ac_option", JOB_VALUE, "recompute.modules",
         "2 unless given", SAVED),
    DIRECT("training.dtype", JOB_VALUE, "precision.weights", "float32=f32 bfloat16=bf16",
           "float32", OLD),
    RULE("training.mixed_precision_param", JOB_VALUE, "precision.activations",
         "bfloat16 unless given; dispatch and combine too", OLD),
    DIRECT("training.mixed_precision_reduce", JOB_VALUE, "precision.gradients",
           "float32=f32 bfloat16=bf16", "float32", OLD),
    RULE("compile.enable", JOB_VALUE, "stack.compiled", "when components name the model", OLD),
    RULE("compile.components", JOB_LIST, "stack.compiled stack.cross_entropy",
         "model and loss unless given; loss alone: f32", OLD),
    RULE("model.converters", JOB_LIST, "precision.compute", "float8, mx: fp8", OLD),
    RULE("float8.enable_float8_linear", JOB_SWITCH, "precision.compute", "true: fp8", OLD),
    RULE("loss.chunked", JOB_SWITCH, "stack.cross_entropy", "chunked", LOSS),
    RULE("loss.num_chunks", JOB_VALUE, "stack.loss_chunks", "8 unless given", LOSS),
    RULE("parallelism.enable_sequence_parallel", JOB_SWITCH, "parallel.sp",
         "with tensor parallelism; true", NEW),
    RULE("training.disable_cuda_graphs", JOB_SWITCH, "stack.graphs", "false: full", NEW),
    RULE("training.enable_cpu_offload", JOB_SWITCH, "optimizer.offload",
         "1, and optimizer.offload_params", OLD),
    IDLE("training.gc_freq", JOB_VALUE, "Python's own garbage, of which tensors are no part",
         OLD),
    RULE("optimizer.name", JOB_VALUE, "optimizer.kind", "Adam, AdamW adam; others warn", OLD),
    RULE("optimizer.implementation", JOB_VALUE, "optimizer.step",
         "fused unless given, foreach; for-loop warns", OLD),
    DIRECT("optimizer.early_step_in_backward", JOB_SWITCH, "optimizer.in_backward", NULL, NULL,
           OLD),
    RULE("optimizer.state_dtype", JOB_VALUE, "precision.moments",
         "as training.dtype unless given", OLD),
    RULE("primus_turbo.enable_primus_turbo", JOB_SWITCH, "precision.compute",
         "Primus: true unless given", TURBO),
    RULE("primus_turbo.use_turbo_float8_linear", JOB_SWITCH, "precision.compute",
         "Primus: true unless given, fp8", TURBO),
    RULE("debug.moe_force_load_balance training.debug_moe_force_load_balance", JOB_SWITCH,
         "moe.routing.distribution", "uniform", OLD),
    RULE("activation_checkpoint.memory_budget", JOB_VALUE, "recompute.layers",
         "0.5 unless given; with mode memory_budget the share of layers that keep all", SAVED),
    RULE("quantize.linear.float8.recipe_name", JOB_VALUE, "precision.compute",
         "with converter float8", OLD),
    RULE("parallelism.disable_loss_parallel", JOB_SWITCH, "stack.loss_parallel", "false", OLD),
    TIME("parallelism.enable_async_tensor_parallel experimental.enable_async_tensor_parallel",
         JOB_SWITCH, NULL, NULL, OLD),
    TIME("parallelism.context_parallel_rotate_method", JOB_VALUE, "allgather", NULL, OLD),
    NEITHER("training.steps", JOB_VALUE, OLD),
    NEITHER("training.max_norm", JOB_VALUE, OLD),
    NEITHER("training.dataset", JOB_VALUE, OLD),
    NEITHER("job.dump_folder", JOB_VALUE, OLD),
    NEITHER("job.description", JOB_VALUE, OLD),
    NEITHER("optimizer.lr", JOB_VALUE, OLD),
    NEITHER("optimizer.eps", JOB_VALUE, OLD),
    NEITHER("lr_scheduler.warmup_steps", JOB_VALUE, OLD),
    RULE("checkpoint.enable checkpoint.enable_checkpoint", JOB_SWITCH,
         "workload.async_checkpoint", "with checkpoint.async_mode", OLD),
    RULE("checkpoint.async_mode", JOB_VALUE, "workload.async_checkpoint",
         "async, async_with_pinned_mem: true; disabled unless given", OLD),
    NEITHER("checkpoint.folder", JOB_VALUE, OLD),
    NEITHER("checkpoint.interval", JOB_VALUE, OLD),
    NEITHER("metrics.log_freq", JOB_VALUE, OLD),
    NEITHER("metrics.enable_tensorboard", JOB_VALUE, OLD),
    NEITHER("profiling.enable_profiling", JOB_VALUE, OLD),
    NEITHER("profiling.profile_freq", JOB_VALUE, OLD),
    NEITHER("model.hf_assets_path model.tokenizer_path", JOB_VALUE, OLD),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* run_train.sh hands MODULE and CONFIG on as --module and --config. */
static void take_variables(struct job *job)
{
    static const char *const names[][2] = {{"MODULE", "module"}, {"CONFIG", "config"}};
    bool script = false;
    for (size_t i = 0; i < job->command->n; i++)
        script = script || text_ends(job->command->items[i].text, "run_train.sh");
    for (size_t i = 0; script && i < 2; i++) {
        const struct shell_word *word = job_environment_word(job, names[i][0]);
        if (word)
            job_assume(job, names[i][1], word->text, names[i][0]);
    }
}

/* A setting that none is called: the configuration's function was read. */
static const char registry_mark[] = "config: its function";

static bool read_registry(const struct job *job)
{
    for (size_t i = 0; i < job->n_settings; i++)
        if (text_equal(job->settings[i].name, registry_mark))
            return true;
    return false;
}

/* The file of --job.config_file, or of CONFIG_FILE in front of run_train.sh. */
static enum status torchtitan_prepare(struct job *job)
{
    const char *name = NULL;
    TRY(primus_lend(job));
    if (!job->shell)
        return STATUS_OK;
    take_variables(job);
    const char *module = NULL, *config = NULL;
    bool found = false;
    TRY(job_word(job, "module", &module));
    TRY(job_word(job, "config", &config));
    if (module && config)
        TRY(torchtitan_read_registry(job, module, config, &found));
    if (found)
        job_add(job,
                (struct setting){.name = registry_mark, .said = registry_mark, .used = true});
    const struct shell_word *file = job_environment_word(job, "CONFIG_FILE");
    TRY(job_word(job, "job.config_file", &name));
    if (!name && file)
        name = file->text;
    return job_need_file(job, "job.config_file", name, JOB_FILE);
}

/* "--module deepseek_v3 --config deepseek_v3_16b": the flavor is in the function's name. */
static enum status flavor_of_config(struct job *job, const char *name, const char **flavor)
{
    static const char flag[] = "config";
    const char *config = "";
    size_t length = strlen(name);
    TRY(job_word(job, flag, &config));
    if (!text_starts(config, name) || config[length] != '_')
        return STATUS_OK;
    char *upper = arena_strdup(job->arena, config + length + 1);
    for (char *at = upper; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    *flavor = upper;
    return STATUS_OK;
}

static enum status set_model(struct job *job)
{
    const char *name = NULL, *flavor = NULL;
    TRY(job_word(job, "model.name", &name));
    TRY(job_word(job, "model.flavor", &flavor));
    if (draft_find(&job->draft, "model") || !name)
        return STATUS_OK;
    if (!flavor)
        TRY(flavor_of_config(job, name, &flavor));
    if (!flavor && strchr(name, '/')) {
        job_fail(job, "model.name",
                 "'%s' is a model of the hub, of which no configuration of torchtitan is",
                 name);
        return err_hint(job->err,
                        "prime-rl's TOML names such a model, and is not read: describe "
                        "the job as a plan, with stack torchtitan");
    }
    if (!flavor) {
        job_fail(job, "model.name", "'%s' without its flavor is no model", name);
        return err_hint(job->err, "a Python configuration is not read: name the model, as in "
                                  "--set model=deepseek-v3");
    }
    const char *both = arena_printf(job->arena, "%s %s", name, flavor);
    const char *model = model_name_from(NAMES_TORCHTITAN, both, job->arena);
    if (model) {
        job_set(job, "model", model, "model.flavor config");
        return STATUS_OK;
    }
    job_fail(job, "model.flavor", "torchtitan's model '%s' is not among moeplan's", both);
    return err_hint(job->err, "name one, as in --set model=deepseek-v3, or a model file");
}

static enum status set_zero(struct job *job)
{
    static const char replicates[] = "parallelism.data_parallel_replicate_degree";
    double shard = -1;
    uint64_t copies = 1, world;
    TRY(job_real(job, "parallelism.data_parallel_shard_degree", &shard));
    TRY(job_count(job, replicates, &copies));
    TRY(job_world(job, &world));
    job_set(job, "parallel.zero", shard == 1 ? "0" : "3",
            "parallelism.data_parallel_shard_degree");
    if (copies <= 1 || shard == 1)
        return STATUS_OK;
    uint64_t others = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.pp", 1) *
                      job_drafted(job, "parallel.cp", 1);
    uint64_t dp = others && world ? world / others : 0;
    if (shard > 1)
        job_set_count(job, "parallel.dp_shard", (uint64_t)shard,
                      "parallelism.data_parallel_shard_degree");
    else if (dp && dp % copies == 0)
        job_set_count(job, "parallel.dp_shard", dp / copies, replicates);
    else
        job_warn(job, job_setting(job, replicates)->mark,
                 "%" PRIu64 " copies matter to memory, and how many ranks share one is not "
                 "known: all do here",
                 copies);
    return STATUS_OK;
}

/* Layers of each stage: the embedding and the output stand for so many layers, what is left
 * over goes to the first stages; two stages a rank under schedules of several
 * (generate_llm_fqn_per_model_part). Stages that a V folds back on the ranks are left even. */
static enum status set_stages(struct job *job, uint64_t pp, uint64_t layers)
{
    static const char each_flag[] = "parallelism.pipeline_parallel_layers_per_stage";
    const struct draft_item *schedule = draft_find(&job->draft, "parallel.schedule");
    bool several = text_equal(schedule->words[0], "interleaved");
    bool one =
        text_equal(schedule->words[0], "1f1b") || text_equal(schedule->words[0], "gpipe");
    uint64_t first = 1, last = 1, each = 0;
    TRY(job_count(job, "parallelism.pipeline_parallel_first_stage_less_layers", &first));
    TRY(job_count(job, "parallelism.pipeline_parallel_last_stage_less_layers", &last));
    TRY(job_count(job, each_flag, &each));
    if (pp < 2 || !layers || (!several && !one) || first > layers || last > layers)
        return STATUS_OK;
    uint64_t effective = layers + first + last, n = several ? 2 * pp : pp;
    if (each)
        n = (effective + each - 1) / each;
    if (n % pp != 0 || (one && n != pp))
        return job_fail(job, each_flag,
                        "%" PRIu64 " layers a stage make %" PRIu64 " stages for %" PRIu64
                        " pipeline ranks",
                        each, n, pp);
    if (!first && !last && layers % n == 0)
        n = n > pp ? n : 0; /* as a plan splits them */
    if (n == 0 || n > PLAN_LIST || effective / n < first + 1 || effective / n < last + 1)
        return STATUS_OK;
    const char **stages = arena_alloc(job->arena, n, sizeof *stages);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t own = effective / n + (i < effective % n);
        own -= (i == 0 ? first : 0) + (i + 1 == n ? last : 0);
        stages[i] = arena_printf(job->arena, "%" PRIu64, own);
    }
    draft_set_list(&job->draft, "parallel.stages", stages, n, (struct mark){0},
                   "first and last stage less layers");
    if (n > pp)
        job_set_count(job, "parallel.vpp", n / pp,
                      "parallelism.pipeline_parallel_layers_per_stage "
                      "parallelism.pipeline_parallel_schedule");
    return STATUS_OK;
}

/* Layers that a part lists: "tok_embeddings,layers.0,layers.1". */
static uint64_t layers_listed(const char *part)
{
    uint64_t n = 0;
    for (const char *at = strstr(part, "layers."); at; at = strstr(at + 1, "layers."))
        n += at[strlen("layers.")] >= '0' && at[strlen("layers.")] <= '9';
    return n;
}

/* Parts as they are listed, one after the other over the ranks; those of a schedule whose
 * second half runs back over them are left even. */
static enum status set_parts(struct job *job, uint64_t pp, bool *set)
{
    static const char flag[] = "parallelism.module_fqns_per_model_part";
    const struct draft_item *schedule = draft_find(&job->draft, "parallel.schedule");
    const struct setting *s = job_setting(job, flag);
    *set = s && !s->trouble && s->n > 0 && pp > 1;
    if (!*set)
        return STATUS_OK;
    if (text_equal(schedule->words[0], "zero_bubble") ||
        text_equal(schedule->words[0], "dualpipe")) {
        job_warn(job, s->mark,
                 "%s matters to memory and is not modelled where the schedule runs back over "
                 "the ranks: stages are even",
                 flag);
        *set = false;
        return STATUS_OK;
    }
    if (s->n % pp != 0 || s->n > PLAN_LIST)
        return job_fail(job, flag, "%zu parts for %" PRIu64 " pipeline ranks", s->n, pp);
    const char **stages = arena_alloc(job->arena, s->n, sizeof *stages);
    for (size_t i = 0; i < s->n; i++)
        stages[i] = arena_printf(job->arena, "%" PRIu64, layers_listed(s->values[i]));
    job_set_list(job, "parallel.stages", stages, s->n, flag);
    if (s->n > pp)
        job_set_count(job, "parallel.vpp", s->n / pp, flag);
    return STATUS_OK;
}

static enum status set_layout(struct job *job)
{
    uint64_t tp = job_drafted(job, "parallel.tp", 1), pp = job_drafted(job, "parallel.pp", 1);
    uint64_t ep = job_drafted(job, "parallel.ep", 1), etp = 1;
    uint64_t layers;
    bool listed;
    TRY(job_layers(job, &layers));
    if (job_given(job, "parallelism.pipeline_parallel_schedule_csv"))
        return job_fail(job, "parallelism.pipeline_parallel_schedule_csv",
                        "a schedule of its own is not modelled");
    TRY(job_count(job, "parallelism.expert_tensor_parallel_degree", &etp));
    job_set_count(job, "parallel.etp", ep == 1 ? tp : etp,
                  "parallelism.expert_tensor_parallel_degree");
    bool sequences = true;
    TRY(job_switch(job, "parallelism.enable_sequence_parallel", &sequences));
    if (tp > 1)
        job_set(job, "parallel.sp", sequences ? "true" : "false",
                "parallelism.enable_sequence_parallel parallelism.tensor_parallel_degree");
    TRY(set_parts(job, pp, &listed));
    if (!listed)
        TRY(set_stages(job, pp, layers));
    return set_zero(job);
}

static enum status set_batch(struct job *job)
{
    uint64_t local = 8, piece = 1, tokens = 0, pp = job_drafted(job, "parallel.pp", 1), world;
    uint64_t length = job_drafted(job, "workload.sequence_length", 2048);
    int64_t global = -1, step = -1;
    TRY(job_count(job, "training.local_batch_size", &local));
    TRY(job_count(job, "parallelism.pipeline_parallel_microbatch_size", &piece));
    TRY(job_integer(job, "training.global_batch_size", &global));
    TRY(job_count(job, "training.num_tokens_per_microbatch_per_dp_rank", &tokens));
    TRY(job_integer(job, "training.num_tokens_per_train_step", &step));
    TRY(job_world(job, &world));
    uint64_t model =
        pp * job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.cp", 1);
    if (tokens && length)
        local = tokens / length;
    job_set_count(job, "workload.micro_batch", pp > 1 ? piece : local,
                  "training.local_batch_size training.num_tokens_per_microbatch_per_dp_rank "
                  "parallelism.pipeline_parallel_microbatch_size");
    if (global > 0)
        job_set_count(job, "workload.global_batch", (uint64_t)global,
                      "training.global_batch_size");
    else if (pp > 1 && world && model && local < 1000000000)
        job_set_count(job, "workload.global_batch", local * (world / model),
                      "training.local_batch_size");
    if (step > 0)
        job_set_count(job, "workload.tokens_per_step", (uint64_t)step,
                      "training.num_tokens_per_train_step");
    return STATUS_OK;
}

/* What the compiler may keep of each layer, from the layer's inputs at 0 to all that it would
 * at 1 (PyTorch torch/_functorch/partitioners.py, choose_saved_values_set: get_mem_ratio): as
 * much, together, as so many whole layers keep. */
static enum status set_budget(struct job *job)
{
    static const char flag[] = "activation_checkpoint.memory_budget";
    double budget = 0.5;
    uint64_t layers = 0,
             chunks = job_drafted(job, "parallel.pp", 1) * job_drafted(job, "parallel.vpp", 1);
    TRY(job_real(job, flag, &budget));
    TRY(job_layers(job, &layers));
    if (!(budget >= 0 && budget <= 1))
        return job_fail(job, flag, "%g is no share from 0 to 1", budget);
    if (!layers && budget < 1)
        job_warn(job, job_setting(job, "activation_checkpoint.mode")->mark,
                 "a memory_budget matters to memory, and the layers of the model are not "
                 "known: all keep what they save");
    uint64_t of_stage = chunks ? (layers + chunks - 1) / chunks : 0,
             again = (uint64_t)((1 - budget) * (double)of_stage + 0.5);
    job_set(job, "recompute.kind", again ? "full" : "none", "activation_checkpoint.mode");
    if (again && again < of_stage)
        job_set_count(job, "recompute.layers", again, flag);
    return STATUS_OK;
}

static enum status set_recompute(struct job *job)
{
    const char *mode = "selective", *option = "2";
    TRY(job_word(job, "activation_checkpoint.mode", &mode));
    TRY(job_word(job, "activation_checkpoint.selective_ac_option", &option));
    if (text_equal(mode, "memory_budget"))
        return set_budget(job);
    bool known =
        text_equal(mode, "none") || text_equal(mode, "full") || text_equal(mode, "selective");
    if (!known)
        job_warn(job, job_setting(job, "activation_checkpoint.mode")->mark,
                 "activation_checkpoint.mode '%s' matters to memory and is not modelled: "
                 "selective op stands in",
                 mode);
    job_set(job, "recompute.kind", known ? mode : "selective", "activation_checkpoint.mode");
    if (!known || text_equal(mode, "selective")) {
        option = known ? option : "op";
        job_set_list(job, "recompute.modules", &option, 1,
                     "activation_checkpoint.selective_ac_option");
    }
    return STATUS_OK;
}

static bool lists(const struct setting *s, const char *word)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (strstr(s->values[i], word))
            return true;
    return false;
}

static enum status set_formats(struct job *job)
{
    const char *param = "bfloat16";
    bool compiled = false;
    TRY(job_word(job, "training.mixed_precision_param", &param));
    const char *dtype = job_convert(job, "float32=f32 bfloat16=bf16", param);
    if (!dtype)
        return job_fail(job, "training.mixed_precision_param", "'%s' is no format", param);
    job_set_rows(job, dtype, "training.mixed_precision_param");
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    const char *state = NULL;
    TRY(job_word(job, "optimizer.state_dtype", &state));
    const char *moments = state ? job_convert(job, "float32=f32 bfloat16=bf16", state) : NULL;
    if (state && !moments)
        return job_fail(job, "optimizer.state_dtype", "'%s' is no format", state);
    job_set(job, "precision.moments", moments ? moments : weights->words[0],
            moments ? "optimizer.state_dtype" : "training.dtype");
    job_set(job, "precision.master", "none", "");
    const struct setting *converters = job_setting(job, "model.converters");
    bool fp8 = lists(converters, "float8") || lists(converters, "mx");
    TRY(job_switch(job, "float8.enable_float8_linear", &fp8));
    job_set(job, "precision.compute",
            fp8                        ? "fp8"
            : text_equal(dtype, "f32") ? "f32"
                                       : "bf16",
            fp8 ? "model.converters float8.enable_float8_linear"
                : "training.mixed_precision_param");
    TRY(job_switch(job, "compile.enable", &compiled));
    const struct setting *components = job_setting(job, "compile.components");
    if (compiled && (!components || lists(components, "model")))
        job_set(job, "stack.compiled", "true", "compile.enable");
    return STATUS_OK;
}

static enum status set_checkpoint(struct job *job)
{
    const char *mode = "disabled";
    bool writes = false;
    TRY(job_switch(job, "checkpoint.enable", &writes));
    TRY(job_word(job, "checkpoint.async_mode", &mode));
    if (writes && !text_equal(mode, "disabled"))
        job_set(job, "workload.async_checkpoint", "true", "checkpoint.async_mode");
    return STATUS_OK;
}

static enum status set_optimizer(struct job *job)
{
    const char *step = "fused";
    bool balanced = false, offload = false;
    TRY(job_switch(job, "training.enable_cpu_offload", &offload));
    if (offload) {
        job_set(job, "optimizer.offload", "1", "training.enable_cpu_offload");
        job_set(job, "optimizer.offload_params", "true", "training.enable_cpu_offload");
    }
    TRY(job_word(job, "optimizer.implementation", &step));
    TRY(job_switch(job, "debug.moe_force_load_balance", &balanced));
    if (balanced)
        job_set(job, "moe.routing.distribution", "uniform", "debug.moe_force_load_balance");
    if (text_equal(step, "foreach"))
        job_set(job, "optimizer.step", "foreach", "optimizer.implementation");
    return job_set_optimizer(job, "optimizer.name", "Adam=adam AdamW=adam");
}

static enum status set_loss(struct job *job)
{
    bool chunked = false, eager = true, compiled = false;
    const struct setting *components = job_setting(job, "compile.components");
    TRY(job_switch(job, "loss.chunked", &chunked));
    TRY(job_switch(job, "compile.enable", &compiled));
    TRY(job_switch(job, "training.disable_cuda_graphs", &eager));
    if (chunked)
        job_set(job, "stack.cross_entropy", "chunked", "loss.chunked");
    else if (compiled && lists(components, "loss") && !lists(components, "model"))
        job_set(job, "stack.cross_entropy", "f32", "compile.components"); /* as of both */
    uint64_t chunks = 8;
    TRY(job_count(job, "loss.num_chunks", &chunks));
    if (chunked)
        job_set_count(job, "stack.loss_chunks", chunks, "loss.num_chunks loss.chunked");
    if (!eager)
        job_set(job, "stack.graphs", "full", "training.disable_cuda_graphs");
    return STATUS_OK;
}

static enum status torchtitan_finish(struct job *job)
{
    const char *backend = "";
    bool whole = false;
    job_set(job, "workload.mode", "train", "");
    TRY(set_model(job));
    TRY(set_layout(job));
    TRY(set_batch(job));
    TRY(set_recompute(job));
    TRY(set_optimizer(job));
    TRY(set_checkpoint(job));
    TRY(job_word(job, "parallelism.expert_parallel_comm_backend", &backend));
    TRY(job_switch(job, "parallelism.disable_loss_parallel", &whole));
    if (whole)
        job_set(job, "stack.loss_parallel", "false", "parallelism.disable_loss_parallel");
    if (text_equal(backend, "hybridep"))
        job_set(job, "moe.library", "hybrid_ep", "parallelism.expert_parallel_comm_backend");
    TRY(set_loss(job));
    if (job_given(job, "config") && !read_registry(job))
        job_warn(job, job_setting(job, "config")->mark,
                 "the configuration is a Python function, which is not read: what it sets is "
                 "missing");
    return set_formats(job);
}

const struct job_framework job_torchtitan = {
    .name = "torchtitan",
    .title = "a torchtitan job",
    .stack = "torchtitan",
    .source = "pytorch/torchtitan 238fa9953e4a, b5bcd76c66d0",
    .syntax = JOB_DASHES,
    .sections = PRIMUS_SECTIONS,
    .claims = primus_of_torchtitan,
    .flags = flags,
    .n_flags = &n_flags,
    .prepare = torchtitan_prepare,
    .finish = torchtitan_finish,
    .write = torchtitan_write,
    .write_flag = torchtitan_write_line,
    .launch = "job.toml",
    .names = NAMES_TORCHTITAN,
    .toml = true,
    .python = torchtitan_read_python,
    .python_is = torchtitan_is_python,
    .per_node = "NGPU",
    .trains = true,
};
