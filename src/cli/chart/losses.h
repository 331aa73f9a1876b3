/* Curves of loss by step as curves by hour: the table behind time-to-loss. */
#ifndef MOEPLAN_CLI_CHART_LOSSES_H
#define MOEPLAN_CLI_CHART_LOSSES_H

#include "base/csv.h"
#include "base/text.h"

enum { LOSS_RUNS = 64 };

struct loss_run {
    const char *name;
    double step_s;
    bool predicted; /* by a plan; else the table gives it */
    size_t n;       /* points, steps ascending */
    double *step, *loss;
    double reaches_h; /* the first run's last loss, at the latest; NAN: not within its points */
    double ahead_h;   /* from then on below the first run to the end; NAN: not, or not known */
};

struct losses {
    struct loss_run runs[LOSS_RUNS];
    size_t n;
};

/* Reads name, step, loss and, in a row of each name, step_s, or plan and set (a plan file
 * beside the table, settings as in `--set`, between blanks), which is timed. Memory from the
 * arena. STATUS_INPUT at file:line. */
enum status losses_read(const struct csv *csv, struct arena *arena, struct losses *out,
                        struct err *err);

#endif
