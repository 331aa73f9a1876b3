/* Recomputation: which ops of a layer's forward its stack runs again before the backward. */
#ifndef MOEPLAN_WORK_PASS_AGAIN_H
#define MOEPLAN_WORK_PASS_AGAIN_H

#include "work/list/work.h"

/* A set of modules, bit by enum module. */
#define MODULE_BIT(module) (UINT32_C(1) << MODULE_##module)
#define MODULES_ALL ((UINT32_C(1) << MODULES) - 1)
#define MODULES_NETWORK (MODULE_BIT(GATE_UP) | MODULE_BIT(ACTIVATE) | MODULE_BIT(EXPERT_DOWN))
#define MODULES_EXPERTS                                                                        \
    (MODULES_NETWORK | MODULE_BIT(SHARED) | MODULE_BIT(ROUTER) | MODULE_BIT(PERMUTE) |         \
     MODULE_BIT(DISPATCH) | MODULE_BIT(SORT) | MODULE_BIT(UNSORT) | MODULE_BIT(COMBINE) |      \
     MODULE_BIT(UNPERMUTE))

/* What a name of recompute.modules, or of recompute.save, stands for. NULL ends a table. */
struct again_name {
    const char *name;
    uint32_t dense, moe; /* modules of a layer of that kind */
};

/* What a stack runs again. */
struct again {
    uint32_t dense, moe;     /* modules; a mixer alone counts as dense */
    const char *const *kept; /* ops that do not run all the same, by name; NULL ends; or NULL */
    uint64_t every;          /* only every n-th layer; 1: all */
    bool some;               /* not those that recompute.layers leaves alone */
};

/* Adds to `again` (takes from it, when `kept`) what words stand for. */
void again_words(struct again *again, const struct word_list *words,
                 const struct again_name *names, bool kept);
/* The first word that no row of a table has, or NULL. */
const char *again_unknown(const struct word_list *words, const struct again_name *names);
void again_all(struct again *again, uint32_t modules);

/* Adds copies, of phase recompute, of those of the forward's ops [first, end) that run again.
 */
void again_add(struct work *work, const struct again *again, size_t first, size_t end);

#endif
