/* Frameworks whose jobs HuggingFace's Trainer runs: their files, and who shares the states. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/trainer/trainer.h"

const struct job_framework *const trainer_shares[] = {&job_fsdp, &job_deepspeed, NULL};

/* ---- files ---- */

static bool is_settings(const char *text)
{
    return text_ends(text, ".yaml") || text_ends(text, ".yml") || text_ends(text, ".json");
}

/* The word of the launch that names the job's own file: it stands alone, behind the words that
 * start the framework; NULL: there is none. */
static const struct shell_word *own_file(const struct job *job)
{
    for (size_t i = job->entry; i < job->n_words; i++) {
        const struct shell_word *word = &job->words[i];
        bool value = i > job->entry && job->words[i - 1].text[0] == '-' &&
                     !strchr(job->words[i - 1].text, '=');
        if (word->trouble && i == job->entry)
            return word; /* it stands where the file does */
        if (is_settings(word->text) && word->text[0] != '-' && !strchr(word->text, '=') &&
            !value)
            return word;
    }
    return NULL;
}

enum status trainer_read_own_file(struct job *job)
{
    job_raise(job, JOB_FILE + 2); /* a file that was read by itself */
    const struct shell_word *word = job->shell ? own_file(job) : NULL;
    bool found = true;
    if (!word)
        return STATUS_OK;
    if (word->trouble) {
        err_at(job->err, word->mark, "which file is meant is not known: %s", word->trouble);
        return err_hint(job->err, "write its name, or a default as in ${CONFIG:-job.yaml}");
    }
    TRY(job_add_file(job, word->text, JOB_FILE + 2, &found));
    if (found)
        return STATUS_OK;
    err_at(job->err, word->mark, "file '%s' is not there", word->text);
    return err_hint(job->err, "it is looked for beside the job and in the working directory");
}

const struct trainer_file *trainer_known(const struct trainer_file *known, const char *name)
{
    for (; known->name; known++)
        if (text_equal(known->name, name))
            return known;
    return NULL;
}

enum status trainer_add_known(struct job *job, const struct trainer_file *known, unsigned layer)
{
    struct node *root = NULL;
    unsigned before = job->layer;
    TRY(source_read_job(known->name, known->settings, strlen(known->settings), job->arena,
                        &root, job->err));
    job->layer = layer;
    enum status status = job_add_node(job, "", root);
    job->layer = before;
    return status;
}

/* DeepSpeed's file: as it is there, else as the framework brings it; or its text. */
static enum status read_deepspeed(struct job *job, const struct trainer_file *known)
{
    static const char flag[] = "deepspeed";
    const struct setting *s = job_setting(job, flag);
    const char *name = NULL;
    bool found = false;
    if (!s || s->n == 0)
        return STATUS_OK;
    TRY(job_word(job, flag, &name));
    if (name[0] == '{')
        return job_flag_text(job, flag, JOB_FILE + 1);
    TRY(job_add_file(job, name, JOB_FILE + 1, &found));
    known = found ? NULL : trainer_known(known, text_base_name(name));
    if (known)
        return trainer_add_known(job, known, JOB_FILE + 1);
    return found ? STATUS_OK : job_need_file(job, flag, name, JOB_FILE + 1);
}

/* "FSDP" of Accelerate's file, or "". */
static enum status kind_of(struct job *job, const char **kind)
{
    *kind = "";
    return job_word(job, "distributed_type", kind);
}

void trainer_count_visible(struct job *job)
{
    const struct shell_word *word = job_environment_word(job, "CUDA_VISIBLE_DEVICES");
    if (!word || !word->text[0] || job->size.world || job->size.per_node)
        return;
    uint64_t n = 1, nodes = job->size.nodes ? job->size.nodes : 1;
    for (const char *at = word->text; *at; at++)
        n += *at == ',';
    job->size = (struct job_size){.nodes = nodes, .per_node = n, .world = nodes * n};
}

enum status trainer_read_files(struct job *job, const struct trainer_file *known)
{
    TRY(trainer_read_own_file(job));
    return trainer_read_sharers(job, known);
}

enum status trainer_read_sharers(struct job *job, const struct trainer_file *known)
{
    const char *kind;
    TRY(trainer_prepare(job, NULL));
    TRY(kind_of(job, &kind));
    trainer_count_visible(job);
    if (job_given(job, "fsdp_config"))
        TRY(job_flag_file(job, "fsdp_config", JOB_FILE + 1));
    return read_deepspeed(job, known);
}

/* ---- who shares ---- */

static bool begins(const struct setting *s, const char *const *heads)
{
    for (; *heads; heads++)
        if (!s->null && text_starts(s->name, *heads))
            return true;
    return false;
}

enum trainer_sharer trainer_sharer(struct job *job)
{
    static const char *const fsdp[] = {"fsdp", "use_fsdp", "use-fsdp", NULL},
                             *const deepspeed[] = {"deepspeed", "zero_optimization",
                                                   "use_deepspeed", "use-deepspeed", NULL};
    const char *kind = NULL;
    kind_of(job, &kind);
    if (text_equal(kind, job_deepspeed.kind))
        return TRAINER_DEEPSPEED;
    if (text_equal(kind, job_fsdp.kind))
        return TRAINER_FSDP;
    if (kind && kind[0])
        return job_given(job, "deepspeed") ? TRAINER_DEEPSPEED : TRAINER_WHOLE;
    for (size_t i = 0; i < job->n_settings; i++)
        if (begins(&job->settings[i], deepspeed))
            return TRAINER_DEEPSPEED;
    for (size_t i = 0; i < job->n_settings; i++)
        if (begins(&job->settings[i], fsdp))
            return TRAINER_FSDP;
    return TRAINER_WHOLE;
}

enum status trainer_share(struct job *job)
{
    enum trainer_sharer sharer = trainer_sharer(job);
    if (sharer != TRAINER_DEEPSPEED)
        return fsdp_share(job, sharer == TRAINER_FSDP);
    job_set(job, "stack", job_deepspeed.stack, "deepspeed");
    return deepspeed_share(job);
}

/* ---- what both frameworks have ---- */

/* The forward of the model's MLP class in parts (axolotl monkeypatch/tiled_mlp/patch.py,
 * unsloth_zoo/tiled_mlp.py): of layers with experts that is their shared ones' at most. */
enum status trainer_set_tiles(struct job *job, const char *flag, const char *count,
                              uint64_t sequences)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool tiled = false, known, overflow = false;
    uint64_t tiles = 0;
    TRY(job_switch(job, flag, &tiled));
    if (count)
        TRY(job_count(job, count, &tiles));
    TRY(job_model(job, plan, &known));
    if (!tiled || !known)
        return STATUS_OK;
    uint64_t rows = job_planned(job, "workload.sequence_length", 1) /
                    greater(job_planned(job, "parallel.cp", 1), 1);
    if (!tiles)
        tiles =
            greater(ceil_div(checked_mul(rows, sequences, &overflow), plan->model.hidden), 1);
    job_set_count(job, "recompute.mlp_tiles", lesser(tiles, 1000000),
                  count ? arena_printf(job->arena, "%s %s", flag, count) : flag);
    if (plan->model.moe.experts)
        job_warn(job, job_setting(job, flag)->mark,
                 "tiles of networks beside experts matter to memory and are not modelled: "
                 "dense layers alone have them here");
    return STATUS_OK;
}

/* Layers that alone have gradients: what shares or reduces them was told of all. */
enum status trainer_set_drawn(struct job *job, const char *flag)
{
    uint64_t n = 0, world = 0, layers = 0;
    TRY(job_count(job, flag, &n));
    TRY(job_world(job, &world));
    TRY(job_layers(job, &layers));
    if (!n || (layers && n >= layers))
        return STATUS_OK;
    if (trainer_sharer(job) == TRAINER_WHOLE && world <= 1 &&
        !draft_find(&job->draft, "lora.rank"))
        job_set_count(job, "optimizer.active_layers", n, flag);
    else
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' of several ranks, or beside adapters, matters to memory and is not "
                 "modelled: every layer is trained in each step here",
                 flag);
    return STATUS_OK;
}

void trainer_offload(struct job *job, const char *flag)
{
    static const char *const inputs = "layer_input";
    job_set_list(job, "recompute.offload", &inputs, 1, flag);
}

enum status trainer_set_balance(struct job *job, const char *flag, bool packs)
{
    double weight = 0;
    TRY(job_real(job, flag, &weight));
    if (weight > 0)
        job_set(job, "stack.balance_loss", packs ? "joint" : "masked", flag);
    return STATUS_OK;
}

enum status trainer_set_offloading(struct job *job, const char *flag)
{
    bool again = false;
    TRY(job_switch(job, "gradient_checkpointing", &again));
    return trainer_set_moved(job, flag, again);
}

enum status trainer_set_moved(struct job *job, const char *flag, bool again)
{
    bool moved = false;
    TRY(job_switch(job, flag, &moved));
    if (moved && again)
        trainer_offload(job, flag);
    else if (moved)
        job_warn(job, job_setting(job, flag)->mark,
                 "what waits in host memory where no layer is run again matters to memory and "
                 "is not modelled: it is counted on the device");
    return STATUS_OK;
}

enum status trainer_tell_bits(struct job *job, const char *flag, uint64_t bits, bool twice)
{
    if (bits == 4)
        job_retell(job, flag, "load_in_4bit", "true");
    if (bits == 4 && twice)
        job_retell(job, flag, "use_bnb_nested_quant", "true");
    if (bits == 8)
        job_retell(job, flag, "load_in_8bit", "true");
    if (bits && bits != 4 && bits != 8)
        return job_fail(job, flag, "a base in %" PRIu64 " bits is not read: 4 or 8", bits);
    return job->err->status;
}

bool trainer_method_is_known(const char *method, uint64_t bits)
{
    bool rows = text_equal(method, "eetq") || text_equal(method, "quanto");
    return text_equal(method, "bnb") || (text_equal(method, "hqq") && bits == 4) ||
           (rows && bits == 8);
}

enum status trainer_set_labels(struct job *job, const char *flag, uint64_t unless)
{
    static const char labels_flag[] = "num_labels";
    uint64_t labels = unless;
    TRY(job_count(job, labels_flag, &labels));
    job_set_count(job, "model.labels", labels ? labels : unless,
                  arena_printf(job->arena, "%s %s", flag, labels_flag));
    return STATUS_OK;
}

const char *trainer_loaded(struct job *job)
{
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    const struct setting *s = job_setting(job, "torch_dtype");
    bool raised = weights && text_equal(weights->words[0], "f32");
    if (!raised || !s || s->trouble || !s->n)
        return NULL;
    return job_convert(job, "bfloat16=bf16 bf16=bf16 float16=f16 fp16=f16", s->values[0]);
}
