/* Why a step takes what it takes: its path, what-ifs, constants that move it; see time_parts.h.
 */
#include "sim/step/time_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/time/price.h"
#include "sim/time/stretch.h"

enum { LONGEST = 12 };

static int by_seconds(const void *a, const void *b)
{
    const struct time_line *x = a, *y = b;
    return x->seconds < y->seconds   ? 1
           : x->seconds > y->seconds ? -1
                                     : strcmp(x->name, y->name);
}

/* An op's seconds on the way, over the layers of its stage and the step's micro-batches, of
 * which each comes through one of DualPipe's two copies. */
static double way_s(const struct time_telling *c, size_t i)
{
    const struct op *op = &c->stepper->work.ops[i];
    const struct parallel *p = &c->plan->parallel;
    double copies = p->schedule == PIPELINE_DUALPIPE && p->pp > 1 ? 2 : 1;
    double times = stretch_is_once(c->stepper, op) ? 1 : c->out->step.micro_batches / copies;
    return c->stepper->op_s[i] * (double)c->stepper->values[op->layers.node] * times;
}

/* How much of the exchanges of a part is waited for: the rest runs beside computation. */
static double waited_share(const struct time_telling *c, enum time_part part)
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
void time_path(struct time_telling *c)
{
    const struct stepper *s = c->stepper;
    const struct work *work = &s->work;
    size_t n = 0;
    double share[TIME_PARTS];
    for (unsigned i = 0; i < TIME_PARTS; i++)
        share[i] = waited_share(c, (enum time_part)i);
    struct time_line *lines = arena_alloc(c->arena, work->n_ops + 4, sizeof *lines);
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
    static const enum time_part waits[] = {TIME_SHARDING, TIME_PIPELINE, TIME_HOST,
                                           TIME_REFERENCE};
    static const char *const names[] = {"exposed sharding", "pipeline", "host", "reference"};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
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

static bool tell_whatifs(struct time_telling *c)
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
        bool ok = stepper_time(c->stepper, cases[i].balanced ? NULL : time_expected(c), &step);
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
static bool tell_constants(struct time_telling *c)
{
    const struct profile *p = c->ask->profile;
    struct time_sensitivity *rows = arena_alloc(c->arena, p->n + 1, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct constant *constant = &p->constants[i];
        const struct rates_try attempt = {constant, 1.1};
        struct step_time step;
        stepper_price(c->stepper, p, &attempt);
        if (!stepper_time(c->stepper, time_expected(c), &step))
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

bool time_why(struct time_telling *c)
{
    return tell_whatifs(c) && tell_constants(c);
}
