/* The result of a search, for people and programs. */
#ifndef MOEPLAN_CLI_SEARCH_SEARCH_PRINT_H
#define MOEPLAN_CLI_SEARCH_SEARCH_PRINT_H

#include "cli/command/command.h"
#include "sim/search.h"

struct search_view {
    const struct invocation *call;
    const struct plan *plan;
    const struct search_result *result;
    uint64_t at_most_bytes;
};

/* Text, JSON or CSV, as the call asks. */
enum status search_print(const struct search_view *view, struct err *err);

/* "compute +33.3 %": where a hit loses most against another, of the other's whole cost. */
const char *search_loss(const struct search_hit *hit, const struct search_hit *best,
                        struct arena *arena);

/* "tp=1 pp=2 ... path=deepep": the hit's layout as values of keys. */
const char *search_layout(const struct search_hit *hit, struct arena *arena);

/* A key's value as --set takes it. */
const char *search_value(enum search_key key, double value, struct arena *arena);

/* ---- one row per cluster size ---- */

struct search_size {
    uint64_t devices;
    const char *refused; /* why nothing was searched, or NULL */
    bool fits;
    struct search_hit hit; /* the cheapest, or the nearest miss */
};

enum status search_print_sizes(const struct search_size *sizes, size_t n,
                               const struct search_view *view, struct err *err);

#endif
