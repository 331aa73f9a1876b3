/* The error of many plans' seconds, asked of the profile once for all that it is the same of;
 * see search_parts.h. */
#include "base/text.h"
#include "plan/derive.h"
#include "sim/search/search_parts.h"
#include "sim/step/interval.h"
#include "work/stack/stack.h"

enum { MOST = 1 << 20 }; /* of a table of which few pages are touched */

struct search_errors {
    const struct search_ask *ask;
    bool tells[SEARCH_KEYS];
    double *known; /* by the keys that tell, 0: not asked yet; NULL: too many of their values */
};

static double error_of(const struct profile *profile, const struct plan *plan)
{
    struct plan resolved;
    if (plan_names_path(plan))
        return time_error(profile, plan, NULL);
    resolved = *plan;
    resolved.moe.path = stack_path(plan, NULL);
    return time_error(profile, &resolved, NULL);
}

static bool chooses_path(const struct search_ask *ask)
{
    struct plan plan = *ask->plan;
    for (size_t i = 0; i < ask->space->n[SEARCH_PATH]; i++) {
        search_set(&plan, SEARCH_PATH, ask->space->value[SEARCH_PATH][i]);
        if (!plan_names_path(&plan))
            return true;
    }
    return false;
}

/* Whether the error of a plan's seconds may differ with a key; `any`: with all that a stack may
 * choose the path by. */
static bool tells(const struct search_ask *ask, enum search_key key, bool any)
{
    const struct profile *profile = ask->profile;
    if (key == SEARCH_PATH || any)
        return true;
    for (size_t i = 0; i < profile->n_runs; i++)
        if (text_equal(profile->runs[i].key, search_key_full(key)))
            return true;
    return false;
}

struct search_errors *search_errors_create(const struct search_ask *ask, struct arena *arena)
{
    struct search_errors *e = arena_alloc(arena, 1, sizeof *e);
    size_t n = 1;
    bool any = chooses_path(ask);
    e->ask = ask;
    if (!ask->profile)
        return e;
    for (unsigned key = 0; key < SEARCH_KEYS; key++) {
        e->tells[key] = tells(ask, (enum search_key)key, any);
        n *= e->tells[key] ? ask->space->n[key] : 1;
        if (n > MOST)
            return e;
    }
    e->known = arena_alloc(arena, n, sizeof *e->known);
    return e;
}

double search_error(struct search_errors *e, const struct plan *plan,
                    const uint8_t index[SEARCH_KEYS])
{
    size_t at = 0;
    if (!e->ask->profile)
        return 0;
    if (!e->known)
        return error_of(e->ask->profile, plan);
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        at = e->tells[key] ? at * e->ask->space->n[key] + index[key] : at;
    if (!(e->known[at] > 0))
        e->known[at] = error_of(e->ask->profile, plan);
    return e->known[at];
}
