/* Megatron-Bridge's configurations in Python: a script that calls a recipe's function or builds
 * a ConfigContainer, and sets fields of what it gives. Read as text, never run; what is not
 * understood is warned of at its place. */
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "plan/framework/megatron.h"
#include "plan/job/python_set.h"
#include "plan/text/python_word.h"

/* What the setting functions need beside the walk. */
struct script {
    struct mark recipe; /* where one is called that is not followed; line 0: nowhere */
};

bool bridge_is_python(const char *text)
{
    return strstr(text, "megatron.bridge") != NULL;
}

/* ---- parts ---- */

static bool is_precision(const char *function)
{
    return text_equal(function, "_perf_precision") || /* of the performance recipes */
           text_equal(function, "get_precision_config");
}

static void read_precision(struct python_walk *walk, const struct python_value *call,
                           struct mark mark)
{
    static const char name[] = "mixed_precision";
    const char *function = python_last_part(call->callee);
    const struct python_value *first = python_set_first(call);
    python_set_null(walk, "grad_reduce_in_fp32", mark);
    if (is_precision(function) && first) {
        python_set_null(walk, name, mark);
        python_set(walk, "compute_dtype", first, mark);
        return;
    }
    if (text_equal(function, "get_mixed_precision_config") && first) {
        python_set(walk, name, first, mark);
        return;
    }
    if (!text_equal(function, "MixedPrecisionConfig"))
        python_set_word(walk, name, function, NULL, mark);
    python_set_arguments(walk, name, call, mark);
}

/* AutoBridge.from_hf_pretrained("org/name"), bf16_mixed(), LoRA(dim=16), CommOverlapConfig(..)
 */
static bool read_part(struct python_walk *walk, const char *name,
                      const struct python_value *call, struct mark mark)
{
    const char *function = python_last_part(call->callee);
    const struct python_value *first = python_set_first(call);
    if (text_starts(function, "from_hf_") && first) {
        python_set_word(walk, "hf_path", python_set_known(first), first, mark);
    } else if (text_equal(name, "mixed_precision")) {
        read_precision(walk, call, mark);
    } else if (strstr(function, "_with_cosine_annealing")) {
        if (text_equal(name, "optimizer"))
            python_set_word(walk, "optimizer.optimizer",
                            strstr(function, "muon") ? "dist_muon" : "adam", NULL, mark);
    } else if (text_equal(function, "default_peft_config") && first) {
        python_set(walk, name, first, mark);
    } else {
        if (text_equal(name, "peft") || text_equal(name, "model"))
            python_set_word(walk, arena_printf(walk->job->arena, "%s._target_", name),
                            call->callee, NULL, mark);
        return false;
    }
    return true;
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

/* A function that gives a whole configuration, by its name. */
static bool makes(const struct python_value *value)
{
    const char *name = python_last_part(value->callee);
    static const char *const kinds[] = {"pretrain", "sft", "peft", "finetune", "dpo"};
    bool kind = false;
    if (text_starts(name, "default_") || text_starts(name, "get_")) /* parts of one */
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        kind = kind || strstr(name, kinds[i]);
    return text_equal(name, "ConfigContainer") ||
           (kind && (strstr(name, "_config") || text_ends(name, "_common")));
}

/* Functions of the library whose names say what they give. */
static bool is_known(const struct python_value *call)
{
    const char *name = python_last_part(call->callee);
    return bridge_is_precision(name) || is_precision(name) ||
           text_equal(name, "get_mixed_precision_config") ||
           strstr(name, "_with_cosine_annealing");
}

static enum status set_whole(struct python_walk *walk, const struct python_value *call,
                             struct mark mark)
{
    struct script *script = walk->own;
    const char *name = python_last_part(call->callee);
    if (text_equal(name, "ConfigContainer")) {
        python_set_arguments(walk, "", call, mark);
        return walk->job->err->status;
    }
    script->recipe = mark;
    python_set_word(walk, "recipe", name, NULL, mark);
    for (size_t i = 0; i < call->n; i++)
        if (call->items[i].name)
            python_set(walk, argument_field(call->items[i].name), &call->items[i].value, mark);
    return walk->job->err->status;
}

static enum status set_field(struct python_walk *walk, const char *field,
                             const struct python_value *value, struct mark mark)
{
    if (*field)
        python_set(walk, field, value, mark);
    else if (value->kind == PYTHON_CALL)
        return set_whole(walk, value, mark);
    return walk->job->err->status;
}

/* The model that is named so far; NULL: none that is known. */
static struct plan *model_of(struct job *job)
{
    struct err ignored = {0}, *before = job->err;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *model = NULL;
    for (size_t i = job->n_settings; i > 0 && !model; i--)
        if (text_equal(job->settings[i - 1].name, "hf_path") && job->settings[i - 1].n == 1)
            model = model_name_from(NAMES_HUB, job->settings[i - 1].values[0], job->arena);
    if (!model)
        return NULL;
    job->err = &ignored;
    enum status status =
        job_part_named(job, "model", model, (struct mark){job->file, 1, 1}, plan);
    job->err = before;
    return status == STATUS_OK ? plan : NULL;
}

/* A model's provider shares nothing out unless it is told, and has no graphs
 * (core/model_parallel_config.py, core/transformer/transformer_config.py); what is of the model
 * is its configuration's. */
static const char *fallback_of(struct python_walk *walk, const char *field)
{
    static const char *const rows[][2] = {
        {"model.tensor_model_parallel_size", "1"},
        {"model.pipeline_model_parallel_size", "1"},
        {"model.context_parallel_size", "1"},
        {"model.expert_model_parallel_size", "1"},
        {"model.cuda_graph_impl", "none"},
        {"model.use_transformer_engine_op_fuser", "false"},
        {"model.moe_flex_dispatcher_backend", "deepep"},
    };
    static const char *const shapes[] = {"model.num_layers", "model.mtp_num_layers",
                                         "model.vocab_size"};
    struct plan *plan;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_equal(field, rows[i][0]))
            return rows[i][1];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        plan = text_equal(field, shapes[i]) ? model_of(walk->job) : NULL;
        const uint64_t values[] = {plan ? plan->model.layers : 0,
                                   plan ? plan->model.mtp_layers : 0,
                                   plan ? plan->model.vocab : 0};
        if (plan)
            return arena_printf(walk->job->arena, "%" PRIu64, values[i]);
    }
    return NULL;
}

/* ---- what a function is handed ---- */

/* moe_flex_dispatcher_backend is nothing by itself: this turns it on. */
static void apply_flex(struct python_walk *walk, const struct python_value *call,
                       struct mark mark)
{
    const char *word = call->n > 1 ? python_set_known(&call->items[1].value) : NULL;
    if (!word)
        return;
    python_set_word(walk, "model.moe_token_dispatcher_type", "flex", NULL, mark);
    python_set_word(walk, "model.moe_flex_dispatcher_backend", word, NULL, mark);
}

/* What of a layer is a graph, by whichever field the release has (utils/cuda_graph.py). */
static bool apply_graphs(struct python_walk *walk, const struct python_value *call,
                         struct mark mark)
{
    const char *function = python_last_part(call->callee);
    if (text_equal(function, "set_cuda_graph_modules") && call->n > 1)
        python_set(walk, "model.cuda_graph_modules", &call->items[1].value, mark);
    else if (text_equal(function, "set_full_iteration_cuda_graph"))
        python_set_word(walk, "model.cuda_graph_impl", "full_iteration", NULL, mark);
    else if (text_equal(function, "clear_cuda_graph_modules"))
        python_set_null(walk, "model.cuda_graph_modules", mark);
    else
        return false;
    return true;
}

/* Layers even over the stages, what is left over on the first ones; embedding first, modules
 * and loss last (models/deepseek/deepseek_v4_bridge.py). */
static bool apply_layout(struct python_walk *walk, const struct python_value *call,
                         struct mark mark)
{
    static const char function[] = "set_deepseek_v4_pipeline_model_parallel_layout";
    struct job *job = walk->job;
    struct text layout = {.arena = job->arena};
    uint64_t pp = 1, modules = 0;
    const char *said[2] = {python_walk_value(walk, "model.pipeline_model_parallel_size"),
                           python_walk_value(walk, "model.mtp_num_layers")};
    if (!text_equal(python_last_part(call->callee), function))
        return false;
    const struct plan *plan = model_of(job);
    if (!plan || (said[0] && !number_count(said[0], &pp)) || !pp)
        return false;
    if (said[1] && !number_count(said[1], &modules))
        modules = 0;
    for (uint64_t i = 0; pp > 1 && i < pp; i++) {
        uint64_t layers = plan->model.layers / pp + (i < plan->model.layers % pp);
        text_printf(&layout, "%st*%" PRIu64, i ? "|" : "E", layers);
    }
    if (pp > 1 && modules)
        text_printf(&layout, "m*%" PRIu64, modules);
    if (pp > 1)
        python_set_word(walk, "model.pipeline_model_parallel_layout",
                        arena_printf(job->arena, "%sL", text_string(&layout)), NULL, mark);
    return true;
}

static bool read_call(struct python_walk *walk, const struct python_value *call,
                      struct mark mark)
{
    static const char *const idle[] = {
        "pretrain", "finetune", "print",    "print_yaml",
        "info",     "debug",    "validate", "log_non_default_values",
        "main",     "train",    "to_yaml",  "len"};
    const char *function = python_last_part(call->callee);
    if (text_equal(function, "apply_flex_dispatcher_backend")) {
        apply_flex(walk, call, mark);
        return true;
    }
    if (apply_graphs(walk, call, mark) || apply_layout(walk, call, mark))
        return true;
    if (text_equal(function, "setattr") && call->n == 3) {
        const char *part = python_walk_field(walk, call->items[0].value.text);
        const char *name = python_set_known(&call->items[1].value);
        if (part && name) {
            python_set(walk, *part ? arena_printf(walk->job->arena, "%s.%s", part, name) : name,
                       &call->items[2].value, mark);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (text_equal(function, idle[i]))
            return true;
    return false;
}

/* ---- the script ---- */

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
        err_at(job->err, mark,
               "a program that uses %s: what it sets is known when it runs, and is not read",
               library);
        return err_hint(
            job->err,
            "scripts that make a trainer of TRL's, Unsloth's or transformers', or an engine, "
            "are; of others give the settings as flags, as in vllm serve M");
    }
    err_at(job->err, mark, "no recipe of Megatron-Bridge is called %s",
           line ? "on this line" : "in this script");
    return err_hint(job->err, "cfg = qwen3_30b_a3b_pretrain_config() or "
                              "cfg = ConfigContainer(..), and cfg.model.x = ..");
}

static struct python_walk new_walk(struct job *job, struct script *script)
{
    return (struct python_walk){.job = job,
                                .own = script,
                                .makes = makes,
                                .known = is_known,
                                .set = set_field,
                                .part = read_part,
                                .call = read_call,
                                .fallback = fallback_of,
                                .matters = python_set_matters,
                                .modules = {.job = job}};
}

enum status bridge_read_python(struct job *job, const char *name, const char *text,
                               size_t length)
{
    struct script script = {0};
    struct python_walk walk = new_walk(job, &script);
    unsigned before = job->layer;
    job->layer = JOB_FILE + 1; /* above what the recipe sets by itself */
    TRY(python_walk(&walk, name, text, length, job->shell ? 0 : job->request->line));
    job->layer = before;
    if (!job->mark.line)
        job->mark = walk.made;
    return walk.made.line || job->shell ? STATUS_OK : refuse_program(job, text);
}
