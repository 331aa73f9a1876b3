/* time_of: what is told of a step's seconds and their spread (time.h); why: time_why.c. */
#include <math.h>
#include <string.h>

#include "base/stat.h"
#include "plan/derive.h"
#include "plan/params.h"
#include "plan/pools.h"
#include "plan/speculation.h"
#include "sim/step/interval.h"
#include "sim/step/link_spread.h"
#include "sim/step/range.h"
#include "sim/step/time_parts.h"
#include "sim/time/price.h"
#include "work/stack/stack.h"

enum { PLAYED_STEPS = 32 };

static enum status overflow(struct time_report *out, struct err *err)
{
    *out = (struct time_report){.overflows = true};
    return err_set(err, STATUS_INPUT, "a size of the plan's ops overflows 64 bits");
}

/* The model's FLOP per token, but a prompt's last token alone meets the head. */
static double useful_flop(const struct plan *plan)
{
    double all = (double)params_useful_flop_per_token(plan);
    double head = 2 * (double)plan->model.vocab * (double)plan->model.hidden;
    bool prompts = plan->workload.mode == MODE_PREFILL;
    return all - (prompts ? head * (1 - 1 / (double)plan->workload.sequence_length) : 0);
}

static void report_rates(struct time_telling *c)
{
    const struct plan *plan = c->plan;
    struct time_report *out = c->out;
    double cores = (double)plan->cluster.device.logical_cores;
    out->step_s = out->step.step_s;
    out->micro_batches = plan_micro_batches(plan);
    out->tokens_per_s = time_tokens_per_s(plan, &out->step);
    out->tokens_per_s_per_device = time_tokens_per_s_per_device(plan, &out->step);
    out->exposed_comm_s = out->step.exposed_comm_s;
    out->host_sync_s = out->step.host_sync_s;
    out->bubble_s = out->step.bubble_s;
    out->peak_flop_per_s = c->stepper->pricing.rates.peak_flop_per_s * cores;
    out->mfu_useful = out->tokens_per_s_per_device * useful_flop(plan) / out->peak_flop_per_s;
    out->mfu_executed = out->step.executed_flop * cores /
                        (time_beat_s(plan, &out->step) * out->peak_flop_per_s);
    out->ttft_s = plan->workload.mode == MODE_PREFILL ? out->step_s : (double)NAN;
    bool decodes = plan->workload.mode == MODE_DECODE;
    out->tpot_s = decodes ? out->step_s / plan_accepted(plan) : (double)NAN;
    out->requests_per_s = (double)NAN;
    for (unsigned i = 0; i < TIME_PARTS; i++)
        if (out->step.part_s[i] > 0)
            out->parts[out->n_parts++] =
                (struct time_line){time_part_name((enum time_part)i), out->step.part_s[i]};
}

/* The step's own error either way. */
static void report_interval(struct time_telling *c)
{
    struct time_report *out = c->out;
    const struct profile *profile = c->ask->profile;
    double error = time_error(profile, &c->stepper->plan, NULL);
    struct interval i = interval_of(c->stepper, profile, time_expected(c), out->step_s, error);
    out->error = error;
    out->low_s = out->step_s / i.less;
    out->high_s = out->step_s * i.more;
    out->profile = profile->name;
    out->calibration = profile->calibration;
    out->calibrated = profile->calibrated;
    struct text unlike = {.arena = c->arena};
    profile_outside_of(profile, &c->stepper->plan, &unlike);
    out->elsewhere = unlike.length > 0;
    out->unlike = out->elsewhere ? text_string(&unlike) : NULL;
    out->outside = range_outside(profile, &c->stepper->pricing, &c->stepper->work,
                                 c->stepper->values, c->arena);
}

/* Devices of all that answers, with what they take and cost; NAN: not stated. */
struct fleet {
    double devices, watts, price_per_hour;
};

static void add_devices(const struct plan *plan, double n, struct fleet *fleet)
{
    const struct device *d = &plan->cluster.device;
    fleet->devices += n;
    fleet->watts += d->tdp_w > 0 ? n * d->tdp_w : (double)NAN;
    fleet->price_per_hour += d->price_per_hour > 0 ? n * d->price_per_hour : (double)NAN;
}

static struct fleet fleet_of(const struct plan *plan, const struct serve_apart *apart)
{
    struct fleet fleet = {0, 0, 0};
    double n =
        (double)(plan->prefill ? apart->decode * apart->decode_devices : plan_devices(plan));
    add_devices(plan, n, &fleet);
    if (plan->prefill)
        add_devices(plan->prefill, (double)(apart->prefill * apart->prefill_devices), &fleet);
    return fleet;
}

static void report_cost(const struct plan *plan, struct time_report *out)
{
    const struct fleet all = fleet_of(plan, &out->serving.apart);
    double rate = out->tokens_per_s, total = (double)plan->workload.total_tokens,
           none = (double)NAN;
    double per_token = rate > 0 ? 1 / rate : none; /* seconds */
    out->cost = (struct time_cost){
        .device_hours_per_mtoken = all.devices * per_token * 1e6 / 3600,
        .joules_per_token = all.watts * per_token,
        .price_per_mtoken = per_token * 1e6 / 3600 * all.price_per_hour,
        .days = total > 0 ? total * per_token / 86400 : none,
        .device_hours = total > 0 ? all.devices * total * per_token / 3600 : none,
        .price = total > 0 ? total * per_token / 3600 * all.price_per_hour : none,
    };
}

/* ---- links ---- */

/* Of the demand that was timed last; `even`: the ops' seconds under balanced routing. */
static void report_links(struct time_telling *c, const double *even)
{
    const struct stepper *s = c->stepper;
    struct time_link *links = arena_alloc(c->arena, s->work.n_ops + 1, sizeof *links);
    size_t n = 0;
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        double bytes[PROFILE_LEVELS];
        if (!price_is_routed(op))
            continue;
        price_levels(&s->pricing, &s->work, op, s->values, bytes);
        links[n++] = (struct time_link){op->name,
                                        op->segment,
                                        op->phase,
                                        bytes[PROFILE_SCALE_UP],
                                        bytes[PROFILE_SCALE_OUT],
                                        s->op_s[i],
                                        even[i]};
    }
    c->out->links = links;
    c->out->n_links = n;
}

/* ---- spread ---- */

/* MoE layers whose routing is drawn apart: their steps add up to nearer the mean. */
static double over_layers(const double *steps, uint64_t n, uint64_t first, uint64_t layers)
{
    double sum = 0;
    for (uint64_t i = 0; i < layers; i++)
        sum += steps[(first + i) % n];
    return sum / (double)layers;
}

static double rows_of(const struct time_telling *c, const struct demand *demand)
{
    return demand ? (double)demand->rows
                  : (double)(plan_joined_tokens(c->plan) * c->plan->model.moe.top_k);
}

/* Of the demand that was timed last. */
static void report_layer(struct time_telling *c)
{
    struct time_layer *layer = &c->out->layer;
    layer_time_of(c->stepper, rows_of(c, time_expected(c)), &layer->at);
    layer->present = layer->at.forward_s > 0;
    layer->forward_p50_s = layer->forward_p99_s = layer->at.forward_s;
    layer->forward_backward_p50_s = layer->forward_backward_p99_s =
        layer->at.forward_backward_s;
}

/* p50 and p99 of sorted seconds and a link's standard deviation, and each of both alone.
 * Percentiles of routing are interpolated between few samples; with links it is no less. The
 * expected demand is of whole rows, rounded up: where few tokens are routed a step of it may
 * take longer than most that are sampled, and no p99 is below it. */
struct tail {
    double p50_s, p99_s, p99_routing_s, p99_link_s;
};

static struct tail tail_of(const double *sorted, size_t n, double expected_s, double sd)
{
    double routing = fmax(stat_percentile(sorted, n, 0.99), expected_s);
    return (struct tail){.p50_s = link_spread_percentile(sorted, n, sd, 0.5),
                         .p99_s = fmax(link_spread_percentile(sorted, n, sd, 0.99), routing),
                         .p99_routing_s = routing,
                         .p99_link_s = link_spread_percentile(&expected_s, 1, sd, 0.99)};
}

static void spread_layer(struct time_layer *layer, double *forward, double *both, size_t n,
                         const struct link_spread *links)
{
    stat_sort(forward, n);
    stat_sort(both, n);
    struct tail one = tail_of(forward, n, layer->at.forward_s, links->forward_s),
                two = tail_of(both, n, layer->at.forward_backward_s, links->forward_backward_s);
    layer->forward_p50_s = one.p50_s;
    layer->forward_p99_s = one.p99_s;
    layer->forward_p99_routing_s = one.p99_routing_s;
    layer->forward_p99_link_s = one.p99_link_s;
    layer->forward_backward_p50_s = two.p50_s;
    layer->forward_backward_p99_s = two.p99_s;
    layer->forward_backward_p99_routing_s = two.p99_routing_s;
    layer->forward_backward_p99_link_s = two.p99_link_s;
}

static void spread_step(struct time_report *out, double *steps, size_t n,
                        const struct link_spread *links)
{
    stat_sort(steps, n);
    struct tail tail = tail_of(steps, n, out->step_s, links->step_s);
    out->step_p50_s = tail.p50_s;
    out->step_p99_s = tail.p99_s;
    out->step_p99_routing_s = tail.p99_routing_s;
    out->step_p99_link_s = tail.p99_link_s;
}

/* Seconds of every routing sample; without routing the expected ones. */
static bool play_samples(struct time_telling *c, uint64_t n, double *steps, double *forward,
                         double *both)
{
    for (uint64_t i = 0; i < n; i++) {
        struct step_time step;
        struct layer_time layer;
        if (!stepper_time(c->stepper, &c->spread.samples[i], &step))
            return false;
        layer_time_of(c->stepper, rows_of(c, &c->spread.samples[i]), &layer);
        steps[i] = step.step_s;
        forward[i] = layer.forward_s;
        both[i] = layer.forward_backward_s;
    }
    return true;
}

/* Links are those of the step that was timed last, the expected one. */
static bool report_spread(struct time_telling *c)
{
    struct time_report *out = c->out;
    uint64_t layers = plan_moe_layers(c->plan), n = c->routed && layers ? c->spread.n : 0;
    bool same = c->plan->moe.routing.layers == ROUTING_SAME;
    struct link_spread links;
    out->step_p50_s = out->step_p99_s = out->step_s;
    if (c->plan->parallel.pp > 1 && n > PLAYED_STEPS)
        n = PLAYED_STEPS;
    if (!c->ask->spread)
        return true;
    link_spread_of(c->stepper, &out->step, &links);
    out->jitter = out->layer.jitter = links.step_s > 0;
    if (!n && !out->jitter)
        return true;
    uint64_t held = n ? n : 1;
    double *steps = arena_alloc(c->arena, 4 * held, sizeof *steps), *all = steps + held,
           *forward = all + held, *both = forward + held;
    steps[0] = out->step_s;
    forward[0] = out->layer.at.forward_s;
    both[0] = out->layer.at.forward_backward_s;
    if (!play_samples(c, n, steps, forward, both))
        return false;
    spread_layer(&out->layer, forward, both, held, &links);
    for (uint64_t i = 0; i < held; i++)
        all[i] = n ? over_layers(steps, n, i, same ? 1 : layers) : steps[0];
    spread_step(out, all, held, &links);
    out->samples = n;
    return true;
}

static bool report_all(struct time_telling *c)
{
    struct step_time even;
    size_t n = c->stepper->work.n_ops;
    double *even_s = arena_alloc(c->arena, n + 1, sizeof *even_s);
    const struct demand fewer = time_even(c->plan, c->ask->routed);
    if (!stepper_time(c->stepper, c->ask->routed ? &fewer : NULL, &even))
        return false;
    memcpy(even_s, c->stepper->op_s, n * sizeof *even_s);
    if (!stepper_time(c->stepper, time_expected(c), &c->out->step))
        return false;
    if (c->routed)
        report_links(c, even_s);
    report_rates(c);
    c->out->skew_tax = even.step_s > 0 ? c->out->step_s / even.step_s - 1 : 0;
    report_interval(c);
    report_cost(c->plan, c->out);
    report_layer(c);
    if (c->ask->path || c->ask->why)
        time_path(c);
    if (!report_spread(c))
        return false;
    return !c->ask->why || time_why(c);
}

/* The deployment by the profile, and by the control: both price the same steps. */
static enum status serve_both(const struct plan *plan, const struct time_ask *ask,
                              struct arena *arena, struct time_report *out, struct err *err)
{
    const struct serve_ask serve = {ask->routing, ask->profile, ask->rows, false};
    struct serve_model model;
    if (plan->prefill) /* nothing is published that would judge it beside a control */
        return serve_times_of(plan, &serve, arena, &out->serving, NULL, err);
    enum status status = serve_open(&model, plan, &serve, arena, err);
    if (status == STATUS_OK && !serve_time(&model, ask->profile, &out->serving, NULL))
        status = overflow(out, err);
    if (status == STATUS_OK && ask->control &&
        !serve_time(&model, ask->control, &out->control, NULL))
        out->control.present = false;
    serve_close(&model);
    return status;
}

/* A first token is of servers that prefill, by what their own profile says of them. */
static void report_prompts(const struct plan *plan, const struct profile *profile,
                           struct arena *arena, struct time_report *out)
{
    struct plan *pool = arena_alloc(arena, 1, sizeof *pool);
    struct serve_times prompts = out->serving;
    bool outside;
    plan_pool(plan, DUTY_PROMPTS, 1, pool);
    pool->moe.path = stack_path(pool, NULL);
    double error = time_error(profile, pool, &outside);
    interval_served(profile, error, outside, 1 + error, 1 + error, &prompts);
    out->serving.ttft_low_s = prompts.ttft_low_s;
    out->serving.ttft_high_s = prompts.ttft_high_s;
    out->prompts = profile->name;
}

/* A decode step of all sequences, and what the deployment answers with such steps. */
static enum status time_serving(const struct plan *plan, const struct time_ask *ask,
                                struct arena *arena, struct time_report *out, struct err *err)
{
    struct serve_load load;
    struct plan *decode = arena_alloc(arena, 2, sizeof *decode);
    const struct plan *server = plan;
    bool prompts = plan->workload.role == DUTY_PROMPTS;
    if (plan->prefill) {
        plan_pool(plan, DUTY_ANSWERS, plan_deployments(plan, DUTY_ANSWERS), &decode[1]);
        server = &decode[1];
    }
    TRY(serve_load_of(server, arena, &load, err));
    if (prompts)
        serve_step_plan(server, MODE_PREFILL, load.sequences, decode);
    else
        serve_timed_plan(server, load.sequences, decode);
    struct time_ask step = *ask;
    step.drawn = NULL; /* of another plan, if of any */
    step.routed = prompts ? 0 : serve_timed_tokens(server, load.sequences);
    TRY(time_of(decode, &step, arena, out, err));
    TRY(serve_both(plan, ask, arena, out, err));
    interval_served(ask->profile, out->error, out->elsewhere, out->step_s / out->low_s,
                    out->high_s / out->step_s, &out->serving);
    if (plan->prefill && ask->profile->prefill)
        report_prompts(plan, ask->profile->prefill, arena, out);
    serve_leave_out_further(plan, &out->serving);
    out->tokens_per_s = out->serving.tokens_per_s;
    out->tokens_per_s_per_device = plan->prefill
                                       ? out->serving.apart.tokens_per_s_per_device
                                       : out->serving.tokens_per_s / (double)plan_devices(plan);
    out->ttft_s = out->serving.ttft_s;
    out->tpot_s = out->serving.tpot_s;
    out->requests_per_s = out->serving.requests_per_s;
    report_cost(plan, out);
    return STATUS_OK;
}

/* What routing asks for: as it was drawn for memory, where that was of this plan. */
static enum status ask_demand(struct time_telling *c, bool drawn, struct err *err)
{
    const struct rates *rates = &c->stepper->pricing.rates;
    if (!drawn || !time_is_routed(c->plan))
        return time_demand(
            c->plan, rates,
            &(struct time_routing){c->ask->routing, c->ask->rows, c->ask->routed}, c->arena,
            &c->spread, &c->routed, err);
    c->routed = true;
    c->spread = *c->ask->drawn;
    time_load(c->plan, rates, &c->spread.expected);
    return STATUS_OK;
}

enum status time_of(const struct plan *plan, const struct time_ask *ask, struct arena *arena,
                    struct time_report *out, struct err *err)
{
    if (plan->workload.mode == MODE_SERVE)
        return time_serving(plan, ask, arena, out, err);
    const struct plan *held = serve_held(plan, arena_alloc(arena, 1, sizeof *plan), NULL);
    struct stepper *stepper = arena_alloc(arena, 1, sizeof *stepper);
    struct time_telling c = {.plan = held, .ask = ask, .arena = arena, .stepper = stepper};
    c.out = out;
    *out = (struct time_report){.present = true};
    stepper->routing = ask->routing;
    TRY(stepper_build(stepper, held, ask->profile, arena, err));
    TRY(ask_demand(&c, ask->drawn && held == plan, err));
    bool ok = report_all(&c);
    stepper_release(stepper);
    return ok ? STATUS_OK : overflow(out, err);
}
