/* Fixes of a plan whose prefill is apart: see fix.h. Of a pool that does not fit they are those
 * of its server by itself; the plan with them is evaluated again, both pools of it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/pools.h"
#include "plan/schema/schema.h"
#include "sim/search/fix_parts.h"

/* Whether a server of the pool needs more than there is, and what would mend that. */
struct pool_fixes {
    bool lacks;
    const struct fix *list;
    size_t n;
};

struct pools {
    const struct plan *plan;
    struct plan *changed, *prefill; /* with a fix */
    struct arena *arena;
    struct evaluator evaluator;
    uint64_t structure;
};

/* ---- names ---- */

/* What requests are is said once, and not of one pool (plan_pool). */
static bool is_of_requests(const char *key)
{
    return text_equal(key, "workload.concurrency");
}

/* A pool's share of the requests in flight, of all: plan_pool shares them out, rounded up. */
static const char *of_all(const struct plan *plan, enum duty duty, const char *value,
                          struct arena *arena)
{
    uint64_t n = plan_deployments(plan, duty), share = strtoull(value, NULL, 10);
    return arena_printf(arena, "%llu", (unsigned long long)(share * (n ? n : 1)));
}

static bool has_key(const struct text *set, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = text_string(set); *at;) {
        size_t end = strcspn(at, " ");
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return true;
        at += end + (at[end] == ' ');
    }
    return false;
}

static void add(struct text *set, const char *key, const char *value)
{
    if (!has_key(set, key))
        text_printf(set, "%s%s=%s", set->length ? " " : "", key, value);
}

/* "a=1 b=2" of a server of the pool, as the plan of both has it. Servers that prefill have the
 * plan's keys unless their part says otherwise: where those that decode change one, it says
 * what they had. */
static void name_keys(const struct pools *p, enum duty duty, const char *set, struct text *out)
{
    for (const char *at = set; *at;) {
        size_t length = strcspn(at, " "), named = strcspn(at, "=");
        const char *key = arena_strndup(p->arena, at, named);
        const char *value = arena_strndup(p->arena, at + named + 1, length - named - 1);
        const char *own = arena_printf(p->arena, POOL_PREFIX "%s", key);
        at += length + strspn(at + length, " ");
        if (is_of_requests(key)) {
            add(out, key, of_all(p->plan, duty, value, p->arena));
        } else if (duty == DUTY_PROMPTS) {
            add(out, own, value);
        } else {
            struct text had = {.arena = p->arena}, has = {.arena = p->arena};
            schema_print(schema_find(key), p->plan->prefill, &had);
            schema_print(schema_find(key), p->plan, &has);
            add(out, key, value);
            /* a cluster's sizes follow from nothing: another one is said already */
            if (!text_starts(key, "cluster.") ||
                text_equal(text_string(&had), text_string(&has)))
                add(out, own, text_string(&had));
        }
    }
}

static bool lacks(const struct evaluation *of)
{
    return verdict_lacks(of->verdict, of->peak.total_bytes, of->limit_bytes);
}

/* ---- the plan of both with a fix ---- */

/* The settings of one part. */
static const char *settings_of(const struct pools *p, const char *set, bool prefill)
{
    struct text out = {.arena = p->arena};
    for (const char *at = set; *at;) {
        size_t length = strcspn(at, " "), skip = prefill ? sizeof POOL_PREFIX - 1 : 0;
        if (text_starts(at, POOL_PREFIX) == prefill)
            text_printf(&out, "%s%.*s", out.length ? " " : "", (int)(length - skip), at + skip);
        at += length + strspn(at + length, " ");
    }
    return text_string(&out);
}

static bool fits_both(struct pools *p, const char *set, struct evaluation *result)
{
    const struct fix_move own = {.key = "", .set = settings_of(p, set, false)};
    const struct fix_move prefill = {.key = "", .set = settings_of(p, set, true)};
    if (!fix_apply(p->plan, &own, 1, p->changed) ||
        !fix_apply(p->plan->prefill, &prefill, 1, p->prefill))
        return false;
    p->changed->prefill = p->prefill;
    evaluate(&p->evaluator, p->changed, ++p->structure, result);
    return result->valid && !lacks(result);
}

/* ---- all of them ---- */

static void find_of(struct pools *p, enum duty duty, const struct routing_data *routing,
                    const struct profile *profile, struct pool_fixes *out)
{
    struct plan *pool = arena_alloc(p->arena, 1, sizeof *pool);
    struct evaluation result;
    *out = (struct pool_fixes){.lacks = false};
    plan_pool(p->plan, duty, plan_deployments(p->plan, duty), pool);
    evaluate(&p->evaluator, pool, ++p->structure, &result);
    out->lacks = lacks(&result);
    if (out->lacks)
        out->list = fix_find(pool, routing, profile_of_pool(profile, duty),
                             p->evaluator.rows_known, p->arena, &out->n);
}

/* Of what the other pool needs beside a fix, the first that costs the same, or else the first.
 */
static const struct fix *beside_of(const struct pool_fixes *other, enum fix_kind kind)
{
    for (size_t i = 0; i < other->n; i++)
        if (other->list[i].kind == kind)
            return &other->list[i];
    return other->lacks ? &other->list[0] : NULL;
}

/* The fix, beside one of the other pool where that does not fit either. False: the plan with it
 * does not fit. */
static bool join(struct pools *p, enum duty duty, const struct fix *fix,
                 const struct pool_fixes *other, struct fix *out)
{
    struct text set = {.arena = p->arena};
    struct evaluation result;
    const struct fix *beside = beside_of(other, fix->kind);
    enum duty its = duty == DUTY_PROMPTS ? DUTY_ANSWERS : DUTY_PROMPTS;
    *out = *fix;
    if (duty == DUTY_PROMPTS) /* what it changes stands before what others leave as it was */
        name_keys(p, duty, fix->set, &set);
    if (beside)
        name_keys(p, its, beside->set, &set);
    if (duty != DUTY_PROMPTS)
        name_keys(p, duty, fix->set, &set);
    out->set = text_string(&set);
    if (!fits_both(p, out->set, &result))
        return false;
    out->total_bytes = result.peak.total_bytes;
    out->verdict = result.verdict;
    if (!beside)
        return true;
    out->kind = fix->kind > beside->kind ? fix->kind : beside->kind;
    out->note = arena_printf(p->arena, "%s; %s", fix->note, beside->note);
    if (beside->drop_fraction > fix->drop_fraction)
        out->drop_fraction = beside->drop_fraction;
    return true;
}

const struct fix *fix_pools(const struct plan *plan, const struct routing_data *routing,
                            const struct profile *profile, struct rows_known *known,
                            struct arena *arena, size_t *n)
{
    struct pools p = {.plan = plan,
                      .arena = arena,
                      .evaluator.routing = routing,
                      .evaluator.rows_known = known};
    struct pool_fixes found[2];
    static const enum duty duties[] = {DUTY_ANSWERS, DUTY_PROMPTS};
    p.changed = arena_alloc(arena, 2, sizeof *p.changed);
    p.prefill = p.changed + 1;
    for (unsigned i = 0; i < 2; i++)
        find_of(&p, duties[i], routing, profile, &found[i]);
    struct fix *fixes = arena_alloc(arena, found[0].n + found[1].n + 1, sizeof *fixes);
    unsigned more = found[1].n > found[0].n; /* the pool that there is more to choose of */
    const struct pool_fixes *one = &found[more], *other = &found[!more];
    bool hopeless = other->lacks && !other->n;
    *n = 0;
    for (size_t i = 0; i < one->n && !hopeless; i++)
        *n += join(&p, duties[more], &one->list[i], other, &fixes[*n]);
    evaluator_release(&p.evaluator);
    return fixes;
}
