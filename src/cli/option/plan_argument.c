/* From options to a loaded plan; see plan_argument.h. */
#include "cli/option/plan_argument.h"

#include <string.h>

#include "plan/schema.h"

static enum status split(const char *setting, struct arena *arena, struct override *override,
                         struct err *err)
{
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting) {
        err_set(err, STATUS_USAGE, "option '--set' takes KEY=VALUE, not '%s'", setting);
        return err_hint(err, "for example --set workload.micro_batch=4");
    }
    *override = (struct override){
        .key = arena_strndup(arena, setting, (size_t)(equals - setting)),
        .value = equals + 1,
        .option = arena_printf(arena, "--set %s", setting),
    };
    return STATUS_OK;
}

enum status plan_argument_overrides(const struct invocation *call, struct override **overrides,
                                    size_t *n, struct err *err)
{
    const struct general *general = &call->general;
    struct override *list = arena_alloc(call->arena, general->set.n + 1, sizeof *list);
    for (size_t i = 0; i < general->set.n; i++)
        TRY(split(general->set.items[i], call->arena, &list[i], err));
    *overrides = list;
    *n = general->set.n;
    if (general->seed)
        list[(*n)++] = (struct override){
            .key = "moe.routing.seed",
            .value = general->seed,
            .option = arena_printf(call->arena, "--seed %s", general->seed),
        };
    return STATUS_OK;
}

void plan_argument_notes(const struct job_result *job, const char *file, bool all)
{
    if (job->taken_for)
        fprintf(stderr, "%s: read as %s\n", file, job->taken_for);
    for (size_t i = 0; i < job->notes.n; i++) {
        const struct job_note *note = &job->notes.items[i];
        struct err place = {0};
        if (!note->warning && !all)
            continue;
        err_at(&place, STATUS_INPUT, note->mark, "%s%s", note->warning ? "warning: " : "",
               note->text);
        err_print(&place, stderr);
    }
}

enum status plan_argument_tree(const struct invocation *call, size_t i,
                               struct override *overrides, size_t *n, struct node **root,
                               struct err *err)
{
    const struct job_request request = {.sets = overrides, .n_sets = *n};
    struct job_result job = {0};
    size_t kept = 0;
    TRY(job_read(call->operands[i], &request, call->arena, &job, err));
    plan_argument_notes(&job, call->operands[i], false);
    for (size_t j = 0; j < *n; j++) /* the job has put its size behind the device's name */
        if (!(job.cluster_taken && text_equal(overrides[j].key, "cluster")))
            overrides[kept++] = overrides[j];
    *n = kept;
    *root = job.root;
    return STATUS_OK;
}

enum status plan_argument_load(const struct invocation *call, size_t i, struct plan *plan,
                               struct origins *origins, struct err *err)
{
    struct override *overrides = NULL;
    struct node *root = NULL;
    size_t n = 0;
    TRY(plan_argument_overrides(call, &overrides, &n, err));
    TRY(plan_argument_tree(call, i, overrides, &n, &root, err));
    return plan_load_tree(call->operands[i], root, overrides, n, true, call->arena, plan,
                          origins, err);
}

/* Whether a text names a key: the key, with nothing before or behind it that could be a part of
 * a longer one. */
static bool names_key(const char *text, const struct field *field)
{
    static const char part[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    for (const char *at = text; (at = strstr(at, field->key)) != NULL; at++) {
        const char *behind = at + field->key_length;
        bool starts = at == text || !strchr(part, at[-1]);
        if (starts && (*behind == '\0' || !strchr(part, *behind)))
            return true;
    }
    return false;
}

struct mark plan_argument_place(const struct invocation *call, size_t i,
                                const struct origins *origins, const char *text,
                                const char *otherwise)
{
    size_t n;
    const struct field *fields = schema_fields(&n), *best = schema_find(otherwise);
    for (size_t f = 0; origins->mark && f < n; f++)
        if (origins->mark[f].file && strchr(fields[f].key, '.') && names_key(text, &fields[f]))
            best = &fields[f];
    struct mark mark = {0};
    if (best && origins->mark)
        mark = origins->mark[best - fields];
    return mark.file ? mark : (struct mark){.file = call->operands[i]};
}

struct provenance plan_argument_provenance(const struct plan *plan)
{
    return (struct provenance){
        .seed = plan->moe.routing.seed,
        .plan = plan->name,
        .model = plan->model.name,
        .cluster = plan->cluster.name,
        .stack = plan->stack_name,
        .profile = plan->stack.name,
    };
}
