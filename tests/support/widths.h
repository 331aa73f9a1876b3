/* How wide intervals have to be, by what was left out of fits: tests/data/widths.csv has one
 * line a profile, kind of time and what was left out. Programs that fit write it
 * (bench/fit_served, bench/fit_owned, unit/test_steps_left_out), unit/test_widths holds the
 * shipped profiles to it, docs/check_profiles prints it. */
#ifndef MOEPLAN_TESTS_SUPPORT_WIDTHS_H
#define MOEPLAN_TESTS_SUPPORT_WIDTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct width {
    const char *profile;
    const char *kind; /* "step", "tpot", "ttft" */
    const char *cut;  /* left out as a whole: "layout", "device", "model", "keys" */
    uint64_t values, groups;
    double median, p90; /* of the errors of what was left out, percent */
    double width;       /* relative half width by left_out.h */
    double held;        /* share that such widths hold of what they have not seen; NaN */
    /* of log(told / measured) with the profile as it is shipped: another model of the step has
     * others, and the line is to be made again */
    double told_mean, told_rms;
};

struct widths {
    const char *root; /* of the source tree, absolute, with a slash */
    const char *file; /* tests/data/widths.csv below it */
    struct width *list;
    size_t n;
};

/* From the source tree, which is the working folder. Ends the process when it cannot. */
void widths_read(struct widths *widths, struct arena *arena);

/* NULL: no such line. */
const struct width *widths_find(const struct widths *widths, const char *profile,
                                const char *kind, const char *cut);

/* Whether the line says this, to what another compiler may move a fit by (a fiftieth; a point
 * of the share held); what it says otherwise goes to stderr. With MOEPLAN_REWRITE the line is
 * written instead. */
bool widths_say(struct widths *widths, const struct width *found, struct arena *arena);

/* The same of the lines between "<!-- name -->" and "<!-- end -->" of
 * models/profiles/README.md.
 */
bool widths_section(const struct widths *widths, const char *name, const char *lines,
                    struct arena *arena);

/* Median and 90th percentile of errors in percent into a line; mean and rms of logarithms.
 * Sorts a copy. */
void widths_errors(struct width *width, const double *told, const double *measured, size_t n,
                   struct arena *arena);
void widths_told(struct width *width, const double *told, const double *measured, size_t n);

#endif
