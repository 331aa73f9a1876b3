/* MaxText: what its settings mean together. Order of precedence: base.yml < files below
 * base_config < the file < key=value < environment M_KEY. */
#include "plan/framework/maxtext.h"
#include "plan/framework/colocated.h"
#include "plan/framework/primus.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BASES = 8 };

/* ---- files and variables ---- */

/* MaxText's own files: base.yml is the defaults of the table, sft.yml changes none of them that
 * matters (configs/post_train/sft.yml). */
static bool is_own(const char *name)
{
    return text_equal(name, "base.yml") || text_equal(name, "sft.yml");
}

/* A file and those below it. */
static enum status add_files(struct job *job, const char *name)
{
    for (unsigned depth = 0; name; depth++) {
        bool found;
        const char *below = NULL;
        if (depth == BASES)
            return job_refuse(job, "more than %d files below each other", BASES);
        size_t before = job->n_settings;
        TRY(job_add_file(job, name, JOB_COMMAND_LINE - 1 - depth, &found));
        if (!found && !is_own(text_base_name(name)))
            return job_need_file(job, "base_config", name, JOB_FILE);
        for (size_t i = before; i < job->n_settings; i++) {
            const struct setting *s = &job->settings[i];
            if (s->n == 1 && !s->trouble && text_equal(s->name, "base_config"))
                below = s->values[0];
        }
        name = below;
    }
    return STATUS_OK;
}

/* M_CAPACITY_FACTOR=1.25 in front of the launch. */
static enum status add_environment(struct job *job)
{
    for (size_t i = 0; job->shell && i < job->before; i++) {
        const struct shell_variable *v = &job->shell->variables[i];
        if (!v->exported || !text_starts(v->name, "M_") || v->value.n != 1)
            continue;
        char *key = arena_strdup(job->arena, v->name + 2);
        for (char *at = key; *at; at++)
            *at = (char)tolower((unsigned char)*at);
        const struct job_flag *flag = job_flag_find(job->framework, key, strlen(key));
        if (!flag)
            continue;
        const char **values = arena_alloc(job->arena, 1, sizeof *values);
        values[0] = v->value.items[0].text;
        const struct setting *given = job_setting(job, key);
        if (given && given->layer == JOB_COMMAND_LINE)
            return err_at(job->err, given->mark,
                          "'%s' stands on the command line and in %s: MaxText refuses both",
                          key, v->name);
        job->layer = JOB_ENVIRONMENT;
        job_add(job, (struct setting){
                         .flag = flag,
                         .name = key,
                         .values = values,
                         .n = 1,
                         .trouble = v->trouble ? v->trouble : v->value.items[0].trouble,
                         .mark = v->value.items[0].mark,
                         .said = arena_printf(job->arena, "%s=%s", v->name, values[0])});
    }
    return job->err->status;
}

/* ---- the layout ---- */

enum axis {
    DATA,
    FSDP,
    FSDP_T,
    TENSOR,
    TENSOR_T,
    TENSOR_S,
    EXPERT,
    CONTEXT,
    SEQUENCE,
    PIPELINE
};

static const char *const axes[] = {
    "data",   "fsdp",    "fsdp_transpose", "tensor",  "tensor_transpose", "tensor_sequence",
    "expert", "context", "sequence",       "pipeline"};

enum { AXES = sizeof axes / sizeof *axes };

struct mesh {
    int64_t ici[AXES], dcn[AXES]; /* -1: what the others leave */
    bool shards_rest;             /* "fsdp" has that, however many devices it finds */
};

static enum status read_axis(struct job *job, const char *level, enum axis axis,
                             int64_t *degree)
{
    double value = (double)*degree;
    const char *flag = arena_printf(job->arena, "%s_%s_parallelism", level, axes[axis]);
    TRY(job_real(job, flag, &value));
    if (floor(value) != value || value == 0 || value < -1 || value > 1e6)
        return job_fail(job, flag, "'%s' is a degree from 1 on, or -1", flag);
    *degree = (int64_t)value;
    return STATUS_OK;
}

/* The product of what is given; *open the axis that takes the rest, -1: none. */
static enum status product(struct job *job, const int64_t *degrees, const char *level,
                           uint64_t *given, int *open)
{
    *given = 1;
    *open = -1;
    for (int i = 0; i < AXES; i++) {
        if (degrees[i] == -1 && *open >= 0)
            return job_fail(job, arena_printf(job->arena, "%s_%s_parallelism", level, axes[i]),
                            "two %s axes are -1: %s and %s", level, axes[*open], axes[i]);
        if (degrees[i] == -1)
            *open = i;
        else if (*given > 1000000 / (uint64_t)degrees[i])
            return job_refuse(job, "the %s axes are more than a million devices", level);
        else
            *given *= (uint64_t)degrees[i];
    }
    return STATUS_OK;
}

static enum status fill(struct job *job, int64_t *degrees, int open, uint64_t given,
                        uint64_t devices, const char *level)
{
    if (open < 0 && given == devices)
        return STATUS_OK;
    if (open < 0 || devices % given != 0)
        return job_refuse(job, "the %s axes are %" PRIu64 " devices, the job has %" PRIu64,
                          level, given, devices);
    degrees[open] = (int64_t)(devices / given);
    return STATUS_OK;
}

/* Devices of a slice and slices, as the axes give them. */
struct mesh_size {
    uint64_t ici, dcn, slices; /* slices 0: not said */
    int open_ici, open_dcn;
};

static enum status read_axes(struct job *job, struct mesh *mesh, struct mesh_size *size)
{
    *size = (struct mesh_size){0};
    for (int i = 0; i < AXES; i++) {
        mesh->ici[i] = i == FSDP ? -1 : 1;
        mesh->dcn[i] = i == DATA ? -1 : 1;
        TRY(read_axis(job, "ici", (enum axis)i, &mesh->ici[i]));
        TRY(read_axis(job, "dcn", (enum axis)i, &mesh->dcn[i]));
    }
    TRY(product(job, mesh->ici, "ici", &size->ici, &size->open_ici));
    TRY(product(job, mesh->dcn, "dcn", &size->dcn, &size->open_dcn));
    TRY(job_count(job, "num_slices", &size->slices));
    return job_count(job, "compile_topology_num_slices", &size->slices);
}

/* Of a job whose axes are all given; the slices that data parallelism takes are one, where
 * nothing says more. */
static enum status size_of_axes(struct job *job)
{
    struct mesh mesh;
    struct mesh_size size;
    TRY(read_axes(job, &mesh, &size));
    if (size.open_ici < 0)
        job->axes = (struct job_size){.nodes = size.slices ? size.slices : size.dcn,
                                      .per_node = size.ici};
    return STATUS_OK;
}

static enum status read_mesh(struct job *job, struct mesh *mesh)
{
    struct mesh_size size;
    uint64_t world;
    TRY(read_axes(job, mesh, &size));
    TRY(job_world(job, &world));
    mesh->shards_rest = mesh->ici[FSDP] == -1 || mesh->dcn[FSDP] == -1;
    uint64_t ici = size.ici, dcn = size.dcn, slices = size.slices;
    int open_ici = size.open_ici, open_dcn = size.open_dcn;
    if (!world) /* no cluster: reported where all is known */
        return STATUS_OK;
    if (!slices && open_ici < 0 && world % ici == 0)
        slices = world / ici;
    if (!slices)
        slices = dcn;
    if (world % slices != 0)
        return job_refuse(job, "%" PRIu64 " slices of %" PRIu64 " devices", slices, world);
    TRY(fill(job, mesh->dcn, open_dcn, dcn, slices, "dcn"));
    return fill(job, mesh->ici, open_ici, ici, world / slices, "ici");
}

static uint64_t degree(const struct mesh *mesh, enum axis axis)
{
    int64_t ici = mesh->ici[axis], dcn = mesh->dcn[axis];
    return (uint64_t)(ici < 1 ? 1 : ici) * (uint64_t)(dcn < 1 ? 1 : dcn);
}

static const char *flags_of(struct job *job, enum axis axis)
{
    return arena_printf(job->arena, "ici_%s_parallelism dcn_%s_parallelism", axes[axis],
                        axes[axis]);
}

/* Ranks of a context and of experts share out the weights, too, where "fsdp" is 1 (base.yml,
 * logical_axis_rules: embed over fsdp, fsdp_transpose, context and expert; the experts' own
 * over all but the last, embed_moe). */
static enum status set_zero(struct job *job, const struct mesh *mesh)
{
    bool over_data = false;
    uint64_t shards = degree(mesh, FSDP) * degree(mesh, FSDP_T);
    uint64_t others = degree(mesh, CONTEXT) * degree(mesh, SEQUENCE) * degree(mesh, EXPERT);
    TRY(job_switch(job, "shard_optimizer_over_data", &over_data));
    job_set(job, "parallel.zero",
            shards > 1 || others > 1 || mesh->shards_rest ? "3"
            : over_data                                   ? "1"
                                                          : "0",
            "ici_fsdp_parallelism dcn_fsdp_parallelism ici_context_parallelism "
            "ici_expert_parallelism shard_optimizer_over_data");
    /* the data axis replicates; the others' ranks hold a share of the weights each */
    if (shards * others > 1 && degree(mesh, DATA) > 1)
        job_set_count(job, "parallel.dp_shard", shards * degree(mesh, EXPERT),
                      "ici_data_parallelism dcn_data_parallelism");
    return STATUS_OK;
}

static enum status set_pipeline(struct job *job, uint64_t pp)
{
    uint64_t each = 1, repeats = 0, layers;
    int64_t given = -1;
    TRY(job_layers(job, &layers));
    TRY(job_count(job, "num_layers_per_pipeline_stage", &each));
    TRY(job_integer(job, "num_pipeline_repeats", &given));
    job_set_count(job, "parallel.pp", pp, flags_of(job, PIPELINE));
    repeats = given > 0 ? (uint64_t)given : 0;
    if (!repeats && layers && each && layers % pp == 0 && layers / pp % each == 0)
        repeats = layers / pp / each;
    if (repeats > 1) {
        job_set_count(job, "parallel.vpp", repeats,
                      "num_pipeline_repeats num_layers_per_pipeline_stage");
        job_set(job, "parallel.schedule", "interleaved", "num_pipeline_repeats");
    }
    return STATUS_OK;
}

static enum status set_batch(struct job *job, uint64_t tp, uint64_t cp, uint64_t pp)
{
    static const char flag[] = "per_device_batch_size";
    double each = 12, chunks = -1;
    uint64_t steps = 1, world;
    TRY(job_real(job, flag, &each));
    TRY(job_real(job, "num_pipeline_microbatches", &chunks));
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_world(job, &world));
    chunks = pp > 1 ? chunks > 0 ? chunks : (double)pp : 1;
    double own = each * (double)(tp * cp * pp) / chunks;
    if (own < 1 || floor(own) != own || own > 1e9)
        return job_fail(job, flag,
                        "per_device_batch_size %g x tp %" PRIu64 " x cp %" PRIu64
                        " x pp %" PRIu64 " / %g microbatches is no whole number of sequences",
                        each, tp, cp, pp, chunks);
    job_set_count(job, "workload.micro_batch", (uint64_t)own, flag);
    double global = each * (double)world * (double)steps;
    if ((steps > 1 || pp > 1) && world && global < 1e12)
        job_set_count(job, "workload.global_batch", (uint64_t)global,
                      "gradient_accumulation_steps per_device_batch_size");
    return STATUS_OK;
}

static enum status set_layout(struct job *job)
{
    struct mesh mesh;
    TRY(read_mesh(job, &mesh));
    uint64_t sequence = degree(&mesh, TENSOR_S);
    uint64_t tp = degree(&mesh, TENSOR) * degree(&mesh, TENSOR_T) * sequence;
    uint64_t cp = degree(&mesh, CONTEXT) * degree(&mesh, SEQUENCE);
    uint64_t pp = degree(&mesh, PIPELINE);
    job_set_count(job, "parallel.tp", tp,
                  sequence > 1 ? flags_of(job, TENSOR_S) : flags_of(job, TENSOR));
    if (sequence > 1)
        job_set(job, "parallel.sp", "true", flags_of(job, TENSOR_S));
    job_set_count(job, "parallel.cp", cp, flags_of(job, CONTEXT));
    job_set_count(job, "parallel.ep", degree(&mesh, EXPERT), flags_of(job, EXPERT));
    TRY(maxtext_set_experts(job, degree(&mesh, EXPERT)));
    if (pp > 1)
        TRY(set_pipeline(job, pp));
    TRY(set_zero(job, &mesh));
    return set_batch(job, tp, cp, pp);
}

/* ---- formats ---- */

/* mu_dtype is the first moment's alone: the second is like the weights (optax
 * transforms/_accumulation, scale_by_adam; optimizers.py has adam_pax without it). */
static enum status set_second(struct job *job, const char *first, const char *weights)
{
    const char *kind = "adamw";
    TRY(job_word(job, "opt_type", &kind));
    if (first && text_equal(kind, "adamw") && !text_equal(first, weights))
        job_set(job, "precision.moment2", weights, "weight_dtype mu_dtype");
    return STATUS_OK;
}

static const char dtypes[] = "float32=f32 bfloat16=bf16 float16=f16";

/* Gradients come in the weights' format; grad_dtype is what those of 32 bits are cast to
 * (trainers/pre_train/train.py, train_step). */
static enum status set_gradients(struct job *job, const char *weights)
{
    const char *dtype = "float32";
    TRY(job_word(job, "grad_dtype", &dtype));
    dtype = job_convert(job, dtypes, dtype);
    if (!dtype)
        return job_fail(job, "grad_dtype", "'grad_dtype' is no format a plan has");
    job_set(job, "precision.gradients", text_equal(weights, "f32") ? dtype : weights,
            "grad_dtype weight_dtype");
    return STATUS_OK;
}

static enum status set_formats(struct job *job)
{
    const char *dtype = "bfloat16", *moments = "", *quantization = "";
    TRY(job_word(job, "dtype", &dtype));
    TRY(job_word(job, "mu_dtype", &moments));
    TRY(job_word(job, "quantization", &quantization));
    dtype = job_convert(job, dtypes, dtype);
    if (!dtype)
        return job_fail(job, "dtype", "'dtype' is no format a plan has");
    job_set_rows(job, dtype, "dtype");
    const char *own = moments[0] ? job_convert(job, dtypes, moments) : NULL;
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    job_set(job, "precision.moments", own ? own : weights->words[0],
            own ? "mu_dtype" : "weight_dtype");
    TRY(set_second(job, own, weights->words[0]));
    TRY(set_gradients(job, weights->words[0]));
    job_set(job, "precision.master", "none", "");
    bool fp8 = strstr(quantization, "fp8") != NULL;
    if (fp8)
        job_set(job, "precision.compute", "fp8", "quantization");
    else if (text_equal(dtype, "f32"))
        job_set(job, "precision.compute", "f32", "dtype");
    if (quantization[0] && !fp8)
        job_warn(job, job_setting(job, "quantization")->mark,
                 "quantization '%s' matters to memory and is not modelled", quantization);
    return STATUS_OK;
}

static enum status set_optimizer(struct job *job)
{
    static const char weights[] = "parameter_memory_host_offload";
    bool host = false, all = false, scan = true;
    uint64_t tiles = 1;
    TRY(job_switch(job, "optimizer_memory_host_offload", &host));
    if (host)
        job_set(job, "optimizer.offload", "1", "optimizer_memory_host_offload");
    TRY(job_switch(job, "scan_layers", &scan));
    if (!scan)
        job_set(job, "stack.unrolled", "true", "scan_layers");
    TRY(job_switch(job, weights, &all));
    if (all && host)
        job_set(job, "optimizer.offload_params", "true", weights);
    if (all && !host)
        job_warn(job, job_setting(job, weights)->mark,
                 "%s without optimizer_memory_host_offload matters to memory and is not "
                 "modelled: weights stay on the device",
                 weights);
    TRY(job_count(job, "num_vocab_tiling", &tiles));
    if (tiles > 1) {
        job_set(job, "stack.cross_entropy", "chunked", "num_vocab_tiling");
        job_set_count(job, "stack.loss_chunks", tiles, "num_vocab_tiling");
    }
    return job_set_optimizer(job, "opt_type", "adamw=adam adam_pax=adam sgd=sgd muon=muon");
}

/* Tunix's loop around MaxText's model, loss and optimizer (post_train/sft/train_sft.py). */
static void warn_of_tunix(struct job *job)
{
    for (size_t i = 0; job->command && i < job->command->n; i++)
        if (text_equal(job->command->items[i].text, MAXTEXT_TUNIX))
            job_warn(job, job->command->items[i].mark,
                     "Tunix steps this trainer, which matters to memory and is not modelled: "
                     "what MaxText's own keeps is planned");
}

static enum status maxtext_prepare(struct job *job)
{
    warn_of_tunix(job);
    TRY(primus_lend(job));
    for (size_t i = 0; i < job->n_words; i++) {
        const char *text = job->words[i].text;
        if (!strchr(text, '=') && (text_ends(text, ".yml") || text_ends(text, ".yaml")))
            TRY(add_files(job, text));
    }
    const char *below = NULL;
    if (!job->n_words)
        TRY(job_word(job, "base_config", &below));
    if (below)
        TRY(add_files(job, below));
    TRY(add_environment(job));
    TRY(size_of_axes(job));
    return maxtext_set_topology(job);
}

/* Both answers are in one batch, and reference_params beside the state, whose own pass the loss
 * holds (dpo_utils.py, dpo_loss_fn). */
static enum status set_preference(struct job *job)
{
    static const char flag[] = "use_dpo";
    const char *weights = "float32";
    bool pairs = false;
    TRY(job_switch(job, flag, &pairs));
    if (!pairs)
        return STATUS_OK;
    TRY(job_word(job, "weight_dtype", &weights));
    colocated_set_pairs(job, flag, true);
    job_set(job, "workload.colocated.format", job_convert(job, dtypes, weights),
            "use_dpo weight_dtype");
    return STATUS_OK;
}

static enum status maxtext_finish(struct job *job)
{
    job_set(job, "workload.mode", "train", "");
    TRY(maxtext_set_model(job));
    TRY(set_layout(job));
    TRY(set_formats(job));
    TRY(set_preference(job));
    TRY(set_optimizer(job));
    /* Orbax copies the state to the host, and writes it behind the next steps */
    TRY(job_set_checkpoint(job, "enable_checkpointing", true, "async_checkpointing", true));
    return maxtext_set_remat(job);
}

const struct job_framework job_maxtext = {
    .name = "maxtext",
    .title = "a MaxText job",
    .stack = "maxtext",
    .source = "AI-Hypercomputer/maxtext e591f30cbbf2",
    .syntax = JOB_OVERRIDES,
    .sections = PRIMUS_SECTIONS,
    .claims = primus_of_maxtext,
    .flags = maxtext_flags,
    .n_flags = &maxtext_n_flags,
    .prepare = maxtext_prepare,
    .finish = maxtext_finish,
    .write = maxtext_write,
    .write_flag = maxtext_write_flag,
    .launch = "job.yml",
    .names = NAMES_MAXTEXT,
    .files = true,
    .telling = "base_config model_name per_device_batch_size base_emb_dim",
    .trains = true,
};
