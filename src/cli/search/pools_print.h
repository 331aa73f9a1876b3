/* The result of a search over servers that prefill and that decode, for people and programs. */
#ifndef MOEPLAN_CLI_SEARCH_POOLS_PRINT_H
#define MOEPLAN_CLI_SEARCH_POOLS_PRINT_H

#include "cli/command/command.h"
#include "report/search/print.h"
#include "sim/search/search_pools.h"

struct pools_view {
    const struct invocation *call;
    const struct search_variants *variants;
    const struct pools_ask *asks;
    const struct pools_result *results; /* [n] */
    const uint64_t *devices;            /* [n] of which each is; 0: of any */
    size_t n;
};

/* Pairs of layouts, best first, or the best of each number of devices: a table, CSV or JSON.
 * STATUS_NOFIT where there is none. */
enum status pools_print(const struct pools_view *view, struct err *err);

#endif
