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

static void rebuild(struct evaluator *e, const struct plan *plan, uint64_t structure,
                    enum moe_path path)
{
    struct err err = {0};
    arena_release(&e->arena);
    e->built = true;
    e->structure = structure;
    e->path = path;
    e->refused = work_build(plan, &e->arena, &e->work, &err) != STATUS_OK;
    if (!e->refused)
        e->values = arena_alloc(&e->arena, e->work.sizes.n, sizeof *e->values);
}

static const char *find_wall(const struct evaluator *e, const struct evaluation *result,
                             unsigned schedule)
{
    uint64_t sum = 0;
    for (unsigned order = 0; order < WORK_ORDERS; order++)
        for (size_t i = 0; i < e->work.n_buffers; i++) {
            const struct buffer *buffer = &e->work.buffers[i];
            if (work_order(buffer) != order)
                continue;
            sum += memory_bytes_at_peak(&e->work, e->values, buffer, schedule, &result->peak);
            if (sum > result->limit_bytes)
                return buffer->name;
        }
    return NULL;
}

void evaluate(struct evaluator *e, const struct plan *plan, uint64_t structure,
              struct evaluation *out)
{
    char text[512], hint[512];
    *out = (struct evaluation){0};
    if (rule_check(plan, text, hint))
        return;
    enum moe_path path = stack_path(plan, NULL);
    if (!e->built || e->structure != structure || e->path != path)
        rebuild(e, plan, structure, path);
    struct slots slots;
    slots_from_plan(plan, &slots);
    unsigned schedule;
    if (e->refused ||
        !verdict_evaluate(plan, &e->work, &slots, e->values, &out->peak, &schedule))
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
