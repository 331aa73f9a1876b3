/* Deployments that keep the limits of a plan whose prefill is apart; see fix.h. */
#include "base/text.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "sim/search/fix.h"
#include "sim/step/time.h"

enum { MOST_ADDED = 32 };

struct counts {
    uint64_t prefill, decode;
};

struct limits {
    struct plan plan; /* with the counts that were asked for last */
    const struct profile *profile;
    struct evaluator evaluator;
    struct step_time step;
    struct serve_times times; /* of these counts */
};

static bool keeps(struct limits *l, struct counts n)
{
    l->plan.workload.deployments.prefill = n.prefill;
    l->plan.workload.deployments.decode = n.decode;
    return time_serve(&l->evaluator, &l->plan, l->profile, &l->step, &l->times) &&
           l->times.apart.present && serve_keeps(&l->plan, &l->times);
}

/* One more of what limits the requests of the last counts; false: nothing does. */
static bool add_one(const struct serve_times *t, struct counts *n)
{
    const struct serve_apart *a = &t->apart;
    if (!a->present || text_equal(a->limited_by, "requests")) /* none of them waits */
        return false;
    bool prefill = text_equal(a->limited_by, "prefill");
    if (text_equal(a->limited_by, "link")) /* of the end that has less */
        prefill = (double)n->prefill * a->link_per_s < (double)n->decode * a->receive_per_s;
    n->prefill += prefill;
    n->decode += !prefill;
    return true;
}

static void lessen(struct limits *l, uint64_t *count, struct counts *n)
{
    while (*count > 1) {
        --*count;
        if (keeps(l, *n))
            continue;
        ++*count;
        return;
    }
}

static bool find_closed(struct limits *l, const struct serve_times *now, struct counts *n)
{
    *n = (struct counts){now->apart.prefill, now->apart.decode};
    if (!plan_deployments(&l->plan, DUTY_ANSWERS)) /* what is in flight is of each of them */
        l->plan.workload.concurrency *= n->decode;
    l->times = *now;
    bool kept = false;
    for (unsigned i = 0; i < MOST_ADDED && !kept; i++) {
        if (!add_one(&l->times, n))
            return false;
        kept = keeps(l, *n);
    }
    if (!kept)
        return false;
    lessen(l, &n->prefill, n);
    lessen(l, &n->decode, n);
    return true;
}

static uint64_t devices_of(const struct plan *plan, const struct counts *n)
{
    return n->prefill * plan_devices(plan->prefill) + n->decode * plan_devices(plan);
}

static void describe(struct limits *l, const struct plan *plan, const struct counts *before,
                     const struct counts *n, struct arena *arena, struct fix *fix)
{
    const struct serve_times *t = &l->times;
    uint64_t devices = devices_of(plan, n), in_flight = l->plan.workload.concurrency;
    struct evaluation result;
    struct text set = {.arena = arena};
    evaluate(&l->evaluator, &l->plan, 1, &result);
    text_printf(&set, "workload.deployments.prefill=%llu workload.deployments.decode=%llu",
                (unsigned long long)n->prefill, (unsigned long long)n->decode);
    if (in_flight != plan->workload.concurrency)
        text_printf(&set, " workload.concurrency=%llu", (unsigned long long)in_flight);
    *fix = (struct fix){
        .set = text_string(&set),
        .kind = devices <= devices_of(plan, before) ? FIX_LAYOUT : FIX_DEVICES,
        .total_bytes = result.peak.total_bytes,
        .verdict = result.verdict,
        .tokens_per_s_per_device = t->apart.tokens_per_s_per_device,
        .note = arena_printf(arena, "%llu devices in all", (unsigned long long)devices)};
}

const struct fix *fix_limits(const struct plan *plan, const struct routing_data *routing,
                             const struct profile *profile, const struct serve_times *times,
                             struct arena *arena, size_t *n)
{
    struct fix *fix = arena_alloc(arena, 1, sizeof *fix);
    *n = 0;
    if (!plan->prefill || !times->present || !times->apart.present || serve_keeps(plan, times))
        return fix;
    struct limits *l = arena_alloc(arena, 1, sizeof *l);
    const struct counts before = {times->apart.prefill, times->apart.decode};
    struct counts found = {times->apart.fewest_prefill, times->apart.fewest_decode};
    l->plan = *plan;
    l->profile = profile;
    l->evaluator.routing = routing;
    bool any = plan_arrives(plan) ? found.prefill && keeps(l, found)
                                  : find_closed(l, times, &found) && keeps(l, found);
    if (any) {
        describe(l, plan, &before, &found, arena, fix);
        *n = 1;
    }
    evaluator_release(&l->evaluator);
    return fix;
}
