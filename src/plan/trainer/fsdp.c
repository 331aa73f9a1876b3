/* HuggingFace's Trainer or Accelerate on PyTorch's FSDP: accelerate launch --use_fsdp,
 * Accelerate's YAML file, the trainer's --fsdp and --fsdp_config. Read at
 * huggingface/accelerate 16cb6eb8 and transformers 00349ae8. Plans are of FSDP2; of FSDP1 they
 * differ by its flat parameters. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "plan/derive.h"
#include "plan/trainer/trainer.h"
#include "plan/schema/schema.h"

#define FSDP "accelerate src/accelerate/utils/dataclasses.py"
#define PARALLEL "accelerate src/accelerate/parallelism_config.py"

static const struct job_flag flags[] = {
    RULE("fsdp_version version", JOB_VALUE, NULL, "2; 1, which is the default, warns", FSDP),
    RULE("fsdp_sharding_strategy sharding_strategy", JOB_VALUE, "parallel.zero",
         "version 1: FULL_SHARD 3; SHARD_GRAD_OP 3, kept gathered; NO_SHARD 0; HYBRID_* in a "
         "node",
         FSDP),
    RULE("fsdp_reshard_after_forward reshard_after_forward", JOB_VALUE, "parallel.reshard",
         "true: always, false: never; version 1: a strategy", FSDP),
    RULE("fsdp", JOB_LIST, "parallel.zero", "the trainer's: full_shard, .., offload", TRAINER),
    RULE("fsdp_config", JOB_JSON, NULL, "the trainer's: a file or a mapping", TRAINER),
    RULE("fsdp_offload_params offload_params cpu_offload", JOB_VALUE, "optimizer.offload",
         "true: 1, and optimizer.offload_params", FSDP),
    RULE("fsdp_activation_checkpointing activation_checkpointing", JOB_VALUE, "recompute.kind",
         "full", FSDP),
    RULE("fsdp_activation_checkpointing_offload activation_checkpointing_offload", JOB_VALUE,
         "recompute.offload", "layer_input", FSDP),
    RULE("fsdp_auto_wrap_policy auto_wrap_policy", JOB_VALUE, NULL,
         "TRANSFORMER_BASED_WRAP: layers are gathered one by one; others warn", FSDP),
    RULE("fsdp_backward_prefetch fsdp_backward_prefetch_policy backward_prefetch", JOB_VALUE,
         "parallel.prefetch",
         "of version 1, 2 does not read it: BACKWARD_PRE, _POST, NO_PREFETCH", FSDP),
    MEMORY("fsdp_ignored_modules ignored_modules", JOB_VALUE, NULL,
           "every layer is shared out: an expression names modules as the code has them", FSDP),
    TIME("fsdp_forward_prefetch forward_prefetch", JOB_VALUE, "false", NULL, FSDP),
    NEITHER("fsdp_transformer_layer_cls_to_wrap transformer_layer_cls_to_wrap", JOB_LIST, FSDP),
    NEITHER("fsdp_min_num_params min_num_params", JOB_VALUE, FSDP),
    NEITHER("fsdp_state_dict_type state_dict_type", JOB_VALUE, FSDP),
    NEITHER("fsdp_cpu_ram_efficient_loading cpu_ram_efficient_loading", JOB_VALUE, FSDP),
    NEITHER("fsdp_sync_module_states sync_module_states", JOB_VALUE, FSDP),
    NEITHER("fsdp_use_orig_params use_orig_params", JOB_VALUE, FSDP),
    NEITHER("limit_all_gathers", JOB_VALUE, FSDP),
    NEITHER("use_fsdp", JOB_SWITCH, ACCELERATE),
    IDLE("multi_gpu", JOB_SWITCH, "every rank has all of it", ACCELERATE),
    NEITHER("use_parallelism_config", JOB_SWITCH, ACCELERATE),
    RULE("parallelism_config_dp_replicate_size dp_replicate_size", JOB_VALUE,
         "parallel.dp_shard", "dp / copies", PARALLEL),
    RULE("parallelism_config_dp_shard_size dp_shard_size", JOB_VALUE, "parallel.dp_shard",
         "where there are copies", PARALLEL),
    DIRECT("parallelism_config_tp_size tp_size", JOB_VALUE, "parallel.tp", NULL, "1", PARALLEL),
    DIRECT("parallelism_config_cp_size cp_size", JOB_VALUE, "parallel.cp", NULL, "1", PARALLEL),
    RULE("gradient_accumulation_steps", JOB_VALUE, "workload.global_batch",
         "micro x steps x dp", TRAINER),
    RULE("torch_dtype dtype model_dtype", JOB_VALUE, "precision.weights",
         "as the model is loaded: without mixed precision, and of what adapters leave frozen",
         PEFT),
    TRAINER_ROWS,
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static enum status fsdp_prepare(struct job *job)
{
    TRY(trainer_prepare(job, &job_fsdp));
    trainer_count_visible(job);
    return job_flag_file(job, "fsdp_config", JOB_FILE + 1);
}

/* ---- what is shared out ---- */

struct strategy {
    const char *name, *number; /* of FSDP1 (constants.py, FSDP_SHARDING_STRATEGY) */
    const char *zero, *reshard;
    bool hybrid; /* shared out inside a node, copied across */
};

static const struct strategy strategies[] = {
    {"FULL_SHARD", "1", "3", "always", false},
    {"SHARD_GRAD_OP", "2", "3", "never", false},
    {"NO_SHARD", "3", "0", "auto", false},
    {"HYBRID_SHARD", "4", "3", "always", true},
    {"HYBRID_SHARD_ZERO2", "5", "3", "never", true},
    {"true", "true", "3", "always", false}, /* FSDP2's reshard_after_forward */
    {"false", "false", "3", "never", false},
};

/* Both versions share all out, and plans drop what was gathered. */
static const struct strategy unsaid = {"", "", "3", "auto", false};

static const struct strategy *find_strategy(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if ((strlen(strategies[i].name) == length &&
             strncasecmp(strategies[i].name, word, length) == 0) ||
            (strlen(strategies[i].number) == length &&
             strncmp(strategies[i].number, word, length) == 0))
            return &strategies[i];
    return NULL;
}

/* "full_shard auto_wrap offload" of the trainer, as one word or as several. */
static const struct strategy *read_words(struct job *job, bool *offload)
{
    const struct setting *s = job_setting(job, "fsdp");
    const struct strategy *found = NULL;
    for (size_t i = 0; s && i < s->n; i++)
        for (const char *at = s->values[i]; *at;) {
            size_t skip = strspn(at, " ,[]'\""), n = strcspn(at + skip, " ,[]'\"");
            const struct strategy *one = n ? find_strategy(at + skip, n) : NULL;
            *offload =
                *offload || (n == strlen("offload") && !strncmp(at + skip, "offload", n));
            found = found ? found : one;
            at += skip + n;
        }
    return found;
}

static const char strategy_flags[] = "fsdp_sharding_strategy fsdp_reshard_after_forward fsdp";

static enum status read_strategy(struct job *job, uint64_t version, bool *offload,
                                 const struct strategy **found)
{
    static const char strategy[] = "fsdp_sharding_strategy",
                      reshard[] = "fsdp_reshard_after_forward";
    const char *word = NULL;
    bool old = version < 2 && job_given(job, strategy);
    const char *flag = old ? strategy : reshard;
    *found = read_words(job, offload);
    TRY(job_word(job, flag, &word));
    if (word)
        *found = find_strategy(word, strlen(word));
    if (word && !*found) {
        job_fail(job, flag, "'%s' is no strategy of sharding", word);
        return err_hint(job->err, "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, "
                                  "HYBRID_SHARD_ZERO2, or true, false of version 2");
    }
    if (!*found)
        *found = &unsaid;
    return STATUS_OK;
}

/* Ranks of a node, as the job starts them or as the cluster named has them; 0: not known. */
static enum status node_ranks(struct job *job, uint64_t *ranks)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known = false;
    *ranks = job->size.per_node;
    if (!*ranks)
        TRY(job_part(job, "cluster", plan, &known));
    if (known)
        *ranks = plan->cluster.node.devices;
    return STATUS_OK;
}

/* Copies: of HYBRID_SHARD one a node, else as the mesh says. */
static enum status set_copies(struct job *job, const struct strategy *strategy, uint64_t model)
{
    static const char copies_flag[] = "parallelism_config_dp_replicate_size",
                      shard_flag[] = "parallelism_config_dp_shard_size";
    uint64_t copies = 1, shard = 0, world, node;
    TRY(job_count(job, copies_flag, &copies));
    TRY(job_count(job, shard_flag, &shard));
    TRY(job_world(job, &world));
    TRY(node_ranks(job, &node));
    uint64_t dp = world && model ? world / model : 0;
    if (strategy->hybrid && copies <= 1)
        shard = model && node > model ? node / model : 1;
    else if (copies <= 1)
        return STATUS_OK;
    else if (!shard && dp && dp % copies == 0)
        shard = dp / copies;
    if (shard && (!dp || shard < dp)) {
        job_set_count(job, "parallel.dp_shard", shard,
                      arena_printf(job->arena, "%s %s", copies_flag, strategy_flags));
        return STATUS_OK;
    }
    if (!shard)
        job_warn(job, job_setting(job, copies_flag)->mark,
                 "%" PRIu64 " copies matter to memory, and how many ranks share one is not "
                 "known: all do here",
                 copies);
    return STATUS_OK;
}

static enum status warn_of_version(struct job *job, uint64_t version)
{
    const char *policy = "TRANSFORMER_BASED_WRAP";
    const struct setting *s = job_setting(job, "fsdp_version");
    if (version != 2)
        job_warn(job, s ? s->mark : job_place(job),
                 "FSDP1, which holds where fsdp_version is not 2, matters to memory and is not "
                 "modelled: FSDP2's buffers stand in");
    TRY(job_word(job, "fsdp_auto_wrap_policy", &policy));
    if (!text_equal(policy, "TRANSFORMER_BASED_WRAP"))
        job_warn(job, job_setting(job, "fsdp_auto_wrap_policy")->mark,
                 "'%s' matters to memory and is not modelled: layers are gathered one by one",
                 policy);
    return STATUS_OK;
}

/* Accelerate's enumeration, by name or by number; FSDP2 fetches ahead whatever it says. */
static enum status set_prefetch(struct job *job, uint64_t version)
{
    static const char flag[] = "fsdp_backward_prefetch";
    static const char words[] = "BACKWARD_PRE=pre BACKWARD_POST=post NO_PREFETCH=none "
                                "backward_pre=pre backward_post=post no_prefetch=none "
                                "1=pre 2=post 3=none None=none null=none";
    const char *word = NULL;
    if (version >= 2)
        return STATUS_OK;
    TRY(job_word(job, flag, &word));
    const char *prefetch = word ? job_convert(job, words, word) : NULL;
    if (word && !prefetch) {
        job_fail(job, flag, "'%s' is no prefetch policy", word);
        return err_hint(job->err, "BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH");
    }
    if (prefetch)
        job_set(job, "parallel.prefetch", prefetch, flag);
    return STATUS_OK;
}

static enum status set_sharding(struct job *job, uint64_t *ranks)
{
    static const char each_flag[] =
        "accelerator_config.gradient_accumulation_kwargs.sync_each_batch";
    uint64_t version = 1;
    bool offload = false, each = false;
    const struct strategy *strategy;
    TRY(job_count(job, "fsdp_version", &version));
    TRY(read_strategy(job, version, &offload, &strategy));
    TRY(warn_of_version(job, version));
    TRY(set_prefetch(job, version));
    job_set(job, "parallel.zero", strategy->zero, strategy_flags);
    job_set(job, "parallel.reshard", strategy->reshard, strategy_flags);
    TRY(job_switch(job, each_flag, &each));
    if (each) /* else they wait, whole: transformers trainer.py */
        job_set(job, "precision.accumulated", "none", each_flag);
    TRY(job_switch(job, "fsdp_offload_params", &offload));
    if (offload) {
        job_set(job, "optimizer.offload", "1", "fsdp_offload_params fsdp");
        job_set(job, "optimizer.offload_params", "true", "fsdp_offload_params fsdp");
    }
    uint64_t tp = job_drafted(job, "parallel.tp", 1), cp = job_drafted(job, "parallel.cp", 1);
    job_set_count(job, "parallel.etp", tp, "parallelism_config_tp_size");
    *ranks = tp < 1000000 && cp < 1000000 ? tp * cp : 0;
    return set_copies(job, strategy, *ranks);
}

/* ---- formats ---- */

static const char dtypes[] = "float32=f32 fp32=f32 bfloat16=bf16 bf16=bf16 float16=f16 "
                             "fp16=f16 auto=bf16";
static const char mixtures[] = "bf16=bf16 fp16=f16 fp8=bf16";

/* axolotl has its own fsdp2_prepare_model, which raises nothing to f32 (monkeypatch/accelerate/
 * fsdp2.py 02730757918; loaders/patch_manager.py puts it in Accelerate's place). */
static enum status keeps_format(struct job *job, bool *keeps)
{
    uint64_t version = 1;
    TRY(job_count(job, "fsdp_version", &version));
    *keeps = job->framework == &job_axolotl && version == 2;
    return STATUS_OK;
}

/* Under mixed precision FSDP keeps what is trained in f32 and gathers it in 16 bits
 * (fsdp_utils.py, fsdp2_prepare_model); otherwise everything is as it was loaded. */
static enum status set_formats(struct job *job, bool upcasts)
{
    static const char names[] = "mixed_precision bf16 fp16", loaded_flag[] = "torch_dtype";
    const char *mixed = "no", *loaded = "float32";
    bool bf16 = false, fp16 = false, keeps;
    TRY(job_switch(job, "bf16", &bf16));
    TRY(job_switch(job, "fp16", &fp16));
    TRY(job_word(job, "mixed_precision", &mixed));
    TRY(job_word(job, loaded_flag, &loaded));
    TRY(keeps_format(job, &keeps));
    if (bf16 && fp16)
        return job_fail(job, "fp16", "bf16 and fp16 exclude each other");
    const char *format = job_convert(job, dtypes, loaded);
    if (!format)
        return job_fail(job, loaded_flag, "'%s' is no format a plan has", loaded);
    if (text_equal(mixed, "fp8"))
        job_warn(job, job_setting(job, "mixed_precision")->mark,
                 "mixed precision in fp8 matters to memory and time and is not modelled: bf16 "
                 "stands in");
    const char *half = bf16 ? "bf16" : fp16 ? "f16" : job_convert(job, mixtures, mixed);
    TRY(trainer_set_smoothing(job, half || text_equal(format, "f32")));
    bool raised = half && upcasts && !keeps && !draft_find(&job->draft, "lora.rank");
    const char *state = raised ? "f32" : format, *rows = half ? half : format;
    job_set(job, "precision.weights", state, raised ? names : loaded_flag);
    job_set(job, "precision.gradients", state, half ? names : loaded_flag);
    job_set(job, "precision.moments", state, half ? names : loaded_flag);
    job_set(job, "precision.master", "none", "");
    job_set_rows(job, rows, half ? names : loaded_flag);
    job_set(job, "precision.compute", text_equal(rows, "f32") ? "f32" : "bf16",
            half ? names : loaded_flag);
    return STATUS_OK;
}

/* Every rank has all of it (torch's DistributedDataParallel). */
static enum status set_whole(struct job *job, uint64_t *ranks)
{
    uint64_t tp = job_drafted(job, "parallel.tp", 1), cp = job_drafted(job, "parallel.cp", 1);
    job_set(job, "parallel.zero", "0", "");
    job_set_count(job, "parallel.etp", tp, "parallelism_config_tp_size");
    *ranks = tp < 1000000 && cp < 1000000 ? tp * cp : 0;
    return STATUS_OK;
}

enum status fsdp_share(struct job *job, bool shards)
{
    uint64_t ranks;
    static const char offload[] = "fsdp_activation_checkpointing_offload";
    bool checkpoints = false, moved = false;
    const char *optimizer = "";
    job_set(job, "workload.mode", "train", "");
    TRY(shards ? set_sharding(job, &ranks) : set_whole(job, &ranks));
    TRY(trainer_set_batch(job, NULL, NULL, ranks));
    TRY(job_switch(job, "fsdp_activation_checkpointing", &checkpoints));
    TRY(job_switch(job, offload, &moved));
    if (moved && checkpoints)
        trainer_offload(job, offload);
    TRY(trainer_finish(job, checkpoints, NULL));
    TRY(job_word(job, "optim", &optimizer));
    if (text_equal(optimizer, "adamw_torch")) /* torch.optim.AdamW's own choice on devices */
        job_set(job, "optimizer.step", "foreach", "optim");
    TRY(set_formats(job, shards));
    TRY(trainer_set_states(job));
    return trainer_set_base(job);
}

/* A file of settings is FSDP's by itself; a launch is where a flag or a file says so. */
static enum status fsdp_finish(struct job *job)
{
    const char *kind = "";
    TRY(job_word(job, "distributed_type", &kind));
    bool told = kind[0] || job->shell;
    return fsdp_share(job, !told || trainer_sharer(job) == TRAINER_FSDP);
}

/* ---- a plan as a launch ---- */

static void write_sharding(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    uint64_t copies = p->dp_shard ? plan_dp(plan) / p->dp_shard : 1;
    writer_flag(writer, "fsdp_config.fsdp_version", "2");
    writer_flag(writer, "fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    if (p->reshard != RESHARD_AUTO)
        writer_flag(writer, "fsdp_config.fsdp_reshard_after_forward",
                    p->reshard == RESHARD_NEVER ? "false" : "true");
    if (plan->optimizer.offload == 1 && plan->optimizer.offload_params)
        writer_flag(writer, "fsdp_config.fsdp_offload_params", "true");
    if (copies > 1)
        writer_count(writer, "parallelism_config.parallelism_config_dp_replicate_size", copies);
}

/* Its file has the mesh in a group of its own. */
static void write_setting(struct job_writer *writer, const char *name, const char *value)
{
    bool mesh = text_starts(name, "parallelism_config_");
    trainer_write_flag(writer,
                       mesh ? arena_printf(writer->arena, "parallelism_config.%s", name) : name,
                       value);
}

static void write_formats(struct job_writer *writer)
{
    const struct precision *p = &writer->plan->precision;
    bool mixed = p->weights == DTYPE_F32 || writer->plan->lora.rank;
    const char *half =
        mixed ? writer_word(writer, mixtures, words_dtype[p->activations]) : NULL;
    const char *loaded = writer_word(writer, dtypes, words_dtype[p->weights]);
    writer_flag(writer, "mixed_precision", half ? half : "no");
    if (loaded && (writer->plan->lora.rank || !half))
        writer_flag(writer, "torch_dtype", loaded);
}

static enum status fsdp_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    TRY(trainer_write_refuse(writer));
    writer_flag(writer, "distributed_type", job_fsdp.kind);
    writer_count(writer, "num_machines", plan->cluster.nodes);
    writer_count(writer, "num_processes", plan_world(plan));
    write_sharding(writer);
    write_formats(writer);
    writer_count(writer, "per_device_train_batch_size", plan->workload.micro_batch);
    uint64_t step = plan->workload.micro_batch * plan_dp(plan);
    if (plan->workload.global_batch && step && plan->workload.global_batch % step == 0)
        writer_count(writer, "gradient_accumulation_steps", plan->workload.global_batch / step);
    if (plan->precision.accumulated == ACCUMULATED_NONE && plan->parallel.zero >= 3)
        writer_flag(writer, "accelerator_config",
                    "'{\"gradient_accumulation_kwargs\": {\"sync_each_batch\": true}}'");
    trainer_write_optimizer(writer);
    static const struct trainer_launch launch = {
        .launcher = "accelerate launch", .file = "accelerate.yaml", .flag = "config_file"};
    trainer_write(writer, &launch);
    return STATUS_OK;
}

const struct job_framework job_fsdp = {
    .name = "fsdp",
    .title = "an FSDP job of Accelerate or the Trainer",
    .stack = "fsdp",
    .source = "huggingface/accelerate 16cb6eb8, transformers 00349ae8",
    .syntax = JOB_DASHES,
    .sections = "fsdp_config. parallelism_config.",
    .flags = flags,
    .n_flags = &n_flags,
    .wrapped = true,
    .prepare = fsdp_prepare,
    .finish = fsdp_finish,
    .write = fsdp_write,
    .write_flag = write_setting,
    .names = NAMES_HUB,
    .files = true,
    .own = FSDP,
    .kind_key = "distributed_type",
    .kind = "FSDP",
    .kinds = "MULTI_GPU NO",
    .trains = true,
};
