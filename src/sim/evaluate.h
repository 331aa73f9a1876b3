/* Evaluating many plans of one structure: the work list is built once per discrete choice, its
 * sizes again for every plan. Sweeps, fixes and searches go through here; predict's verdict on
 * the same plan is the same by construction (and by a property test). */
#ifndef MOEPLAN_SIM_EVALUATE_H
#define MOEPLAN_SIM_EVALUATE_H

#include "base/arena.h"
#include "sim/verdict.h"

/* Holds the list of the last structure. One per thread; {0} is ready for use. */
struct evaluator {
    struct arena arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    uint64_t structure; /* the caller's number of the structure that is built */
    enum moe_path path;
    bool known;          /* structure and layout_ok are set */
    bool layout_ok;      /* model, cluster and parallel obey their rules */
    bool built, refused; /* refused: by the stack */
};

struct evaluation {
    bool valid; /* false: a rule or the stack refuses the plan */
    enum verdict verdict;
    struct memory_peak peak;
    uint64_t limit_bytes;
    const char *wall; /* name of the buffer that crosses the limit, or NULL */
};

/* Evaluates a plan. `structure` is any number that changes whenever something other than a slot
 * (evaluate_is_slot) changed since the last call on this evaluator. Allocates only when the
 * structure changes. */
void evaluate(struct evaluator *evaluator, const struct plan *plan, uint64_t structure,
              struct evaluation *out);

/* Whether a key ("workload.micro_batch") is a mere number of the sizes, so that a change of it
 * needs no rebuilding. */
bool evaluate_is_slot(const char *key);

void evaluator_release(struct evaluator *evaluator);

#endif
