/* What else than a layout spares memory, where no layout fits: each of these settings beside
 * all layouts, as one of them fits where it is beside another than needs least without. */
#include <stdlib.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "sim/search/fix_parts.h"
#include "sim/search/search_savers.h"

enum { SAVERS = 6 };

struct savers {
    struct fix_move list[SAVERS];
    size_t n;
};

/* A layout's shards of the optimizer are for the search to find: with those that let the stack
 * move its states, whatever the plan's are. */
static bool applies(const struct plan *plan, const char *set, struct arena *arena,
                    struct plan *changed)
{
    static const char *const shards[] = {"", " parallel.zero=1", " parallel.zero=3"};
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        const struct fix_move move = {.key = FIX_OFFLOAD,
                                      .set = arena_join(arena, set, shards[i])};
        if (fix_apply(plan, &move, 1, changed))
            return true;
    }
    return false;
}

static void add(const struct plan *plan, const char *set, const char *note, enum fix_kind kind,
                struct arena *arena, struct savers *savers)
{
    struct plan changed;
    if (savers->n < SAVERS && applies(plan, set, arena, &changed))
        savers->list[savers->n++] =
            (struct fix_move){.key = FIX_OFFLOAD, .set = set, .note = note, .kind = kind};
}

/* What does not change the result first, and of either kind the least. */
static void list_savers(const struct plan *plan, struct arena *arena, struct savers *savers)
{
    static const char moved[] = "the host keeps the optimizer's states and steps",
                      fewer[] = "gradients of 16 bits",
                      both[] = "the host keeps the optimizer's states and steps; gradients of "
                               "16 bits";
    bool native = plan_is_megatron(plan) && plan->optimizer.aware == AWARE_NONE;
    bool wide = plan->precision.gradients == DTYPE_F32;
    const char *offload =
        arena_join(arena, FIX_OFFLOAD "=1", native ? " optimizer.precision_aware=native" : "");
    const char *params = FIX_OFFLOAD "=1 optimizer.offload_params=true";
    const char *narrow = "precision.gradients=bf16";
    bool here = plan->optimizer.offload == 0;
    *savers = (struct savers){.n = 0};
    if (here)
        add(plan, offload, moved, FIX_THROUGHPUT, arena, savers);
    if (here && !plan_is_megatron(plan))
        add(plan, params, moved, FIX_THROUGHPUT, arena, savers);
    if (wide)
        add(plan, narrow, fewer, FIX_NUMERICS, arena, savers);
    if (here && wide)
        add(plan, arena_printf(arena, "%s %s", offload, narrow), both, FIX_NUMERICS, arena,
            savers);
}

/* Every key that the one plan has otherwise than the other. */
static const char *difference(const struct plan *from, const struct plan *to,
                              struct arena *arena)
{
    struct text out = {.arena = arena};
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        struct text before = {.arena = arena}, after = {.arena = arena};
        schema_print(&fields[i], from, &before);
        schema_print(&fields[i], to, &after);
        if (!text_equal(text_string(&before), text_string(&after)))
            text_printf(&out, "%s%s=%s", out.length ? " " : "", fields[i].key,
                        text_string(&after));
    }
    return text_string(&out);
}

/* The best layout of the plans with that setting, as a change of the nearest one. */
static bool find_saved(const struct search_ask *asks, size_t n, const struct fix_move *saver,
                       const struct plan *nearest, struct arena *arena, struct fix *out)
{
    struct search_ask *own = arena_alloc(arena, n, sizeof *own);
    struct plan *plans = arena_alloc(arena, n + 1, sizeof *plans);
    struct search_result found;
    struct err err = {0};
    for (size_t i = 0; i < n; i++) {
        own[i] = asks[i];
        if (!applies(asks[i].plan, saver->set, arena, &plans[i]))
            plans[i] = *asks[i].plan;
        own[i].plan = &plans[i];
        own[i].fixes = false;
        own[i].fits_only = true;
        own[i].best = 1;
        own[i].progress = NULL;
    }
    if (search_run(own, n, arena, &found, &err) != STATUS_OK || found.missed || !found.n_best)
        return false;
    const struct search_hit *hit = found.best;
    search_plan(&own[hit->variant], hit, &plans[n]);
    *out = (struct fix){.set = difference(nearest, &plans[n], arena),
                        .kind = saver->kind,
                        .total_bytes = hit->total_bytes,
                        .verdict = hit->verdict,
                        .seconds_per_token = hit->seconds_per_token,
                        .tokens_per_s_per_device = 1 / hit->seconds_per_token,
                        .drop_fraction = hit->drop_fraction,
                        .note = saver->note};
    return true;
}

static size_t count(const struct search_result *result, enum fix_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < result->n_fixes; i++)
        n += result->fixes[i].kind == kind;
    return n;
}

/* In the order of kinds; what changes the result not before all else. */
static void place(const struct fix *fix, struct arena *arena, struct search_result *result)
{
    size_t n = result->n_fixes, at = 0, devices = count(result, FIX_DEVICES);
    bool last = fix->kind == FIX_NUMERICS && devices + count(result, FIX_NUMERICS) == n;
    struct fix *all = arena_alloc(arena, n + 1, sizeof *all);
    while (at < n && (last || result->fixes[at].kind <= fix->kind))
        at++;
    for (size_t i = 0; i <= n; i++)
        all[i] = i < at ? result->fixes[i] : i == at ? *fix : result->fixes[i - 1];
    result->fixes = all;
    result->n_fixes++;
}

void search_save(const struct search_ask *asks, size_t n, const struct plan *nearest,
                 struct arena *arena, struct search_result *result)
{
    struct savers savers;
    struct fix fix;
    if (nearest->workload.mode != MODE_TRAIN)
        return;
    list_savers(nearest, arena, &savers);
    for (size_t i = 0; i < savers.n; i++) {
        bool numerics = savers.list[i].kind == FIX_NUMERICS;
        size_t harmless =
            result->n_fixes - count(result, FIX_NUMERICS) - count(result, FIX_DEVICES);
        bool known = harmless || (numerics && count(result, FIX_NUMERICS));
        if (!known && find_saved(asks, n, &savers.list[i], nearest, arena, &fix))
            place(&fix, arena, result);
    }
}
