/* Primus: an experiment of AMD's trainer around Megatron-LM, whose overrides are Megatron's
 * flags with underscores. What its own files of defaults say and differ in from Megatron's
 * command line stands here; its files of models are known by their names. Read at
 * AMD-AGI/Primus 05b350b33139 (trainer_base.yaml), c1b4b0be6c4e (pre_trainer.yaml),
 * 0158a866add5 (language_model.yaml), 023242347211 (primus_turbo.yaml). */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/framework/primus.h"

static const char model_flag[] = "modules.pre_trainer.model",
                  framework_flag[] = "modules.pre_trainer.framework",
                  deepep_flag[] = "use_turbo_deepep";

/* ---- defaults ---- */

/* Of modules/megatron/pre_trainer.yaml and trainer_base.yaml, and of models/megatron: all that
 * have experts take the dispatcher and the product of qwen2.5_base.yaml and
 * deepseek_v3_base.yaml. */
static const struct fallback {
    const char *flag, *value, *said;
    bool pretrains; /* other trainers' files have others, which are not known */
} fallbacks[] = {
    {"micro-batch-size", "2", "trainer_base.yaml: micro_batch_size", true},
    {"global-batch-size", "16", "pre_trainer.yaml: global_batch_size", true},
    {"seq-length", "1024", "pre_trainer.yaml: seq_length", true},
    {"bf16", "true", "trainer_base.yaml: bf16", false},
    {"sequence-parallel", "true", "language_model.yaml: sequence_parallel", false},
    {"moe-token-dispatcher-type", "alltoall", "qwen2.5_base.yaml: moe_token_dispatcher_type",
     false},
    {"data-parallel-sharding-strategy", "no_shard",
     "trainer_base.yaml: data_parallel_sharding_strategy", false},
    {"moe-grouped-gemm", "true", "qwen2.5_base.yaml: moe_grouped_gemm", false},
};

static bool pretrains(const struct job *job)
{
    for (size_t i = 0; i < job->n_settings; i++)
        if (text_starts(job->settings[i].name, "modules.pre_trainer."))
            return true;
    return false;
}

static enum status primus_prepare(struct job *job)
{
    const char *framework = "megatron";
    TRY(job_word(job, framework_flag, &framework));
    if (!text_equal(framework, "megatron")) {
        job_fail(job, framework_flag, "Primus's experiments with '%s' are not read", framework);
        return err_hint(job->err, "those of megatron, torchtitan, maxtext and megatron_bridge "
                                  "are");
    }
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
        if (!fallbacks[i].pretrains || pretrains(job))
            job_assume(job, fallbacks[i].flag, fallbacks[i].value, fallbacks[i].said);
    return job->err->status;
}

/* ---- the model ---- */

/* "deepseek_v3.yaml", "qwen3_30B_A3B.yaml", "llama4_17B16E.yaml", a path in front or not. */
const char *primus_model_of_file(struct job *job, const char *file)
{
    char *name = arena_strdup(job->arena, text_base_name(file));
    struct text letters = {.arena = job->arena};
    if (text_ends(name, ".yaml"))
        name[strlen(name) - strlen(".yaml")] = '\0';
    for (char *at = name; *at; at++) {
        if (isalnum((unsigned char)*at))
            text_printf(&letters, "%c", tolower((unsigned char)*at));
        *at = *at == '_' ? '-' : *at;
    }
    const char *plain = text_string(&letters);
    const char *model = model_name_from(NAMES_HUB, name, job->arena);
    model = model ? model : model_name_of_letters(NAMES_HUB, plain, job->arena);
    return model ? model : model_name_of_letters(NAMES_MAXTEXT, plain, job->arena);
}

static bool job_says_true(const struct setting *s)
{
    return !s->off && (s->n == 0 || text_equal(s->values[0], "true"));
}

/* The file's model; false: not known. */
static bool find_model(struct job *job, struct plan *plan)
{
    struct err ignored = {0}, *before = job->err;
    bool known = false;
    job->err = &ignored;
    enum status status = job_part(job, "model", plan, &known);
    job->err = before;
    return status == STATUS_OK && known;
}

static bool has_latent(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    return find_model(job, plan) && plan->model.attention.kind == ATTENTION_MLA;
}

/* Of models that see Megatron-LM's GPT is the text. */
static void set_named(struct job *job, const char *model)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    job_set(job, "model", model, model_flag);
    if (find_model(job, plan) && plan->model.encoder.layers)
        job_set(job, "model.encoder.layers", "0", model_flag);
}

/* What overrides say of a named model beside its plain numbers: its layers are read, of the
 * rest only that it is there. */
static enum status read_shape(struct job *job)
{
    static const char *const shapes[] = {
        "num-experts",          "moe-router-topk",      "moe-ffn-hidden-size",
        "ffn-hidden-size",      "num-query-groups",     "multi-latent-attention",
        "q-lora-rank",          "kv-lora-rank",         "kv-channels",
        "hybrid-layer-pattern", "window-size",          "moe-shared-expert-intermediate-size",
        "vocab-size",           "group-query-attention"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct setting *s = job_setting(job, shapes[i]);
        if (s && text_equal(shapes[i], "multi-latent-attention") &&
            job_says_true(s) == has_latent(job))
            continue;
        if (s && !job_requested(job, s->flag->key))
            job_warn(job, s->mark, "%s changes the model of the file and is not read: give %s",
                     shapes[i], s->flag->key);
    }
    return job_given(job, "moe-layer-freq") ? megatron_set_layers(job) : STATUS_OK;
}

static enum status read_model(struct job *job)
{
    const char *file = NULL;
    TRY(job_word(job, model_flag, &file));
    if (!file || draft_find(&job->draft, "model"))
        return STATUS_OK;
    const char *model = primus_model_of_file(job, file);
    if (!model && !job->described && !job_given(job, "num-layers")) {
        job_fail(job, model_flag, "the model of '%s' is not known", file);
        return err_hint(job->err, "name it, as in --set model=deepseek-v3; "
                                  "'moeplan list models'");
    }
    if (model)
        set_named(job, model);
    return STATUS_OK;
}

/* ---- Primus-Turbo ---- */

/* Its switches are off without the one of them all (primus_turbo.yaml). */
static enum status read_turbo(struct job *job)
{
    static const char stage_flag[] = "turbo_sync_free_moe_stage",
                      units_flag[] = "turbo_deepep_num_cu";
    bool turbo, deepep;
    uint64_t stage = 0, units = 32;
    TRY(megatron_is_on(job, "enable_primus_turbo", &turbo));
    TRY(megatron_is_on(job, deepep_flag, &deepep));
    TRY(job_count(job, stage_flag, &stage));
    TRY(job_count(job, units_flag, &units));
    if (!turbo || !deepep)
        return STATUS_OK;
    job_set(job, "moe.path", "deepep", deepep_flag);
    job_set_count(job, "moe.sync_free", stage, stage_flag);
    if (job_given(job, units_flag))
        job_set_count(job, "moe.dispatch_sms", units, units_flag);
    return STATUS_OK;
}

/* Gathering parameters beside the forward pass is of the distributed optimizer alone
 * (megatron/training/arguments.py asserts it). */
static enum status read_optimizer(struct job *job)
{
    bool gathers;
    TRY(megatron_is_on(job, "overlap-param-gather", &gathers));
    if (gathers && !job_given(job, "use-distributed-optimizer") &&
        job_drafted(job, "parallel.zero", 0) == 0)
        job_set(job, "parallel.zero", "1", "overlap-param-gather");
    return STATUS_OK;
}

/* Layers by their numbers in the model that full recomputation is for
 * (backends/megatron/patches/recompute_layer_patches.py). */
static enum status read_layers(struct job *job)
{
    static const char flag[] = "recompute_layer_ids";
    const struct setting *s = job_setting(job, flag);
    uint64_t n = 0, pp = job_drafted(job, "parallel.pp", 1);
    if (!s || s->trouble)
        return STATUS_OK;
    for (size_t i = 0; i < s->n; i++)
        for (const char *at = s->values[i]; *at;
             at += strcspn(at, ",") + (strchr(at, ',') != NULL))
            n++;
    uint64_t each = pp ? n / pp : 0;
    struct mark mark = s->mark;
    if (each) {
        job_assume(job, "recompute-method", "block", flag);
        job_assume(job, "recompute-num-layers", arena_printf(job->arena, "%" PRIu64, each),
                   flag);
    } else {
        draft_set(&job->draft, "recompute.kind", "none", mark, flag);
    }
    job_warn(job, mark,
             "recompute_layer_ids matters to memory: %" PRIu64 " layers of every stage are "
             "planned to run again, where some may have more",
             each);
    return STATUS_OK;
}

static enum status primus_finish(struct job *job)
{
    TRY(read_layers(job));
    TRY(read_model(job));
    if (draft_find(&job->draft, "model"))
        TRY(read_shape(job));
    TRY(megatron_finish(job));
    TRY(read_optimizer(job));
    return read_turbo(job);
}

const struct job_framework job_primus = {
    .name = "primus",
    .title = "a Primus experiment",
    .stack = "primus",
    .source = "AMD-AGI/Primus 05b350b33139",
    .syntax = JOB_OVERRIDES,
    .sections = PRIMUS_SECTIONS,
    .flags = megatron_flags,
    .n_flags = &megatron_n_flags,
    .prepare = primus_prepare,
    .finish = primus_finish,
    .names = NAMES_NONE,
    .files = true,
    .own = "Primus",
    .trains = true,
};
