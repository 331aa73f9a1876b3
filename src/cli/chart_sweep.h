/* Pictures of a sweep: curves of memory against a number, or a map of two keys. */
#ifndef MOEPLAN_CLI_CHART_SWEEP_H
#define MOEPLAN_CLI_CHART_SWEEP_H

#include "cli/picture.h"
#include "cli/sweep_table.h"
#include "plan/plan.h"

/* What a chart says about where its numbers come from. */
struct chart_names {
    const char *subject; /* "deepseek-v3 on mi355x-8x8" */
    const char *source;  /* the line at the foot */
    double capacity_gib; /* of a rank; 0: not known */
};

struct chart_names chart_names_of(const struct plan *plan, struct arena *arena);

enum sweep_view { SWEEP_VIEW_AUTO, SWEEP_VIEW_CURVES, SWEEP_VIEW_MAP };

/* Chooses the view where it is free: two axes of the same kind make a map. Sets the chart's
 * kind and variables. STATUS_USAGE when a map is asked for and there are not two axes. */
enum status chart_sweep(const struct sweep_table *table, const struct chart_names *names,
                        enum sweep_view view, struct picture *picture, struct err *err);

#endif
