/* A sweep evaluated on all cores, its rows as CSV text. */
#ifndef MOEPLAN_CLI_FRONTIER_ROWS_H
#define MOEPLAN_CLI_FRONTIER_ROWS_H

#include <stdio.h>

#include "cli/command/command.h"
#include "lib/frontier.h"

/* Where rows go: a stream by whole lines, so that an interrupted file ends with a complete row;
 * memory when a table or a chart needs them again. */
struct frontier_sink {
    FILE *file;        /* or NULL */
    struct text *kept; /* or NULL */
    uint64_t points;   /* of the sweep, or of the part, for progress */
    bool progress;     /* on stderr */
    bool time;         /* rows have tokens per second and device; true where the best stay */
    struct sweep_part part;
    struct sweep_keep keep;
    double begin_s; /* of the batch */
};

/* Writes the header and a row per point, with a column for each of the keys of predict's JSON.
 * threads 0: one per CPU; the rows are the same for any number. */
enum status frontier_rows(const struct frontier *frontier, const struct option_list *columns,
                          unsigned threads, struct frontier_sink *sink, struct err *err);

/* STATUS_USAGE when a sweep has more points than a table or a chart can hold. */
enum status frontier_rows_few(uint64_t points, struct err *err);

#endif
