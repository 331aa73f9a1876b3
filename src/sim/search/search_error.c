/* The error of many plans' seconds, asked of the profile once for all that it is the same of;
 * see search_parts.h. */
#include "plan/derive.h"
#include "plan/paths.h"
#include "sim/search/search_parts.h"
#include "sim/step/interval.h"
#include "work/stack/stack.h"

struct search_errors {
    const struct profile *profile;
    bool asked, elsewhere; /* of all plans: they have one device and model */
    double (*known)[2]; /* by path, and whether no run was like the plan; below 0: not asked */
};

struct search_errors *search_errors_create(const struct search_ask *ask, struct arena *arena)
{
    struct search_errors *e = arena_alloc(arena, 1, sizeof *e);
    e->profile = ask->profile;
    if (!e->profile)
        return e;
    e->known = arena_alloc(arena, paths_count(), sizeof *e->known);
    for (unsigned i = 0; i < paths_count(); i++)
        e->known[i][0] = e->known[i][1] = -1;
    return e;
}

static double error_of(struct search_errors *e, const struct plan *plan)
{
    bool unlike = profile_is_unlike(e->profile, plan);
    e->elsewhere = e->asked ? e->elsewhere : profile_is_elsewhere(e->profile, plan);
    e->asked = true;
    double *known = &e->known[plan->moe.path][unlike];
    if (*known < 0)
        *known = time_error_as(e->profile, plan, e->elsewhere, unlike);
    return *known;
}

double search_error(struct search_errors *e, const struct plan *plan)
{
    struct plan resolved;
    if (!e->profile)
        return 0;
    if (plan_names_path(plan))
        return error_of(e, plan);
    resolved = *plan;
    resolved.moe.path = stack_path(plan, NULL);
    return error_of(e, &resolved);
}
