/* What Slurm puts into the environment of a batch script, as its #SBATCH lines say it. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "plan/text/shell_expand.h"

enum { SLURM_VARIABLES = 2, SLURM_COUNT = 1000000 };

/* An option, long and short, and the variables that repeat its number. */
static const struct slurm_option {
    const char *option, *letter;
    const char *variables[SLURM_VARIABLES];
} options[] = {
    {"--nodes", "-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
    {"--ntasks", "-n", {"SLURM_NTASKS", "SLURM_NPROCS"}},
    {"--ntasks-per-node", NULL, {"SLURM_NTASKS_PER_NODE"}},
    {"--cpus-per-task", "-c", {"SLURM_CPUS_PER_TASK"}},
    {"--gpus", "-G", {"SLURM_GPUS"}},
    {"--gpus-per-node", NULL, {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
    {"--gres", NULL, {"SLURM_GPUS_ON_NODE"}},
};

size_t shell_option(const char *word, const char *option, bool joined)
{
    size_t n = strlen(option);
    for (size_t i = 0; i < n; i++)
        if ((word[i] == '_' && i > 2 ? '-' : word[i]) != option[i])
            return 0;
    bool ends =
        word[n] == '\0' || word[n] == '=' || (joined && isdigit((unsigned char)word[n]));
    return ends ? n : 0;
}

bool shell_count(const char *text, uint64_t *value)
{
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    return strlen(digits) <= 9 && number_count(digits, value);
}

/* What a word gives for an option: "--nodes=8", "-N8", or the next word; NULL: another option.
 */
static const char *value_of(const struct shell_words *words, size_t at,
                            const struct slurm_option *option)
{
    const char *text = words->items[at].text;
    size_t n = shell_option(text, option->option, false);
    if (!n && option->letter)
        n = shell_option(text, option->letter, true);
    if (!n || text[n])
        return n ? text + n + (text[n] == '=') : NULL;
    return at + 1 < words->n ? words->items[at + 1].text : NULL;
}

/* Of "gpu:h100:8(S:0-1)" too; a range of nodes ("4-8") is no number. */
static bool read_number(struct arena *arena, const char *text, uint64_t *value)
{
    const char *plain = arena_strndup(arena, text, strcspn(text, "("));
    return shell_count(plain, value) && *value <= SLURM_COUNT;
}

static enum status set_number(struct shell_reader *reader, const char *name, uint64_t value,
                              struct mark mark)
{
    struct shell_variable variable = {.name = name, .exported = true};
    const char *text = arena_printf(reader->arena, "%" PRIu64, value);
    shell_words_add(&variable.value, (struct shell_word){text, mark, NULL}, reader->arena);
    return shell_set_variable(reader, variable, mark);
}

static bool known(const struct shell *shell, const char *name, uint64_t *value)
{
    const struct shell_variable *v = shell_variable(shell, shell->n_variables, name, false);
    return v && v->value.n == 1 && shell_count(v->value.items[0].text, value) &&
           *value <= SLURM_COUNT;
}

enum status shell_slurm_variables(struct shell_reader *reader, size_t first)
{
    struct shell *shell = reader->shell;
    const struct shell_words *words = &shell->sbatch;
    struct mark mark = reader->cursor.mark;
    uint64_t value, nodes, tasks;
    for (size_t at = first; at < words->n; at++)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            const char *text = value_of(words, at, &options[i]);
            if (!text || !read_number(reader->arena, text, &value))
                continue;
            for (size_t v = 0; v < SLURM_VARIABLES && options[i].variables[v]; v++)
                TRY(set_number(reader, options[i].variables[v], value, mark));
        }
    if (!known(shell, "SLURM_NTASKS", &value) && known(shell, "SLURM_NNODES", &nodes) &&
        known(shell, "SLURM_NTASKS_PER_NODE", &tasks))
        TRY(set_number(reader, "SLURM_NTASKS", nodes * tasks, mark));
    return STATUS_OK;
}
