/* A calibration on measured peaks, as text, JSON or CSV. */
#ifndef MOEPLAN_REPORT_CALIBRATE_MEMORY_H
#define MOEPLAN_REPORT_CALIBRATE_MEMORY_H

#include <stdio.h>

#include "base/arena.h"
#include "base/term.h"
#include "calib/fit/calibrate_memory.h"

struct peaks_view {
    const struct memory_calibration *calibration;
    const char *table;
    uint64_t seed; /* that was asked for */
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void peaks_print_text(const struct peaks_view *view);
void peaks_print_json(const struct peaks_view *view);
void peaks_print_csv(const struct peaks_view *view); /* the runs */

#endif
