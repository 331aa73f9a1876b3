/* Pairs of layouts of servers that prefill and that decode, by tokens/s and what requests see.
 */
#ifndef MOEPLAN_CLI_CHART_POOLS_H
#define MOEPLAN_CLI_CHART_POOLS_H

#include "cli/chart/chart.h"
#include "report/search/pools.h"

/* The table: what a search found, of each number of devices. */
void chart_pools_table(const struct pools_found *found, struct arena *arena, struct text *out);

/* Fills a picture whose data is such a table, and draws it. */
enum status chart_pools_draw(const struct plan *plan, const char *profile,
                             struct picture *picture, const struct invocation *call,
                             struct err *err);

#endif
