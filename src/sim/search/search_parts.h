/* What the halves of a search share: what may fit, found and bounded in search.c, and which of
 * it is listed, search_judge.c. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_PARTS_H
#define MOEPLAN_SIM_SEARCH_SEARCH_PARTS_H

#include "sim/search/search.h"

/* Of what progress says, the part that bounds are. */
#define SEARCH_BOUNDED 0.75

/* A combination that may fit: the least seconds and bytes it can need, and which values. */
struct search_candidate {
    double seconds; /* the slow end of their interval */
    uint64_t least_bytes;
    uint64_t number; /* place in the enumeration: breaks ties */
    uint8_t index[SEARCH_KEYS];
};

/* Puts a combination's plan together. */
typedef void search_fill(const void *context, const struct search_candidate *candidate,
                         struct plan *plan);

struct search_bench {
    const struct search_ask *ask;
    search_fill *fill;
    const void *context;
    bool serves; /* candidates have no bounds */
};

/* Evaluates exactly those of n candidates, in the order of their bounds, that can be listed,
 * and lists them; `nearest`, unless served, where none fits. Memory from the arena. */
void search_judge(const struct search_bench *bench, const struct search_candidate *candidates,
                  size_t n, const struct search_candidate *nearest, struct arena *arena,
                  struct search_result *result);

#endif
