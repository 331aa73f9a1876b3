/* Megatron-Bridge: a Python recipe with overrides, in Megatron's names. What only the recipe
 * says is not known; its name may say which model it is for. Read at
 * NVIDIA-NeMo/Megatron-Bridge 067f987df03b. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/framework/frozen_names.h"
#include "plan/framework/megatron.h"
#include "plan/framework/primus.h"
#include "plan/schema/schema.h"

/* Recipes are called "qwen3_30b_a3b_pretrain_config", "deepseek_v3": the longest beginning. */
const char *bridge_model_of_recipe(struct job *job, const char *recipe)
{
    char *name = arena_strdup(job->arena, recipe);
    for (size_t length = strlen(name); length > 2; length--) {
        name[length] = '\0';
        const char *model = model_name_from(NAMES_BRIDGE, name, job->arena);
        if (model)
            return model;
    }
    return NULL;
}

/* "examples/recipes/qwen/pretrain_qwen3_next_80b_a3b.py": the recipe of a script's name; NULL:
 * it has none. */
static const char *recipe_of_script(struct job *job)
{
    static const char *const heads[] = {"pretrain_", "finetune_"};
    for (size_t i = 0; job->command && i < job->command->n; i++) {
        const char *name = text_base_name(job->command->items[i].text);
        for (size_t j = 0; j < 2 && text_ends(name, ".py"); j++)
            if (text_starts(name, heads[j]))
                return arena_strndup(job->arena, name + strlen(heads[j]),
                                     strlen(name) - strlen(heads[j]) - strlen(".py"));
    }
    return NULL;
}

/* The class that a saved configuration names of a part, without its module, in lower case:
 * "lora" of "megatron.bridge.peft.lora.LoRA"; NULL: none. */
static enum status class_of(struct job *job, const char *flag, const char **name)
{
    const char *path = NULL;
    TRY(job_word(job, flag, &path));
    if (!path)
        return STATUS_OK;
    const char *dot = strrchr(path, '.');
    char *lower = arena_strdup(job->arena, dot ? dot + 1 : path);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    *name = lower;
    return STATUS_OK;
}

/* A provider's class has the sizes of its model: Qwen3MoEModelProvider30B_A3B,
 * GPTOSSProvider120B (models/<family>/<family>_provider.py). Letters and digits of it, without
 * "moe", "model" and "provider", are those of the recipe. */
static enum status read_provider(struct job *job)
{
    static const char *const taken[] = {"moe", "model", "provider"};
    const char *name = NULL;
    TRY(class_of(job, "model._target_", &name));
    if (!name || job_given(job, "num-layers") || draft_find(&job->draft, "model"))
        return STATUS_OK;
    struct text plain = {.arena = job->arena};
    while (*name) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            skip = text_starts(name, taken[i]) ? strlen(taken[i]) : skip;
        if (!skip && isalnum((unsigned char)*name))
            text_printf(&plain, "%c", *name);
        name += skip ? skip : 1;
    }
    const char *model = model_name_of_letters(NAMES_BRIDGE, text_string(&plain), job->arena);
    if (model)
        job_set(job, "model", model, "model._target_");
    return STATUS_OK;
}

/* Recipes set the layout: without one that is said, a whole model would stand on a rank. */
static bool says_layout(struct job *job)
{
    static const char *const said[][2] = {
        {"tensor-model-parallel-size", "parallel.tp"},
        {"pipeline-model-parallel-size", "parallel.pp"},
        {"expert-model-parallel-size", "parallel.ep"},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (job_given(job, said[i][0]) || job_requested(job, said[i][1]))
            return true;
    return false;
}

/* A setting that none of Bridge's is called: there is a recipe whose values are known. */
static const char recipe_mark[] = "recipe: its values";

static bool takes_recipe(const struct job *job)
{
    for (size_t i = 0; i < job->n_settings; i++)
        if (text_equal(job->settings[i].name, recipe_mark))
            return true;
    return false;
}

/* A recipe's own values, where the job is its function's, or says no layout at all: names of
 * recipes stay while what they set changes, so those who say some of it may mean another. */
static enum status add_recipe(struct job *job, bool python)
{
    const char *recipe = NULL, *commit;
    TRY(job_word(job, "recipe", &recipe));
    const struct setting *s = job_setting(job, "recipe");
    if (!recipe || (!python && says_layout(job)))
        return STATUS_OK;
    TRY(bridge_add_recipe(job, recipe, &commit));
    if (!commit)
        return STATUS_OK;
    job_add(job, (struct setting){.name = recipe_mark, .said = recipe_mark, .used = true});
    job_warn(job, s->mark,
             "what recipe '%s' sets by itself is taken of Megatron-Bridge %s, and matters to "
             "memory: other versions set other values",
             recipe, commit);
    return job->err->status;
}

/* The recipe of a job, and the flag that says it: by its name, by a family and a size, as the
 * performance scripts of releases before 0.2 took it, or by the script's. */
static enum status find_recipe(struct job *job, const char **recipe, const char **flag)
{
    static const char family_flag[] = "model_name", size_flag[] = "model_size";
    const char *family = NULL, *size = NULL;
    *flag = job_given(job, "recipe")              ? "recipe"
            : job_given(job, "model_recipe_name") ? "model_recipe_name"
                                                  : family_flag;
    TRY(job_word(job, size_flag, &size));
    TRY(job_word(job, family_flag, &family));
    if (!text_equal(*flag, family_flag))
        TRY(job_word(job, *flag, recipe));
    else if (family && size)
        *recipe = arena_printf(job->arena, "%s_%s", family, size);
    *recipe = *recipe ? *recipe : recipe_of_script(job);
    return STATUS_OK;
}

static enum status read_recipe(struct job *job)
{
    const char *recipe = NULL, *flag;
    TRY(find_recipe(job, &recipe, &flag));
    const char *model = recipe ? bridge_model_of_recipe(job, recipe) : NULL;
    if (!recipe || (!model && !job_given(job, flag)))
        return STATUS_OK;
    const struct setting *s = job_setting(job, flag);
    struct mark mark = s ? s->mark : job_place(job);
    if (model && !draft_find(&job->draft, "model"))
        draft_set(&job->draft, "model", model, mark, s ? s->said : "the script's name");
    if (takes_recipe(job))
        return STATUS_OK;
    if (!says_layout(job)) {
        job_fail(job, flag, "recipe '%s' sets the layout, and as a Python function is not read",
                 recipe);
        return err_hint(job->err, "say it as overrides of the job, or as --set parallel.tp=1 "
                                  "--set parallel.pp=4 --set parallel.ep=8");
    }
    job_warn(job, mark,
             "recipe '%s' is a Python function, which is not read: what it sets is missing",
             recipe);
    return STATUS_OK;
}

/* Each derives from bf16_mixed, which reduces gradients in f32; the performance scripts'
 * compute_dtype names the same and reduces in bf16 (recipes/common.py, perf_recipes). */
static const struct mixed {
    const char *name, *dtype, *recipe, *quantized;
    uint64_t plain; /* first and last layers in 16 bits; the scripts have none */
} recipes[] = {
    {"bf16_mixed", "bf16", "none", "false", 0},
    {"bf16_with_fp8_delayed_scaling_mixed", "fp8_ds", "fp8_delayed", "true", 0},
    {"bf16_with_fp8_current_scaling_mixed", "fp8_cs", "fp8_current", "true", 1},
    {"bf16_with_fp8_subchannel_scaling_mixed", "fp8_sc", "fp8_block", "false", 0},
    {"bf16_with_mxfp8_mixed", "fp8_mx", "mxfp8", "true", 0},
    {"bf16_with_nvfp4_mixed", "nvfp4", "nvfp4", "true", 0},
    {"nemotron_h_bf16_with_fp8_current_scaling_mixed", "", "fp8_current", "true", 2},
    {"nanov2_bf16_with_fp8_current_scaling_mixed", "", "fp8_block", "true", 2},
};

static bool same(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '-' && *b == '_'))
            return false;
    return *a == *b;
}

/* The row of a recipe's name, or of a script's dtype. */
static const struct mixed *find_mixed(const char *name, bool is_dtype)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (same(name, is_dtype ? recipes[i].dtype : recipes[i].name))
            return &recipes[i];
    return NULL;
}

bool bridge_is_precision(const char *name)
{
    return find_mixed(name, false) != NULL;
}

/* A script's dtype; "fp8" has its scaling beside it, ds, cs, mx or sc: cs unless given. */
static enum status read_dtype(struct job *job, const char **dtype)
{
    const char *scaling = "cs";
    TRY(job_word(job, "compute_dtype", dtype));
    if (!*dtype || (!same(*dtype, "fp8") && !same(*dtype, "FP8")))
        return STATUS_OK;
    TRY(job_word(job, "fp8-recipe", &scaling));
    *dtype = arena_printf(job->arena, "fp8_%s", scaling);
    return STATUS_OK;
}

static enum status read_precision(struct job *job)
{
    const char *name = "bf16_mixed", *dtype = NULL;
    static const char flags[] = "mixed_precision compute_dtype";
    TRY(job_word(job, "mixed_precision", &name));
    TRY(read_dtype(job, &dtype));
    if (!job_given(job, "mixed_precision") &&
        (job_given(job, "bf16") || job_given(job, "fp16")))
        return STATUS_OK;
    bool script = dtype && !job_given(job, "mixed_precision");
    const struct mixed *found = find_mixed(script ? dtype : name, script);
    if (!found)
        return job_fail(job, script ? "compute_dtype" : "mixed_precision",
                        "'%s' is no precision recipe", script ? dtype : name);
    job_set(job, "precision.weights", "bf16", flags);
    job_set_rows(job, "bf16", flags);
    bool plain = text_equal(found->recipe, "none");
    if (!plain) {
        job_set(job, "precision.recipe", found->recipe, flags);
        job_set(job, "precision.quantized_params", found->quantized, flags);
        uint64_t layers = found->plain ? found->plain : 1;
        TRY(megatron_set_plain(job, found->plain && !script, layers, layers));
    }
    job_set(job, "precision.compute", plain ? "bf16" : "fp8", flags);
    job_set(job, "precision.master", "f32", "mixed_precision");
    if (!job_given(job, "grad_reduce_in_fp32"))
        job_set(job, "precision.gradients", script ? "bf16" : "f32", flags);
    return STATUS_OK;
}

const char *bridge_precision(enum precision_recipe recipe)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (text_equal(recipes[i].recipe, words_recipe[recipe]))
            return recipes[i].name;
    return NULL;
}

/* Of experts' linear layers, shared ones not among them, the rank over the experts of a token
 * (peft/lora.py, _get_effective_dim; utils.py, is_expert_linear). */
static enum status set_expert_rank(struct job *job)
{
    static const char flag[] = "peft.normalize_moe_lora";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t rank = job_drafted(job, "lora.rank", 0);
    bool on = false, known = false;
    TRY(job_switch(job, flag, &on));
    if (on)
        TRY(job_part(job, "model", plan, &known));
    if (!known || !plan->model.moe.experts || !plan->model.moe.top_k)
        return STATUS_OK;
    if (rank % plan->model.moe.top_k) {
        job_fail(job, flag,
                 "a rank of %" PRIu64 " does not divide by %" PRIu64 " experts a token", rank,
                 plan->model.moe.top_k);
        return err_hint(job->err, "a multiple for peft.dim, or without %s", flag);
    }
    job_set_count(job, "lora.expert_rank", rank / plan->model.moe.top_k, flag);
    return STATUS_OK;
}

enum status bridge_set_adapters(struct job *job)
{
    static const char flag[] = "peft.share_expert_adapters";
    bool shared = true;
    TRY(job_switch(job, flag, &shared));
    job_set(job, "lora.format", "bf16", "");
    job_set(job, "lora.share_experts", shared ? "true" : "false", flag);
    if (job_drafted(job, "parallel.tp", 1) > 1 || job_drafted(job, "parallel.etp", 1) > 1)
        job_set(job, "lora.sharded", "true", "");
    return set_expert_rank(job);
}

/* peft lora or dora: an adapter of rank dim on the matrices named (peft/lora.py). */
static enum status read_adapter(struct job *job)
{
    static const char *const all[] = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
    const char *kind = NULL;
    uint64_t rank = 32;
    const char *flag = job_given(job, "peft") ? "peft" : "peft._target_";
    TRY(job_word(job, "peft", &kind));
    if (!kind)
        TRY(class_of(job, flag, &kind));
    if (!kind || text_equal(kind, "none"))
        return STATUS_OK;
    if (!text_equal(kind, "lora") && !text_equal(kind, "dora")) {
        job_warn(job, job_setting(job, flag)->mark,
                 "adapter '%s' matters to memory and is not modelled: LoRA stands in", kind);
    }
    TRY(job_count(job, "peft.dim", &rank));
    job_set_count(job, "lora.rank", rank, "peft.dim peft peft._target_");
    const struct setting *s = job_setting(job, "peft.target_modules");
    if (s && !s->trouble)
        job_set_list(job, "lora.targets", s->values, s->n, "peft.target_modules");
    else
        draft_set_list(&job->draft, "lora.targets", all, 4, job_setting(job, flag)->mark,
                       "default of peft.target_modules");
    return bridge_set_adapters(job);
}

static bool nothing_trains(const void *with, const struct frozen_name *name)
{
    (void)with;
    (void)name;
    return false;
}

/* All of a vision model's language model (Model.freeze): embedding and head, too. */
static enum status freeze_language(struct job *job)
{
    static const char flag[] = "freeze_language_model";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool on = false, known = false;
    TRY(job_switch(job, flag, &on));
    if (on)
        TRY(job_part(job, "model", plan, &known));
    if (!known || !plan->model.encoder.layers || draft_find(&job->draft, "lora.rank"))
        return STATUS_OK;
    return frozen_set(job, FROZEN_MEGATRON, nothing_trains, NULL, flag, NULL);
}

/* What of a vision model's encoder is trained. */
static enum status read_encoder(struct job *job)
{
    static const char flags[] = "freeze_vision_model freeze_vision_projection";
    bool model = false, projection = false;
    TRY(job_switch(job, "freeze_vision_model", &model));
    TRY(job_switch(job, "freeze_vision_projection", &projection));
    if (model)
        job_set(job, "workload.encoder.train", projection ? "none" : "projector", flags);
    return freeze_language(job);
}

/* The script that is launched, where it is there to be read. */
static enum status read_script(struct job *job, bool *python)
{
    const char *path, *text;
    size_t length;
    for (size_t i = 0; job->command && i < job->command->n; i++) {
        const char *name = job->command->items[i].text;
        if (!text_ends(name, ".py"))
            continue;
        TRY(job_other_file(job, name, &path, &text, &length));
        if (text && bridge_is_python(text)) {
            *python = true;
            return bridge_read_python(job, path, text, length);
        }
    }
    return STATUS_OK;
}

/* The performance scripts name the device and the number of ranks. */
static enum status bridge_prepare(struct job *job)
{
    const char *device = NULL;
    bool python = !job->shell && text_ends(job->file, ".py");
    TRY(primus_lend(job));
    TRY(read_script(job, &python));
    TRY(add_recipe(job, python));
    TRY(bridge_set_script(job));
    TRY(job_count(job, "num_gpus", &job->size.world));
    TRY(job_count(job, "gpus_per_node", &job->size.per_node));
    TRY(job_word(job, "gpu", &device));
    if (device)
        job_set(job, "cluster", device, "gpu");
    return STATUS_OK;
}

/* A job of a recipe: of its own, or of a script's name. */
static bool has_recipe(struct job *job)
{
    return job_given(job, "recipe") || job_given(job, "model_recipe_name") ||
           job_given(job, "model_size") || recipe_of_script(job);
}

/* Recipes with experts set etp 1, and Megatron refuses tp beside experts without sequence
 * parallelism (recipes, transformer_config.py). */
static enum status complete_layout(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, routed = job_drafted(job, "model.moe.experts", 0) > 0;
    TRY(job_part(job, "model", plan, &known));
    routed = routed || (known && plan->model.moe.experts > 0);
    if (!routed || !has_recipe(job))
        return STATUS_OK;
    if (!job_given(job, "expert-tensor-parallel-size"))
        job_set(job, "parallel.etp", "1", "");
    if (!job_given(job, "sequence-parallel") && job_drafted(job, "parallel.tp", 1) > 1)
        job_set(job, "parallel.sp", "true", "");
    return STATUS_OK;
}

/* What a checkpoint says of prediction modules is the provider's: num_nextn_predict_layers and
 * mtp_num_hidden_layers are mtp_num_layers (models/conversion/model_bridge.py, megatron-bridge
 * 0.6.2), of these families. Others set none (glm5_bridge.py, ernie_45_bridge.py,
 * minimax_m3_bridge.py), or their configurations have no such field (Qwen3-Next). */
static void set_modules(struct job *job)
{
    static const char *const families[] = {"deepseek-v3", "deepseek-r1",   "glm-4.5",
                                           "glm-4.6",     "glm-4.7-flash", "qwen3.5-"};
    const struct draft_item *model = draft_find(&job->draft, "model");
    bool said = false;
    for (size_t i = 0; i < job->n_settings; i++) /* None, too */
        said = said || text_ends(job->settings[i].name, "mtp_num_layers");
    if (said || !model || model->list || !job_given(job, "hf_path"))
        return;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (text_starts(model->words[0], families[i]) &&
            !text_equal(model->words[0], "glm-4.5v"))
            job_set(job, "model.mtp_enabled", "true", "hf_path");
}

enum status bridge_finish(struct job *job)
{
    TRY(job_set_model(job, "hf_path"));
    TRY(read_recipe(job));
    TRY(read_provider(job));
    bool named = job_given(job, "num-layers") || draft_find(&job->draft, "model");
    if (!named && !job->described) {
        job_refuse(job, "the job does not say which model it runs");
        return err_hint(job->err, "a recipe's model is not read: name it, as in --set "
                                  "model=qwen3-30b-a3b");
    }
    set_modules(job);
    TRY(megatron_finish(job));
    if (job->framework == &job_bridge &&
        (!job_given(job, "num-layers") || job_given(job, "vocab-size")))
        megatron_keep_vocabulary(job); /* else it is the tokenizer's */
    TRY(complete_layout(job));
    bool fsdp = false;
    TRY(job_switch(job, "use-megatron-fsdp", &fsdp));
    if (!job_given(job, "use-distributed-optimizer") && !fsdp)
        job_set(job, "parallel.zero", "1", "");
    TRY(read_adapter(job));
    TRY(read_encoder(job));
    return read_precision(job);
}

const struct job_framework job_bridge = {
    .name = "bridge",
    .title = "a Megatron-Bridge job",
    .stack = "megatron",
    .source = "NVIDIA-NeMo/Megatron-Bridge 067f987df03b",
    .syntax = JOB_OVERRIDES,
    .sections =
        "model. train. ddp. optimizer. scheduler. dataset. tokenizer. checkpoint. dist. "
        "logger. rng. comm_overlap. mixed_precision. validation. profiling. "
        "optimizer_config. " PRIMUS_SECTIONS,
    .claims = primus_of_bridge,
    .flags = megatron_flags,
    .n_flags = &megatron_n_flags,
    .prepare = bridge_prepare,
    .finish = bridge_finish,
    .write = bridge_write,
    .write_flag = bridge_write_flag,
    .names = NAMES_BRIDGE,
    .files = true,
    .python = bridge_read_python,
    .trains = true,
};
