/* See link_spread.h. */
#include "sim/step/link_spread.h"

#include <math.h>

#include "base/stat.h"
#include "sim/time/price.h"
#include "sim/time/stretch.h"
#include "work/list/work.h"

static double jitter_of(const struct stepper *s, const struct op *op)
{
    const struct comm_place *place = &s->pricing.place[op->group];
    const struct cluster *c = &s->plan.cluster;
    return place->ranks > place->inside ? c->network.jitter : c->node.link_jitter;
}

/* Seconds of the links alone: nothing of them is folded. */
static struct pricing unfolded(const struct stepper *s)
{
    struct pricing pricing = s->pricing;
    for (unsigned i = 0; i < PROFILE_ITEMS; i++)
        for (unsigned level = 0; level < PROFILE_LEVELS; level++)
            pricing.rates.link[i][level].folded = false;
    return pricing;
}

static bool is_counted(const struct stepper *s, const struct op *op)
{
    return op->group != GROUP_NONE && op->group != GROUP_PP &&
           profile_item_class(price_item(op, s->values)) == PROFILE_COLLECTIVE;
}

/* How often a step has an op, on the stage that the list is of. */
static double often(const struct stepper *s, const struct op *op, const struct step_time *step)
{
    double passes = stretch_is_once(s, op) ? 1 : step->micro_batches;
    return (double)s->values[op->layers.node] * passes;
}

/* Of the seconds of a part's collectives, the share that nothing hides; 1 where they are
 * folded.
 */
static void exposed_shares(const struct stepper *s, const struct step_time *step,
                           double shares[TIME_PARTS])
{
    double all[TIME_PARTS] = {0};
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (is_counted(s, op))
            all[stretch_part(price_item(op, s->values), op->group)] +=
                s->op_s[i] * often(s, op, step);
    }
    for (unsigned i = 0; i < TIME_PARTS; i++)
        shares[i] = all[i] > 0 ? fmin(step->part_s[i] / all[i], 1) : 1;
}

void link_spread_of(const struct stepper *s, const struct step_time *step,
                    struct link_spread *out)
{
    const struct cluster *cluster = &s->plan.cluster;
    double shares[TIME_PARTS];
    int segment = -1;
    *out = (struct link_spread){0};
    if (!(cluster->node.link_jitter > 0) && !(cluster->network.jitter > 0))
        return;
    struct pricing pricing = unfolded(s);
    exposed_shares(s, step, shares);
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (!is_counted(s, op))
            continue;
        double seconds = price_of(&pricing, &s->work, op, s->values).link_s;
        seconds *= shares[stretch_part(price_item(op, s->values), op->group)];
        double one = pow(jitter_of(s, op) * seconds, 2);
        out->step_s += one * often(s, op, step);
        if (!stretch_is_routed(op))
            continue;
        segment = segment < 0 ? (int)op->segment : segment;
        if ((int)op->segment != segment)
            continue;
        out->forward_backward_s += one * stretch_share(s, op);
        if (op->phase == PHASE_FORWARD)
            out->forward_s += one * stretch_share(s, op);
    }
    out->step_s = sqrt(out->step_s);
    out->forward_s = sqrt(out->forward_s);
    out->forward_backward_s = sqrt(out->forward_backward_s);
}

static double below(const double *sorted, size_t n, double sd, double x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += stat_normal_cdf((x - sorted[i]) / sd);
    return sum / (double)n;
}

double link_spread_percentile(const double *sorted, size_t n, double sd, double q)
{
    if (!(sd > 0))
        return stat_percentile(sorted, n, q);
    double low = sorted[0] - 8 * sd, high = sorted[n - 1] + 8 * sd;
    for (unsigned i = 0; i < 60; i++) {
        double x = (low + high) / 2;
        *(below(sorted, n, sd, x) < q ? &low : &high) = x;
    }
    return (low + high) / 2;
}
