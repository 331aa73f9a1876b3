/* See plan_spans.h. */
#include "sim/step/plan_spans.h"

#include "plan/layers.h"
#include "sim/serve/serve.h"

enum segment plan_spans_layer(const struct model *model)
{
    uint64_t count[KIND_COUNT] = {0}, most = 0;
    enum layer_kind kind = KIND_DENSE;
    model_layers(model, 0, model->layers, count);
    for (unsigned experts = 2; experts-- > 0 && !most;)
        for (unsigned k = 0; k < KIND_COUNT; k++)
            if (count[k] > most && (!experts || kind_ffn((enum layer_kind)k) == FFN_MOE)) {
                most = count[k];
                kind = (enum layer_kind)k;
            }
    return segment_of_kind(kind);
}

enum status plan_spans_of(const struct plan *plan, const struct plan_spans_ask *ask,
                          struct arena *arena, struct plan_spans *out, struct err *err)
{
    struct demand_spread spread;
    struct step_parts parts;
    bool routed;
    plan = serve_held(plan, arena_alloc(arena, 1, sizeof *plan), NULL);
    *out = (struct plan_spans){.stepper = {.routing = ask->routing},
                               .list = {.arena = arena},
                               .segment = ask->segment};
    TRY(stepper_build(&out->stepper, plan, ask->profile, arena, err));
    TRY(time_demand(plan, &out->stepper.pricing.rates, ask->routing, NULL, arena, &spread,
                    &routed, err));
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
