/* How far owners of runs differ in how far off their layouts are told, when each is left out of
 * a fit to the others: tests/data/owners.csv, which bench/fit_owned writes. calib/fit/left_out
 * takes from it how much what was said before counts. */
#ifndef MOEPLAN_TESTS_SUPPORT_OWNERS_H
#define MOEPLAN_TESTS_SUPPORT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { OWNERS_MOST = 16, OWNERS_PRIORS = 2 };

struct owners {
    const char *name[OWNERS_MOST];
    size_t layouts[OWNERS_MOST], n;
    /* root mean square over layouts of log(told / measured), from profiles `megatron` (of
     * others' runs) and `megatron-assumed` */
    double spread[OWNERS_PRIORS][OWNERS_MOST];
};

/* From the source tree, which is the working folder. Ends the process when it cannot. */
void owners_read(struct owners *owners, struct arena *arena);

/* Whether the file below the root says this, to a fiftieth; with MOEPLAN_REWRITE it is written
 * instead. */
bool owners_say(const struct owners *found, const char *root, struct arena *arena);

/* Logarithm of how likely these spreads are but for one owner's (n: of all), where variances
 * have a scaled inverse chi-squared law of so many degrees of freedom whose scale is the
 * likeliest: each owner's layouts then have a multivariate t (Gelman et al., Bayesian Data
 * Analysis, 3rd ed. 2013, section 3.2). */
double owners_likelihood(const struct owners *owners, unsigned prior, size_t without,
                         double freedom);

#endif
