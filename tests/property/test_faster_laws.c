/* Laws of faster machines, on random plans of every stack and mode: no part of a cluster that
 * is twice as fast makes a step, a token or a request later, and what `--why` says that it
 * would do is what it does. What a plan chose by its cluster (precision.compute, recomputation,
 * kernels) it has chosen before: another choice is another plan. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "plan/schema/schema.h"
#include "sim/step/time.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

enum { DRAWS = 240, WHY = 120 };

/* ---- faster clusters ---- */

static void faster_products(struct cluster *c)
{
    c->device.peak_f32 *= 2;
    c->device.peak_bf16 *= 2;
    c->device.peak_fp8 *= 2;
    c->device.peak_fp4 *= 2;
}

static void faster_memory(struct cluster *c)
{
    c->device.memory_bandwidth *= 2;
}

static void faster_links(struct cluster *c)
{
    c->node.link_bandwidth *= 2;
    c->node.port_bandwidth *= 2;
    c->network.bandwidth *= 2;
}

static void faster_nodes(struct cluster *c)
{
    c->node.link_bandwidth *= 2;
}

static void faster_network(struct cluster *c)
{
    c->network.bandwidth *= 2;
}

static void sooner_links(struct cluster *c)
{
    c->node.link_latency /= 2;
    c->network.latency /= 2;
}

static void faster_hosts(struct cluster *c)
{
    c->node.host_bandwidth *= 2;
    c->node.host_memory_bandwidth *= 2;
}

/* said: what `--why` calls it. Calls for all experts of a rank and loops' rounds are priced at
 * the same rates; a network that the cluster does not state has none to double. */
static const struct faster {
    const char *name, *said;
    void (*change)(struct cluster *cluster);
} changes[] = {
    {"products", "products twice as fast", faster_products},
    {"memory", "memory twice as fast", faster_memory},
    {"links", "links twice as fast", faster_links},
    {"links of a node", NULL, faster_nodes},
    {"network", NULL, faster_network},
    {"latencies", NULL, sooner_links},
    {"hosts", NULL, faster_hosts},
};
enum { CHANGES = sizeof changes / sizeof *changes };

/* ---- what plans take ---- */

static enum status time_it(const struct plan *plan, const struct profile *profile, bool why,
                           struct arena *arena, struct time_report *out)
{
    struct err err = {0};
    const struct time_ask ask = {.profile = profile, .why = why};
    return time_of(plan, &ask, arena, out, &err);
}

static void no_later(double now, double before, const char *what, const struct faster *faster,
                     const struct plan *plan, uint64_t seed)
{
    if (now > before * (1 + 1e-9))
        fail_msg("seed %" PRIu64 ", %s, %s, %s: %s %.12g, with faster %s %.12g", seed,
                 words_stack[plan->stack.kind], words_mode[plan->workload.mode],
                 words_path[plan->moe.path], what, before, faster->name, now);
}

/* Schedules that wait with weight gradients are played as their tasks are ready: one that is
 * sooner may take the place of one that others wait for (Graham's anomalies). Their waits may
 * be longer, nothing else. */
static double waited(const struct plan *plan, const struct time_report *report)
{
    const struct parallel *p = &plan->parallel;
    bool played = p->schedule == PIPELINE_ZERO_BUBBLE || p->schedule == PIPELINE_DUALPIPE;
    bool waits = played && p->pp > 1 && plan->workload.mode == MODE_TRAIN;
    return waits ? report->step.part_s[TIME_PIPELINE] : 0;
}

static void compare(const struct time_report *was, const struct time_report *is,
                    const struct faster *faster, const struct plan *plan, uint64_t seed)
{
    no_later(is->step_s - waited(plan, is), was->step_s - waited(plan, was), "step", faster,
             plan, seed);
    no_later(is->step.beat_s, was->step.beat_s, "beat", faster, plan, seed);
    no_later(is->layer.at.forward_s, was->layer.at.forward_s, "layer", faster, plan, seed);
    if (plan->workload.mode != MODE_SERVE)
        return;
    /* its schedule is played: of shorter steps other requests share one, and what just misses
     * a step waits until it ends */
    no_later(is->ttft_s - is->step_s, was->ttft_s, "first token", faster, plan, seed);
    no_later(is->tpot_s, was->tpot_s, "token", faster, plan, seed);
    no_later(1 / is->tokens_per_s, 1 / was->tokens_per_s, "a token's share", faster, plan,
             seed);
}

/* What a law of a faster cluster asks of a plan's report, and of the same plan's there. */
typedef void (*judge_fn)(const struct time_report *was, const struct time_report *is,
                         const struct faster *faster, const struct plan *plan, uint64_t seed);

/* The plan on its own cluster, and on each faster one that `--why` names or on all of them. */
static void each_faster(const struct plan *plan, uint64_t seed, bool why, judge_fn judge,
                        unsigned *timed)
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct time_report was, is;
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    bool answered = time_it(plan, &profile, why, &arena, &was) == STATUS_OK && !was.overflows;
    for (unsigned i = 0; answered && i < CHANGES; i++) {
        struct plan faster = *plan;
        if (why && !changes[i].said)
            continue;
        changes[i].change(&faster.cluster);
        assert_int_equal(time_it(&faster, &profile, false, &arena, &is), STATUS_OK);
        judge(&was, &is, &changes[i], plan, seed);
    }
    *timed += answered;
    arena_release(&arena);
}

static void check(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    each_faster(plan, seed, false, compare, timed);
}

static void faster_is_never_later(void **state)
{
    (void)state;
    draws_print(DRAWS);
    unsigned timed = plans_shaped_try(draws_of(DRAWS), 1, check);
    draws_reach("timed", timed, draws_of(DRAWS) / 3.0);
}

static void faster_is_never_later_to_requests(void **state)
{
    (void)state;
    unsigned timed = plans_served_try(draws_of(DRAWS), 2, check);
    draws_reach("timed", timed, draws_of(DRAWS) / 8.0);
}

/* ---- what it would do ---- */

static double said_of(const struct time_report *report, const char *name)
{
    for (size_t i = 0; i < report->n_whatifs; i++)
        if (text_equal(report->whatifs[i].name, name))
            return report->whatifs[i].seconds;
    return (double)NAN;
}

static void compare_said(const struct time_report *was, const struct time_report *is,
                         const struct faster *faster, const struct plan *plan, uint64_t seed)
{
    double said = said_of(was, faster->said);
    if (!(fabs(said - is->step_s) <= 1e-9 * is->step_s))
        fail_msg("seed %" PRIu64 ", %s, %s, %s: '%s' said %.12g, is %.12g", seed,
                 words_stack[plan->stack.kind], words_mode[plan->workload.mode],
                 words_path[plan->moe.path], faster->said, said, is->step_s);
}

static void check_said(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    each_faster(plan, seed, true, compare_said, timed);
}

static void faster_is_as_said(void **state)
{
    (void)state;
    draws_print(WHY);
    unsigned timed = plans_shaped_try(draws_of(WHY), 1, check_said);
    draws_reach("timed", timed, draws_of(WHY) / 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faster_is_never_later),
        cmocka_unit_test(faster_is_never_later_to_requests),
        cmocka_unit_test(faster_is_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
