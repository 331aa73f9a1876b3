/* See drops.h. */
#include "sim/search/drops.h"

#include "plan/derive.h"
#include "sim/moe/predict_moe.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

double drops_of(struct evaluator *evaluator, const struct plan *plan, struct arena *arena)
{
    struct rows rows;
    struct demand_key key;
    bool slots = path_system_of(stack_path(plan, NULL))->exchange == EXCHANGE_CAPACITY;
    if (!slots || !plan_is_routed(plan) || !plan_tokens(plan) ||
        !evaluate_rows(evaluator, plan, &rows))
        return 0;
    demand_key_of(plan, evaluator->routing, &key);
    const struct capacity_unit unit = capacity_unit_of(plan, &rows);
    const struct drops_from from = {&key, evaluator->rows_known};
    return predict_drops(&rows, &unit, &from, arena);
}
