/* What the searches for fixes share: single changes (fix.c) and several together
 * (fix_together.c). */
#ifndef MOEPLAN_SIM_FIX_PARTS_H
#define MOEPLAN_SIM_FIX_PARTS_H

#include "sim/evaluate.h"
#include "sim/fix.h"

struct fix_search {
    const struct plan *plan;
    struct arena *arena;
    struct evaluator evaluator;
    uint64_t structure; /* of its own for every try but those of mere numbers */
    struct fix *fixes;
    size_t n, capacity;
};

/* A key's values, smallest change first; the last is the strongest. */
struct fix_choice {
    const char *key;
    const char *values[8];
    bool all; /* every value is a change of its own (paths), not a scale */
};

const struct fix_choice *fix_choices(size_t *n);

/* Sets one key of a copy; false when the value breaks its field's limits. */
bool fix_set(struct plan *plan, const char *key, const char *value);

/* Whether a value would be a change in the direction of less memory. */
bool fix_applies(const struct plan *plan, const char *key, const char *value);

/* Evaluates a plan under search->structure; true when it fits or is marginal. Routing is
 * sampled only when the least that it can ask for fits. */
bool fix_fits(struct fix_search *search, const struct plan *plan, struct evaluation *result);

/* Keeps a change that fits; `settings` is what struct fix calls set. */
void fix_add(struct fix_search *search, const char *settings, const struct plan *changed,
             const struct evaluation *result);

/* Looks for up to four changes that fit together, each of them needed, and adds what it finds.
 */
void fix_together(struct fix_search *search);

#endif
