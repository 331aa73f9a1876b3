/* How far a plan's seconds may be off. */
#ifndef MOEPLAN_SIM_STEP_INTERVAL_H
#define MOEPLAN_SIM_STEP_INTERVAL_H

#include "sim/serve/serve_play.h"
#include "sim/time/step_time.h"

/* Relative half width of the interval around a plan's seconds: what held 90 % of the runs left
 * out of the fit, or, where the plan is of another device, model or key than the runs had
 * (*outside, or NULL), the wider one that the profile states for that. The plan's path is
 * resolved. */
double time_error(const struct profile *profile, const struct plan *plan, bool *outside);

/* The same of a plan that stands so to the profile's runs: it follows from path and precision
 * besides. */
double time_error_as(const struct profile *profile, const struct plan *plan,
                     enum profile_standing standing);

/* By how much less and more a step of these seconds may take: the error's factor, and beside it
 * what the host's `eager` may be wherever Python launches the step and no run of the profile
 * says it. The stepper stands at the profile's prices again. */
struct interval {
    double less, more; /* factors, 1 or larger */
};
struct interval interval_of(struct stepper *stepper, const struct profile *profile,
                            const struct demand *demand, double step_s, double error);

/* Tokens of an answer are as far off as a decode step, whose interval has these factors and of
 * whose plan `error` and `outside` are. A first token is as far off as the profile says of
 * requests; of a plan outside its runs as it says of those, or as much more than of its own as
 * a step; and as much more so where nobody knows what a launch takes. */
void interval_served(const struct profile *profile, double error, bool outside, double less,
                     double more, struct serve_times *times);

#endif
