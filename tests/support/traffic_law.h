/* The law of traffic: what an op of a list reads and writes is what work/list/traffic.h says of
 * its kernel and operands, and what its product multiplies is 2 m n k. */
#ifndef MOEPLAN_TESTS_SUPPORT_TRAFFIC_LAW_H
#define MOEPLAN_TESTS_SUPPORT_TRAFFIC_LAW_H

#include <stddef.h>

#include "work/list/work.h"

/* How ops of a list stand to it. */
struct traffic_tally {
    size_t ops, exact, said, products; /* said: by the op, for a reason that is named */
};

/* The first op of a complete list that breaks the law, in words (of the list's arena), or NULL.
 * Sizes are evaluated over slots in which routing gives some rows. */
const char *traffic_law_broken(const struct plan *plan, struct work *work,
                               struct traffic_tally *tally);

#endif
