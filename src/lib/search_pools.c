/* See search_pools.h. */
#include "lib/search_pools.h"

#include <string.h>

#include "base/text.h"
#include "plan/pools.h"

bool search_has_pools(const struct plan *plan)
{
    return plan->prefill && plan->workload.mode == MODE_SERVE;
}

/* ---- whose keys ---- */

/* The part of a wish that is of one pool's layouts, or of none. */
enum part { PART_PREFILL, PART_DECODE, PART_PLAN };

static enum part part_of(const char *text, bool fixed, struct arena *arena)
{
    bool own = text_starts(text, POOL_PREFIX);
    const char *name = text + (own ? sizeof POOL_PREFIX - 1 : 0);
    bool layout = search_wish_is_layout(arena_strndup(arena, name, strcspn(name, "=")));
    return !layout && !fixed ? PART_PLAN : own ? PART_PREFILL : PART_DECODE;
}

/* Those of a list that are of the part. */
static const char *const *sublist(const char *const *all, size_t n, bool fixed, enum part part,
                                  struct arena *arena, size_t *n_own)
{
    const char **own = arena_alloc(arena, n + 1, sizeof *own);
    *n_own = 0;
    for (size_t i = 0; i < n; i++)
        if (part_of(all[i], fixed, arena) == part)
            own[(*n_own)++] = all[i] + (part == PART_PREFILL ? sizeof POOL_PREFIX - 1 : 0);
    return own;
}

static struct search_wish wish_of(const struct search_wish *wish, enum part part,
                                  struct arena *arena)
{
    struct search_wish own = {.at_most = wish->at_most};
    own.overs = sublist(wish->overs, wish->n_overs, false, part, arena, &own.n_overs);
    own.fixed = sublist(wish->fixed, wish->n_fixed, true, part, arena, &own.n_fixed);
    return own;
}

/* ---- the plans ---- */

/* A limit that the wish sets is the plan's: it decides how many sequences servers take. */
static enum status set_limits(const struct search_wish *wish, struct plan *plan,
                              struct err *err)
{
    struct search_ask limits = {.objective = SEARCH_BY_TOKENS};
    struct limit *own = &plan->workload.limit;
    TRY(search_wish_serving(wish, plan, &limits, err));
    own->tpot_s = limits.most_tpot_s > 0 ? limits.most_tpot_s : own->tpot_s;
    own->ttft_s = limits.most_ttft_s > 0 ? limits.most_ttft_s : own->ttft_s;
    return STATUS_OK;
}

static enum status read_spaces(const struct search_wish *wish, struct arena *arena,
                               struct pools_ask *ask, struct err *err)
{
    static const enum duty duties[] = {DUTY_PROMPTS, DUTY_ANSWERS};
    struct plan *pool = arena_alloc(arena, 1, sizeof *pool);
    for (unsigned i = 0; i < 2; i++) {
        struct search_space *space = arena_alloc(arena, 1, sizeof *space);
        const struct search_wish own = wish_of(wish, i ? PART_DECODE : PART_PREFILL, arena);
        plan_pool(ask->plan, duties[i], 1, pool);
        TRY(search_wish_read(&own, pool, arena, space, &ask->at_most_bytes, err));
        ask->space[i] = space;
    }
    return STATUS_OK;
}

enum status search_pools_read(const struct search_wish *wish, const struct request *request,
                              const struct plan *plan, const struct origins *origins,
                              const struct pools_ask *ask, struct arena *arena,
                              struct variant_plans *variants, struct pools_ask **asks,
                              struct err *err)
{
    const struct search_wish others = wish_of(wish, PART_PLAN, arena);
    TRY(variant_plans_read(&others, request, plan, origins, arena, variants, err));
    *asks = arena_alloc(arena, variants->named.n, sizeof **asks);
    for (size_t i = 0; i < variants->named.n; i++) {
        struct pools_ask *own = &(*asks)[i];
        TRY(set_limits(wish, &variants->plans[i], err));
        *own = *ask;
        own->plan = &variants->plans[i];
        own->profile = &variants->profiles[i];
        TRY(read_spaces(wish, arena, own, err));
    }
    return STATUS_OK;
}
