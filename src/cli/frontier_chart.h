/* The picture of a sweep: curves of memory, or a map of two keys. */
#ifndef MOEPLAN_CLI_FRONTIER_CHART_H
#define MOEPLAN_CLI_FRONTIER_CHART_H

#include "cli/frontier.h"
#include "report/gnuplot.h"

struct frontier_chart {
    const struct frontier *frontier;
    size_t x;             /* axis along the bottom */
    size_t y[SWEEP_AXES]; /* the others */
    size_t n_y;
    bool map; /* both axes are numbers, or none is */
    struct chart chart;
    struct chart_variable variables[16];
    char *folder; /* of a terminal chart's data and script; removed after drawing */
};

/* Chooses the picture and its files (FILE.csv and FILE.gp beside FILE.png). STATUS_USAGE for a
 * kind of file that cannot be drawn. */
enum status frontier_chart_init(struct frontier_chart *chart, const struct frontier *frontier,
                                const char *picture, struct err *err);

/* Writes data and script and draws. When gnuplot is missing: STATUS_ABSENT if `only`, otherwise
 * a warning on stderr. */
enum status frontier_chart_finish(struct frontier_chart *chart, const struct text *rows,
                                  bool only, const struct invocation *call, struct err *err);

#endif
