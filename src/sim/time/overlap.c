/* See overlap.h. */
#include "sim/time/overlap.h"

#include <math.h>

#include "sim/time/copies.h"
#include "sim/time/form.h"

double overlap_busiest_s(const double a[PROFILE_LEVELS], const double b[PROFILE_LEVELS])
{
    double most = 0;
    for (unsigned i = 0; i < PROFILE_LEVELS; i++)
        most = fmax(most, a[i] + (b ? b[i] : 0));
    return most;
}

/* Seconds of products with what may run beside them, no longer than all in turn. */
static double products_s(const struct rates *r, const struct stretch *b)
{
    double beside = b->beside_s[BESIDE_EXPERTS] + b->beside_s[BESIDE_TENSOR];
    double never = 1 - r->share; /* that part of each */
    double s = fmax(b->products_s + never * beside, overlap_busiest_s(b->beside_link_s, NULL));
    for (unsigned i = 0; i < BESIDES; i++) {
        double others = beside - b->beside_s[i];
        double own = b->beside_s[i] + (i == BESIDE_EXPERTS ? b->looped_s : 0);
        s = fmax(s, own + never * others);
    }
    return fmin(s, b->products_s + beside);
}

/* Takes what products hide out of the parts; returns the products' seconds with what is left
 * beside them. */
static double hide(const struct rates *r, struct stretch *b)
{
    static const enum time_part parts[] = {TIME_EXCHANGE, TIME_TENSOR};
    double s = products_s(r, b), hidden = b->products_s - s;
    for (unsigned i = 0; i < BESIDES; i++)
        hidden += b->beside_s[i];
    for (unsigned i = 0; i < BESIDES; i++) { /* exchanges first */
        double most = fmin(r->share * b->beside_s[i], b->part_s[parts[i]]);
        double own = i + 1 < BESIDES ? fmin(hidden, most) : fmin(hidden, b->part_s[parts[i]]);
        b->part_s[parts[i]] -= own;
        hidden -= own;
    }
    return s;
}

/* What is left of collectives beside the whole stream: by the profile's norm of the products
 * with them, or what does not fit, no less than the part that never overlaps, or than the first
 * gather and the last reduction, beside which nothing runs. */
static double left_s(const struct rates *r, const struct stretch *b, double products)
{
    double stream = stretch_s(b) - b->part_s[TIME_SHARDING], aside = b->aside_s;
    double left = fmax(fmax(aside - b->end_s - stream, 0) + b->end_s, (1 - r->share) * aside);
    if (r->norm > 0)
        left = form_beside(products, aside, r->norm) - products;
    return fmin(fmax(left, overlap_busiest_s(b->link_s, NULL) - stretch_s(b)), aside);
}

/* What forward gathers can only run beside forward; a norm is of both. */
static void add_left(const struct rates *r, const double products[PASSES],
                     const struct stretch *both, struct stretch pass[PASSES])
{
    if (both->aside_s <= 0)
        return;
    double left = r->norm > 0 ? left_s(r, both, products[0] + products[1]) : 0;
    for (unsigned i = 0; i < PASSES; i++)
        pass[i].part_s[TIME_SHARDING] += r->norm > 0 ? left * pass[i].aside_s / both->aside_s
                                                     : left_s(r, &pass[i], products[i]);
}

void overlap_passes(const struct pricing *pricing, struct stretch pass[PASSES])
{
    const struct rates *r = &pricing->rates;
    struct stretch both = {0};
    double products[PASSES];
    for (unsigned i = 0; i < PASSES; i++) {
        products[i] = hide(r, &pass[i]);
        stretch_add(&both, &pass[i], 1);
    }
    add_left(r, products, &both, pass);
    pass[PASS_FORWARD].least_s = fmax(stretch_s(&both), overlap_busiest_s(both.link_s, NULL));
    pass[PASS_BACKWARD].least_s = 0;
    for (unsigned i = 0; i < PASSES; i++) {
        struct stretch *b = &pass[i];
        double device = stretch_s(b);
        double waits = fmax(0, b->host_s - device);
        b->waits_s = copies_left_s(pricing->plan, b, device) + waits;
        b->part_s[TIME_HOST] += b->waits_s;
        if (b->weight_s > 0) /* schedules that put them off leave the waiting with them */
            b->weight_s += waits;
    }
}

double overlap_beside(const struct pricing *pricing, const struct stretch *pass, double seconds,
                      const double link_s[PROFILE_LEVELS])
{
    double stream = stretch_s(pass), links = overlap_busiest_s(pass->link_s, link_s);
    double left = fmax(seconds - stream, (1 - pricing->rates.share) * seconds);
    return fmin(fmax(left, links - stream), seconds);
}
