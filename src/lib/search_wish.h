/* What a search shall try, as a user writes it. */
#ifndef MOEPLAN_LIB_SEARCH_WISH_H
#define MOEPLAN_LIB_SEARCH_WISH_H

#include "plan/read/load.h"
#include "sim/search/search.h"

struct search_wish {
    const char *const *overs; /* "tp=1..64*2": these values in place of the usual ones; those of
                               * a plan's other keys are variant_plans_read's to read */
    size_t n_overs;
    const char *const *fixed; /* "ep=8": this value */
    size_t n_fixed;
    const char *at_most;       /* "memory=200GiB", or NULL */
    const char *const *limits; /* "tpot=50ms", "ttft=2s" */
    size_t n_limits;
    const char *servers; /* "1,2,4": a served plan's devices and requests shared out among so
                          * many servers of their own, or NULL */
};

/* Whether a search turns the key, by either name, in every layout. */
bool search_wish_is_layout(const char *name);

/* The space to search for a plan, and the bytes not to pass (0: the limit alone). Memory from
 * the arena. STATUS_USAGE for what is malformed, STATUS_INPUT for values a key does not take.
 */
enum status search_wish_read(const struct search_wish *wish, const struct plan *plan,
                             struct arena *arena, struct search_space *space,
                             uint64_t *at_most_bytes, struct err *err);

/* Of a search that found no layout to obey the rules: puts the rule that the plan's own breaks,
 * with the keys that are fixed, in place of the error, where that is known. */
void search_wish_blame(const struct search_wish *wish, const struct plan *plan,
                       const struct search_space *space, const struct origins *origins,
                       struct arena *arena, struct err *err);

/* The latencies of the wish into a search of this plan, which has to be served for them and for
 * any objective but tokens. STATUS_USAGE. */
enum status search_wish_serving(const struct search_wish *wish, const struct plan *plan,
                                struct search_ask *ask, struct err *err);

/* The objective that options call so; NULL: tokens. STATUS_USAGE for other words. */
enum status search_wish_objective(const char *name, enum search_objective *objective,
                                  struct err *err);

/* "memory=SIZE" in bytes; 0 for NULL. */
enum status search_wish_bytes(const char *text, uint64_t *bytes, struct err *err);

#endif
