/* See recipe.h. */
#include "plan/recipe.h"

#include "plan/derive.h"

enum dtype recipe_format(const struct plan *plan)
{
    static const enum dtype formats[] = {
        [RECIPE_NONE] = DTYPE_NONE,       [RECIPE_FP8_DELAYED] = DTYPE_FP8,
        [RECIPE_FP8_CURRENT] = DTYPE_FP8, [RECIPE_FP8_BLOCK] = DTYPE_FP8_BLOCK,
        [RECIPE_MXFP8] = DTYPE_MXFP8,     [RECIPE_NVFP4] = DTYPE_NVFP4,
    };
    bool has = plan_is_megatron(plan) && plan->workload.mode == MODE_TRAIN;
    return has ? formats[plan->precision.recipe] : DTYPE_NONE;
}

bool recipe_skips(const struct plan *plan)
{
    const struct precision *p = &plan->precision;
    return recipe_format(plan) != DTYPE_NONE && p->plain_first + p->plain_last > 0;
}

bool recipe_is_primary(const struct plan *plan)
{
    return recipe_format(plan) != DTYPE_NONE && plan->precision.quantized_params;
}

bool recipe_keeps_transposes(const struct plan *plan)
{
    return recipe_is_primary(plan) && recipe_format(plan) == DTYPE_FP8 &&
           plan->precision.keep_transpose && plan->parallel.zero >= 3 &&
           plan->cluster.device.fp8_transpose;
}
