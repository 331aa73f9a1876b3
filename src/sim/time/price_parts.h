/* What prices of ops (price.h) share: kernels and copies (price.c), links (price_links.c). */
#ifndef MOEPLAN_SIM_TIME_PRICE_PARTS_H
#define MOEPLAN_SIM_TIME_PRICE_PARTS_H

#include <math.h>

#include "sim/time/price.h"

/* Trips of the loop that an op is in; 1 outside of one. */
static inline double price_trips(const struct op *op, const uint64_t *values)
{
    return op->loop ? (double)values[op->trips.node] : 1;
}

/* Chance that none of `drawn` of n is among m. */
static inline double price_none_of(double n, double m, double drawn)
{
    double chance = 1;
    for (double i = 0; i < drawn; i++)
        chance *= fmax(n - m - i, 0) / (n - i);
    return chance;
}

/* Of an op whose class is PROFILE_COLLECTIVE: all of it on links. */
struct price price_link(const struct pricing *pricing, enum profile_item item,
                        const struct work *work, const struct op *op, const uint64_t *values);

#endif
