/* Which keys are mere numbers to a list, and the rules that plans of one structure may still
 * break; see evaluate_parts.h. */
#include "base/text.h"
#include "plan/rule/rule.h"
#include "sim/step/evaluate_parts.h"

/* Keys that no builder branches on. A key that is missing here costs a rebuild, no more. */
static const char *const slot_keys[] = {
    "workload.micro_batch", "workload.sequence_length", "workload.context_length",
    "moe.capacity_factor",  "memory.fraction",
};
enum { SLOT_KEYS = sizeof slot_keys / sizeof *slot_keys };

bool evaluate_is_slot(const char *key)
{
    for (size_t i = 0; i < SLOT_KEYS; i++)
        if (text_equal(slot_keys[i], key))
            return true;
    return false;
}

static const struct rule_parts *parts_of(struct evaluator *e)
{
    if (e->rules)
        return e->rules;
    struct rule_parts *parts = arena_alloc(&e->kept, 1, sizeof *parts);
    rule_parts_of(slot_keys, SLOT_KEYS, parts);
    return e->rules = parts;
}

bool evaluate_is_lawful(struct evaluator *e, const struct plan *plan, bool same)
{
    const struct rule_parts *rules = parts_of(e);
    const struct parallel *p = &plan->parallel;
    struct evaluator_lawful *l = &e->lawful;
    if (!same || l->pp != p->pp || l->vpp != p->vpp || l->cp != p->cp)
        *l = (struct evaluator_lawful){p->pp, p->vpp, p->cp,
                                       rule_check_layout(plan) &&
                                           rule_obeyed(rules->rest, rules->n_rest, plan)};
    return l->obeys && rule_obeyed(rules->naming, rules->n_naming, plan);
}
