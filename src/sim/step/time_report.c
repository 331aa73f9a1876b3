/* time_of: what is told of a step's seconds, their spread, and why (time.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "plan/speculation.h"
#include "sim/step/interval.h"
#include "sim/step/link_spread.h"
#include "sim/step/range.h"
#include "sim/step/time.h"
#include "sim/time/price.h"
#include "sim/time/stretch.h"
#include "plan/params.h"

enum { LONGEST = 12, PLAYED_STEPS = 32 };

struct context {
    const struct plan *plan;
    const struct time_ask *ask;
    struct arena *arena;
    struct stepper *stepper;
    struct demand_spread spread;
    bool routed;
    struct time_report *out;
};

static const struct demand *expected(const struct context *c)
{
    return c->routed ? &c->spread.expected : NULL;
}

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

static void report_rates(struct context *c)
{
    const struct plan *plan = c->plan;
    struct time_report *out = c->out;
    double cores = (double)plan->cluster.device.logical_cores;
    out->step_s = out->step.step_s;
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
static void report_interval(struct context *c)
{
    struct time_report *out = c->out;
    const struct profile *profile = c->ask->profile;
    double error = time_error(profile, &c->stepper->plan, NULL);
    struct interval i = interval_of(c->stepper, profile, expected(c), out->step_s, error);
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
static void report_links(struct context *c, const double *even)
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

static double rows_of(const struct context *c, const struct demand *demand)
{
    return demand ? (double)demand->rows
                  : (double)(plan_joined_tokens(c->plan) * c->plan->model.moe.top_k);
}

/* Of the demand that was timed last. */
static void report_layer(struct context *c)
{
    struct time_layer *layer = &c->out->layer;
    layer_time_of(c->stepper, rows_of(c, expected(c)), &layer->at);
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
static bool play_samples(struct context *c, uint64_t n, double *steps, double *forward,
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
static bool report_spread(struct context *c)
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

/* ---- why ---- */

static int by_seconds(const void *a, const void *b)
{
    const struct time_line *x = a, *y = b;
    return x->seconds < y->seconds   ? 1
           : x->seconds > y->seconds ? -1
                                     : strcmp(x->name, y->name);
}

/* An op's seconds on the way, over the layers of its stage and the step's micro-batches, of
 * which each comes through one of DualPipe's two copies. */
static double way_s(const struct context *c, size_t i)
{
    const struct op *op = &c->stepper->work.ops[i];
    const struct parallel *p = &c->plan->parallel;
    double copies = p->schedule == PIPELINE_DUALPIPE && p->pp > 1 ? 2 : 1;
    double times = op->phase == PHASE_UPDATE ? 1 : c->out->step.micro_batches / copies;
    return c->stepper->op_s[i] * (double)c->stepper->values[op->layers.node] * times;
}

/* How much of the exchanges of a part is waited for: the rest runs beside computation. */
static double waited_share(const struct context *c, enum time_part part)
{
    const struct stepper *s = c->stepper;
    double all = 0;
    if (part != TIME_EXCHANGE && part != TIME_TENSOR)
        return 1;
    for (size_t i = 0; i < s->work.n_ops; i++)
        if (stretch_part((enum profile_item)s->item[i], s->work.ops[i].group) == part)
            all += way_s(c, i);
    return all > c->out->step.part_s[part] ? c->out->step.part_s[part] / all : 1;
}

/* Ops on the compute stream of the stage whose slots the list has, over its layers and
 * micro-batches, and what it waits for. */
static void report_path(struct context *c)
{
    const struct stepper *s = c->stepper;
    const struct work *work = &s->work;
    size_t n = 0;
    double share[TIME_PARTS];
    for (unsigned i = 0; i < TIME_PARTS; i++)
        share[i] = waited_share(c, (enum time_part)i);
    struct time_line *lines = arena_alloc(c->arena, work->n_ops + 3, sizeof *lines);
    for (size_t i = 0; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        bool shards = process_group_is_data(op->group) || op->group == GROUP_PP;
        double seconds =
            way_s(c, i) * share[stretch_part((enum profile_item)s->item[i], op->group)];
        if (shards || seconds <= 0)
            continue;
        const char *name = arena_printf(c->arena, "%s %s %s", segment_name(op->segment),
                                        phase_name(op->phase), op->name);
        lines[n++] = (struct time_line){name, seconds};
    }
    static const enum time_part waits[] = {TIME_SHARDING, TIME_PIPELINE, TIME_HOST};
    static const char *const names[] = {"exposed sharding", "pipeline", "host"};
    for (size_t i = 0; i < 3; i++)
        if (c->out->step.part_s[waits[i]] > 0)
            lines[n++] = (struct time_line){names[i], c->out->step.part_s[waits[i]]};
    if (n)
        qsort(lines, n, sizeof *lines, by_seconds);
    c->out->path = lines;
    c->out->n_path = n < LONGEST ? n : LONGEST;
}

static void faster_links(struct pricing *p)
{
    struct rates *r = &p->rates;
    for (unsigned i = 0; i < PROFILE_ITEMS; i++)
        for (unsigned level = 0; level < PROFILE_LEVELS; level++)
            r->link[i][level].bytes_per_s *= 2;
    r->port_bytes_per_s *= 2;
}

static void free_network(struct pricing *p)
{
    struct rates *r = &p->rates;
    for (unsigned i = 0; i < PROFILE_ITEMS; i++)
        r->link[i][PROFILE_SCALE_OUT] =
            (struct link_rates){.efficiency = {.value = 1}, .folded = true};
}

static void even_network(struct pricing *p)
{
    for (unsigned g = 0; g < GROUP_COUNT; g++)
        for (unsigned t = 0; t < NETWORK_TIERS; t++)
            p->place[g].tier[t].over = 1;
}

static bool is_narrow(const struct plan *plan)
{
    bool narrow = false;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct network_tier *tier = &plan->cluster.network.tier[t];
        narrow = narrow || (tier->nodes && tier->oversubscription > 1);
    }
    return narrow;
}

/* Whether ranks send as routing says; of static shapes all that is reserved. */
static bool exchanges(const struct plan *plan)
{
    return time_is_routed(plan) && plan->parallel.ep > 1 && !plan->stack.static_shapes;
}

static void free_host(struct pricing *p)
{
    struct rates *r = &p->rates;
    r->launch_s = r->sync_s = r->graph_s = r->eager_s = 0;
}

static void faster_products(struct pricing *p)
{
    struct rates *r = &p->rates;
    r->peak_flop_per_s *= 2;
    r->wide_flop_per_s *= 2;
    r->bf16_flop_per_s *= 2;
    r->fp8_flop_per_s *= 2;
    r->f32_flop_per_s *= 2;
}

static void faster_memory(struct pricing *p)
{
    p->rates.memory_bytes_per_s *= 2;
}

static bool report_whatifs(struct context *c)
{
    static const struct {
        const char *name;
        void (*change)(struct pricing *pricing);
        bool (*asked)(const struct plan *plan); /* NULL: of every plan */
        bool balanced, level_links;
    } cases[] = {
        {"links twice as fast", .change = faster_links},
        {"no oversubscription", .change = even_network, .asked = is_narrow},
        {"an infinite network", .change = free_network},
        {"no launches and waits", .change = free_host},
        {"products twice as fast", .change = faster_products},
        {"memory twice as fast", .change = faster_memory},
        {"balanced routing", .balanced = true},
        {"balanced links", .asked = exchanges, .level_links = true},
    };
    size_t all = sizeof cases / sizeof *cases, n = 0;
    struct time_line *lines = arena_alloc(c->arena, all, sizeof *lines);
    struct pricing *pricing = &c->stepper->pricing, kept = *pricing;
    for (size_t i = 0; i < all; i++) {
        struct step_time step;
        if (cases[i].asked && !cases[i].asked(&c->stepper->plan))
            continue;
        if (cases[i].change)
            cases[i].change(pricing);
        c->stepper->level_links = cases[i].level_links;
        bool ok = stepper_time(c->stepper, cases[i].balanced ? NULL : expected(c), &step);
        c->stepper->level_links = false;
        *pricing = kept;
        if (!ok)
            return false;
        lines[n++] = (struct time_line){cases[i].name, step.step_s};
    }
    c->out->whatifs = lines;
    c->out->n_whatifs = n;
    return true;
}

static int by_percent(const void *a, const void *b)
{
    const struct time_sensitivity *x = a, *y = b;
    double m = fabs(x->percent), n = fabs(y->percent);
    return m < n ? 1 : m > n ? -1 : strcmp(x->constant, y->constant);
}

/* Constants that move the step by a ten-thousandth when they are a tenth larger. */
static bool report_constants(struct context *c)
{
    const struct profile *p = c->ask->profile;
    struct time_sensitivity *rows = arena_alloc(c->arena, p->n + 1, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct constant *constant = &p->constants[i];
        const struct rates_try attempt = {constant, 1.1};
        struct step_time step;
        stepper_price(c->stepper, p, &attempt);
        if (!stepper_time(c->stepper, expected(c), &step))
            return false;
        double percent = 100 * (step.step_s / c->out->step_s - 1);
        if (fabs(percent) < 0.01)
            continue;
        rows[n++] =
            (struct time_sensitivity){.constant = profile_constant_name(constant, c->arena),
                                      .source = constant->source,
                                      .value = constant->y[0],
                                      .low = constant->y[0] * constant->low,
                                      .high = constant->y[0] * constant->high,
                                      .percent = percent};
    }
    stepper_price(c->stepper, p, NULL);
    if (n)
        qsort(rows, n, sizeof *rows, by_percent);
    c->out->constants = rows;
    c->out->n_constants = n;
    return true;
}

static bool report_all(struct context *c)
{
    struct step_time even;
    size_t n = c->stepper->work.n_ops;
    double *even_s = arena_alloc(c->arena, n + 1, sizeof *even_s);
    const struct demand fewer = time_even(c->plan, c->ask->routed);
    if (!stepper_time(c->stepper, c->ask->routed ? &fewer : NULL, &even))
        return false;
    memcpy(even_s, c->stepper->op_s, n * sizeof *even_s);
    if (!stepper_time(c->stepper, expected(c), &c->out->step))
        return false;
    if (c->routed)
        report_links(c, even_s);
    report_rates(c);
    c->out->skew_tax = even.step_s > 0 ? c->out->step_s / even.step_s - 1 : 0;
    report_interval(c);
    report_cost(c->plan, c->out);
    report_layer(c);
    if (c->ask->path || c->ask->why)
        report_path(c);
    if (!report_spread(c))
        return false;
    return !c->ask->why || (report_whatifs(c) && report_constants(c));
}

/* The deployment by the profile, and by the control: both price the same steps. */
static enum status serve_both(const struct plan *plan, const struct time_ask *ask,
                              struct arena *arena, struct time_report *out, struct err *err)
{
    const struct serve_ask serve = {ask->routing, ask->profile, ask->rows};
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
static enum status ask_demand(struct context *c, bool drawn, struct err *err)
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
    struct context c = {.plan = held, .ask = ask, .arena = arena, .stepper = stepper};
    c.out = out;
    *out = (struct time_report){.present = true};
    stepper->routing = ask->routing;
    TRY(stepper_build(stepper, held, ask->profile, arena, err));
    TRY(ask_demand(&c, ask->drawn && held == plan, err));
    bool ok = report_all(&c);
    stepper_release(stepper);
    return ok ? STATUS_OK : overflow(out, err);
}
