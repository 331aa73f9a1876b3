/* Passes without gradients over the micro-batches of a training step, each pass through all
 * stages by itself: nothing of them stands beside a backward. See step_parts.h. */
#include "sim/time/step_parts.h"

void step_reference_add(struct step_parts *c, struct step_time *out)
{
    const struct plan *plan = &c->s->plan;
    const double passes =
        plan->stack.kind == STACK_HOST ? 0 : (double)plan->workload.colocated.passes;
    struct pipeline pipe = c->pipe;
    struct pipeline_times times = {0};
    double m = (double)pipe.micro_batches, flop = 0, serial = 0, forward = 0;
    c->reference_s = 0;
    if (passes <= 0 || pipe.inference)
        return;
    pipe.inference = true;
    pipe.record = false;
    pipe.pairs = NULL;
    for (uint64_t i = 0; i < pipe.stages * pipe.chunks; i++) {
        flop += c->chunks[i].pass[PASS_FORWARD].flop;
        serial += c->chunks[i].pass[PASS_FORWARD].serial_s + 2 * c->all.send_s;
        forward += c->forward_s[i];
    }
    if (pipe.stages == 1)
        times.end_s = times.busy_s = m * forward;
    else if (c->s->bound)
        pipeline_bound(&pipe, &times);
    else
        pipeline_play(&pipe, &c->s->scratch, &times);
    c->reference_s = passes * times.end_s;
    out->part_s[TIME_REFERENCE] += c->reference_s;
    out->executed_flop += passes * m * flop / (double)pipe.stages;
    out->least_s += passes * times.busy_s;
    out->most_s += passes * m * serial;
}
