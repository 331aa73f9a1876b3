/* The fit under calibrate_runs: a profile whose constants move, runs that are played with it.
 *
 * Every constant has a factor of its own and one that all share: a release or a site is slower
 * in everything. Both are held by what is known before, the first as wide as the profile's
 * intervals say, the second as releases of one software differ; how strongly is chosen by
 * predicting each of the runs at hand from the others. */
#ifndef MOEPLAN_CALIB_FIT_RUNS_FIT_H
#define MOEPLAN_CALIB_FIT_RUNS_FIT_H

#include "base/fit.h"
#include "calib/fit/calibrate_runs.h"
#include "sim/step/time.h"

enum { MOST_MOVED = 12 };

/* One run: its list, built once, and what was measured. */
struct step_run {
    struct stepper stepper;
    struct plan plan;
    struct demand_spread demand;
    bool any; /* experts */
    uint32_t configuration, model;
};

struct fitter {
    struct step_run *runs;
    struct run_value *values;
    size_t n;
    const struct constant **moved; /* [n_moved] of the profile */
    size_t n_moved;
    double spread[MOST_MOVED + 1]; /* sd of the logarithm before; the last: what all share */
    double own_strength, shared_strength; /* of spread: how far they may move */
    struct profile profile;               /* with its own constants */
    struct constant *own;                 /* profile.constants */
    const struct profile *base;
    double *measured; /* [n + n_moved + 1]; the last are 1 */
    double *slope;    /* [n][n_moved + 1] of log seconds by log factor, at the profile */
    double *told; /* [n] seconds of a configuration at these factors, by its first run; 0: not
                   * yet */
    uint32_t *kept;
    struct arena *arena;
};

enum leave { LEAVE_NOTHING, LEAVE_CONFIGURATION, LEAVE_MODEL, LEAVE_FOLDS };

/* Runs that a fit does not see. */
struct left {
    enum leave leave;
    uint32_t which;
    uint32_t other, folds; /* LEAVE_FOLDS: two of so many folds of configurations */
};

bool fitter_is_left(const struct step_run *run, const struct left *left);

/* Whether a constant is a time: more of it is slower. */
bool fitter_is_time(enum profile_quantity is);

/* A copy of the base's constants, whose values can be changed. */
void fitter_own(struct fitter *fitter);

/* The constants that these runs say something about, most important first, and how seconds
 * depend on them. values[].before and measured must be there. */
void fitter_choose(struct fitter *fitter);

/* Where a factor may be: no share above one at any point of a curve. */
struct fit_bound fitter_bound(const struct constant *constant);

/* Of constant k: its own factor with the one that all share, inside its bounds. factors:
 * [n_moved + 1], as fitter_fit leaves them. */
double fitter_factor(const struct fitter *fitter, const double *factors, size_t k);

/* Puts factors on the constants that move. */
void fitter_move(struct fitter *fitter, const double *factors);

/* Seconds of a run's step with the constants as they stand. */
double fitter_seconds(struct fitter *fitter, size_t run);

/* Fits to the runs that are not left, which also choose how far constants may move. It begins
 * at the profile, never at another fit: that has seen what is left. */
void fitter_fit(struct fitter *fitter, const struct left *left, struct fit_result *result);

#endif
