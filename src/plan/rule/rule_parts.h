/* What rule.c and the files of rules share. */
#ifndef MOEPLAN_PLAN_RULE_RULE_PARTS_H
#define MOEPLAN_PLAN_RULE_RULE_PARTS_H

#include "plan/rule/rule.h"

struct rule_set {
    const struct rule *rules;
    size_t n;
};

extern const struct rule_set rule_set_model, rule_set_mixer, rule_set_borrow, rule_set_shape,
    rule_set_layout, rule_set_run, rule_set_shared, rule_set_train, rule_set_serve,
    rule_set_refused;

/* a * b * c, saturated at UINT64_MAX */
uint64_t rule_product(uint64_t a, uint64_t b, uint64_t c);

/* Quantities that are numbers, whatever the plan. */
uint64_t rule_one(const struct plan *plan);
uint64_t rule_two(const struct plan *plan);

/* What is wrong, or what to do: in place of what `to` says, or behind it; at most RULE_TEXT
 * bytes. Without `to` nothing: searches ask by the thousand whether a rule is broken. */
__attribute__((format(printf, 2, 3))) void rule_say(char *to, const char *format, ...);
__attribute__((format(printf, 2, 3))) void rule_add(char *to, const char *format, ...);

/* Quantities of a rule: a member, a double member, a function of the plan. */
#define MEMBER(label, member)                                                                  \
    {                                                                                          \
        .name = label, .offset = offsetof(struct plan, member)                                 \
    }
#define REAL(label, member)                                                                    \
    {                                                                                          \
        .name = label, .offset = offsetof(struct plan, member), .real = true                   \
    }
#define DERIVED(label, function)                                                               \
    {                                                                                          \
        .name = label, .derive = function                                                      \
    }

#endif
