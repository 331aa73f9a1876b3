/* torchtitan's configurations in Python: functions of a config_registry.py that give a
 * Trainer.Config, in a file of their own or behind "--module llama3 --config llama3_8b" where
 * the checkout is around the job. Read as text, never run. Read at torchtitan 0.3.0
 * (config/manager.py, trainer.py, config/configs.py, models/<name>/config_registry.py). */
#include <ctype.h>
#include <string.h>

#include "plan/framework/torchtitan.h"
#include "plan/job/python_set.h"
#include "plan/text/python_word.h"

bool torchtitan_is_python(const char *text)
{
    return python_imports(text, "torchtitan") && strstr(text, "Config") != NULL;
}

/* Trainer.Config(model_spec=..), and classes that derive from it. */
static bool makes(const struct python_value *call)
{
    const char *name = python_last_part(call->callee);
    return python_named(call, "model_spec") &&
           (isupper((unsigned char)name[0]) || name[0] == '_');
}

/* "llama3" of "torchtitan/models/llama3/config_registry.py". */
static const char *folder_of(struct python_walk *walk)
{
    char *path = arena_strdup(walk->job->arena, python_walk_path(walk));
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = '\0';
    return text_base_name(path);
}

/* What is done to a model before it is trained: words of the older model.converters. */
static void set_converters(struct python_walk *walk, const struct python_value *list,
                           struct mark mark)
{
    struct job *job = walk->job;
    const char *word = NULL;
    for (size_t i = 0; list && list->kind == PYTHON_LIST && i < list->n; i++) {
        const struct python_value *one = &list->items[i].value;
        const char *name = one->kind == PYTHON_CALL ? one->callee : "";
        bool quantizes = strstr(name, "Float8") || strstr(name, "MXFP8");
        word = quantizes ? (strstr(name, "MXFP8") ? "mx" : "float8") : word;
        if (!quantizes)
            job_warn(job, mark,
                     "'%.60s' changes the model, which matters to memory, and is not modelled",
                     *name ? name : one->text);
    }
    if (word)
        python_set_word(walk, "model.converters", word, NULL, mark);
    else if (list && list->kind == PYTHON_UNKNOWN)
        python_set_word(walk, "model.converters", NULL, list, mark);
}

/* model_registry("16B", moe_comm_backend="hybridep"): the model's name is its package's. */
static void set_model(struct python_walk *walk, const struct python_value *call,
                      struct mark mark)
{
    const struct python_value *first = python_set_first(call);
    const struct python_value *flavor = first ? first : python_named(call, "flavor");
    const struct python_value *backend = python_named(call, "moe_comm_backend");
    const struct python_value *modules = python_named(call, "num_mtp_layers");
    python_set_word(walk, "model.name", folder_of(walk), NULL, mark);
    if (flavor)
        python_set(walk, "model.flavor", flavor, mark);
    if (backend)
        python_set(walk, "parallelism.expert_parallel_comm_backend", backend, mark);
    set_converters(walk, python_named(call, "converters"), mark);
    if (modules && !text_equal(modules->text, "0"))
        job_warn(walk->job, mark,
                 "num_mtp_layers matters to memory and is not modelled: no module is trained");
}

/* SelectiveAC.Config(), FullAC.Config(), MemoryBudgetAC.Config(memory_budget=0.5). */
static void set_recompute(struct python_walk *walk, const struct python_value *call,
                          struct mark mark)
{
    static const char mode[] = "activation_checkpoint.mode";
    bool full = strstr(call->callee, "FullAC"), budget = strstr(call->callee, "MemoryBudgetAC");
    bool selective = text_ends(call->callee, "SelectiveAC.Config");
    const struct python_value other = {.kind = PYTHON_UNKNOWN, .text = call->callee};
    python_set_word(walk, mode,
                    full        ? "full"
                    : budget    ? "memory_budget"
                    : selective ? "selective"
                                : NULL,
                    &other, mark);
    python_set_arguments(walk, "activation_checkpoint", call, mark);
}

static void set_loss(struct python_walk *walk, const struct python_value *call,
                     struct mark mark)
{
    const struct python_value *chunks = python_named(call, "num_chunks");
    bool chunked = strstr(call->callee, "Chunked") != NULL;
    python_set_word(walk, "loss.chunked", chunked ? "true" : "false", NULL, mark);
    if (chunks)
        python_set(walk, "loss.num_chunks", chunks, mark);
}

static bool read_part(struct python_walk *walk, const char *field,
                      const struct python_value *call, struct mark mark)
{
    static const char *const idle[] = {"dataloader", "lr_scheduler", "validator",
                                       "metrics",    "profiler",     "tokenizer"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (text_equal(field, idle[i]))
            return true;
    if (text_equal(field, "model_spec"))
        set_model(walk, call, mark);
    else if (text_equal(field, "activation_checkpoint"))
        set_recompute(walk, call, mark);
    else if (text_equal(field, "loss"))
        set_loss(walk, call, mark);
    else if (text_equal(field, "optimizer"))
        python_set_word(walk, "optimizer.name",
                        strstr(call->callee, "adamw") || strstr(call->callee, "Optimizers")
                            ? "AdamW"
                            : python_last_part(call->callee),
                        NULL, mark);
    else
        return false;
    return true;
}

/* Functions whose names say what they give. */
static bool is_known(const struct python_value *call)
{
    const char *name = python_last_part(call->callee);
    return strstr(name, "model_registry") || text_starts(name, "default_") ||
           text_ends(name, "_optimizer") || text_ends(call->callee, ".Config");
}

static enum status set_field(struct python_walk *walk, const char *field,
                             const struct python_value *value, struct mark mark)
{
    if (*field && text_equal(field, "activation_checkpoint") && value->kind == PYTHON_NONE)
        python_set_word(walk, "activation_checkpoint.mode", "none", NULL, mark);
    else if (*field)
        python_set(walk, field, value, mark);
    else if (value->kind == PYTHON_CALL)
        for (size_t i = 0; i < value->n; i++)
            if (value->items[i].name)
                TRY(set_field(walk, value->items[i].name, &value->items[i].value, mark));
    return walk->job->err->status;
}

static bool read_call(struct python_walk *walk, const struct python_value *call,
                      struct mark mark)
{
    (void)walk;
    (void)mark;
    return text_starts(python_last_part(call->callee), "validate");
}

/* config/configs.py */
static const char *fallback_of(struct python_walk *walk, const char *field)
{
    (void)walk;
    return text_equal(field, "compile.enable") ? "false" : NULL;
}

static struct python_walk new_walk(struct job *job)
{
    return (struct python_walk){.job = job,
                                .makes = makes,
                                .known = is_known,
                                .set = set_field,
                                .part = read_part,
                                .call = read_call,
                                .fallback = fallback_of,
                                .matters = python_set_matters,
                                .modules = {.job = job}};
}

/* Of a configuration in Python no option is asked for but every second product's. */
static void assume_policy(struct job *job)
{
    job_assume(job, "activation_checkpoint.selective_ac_option", "op",
               "distributed/activation_checkpoint.py: SelectiveAC");
}

enum status torchtitan_read_python(struct job *job, const char *name, const char *text,
                                   size_t length)
{
    struct python_walk walk = new_walk(job);
    unsigned before = job->layer, line = job->request->line;
    job->layer = JOB_FILE;
    TRY(python_walk(&walk, name, text, length, line));
    job->layer = before;
    assume_policy(job);
    if (!job->mark.line)
        job->mark = walk.made;
    if (walk.made.line)
        return STATUS_OK;
    err_at(job->err, (struct mark){name, line, line > 0},
           "no function %s gives a Trainer.Config", line ? "on this line" : "of this file");
    return err_hint(job->err, "those of a config_registry.py do, as in def llama3_8b(): return "
                              "Trainer.Config(..)");
}

/* "--module llama3 --config llama3_8b" from a checkout (config/manager.py). */
enum status torchtitan_read_registry(struct job *job, const char *module, const char *config,
                                     bool *found)
{
    static const char *const prefixes[] = {"torchtitan.models.", "torchtitan.experiments.",
                                           "torchtitan.experiments.rl.examples.", ""};
    struct python_walk walk = new_walk(job);
    unsigned before = job->layer;
    job->layer = JOB_FILE;
    *found = false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !*found; i++)
        TRY(python_walk_function(
            &walk, job->file,
            arena_printf(job->arena, "%s%s.config_registry", prefixes[i], module), config,
            found));
    job->layer = before;
    *found = *found && walk.made.line > 0;
    if (*found)
        assume_policy(job);
    return STATUS_OK;
}
