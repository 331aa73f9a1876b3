/* See request.h. */
#include "lib/request.h"

#include <string.h>

#include "plan/schema/schema.h"
#include "sim/search/search.h"
#include "work/list/work.h"

enum status request_read(struct request *request, struct arena *arena, struct job_result *job,
                         struct err *err)
{
    const struct job_request asked = {.sets = request->sets, .n_sets = request->n_sets};
    size_t kept = 0;
    *job = (struct job_result){0};
    if (request->text)
        TRY(job_read_text(request->name, request->text, request->length, &asked, arena, job,
                          err));
    else
        TRY(job_read(request->name, &asked, arena, job, err));
    unsigned line = 0;
    request->name = request->text ? request->name : job_file(request->name, arena, &line);
    for (size_t i = 0; i < request->n_sets; i++) { /* what the job took for itself */
        const char *key = request->sets[i].key;
        bool taken = (job->cluster_taken && text_equal(key, "cluster")) ||
                     (job->taken_for && job_given_name(key));
        if (!taken)
            request->sets[kept++] = request->sets[i];
    }
    request->n_sets = kept;
    request->root = job->root;
    request->draft = arena_alloc(arena, 1, sizeof *request->draft);
    *request->draft = job->draft;
    return STATUS_OK;
}

enum status request_load(const struct request *request, struct arena *arena, struct plan *plan,
                         struct origins *origins, struct err *err)
{
    enum status status = plan_load_tree(request->name, request->root, request->sets,
                                        request->n_sets, true, arena, plan, origins, err);
    return status == STATUS_OK ? status : draft_blame(request->draft, err);
}

enum status request_load_searched(const struct request *request, struct arena *arena,
                                  struct plan *plan, struct origins *origins, struct err *err)
{
    struct err broken = {0};
    if (plan_load_tree(request->name, request->root, request->sets, request->n_sets, false,
                       arena, plan, origins, err) != STATUS_OK)
        return draft_blame(request->draft, err);
    const struct rule *rule = plan_check_rules(plan, origins, &broken);
    if (!rule || search_turns(rule))
        return STATUS_OK;
    *err = broken;
    return draft_blame(request->draft, err);
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

/* The last key that a text names and the plan sets; NULL: none. */
static const struct field *named_key(const struct origins *origins, const char *text)
{
    size_t n;
    const struct field *fields = schema_fields(&n), *best = NULL;
    for (size_t f = 0; origins->mark && f < n; f++)
        if (origins->mark[f].file && strchr(fields[f].key, '.') && names_key(text, &fields[f]))
            best = &fields[f];
    return best;
}

struct mark request_place(const char *name, const struct origins *origins, const char *text,
                          const char *otherwise)
{
    size_t n;
    const struct field *named = named_key(origins, text);
    const struct field *best = named ? named : schema_find(otherwise);
    struct mark mark = {0};
    if (best && origins->mark)
        mark = origins->mark[best - schema_fields(&n)];
    return mark.file ? mark : (struct mark){.file = name};
}

enum status request_blame(const char *name, const struct origins *origins, struct err *err)
{
    const char *text = named_key(origins, err->text) ? err->text : err->hint;
    return err_place(err, request_place(name, origins, text, "moe.path"));
}

enum status request_build(const char *name, const struct plan *plan,
                          const struct origins *origins, struct arena *arena, struct err *err)
{
    struct work work;
    if (work_build(plan, arena, &work, err) == STATUS_OK)
        return STATUS_OK;
    return request_blame(name, origins, err);
}

struct provenance request_provenance(const struct plan *plan, const char *profile)
{
    return (struct provenance){
        .seed = plan->moe.routing.seed,
        .plan = plan->name,
        .model = plan->model.name,
        .cluster = plan->cluster.name,
        .stack = plan->stack_name,
        .profile = profile,
    };
}
