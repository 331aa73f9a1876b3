/* The memory verdict; see verdict.h. */
#include "sim/verdict.h"

#include "plan/derive.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"fits", "marginal", "oom"};
    return names[verdict];
}

uint64_t verdict_capacity(const struct plan *plan)
{
    return plan_rank_memory(plan);
}

static double fraction_of(const struct plan *plan)
{
    return plan->memory.fraction > 0 ? plan->memory.fraction : plan->stack.fraction;
}

uint64_t verdict_limit(const struct plan *plan)
{
    const struct stack *s = &plan->stack;
    uint64_t pool = (uint64_t)(fraction_of(plan) * (double)verdict_capacity(plan));
    uint64_t reserve = plan->memory.reserve_bytes + s->reserve_bytes + s->context_bytes +
                       s->comm_bytes_per_rank;
    uint64_t left = pool > reserve ? pool - reserve : 0;
    return s->fragmentation > 0 ? (uint64_t)((double)left / (1 + s->fragmentation)) : left;
}

unsigned verdict_fold(const struct plan *plan, const struct work *work, const uint64_t *values,
                      struct memory_peak *peak)
{
    double relaxed = plan->stack.relax * (double)verdict_limit(plan);
    unsigned schedule = 0;
    for (;; schedule++) {
        memory_fold(work, values, schedule, peak);
        uint64_t choosable = peak->total_bytes - peak->pinned_bytes;
        if (schedule + 1 == work->n_schedules || (double)choosable <= relaxed)
            return schedule;
    }
}

static bool evaluate_stage(const struct plan *plan, const struct work *work, uint64_t stage,
                           struct slots *slots, uint64_t *values, struct memory_peak *peak,
                           unsigned *schedule)
{
    slots_set_stage(plan, stage, slots);
    if (!sizes_eval(&work->sizes, slots, values))
        return false;
    *schedule = verdict_fold(plan, work, values, peak);
    return true;
}

bool verdict_evaluate(const struct plan *plan, const struct work *work, struct slots *slots,
                      uint64_t *values, struct memory_peak *peak, unsigned *schedule)
{
    uint64_t named = plan->parallel.stage, stages = plan->parallel.pp, heaviest = 0;
    if (named || stages == 1)
        return evaluate_stage(plan, work, named ? named - 1 : 0, slots, values, peak, schedule);
    uint64_t most = 0;
    for (uint64_t i = 0; i < stages; i++) {
        if (!evaluate_stage(plan, work, i, slots, values, peak, schedule))
            return false;
        if (peak->total_bytes > most) {
            most = peak->total_bytes;
            heaviest = i;
        }
    }
    return heaviest + 1 == stages ||
           evaluate_stage(plan, work, heaviest, slots, values, peak, schedule);
}

enum verdict verdict_of(const struct plan *plan, const struct memory_peak *peak)
{
    uint64_t limit = verdict_limit(plan), total = peak->total_bytes;
    uint64_t distance = total > limit ? total - limit : limit - total;
    if ((double)distance <= plan->stack.error * (double)peak->temp_bytes)
        return VERDICT_MARGINAL;
    return total <= limit ? VERDICT_FITS : VERDICT_OOM;
}
