/* See time.h. */
#include "sim/step/time.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "sim/moe/intensity.h"
#include "sim/step/link_spread.h"
#include "plan/params.h"
#include "work/stack/stack.h"

/* ---- what routing asks for ---- */

/* Real data of unstated routing: the profile's fullest rank over the mean. */
static void load_of(const struct plan *plan, double load, struct demand *d)
{
    double rows = (double)(plan_tokens(plan) * plan->model.moe.top_k) * load;
    double before = (double)d->rows;
    if (rows <= before)
        return;
    d->rows = (uint64_t)ceil(rows);
    d->padded = (uint64_t)ceil((double)d->padded * rows / before);
    d->hot = (uint64_t)ceil((double)d->hot * rows / before);
}

void time_load(const struct plan *plan, const struct rates *rates, struct demand *demand)
{
    if (plan->workload.data == DATA_REAL && plan->workload.mode == MODE_TRAIN &&
        plan->moe.routing.distribution == DISTRIBUTION_UNIFORM && rates->load > 1)
        load_of(plan, rates->load, demand);
}

bool time_is_routed(const struct plan *plan)
{
    bool asserted = plan->moe.buffer == SIZING_BALANCED && stack_reads_buffer(plan);
    return plan_is_routed(plan) && plan_tokens(plan) > 0 && !asserted;
}

enum status time_demand(const struct plan *plan, const struct rates *rates,
                        const struct time_routing *routing, struct arena *arena,
                        struct demand_spread *spread, bool *any, struct err *err)
{
    static const struct time_routing plain;
    struct demand_source *source = arena_alloc(arena, 1, sizeof *source);
    routing = routing ? routing : &plain;
    *any = time_is_routed(plan);
    if (!*any)
        return STATUS_OK;
    const struct demand_laws laws = {.rows = routing->rows};
    TRY(demand_prepare(plan, routing->data, laws, arena, source, err));
    source->all = routing->tokens;
    demand_sample(source, plan_joined_tokens(plan), false, spread);
    time_load(plan, rates, &spread->expected);
    return STATUS_OK;
}

struct demand time_even(const struct plan *plan, uint64_t tokens)
{
    const struct model_moe *moe = &plan->model.moe;
    uint64_t ep = plan->parallel.ep, local = plan_local_experts(plan);
    uint64_t rows = ceil_div(tokens * moe->top_k, ep);
    return (struct demand){.rows = rows,
                           .received = ceil_div(tokens * lesser(ep, moe->top_k), ep),
                           .padded = rows,
                           .hot = local ? ceil_div(rows, local) : 0};
}

/* ---- seconds of a step ---- */

double time_beat_s(const struct plan *plan, const struct step_time *step)
{
    return plan->workload.mode == MODE_TRAIN ? step->step_s : step->beat_s;
}

double time_tokens_per_s(const struct plan *plan, const struct step_time *step)
{
    double every = time_beat_s(plan, step);
    return every > 0 ? step->tokens / every : 0;
}

double time_tokens_per_s_per_device(const struct plan *plan, const struct step_time *step)
{
    return time_tokens_per_s(plan, step) / (double)plan_devices(plan);
}

bool time_serve(struct evaluator *e, const struct plan *plan, const struct profile *profile,
                struct step_time *out, struct serve_times *times)
{
    const struct serve_ask ask = {.routing = e->routing, .profile = profile};
    struct arena arena = {0};
    struct err err = {0};
    bool ok = serve_times_of(plan, &ask, &arena, times, out, &err) == STATUS_OK;
    if (ok) /* of all replicas */
        out->beat_s = out->tokens / times->tokens_per_s;
    if (ok && plan->prefill) /* and of all devices, where those of both pools answer */
        out->beat_s *= times->tokens_per_s /
                       (times->apart.tokens_per_s_per_device * (double)plan_devices(plan));
    arena_release(&arena);
    return ok;
}

bool time_alone(const struct evaluator *e, const struct plan *plan,
                const struct profile *profile, struct serve_alone *out)
{
    const struct serve_ask ask = {.routing = e->routing, .profile = profile};
    struct arena arena = {0};
    struct err err = {0};
    bool ok = serve_alone_times(plan, &ask, &arena, out, &err) == STATUS_OK && out->per_s > 0;
    arena_release(&arena);
    return ok;
}

bool time_step(struct evaluator *e, const struct plan *plan, const struct profile *profile,
               struct step_time *out)
{
    struct arena arena = {0};
    struct err err = {0};
    struct serve_times times;
    struct plan held;
    if (plan->workload.mode == MODE_SERVE)
        return time_serve(e, plan, profile, out, &times);
    plan = serve_held(plan, &held, NULL);
    struct stepper stepper = {.routing = e->routing};
    struct demand full;
    bool routed = time_is_routed(plan);
    bool ok = (!routed || evaluate_expected(e, plan, false, &full)) &&
              stepper_build(&stepper, plan, profile, &arena, &err) == STATUS_OK;
    if (ok && routed)
        time_load(plan, &stepper.pricing.rates, &full);
    ok = ok && stepper_time(&stepper, routed ? &full : NULL, out);
    stepper_release(&stepper);
    arena_release(&arena);
    return ok;
}

/* The evaluator's stepper at the plan; NULL where its ops cannot be listed. */
static struct stepper *stepper_of(struct evaluator *e, const struct plan *plan,
                                  const struct profile *profile)
{
    struct err err = {0};
    if (!e->built || e->refused || e->timeless)
        return NULL;
    if (e->stepper) {
        stepper_turn(e->stepper, plan);
        return e->stepper;
    }
    struct stepper *s = e->last_stepper;
    if (!s)
        s = e->last_stepper = arena_alloc(&e->kept, 1, sizeof *s);
    s->routing = e->routing;
    e->timeless = stepper_share(s, plan, &e->work, profile, &e->arena, &err) != STATUS_OK;
    e->stepper = e->timeless ? NULL : s;
    return e->stepper;
}

bool time_evaluated(struct evaluator *e, const struct plan *plan, const struct profile *profile,
                    struct step_time *out)
{
    struct serve_times times;
    struct demand full;
    if (plan->workload.mode == MODE_SERVE)
        return time_serve(e, plan, profile, out, &times);
    e = evaluate_last(e, plan);
    plan = evaluate_held(e, plan, NULL);
    struct stepper *stepper = stepper_of(e, plan, profile);
    if (!stepper)
        return false;
    stepper->bound = false;
    bool routed = time_is_routed(plan);
    if (routed && !evaluate_expected(e, plan, true, &full))
        return false;
    if (routed)
        time_load(plan, &stepper->pricing.rates, &full);
    return stepper_time(stepper, routed ? &full : NULL, out);
}

bool time_least(struct evaluator *e, const struct plan *plan, uint64_t structure,
                const struct profile *profile, struct step_time *out)
{
    if (plan->workload.mode == MODE_SERVE || plan->workload.queue)
        return false;
    struct stepper *stepper =
        evaluate_list(e, plan, structure) ? stepper_of(e, plan, profile) : NULL;
    if (!stepper)
        return false;
    stepper->bound = true;
    if (!stepper_time(stepper, NULL, out))
        return false;
    out->step_s *= 1 - 1e-9; /* sums in another order */
    out->beat_s *= 1 - 1e-9;
    return true;
}

double time_seconds_per_token(const struct plan *plan, const struct step_time *step)
{
    double rate = time_tokens_per_s_per_device(plan, step);
    return rate > 0 ? 1 / rate : HUGE_VAL;
}
