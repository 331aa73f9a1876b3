/* How wide an interval must be to hold nine of ten values of a group that nobody has seen, and
 * whether it does: groups (layouts, configurations) are left out of a fit, and again out of the
 * fits by which the others' errors say the width. */
#ifndef MOEPLAN_CALIB_FIT_LEFT_OUT_H
#define MOEPLAN_CALIB_FIT_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* What a width is taken from. Nine of ten values of the others: of n that were left out the
 * 0.9 (n + 1)-th, between two by their distance, the largest of fewer than nine. One more value
 * lies below the k-th of n with a chance of k / (n + 1), whatever they are distributed like
 * (order statistics; Vovk et al., Algorithmic Learning in a Random World, 2005, section 2); the
 * 0.9 quantile of few values holds fewer: of 18 those up to the 16.3th, 86 %. */
#define LEFT_OUT_SHARE 0.9

/* In its place where groups are few, whatever each has: the root mean square of the groups'
 * errors, each counted alike, as a factor, times Student's t of as many. Values of one group
 * err together, so what a share of all values stayed within says little of one more group. */
#define LEFT_OUT_STUDENT 0.0

/* What was said before of how far such groups err, a relative half width that holds 90 %,
 * counts as this many groups beside those that were left out: it is taken for a Student's t of
 * as many degrees of freedom, whose square of the scale then has a scaled inverse chi-squared
 * law, and what the groups' errors make of that law is a Student's t of both together (Gelman
 * et al., Bayesian Data Analysis, 3rd ed. 2013, section 3.2). How many: how far the errors of
 * six owners' layouts differ from owner to owner is likeliest by 1 to 2.5 degrees of freedom,
 * with any one of them left out as well (tests/data/owners.csv, unit/test_left_out). */
#define LEFT_OUT_KNOWN 2

/* How a width is taken: a share of the values, or Student's t; and for the latter what was said
 * before (0: nothing). */
struct left_out_rule {
    double share, known;
};

/* Which of them where values of one group err together: Student's t below LEFT_OUT_FEW groups,
 * with what was known before. */
enum { LEFT_OUT_FEW = 10 };
struct left_out_rule left_out_rule_of(size_t n_groups, double known);

/* Student's t that 95 % lie below. */
double left_out_student(size_t freedom);

/* A factor's distance from 1, either way. */
double left_out_error(double told, double measured);

/* What that share of the errors (a factor's distance from 1) of all groups but one (UINT32_MAX:
 * of all) stays within, or by Student's t; NaN errors do not count. NaN where there is none.
 * Scratch memory from the arena. */
double left_out_width(const double *error, const uint32_t *group, size_t n, uint32_t without,
                      struct left_out_rule rule, struct arena *arena);

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
double left_out_held(const struct left_out_pairs *pairs, const double *error,
                     struct left_out_rule rule, struct arena *arena);

#endif
