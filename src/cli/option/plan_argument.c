/* From options to a loaded plan; see plan_argument.h. */
#include "cli/option/plan_argument.h"

#include <string.h>

/* "key=value" of an option: `option` as typed before the key. */
static enum status split(const char *option, const char *setting, struct arena *arena,
                         struct override *override, struct err *err)
{
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting) {
        err_set(err, STATUS_USAGE, "option '%.*s' takes KEY=VALUE, not '%s'",
                (int)strcspn(option, " "), option, setting);
        return err_hint(err, "for example %sworkload.micro_batch=4", option);
    }
    *override = (struct override){
        .key = arena_strndup(arena, setting, (size_t)(equals - setting)),
        .value = equals + 1,
        .option = arena_printf(arena, "%s%s", option, setting),
    };
    return STATUS_OK;
}

enum status plan_argument_overrides(const struct invocation *call, struct override **overrides,
                                    size_t *n, struct err *err)
{
    const struct general *general = &call->general;
    struct override *list =
        arena_alloc(call->arena, general->set.n + general->own.n + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < general->set.n; i++)
        TRY(split("--set ", general->set.items[i], call->arena, &list[(*n)++], err));
    for (size_t i = 0; i < general->own.n; i++)
        TRY(split(general->own_option, general->own.items[i], call->arena, &list[(*n)++], err));
    *overrides = list;
    if (general->seed)
        list[(*n)++] = (struct override){
            .key = "moe.routing.seed",
            .value = general->seed,
            .option = arena_printf(call->arena, "--seed %s", general->seed),
        };
    return STATUS_OK;
}

enum status plan_argument_sets(const struct invocation *call, struct published_sets *sets,
                               struct err *err)
{
    struct override *overrides;
    TRY(plan_argument_overrides(call, &overrides, &sets->n, err));
    sets->items = overrides;
    return STATUS_OK;
}

void plan_argument_notes(const struct job_result *job, const char *file)
{
    if (job->taken_for)
        fprintf(stderr, "%s: read as %s\n", file, job->taken_for);
    for (size_t i = 0; i < job->notes.n; i++) {
        const struct job_note *note = &job->notes.items[i];
        struct err place = {0};
        if (!note->warning)
            continue;
        err_at(&place, note->mark, "warning: %s", note->text);
        err_print(&place, stderr);
    }
}

enum status plan_argument_request(const struct invocation *call, size_t i,
                                  struct request *request, struct err *err)
{
    struct job_result job;
    *request = (struct request){.name = call->operands[i]};
    TRY(plan_argument_overrides(call, &request->sets, &request->n_sets, err));
    TRY(request_read(request, call->arena, &job, err));
    plan_argument_notes(&job, call->operands[i]);
    return STATUS_OK;
}

enum status plan_argument_load(const struct invocation *call, size_t i, struct plan *plan,
                               struct origins *origins, struct err *err)
{
    struct request request;
    TRY(plan_argument_request(call, i, &request, err));
    return request_load(&request, call->arena, plan, origins, err);
}

enum status plan_argument_load_searched(const struct invocation *call, size_t i,
                                        struct plan *plan, struct origins *origins,
                                        struct err *err)
{
    struct request request;
    TRY(plan_argument_request(call, i, &request, err));
    return request_load_searched(&request, call->arena, plan, origins, err);
}
