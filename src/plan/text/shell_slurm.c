/* What Slurm puts into the environment of a batch script, as its #SBATCH lines say it. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

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

/* What a word gives for an option: "--nodes=8", "-N8", or the next word; NULL: another option.
 */
static const char *value_of(const struct shell_words *words, size_t at,
                            const struct slurm_option *option)
{
    const char *text = words->items[at].text;
    size_t n = strlen(option->option);
    if (strncmp(text, option->option, n) == 0 && text[n] == '=')
        return text + n + 1;
    bool letter = option->letter && strncmp(text, option->letter, 2) == 0;
    if (letter && text[2])
        return text + 2 + (text[2] == '=');
    bool alone = letter || strcmp(text, option->option) == 0;
    return alone && at + 1 < words->n ? words->items[at + 1].text : NULL;
}

/* "8", "gpu:8", "h100:8", "gpu:h100:8(S:0-1)"; a range of nodes ("4-8") is no number. */
static bool read_number(const char *text, uint64_t *value)
{
    const char *colon = strrchr(text, ':'), *bracket = strchr(text, '(');
    if (bracket && colon > bracket)
        for (colon = bracket; colon > text && *colon != ':';)
            colon--;
    const char *at = colon && *colon == ':' ? colon + 1 : text;
    if (!isdigit((unsigned char)*at))
        return false;
    for (*value = 0; isdigit((unsigned char)*at) && *value <= SLURM_COUNT; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return (!*at || *at == '(') && *value <= SLURM_COUNT;
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
    return v && v->value.n == 1 && read_number(v->value.items[0].text, value);
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
            if (!text || !read_number(text, &value))
                continue;
            for (size_t v = 0; v < SLURM_VARIABLES && options[i].variables[v]; v++)
                TRY(set_number(reader, options[i].variables[v], value, mark));
        }
    if (!known(shell, "SLURM_NTASKS", &value) && known(shell, "SLURM_NNODES", &nodes) &&
        known(shell, "SLURM_NTASKS_PER_NODE", &tasks))
        TRY(set_number(reader, "SLURM_NTASKS", nodes * tasks, mark));
    return STATUS_OK;
}
