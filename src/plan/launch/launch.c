/* The launch in a script: which framework, and the words that are its own. */
#include <inttypes.h>
#include <string.h>

#include "plan/job/reader.h"
#include "plan/launch/launch.h"
#include "plan/framework/maxtext.h"
#include "plan/framework/megatron.h"
#include "plan/trainer/script.h"

/* ---- what starts a framework ---- */

enum entry_form {
    ENTRY_FILE,   /* a script by its name without folders */
    ENTRY_BEGINS, /* such a name that begins like this */
    ENTRY_PATH,   /* a script by the end of its path */
    ENTRY_MODULE, /* python -m NAME */
    ENTRY_WORDS   /* two words after each other */
};

static const struct entry {
    enum entry_form form;
    const char *name, *second;
    const struct job_framework *framework;
} entries[] = {
    {ENTRY_BEGINS, "pretrain_", NULL, &job_megatron},
    {ENTRY_FILE, "run_script.py", NULL, &job_bridge},
    {ENTRY_FILE, "setup_experiment.py", NULL, &job_bridge},
    {ENTRY_FILE, "run_recipe.py", NULL, &job_bridge},
    {ENTRY_FILE, "megatron_gpt_pretraining.py", NULL, &job_nemo1},
    {ENTRY_MODULE, "maxtext.trainers.pre_train.train", NULL, &job_maxtext},
    {ENTRY_MODULE, "maxtext.trainers.pre_train.train_compile", NULL, &job_maxtext},
    {ENTRY_MODULE, "MaxText.train", NULL, &job_maxtext},
    {ENTRY_MODULE, "MaxText.train_compile", NULL, &job_maxtext},
    {ENTRY_MODULE, "MaxText.sft_trainer", NULL, &job_maxtext},
    {ENTRY_MODULE, "maxtext.trainers.post_train.sft.train_sft_native", NULL, &job_maxtext},
    {ENTRY_MODULE, MAXTEXT_TUNIX, NULL, &job_maxtext},
    {ENTRY_MODULE, "torchtitan.train", NULL, &job_torchtitan},
    {ENTRY_FILE, "run_train.sh", NULL, &job_torchtitan},
    {ENTRY_MODULE, "verl.trainer.main_ppo", NULL, &job_verl},
    {ENTRY_MODULE, "recipe.dapo.main_dapo", NULL, &job_verl},
    {ENTRY_MODULE, "verl.trainer.sft_trainer", NULL, &job_verl_sft},
    {ENTRY_MODULE, "verl.trainer.fsdp_sft_trainer", NULL, &job_verl_sft},
    {ENTRY_FILE, "fsdp_sft_trainer.py", NULL, &job_verl_sft},
    {ENTRY_MODULE, "openrlhf.cli.train_sft", NULL, &job_openrlhf},
    {ENTRY_MODULE, "openrlhf.cli.train_dpo", NULL, &job_openrlhf},
    {ENTRY_MODULE, "openrlhf.cli.train_kto", NULL, &job_openrlhf},
    {ENTRY_MODULE, "openrlhf.cli.train_rm", NULL, &job_openrlhf},
    {ENTRY_MODULE, "openrlhf.cli.train_ppo_ray", NULL, &job_openrlhf},
    {ENTRY_WORDS, "axolotl", "train", &job_axolotl},
    {ENTRY_MODULE, "axolotl.cli.train", NULL, &job_axolotl},
    {ENTRY_WORDS, "llamafactory-cli", "train", &job_llamafactory},
    {ENTRY_WORDS, "lmf", "train", &job_llamafactory},
    {ENTRY_FILE, "train_bash.py", NULL, &job_llamafactory},
    {ENTRY_WORDS, "swift", "sft", &job_swift},
    {ENTRY_WORDS, "swift", "pt", &job_swift},
    {ENTRY_WORDS, "swift", "rlhf", &job_swift},
    {ENTRY_PATH, "swift/cli/sft.py", NULL, &job_swift},
    {ENTRY_PATH, "swift/cli/pt.py", NULL, &job_swift},
    {ENTRY_PATH, "swift/cli/rlhf.py", NULL, &job_swift},
    {ENTRY_MODULE, "swift.cli.sft", NULL, &job_swift},
    {ENTRY_MODULE, "swift.cli.pt", NULL, &job_swift},
    {ENTRY_MODULE, "swift.cli.rlhf", NULL, &job_swift},
    {ENTRY_WORDS, "megatron", "sft", &job_swift_megatron},
    {ENTRY_WORDS, "megatron", "pt", &job_swift_megatron},
    {ENTRY_WORDS, "megatron", "rlhf", &job_swift_megatron},
    {ENTRY_PATH, "swift/cli/_megatron/sft.py", NULL, &job_swift_megatron},
    {ENTRY_PATH, "swift/cli/_megatron/pt.py", NULL, &job_swift_megatron},
    {ENTRY_PATH, "swift/cli/_megatron/rlhf.py", NULL, &job_swift_megatron},
    {ENTRY_WORDS, "automodel", "finetune", &job_automodel},
    {ENTRY_WORDS, "automodel", "pretrain", &job_automodel},
    {ENTRY_FILE, "train_ft.py", NULL, &job_automodel},
    {ENTRY_WORDS, "vllm", "serve", &job_vllm},
    {ENTRY_MODULE, "vllm.entrypoints.openai.api_server", NULL, &job_vllm},
    {ENTRY_MODULE, "dynamo.vllm", NULL, &job_vllm}, /* workers of Dynamo take engines' flags */
    {ENTRY_MODULE, "dynamo.sglang", NULL, &job_sglang},
    {ENTRY_MODULE, "dynamo.trtllm", NULL, &job_trtllm},
    {ENTRY_MODULE, "sglang.launch_server", NULL, &job_sglang},
    {ENTRY_WORDS, "sglang", "serve", &job_sglang},
    {ENTRY_WORDS, "trtllm-serve", "serve", &job_trtllm},
    {ENTRY_FILE, "trtllm-serve", NULL, &job_trtllm},
};

static bool is_entry(const struct entry *entry, const struct shell_words *words, size_t i)
{
    const char *text = words->items[i].text, *name = text_base_name(text);
    bool python = text_ends(name, ".py");
    switch (entry->form) {
    case ENTRY_FILE:
        return text_equal(name, entry->name);
    case ENTRY_BEGINS:
        return python && text_starts(name, entry->name);
    case ENTRY_PATH:
        return text_ends(text, entry->name);
    case ENTRY_MODULE:
        return i > 0 && text_equal(text, entry->name) &&
               (text_ends(words->items[i - 1].text, "-m") ||
                text_ends(words->items[i - 1].text, "--module"));
    case ENTRY_WORDS:
        return i + 1 < words->n && text_equal(name, entry->name) &&
               text_equal(words->items[i + 1].text, entry->second);
    }
    return false;
}

/* "echo $CMD" before "eval $CMD", "sed -i .. run_script.py": the words that follow are shown,
 * copied or changed, not run. */
static bool is_shown(const struct shell_words *words)
{
    static const char *const shows[] = {"echo",  "printf", "logger", "sed", "cp",    "mv",
                                        "rm",    "ln",     "ls",     "cat", "chmod", "grep",
                                        "touch", "mkdir",  "git",    "cd",  "test",  "["};
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
        if (text_equal(words->items[0].text, shows[i]))
            return true;
    return false;
}

/* A script of one's own beside the job that builds a configuration of Bridge. */
static bool is_bridge(struct job *job, const char *name)
{
    const char *path, *text = NULL;
    size_t length;
    return text_ends(name, ".py") &&
           job_other_file(job, name, &path, &text, &length) == STATUS_OK && text &&
           bridge_is_python(text);
}

/* One that sets the trainer itself, of TRL or Unsloth; flags that name the model are those of a
 * script that parses them. */
static const struct job_framework *script_of(struct job *job, const struct shell_words *words)
{
    const char *path, *text = NULL;
    size_t length;
    for (size_t i = 0; i < words->n; i++)
        if (shell_option(words->items[i].text, "--model-name-or-path", false))
            return NULL;
    job->command = words;
    if (script_launched(job, &path, &text, &length) != STATUS_OK || !text || !script_is(text))
        return NULL;
    return script_is_unsloth(text) ? &job_unsloth : &job_trl;
}

static bool find_in_command(struct job *job, const struct shell_command *command,
                            struct launch *launch)
{
    const struct shell_words *words = &command->words;
    launch->command = command;
    if (words->n && is_shown(words))
        return false;
    for (size_t i = 0; i < words->n; i++) {
        launch->framework =
            is_bridge(job, words->items[i].text) ? &job_bridge : launch_by_company(words, i);
        launch->launcher = launch->entry = i + 1;
        if (text_equal(text_base_name(words->items[i].text), "automodel"))
            launch->launcher = words->n; /* as below */
        for (size_t j = 0; !launch->framework && j < sizeof entries / sizeof *entries; j++) {
            if (!is_entry(&entries[j], words, i))
                continue;
            launch->framework = entries[j].framework;
            launch->entry += entries[j].form == ENTRY_WORDS;
            if (entries[j].form == ENTRY_WORDS && launch->framework->trains)
                launch->launcher = words->n; /* it starts the ranks by itself */
        }
        if (launch->framework) {
            launch->place = launch->framework->wrapped ? 0 : launch->entry;
            return true;
        }
    }
    launch->place = 0; /* the trainer's own flags stand around the framework's */
    launch->framework = trainer_find(job, words, &launch->launcher);
    const struct job_framework *script = script_of(job, words);
    launch->framework = script ? script : launch->framework;
    launch->entry = launch->launcher;
    return launch->framework != NULL;
}

const struct job_framework *
launch_in_command(struct job *job, const struct shell_command *command, size_t *entry)
{
    struct launch launch = {0};
    if (!find_in_command(job, command, &launch))
        return NULL;
    *entry = launch.entry;
    return launch.framework;
}

/* ---- choosing ---- */

/* The commands of a text, as those of another command's place: behind its first n words. */
static enum status read_text(struct job *job, const struct shell_command *outer, size_t n,
                             const struct shell_word *text, const char *start,
                             struct shell **inner)
{
    struct shell *read = arena_alloc(job->arena, 1, sizeof *read);
    TRY(shell_read(job->file, start, strlen(start), job->shell->given, job->shell->n_given,
                   job->arena, read, job->err));
    for (size_t i = 0; i < read->n_commands; i++) {
        struct shell_command *command = &read->commands[i];
        struct shell_words words = {0};
        for (size_t j = 0; j < n; j++)
            shell_words_add(&words, outer->words.items[j], job->arena);
        for (size_t j = 0; j < command->words.n; j++) {
            command->words.items[j].mark = text->mark;
            shell_words_add(&words, command->words.items[j], job->arena);
        }
        command->words = words;
        command->mark = outer->mark;
        command->n_variables = outer->n_variables;
    }
    *inner = read;
    return STATUS_OK;
}

/* The commands of a variable that a batch script runs, COMMAND="uv run .." sbatch ray.sub of
 * NeMo-RL's clusters. NULL: there is none. */
static enum status read_handed(struct job *job, const struct shell *shell,
                               const struct shell_command *outer, struct shell **inner)
{
    static const char name[] = "COMMAND", script[] = "ray.sub";
    const struct shell_words *words = &outer->words;
    bool own = outer->n_variables <= shell->n_variables; /* not of a command handed over */
    const struct shell_variable *v =
        own ? shell_variable(shell, outer->n_variables, name, true) : NULL;
    *inner = NULL;
    if (!words->n || !v || v->value.n != 1 || v->trouble ||
        !text_equal(text_base_name(words->items[words->n - 1].text), script))
        return STATUS_OK;
    const struct shell_word *word = &v->value.items[0];
    return read_text(job, outer, 0, word, word->text, inner);
}

/* A launch among the commands of a text, if it is one of a shell's. */
static void look_inside(struct job *job, const struct shell_command *outer, size_t n,
                        const struct shell_word *text, const char *start, struct launch *launch)
{
    struct shell *inner;
    struct err before = *job->err;
    if (read_text(job, outer, n, text, start, &inner) != STATUS_OK) {
        *job->err = before;
        return;
    }
    for (size_t i = 0; i < inner->n_commands && !launch->command; i++)
        if (!find_in_command(job, &inner->commands[i], launch))
            launch->command = NULL;
}

/* A launch in a word that another program runs, behind the words before it: ssh NODE "..",
 * sbatch --wrap="..", tmux new "..", eval "..". */
static void choose_in_words(struct job *job, const struct shell_command *outer,
                            struct launch *launch)
{
    static const char wrap[] = "--wrap=";
    for (size_t i = 1; i < outer->words.n && !launch->command; i++) {
        const struct shell_word *word = &outer->words.items[i];
        size_t skip = text_starts(word->text, wrap) ? sizeof wrap - 1 : 0;
        if ((!word->trouble || job->shell->raw) && strpbrk(word->text, " \n"))
            look_inside(job, outer, i, word, word->text + skip, launch);
    }
}

/* The file that the script writes before a command runs it, "torchrun .. bash worker.sh": *n
 * words of the command stand in front of its name; NULL: there is none. */
static const struct shell_file *file_of(const struct shell *shell,
                                        const struct shell_command *command, size_t *n)
{
    const struct shell_words *words = &command->words;
    for (size_t i = 0; i < words->n && !is_shown(words); i++)
        for (size_t j = shell->n_files; j > 0; j--)
            if (text_ends(words->items[i].text, ".sh") &&
                text_equal(text_base_name(words->items[i].text),
                           text_base_name(shell->files[j - 1].name))) {
                *n = i;
                return &shell->files[j - 1];
            }
    return NULL;
}

/* Only where none stands by itself: one in such a word, or in a script that is written here. */
static void choose_inside(struct job *job, const struct shell *shell, struct launch *launch)
{
    for (size_t i = 0, n; i < shell->n_commands && !launch->command; i++) {
        const struct shell_file *file = file_of(shell, &shell->commands[i], &n);
        const struct shell_word text = {.text = file ? file->text : "",
                                        .mark = file ? file->mark : (struct mark){0}};
        if (file)
            look_inside(job, &shell->commands[i], n, &text, file->text, launch);
    }
    for (size_t i = 0; i < shell->n_commands && !launch->command; i++)
        if (!is_shown(&shell->commands[i].words))
            choose_in_words(job, &shell->commands[i], launch);
    for (size_t i = 0; i < shell->n_files && !launch->command; i++) {
        const struct shell_file *file = &shell->files[i];
        const struct shell_word text = {.text = file->text, .mark = file->mark};
        const struct shell_command at = {.mark = file->mark, .n_variables = shell->n_variables};
        if (launch_ends_as_script(file->name))
            look_inside(job, &at, 0, &text, file->text, launch);
    }
}

/* The same in words of which only a shell knows all: those of the launch that are not known
 * say so, as run_name="${USER}-$(date +%H%M)" may, which no plan needs. */
static enum status choose_inside_raw(struct job *job, const struct shell *shell,
                                     const struct launch_script *script, struct launch *launch)
{
    struct shell *raw = arena_alloc(job->arena, 1, sizeof *raw);
    TRY(shell_read_raw(job->file, script->text, script->length, shell->given, shell->n_given,
                       job->arena, raw, job->err));
    job->shell = raw;
    choose_inside(job, raw, launch);
    job->shell = shell;
    return STATUS_OK;
}

static enum status choose(struct job *job, const struct shell *shell,
                          const struct launch_script *script, struct launch *launch)
{
    struct launch found = {0}, chosen = {0};
    unsigned line = job->request->line;
    for (size_t i = 0; i < shell->n_commands; i++) {
        struct shell *inner;
        TRY(read_handed(job, shell, &shell->commands[i], &inner));
        if (inner)
            TRY(choose(job, inner, script, &found));
        if ((!inner && !find_in_command(job, &shell->commands[i], &found)) ||
            (line && shell->commands[i].mark.line != line))
            continue;
        if (chosen.command &&
            launch_follows(found.framework, &found.command->words, found.entry))
            continue;
        if (chosen.command &&
            !launch_follows(chosen.framework, &chosen.command->words, chosen.entry)) {
            err_at(job->err, found.command->mark, "a second launch, after that on line %u",
                   chosen.command->mark.line);
            return job_hint_lines(job, chosen.command->mark.line, shell->commands[i].mark.line);
        }
        chosen = found;
    }
    if (!chosen.command && line)
        return err_at(job->err, (struct mark){job->file, line, 1},
                      "no launch starts on this line");
    if (!chosen.command)
        choose_inside(job, shell, &chosen);
    if (!chosen.command)
        TRY(choose_inside_raw(job, shell, script, &chosen));
    if (!chosen.command)
        return launch_none(job, shell);
    if (chosen.command->nested)
        job_warn(job, chosen.command->mark,
                 "the launch stands inside a condition, a loop or a function: it is read as it "
                 "stands there once");
    *launch = chosen;
    return STATUS_OK;
}

/* A line that begins with a flag is none of the launch's that a line before it ended: its
 * backslash is missing, a blank follows it, or a comment stands among the lines. */
static enum status check_lines(struct job *job, const struct shell *shell,
                               const struct shell_command *launch)
{
    const struct shell_command *next = NULL;
    for (size_t i = 1; i < shell->n_commands; i++)
        next = &shell->commands[i - 1] == launch ? &shell->commands[i] : next;
    size_t first = 0; /* ${ARGS[@]} that nobody set */
    while (next && first < next->words.n && !next->words.items[first].text[0] &&
           next->words.items[first].trouble)
        first++;
    const char *text = next && first < next->words.n ? next->words.items[first].text : "";
    if (text[0] != '-' || !text[1])
        return STATUS_OK;
    err_at(job->err, next->mark,
           "'%s' begins a line of its own: the launch on line %u ends before it", text,
           launch->mark.line);
    return err_hint(job->err, "end each line of a launch but its last with a '\\' that nothing "
                              "follows, and keep comments out of it");
}

enum status launch_read(struct job *job, const struct shell *shell,
                        const struct launch_script *script)
{
    struct launch launch = {0};
    job->shell = shell;
    TRY(choose(job, shell, script, &launch));
    TRY(check_lines(job, shell, launch.command));
    const struct shell_command *told;
    struct launch again = {0};
    TRY(launch_told(job, script, launch.command, &told));
    if (told && find_in_command(job, told, &again) && again.framework == launch.framework)
        launch = again;
    job->framework = launch.framework;
    job->mark = launch.command->mark;
    job->before = launch.command->n_variables;
    TRY(launch_read_size(job, shell, &launch));
    const struct shell_words *words = &launch.command->words;
    job->command = words;
    job->words = words->items + launch.place;
    job->n_words = words->n - launch.place;
    job->entry = launch.entry - launch.place;
    job->layer = JOB_COMMAND_LINE;
    return job_add_words(job, job->words, job->n_words);
}
