/* The sizes of a list that follow from some slots alone, to be evaluated again without the
 * rest: where the same list is sized for many plans that differ in little. */
#ifndef MOEPLAN_WORK_LIST_SIZE_PART_H
#define MOEPLAN_WORK_LIST_SIZE_PART_H

#include "work/list/size.h"

struct size_part {
    uint32_t *nodes; /* [n] ascending */
    size_t n;
    bool *has; /* [sizes->n] whether a size is one of them */
};

/* Sizes that follow from a slot that `moves`. Memory from the arena. */
void sizes_part(const struct sizes *sizes, const bool moves[SLOT_COUNT], struct arena *arena,
                struct size_part *out);

/* Their values anew; the others are those of slots that differ in none that does not move.
 * False when one of them overflows 64 bits. */
bool sizes_eval_part(const struct sizes *sizes, const struct slots *slots,
                     const struct size_part *part, uint64_t *values);

#endif
