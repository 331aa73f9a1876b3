/* The plans of one search: the asked one or, where --over names keys that are none of a layout,
 * one for each combination of their values. */
#ifndef MOEPLAN_LIB_SEARCH_VARIANTS_H
#define MOEPLAN_LIB_SEARCH_VARIANTS_H

#include "lib/request.h"
#include "lib/search_wish.h"
#include "report/search/print.h"

enum { SEARCH_VARIANT_KEYS = 8, SEARCH_VARIANTS = 256 };

struct variant_plans {
    struct search_variants named; /* for those who print */
    struct plan *plans;           /* [named.n], the caller's to change but for what prices it */
    struct profile *profiles;     /* [named.n] of them */
    const struct origins *origins; /* of the first */
};

/* `plan`: the request's own, which is the only one where no such key is named. Memory from the
 * arena. STATUS_USAGE for what is malformed or too many, STATUS_INPUT for values that a key
 * does not take, and where no combination can be read, of the first. */
enum status variant_plans_read(const struct search_wish *wish, const struct request *request,
                               const struct plan *plan, const struct origins *origins,
                               struct arena *arena, struct variant_plans *v, struct err *err);

/* What is asked of each of them: `ask` but for plan, profile and space, with what the wish says
 * of all. [v->named.n] from the arena. */
enum status variant_plans_ask(const struct variant_plans *v, const struct search_wish *wish,
                              struct search_ask *ask, struct arena *arena,
                              struct search_ask **asks, struct err *err);

/* A line on `out` for each reason why some were refused, and for each key that none of them
 * reads. */
void search_variants_notes(const struct search_variants *v, struct arena *arena, FILE *out);

#endif
