/* Evaluating many plans of one structure; see evaluate.h. */
#include "sim/evaluate.h"

#include "base/text.h"
#include "plan/rule.h"
#include "sim/address.h"
#include "work/stack.h"

/* Keys that no builder branches on. A key that is missing here costs a rebuild, no more. */
static const char *const slot_keys[] = {
    "workload.micro_batch", "workload.sequence_length", "workload.context_length",
    "moe.capacity_factor",  "memory.fraction",
};

bool evaluate_is_slot(const char *key)
{
    for (size_t i = 0; i < sizeof slot_keys / sizeof *slot_keys; i++)
        if (text_equal(slot_keys[i], key))
            return true;
    return false;
}

static void rebuild(struct evaluator *e, const struct plan *plan, enum moe_path path)
{
    struct err err = {0};
    arena_release(&e->arena);
    e->built = true;
    e->path = path;
    e->refused = work_build(plan, &e->arena, &e->work, &err) != STATUS_OK;
    if (e->refused)
        return;
    e->values = arena_alloc(&e->arena, e->work.sizes.n, sizeof *e->values);
    slots_from_plan(plan, &e->slots);
}

/* Brings list and slots up to the plan; false when a rule or the stack refuses it. */
static bool follow(struct evaluator *e, const struct plan *plan, uint64_t structure)
{
    if (!e->known || e->structure != structure) {
        e->known = true;
        e->structure = structure;
        e->layout_ok = rule_check_layout(plan);
        e->built = false;
    }
    if (!e->layout_ok || !rule_check_run(plan))
        return false;
    enum moe_path path = stack_path(plan, NULL);
    if (!e->built || e->path != path)
        rebuild(e, plan, path);
    else if (!e->refused)
        slots_set_numbers(plan, &e->slots);
    return !e->refused;
}

static const char *find_wall(const struct evaluator *e, const struct evaluation *result,
                             unsigned schedule)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < e->work.n_placed; i++) {
        const struct buffer *buffer = &e->work.buffers[e->work.placed[i]];
        sum += memory_bytes_at_peak(&e->work, e->values, buffer, schedule, &result->peak);
        if (sum > result->limit_bytes)
            return buffer->name;
    }
    return NULL;
}

void evaluate(struct evaluator *e, const struct plan *plan, uint64_t structure,
              struct evaluation *out)
{
    unsigned schedule;
    *out = (struct evaluation){0};
    if (!follow(e, plan, structure) ||
        !verdict_evaluate(plan, &e->work, &e->slots, e->values, &out->peak, &schedule))
        return;
    out->valid = true;
    out->limit_bytes = verdict_limit(plan);
    out->verdict = verdict_of(plan, &out->peak);
    if (out->verdict == VERDICT_OOM)
        out->wall = find_wall(e, out, schedule);
    const struct buffer *beyond = address_beyond_library(&e->work, e->values, schedule);
    if (beyond) {
        out->verdict = VERDICT_OOM;
        out->wall = beyond->name;
    }
}

void evaluator_release(struct evaluator *evaluator)
{
    arena_release(&evaluator->arena);
    *evaluator = (struct evaluator){0};
}
