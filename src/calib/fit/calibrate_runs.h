/* Calibration on whole steps: a profile's constants moved towards a user's own runs.
 *
 * A table of runs (models/README.md) with step times or rates. What is known before is the
 * plan's profile: every constant with its interval, taken as the spread of its logarithm. Runs
 * then move the constants that they say something about, within physical bounds, each alone and
 * all together: another release or site is slower in everything. How far is what predicts the
 * runs best from each other (runs_fit.h). Constants on a curve keep its shape. */
#ifndef MOEPLAN_CALIB_FIT_CALIBRATE_RUNS_H
#define MOEPLAN_CALIB_FIT_CALIBRATE_RUNS_H

#include <stdio.h>

#include "base/csv.h"
#include "calib/fit/runs_had.h"
#include "calib/table/score.h"
#include "plan/data/profile.h"
#include "plan/data/published.h"

struct run_value {
    const char *row, *quantity, *configuration, *model;
    double measured, before, after; /* seconds of a step */
    double left_out;                /* fitted without this configuration */
    double model_out;               /* without this model; NaN where there is one only */
};

struct run_constant {
    const char *name;
    double before, value, low, high; /* low, high: jackknife over configurations, 90 % of
                                      * Student's t of one fewer */
    const char *note;
};

struct run_calibration {
    const struct profile *profile;
    struct run_value *values;
    size_t n, n_configurations;
    size_t n_repeats; /* lines that say a run of another line again: not among the n */
    struct run_constant *constants; /* those that the runs move, most important first */
    size_t n_constants;
    struct run_score {
        const char *what;
        struct score score;
        double held_percent, width_percent; /* NaN: not known */
    } scores[4];                            /* before, fitted, configuration out, model out */
    struct score before, after, left_out, model_out;
    double known; /* relative half width that the profile said before of plans like these */
    double error; /* the same of what is fitted: by configurations left out beside what was
                   * known (left_out.h); NaN where neither says one */
    double held;  /* share that so made an interval holds of configurations that neither its fit
                   * nor its width has seen; NaN below three */
    double *factors; /* [n_constants] value over before */
    const struct constant **moved;
    struct runs_had had;
};

/* Whether a table of runs has step times or rates. */
bool calibrate_is_runs(const struct csv *csv);

/* How much is asked: all; not how many such an interval holds; the fit without what is left out
 * of others, whose intervals are then the profile's own; nothing but what the profile says
 * (values[].before). */
enum run_depth { RUN_JUDGED, RUN_LEFT_OUT, RUN_FITTED, RUN_TOLD };

/* Which runs of a table: of a stack, a device, a model (NULL: any), with more keys (NULL:
 * none).
 */
struct run_choice {
    const char *stack, *device, *model;
    const struct published_sets *sets;
    enum run_depth depth;
};

/* Fits. Runs must share one profile, which stack.profile names or the plans take by themselves.
 * STATUS_INPUT when nothing is left. */
enum status calibrate_runs(const struct csv *csv, const struct run_choice *choice,
                           struct arena *arena, struct run_calibration *out, struct err *err);

/* A profile whose base is the one that was fitted, with the constants that moved and what the
 * runs had. */
void calibrate_runs_write(FILE *out, const struct run_calibration *c, const char *table,
                          const char *date);

#endif
