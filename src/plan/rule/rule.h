/* Cross-field rules, as a table: what must hold between values, with its message.
 *
 * A rule looks only at keys that the plan's mode, path and options read: a value that nothing
 * reads is never an error. */
#ifndef MOEPLAN_PLAN_RULE_RULE_H
#define MOEPLAN_PLAN_RULE_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/plan.h"

enum { RULE_TEXT = 512 };

/* A number of the plan: a member, or what `derive` computes. */
struct quantity {
    const char *name; /* as messages call it: "ep", "tp x pp x cp" */
    size_t offset;    /* of a uint64_t (or, if real, double) in struct plan */
    bool real;
    uint64_t (*derive)(const struct plan *plan);
};

enum rule_shape {
    RULE_POSITIVE, /* a > 0 */
    RULE_AT_MOST,  /* a <= b */
    RULE_DIVIDES,  /* a is a multiple of b */
    RULE_EQUAL,    /* a = b */
    RULE_OTHER     /* what `broken` says */
};

struct rule {
    const char *name; /* "ep-divides-experts" */
    const char *key;  /* the field to point at */
    enum rule_shape shape;
    bool (*applies)(const struct plan *plan); /* NULL: always */
    struct quantity a, b;
    struct quantity part; /* of the product b, what to make smaller; without a name: b itself */
    struct quantity other; /* or this one, where it is no 1 */
    const char *hint;      /* one line; NULL: computed from the numbers */
    /* what else helps, behind a computed hint (rule_add); NULL: nothing */
    void (*also_helps)(const struct plan *plan, char *hint);
    /* RULE_OTHER: whether the plan breaks it; says what is wrong and what to do (rule_say),
     * nothing where both are NULL */
    bool (*broken)(const struct plan *plan, char *text, char *hint);
    const char *also[2]; /* other fields it depends on, or NULL */
};

/* Rule i in the order of checking (a rule may rely on those before it); NULL behind the last.
 */
const struct rule *rule_at(size_t i);

/* First broken rule, or NULL; text and hint filled. No allocation: sweeps call it per point. */
const struct rule *rule_check(const struct plan *plan, char text[RULE_TEXT],
                              char hint[RULE_TEXT]);

/* rule_check in two parts, for sweeps: the rules of model, cluster and parallel, and the rest,
 * which rely on them. A plan obeys all rules when it obeys both. */
bool rule_check_layout(const struct plan *plan);
bool rule_check_run(const struct plan *plan);

/* The rules of rule_check_run that name one of n keys (key, also) and those that name none, for
 * plans that differ in those keys alone: the latter hold of all of them or of none
 * (unit/test_rule). A plan obeys both when rule_check_run says so. */
enum { RULE_RUN_MOST = 96 };
struct rule_parts {
    const struct rule *naming[RULE_RUN_MOST], *rest[RULE_RUN_MOST];
    size_t n_naming, n_rest;
};
void rule_parts_of(const char *const *keys, size_t n, struct rule_parts *parts);
bool rule_obeyed(const struct rule *const *rules, size_t n, const struct plan *plan);

#endif
