/* A trace of torch.profiler (Chrome JSON: kernels of one process) beside the predicted step.
 *
 * What a kernel is follows from its name: a table of patterns, models/kernel_names.csv, of
 * which the first that matches says the family whose constants price such an op
 * (plan/data/profile.h). */
#ifndef MOEPLAN_CALIB_VALIDATE_TORCH_TRACE_H
#define MOEPLAN_CALIB_VALIDATE_TORCH_TRACE_H

#include "base/csv.h"
#include "sim/step/plan_spans.h"

enum { TORCH_TRACE_BYTES = 1 << 30, TORCH_LONGEST = 5 };

struct torch_family {
    const char *name;               /* of a profile's item; "not placed" */
    uint64_t kernels;               /* of all steps */
    double measured_s, predicted_s; /* a step */
    double error_percent;           /* NAN: one of them has none */
};

struct torch_trace {
    uint64_t steps, kernels;
    struct torch_family families[PROFILE_ITEMS + 1]; /* that have any; not placed last */
    size_t n_families;
    double kernels_s, not_placed_s; /* a step, summed over streams */
    double step_s, predicted_s;     /* from the first kernel to the end of the last, by steps */
    const char *longest[TORCH_LONGEST]; /* names that were not placed, with most time first */
    size_t n_longest;
};

/* Families by item. steps 0: as many as have a mark ("ProfilerStep#N"), else one.
 * STATUS_INPUT at file:line:column, also when there is no kernel. */
enum status torch_trace_read(const char *file, const char *text, size_t length,
                             const struct csv *patterns, uint64_t steps, struct arena *arena,
                             struct torch_trace *out, struct err *err);

/* Puts the first rank's spans beside. */
void torch_trace_compare(struct torch_trace *trace, const struct plan_spans *spans);

#endif
