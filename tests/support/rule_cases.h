/* What each rule says of the small plan (plan_tiny): 8 layers (2 dense), hidden 64, 8 heads, 16
 * experts, top 2, 2 nodes of 4. */
#ifndef MOEPLAN_TESTS_SUPPORT_RULE_CASES_H
#define MOEPLAN_TESTS_SUPPORT_RULE_CASES_H

#include <stddef.h>

struct rule_case {
    const char *rule;
    const char *broken, *holds; /* "key=value key=value": breaks it; applies, and obeys it */
    const char *text, *hint;    /* of the broken one */
};

/* What several cases begin with. */
#define MEGATRON "workload.mode=train stack.kind=megatron "
#define TITAN "workload.mode=train stack.kind=torchtitan "
#define LINEAR                                                                                 \
    "model.layer_types=[linear,full] model.linear.heads=4 model.linear.head_dim=8 "            \
    "model.linear.key_heads=4 model.linear.key_dim=8"

/* Case i of all, and of those of rule_refused.c alone; NULL behind the last. */
const struct rule_case *rule_case_at(size_t i);
const struct rule_case *rule_case_refused_at(size_t i);

#endif
