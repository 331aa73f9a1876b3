/* What changes between two plans as steps from one total to the other. */
#ifndef MOEPLAN_CLI_CHART_WATERFALL_H
#define MOEPLAN_CLI_CHART_WATERFALL_H

#include "cli/chart/chart.h"
#include "sim/answer/compare.h"

/* Fills and draws: A, every category that differs, B. `a` and `b` name the sides. */
enum status chart_waterfall_draw(const struct comparison *comparison, const char *a,
                                 const char *b, struct picture *picture,
                                 const struct invocation *call, struct err *err);

#endif
