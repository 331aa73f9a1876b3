/* The memory verdict; see verdict.h. */
#include "sim/memory/verdict.h"

#include "plan/derive.h"
#include "plan/engine.h"
#include "work/piece/stage.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"fits", "marginal", "oom"};
    return names[verdict];
}

/* What the reserves leave to the allocator. */
static uint64_t room_of(const struct plan *plan)
{
    const struct stack *s = &plan->stack;
    if (engine_queues(plan))
        return engine_room(plan);
    uint64_t pool = (uint64_t)(plan_memory_fraction(plan) * (double)plan_usable_memory(plan));
    uint64_t reserve = plan->memory.reserve_bytes + s->reserve_bytes + s->context_bytes +
                       plan_comm_bytes(plan);
    return pool > reserve ? pool - reserve : 0;
}

uint64_t verdict_limit(const struct plan *plan)
{
    double fragmentation = plan->stack.fragmentation;
    uint64_t room = room_of(plan);
    return fragmentation > 0 ? (uint64_t)((double)room / (1 + fragmentation)) : room;
}

static unsigned fold(const struct plan *plan, const struct work *work, const uint64_t *values,
                     struct steady *steady, struct memory_peak *peak)
{
    double relaxed = plan_relax(plan) * (double)verdict_limit(plan);
    unsigned schedule = 0;
    for (;; schedule++) {
        steady_fold(steady, work, values, schedule, peak);
        uint64_t choosable = peak->total_bytes - peak->pinned_bytes;
        if (schedule + 1 == work->n_schedules || (double)choosable <= relaxed)
            return schedule;
    }
}

unsigned verdict_fold(const struct plan *plan, const struct work *work, const uint64_t *values,
                      struct memory_peak *peak)
{
    struct steady none = {0};
    return fold(plan, work, values, &none, peak);
}

uint64_t verdict_n_stages(const struct plan *plan)
{
    return plan->parallel.stage ? 1 : plan->parallel.pp;
}

struct trial {
    const struct plan *plan;
    const struct work *work;
    struct slots *slots;
    uint64_t *values;
    struct memory_peak *peak;
    unsigned *schedule;
    struct steady *steady;
};

/* A pipeline stage at one moment of its schedule; false when a size overflows. */
static bool try_stage(const struct trial *t, const struct stage *stage)
{
    slots_take_stage(stage, t->slots);
    if (!steady_sizes(t->steady, t->work, t->slots, t->values))
        return false;
    *t->schedule = fold(t->plan, t->work, t->values, t->steady, t->peak);
    t->peak->stage = stage->index + 1;
    return true;
}

bool verdict_stages(const struct plan *plan, const struct work *work, struct slots *slots,
                    uint64_t *values, struct stage_memory *out)
{
    struct memory_peak peak;
    struct stage stages[STAGE_MOMENTS];
    unsigned schedule;
    struct steady none = {0};
    const struct trial trial = {plan, work, slots, values, &peak, &schedule, &none};
    uint64_t named = plan->parallel.stage;
    uint64_t first = named ? named - 1 : 0, n = verdict_n_stages(plan);
    for (uint64_t i = 0; i < n; i++) {
        unsigned moments = stage_moments(plan, first + i, &slots->params, stages);
        out[i] = (struct stage_memory){.stage = first + i + 1};
        for (unsigned moment = 0; moment < moments; moment++) {
            if (!try_stage(&trial, &stages[moment]))
                return false;
            if (peak.total_bytes > out[i].total_bytes)
                out[i] = (struct stage_memory){peak.stage, peak.state_bytes, peak.temp_bytes,
                                               peak.total_bytes};
        }
    }
    return true;
}

bool verdict_evaluate_steady(const struct plan *plan, const struct work *work,
                             struct slots *slots, uint64_t *values, struct steady *steady,
                             struct memory_peak *peak, unsigned *schedule)
{
    const struct trial trial = {plan, work, slots, values, peak, schedule, steady};
    uint64_t named = plan->parallel.stage, most = 0;
    uint64_t first = named ? named - 1 : 0, end = named ? named : plan->parallel.pp;
    struct stage room[STAGE_MOMENTS], copy;
    const struct stage *stages, *heaviest = NULL;
    bool last = false; /* the heaviest is the one that was tried last */
    for (uint64_t i = first; i < end; i++) {
        unsigned moments = steady_stages(steady, plan, i, &slots->params, room, &stages);
        for (unsigned moment = 0; moment < moments; moment++) {
            if (!try_stage(&trial, &stages[moment]))
                return false;
            steady->beyond = steady->enough && peak->total_bytes > steady->enough;
            if (steady->beyond)
                return false;
            last = peak->total_bytes > most || (i == first && !moment);
            if (!last)
                continue;
            most = peak->total_bytes;
            heaviest = &stages[moment];
        }
        if (stages == room && heaviest != &copy && i + 1 < end) { /* the next overwrites it */
            copy = *heaviest;
            heaviest = &copy;
        }
    }
    return last || try_stage(&trial, heaviest);
}

bool verdict_evaluate(const struct plan *plan, const struct work *work, struct slots *slots,
                      uint64_t *values, struct memory_peak *peak, unsigned *schedule)
{
    struct steady none = {0};
    return verdict_evaluate_steady(plan, work, slots, values, &none, peak, schedule);
}

bool verdict_exceeds(const struct plan *plan, const struct work *work, struct slots *slots,
                     uint64_t *values, struct steady *steady, uint64_t bytes)
{
    struct memory_peak peak;
    struct stage room[STAGE_MOMENTS];
    const struct stage *stages;
    unsigned schedule;
    const struct trial trial = {plan, work, slots, values, &peak, &schedule, steady};
    uint64_t named = plan->parallel.stage, first = named ? named - 1 : 0;
    for (uint64_t i = 0; i < verdict_n_stages(plan); i++) {
        unsigned moments =
            steady_stages(steady, plan, first + i, &slots->params, room, &stages);
        for (unsigned moment = 0; moment < moments; moment++) {
            if (!try_stage(&trial, &stages[moment]))
                return false;
            if (peak.total_bytes > bytes)
                return true;
        }
    }
    return false;
}

/* Fragmentation is what was measured far from the limit; before it fails, PyTorch's allocator
 * gives back what it cached and asks again (c10/cuda/CUDACachingAllocator.cpp, malloc:
 * release_cached_blocks). So there is an interval, from none of it to all. */
enum verdict verdict_of(const struct plan *plan, const struct memory_peak *peak)
{
    double error = plan->stack.error * (double)peak->temp_bytes;
    uint64_t limit = verdict_limit(plan), total = peak->total_bytes;
    if (total > limit)
        return (double)(total - limit) <= error ? VERDICT_MARGINAL : VERDICT_OOM;
    return (double)(room_of(plan) - total) <= error ? VERDICT_MARGINAL : VERDICT_FITS;
}

bool verdict_lacks(enum verdict verdict, uint64_t total_bytes, uint64_t limit_bytes)
{
    return verdict == VERDICT_OOM || (verdict == VERDICT_MARGINAL && total_bytes > limit_bytes);
}
