/* Launches whose script's name alone says nothing; see launch.h. */
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/launch/launch.h"

static bool ends_in_either(const char *text, const char *a, const char *b)
{
    return text_ends(text, a) || text_ends(text, b);
}

/* Whether a word from `i` on begins with one of these. */
static bool any_starts(const struct shell_words *words, size_t i, const char *const *starts,
                       size_t n)
{
    for (; i < words->n; i++)
        for (size_t j = 0; j < n; j++)
            if (text_starts(words->items[i].text, starts[j]))
                return true;
    return false;
}

/* Overrides of a recipe: what pretrain_gpt.py of Megatron-LM does not take. */
static bool has_overrides(const struct shell_words *words, size_t i)
{
    static const char *const sections[] = {"model.", "train.", "peft.", "+model.", "ddp."};
    for (; i < words->n; i++)
        for (size_t j = 0; j < sizeof sections / sizeof *sections; j++)
            if (text_starts(words->items[i].text, sections[j]) &&
                strchr(words->items[i].text, '='))
                return true;
    return false;
}

/* A copy of Bridge's performance script under a name of its own: nobody else's has a family
 * and a recipe of it (scripts/performance/argument_parser.py). */
static bool is_performance(const struct shell_words *words, size_t i)
{
    bool family = false, recipe = false;
    if (!text_ends(words->items[i].text, ".py"))
        return false;
    for (size_t j = i + 1; j < words->n; j++) {
        const char *text = words->items[j].text;
        family = family || shell_option(text, "--model-family-name", false);
        recipe = recipe || shell_option(text, "--model-recipe-name", false);
    }
    return family && recipe;
}

/* A script, or what stands where programs do. */
static bool is_program(const char *path)
{
    return text_ends(path, ".sh") || text_ends(path, ".py") || strstr(path, "/bin/");
}

/* "docker run ... vllm/vllm-openai:v0.11.0 --model M": the image's own entry is the server.
 * Where it is `vllm serve`, the model may follow by its name, as in "Qwen/Qwen3-8B", or by the
 * folder that it is mounted at, "/models/moonshotai/Kimi-K3". */
static bool is_image(const struct shell_words *words, size_t i)
{
    if (i <= 1 || i + 1 >= words->n || !strstr(words->items[i].text, "vllm-openai") ||
        words->items[i].text[0] == '-')
        return false;
    const char *next = words->items[i + 1].text;
    if (text_equal(next, "-c")) /* --entrypoint bash IMAGE -c ".." */
        return false;
    bool path = next[0] == '/' || next[0] == '.'; /* of a program, unless options follow */
    bool options = i + 2 < words->n && text_starts(words->items[i + 2].text, "--");
    return next[0] == '-' || (strchr(next, '/') && (!path || (options && !is_program(next))));
}

/* "src/train.py" of LLaMA-Factory: its file of settings follows, or what all of its jobs say.
 */
static bool is_llamafactory(const struct shell_words *words, size_t i)
{
    static const char *const own[] = {"--finetuning_type", "--finetuning-type", "--stage"};
    if (!text_ends(words->items[i].text, "src/train.py"))
        return false;
    if (i + 1 < words->n && (ends_in_either(words->items[i + 1].text, ".yaml", ".json")))
        return !text_ends(words->items[i + 1].text, "base.yaml");
    return any_starts(words, i + 1, own, sizeof own / sizeof *own);
}

/* train.py of slime says how many devices the actor has. */
static bool is_slime(const struct shell_words *words, size_t i)
{
    static const char *const own[] = {"--actor-num-"};
    const char *name = text_base_name(words->items[i].text);
    return (text_equal(name, "train.py") || text_equal(name, "train_async.py")) &&
           any_starts(words, i + 1, own, 1);
}

/* "train_sft.py" of OpenRLHF before it was a module: its batch is called like nobody else's. */
static bool is_openrlhf(const struct shell_words *words, size_t i)
{
    static const char *const own[] = {"--micro_train_batch_size"};
    const char *name = text_base_name(words->items[i].text);
    return text_starts(name, "train_") && text_ends(name, ".py") &&
           any_starts(words, i + 1, own, 1);
}

/* "uv run examples/run_grpo.py --config FILE policy.precision=float16": others' scripts have
 * such names, too, and neither its folder nor its overrides. */
static bool is_nemo_rl(const struct shell_words *words, size_t i)
{
    static const char *const names[] = {"run_grpo", "run_sft",      "run_dpo",
                                        "run_rm",   "run_vlm_grpo", "run_distillation"};
    static const char *const own[] = {"policy.", "+policy.", "++policy.", "grpo.", "cluster."};
    const char *text = words->items[i].text, *name = text_base_name(text);
    bool named = false;
    for (size_t j = 0; j < sizeof names / sizeof *names; j++)
        named = named || text_starts(name, names[j]);
    return named && text_ends(name, ".py") &&
           (strstr(text, "examples/run_") ||
            any_starts(words, i + 1, own, sizeof own / sizeof *own));
}

/* Recipes of Automodel by their scripts, or by its own program with the file alone, as later
 * releases take it (cli/app.py). */
static bool is_automodel(const struct shell_words *words, size_t i)
{
    static const char *const scripts[] = {
        "llm_finetune/finetune.py", "llm_pretrain/pretrain.py", "vlm_finetune/finetune.py",
        "recipes/llm/train_ft.py", "recipes/vlm/finetune.py"};
    const char *text = words->items[i].text;
    for (size_t j = 0; j < sizeof scripts / sizeof *scripts; j++)
        if (text_ends(text, scripts[j]))
            return true;
    return text_equal(text_base_name(text), "automodel") && i + 1 < words->n &&
           text_ends(words->items[i + 1].text, ".yaml");
}

/* train.py and train.sh say nothing by themselves: their path, or what follows, does. */
const struct job_framework *launch_by_company(const struct shell_words *words, size_t i)
{
    const char *text = words->items[i].text, *name = text_base_name(text);
    bool recipe = (text_starts(name, "pretrain_") || text_starts(name, "finetune_")) &&
                  text_ends(name, ".py");
    if (recipe && has_overrides(words, i + 1))
        return &job_bridge;
    if (is_performance(words, i))
        return &job_bridge;
    if (is_image(words, i))
        return &job_vllm;
    if (is_llamafactory(words, i))
        return &job_llamafactory;
    if (is_slime(words, i))
        return &job_slime;
    if (is_nemo_rl(words, i))
        return &job_nemo_rl;
    if (is_openrlhf(words, i))
        return &job_openrlhf;
    if (is_automodel(words, i))
        return &job_automodel;
    if (text_equal(name, "train.sh"))
        for (size_t j = i + 1; j < words->n; j++)
            if (text_equal(words->items[j].text, "--recipe") ||
                text_starts(words->items[j].text, "--recipe="))
                return &job_bridge;
    if (!text_equal(name, "train.py") && !text_equal(name, "train_compile.py"))
        return NULL;
    if (strstr(text, "torchtitan/"))
        return &job_torchtitan;
    for (size_t j = i + 1; j < words->n; j++)
        if (ends_in_either(words->items[j].text, ".yml", "base.yaml"))
            return &job_maxtext;
    return NULL;
}

bool launch_builds_recipe(const char *text)
{
    return bridge_is_python(text);
}
