/* Layouts that a search found, by memory and speed. */
#ifndef MOEPLAN_CLI_CHART_PARETO_H
#define MOEPLAN_CLI_CHART_PARETO_H

#include "cli/chart/chart.h"
#include "report/search/print.h"

/* The header of the table, and a search's fastest layouts and Pareto set as its rows. */
void chart_pareto_header(struct text *out);
void chart_pareto_rows(const struct search_variants *variants,
                       const struct search_result *result, uint64_t devices,
                       struct arena *arena, struct text *out);

/* Fills a picture whose data is such a table. */
enum status chart_pareto_draw(const struct plan *plan, const char *profile,
                              struct picture *picture, const struct invocation *call,
                              struct err *err);

#endif
