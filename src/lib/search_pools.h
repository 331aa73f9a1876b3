/* A search over servers that prefill and that decode, as a user writes it: keys of layouts are
 * of those that decode, with "prefill." in front of those that prefill. */
#ifndef MOEPLAN_LIB_SEARCH_POOLS_H
#define MOEPLAN_LIB_SEARCH_POOLS_H

#include "lib/search_variants.h"
#include "sim/search/search_pools.h"

/* Whether a plan is searched so: of mode serve, with a part `prefill`. */
bool search_has_pools(const struct plan *plan);

/* The plans of the wish's other keys, as variant_plans_read has them, with --limit as their
 * workload.limit; and what is asked of each: *asks[variants->named.n] from the arena, with what
 * `ask` says of all. STATUS_USAGE, STATUS_INPUT as there. */
enum status search_pools_read(const struct search_wish *wish, const struct request *request,
                              const struct plan *plan, const struct origins *origins,
                              const struct pools_ask *ask, struct arena *arena,
                              struct variant_plans *variants, struct pools_ask **asks,
                              struct err *err);

#endif
