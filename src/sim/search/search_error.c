/* The error of many plans' seconds, asked of the profile once for all that it is the same of;
 * see search_parts.h. */
#include "plan/derive.h"
#include "plan/paths.h"
#include "sim/search/search_parts.h"
#include "sim/step/interval.h"
#include "work/stack/stack.h"

struct search_errors {
    const struct profile *profile;
    bool asked;
    enum profile_standing like; /* of plans that leave no key of the runs: of their one device
                                 * and model */
    double (*known)[RUNS_UNLIKE + 1]; /* by path and standing; below 0: not asked */
};

struct search_errors *search_errors_create(const struct search_ask *ask, struct arena *arena)
{
    struct search_errors *e = arena_alloc(arena, 1, sizeof *e);
    e->profile = ask->profile;
    if (!e->profile)
        return e;
    e->known = arena_alloc(arena, paths_count(), sizeof *e->known);
    for (unsigned i = 0; i < paths_count(); i++)
        e->known[i][RUNS_LIKE] = e->known[i][RUNS_ELSEWHERE] = e->known[i][RUNS_UNLIKE] = -1;
    return e;
}

static enum profile_standing standing_of(struct search_errors *e, const struct plan *plan)
{
    if (profile_is_unlike(e->profile, plan))
        return RUNS_UNLIKE;
    if (!e->asked)
        e->like = profile_standing(e->profile, plan);
    e->asked = true;
    return e->like;
}

static double error_of(struct search_errors *e, const struct plan *plan)
{
    enum profile_standing standing = standing_of(e, plan);
    double *known = &e->known[plan->moe.path][standing];
    if (*known < 0)
        *known = time_error_as(e->profile, plan, standing);
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
