/* The memory verdict: state + temp against limit = fraction x usable - reserve, less what the
 * allocator loses to fragmentation. */
#ifndef MOEPLAN_SIM_MEMORY_VERDICT_H
#define MOEPLAN_SIM_MEMORY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "sim/memory/steady.h"

enum verdict { VERDICT_FITS, VERDICT_MARGINAL, VERDICT_OOM };

const char *verdict_name(enum verdict verdict); /* "fits", "marginal", "oom" */

/* What of a rank's memory the plan's tensors may use: memory.fraction (or the stack's) of what
 * the device's runtime leaves, less the reserves of plan and stack (context and communication
 * buffers outside the allocator included), over 1 + the stack's fragmentation; where an engine
 * lets sequences wait, what its own rule for the cache leaves (engine_room). */
uint64_t verdict_limit(const struct plan *plan);

/* Folds the schedule that the stack would run: the first one while state + temp, without what
 * the user pinned, is at most plan_relax x the limit; otherwise the next, and so on.
 * (Reference "training memory and throughput" section 2; published runs with pinned tensors
 * keep the remainder of the first schedule.) Returns the schedule's number. */
unsigned verdict_fold(const struct plan *plan, const struct work *work, const uint64_t *values,
                      struct memory_peak *peak);

/* Evaluates the list for every pipeline stage, or the one that parallel.stage names, and keeps
 * the one with the largest total: the heaviest rank is what counts. `slots` come from
 * slots_from_plan (routing slots possibly replaced) and return with that stage's; so do values
 * (room for work->sizes.n), peak and *schedule. False when a size overflows 64 bits. */
bool verdict_evaluate(const struct plan *plan, const struct work *work, struct slots *slots,
                      uint64_t *values, struct memory_peak *peak, unsigned *schedule);

/* The same for many plans of one structure, which `steady` is of. */
bool verdict_evaluate_steady(const struct plan *plan, const struct work *work,
                             struct slots *slots, uint64_t *values, struct steady *steady,
                             struct memory_peak *peak, unsigned *schedule);

/* Whether the worst moment of the fullest stage needs more than that; ends at the first that
 * does. False where a size overflows. */
bool verdict_exceeds(const struct plan *plan, const struct work *work, struct slots *slots,
                     uint64_t *values, struct steady *steady, uint64_t bytes);

/* One pipeline stage, from 1, at its own heaviest moment. */
struct stage_memory {
    uint64_t stage, state_bytes, temp_bytes, total_bytes;
};

/* Stages that a verdict looks at: all of them, or the one that parallel.stage names. */
uint64_t verdict_n_stages(const struct plan *plan);

/* Each of them alone into out[verdict_n_stages]; slots and values are overwritten, see
 * verdict_evaluate. The largest total is verdict_evaluate's. */
bool verdict_stages(const struct plan *plan, const struct work *work, struct slots *slots,
                    uint64_t *values, struct stage_memory *out);

/* fits or oom by total <= limit; marginal when the stack's stated error of temp could turn it:
 * what is above the limit by no more than that, and what would, that much larger, not even fit
 * if nothing fragmented. */
enum verdict verdict_of(const struct plan *plan, const struct memory_peak *peak);

/* Whether it needs more than the limit, be it within the stack's error of it. */
bool verdict_lacks(enum verdict verdict, uint64_t total_bytes, uint64_t limit_bytes);

#endif
