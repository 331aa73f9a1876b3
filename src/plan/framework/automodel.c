/* NeMo AutoModel: YAML recipes on PyTorch's FSDP2. Models with a backend of its own (grouped
 * experts, DeepEP, TransformerEngine's products) are planned as torchtitan's layer, which they
 * are shared out as; HuggingFace's own as stack fsdp. Read at NVIDIA-NeMo/Automodel
 * 005f66393ab8 (components/moe/parallelizer.py), 05656796c1c9 (distributed/fsdp2.py),
 * 03bd7a9b6a3b (_peft/lora.py). */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/automodel.h"
#include "plan/framework/packed.h"
#include "plan/framework/frozen_names.h"

/* "H100:8" of SkyPilot's section: what a node has of which device. */
static enum status read_accelerators(struct job *job)
{
    static const char flag[] = "skypilot.accelerators";
    const char *text = NULL;
    TRY(job_word(job, flag, &text));
    if (!text)
        return STATUS_OK;
    const size_t length = strcspn(text, ":");
    const char *name = device_name_from(arena_strndup(job->arena, text, length), job->arena);
    if (!text[length] || !shell_count(text + length + 1, &job->size.per_node))
        job->size.per_node = 1;
    if (!job->size.nodes)
        job->size.nodes = 1;
    if (name)
        job_set(job, "cluster", name, flag);
    return STATUS_OK;
}

/* A recipe's own sections say how large it is, where its launch does not. */
static enum status read_sections(struct job *job)
{
    static const char *const nodes[] = {"benchmark.num_nodes", "slurm.nodes",
                                        "skypilot.num_nodes", "ci.nodes"};
    static const char *const devices[] = {"slurm.ntasks_per_node", "ci.nproc_per_node"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes && !job->size.nodes; i++)
        TRY(job_count(job, nodes[i], &job->size.nodes));
    for (size_t i = 0; i < sizeof devices / sizeof *devices && !job->size.per_node; i++)
        TRY(job_count(job, devices[i], &job->size.per_node));
    return read_accelerators(job);
}

/* Ranks of a layout whose data-parallel degree is a number: without it, those that the launch
 * starts (components/distributed/mesh_utils.py, _infer_dp_size). */
static enum status read_axes(struct job *job)
{
    static const char *const flags[] = {"distributed.dp_size", "distributed.tp_size",
                                        "distributed.cp_size", "distributed.pp_size"};
    const char *word = "";
    uint64_t world = 1;
    bool overflow = false;
    TRY(job_word(job, flags[0], &word));
    if (!isdigit((unsigned char)word[0]))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        uint64_t degree = 1;
        TRY(job_count(job, flags[i], &degree));
        world = checked_mul(world, degree, &overflow);
    }
    if (!overflow && world)
        job->axes = (struct job_size){.nodes = 1, .per_node = world};
    return STATUS_OK;
}

static enum status automodel_prepare(struct job *job)
{
    if (job->shell)
        TRY(job_flag_file(job, "config", JOB_FILE));
    const char *file = job->shell && job->n_words ? job->words[0].text : "";
    if (file[0] != '-' && text_ends(file, ".yaml")) /* automodel FILE.yaml */
        TRY(job_need_file(job, "config", file, JOB_FILE));
    TRY(read_axes(job));
    return job->size.nodes || job->size.world ? STATUS_OK : read_sections(job);
}

/* ---- the model ---- */

/* The name behind the last dot of a class, "" where it is not given. */
static enum status class_of(struct job *job, const char *flag, const char **name)
{
    const char *path = "";
    TRY(job_word(job, flag, &path));
    const char *dot = strrchr(path, '.');
    *name = dot ? dot + 1 : path;
    return STATUS_OK;
}

static bool has_backend(struct job *job)
{
    static const char *const rows[] = {"model.backend._target_", "model.backend.dispatcher",
                                       "model.backend.enable_deepep", "model.backend.attn",
                                       "model.backend.experts"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (job_given(job, rows[i]))
            return true;
    return job_drafted(job, "parallel.ep", 1) > 1 || job_drafted(job, "parallel.pp", 1) > 1;
}

/* What a recipe changes of a checkpoint's configuration, "model.config.num_hidden_layers": its
 * layers, and sizes that are not read. */
static enum status read_changes(struct job *job)
{
    static const char layers_flag[] = "model.config.num_hidden_layers";
    static const char *const sizes[] = {".hidden_size",           ".intermediate_size",
                                        ".moe_intermediate_size", ".num_attention_heads",
                                        ".num_key_value_heads",   ".vocab_size",
                                        ".num_experts",           ".n_routed_experts",
                                        ".num_local_experts",     ".num_experts_per_tok"};
    uint64_t layers = 0;
    TRY(job_count(job, layers_flag, &layers));
    if (layers)
        job_set_count(job, "model.layers", layers, layers_flag);
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            if (!text_starts(s->name, "model.") || !text_ends(s->name, sizes[j]) || s->used)
                continue;
            s->used = true;
            job_warn(job, s->mark, "'%s' changes the model, which is not read", s->name);
        }
    }
    return STATUS_OK;
}

enum status automodel_set_experts(struct job *job)
{
    static const char flags_of_path[] = "model.backend.dispatcher model.backend.enable_deepep";
    const char *dispatcher = NULL;
    bool deepep = true, balanced = false; /* where DeepEP is installed, as in its image */
    TRY(job_word(job, "model.backend.dispatcher", &dispatcher));
    TRY(job_switch(job, "model.backend.enable_deepep", &deepep));
    TRY(job_switch(job, "model.backend.fake_balanced_gate", &balanced));
    if (dispatcher)
        deepep = !text_equal(dispatcher, "torch");
    job_set(job, "stack", "torchtitan", flags_of_path);
    job_set(job, "moe.path", deepep ? "deepep" : "ragged_a2a", flags_of_path);
    if (dispatcher && text_equal(dispatcher, "hybridep"))
        job_set(job, "moe.library", "hybrid_ep", flags_of_path);
    if (dispatcher && text_equal(dispatcher, "mok"))
        job_warn(job, job_setting(job, "model.backend.dispatcher")->mark,
                 "dispatcher 'mok' matters to memory and is not modelled: DeepEP stands in");
    if (!deepep && job_drafted(job, "parallel.ep", 1) > 1)
        job_warn(job, job_place(job),
                 "without DeepEP every rank gathers the tokens of all, which matters to memory "
                 "and is not modelled of this stack: an all-to-all stands in");
    if (balanced)
        job_set(job, "moe.routing.distribution", "uniform", "model.backend.fake_balanced_gate");
    return STATUS_OK;
}

/* ---- what is shared out ---- */

static enum status read_copies(struct job *job)
{
    static const char flag[] = "distributed.dp_replicate_size";
    uint64_t copies = 1, world;
    uint64_t model = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.cp", 1) *
                     job_drafted(job, "parallel.pp", 1);
    TRY(job_count(job, flag, &copies));
    TRY(job_world(job, &world));
    uint64_t dp = model ? world / model : 0;
    if (copies > 1 && dp && dp % copies == 0)
        job_set_count(job, "parallel.dp_shard", dp / copies, flag);
    return STATUS_OK;
}

/* Layers are shared out by the reader of experts where there are ranks of them, or where an
 * older recipe names it in a section of its own (components/distributed/model_parallelizer.py,
 * _apply_model_parallelizer, of nemo-automodel 0.7.0). */
static bool shares_experts(const struct job *job)
{
    bool section = false;
    for (size_t i = 0; i < job->n_settings; i++)
        section = section || text_starts(job->settings[i].name, "parallelizer.");
    return section || job_drafted(job, "parallel.ep", 1) > 1;
}

static enum status read_reshard(struct job *job)
{
    static const char own_flag[] = "distributed.reshard_after_forward",
                      experts_flag[] = "distributed.moe.reshard_after_forward";
    const bool experts = shares_experts(job);
    bool reshard = !experts && job_drafted(job, "parallel.pp", 1) < 2;
    if (experts)
        TRY(job_switch(job, experts_flag, &reshard));
    TRY(job_switch(job, own_flag, &reshard));
    job_set(job, "parallel.reshard", reshard ? "always" : "never",
            "distributed.reshard_after_forward distributed.moe.reshard_after_forward");
    return STATUS_OK;
}

/* Unless told otherwise, reductions wait for a step's last micro-batch, and gradients are whole
 * until then, in the format that they are reduced in (recipes/llm/train_ft.py, get_sync_ctx;
 * components/moe/fsdp_mixin.py, patched_backward_maybe_with_nosync). */
static enum status read_deferral(struct job *job)
{
    static const char flag[] = "distributed.defer_fsdp_grad_sync";
    bool deferred = true,
         adapters = job_given(job, "peft._target_") || job_given(job, "peft.dim");
    TRY(job_switch(job, flag, &deferred));
    if (!adapters) /* those of adapters are small */
        job_set(job, "precision.accumulated", deferred ? "f32" : "none", flag);
    return STATUS_OK;
}

/* The names of a strategy: a word, a manager of older recipes, a configuration's class. */
static enum status read_strategy(struct job *job, bool *copies)
{
    static const struct {
        const char *flag, *sharded, *copied;
    } names[] = {{"distributed.strategy", "fsdp2", "ddp"},
                 {"distributed._target_", "FSDP2Manager", "DDPManager"},
                 {"distributed_config._target_", "FSDP2Config", "DDPConfig"}};
    *copies = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name;
        TRY(class_of(job, names[i].flag, &name));
        if (!name[0] || text_equal(name, names[i].sharded))
            continue;
        *copies = text_equal(name, names[i].copied);
        if (*copies)
            return STATUS_OK;
        job_fail(job, names[i].flag, "states shared out by '%s' are not read", name);
        return err_hint(job->err, "%s or %s", names[i].sharded, names[i].copied);
    }
    return STATUS_OK;
}

static enum status read_layout(struct job *job, bool backend)
{
    bool copies;
    TRY(read_strategy(job, &copies));
    job_set(job, "parallel.zero", copies ? "0" : "3", "distributed.strategy");
    uint64_t tp = job_drafted(job, "parallel.tp", 1);
    job_set_count(job, "parallel.etp", backend ? 1 : tp, "distributed.tp_size");
    if (copies)
        return STATUS_OK;
    TRY(read_reshard(job));
    TRY(read_deferral(job));
    return read_copies(job);
}

static enum status read_stages(struct job *job)
{
    static const char each_flag[] = "distributed.pipeline.layers_per_stage",
                      schedule_flag[] = "distributed.pipeline.pp_schedule";
    const char *schedule = "1f1b";
    uint64_t each = 0, layers, pp = job_drafted(job, "parallel.pp", 1);
    TRY(job_word(job, schedule_flag, &schedule));
    TRY(job_count(job, each_flag, &each));
    TRY(job_layers(job, &layers));
    if (pp < 2)
        return STATUS_OK;
    const char *known = job_convert(
        job, "1f1b=1f1b interleaved1f1b=interleaved interleaved_1f1b=interleaved", schedule);
    if (!known)
        job_warn(job, job_setting(job, schedule_flag)->mark,
                 "schedule '%s' matters to memory and time and is not modelled: 1f1b stands in",
                 schedule);
    uint64_t stages = each ? (layers + each - 1) / each : 0;
    uint64_t chunks = (stages + pp - 1) / pp;
    bool interleaved = known && text_equal(known, "interleaved");
    if (interleaved)
        job_set_count(job, "parallel.vpp", chunks > 1 ? chunks : 2, each_flag);
    job_set(job, "parallel.schedule", interleaved ? "interleaved" : "1f1b", schedule_flag);
    return STATUS_OK;
}

/* ---- the step ---- */

/* Batches filled up to so many tokens with padding: of the longest as many as fit; a step has
 * the batches that one of local_batch_size would have had (examples/llm_finetune/qwen/
 * qwen3_4b_chat_dynamic_batching.yaml). */
static enum status read_tokens(struct job *job, uint64_t local, uint64_t length)
{
    static const char most_flag[] = "dataloader.dynamic_batching.max_tokens_per_batch",
                      rows_flag[] = "dataloader.dynamic_batching.max_batch_size";
    uint64_t most = 0, rows = 0, dp = 0;
    const uint64_t all = job_drafted(job, "workload.global_batch", 0);
    bool overflow = false;
    TRY(job_count(job, most_flag, &most));
    TRY(job_count(job, rows_flag, &rows));
    TRY(packed_ranks(job, &dp));
    if (!most || !length)
        return STATUS_OK;
    uint64_t fit = most > length ? most / length : 1;
    fit = rows && rows < fit ? rows : fit;
    job_set_count(job, "workload.micro_batch", fit, most_flag);
    const uint64_t batch = checked_mul(local, dp, &overflow);
    if (all && batch)
        job_set_count(
            job, "workload.global_batch",
            checked_mul(checked_mul(fit, dp, &overflow), ceil_div(all, batch), &overflow),
            most_flag);
    return STATUS_OK;
}

static enum status read_batch(struct job *job)
{
    static const char local_flag[] = "step_scheduler.local_batch_size",
                      part_flag[] = "distributed.pipeline.pp_microbatch_size",
                      length_flag[] = "dataset.seq_len",
                      pack_flag[] = "packed_sequence.packed_sequence_size";
    uint64_t local = 1, part = 1, length = 0, pack = 0;
    bool stages = job_drafted(job, "parallel.pp", 1) > 1;
    TRY(job_count(job, local_flag, &local));
    TRY(job_count(job, part_flag, &part));
    TRY(job_count(job, length_flag, &length));
    TRY(job_count(job, pack_flag, &pack));
    job_set_count(job, "workload.micro_batch", stages ? part : local,
                  stages ? part_flag : local_flag);
    if (pack)
        job_set_count(job, "workload.sequence_length", pack, pack_flag);
    else if (length)
        job_set_count(job, "workload.sequence_length", length, length_flag);
    else if (!job_requested(job, "workload.sequence_length"))
        job_warn(job, job_place(job),
                 "the recipe gives no sequence length, which matters to memory: the plan's "
                 "default stands in, --set workload.sequence_length=4096 says another");
    if (pack && length && length < pack)
        job_set_count(job, "workload.packing.length", length, length_flag);
    return read_tokens(job, local, pack ? pack : length);
}

static enum status read_recompute(struct job *job)
{
    static const char flag[] = "distributed.activation_checkpointing";
    const char *word = "false";
    bool on = false;
    TRY(job_word(job, flag, &word));
    if (text_equal(word, "selective")) {
        job_set(job, "recompute.kind", "selective", flag);
        return STATUS_OK;
    }
    TRY(job_switch(job, flag, &on));
    job_set(job, "recompute.kind", on ? "full" : "none", flag);
    return STATUS_OK;
}

static enum status read_loss(struct job *job)
{
    const char *loss;
    TRY(class_of(job, "loss_fn._target_", &loss));
    const char *kind = job_convert(job,
                                   "FusedLinearCrossEntropy=fused ChunkedCrossEntropy=chunked "
                                   "TEParallelCrossEntropy=in_place",
                                   loss);
    if (kind)
        job_set(job, "stack.cross_entropy", kind, "loss_fn._target_");
    return STATUS_OK;
}

/* ---- formats ---- */

static const char dtypes[] = "torch.bfloat16=bf16 torch.float32=f32 torch.float16=f16 "
                             "bfloat16=bf16 float32=f32 float16=f16 bf16=bf16 fp32=f32 "
                             "auto=bf16 torch.uint8=fp8";

static enum status dtype_of(struct job *job, const char *flag, const char **dtype)
{
    const char *word = NULL;
    TRY(job_word(job, flag, &word));
    if (word)
        *dtype = job_convert(job, dtypes, word);
    return *dtype ? STATUS_OK : job_fail(job, flag, "'%s' is no format", word);
}

/* torch's optimizers keep moments in the weights' format; TransformerEngine's FusedAdam has its
 * own, and a master that may be the missing half alone. */
static enum status read_optimizer(struct job *job, const char *weights)
{
    const char *name, *first = "f32", *second;
    bool fused = false, foreach = true, master = false, remainder = false;
    TRY(class_of(job, "optimizer._target_", &name));
    TRY(job_switch(job, "optimizer.fused", &fused));
    TRY(job_switch(job, "optimizer.foreach", &foreach));
    TRY(job_switch(job, "optimizer.master_weights", &master));
    TRY(job_switch(job, "optimizer.store_param_remainders", &remainder));
    TRY(dtype_of(job, "optimizer.exp_avg_dtype", &first));
    second = first;
    TRY(dtype_of(job, "optimizer.exp_avg_sq_dtype", &second));
    bool own = text_equal(name, "FusedAdam"), muon = text_equal(name, "Muon");
    const char *scalars = "adamw"; /* of what is no matrix (components/optim/dion.py) */
    TRY(job_word(job, "optimizer.scalar_opt", &scalars));
    muon = muon && text_equal(scalars, "adamw");
    if (muon)
        job_set(job, "optimizer.kind", "muon", "optimizer._target_");
    if (name[0] && !own && !muon && !text_equal(name, "Adam") && !text_equal(name, "AdamW"))
        job_warn(job, job_setting(job, "optimizer._target_")->mark,
                 "optimizer '%s' matters to memory and is not modelled: Adam's states stand in",
                 name);
    job_set(job, "optimizer.step", own || fused || !foreach ? "fused" : "foreach",
            "optimizer._target_");
    job_set(job, "precision.master",
            !own || !master ? "none"
            : remainder     ? "bf16"
                            : "f32",
            "optimizer.store_param_remainders optimizer.master_weights");
    job_set(job, "precision.moments", own ? first : weights, "optimizer.exp_avg_dtype");
    if (own && !text_equal(first, second))
        job_set(job, "precision.moment2", second, "optimizer.exp_avg_sq_dtype");
    return STATUS_OK;
}

static enum status read_formats(struct job *job)
{
    static const char flag[] = "model.torch_dtype";
    const char *weights = "bf16";
    TRY(dtype_of(job, flag, &weights));
    const char *rows = text_equal(weights, "f32") ? "bf16" : weights; /* param_dtype */
    job_set(job, "precision.weights", weights, flag);
    job_set(job, "precision.gradients", weights, flag);
    job_set(job, "precision.compute", "bf16", flag);
    job_set_rows(job, rows, flag);
    return read_optimizer(job, weights);
}

/* ---- adapters ---- */

static enum status read_adapter(struct job *job, bool backend)
{
    const char *format = "bf16";
    bool all = false, four = false, eight = false, scales = false;
    uint64_t rank = 8;
    TRY(job_count(job, "peft.dim", &rank));
    TRY(job_switch(job, "peft.match_all_linear", &all));
    TRY(job_switch(job, "quantization.load_in_4bit", &four));
    TRY(job_switch(job, "quantization.load_in_8bit", &eight));
    TRY(dtype_of(job, "peft.lora_dtype", &format));
    if (!job_given(job, "peft._target_") && !job_given(job, "peft.dim"))
        return STATUS_OK;
    job_set_count(job, "lora.rank", rank, "peft.dim peft._target_");
    job_set(job, "lora.format", format, "peft.lora_dtype");
    TRY(job_switch(job, "peft.moe_rank_scaling", &scales));
    const struct automodel_patterns patterns = {
        .targets = job_setting(job, "peft.target_modules"),
        .excluded = job_setting(job, "peft.exclude_modules"),
        .all = all,
        .backend = backend,
        .rank = rank,
        .scales = scales,
        .flags = "peft.target_modules peft.exclude_modules peft._target_",
        .scale_flag = "peft.moe_rank_scaling",
    };
    TRY(automodel_set_targets(job, &patterns));
    if (!four && !eight)
        return STATUS_OK;
    const char *flag = four ? "quantization.load_in_4bit" : "quantization.load_in_8bit";
    job_set(job, "precision.weights", four ? "nf4" : "fp8_channel", flag);
    job_set(job, "lora.plain_format", "bf16", flag); /* nothing is raised beside them */
    return STATUS_OK;
}

/* Of models of images (apply_parameter_freezing): parameters below `language_model`, which is
 * not the head. */
struct freezes {
    bool table;
    struct frozen_words language;
};

static bool trains(const void *with, const struct frozen_name *name)
{
    const struct freezes *f = with;
    bool table = f->table && strstr(name->names[0], "embed_tokens");
    return !table && !frozen_meets(&f->language, name);
}

/* What of the language model is frozen; with a backend no key says so. */
static enum status set_language(struct job *job, bool backend, bool images)
{
    static const char *const begins[] = {"model.language_model"};
    static const char table_flag[] = "freeze_config.freeze_embeddings",
                      language_flag[] = "freeze_config.freeze_language_model";
    struct freezes freezes = {.table = false};
    bool language = false;
    TRY(job_switch(job, table_flag, &freezes.table));
    TRY(job_switch(job, language_flag, &language));
    if (language && images)
        freezes.language = (struct frozen_words){begins, 1, MEET_BEGINS};
    const bool any = freezes.table || (language && images);
    if (!any || draft_find(&job->draft, "lora.rank"))
        return STATUS_OK;
    if (!backend)
        return frozen_set(job, FROZEN_TRANSFORMERS, trains, &freezes,
                          "freeze_config.freeze_language_model freeze_config.freeze_embeddings",
                          NULL);
    const char *flag = language ? language_flag : table_flag;
    job_warn(job, job_setting(job, flag)->mark,
             "'%s' beside a backend matters to memory and is not modelled: what it freezes is "
             "trained here",
             flag);
    return STATUS_OK;
}

static enum status read_frozen(struct job *job, bool backend)
{
    static const char vision_flag[] = "freeze_config.freeze_vision_tower";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool vision = true, known;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_switch(job, vision_flag, &vision));
    const bool images = known && plan->model.encoder.layers > 0;
    bool given = job_given(job, vision_flag) ||
                 job_given(job, "freeze_config.freeze_embeddings") ||
                 job_given(job, "freeze_config.freeze_language_model");
    if (given && images)
        job_set(job, "workload.encoder.train", vision ? "none" : "all", vision_flag);
    return set_language(job, backend, images);
}

/* torchao's 8-bit linear layers cast their operands as they go; grouped products of experts
 * stay as they are. */
static enum status read_fp8(struct job *job, bool backend)
{
    static const char flag[] = "fp8.enabled";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool on = false, known;
    TRY(job_switch(job, flag, &on));
    TRY(job_part(job, "model", plan, &known));
    if (!on)
        return STATUS_OK;
    if (backend && known && !plan->model.moe.experts)
        job_set(job, "precision.compute", "fp8", flag);
    else
        job_warn(job, job_setting(job, flag)->mark,
                 "'fp8.enabled' matters to time and is not modelled: products stay in bf16 "
                 "here; nothing of them is kept in 8 bits");
    return STATUS_OK;
}

/* torchao's older quantizer, whose weights have scales in bf16 (QATConfig.build) and inputs in
 * f32; of weights alone it rounds by another rule. */
static enum status read_rounding(struct job *job)
{
    static const char flag[] = "qat.enabled", type_flag[] = "qat.quantizer_type",
                      class_flag[] = "qat.quantizer._target_";
    const char *type = "int8_dynact_int4weight", *class = NULL;
    bool on = false;
    TRY(job_switch(job, flag, &on));
    TRY(job_word(job, type_flag, &type));
    TRY(job_word(job, class_flag, &class));
    if (!on)
        return STATUS_OK;
    bool known = class ? text_ends(class, "Int8DynActInt4WeightQATQuantizer")
                       : text_equal(type, "int8_dynact_int4weight");
    if (known) {
        job_set(job, "precision.fake_weights", "int_16", flag);
        job_set(job, "precision.fake_inputs", "int8", flag);
        return STATUS_OK;
    }
    job_warn(job, job_setting(job, flag)->mark,
             "rounding by '%s' matters to memory and is not modelled: nothing is rounded here",
             class ? class : type);
    return STATUS_OK;
}

static enum status automodel_finish(struct job *job)
{
    bool backend = has_backend(job);
    job_set(job, "workload.mode", "train", "");
    TRY(job_set_model(job, "model.pretrained_model_name_or_path"));
    TRY(read_changes(job));
    if (backend)
        TRY(automodel_set_experts(job));
    TRY(read_layout(job, backend));
    TRY(read_stages(job));
    TRY(read_batch(job));
    TRY(read_recompute(job));
    TRY(read_loss(job));
    TRY(read_formats(job));
    TRY(job_set_checkpoint(job, "checkpoint.enabled", true, "checkpoint.is_async", false));
    TRY(read_adapter(job, backend));
    TRY(read_fp8(job, backend));
    TRY(read_rounding(job));
    return read_frozen(job, backend);
}

const struct job_framework job_automodel = {
    .name = "automodel",
    .title = "a NeMo AutoModel recipe",
    .stack = "fsdp",
    .source = "NVIDIA-NeMo/Automodel 005f66393ab8",
    .syntax = JOB_DASHES,
    .flags = automodel_flags,
    .n_flags = &automodel_n_flags,
    .prepare = automodel_prepare,
    .finish = automodel_finish,
    .names = NAMES_HUB,
    .files = true,
    .own = "automodel",
    .telling = "step_scheduler distributed",
    .trains = true,
};
