/* The result of a search, for people and programs. */
#ifndef MOEPLAN_CLI_SEARCH_SEARCH_PRINT_H
#define MOEPLAN_CLI_SEARCH_SEARCH_PRINT_H

#include "cli/command/command.h"
#include "report/search/print.h"

struct search_view {
    const struct invocation *call;
    const struct plan *plan;
    const struct search_variants *variants;
    const struct search_result *result;
    uint64_t at_most_bytes;
    enum search_objective objective;
    bool is_part; /* of the layouts */
};

/* Text, JSON or CSV, as the call asks. */
enum status search_print(const struct search_view *view, struct err *err);

/* Every layout of a search that was asked for them, a row each: CSV, JSON or a table. Status 4
 * where there is none, but of a part. */
enum status search_print_every(const struct search_view *view, struct err *err);

/* ---- one row per cluster size ---- */

struct search_size {
    uint64_t devices;
    const char *refused; /* why nothing was searched, or NULL */
    const struct search_variants *variants;
    bool fits;
    size_t marginal;       /* as of a search_result */
    struct search_hit hit; /* the fastest, or the nearest miss */
};

enum status search_print_sizes(const struct search_size *sizes, size_t n,
                               const struct search_view *view, struct err *err);

#endif
