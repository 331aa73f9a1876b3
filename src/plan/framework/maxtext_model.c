/* The model of a MaxText job: the base_ keys, or a file of configs/models by its name; see
 * maxtext.h. Read at AI-Hypercomputer/maxtext e591f30cbbf2, and maxtext 0.2.5
 * (configs/pyconfig.py, configs/types.py). */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/framework/maxtext.h"

static const struct {
    const char *field, *key;
    const char *fallback; /* of base.yml; NULL: sets nothing */
} sizes[] = {
    {"base_num_decoder_layers", "model.layers", "16"},
    {"base_emb_dim", "model.hidden", "2048"},
    {"base_num_query_heads", "model.attention.heads", "16"},
    {"base_num_kv_heads", "model.attention.kv_heads", "16"},
    {"head_dim", "model.attention.head_dim", "128"},
    {"base_mlp_dim", "model.dense_intermediate", "7168"},
    {"base_moe_mlp_dim", "model.moe.intermediate", NULL},
    {"first_num_dense_layers", "model.dense_layers", NULL},
    {"num_experts", "model.moe.experts", NULL},
    {"num_experts_per_tok", "model.moe.top_k", NULL},
    {"shared_experts", "model.moe.shared_experts", NULL},
    {"interleave_moe_layer_step", "model.moe_every", NULL},
    {"vocab_size", "model.vocab", "32000"},
    {"logits_via_embedding", "model.tied_embeddings", NULL},
    {"q_lora_rank", "model.attention.q_lora_rank", NULL},
    {"kv_lora_rank", "model.attention.kv_lora_rank", NULL},
    {"qk_nope_head_dim", "model.attention.qk_nope_head_dim", NULL},
    {"qk_rope_head_dim", "model.attention.qk_rope_head_dim", NULL},
    {"v_head_dim", "model.attention.v_head_dim", NULL},
    {"use_qk_norm", "model.attention.qk_norm", NULL},
    {"routed_scaling_factor", "model.moe.router.scale", NULL},
    {"routed_score_func", "model.moe.router.score", NULL},
    {"routed_bias", "model.moe.router.bias", NULL},
    {"mtp_num_layers", "model.mtp_layers", NULL},
};

/* attention_type local_sliding or chunk: every layer attends within so many tokens. */
static enum status set_local(struct job *job, const char *type)
{
    static const struct {
        const char *type, *flag, *key, *layer;
    } kinds[] = {{"local_sliding", "sliding_window_size", "model.attention.window", "window"},
                 {"chunk", "chunk_attn_window_size", "model.attention.chunk", "chunk"}};
    bool sinks = false;
    TRY(job_switch(job, "attention_sink", &sinks));
    if (sinks)
        job_set(job, "model.attention.sinks", "true", "attention_sink");
    for (size_t i = 0; i < 2; i++) {
        uint64_t size = 0;
        if (!text_equal(type, kinds[i].type))
            continue;
        TRY(job_count(job, kinds[i].flag, &size));
        if (!size)
            return job_fail(job, "attention_type", "attention_type '%s' needs '%s'", type,
                            kinds[i].flag);
        job_set_count(job, kinds[i].key, size, kinds[i].flag);
        job_set_list(job, "model.layer_types", &kinds[i].layer, 1, "attention_type");
    }
    return STATUS_OK;
}

/* global_parameter_scale: steps of doubling heads and networks, the width, the depth, in turn
 * (configs/types.py, get_individual_scales). */
static enum status scale_sizes(struct job *job)
{
    static const char flag[] = "global_parameter_scale";
    uint64_t scale = 1, doublings = 0;
    TRY(job_count(job, flag, &scale));
    for (uint64_t left = scale; left > 1 && left % 2 == 0; left /= 2)
        doublings++;
    if (!scale || scale != (uint64_t)1 << doublings || doublings > 30)
        return job_fail(job, flag, "'%s' is a power of two up to 2^30", flag);
    const uint64_t depth = doublings / 3, heads = depth + (doublings % 3 > 0),
                   width = depth + (doublings % 3 > 1);
    const struct {
        const char *key;
        uint64_t doublings;
    } scaled[] = {{"model.hidden", width},
                  {"model.attention.heads", heads},
                  {"model.attention.kv_heads", heads},
                  {"model.dense_intermediate", heads},
                  {"model.moe.intermediate", heads},
                  {"model.layers", depth}};
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled && scale > 1; i++) {
        uint64_t size = job_drafted(job, scaled[i].key, 0);
        if (size && size < (uint64_t)1 << 30)
            job_set_count(job, scaled[i].key, size << scaled[i].doublings, flag);
    }
    return STATUS_OK;
}

/* What follows from the sizes of a model of its own. */
static enum status set_layers(struct job *job)
{
    uint64_t experts = job_drafted(job, "model.moe.experts", 1);
    if (experts > 1 && !draft_find(&job->draft, "model.moe.intermediate"))
        job_set_count(job, "model.moe.intermediate",
                      job_drafted(job, "model.dense_intermediate", 7168), "base_mlp_dim");
    TRY(scale_sizes(job));
    uint64_t layers = job_drafted(job, "model.layers", 0);
    uint64_t every = job_drafted(job, "model.moe_every", 1);
    uint64_t dense = job_drafted(job, "model.dense_layers", 0);
    if (experts <= 1)
        job_set_count(job, "model.dense_layers", layers, "num_experts");
    else if (every > 1)
        job_set_count(job, "model.dense_layers", layers - layers / every,
                      "interleave_moe_layer_step");
    else
        job_set_count(job, "model.dense_layers", dense, "first_num_dense_layers");
    return STATUS_OK;
}

/* In no model's file (configs/models), so that any file or command line may say it of all. */
static const char of_no_model[] = "mtp_num_layers";

/* Whether the named model's own file stands above what a job's file says of it: only the
 * command line stands above both (configs/pyconfig.py, _initialize_pydantic). */
static bool is_hidden(const struct setting *s)
{
    return s && s->layer < JOB_COMMAND_LINE && !text_equal(s->name, of_no_model);
}

/* A model of its own, or changes to a named one. */
static enum status set_sizes(struct job *job, bool named)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *value = named ? NULL : sizes[i].fallback;
        TRY(job_word(job, sizes[i].field, &value));
        if (value && !(named && is_hidden(job_setting(job, sizes[i].field))))
            job_set(job, sizes[i].key, value, sizes[i].field);
    }
    const char *type = "";
    TRY(job_word(job, "attention_type", &type));
    if (text_equal(type, "mla"))
        job_set(job, "model.attention.kind", "mla", "attention_type");
    TRY(set_local(job, type));
    return named ? STATUS_OK : set_layers(job);
}

/* Keys that a named model has already: a command line may not change them, a file does not. */
static enum status check_changes(struct job *job, const char *name, bool override)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct setting *s = job_setting(job, sizes[i].field);
        if (!s || text_equal(sizes[i].field, of_no_model))
            continue;
        if (is_hidden(s)) {
            job_warn(job, s->mark,
                     "'%s' stands in a file, where the named model '%s' holds against it: it "
                     "changes nothing; the command line may change it, with "
                     "override_model_config=true",
                     s->name, name);
            continue;
        }
        if (override)
            continue;
        job_fail(job, sizes[i].field, "'%s' changes the named model '%s': MaxText refuses it",
                 sizes[i].field, name);
        return err_hint(job->err, "set override_model_config to true");
    }
    return STATUS_OK;
}

/* Rows of tables that MaxText pads or names otherwise than the hub does: vocab_size of
 * configs/models. */
static const struct {
    const char *begins;
    uint64_t vocab;
} vocabularies[] = {
    {"gemma-", 256128}, {"gemma2-", 256128}, {"gemma3-", 262144}, {"mixtral-8x22b", 32768}};

static void set_vocabulary(struct job *job, const char *name)
{
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
        if (text_starts(name, vocabularies[i].begins))
            job_set_count(job, "model.vocab", vocabularies[i].vocab, "model_name");
}

/* Encoders of images are built where use_multimodal is true (models/models.py), which it is in
 * some models' files. */
static enum status set_encoder(struct job *job, const char *name)
{
    static const char flag[] = "use_multimodal";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool built = text_starts(name, "qwen3-vl-") || text_starts(name, "qwen3-omni-"), known;
    const struct setting *s = job_setting(job, flag);
    if (!is_hidden(s) || !built)
        TRY(job_switch(job, flag, &built));
    TRY(job_part(job, "model", plan, &known));
    if (!built && known && plan->model.encoder.layers)
        job_set(job, "model.encoder.layers", "0", "use_multimodal model_name");
    return STATUS_OK;
}

/* The name of a shape: files of configs/models that differ in what is trained or in how axes
 * are laid out have it, too, and so has "-Instruct" (configs/pyconfig.py). */
static const char *known_model(const char *name, struct arena *arena)
{
    static const char *const variants[] = {"-Instruct", "-base", "-2dfsdp", "-batchsplit"};
    const char *model = model_name_from(NAMES_MAXTEXT, name, arena);
    for (size_t i = 0; i < sizeof variants / sizeof *variants && !model; i++)
        if (text_ends(name, variants[i]))
            model = model_name_from(
                NAMES_MAXTEXT, arena_strndup(arena, name, strlen(name) - strlen(variants[i])),
                arena);
    return model;
}

static enum status set_named(struct job *job, const char *name)
{
    static const char scale_flag[] = "global_parameter_scale";
    bool override = false;
    uint64_t scale = 1;
    TRY(job_switch(job, "override_model_config", &override));
    TRY(job_count(job, scale_flag, &scale));
    const char *model = known_model(name, job->arena);
    if (!model) {
        job_fail(job, "model_name", "MaxText's model '%s' is not among moeplan's", name);
        return err_hint(job->err, "name one, as in --set model=mixtral-8x7b, or a model file");
    }
    if (scale > 1)
        return job_fail(job, scale_flag,
                        "'%s' beside the named model '%s' is not read: give its sizes",
                        scale_flag, name);
    job_set(job, "model", model, "model_name");
    set_vocabulary(job, name);
    TRY(check_changes(job, name, override));
    TRY(set_encoder(job, name));
    return set_sizes(job, true);
}

enum status maxtext_set_model(struct job *job)
{
    static const char taught[] = "teacher_overrides.model_name";
    const char *name = "default";
    TRY(job_word(job, "model_name", &name));
    if (job_given(job, taught)) {
        job_fail(job, taught, "a model that another one teaches is not read");
        return err_hint(job->err,
                        "a plan of the student alone, with model_name, leaves out the "
                        "teacher's weights");
    }
    if (draft_find(&job->draft, "model"))
        return STATUS_OK;
    return text_equal(name, "default") ? set_sizes(job, false) : set_named(job, name);
}
