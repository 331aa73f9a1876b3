/* Pictures of a sweep with a stacked bar for each of its configurations. */
#ifndef MOEPLAN_CLI_CHART_BARS_H
#define MOEPLAN_CLI_CHART_BARS_H

#include "cli/chart/chart.h"
#include "cli/frontier/sweep_table.h"
#include "lib/frontier.h"

/* The columns behind those of the axes; a line's cells, of a plan that obeys all rules (false:
 * it cannot be said) or of one that does not. None ends the line. */
struct bar_table {
    void (*header)(struct text *out);
    bool (*cells)(const struct frontier *frontier, const struct plan *plan, struct arena *arena,
                  struct text *out);
    void (*invalid)(struct text *out);
};

/* The picture's table, a line for each point of the request's sweep (of the micro-batch when it
 * names none). STATUS_USAGE when there are more bars than can be read. */
enum status chart_make_bars(const struct chart_request *request, const struct bar_table *table,
                            struct frontier *frontier, struct picture *picture,
                            struct err *err);

/* Variables bars[] and x_title: a label per row, the values of all axes. */
void chart_bars(const struct sweep_table *table, struct picture *picture);

#endif
