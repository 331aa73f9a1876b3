/* A drawn plan with its complete list and what its sizes come to, for laws of lists. */
#ifndef MOEPLAN_TESTS_SUPPORT_LISTED_H
#define MOEPLAN_TESTS_SUPPORT_LISTED_H

#include <stdbool.h>

#include "base/arena.h"
#include "work/list/work.h"

struct listed {
    struct arena arena;
    struct plan plan; /* path and sizes of buffers resolved */
    struct work work;
    struct slots slots;
    uint64_t *values;
};

/* False when a rule or the stack refuses the plan; else release l->arena. */
bool listed_plan(const struct plan *plan, struct listed *l);

/* What the sizes of a list come to by the plan alone, without routing; fails past 64 bits. */
uint64_t *listed_sizes(const struct plan *plan, struct work *work);

/* Bytes of the buffers of a category in the list of a plan, which the stack builds. */
uint64_t listed_category(const struct plan *plan, enum category category);

/* Bytes that layers of a kind save up to their network, of the buffers of that name or (NULL)
 * of all: a list stands in the order of the layer. */
uint64_t listed_saved(const struct plan *plan, enum layer_kind kind, const char *named);

/* Sizes of a rank; false when the routing cannot be sampled. */
bool listed_evaluate(struct listed *l, uint64_t rank);
uint64_t listed_at(const struct listed *l, struct size size);

/* Fails where too few of `draws` plans were listed, by stack and mode, for laws to say much. */
void listed_covers(unsigned listed[STACK_COUNT][MODE_SERVE], unsigned draws);

#endif
