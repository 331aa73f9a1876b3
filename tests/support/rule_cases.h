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

extern const struct rule_case rule_cases[];
extern const size_t rule_cases_n;

#endif
