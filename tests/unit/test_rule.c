/* plan/rule/rule: every rule with a plan that breaks it and one that it applies to and holds
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/step/evaluate.h"
#include "support/random_plan.h"
#include "support/rule_cases.h"

/* "key=value key=value" */
static void change(struct plan *plan, const char *changes)
{
    char copy[768], *rest = copy;
    snprintf(copy, sizeof copy, "%s", changes);
    while (*rest) {
        char *key = rest, *value = strchr(rest, '=');
        assert_non_null(value);
        *value++ = '\0';
        rest = value + strcspn(value, " ");
        if (*rest)
            *rest++ = '\0';
        struct err err = {0};
        const struct field *field = schema_find(key);
        assert_non_null(field);
        schema_set(field, plan, value, false, (struct mark){0}, &err);
        assert_string_equal(err.text, "");
    }
}

static void broken_plans_are_named(void **state)
{
    (void)state;
    const struct rule_case *c;
    for (size_t i = 0; (c = rule_case_at(i)) != NULL; i++) {
        struct plan plan;
        char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
        plan_tiny(&plan);
        change(&plan, c->broken);
        print_message("%s: %s\n", c->rule, c->broken);
        const struct rule *rule = rule_check(&plan, text, hint);
        assert_non_null(rule);
        assert_string_equal(text, c->text);
        assert_string_equal(hint, c->hint);
        assert_string_equal(rule->name, c->rule);
        assert_false(rule_check_layout(&plan) && rule_check_run(&plan));
    }
}

static void plans_that_obey_pass(void **state)
{
    (void)state;
    const struct rule_case *c;
    for (size_t i = 0; (c = rule_case_at(i)) != NULL; i++) {
        struct plan plan;
        char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
        plan_tiny(&plan);
        change(&plan, c->holds);
        print_message("%s: %s\n", c->rule, c->holds);
        const struct rule *rule = rule_check(&plan, text, hint);
        assert_string_equal(rule ? text : "", "");
        assert_true(rule_check_layout(&plan) && rule_check_run(&plan));
    }
}

static void every_rule_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; rule_at(i); i++) {
        const struct rule *rule = rule_at(i);
        size_t found = 0;
        for (size_t j = 0; rule_case_at(j); j++)
            found += text_equal(rule_case_at(j)->rule, rule->name);
        print_message("%s\n", rule->name);
        assert_true(found > 0);
        assert_non_null(schema_find(rule->key));
        for (size_t j = 0; j < 2; j++)
            assert_true(!rule->also[j] || schema_find(rule->also[j]));
        assert_int_equal(rule->shape == RULE_OTHER, rule->broken != NULL);
    }
}

/* The design's rules of reading, on the example of seed 000: 64 ranks, 8 x 4096 tokens. */
static void derived_quantities(void **state)
{
    (void)state;
    struct plan plan;
    plan_tiny(&plan);
    change(&plan, "cluster.nodes=8 cluster.node.devices=8 workload.micro_batch=8 "
                  "workload.sequence_length=4096 parallel.ep=8 model.moe.experts=256");
    assert_int_equal(plan_world(&plan), 64);
    assert_int_equal(plan_dp(&plan), 64);
    assert_int_equal(plan_expert_dp(&plan), 8);
    assert_int_equal(plan_tokens(&plan), 32768);
    assert_int_equal(plan_local_experts(&plan), 32);
    assert_int_equal(plan_moe_layers(&plan), 6);
    assert_int_equal(plan_micro_batches(&plan), 1);
    change(&plan, "parallel.tp=2 parallel.cp=4 parallel.pp=2 workload.global_batch=256");
    assert_int_equal(plan_dp(&plan), 4);
    assert_int_equal(plan_expert_dp(&plan), 4);
    assert_int_equal(plan_tokens(&plan), 8192);
    assert_int_equal(plan_micro_batches(&plan), 8);
    change(&plan, "parallel.sp=true workload.global_batch=0 workload.tokens_per_step=524288");
    assert_int_equal(plan_tokens(&plan), 4096);
    assert_int_equal(plan_micro_batches(&plan), 4);
    change(&plan, "workload.mode=decode workload.tokens_per_sequence=3");
    assert_int_equal(plan_tokens(&plan), 24);
    change(&plan, "cluster.device.logical_cores=4 moe.redundant_experts=32");
    assert_int_equal(plan_world(&plan), 256);
    assert_int_equal(plan_rank_memory(&plan), 268435456);
    assert_int_equal(plan_experts_total(&plan), 288);
}

/* A plan that obeys the rules of its layout, whatever other keys it has. */
static bool draw_lawful(uint64_t seed, struct plan *plan)
{
    struct rng rng;
    rng_init(&rng, seed, 11, 0, 0, 0);
    plan_tiny(plan);
    for (unsigned i = 0; i < seed % 12; i++)
        plan_vary(plan, &rng);
    return rule_check_layout(plan);
}

/* Searches ask of a combination once what does not follow from its micro-batch. */
static void test_parts(void **state)
{
    (void)state;
    static const uint64_t batches[] = {1, 2, 3, 5, 8, 64, UINT64_C(1) << 20, UINT64_C(1) << 40};
    static const char *const key = "workload.micro_batch";
    struct rule_parts parts;
    struct plan plan;
    size_t lawful = 0, allowed = 0;
    rule_parts_of(&key, 1, &parts);
    assert_int_equal(parts.n_naming, 9);
    for (uint64_t seed = 0; seed < 4000; seed++) {
        if (!draw_lawful(seed, &plan))
            continue;
        bool rest = rule_obeyed(parts.rest, parts.n_rest, &plan);
        lawful += rest;
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            plan.workload.micro_batch = batches[i];
            bool naming = rule_obeyed(parts.naming, parts.n_naming, &plan);
            assert_int_equal(rule_obeyed(parts.rest, parts.n_rest, &plan), rest);
            assert_int_equal(rule_check_run(&plan), rest && naming);
            allowed += rest && naming;
        }
    }
    assert_true(lawful > 1000 && allowed > 4000);
}

/* Values of the numbers of a list (evaluate_is_slot). */
static const struct {
    const char *key, *values[6];
} numbers[] = {
    {"workload.micro_batch", {"1", "3", "64", "1000000000"}},
    {"workload.sequence_length", {"1", "7", "4096", "65537", "1000000000"}},
    {"workload.context_length", {"0", "1", "4095", "4096", "1000000000"}},
    {"moe.capacity_factor", {"0.0001", "0.5", "1.25", "1000000"}},
    {"memory.fraction", {"0", "0.001", "0.5", "1"}},
};

/* How many rules that do not name number k follow from it, of this plan. */
static size_t count_unnamed(const struct plan *plan, size_t k)
{
    struct rule_parts parts;
    size_t n = 0;
    rule_parts_of(&numbers[k].key, 1, &parts);
    for (size_t v = 0; v < 6 && numbers[k].values[v]; v++) {
        char set[96];
        struct plan other = *plan;
        snprintf(set, sizeof set, "%s=%s", numbers[k].key, numbers[k].values[v]);
        change(&other, set);
        for (size_t i = 0; i < parts.n_rest; i++) {
            bool stays =
                rule_obeyed(&parts.rest[i], 1, &other) == rule_obeyed(&parts.rest[i], 1, plan);
            if (!stays)
                print_message("%s follows from %s\n", parts.rest[i]->name, set);
            n += !stays;
        }
    }
    return n;
}

/* Sweeps ask of a structure once what does not follow from its numbers: no rule follows from
 * one that it does not name. Of every rule's own cases, and of drawn plans. */
static void rules_name_the_numbers_they_read(void **state)
{
    (void)state;
    const struct rule_case *c;
    struct plan plan;
    size_t n = 0, asked = 0;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        assert_true(evaluate_is_slot(numbers[k].key));
        for (size_t i = 0; (c = rule_case_at(i / 2)) != NULL; i++) {
            plan_tiny(&plan);
            change(&plan, i % 2 ? c->broken : c->holds);
            bool lawful = rule_check_layout(&plan);
            asked += lawful;
            n += lawful ? count_unnamed(&plan, k) : 0;
        }
        for (uint64_t seed = 0; seed < 1000; seed++)
            n += draw_lawful(seed, &plan) ? count_unnamed(&plan, k) : 0;
    }
    assert_int_equal(n, 0);
    assert_true(asked > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_plans_are_named),
        cmocka_unit_test(plans_that_obey_pass),
        cmocka_unit_test(every_rule_has_a_case),
        cmocka_unit_test(derived_quantities),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(rules_name_the_numbers_they_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
