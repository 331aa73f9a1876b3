/* See run_fix.h. */
#include "calib/run/run_fix.h"

#include <inttypes.h>

#include "base/checked.h"
#include "calib/run/run_block.h"
#include "calib/run/run_shrink.h"

enum { MOST_FIXES = 6, LARGEST_SHRINK = 1 << 16 };

struct search {
    const struct run_options *options;
    uint64_t limit_bytes, workers;
    struct arena *arena;
    struct run_report *report;
};

/* Whether it needs too much whatever routing does, which is found without a sample of it: what
 * one takes is beside the layer's peak, and counts where it is not little. */
static bool is_hopeless(const struct search *s, const struct plan *plan,
                        struct slice_ranks ranks)
{
    struct err err = {0};
    uint64_t least, sample = slice_sample_bytes(plan);
    uint64_t beside = sample > SLICE_LITTLE ? 0 : sample;
    if (slice_least(plan, s->options->backward, ranks, &least, &err) != STATUS_OK)
        return true;
    return least - lesser(beside, least) > s->limit_bytes;
}

/* Adds a fix when its peak fits; false when it does not, or cannot be performed at all. */
static bool try(struct search *s, const struct plan *plan, struct slice_ranks ranks,
                const char *set)
{
    struct arena arena = {0};
    struct slice list;
    struct memory_peak peak = {.total_bytes = UINT64_MAX};
    struct err err = {0};
    if (is_hopeless(s, plan, ranks))
        return false;
    if (slice_init(plan, s->options->routing, s->options->backward, ranks, &arena, &list,
                   &err) == STATUS_OK)
        slice_peak(&list, &arena, &peak);
    arena_release(&arena);
    if (peak.total_bytes > s->limit_bytes || s->report->n_fixes == MOST_FIXES)
        return false;
    s->report->fixes[s->report->n_fixes++] =
        (struct run_fix){arena_strdup(s->arena, set), peak.total_bytes};
    return true;
}

/* `one`: the rank that is performed by this process, or NULL: all are. */
static void try_shrinks(struct search *s, const struct plan *plan, const uint64_t *one)
{
    for (uint64_t n = 2; n <= LARGEST_SHRINK; n *= 2) {
        struct plan small = *plan;
        struct err err = {0};
        const char *how;
        char set[64];
        if (run_shrink(&small, n, s->arena, &how, &err) != STATUS_OK)
            continue;
        uint64_t all = slice_kind_of(&small)->ranks(&small);
        if (one && *one >= all) /* there is no such rank any more */
            return;
        struct slice_ranks ranks = {one ? *one : 0, one ? 1 : all, s->workers, 1};
        snprintf(set, sizeof set, "--shrink %" PRIu64, n);
        if (try(s, &small, ranks, set))
            return;
    }
}

void run_find_fixes(const struct plan *plan, const struct run_options *options,
                    uint64_t limit_bytes, struct slice_ranks ranks, struct arena *arena,
                    struct run_report *report)
{
    struct search s = {options, limit_bytes, ranks.workers, arena, report};
    const struct slice_kind *slice = slice_kind_of(plan);
    bool all = ranks.n == slice->ranks(plan);
    struct plan exact = *plan;
    exact.moe.buffer = SIZING_EXACT;
    report->fixes = arena_alloc(arena, MOST_FIXES, sizeof *report->fixes);
    if (slice->routed && plan->moe.buffer != SIZING_EXACT)
        try(&s, &exact, ranks, "--set moe.buffer=exact");
    if (slice->routed && all && ranks.n > 1)
        try(&s, plan, (struct slice_ranks){0, 1, ranks.workers, 1}, "--rank 0");
    try_shrinks(&s, plan, all ? NULL : &ranks.first);
}
