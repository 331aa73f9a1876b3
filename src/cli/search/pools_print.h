/* The result of a search over servers that prefill and that decode, for people and programs. */
#ifndef MOEPLAN_CLI_SEARCH_POOLS_PRINT_H
#define MOEPLAN_CLI_SEARCH_POOLS_PRINT_H

#include "cli/command/command.h"
#include "report/search/pools.h"

struct pools_view {
    const struct invocation *call;
    struct pools_found found;
};

/* Pairs of layouts, best first, with their Pareto set, or the best of each number of devices: a
 * table, CSV or JSON. STATUS_NOFIT where there is none. */
enum status pools_print(const struct pools_view *view, struct err *err);

#endif
