/* Primus's experiments of other frameworks: torchtitan's, MaxText's and Megatron-Bridge's own
 * settings under modules.<trainer>.overrides, above Primus's files of defaults, with the
 * model's file beside them. Read at AMD-AGI/Primus 04aa8ac4027a
 * (modules/torchtitan/pre_trainer.yaml), 13a267de5bf5 (modules/maxtext/pre_trainer.yaml),
 * a016b4d4ce8c (modules/megatron_bridge/ post_trainer.yaml), 89bd5dcd275c and 11f08c06fe82
 * (models/torchtitan, models/maxtext). */
#include <ctype.h>
#include <string.h>

#include "plan/framework/primus.h"

/* Does a module of the experiment say that this framework runs it? */
static bool runs(const struct node *root, const char *framework)
{
    const struct node *modules = node_get(root, "modules");
    const struct node *one = modules && modules->kind == NODE_MAPPING ? modules->first : NULL;
    for (; one; one = one->next) {
        const struct node *name = one->kind == NODE_MAPPING ? node_get(one, "framework") : NULL;
        if (name && name->kind == NODE_SCALAR && text_equal(name->text, framework))
            return true;
    }
    return false;
}

bool primus_of_torchtitan(const struct node *root)
{
    return runs(root, "torchtitan");
}

bool primus_of_maxtext(const struct node *root)
{
    return runs(root, "maxtext");
}

bool primus_of_bridge(const struct node *root)
{
    return runs(root, "megatron_bridge");
}

/* What Primus's own files set and the framework by itself does not. */
static const struct lent {
    const struct job_framework *framework;
    const char *flag, *value;
} lent[] = {
    {&job_torchtitan, "activation_checkpoint.mode", "none"},
    {&job_torchtitan, "compile.enable", "true"},
    {&job_maxtext, "megablox", "false"},
    {&job_maxtext, "sparse_matmul", "false"},
    {&job_maxtext, "capacity_factor", "1.25"},
    {&job_maxtext, "weight_dtype", "bfloat16"},
    {&job_maxtext, "enable_checkpointing", "false"},
    {&job_maxtext, "async_checkpointing", "false"},
    {&job_bridge, "micro_batch_size", "1"},
    {&job_bridge, "global_batch_size", "64"},
    {&job_bridge, "seq_length", "2048"},
    {&job_bridge, "mixed_precision", "bf16_mixed"},
};

/* The catalogue that a framework's model files are named by. */
static enum model_catalog catalog_of(const struct job *job)
{
    return job->framework == &job_torchtitan ? NAMES_TORCHTITAN
           : job->framework == &job_maxtext  ? NAMES_MAXTEXT
                                             : NAMES_BRIDGE;
}

/* Letters and digits of "deepseek_v2_16B.yaml"; of MaxText's without the version's v, and of
 * what follows a dash nothing: "gpt_oss_20b-fp8". */
static const char *letters_of(struct job *job, const char *file, bool versions)
{
    struct text letters = {.arena = job->arena};
    const char *base = text_base_name(file);
    size_t n = strcspn(base, "-");
    n = text_ends(base, ".yaml") && n == strlen(base) ? n - strlen(".yaml") : n;
    for (size_t i = 0; i < n; i++) {
        bool version = base[i] == 'v' && i > 0 && isdigit((unsigned char)base[i + 1]);
        if (isalnum((unsigned char)base[i]) && (versions || !version))
            text_printf(&letters, "%c", tolower((unsigned char)base[i]));
    }
    return text_string(&letters);
}

static enum status set_model(struct job *job, const struct setting *file)
{
    const char *name = file->values[0];
    enum model_catalog catalog = catalog_of(job);
    const char *model = model_name_of_letters(catalog, letters_of(job, name, true), job->arena);
    if (!model)
        model = model_name_of_letters(catalog, letters_of(job, name, false), job->arena);
    model = model ? model : primus_model_of_file(job, name);
    if (model) {
        draft_set(&job->draft, "model", model, file->mark, file->said);
        return STATUS_OK;
    }
    if (job->described)
        return STATUS_OK;
    err_at(job->err, file->mark, "the model of '%s' is not known", name);
    return err_hint(job->err, "name it, as in --set model=deepseek-v3; 'moeplan list models'");
}

/* Primus-Turbo's products in 8 bits of torchtitan's jobs. */
static enum status set_turbo(struct job *job)
{
    static const char all[] = "primus_turbo.enable_primus_turbo",
                      linear[] = "primus_turbo.use_turbo_float8_linear";
    bool on = true, fp8 = true;
    TRY(job_switch(job, all, &on));
    TRY(job_switch(job, linear, &fp8));
    if (on && fp8)
        job_assume(job, "model.converters", "float8",
                   "primus_turbo.use_turbo_float8_linear of pre_trainer.yaml");
    return STATUS_OK;
}

enum status primus_lend(struct job *job)
{
    const struct setting *model = NULL;
    bool ours = false;
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        ours = ours || text_starts(s->name, "modules.");
        bool names = text_starts(s->name, "modules.") && text_ends(s->name, "_trainer.model");
        if (names && s->n == 1 && !s->trouble)
            model = s;
        s->used = s->used || names;
    }
    if (!ours)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof lent / sizeof *lent; i++)
        if (lent[i].framework == job->framework)
            job_assume(job, lent[i].flag, lent[i].value,
                       arena_printf(job->arena, "%s of Primus's trainer", lent[i].flag));
    if (model && !draft_find(&job->draft, "model"))
        TRY(set_model(job, model));
    return job->framework == &job_torchtitan ? set_turbo(job) : STATUS_OK;
}
