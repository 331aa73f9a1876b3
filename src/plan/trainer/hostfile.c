/* DeepSpeed's file of hosts: "worker-1 slots=8" a line (deepspeed 0.19 launcher/runner.py,
 * _parse_hostfile, apply_num_nodes_and_gpus). */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/trainer/trainer.h"

/* One line's slots; 0: it is none. */
static uint64_t slots_of(struct job *job, const char *line, size_t length)
{
    static const char key[] = "slots=";
    size_t host = strcspn(line, " \t\r\n"), skip = strspn(line + host, " \t");
    const char *at = line + host + skip;
    uint64_t slots = 0;
    if (!host || !skip || host + skip >= length || !text_starts(at, key))
        return 0;
    at += sizeof key - 1;
    const char *digits = arena_strndup(job->arena, at, strspn(at, "0123456789"));
    return number_count(digits, &slots) ? slots : 0;
}

static enum status read_hosts(struct job *job, const char *path, const char *text,
                              struct job_size *size)
{
    uint64_t limit = 0, each = 0; /* the first of them, of each so many */
    unsigned line = 1;
    struct job_size found = {0};
    TRY(job_count(job, "num_nodes", &limit));
    TRY(job_count(job, "num_gpus", &each));
    for (const char *at = text; *at; line++) {
        size_t length = strcspn(at, "\n"), blank = strspn(at, " \t\r");
        bool empty = blank >= length || at[blank] == '#';
        uint64_t slots = empty ? 0 : slots_of(job, at + blank, length - blank);
        const struct mark mark = {.file = path, .line = line, .column = 1};
        if (!empty && (slots < 1 || slots > 1000))
            return err_at(job->err, mark,
                          "a host and its slots stand on a line, as in 'worker-1 slots=8'");
        if (!empty && (!limit || found.nodes < limit)) {
            if (found.nodes && slots != found.per_node && !each)
                job_warn(job, mark,
                         "hosts of different slots are not planned: %" PRIu64
                         " of each, as the first has",
                         found.per_node);
            found.per_node = found.per_node ? found.per_node : slots;
            found.nodes++;
        }
        at += length + (at[length] == '\n');
    }
    if (!found.nodes)
        return err_at(job->err, (struct mark){.file = path},
                      "no host stands in it, as in 'worker-1 slots=8'");
    size->nodes = found.nodes;
    size->per_node = each ? each : found.per_node;
    size->world = size->nodes * size->per_node;
    return STATUS_OK;
}

enum status trainer_read_hosts(struct job *job)
{
    static const char flag[] = "hostfile";
    const struct setting *s = job_setting(job, flag);
    const char *name = NULL, *path, *text;
    size_t length;
    if (!s || s->trouble || job->size_asked)
        return STATUS_OK;
    TRY(job_word(job, flag, &name));
    TRY(job_other_file(job, name, &path, &text, &length));
    if (text)
        return read_hosts(job, path, text, &job->size);
    if (job_given(job, "num_nodes"))
        return STATUS_OK;
    struct job_size asked;
    if (job_asked_size(job, &asked)) {
        job->size = asked;
        return STATUS_OK;
    }
    job_warn(job, s->mark,
             "file '%s' is not there, and how many hosts it lists matters to memory: one is "
             "planned; --num_nodes, or the size as in --set cluster=h100-8x4, says it",
             name);
    return STATUS_OK;
}
