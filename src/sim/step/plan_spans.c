/* See plan_spans.h. */
#include "sim/step/plan_spans.h"

#include "sim/serve/serve.h"

enum status plan_spans_of(const struct plan *plan, const struct plan_spans_ask *ask,
                          struct arena *arena, struct plan_spans *out, struct err *err)
{
    struct demand_spread spread;
    struct step_parts parts;
    bool routed;
    plan = serve_held(plan, arena_alloc(arena, 1, sizeof *plan), NULL);
    *out = (struct plan_spans){.stepper = {.routing = ask->routing}, .list = {.arena = arena}};
    TRY(stepper_build(&out->stepper, plan, ask->profile, arena, err));
    TRY(time_demand(plan, &out->stepper.pricing.rates, ask->routing, arena, &spread, &routed,
                    err));
    if (!stepper_parts(&out->stepper, routed ? &spread.expected : NULL, true, &out->step,
                       &parts))
        return err_set(err, STATUS_INPUT, "a size of the plan's ops overflows 64 bits");
    if (ask->segment == SEGMENT_COUNT)
        step_spans(&parts, &out->step, ask->most, &out->list);
    else
        step_spans_layer(&parts, ask->segment, &out->list);
    return STATUS_OK;
}

void plan_spans_release(struct plan_spans *spans)
{
    stepper_release(&spans->stepper);
}
