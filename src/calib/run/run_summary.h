/* From predictions, counts and samples to the report of a run. */
#ifndef MOEPLAN_CALIB_RUN_RUN_SUMMARY_H
#define MOEPLAN_CALIB_RUN_RUN_SUMMARY_H

#include "calib/run/run.h"
#include "sim/time/price.h"
#include "sim/step/slice.h"
#include "exec/measure.h"

/* Sums over routing samples, by op of the list. */
struct run_summary {
    const struct plan *plan;
    struct pricing pricing; /* at the machine's own rates, or a profile's */
    const struct slice *list;
    struct run_report *report;
    uint64_t samples; /* of routing, planned */
    bool performed, measured;
    bool in_turn; /* ranks are performed each alone, and the slowest counts */
    uint64_t *rows, *flop, *bytes, *sent,
        *received;       /* [n_ops] predicted, all ranks of the process */
    double *predicted_s; /* [n_ops] of the process */
    double *overhead_s;  /* [n_ops] */
    double *op_s;        /* [n_ops][room] samples */
    double *step_s;      /* [room] */
    size_t room, n;      /* samples there is room for, and taken */
    double idle_s;       /* overhead of a step */
};

/* profile NULL: times are a roofline of the cluster's figures. */
void run_summary_init(struct run_summary *s, const struct plan *plan, const struct slice *list,
                      const struct profile *profile, uint64_t samples, struct arena *arena,
                      struct run_report *report);

/* Adds the prediction of the list as it is evaluated now. */
void run_summary_predict(struct run_summary *s, const struct slice *list);

/* Adds what one routing sample measured. Sorts the samples of `overhead`. */
void run_summary_measure(struct run_summary *s, const struct measurement *measured,
                         struct measurement *overhead);

/* Adds rows as the last step counted them. */
void run_summary_count(struct run_summary *s, const struct execution *x);

/* Adds what was metered. */
void run_summary_meter(struct run_summary *s, const struct execution *x,
                       const struct memory_peak *peak);
void run_summary_resident(struct run_summary *s, uint64_t bytes);

/* Joins all processes and fills ops, rows, time and memory of the report. session: NULL when
 * nothing was opened. */
enum status run_summary_close(struct run_summary *s, struct session *session, struct err *err);

#endif
