/* See plan_spans.h. */
#include "sim/step/plan_spans.h"

#include "plan/layers.h"
#include "sim/serve/serve.h"
#include "sim/step/time.h"
#include "sim/time/step_draft.h"

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

/* The step that time_of says seconds of: of a served plan the decode step of all sequences. */
static enum status open_step(const struct plan *plan, const struct plan_spans_ask *ask,
                             struct arena *arena, struct stepper *s,
                             struct demand_spread *spread, bool *routed, struct err *err)
{
    struct plan *decode = arena_alloc(arena, 2, sizeof *decode);
    struct serve_load load;
    struct time_routing routing = {.data = ask->routing};
    if (plan->workload.mode == MODE_SERVE) {
        TRY(serve_load_of(plan, arena, &load, err));
        serve_timed_plan(plan, load.sequences, decode);
        routing.tokens = serve_timed_tokens(plan, load.sequences);
        plan = decode;
    }
    plan = serve_held(plan, decode + 1, NULL);
    TRY(stepper_build(s, plan, ask->profile, arena, err));
    return time_demand(plan, &s->pricing.rates, &routing, arena, spread, routed, err);
}

/* The draft's passes follow the step; they take over what it was composed in. */
static bool add_draft(struct plan_spans *out)
{
    if (!out->stepper.draft)
        return true;
    if (!step_draft_add(&out->stepper, &out->step))
        return false;
    step_spans_draft(&out->list, out->step.step_s);
    return true;
}

enum status plan_spans_of(const struct plan *plan, const struct plan_spans_ask *ask,
                          struct arena *arena, struct plan_spans *out, struct err *err)
{
    struct demand_spread spread;
    struct step_parts parts;
    bool routed, fits;
    *out = (struct plan_spans){.stepper = {.routing = ask->routing},
                               .list = {.arena = arena},
                               .segment = ask->segment};
    TRY(open_step(plan, ask, arena, &out->stepper, &spread, &routed, err));
    fits = stepper_parts(&out->stepper, routed ? &spread.expected : NULL, true, &out->step,
                         &parts);
    if (fits && ask->segment == SEGMENT_COUNT) {
        step_spans(&parts, &out->step, ask->most, &out->list);
        fits = add_draft(out);
    } else if (fits) {
        step_spans_layer(&parts, ask->segment, &out->list);
    }
    return fits ? STATUS_OK
                : err_set(err, STATUS_INPUT, "a size of the plan's ops overflows 64 bits");
}

void plan_spans_release(struct plan_spans *spans)
{
    stepper_release(&spans->stepper);
}
