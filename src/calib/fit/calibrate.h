/* Calibration: a family's few constants fitted to what was measured, and what that fit is
 * worth on measurements it has not seen.
 *
 * Constants stay within the physical bounds of their form. The errors that count are those on
 * values left out: half of them by hash (neighbours in size leak there), whole configurations,
 * whole models, whole devices. Intervals are the jackknife's over configurations, nominal
 * 90 %. */
#ifndef MOEPLAN_CALIB_FIT_CALIBRATE_H
#define MOEPLAN_CALIB_FIT_CALIBRATE_H

#include <stdio.h>

#include "calib/table/curve.h"
#include "calib/table/score.h"

/* What is left out together. */
#define CALIBRATE_SPLIT_LIST(X)                                                                \
    X(NONE, "none")                   /* nothing: the values that were fitted */               \
    X(HALF, "half")                   /* half of the values, by hash */                        \
    X(CONFIGURATION, "configuration") /* (a tenth at a time where there are more) */           \
    X(MODEL, "model")                                                                          \
    X(DEVICE, "device")

enum calibrate_split {
#define SPLIT_ENUM(name, text) SPLIT_##name,
    CALIBRATE_SPLIT_LIST(SPLIT_ENUM)
#undef SPLIT_ENUM
        SPLIT_COUNT
};

struct calibrated_constant {
    const char *family, *name; /* "experts.efficiency" */
    double place;              /* on a curve by ranks; 0: one value */
    double value, low, high;   /* nominal 90 % */
    const char *note;          /* "at its bound"; NULL */
};

/* Two constants that the measurements cannot tell apart. */
struct calibrated_pair {
    const char *family, *one, *other;
    double correlation;
};

struct calibrated_score {
    const char *family, *left_out; /* a split, or "control": a roofline at 70 % of every peak */
    struct score score;
    double held_percent;  /* of configurations left out: calibrated_family.held; NaN */
    double width_percent; /* half the interval that does: calibrated_family.error; NaN */
};

struct calibrated_family {
    const struct curve_family *family;
    double constants[CURVE_CONSTANTS];
    double low[CURVE_CONSTANTS], high[CURVE_CONSTANTS];
    double
        *predicted[SPLIT_COUNT]; /* [family->n] seconds; NaN where a split has nothing left */
    double error; /* relative half width by configurations left out (left_out.h) */
    double held;  /* share that so made an interval holds of configurations that neither its fit
                   * nor its width has seen; NaN below three */
};

struct calibration {
    const struct curve_table *table;
    struct calibrated_family *families;
    size_t n_families;
    struct calibrated_constant *constants;
    size_t n_constants;
    struct calibrated_pair *pairs;
    size_t n_pairs;
    struct calibrated_score *scores; /* of each family, then of all together ("all") */
    size_t n_scores;
};

/* Fits the families of the profile `profile`, or else of those whose names start with it and a
 * dash (NULL: all), and of them the values measured on `device` (NULL: every). STATUS_INPUT
 * when nothing is left. */
enum status calibrate_curves(const struct curve_table *table, const char *profile,
                             const char *device, struct arena *arena,
                             struct calibration *calibration, struct err *err);

/* The profile of one name that a calibration gives, as models/profiles/README.md describes
 * it, on top of the profile `base`. `date`: of the fit, YYYY-MM-DD. */
void calibrate_write(FILE *out, const struct calibration *calibration, const char *profile,
                     const char *base, const char *date, struct arena *arena);

#endif
