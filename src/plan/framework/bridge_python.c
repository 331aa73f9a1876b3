/* Megatron-Bridge's configurations in Python: a script that calls a recipe's function or builds
 * a ConfigContainer, and sets fields of what it gives. Read as text, never run; what is not
 * understood is warned of at its place. */
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/text/python.h"
#include "plan/text/python_word.h"

/* The configuration's names in a script, and where settings go. */
struct script {
    struct job *job;
    struct {
        const char *name, *field; /* m of "m = cfg.model" is field "model" */
    } roots[8];
    size_t n_roots;
    struct mark recipe; /* where it is called; line 0: nowhere */
    bool other;         /* what follows is of another one than --line says */
};

bool bridge_is_python(const char *text)
{
    return strstr(text, "megatron.bridge") != NULL;
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* The field of the configuration that a name is, "" for all of it; NULL: it is none. */
static const char *field_of(const struct script *script, const char *name)
{
    for (size_t i = script->n_roots; i > 0; i--) {
        const char *root = script->roots[i - 1].name, *field = script->roots[i - 1].field;
        size_t n = strlen(root);
        if (!text_starts(name, root) || (name[n] && name[n] != '.'))
            continue;
        const char *rest = name + n + (name[n] == '.');
        return *field && *rest ? arena_printf(script->job->arena, "%s.%s", field, rest)
               : *rest         ? rest
                               : field;
    }
    return NULL;
}

/* ---- values ---- */

static void add_value(struct script *script, const char *name, const struct python_value *value,
                      struct mark mark);

/* A later assignment of the same field holds. */
static void add_setting(struct script *script, struct setting setting)
{
    struct job *job = script->job;
    setting.flag = job_flag_find(job->framework, setting.name, strlen(setting.name));
    for (size_t i = 0; i < job->n_settings; i++)
        if (setting.flag && job->settings[i].flag == setting.flag)
            job->settings[i].used = true;
    setting.said = setting.name;
    setting.used = setting.null;
    job_add(job, setting);
}

/* A word as it stands, a field of the configuration that has one, or NULL: not known. */
static const char *known_word(const struct script *script, const struct python_value *value)
{
    const struct job *job = script->job;
    const char *field;
    if (value->kind != PYTHON_WORD)
        return NULL;
    bool name = !value->quoted && !value->number && !text_equal(value->text, "true") &&
                !text_equal(value->text, "false");
    if (!name || text_starts(value->text, "torch."))
        return value->text;
    field = field_of(script, value->text);
    for (size_t i = job->n_settings; field && i > 0; i--)
        if (text_equal(job->settings[i - 1].name, field) && job->settings[i - 1].n == 1)
            return job->settings[i - 1].values[0];
    return NULL;
}

static const char *trouble_of(struct job *job, const struct python_value *value)
{
    return arena_printf(job->arena, "'%.60s' is worked out when the script runs", value->text);
}

/* A list inside a list is its words with commas between. */
static const char *item_text(const struct script *script, const struct python_value *value,
                             const char **trouble)
{
    struct job *job = script->job;
    struct text text = {.arena = job->arena};
    if (value->kind != PYTHON_LIST) {
        const char *known = known_word(script, value);
        *trouble = known ? *trouble : trouble_of(job, value);
        return known ? known : "";
    }
    for (size_t i = 0; i < value->n; i++) {
        const char *word = known_word(script, &value->items[i].value);
        *trouble = word ? *trouble : trouble_of(job, value);
        text_printf(&text, "%s%s", i ? "," : "", word ? word : "");
    }
    return text_string(&text);
}

static void add_list(struct script *script, const char *name, const struct python_value *list,
                     struct mark mark)
{
    const char **values = arena_alloc(script->job->arena, list->n + 1, sizeof *values);
    struct setting setting = {.name = name, .mark = mark, .values = values, .n = list->n};
    for (size_t i = 0; i < list->n; i++)
        values[i] = item_text(script, &list->items[i].value, &setting.trouble);
    add_setting(script, setting);
}

static void add_word(struct script *script, const char *name, const char *word,
                     const char *trouble, struct mark mark)
{
    const char **values = arena_alloc(script->job->arena, 1, sizeof *values);
    values[0] = word;
    add_setting(script,
                (struct setting){
                    .name = name, .mark = mark, .values = values, .n = 1, .trouble = trouble});
}

static void add_arguments(struct script *script, const char *prefix,
                          const struct python_value *call, struct mark mark)
{
    for (size_t i = 0; i < call->n; i++) {
        const struct python_argument *a = &call->items[i];
        if (a->name)
            add_value(script,
                      *prefix ? arena_printf(script->job->arena, "%s.%s", prefix, a->name)
                              : a->name,
                      &a->value, mark);
    }
}

/* AutoBridge.from_hf_pretrained("org/name"), bf16_mixed(), LoRA(dim=16), CommOverlapConfig(..)
 */
static void add_call(struct script *script, const char *name, const struct python_value *call,
                     struct mark mark)
{
    const char *function = last_part(call->callee);
    const struct python_value *first =
        call->n && !call->items[0].name ? &call->items[0].value : NULL;
    if (text_starts(function, "from_hf_") && first) {
        const char *word = known_word(script, first);
        add_word(script, "hf_path", word ? word : "",
                 word ? NULL : trouble_of(script->job, first), mark);
        return;
    }
    if (text_equal(name, "mixed_precision")) /* another one: what was said of it is gone */
        add_setting(script, (struct setting){
                                .name = "grad_reduce_in_fp32", .mark = mark, .null = true});
    bool dtype = text_equal(function, "_perf_precision") || /* of the performance recipes */
                 text_equal(function, "get_precision_config");
    if (text_equal(name, "mixed_precision") && dtype && first) {
        add_setting(script, (struct setting){.name = name, .mark = mark, .null = true});
        add_value(script, "compute_dtype", first, mark);
        return;
    }
    if (text_equal(name, "mixed_precision") && !text_equal(function, "MixedPrecisionConfig")) {
        add_word(script, name, function, NULL, mark);
    } else if (text_equal(function, "default_peft_config") && first) {
        add_value(script, name, first, mark);
    } else if (text_equal(name, "peft") || text_equal(name, "model")) {
        add_word(script, arena_printf(script->job->arena, "%s._target_", name), call->callee,
                 NULL, mark);
    }
    add_arguments(script, name, call, mark);
}

static void add_value(struct script *script, const char *name, const struct python_value *value,
                      struct mark mark)
{
    const char *word = known_word(script, value);
    if (value->kind == PYTHON_NONE)
        add_setting(script, (struct setting){.name = name, .mark = mark, .null = true});
    else if (value->kind == PYTHON_LIST)
        add_list(script, name, value, mark);
    else if (value->kind == PYTHON_CALL)
        add_call(script, name, value, mark);
    else
        add_word(script, name, word ? word : value->text,
                 word ? NULL : trouble_of(script->job, value), mark);
}

/* ---- recipes ---- */

/* Arguments of older recipes, which have names of their own. */
static const char *const arguments[][2] = {
    {"tensor_parallelism", "tensor_model_parallel_size"},
    {"pipeline_parallelism", "pipeline_model_parallel_size"},
    {"virtual_pipeline_parallelism", "virtual_pipeline_model_parallel_size"},
    {"context_parallelism", "context_parallel_size"},
    {"expert_parallelism", "expert_model_parallel_size"},
    {"sequence_parallelism", "sequence_parallel"},
    {"precision_config", "mixed_precision"},
    {"peft_scheme", "peft"},
};

static const char *argument_field(const char *argument)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (text_equal(argument, arguments[i][0]))
            return arguments[i][1];
    return argument;
}

/* A function that gives a whole configuration. */
static bool is_recipe(const struct python_value *value)
{
    const char *name = value->kind == PYTHON_CALL ? last_part(value->callee) : "";
    static const char *const kinds[] = {"pretrain", "sft", "peft", "finetune", "dpo"};
    bool kind = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        kind = kind || strstr(name, kinds[i]);
    return text_equal(name, "ConfigContainer") ||
           (kind && (strstr(name, "_config") || text_ends(name, "_common")));
}

static void remember_root(struct script *script, const char *name, const char *field)
{
    if (script->n_roots == sizeof script->roots / sizeof *script->roots)
        return;
    script->roots[script->n_roots].name = name;
    script->roots[script->n_roots++].field = field;
}

static enum status read_recipe_call(struct script *script,
                                    const struct python_statement *statement)
{
    struct job *job = script->job;
    const struct python_value *call = &statement->value;
    const char *name = last_part(call->callee);
    unsigned line = job->shell ? 0 : job->request->line;
    script->other = line && statement->mark.line != line;
    if (script->other)
        return STATUS_OK;
    if (script->recipe.line) {
        err_at(job->err, STATUS_INPUT, statement->mark,
               "a second configuration, after that on line %u", script->recipe.line);
        return job_hint_lines(job, script->recipe.line, 0);
    }
    script->recipe = statement->mark;
    remember_root(script, statement->target, "");
    if (text_equal(name, "ConfigContainer")) {
        add_arguments(script, "", call, statement->mark);
        return job->err->status;
    }
    add_word(script, "recipe", name, NULL, statement->mark);
    for (size_t i = 0; i < call->n; i++)
        if (call->items[i].name)
            add_value(script, argument_field(call->items[i].name), &call->items[i].value,
                      statement->mark);
    return job->err->status;
}

/* ---- what a function is handed ---- */

/* moe_flex_dispatcher_backend is nothing by itself: this turns it on. */
static void apply_flex(struct script *script, const struct python_statement *statement)
{
    static const char type[] = "model.moe_token_dispatcher_type",
                      backend[] = "model.moe_flex_dispatcher_backend";
    const struct python_value *call = &statement->value;
    const struct python_value *given = call->n > 1 ? &call->items[1].value : NULL;
    const char *word = given ? known_word(script, given) : NULL;
    if (!word)
        return;
    add_word(script, type, "flex", NULL, statement->mark);
    add_word(script, backend, word, NULL, statement->mark);
}

static bool hands_over(const struct script *script, const struct python_value *call)
{
    for (size_t i = 0; i < call->n; i++)
        if (field_of(script, call->items[i].value.text))
            return true;
    return false;
}

static void read_call(struct script *script, const struct python_statement *statement)
{
    static const char *const idle[] = {
        "pretrain", "finetune", "print",    "print_yaml",
        "info",     "debug",    "validate", "log_non_default_values",
        "main",     "train",    "to_yaml"};
    const struct python_value *call = &statement->value;
    const char *function = last_part(call->callee);
    struct job *job = script->job;
    if (text_equal(function, "apply_flex_dispatcher_backend")) {
        apply_flex(script, statement);
        return;
    }
    if (text_equal(function, "setattr") && call->n == 3) {
        const char *part = field_of(script, call->items[0].value.text);
        const char *name = known_word(script, &call->items[1].value);
        if (part && name) {
            add_value(script, *part ? arena_printf(job->arena, "%s.%s", part, name) : name,
                      &call->items[2].value, statement->mark);
            return;
        }
    }
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (text_equal(function, idle[i]))
            return;
    if (hands_over(script, call))
        job_warn(job, statement->mark,
                 "'%s' may set more of the configuration, and is not read", call->callee);
}

/* ---- the script ---- */

static enum status read_statement(struct script *script,
                                  const struct python_statement *statement)
{
    struct job *job = script->job;
    const char *field = statement->target ? field_of(script, statement->target) : NULL;
    if (statement->target && is_recipe(&statement->value) && !strchr(statement->target, '.'))
        return read_recipe_call(script, statement);
    if (script->other)
        return STATUS_OK;
    if (!statement->target) {
        if (!statement->nested || hands_over(script, &statement->value))
            read_call(script, statement);
        return job->err->status;
    }
    const char *alias =
        statement->value.kind == PYTHON_WORD ? field_of(script, statement->value.text) : NULL;
    if (!field && alias && !strchr(statement->target, '.')) /* m = cfg.model */
        remember_root(script, statement->target, alias);
    if (!field)
        return STATUS_OK;
    if (!*field) { /* cfg = f(cfg, ..) */
        if (statement->value.kind == PYTHON_CALL)
            read_call(script, statement);
        return job->err->status;
    }
    if (statement->nested) {
        job_warn(job, statement->mark,
                 "'%.80s' stands inside a condition or a loop, so that only the script knows "
                 "whether it holds: it is left out",
                 statement->said);
        return STATUS_OK;
    }
    add_value(script, field, &statement->value, statement->mark);
    return job->err->status;
}

/* The library whose program a script is, by what it imports; NULL: none that is known. */
static const char *library_of(const char *text)
{
    static const char *const names[] = {"unsloth", "trl",       "torchtitan",   "vllm",
                                        "sglang",  "deepspeed", "transformers", NULL};
    for (size_t i = 0; names[i]; i++)
        if (python_imports(text, names[i]))
            return names[i];
    return NULL;
}

/* No recipe: a program of another library has settings that only running it tells. */
static enum status refuse_program(struct job *job, const char *text)
{
    unsigned line = job->request->line;
    const char *library = bridge_is_python(text) ? NULL : library_of(text);
    struct mark mark = {job->file, line, line > 0};
    if (library) {
        err_at(job->err, STATUS_INPUT, mark,
               "a program that uses %s: what it sets is known when it runs, and is not read",
               library);
        return err_hint(
            job->err,
            "scripts that make a trainer of TRL's, Unsloth's or transformers', or an engine, "
            "are; of others give the settings as flags, as in vllm serve M");
    }
    err_at(job->err, STATUS_INPUT, mark, "no recipe of Megatron-Bridge is called %s",
           line ? "on this line" : "in this script");
    return err_hint(job->err, "cfg = qwen3_30b_a3b_pretrain_config() or "
                              "cfg = ConfigContainer(..), and cfg.model.x = ..");
}

enum status bridge_read_python(struct job *job, const char *name, const char *text,
                               size_t length)
{
    struct python python;
    struct script script = {.job = job};
    unsigned before = job->layer;
    TRY(python_read(name, text, length, job->arena, &python, job->err));
    job->layer = JOB_FILE + 1; /* above what the recipe sets by itself */
    for (size_t i = 0; i < python.n; i++)
        TRY(read_statement(&script, &python.statements[i]));
    job->layer = before;
    if (!job->mark.line)
        job->mark = script.recipe;
    return script.recipe.line || job->shell ? STATUS_OK : refuse_program(job, text);
}
