/* How many ranks a launch starts: by its launcher's flags, by sbatch's, by variables. */
#include <ctype.h>
#include <string.h>

#include "plan/launch/launch.h"

enum count { COUNT_NODES, COUNT_PER_NODE, COUNT_WORLD };

static const struct {
    const char *flag; /* '_' is '-' */
    enum count count;
    bool joined; /* -N4 */
} launcher_flags[] = {
    {"--nnodes", COUNT_NODES, false},
    {"--nproc-per-node", COUNT_PER_NODE, false},
    {"-N", COUNT_NODES, true},
    {"--nodes", COUNT_NODES, false},
    {"--ntasks-per-node", COUNT_PER_NODE, false},
    {"-n", COUNT_WORLD, true},
    {"--ntasks", COUNT_WORLD, false},
    {"-np", COUNT_WORLD, false},
    {"--num-gpus", COUNT_PER_NODE, false},
    {"--num-nodes", COUNT_NODES, false},
    {"--gpus-per-node", COUNT_PER_NODE, false},
    {"--num-processes", COUNT_WORLD, false},
    {"--num-machines", COUNT_NODES, false},
    {"--gres", COUNT_PER_NODE, false},
    {"--nproc", COUNT_PER_NODE, false},
};

/* A count of ranks that the script does not tell: the size that the user gives holds. */
static enum status not_known(struct job *job, const struct shell_word *word, const char *what)
{
    struct job_size asked;
    if (job_asked_size(job, &asked)) {
        job->size_asked = true;
        return STATUS_OK;
    }
    err_at(job->err, word->mark, "'%s' is not known: %s", what,
           word->trouble ? word->trouble
                         : arena_printf(job->arena, "'%s' is no whole number", word->text));
    return err_hint(job->err,
                    "a job file is read and not run: write the number, or a default "
                    "as in ${NNODES:-4}, or give the size, as in --set cluster=h100-8x4%s",
                    job_given_hint(job, word->trouble));
}

static void set_count(struct job *job, enum count count, uint64_t value)
{
    if (count == COUNT_NODES)
        job->size.nodes = value;
    else if (count == COUNT_PER_NODE)
        job->size.per_node = value;
    else
        job->size.world = value;
}

/* The value of a launcher's flag: behind '=', joined to it, or the next word. */
static enum status read_count(struct job *job, const struct shell_words *words, size_t i,
                              size_t length, enum count count, bool strict)
{
    const struct shell_word *word = &words->items[i];
    const char *text = word->text + length + (word->text[length] == '=');
    if (word->text[length] == '\0') {
        if (i + 1 == words->n)
            return STATUS_OK;
        word = &words->items[i + 1];
        text = word->text;
    }
    if (text_equal(text, "gpu") || text_equal(text, "auto") || text_equal(text, "cpu"))
        return STATUS_OK;
    uint64_t value = 0;
    bool elastic = strchr(text, ':') && isdigit((unsigned char)text[0]);
    if (elastic && strict)
        return err_at(job->err, word->mark, "'%s' is a range of sizes, a plan has one", text);
    bool name = words->items[i].text[1] != '-' && !word->trouble; /* conda run -n NAME */
    if (word->trouble || !shell_count(text, &value))
        return strict && !name ? not_known(job, word, words->items[i].text) : STATUS_OK;
    set_count(job, count, value);
    return STATUS_OK;
}

static enum status read_launcher(struct job *job, const struct shell_words *words, size_t n,
                                 bool strict)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < sizeof launcher_flags / sizeof *launcher_flags; j++) {
            size_t length = shell_option(words->items[i].text, launcher_flags[j].flag,
                                         launcher_flags[j].joined);
            if (length)
                TRY(read_count(job, words, i, length, launcher_flags[j].count, strict));
        }
    return STATUS_OK;
}

/* Whether the launcher itself says how many ranks a node has, or how many nodes there are. */
static bool says(const struct launch *launch, const char *flag)
{
    bool found = false;
    for (size_t i = 0; i < launch->launcher; i++)
        found = found || shell_option(launch->command->words.items[i].text, flag, false);
    return found;
}

static bool is_torchrun(const struct shell_word *word)
{
    const char *name = text_base_name(word->text);
    return text_equal(name, "torchrun") || text_equal(name, "torch.distributed.run") ||
           text_equal(name, "torch.distributed.launch");
}

/* torchrun takes flags that are not given from variables of their names (torch/distributed/
 * argparse_util.py). */
static bool takes(const struct launch *launch, const char *flag)
{
    bool torchrun = false;
    for (size_t i = 0; i < launch->launcher; i++)
        torchrun = torchrun || is_torchrun(&launch->command->words.items[i]);
    return torchrun && !says(launch, flag);
}

/* Variables that frameworks and wrappers take their size from; a script that they are handed
 * to passes them on as the launcher's flags. One that starts its nodes' ranks itself says their
 * number to them; what it does not know there may be known already, from the batch system. */
static enum status read_environment(struct job *job, const struct launch *launch)
{
    const struct job_framework *f = launch->framework;
    const struct job_size *size = &job->size;
    const struct {
        const char *name;
        enum count count;
        bool needed, known;
    } names[] = {
        {"WORLD_SIZE", COUNT_WORLD, !f->nodes && !size->world && !size->per_node, false},
        {"PET_NPROC_PER_NODE", COUNT_PER_NODE, takes(launch, "--nproc-per-node"), true},
        {"PET_NNODES", COUNT_NODES, takes(launch, "--nnodes"), true},
        {f->per_node, COUNT_PER_NODE, f->per_node && !says(launch, "--nproc-per-node"),
         size->per_node > 0},
        {f->nodes, COUNT_NODES, f->nodes && !says(launch, "--nnodes"), size->nodes > 0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct shell_variable *v =
            names[i].needed ? job_environment(job, names[i].name) : NULL;
        if (!v || v->value.n != 1)
            continue;
        struct shell_word word = v->value.items[0];
        uint64_t value;
        word.trouble = v->trouble ? v->trouble : word.trouble;
        bool unknown = word.trouble || !shell_count(word.text, &value);
        if (unknown && !names[i].known)
            return not_known(job, &word, names[i].name);
        if (!unknown)
            set_count(job, names[i].count, value);
    }
    return STATUS_OK;
}

/* torchrun starts one node unless it is told otherwise. */
static void complete_launcher(struct job *job, const struct shell_words *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool torchrun = is_torchrun(&words->items[i]) ||
                        text_equal(text_base_name(words->items[i].text), "deepspeed");
        if (torchrun && !job->size.nodes)
            job->size.nodes = 1;
        if (torchrun) /* one task a node starts torchrun, which starts the ranks */
            job->size.world = 0;
    }
}

enum status launch_read_size(struct job *job, const struct shell *shell,
                             const struct launch *launch)
{
    const struct shell_words *words = &launch->command->words;
    TRY(read_launcher(job, &shell->sbatch, shell->sbatch.n, false));
    TRY(read_launcher(job, words, launch->launcher, true));
    TRY(read_environment(job, launch));
    complete_launcher(job, words, launch->launcher);
    struct job_size *size = &job->size;
    if (size->world && size->nodes && !size->per_node && size->world % size->nodes == 0)
        size->per_node = size->world / size->nodes;
    if (size->nodes && size->per_node)
        size->world = size->nodes * size->per_node;
    if (job->size_asked)
        job_asked_size(job, size);
    return STATUS_OK;
}
