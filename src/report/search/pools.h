/* The result of a search over servers that prefill and that decode, for programs, and what of
 * it stands in tables and charts. */
#ifndef MOEPLAN_REPORT_SEARCH_POOLS_H
#define MOEPLAN_REPORT_SEARCH_POOLS_H

#include "report/search/print.h"
#include "sim/search/search_pools.h"

struct pools_found {
    const struct search_variants *variants;
    const struct pools_ask *asks;       /* [variants->n] */
    const struct pools_result *results; /* [n] */
    const uint64_t *devices;            /* [n] of which each is; 0: of any */
    size_t n;
};

/* One of the two lists of a result, and what tables call it. */
struct pools_list {
    const char *name; /* "best" or "pareto" */
    const struct pools_hit *hits;
    size_t n;
};
struct pools_list pools_list(const struct pools_result *result, bool pareto);

/* "prefill", "decode": of side 0 and 1. */
extern const char *const pools_sides[2];

/* How many servers of a side a hit has, and devices of one. */
uint64_t pools_count(const struct pools_hit *hit, unsigned side);
uint64_t pools_devices(const struct pools_hit *hit, unsigned side);

/* Keys that layouts of engines have. */
bool pools_is_shown(enum search_key key);

/* Settings that make the plan of a hit: "workload.deployments.prefill=2 ... parallel.tp=4". */
const char *pools_set(const struct pools_found *found, const struct pools_hit *hit,
                      struct arena *arena);

/* "2 x 1 tp=1 ep=1 + 1 x 2 tp=2 ep=2": numbers of servers, devices of one and its layout, who
 * prefills first, then what differs beside layouts. */
const char *pools_layout(const struct pools_found *found, const struct pools_hit *hit,
                         struct arena *arena);

/* `best` and `pareto` of one number of devices; the best of each of several. */
void pools_print_json(const struct pools_found *found, const struct provenance *provenance,
                      struct arena *arena, FILE *out);

void pools_print_schema(FILE *out); /* of that JSON */

#endif
