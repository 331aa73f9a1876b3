/* A calibration on whole steps, as text, JSON or CSV. */
#ifndef MOEPLAN_REPORT_CALIBRATE_RUNS_H
#define MOEPLAN_REPORT_CALIBRATE_RUNS_H

#include "base/arena.h"
#include "base/term.h"
#include "calib/fit/calibrate_runs.h"

struct runs_view {
    const struct run_calibration *calibration;
    const char *table;
    uint64_t seed; /* that was asked for */
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void runs_print_text(const struct runs_view *view);
void runs_print_json(const struct runs_view *view);
void runs_print_csv(const struct runs_view *view); /* the runs */

#endif
