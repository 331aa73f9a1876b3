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
    uint64_t pool = (uint64_t)(fraction_of(plan) * (double)verdict_capacity(plan));
    uint64_t reserve = plan->memory.reserve_bytes + plan->stack.reserve_bytes;
    return pool > reserve ? pool - reserve : 0;
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

enum verdict verdict_of(const struct plan *plan, const struct memory_peak *peak)
{
    uint64_t limit = verdict_limit(plan), total = peak->total_bytes;
    uint64_t distance = total > limit ? total - limit : limit - total;
    if ((double)distance <= plan->stack.error * (double)peak->temp_bytes)
        return VERDICT_MARGINAL;
    return total <= limit ? VERDICT_FITS : VERDICT_OOM;
}
