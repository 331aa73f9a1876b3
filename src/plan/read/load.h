/* From text to plan: reads the plan file, the model, cluster and stack it names, applies --set,
 * runs the rules. The only way a plan comes to be.
 *
 * A part `prefill` (or --set prefill.KEY=) makes it two: plan->prefill is the same plan with
 * these keys on top, in the arena. */
#ifndef MOEPLAN_PLAN_READ_LOAD_H
#define MOEPLAN_PLAN_READ_LOAD_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/read/origins.h"

/* Reads `file` ("-": standard input). The plan is untouched on failure. Strings that marks
 * point to live in the arena. */
enum status plan_load(const char *file, const struct override *overrides, size_t n_overrides,
                      struct arena *arena, struct plan *plan, struct origins *origins,
                      struct err *err);

/* The same from text in memory (tests, fuzzing); `name` stands for the file in messages. */
enum status plan_load_text(const char *name, const char *text, size_t length,
                           const struct override *overrides, size_t n_overrides,
                           struct arena *arena, struct plan *plan, struct origins *origins,
                           struct err *err);

/* The same from a tree that was read before (a job's, above all). */
struct node;
enum status plan_load_tree(const char *name, const struct node *root,
                           const struct override *overrides, size_t n_overrides, bool rules,
                           struct arena *arena, struct plan *plan, struct origins *origins,
                           struct err *err);

/* The first rule that a loaded plan breaks, NULL: none; err says so where its text or an option
 * does (STATUS_INPUT). */
const struct rule *plan_check_rules(const struct plan *plan, const struct origins *origins,
                                    struct err *err);

/* The same without the rules: for the points of a sweep, of which those that break a rule are
 * points too. The shelf keeps what is read for one of them for the others. */
struct shelf;
enum status plan_load_unruled(const char *name, const struct node *root,
                              const struct override *overrides, size_t n_overrides,
                              struct shelf *shelf, struct arena *arena, struct plan *plan,
                              struct err *err);

#endif
