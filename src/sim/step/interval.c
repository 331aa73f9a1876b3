/* See interval.h. */
#include "sim/step/interval.h"

#include <math.h>

#include "sim/time/launched.h"

static double step_constant(const struct profile *profile, enum profile_quantity is,
                            const struct plan *plan)
{
    const struct constant *c = profile_find(profile, PROFILE_STEP, is, (int)plan->moe.path,
                                            (int)plan->precision.compute, PROFILE_ANY);
    return c ? c->y[0] : 0;
}

double time_error_as(const struct profile *profile, const struct plan *plan,
                     enum profile_standing standing)
{
    double error = step_constant(profile, PROFILE_ERROR, plan);
    if (standing != RUNS_LIKE)
        error = fmax(error, step_constant(profile, PROFILE_OUTSIDE, plan));
    if (standing == RUNS_UNLIKE)
        error = fmax(error, step_constant(profile, PROFILE_UNLIKE, plan));
    return error;
}

double time_error(const struct profile *profile, const struct plan *plan, bool *outside)
{
    enum profile_standing standing = profile_standing(profile, plan);
    if (outside)
        *outside = standing != RUNS_LIKE;
    return time_error_as(profile, plan, standing);
}

/* What Python takes for a launch where none of the profile's own runs says it, or NULL. */
static const struct constant *assumed_launch(const struct stepper *s,
                                             const struct profile *profile)
{
    const struct constant *c = profile_find(profile, PROFILE_HOST, PROFILE_EAGER, PROFILE_ANY,
                                            PROFILE_ANY, PROFILE_ANY);
    bool fitted = c && c->depth == 0 && profile->calibrated;
    return launched_by_python(&s->plan, step_graphs(&s->plan)) && !fitted ? c : NULL;
}

/* By how much a step is another with the constant at an end of its interval. */
static double moved(struct stepper *s, const struct profile *profile,
                    const struct constant *constant, double factor, const struct demand *demand,
                    double step_s)
{
    const struct rates_try attempt = {constant, factor};
    struct step_time step;
    stepper_price(s, profile, &attempt);
    double ratio = stepper_time(s, demand, &step) ? step.step_s / step_s : 1;
    stepper_price(s, profile, NULL);
    return fabs(log(ratio));
}

/* Of two errors that know nothing of each other; hypot asks for a newer C library than wheels
 * may. */
static double together(double a, double b)
{
    return sqrt(a * a + b * b);
}

struct interval interval_of(struct stepper *s, const struct profile *profile,
                            const struct demand *demand, double step_s, double error)
{
    struct interval out = {1 + error, 1 + error};
    const struct constant *c = assumed_launch(s, profile);
    if (!c || !(step_s > 0))
        return out;
    double own = log1p(error);
    out.less = exp(together(own, moved(s, profile, c, c->low, demand, step_s)));
    out.more = exp(together(own, moved(s, profile, c, c->high, demand, step_s)));
    return out;
}

static double request_constant(const struct profile *profile, enum profile_quantity is)
{
    const struct constant *c =
        profile_find(profile, PROFILE_REQUEST, is, PROFILE_ANY, PROFILE_ANY, PROFILE_ANY);
    return c ? c->y[0] : 0;
}

void interval_served(const struct profile *profile, double error, bool outside, double less,
                     double more, struct serve_times *times)
{
    const struct constant *step = profile_find(profile, PROFILE_STEP, PROFILE_ERROR,
                                               PROFILE_ANY, PROFILE_ANY, PROFILE_ANY);
    double own = step ? step->y[0] : 0, known = request_constant(profile, PROFILE_OUTSIDE);
    double first = 1 + fmax(request_constant(profile, PROFILE_ERROR), own);
    if (outside)
        first = known > 0 ? fmax(first, 1 + known) : first * (1 + error) / (1 + own);
    times->tpot_low_s = times->tpot_s / less;
    times->tpot_high_s = times->tpot_s * more;
    times->ttft_low_s = times->ttft_s / (first * less / (1 + error));
    times->ttft_high_s = times->ttft_s * (first * more / (1 + error));
}
