/* Which words of a launch are not known, where a variable with some of them is split: a reading
 * that marks them says it of each. */
#include <string.h>

#include "plan/launch/launch.h"

/* The same command of another reading of the script; NULL: it has none there. */
static const struct shell_command *same_command(const struct shell *shell,
                                                const struct shell_command *command)
{
    for (size_t i = 0; i < shell->n_commands; i++) {
        const struct shell_command *c = &shell->commands[i];
        if (c->mark.line == command->mark.line && c->mark.column == command->mark.column &&
            c->words.n)
            return c;
    }
    return NULL;
}

static bool is_marked(const struct shell_word *word)
{
    return strstr(word->text, SHELL_UNKNOWN) != NULL;
}

/* Do words that are not known stand where the marks do? Of a text that splits, CMD=".. $TP ..",
 * the first one says that something of it is not. */
static bool are_told(const struct shell_words *words, const struct shell_words *marked)
{
    bool told = words->n == marked->n;
    for (size_t i = 0; told && i < words->n; i++)
        told = (words->items[i].trouble != NULL) == is_marked(&marked->items[i]);
    return told;
}

enum status launch_told(struct job *job, const struct launch_script *script,
                        const struct shell_command *command, const struct shell_command **told)
{
    const char *why = NULL;
    *told = NULL;
    for (size_t i = 0; i < command->words.n; i++)
        why = why ? why : command->words.items[i].trouble;
    if (!why || job->shell->raw)
        return STATUS_OK;
    struct shell *raw = arena_alloc(job->arena, 1, sizeof *raw);
    TRY(shell_read_raw(job->file, script->text, script->length, job->shell->given,
                       job->shell->n_given, job->arena, raw, job->err));
    const struct shell_command *marked = same_command(raw, command);
    if (!marked || are_told(&command->words, &marked->words))
        return STATUS_OK;
    struct shell_command *own = arena_alloc(job->arena, 1, sizeof *own);
    *own = *command;
    own->words = (struct shell_words){0};
    for (size_t i = 0; i < marked->words.n; i++) {
        struct shell_word word = marked->words.items[i];
        word.trouble = !is_marked(&word) ? NULL : word.trouble ? word.trouble : why;
        shell_words_add(&own->words, word, job->arena);
    }
    *told = own;
    return STATUS_OK;
}
