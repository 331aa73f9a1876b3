/* What a plan holds all the time, by a list of nothing else, which takes a fraction of the
 * whole one's making; see fix_parts.h. */
#include "plan/rule/rule.h"
#include "sim/memory/steady.h"
#include "sim/memory/verdict.h"
#include "sim/search/fix_parts.h"
#include "work/list/shape.h"
#include "work/stack/stack.h"

bool fix_state_exceeds(struct fix_search *search, const struct plan *changed, uint64_t bytes)
{
    struct work work;
    struct slots slots;
    struct steady none = {0}; /* of one evaluation nothing is kept */
    if (changed->workload.mode != MODE_TRAIN || !rule_check_layout(changed))
        return false;
    arena_clear(&search->scratch);
    work_init(&work, &search->scratch);
    step_state(changed, &work, false);
    work_index(&work);
    uint64_t *values = arena_alloc(&search->scratch, work.sizes.n, sizeof *values);
    slots_from_plan(changed, &slots);
    return verdict_exceeds(changed, &work, &slots, values, &none, bytes);
}
