/* Recipes of low precision by which TransformerEngine multiplies; what their copies take is in
 * work/piece/recipe.h. Source: training-stacks.md 6. */
#ifndef MOEPLAN_PLAN_RECIPE_H
#define MOEPLAN_PLAN_RECIPE_H

#include "plan/plan.h"

/* Format of a recipe's copies; DTYPE_NONE without one, and for stacks that have none. */
enum dtype recipe_format(const struct plan *plan);

/* Whether it leaves layers at the ends of the model alone. */
bool recipe_skips(const struct plan *plan);

/* Whether the matrices of the layers exist in that format only (--fp8-param-gather). */
bool recipe_is_primary(const struct plan *plan);

/* Whether the transposes of gathered weights stay, whole, beside shards of one layout
 * (Megatron-FSDP). */
bool recipe_keeps_transposes(const struct plan *plan);

#endif
