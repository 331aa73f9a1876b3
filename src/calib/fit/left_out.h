/* How wide an interval must be to hold nine of ten values of a group that nobody has seen, and
 * whether it does: groups (layouts, configurations) are left out of a fit, and again out of the
 * fits by which the others' errors say the width. */
#ifndef MOEPLAN_CALIB_FIT_LEFT_OUT_H
#define MOEPLAN_CALIB_FIT_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* The share of other groups' values that the width is taken from: nine of ten, and of fewer
 * than ten 19 of 20, since few say less of one more (models/profiles/README.md has what other
 * rules hold). */
double left_out_share(size_t n);

/* In its place where groups are few, whatever each has: the root mean square of the groups'
 * errors, each counted alike, as a factor, times Student's t of as many. Values of one group
 * err together, so what a share of all values stayed within says little of one more group. */
#define LEFT_OUT_STUDENT 0.0

/* What that share of the errors (a factor's distance from 1) of all groups but one (UINT32_MAX:
 * of all) stays within; NaN errors do not count. NaN where there is none. Scratch memory from
 * the arena. */
double left_out_width(const double *error, const uint32_t *group, size_t n, uint32_t without,
                      double share, struct arena *arena);

/* Errors of fits without two groups: [outer][value], of the values of every other group. */
struct left_out_pairs {
    double **error; /* [n_groups][n]; NaN */
    const uint32_t *group;
    size_t n, n_groups;
};

void left_out_open(struct left_out_pairs *pairs, const uint32_t *group, size_t n,
                   size_t n_groups, struct arena *arena);

/* Share of the values that lie within the width that their group's pairs say. `error`: of fits
 * without their group alone. NaN below three groups. */
double left_out_held(const struct left_out_pairs *pairs, const double *error, double share,
                     struct arena *arena);

#endif
