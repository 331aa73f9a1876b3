/* Pictures of a sweep: curves of memory against a number, or a map of two keys. */
#ifndef MOEPLAN_CLI_CHART_SWEEP_H
#define MOEPLAN_CLI_CHART_SWEEP_H

#include "cli/chart/chart.h"
#include "lib/frontier.h"
#include "cli/frontier/sweep_table.h"

enum sweep_view { SWEEP_VIEW_AUTO, SWEEP_VIEW_CURVES, SWEEP_VIEW_MAP };

/* The sweep of a request. When it names none these values are swept, or of a plan that does not
 * read them, such as a served one its micro-batch, others. */
enum status chart_frontier(const struct chart_request *request, const char *const *defaults,
                           struct frontier *frontier, struct err *err);

/* Variables limits[] and limit_titles[]: the limits that occur, in GiB. */
void chart_limits(const struct sweep_table *table, struct picture *picture);

/* Chooses the view where it is free: two axes of the same kind make a map. Sets the chart's
 * kind and variables. STATUS_USAGE when a map is asked for and there are not two axes. */
enum status chart_sweep(const struct sweep_table *table, const struct chart_names *names,
                        enum sweep_view view, struct picture *picture, struct err *err);

#endif
