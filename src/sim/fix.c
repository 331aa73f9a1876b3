/* Fixes; see fix.h. A kind of change is one row: the key, and the values to try in order of
 * growing change. For a row of `largest`, the first value that fits is the answer; bisection
 * finds the largest micro-batch because memory is monotone in it within one schedule. */
#include "sim/fix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/schema.h"
#include "sim/cost.h"
#include "sim/evaluate.h"
#include "sim/fix_parts.h"
#include "work/stack/stack.h"

bool fix_set(struct plan *plan, const char *key, const char *value)
{
    struct err err = {0};
    const struct field *field = schema_find(key);
    return field &&
           schema_set(field, plan, value, false, (struct mark){.file = key}, &err) == STATUS_OK;
}

bool fix_fits(struct fix_search *search, const struct plan *plan, struct evaluation *result)
{
    struct evaluator *evaluator = &search->evaluator;
    for (int pass = 0; pass < 2; pass++) {
        evaluator->least = pass == 0;
        evaluate(evaluator, plan, search->structure, result);
        if (!result->valid || result->verdict == VERDICT_OOM)
            return false;
        if (!evaluator->routed)
            return true;
    }
    return true;
}

void fix_add(struct fix_search *search, const char *settings, const struct plan *changed,
             const struct evaluation *result)
{
    struct cost cost;
    cost_of(changed, &cost);
    search->fixes = arena_grow(search->arena, search->fixes, search->n, &search->capacity,
                               sizeof *search->fixes);
    search->fixes[search->n++] = (struct fix){.set = settings,
                                              .total_bytes = result->peak.total_bytes,
                                              .verdict = result->verdict,
                                              .seconds_per_token = cost.seconds_per_token};
}

static bool try_value(struct fix_search *search, const char *key, const char *value)
{
    struct plan changed = *search->plan;
    struct evaluation result;
    if (!fix_set(&changed, key, value))
        return false;
    search->structure += !evaluate_is_slot(key);
    if (!fix_fits(search, &changed, &result))
        return false;
    fix_add(search, arena_printf(search->arena, "%s=%s", key, value), &changed, &result);
    return true;
}

static bool try_count(struct fix_search *search, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return try_value(search, key, text);
}

/* Largest micro-batch that fits, by bisection below the plan's own. */
static void fix_micro_batch(struct fix_search *search)
{
    uint64_t fits = 0, fails = search->plan->workload.micro_batch;
    size_t before = search->n;
    while (fails - fits > 1) {
        uint64_t middle = fits + (fails - fits) / 2;
        search->n = before;
        if (try_count(search, "workload.micro_batch", middle))
            fits = middle;
        else
            fails = middle;
    }
    search->n = before;
    if (fits)
        try_count(search, "workload.micro_batch", fits);
}

/* First power of two above the present value, up to the world, that fits. */
static void fix_doubling(struct fix_search *search, const char *key, uint64_t present,
                         uint64_t limit)
{
    for (uint64_t value = 2 * present; value && value <= limit; value *= 2)
        if (try_count(search, key, value))
            return;
}

static void fix_ranks(struct fix_search *search)
{
    const struct parallel *p = &search->plan->parallel;
    uint64_t world = plan_world(search->plan);
    fix_doubling(search, "parallel.ep", p->ep, world);
    fix_doubling(search, "parallel.tp", p->tp, 16);
    fix_doubling(search, "parallel.pp", p->pp, 32);
    fix_doubling(search, "parallel.cp", p->cp, 16);
}

static const struct fix_choice choices[] = {
    {"memory.fraction", {"0.94", "0.95", "0.96"}, false},
    {"moe.capacity_factor", {"2", "1.5", "1.25", "1"}, false},
    {"moe.path", {"capacity", "ragged_a2a", "deepep", "allgather"}, true},
    {"moe.matmul", {"grouped"}, false},
    {"moe.buffer", {"2", "1.5", "1.25"}, false},
    {"recompute.kind", {"selective", "full"}, false},
    {"parallel.zero", {"1", "2", "3"}, false},
    {"precision.moments", {"bf16"}, false},
    {"precision.weights", {"fp8", "fp8_block", "mxfp4"}, false},
    {"precision.kv_cache", {"fp8"}, false},
};

const struct fix_choice *fix_choices(size_t *n)
{
    *n = sizeof choices / sizeof *choices;
    return choices;
}

bool fix_applies(const struct plan *plan, const char *key, const char *value)
{
    const struct field *field = schema_find(key);
    struct plan changed = *plan;
    if (!field || !fix_set(&changed, key, value))
        return false;
    double before = schema_number(field, plan), after = schema_number(field, &changed);
    bool training = plan->workload.mode == MODE_TRAIN;
    bool slots = path_reads(stack_path(plan, NULL), READS_CAPACITY_FACTOR);
    if (before == after)
        return false;
    if (!strcmp(key, "moe.capacity_factor"))
        return slots && after < before;
    if (!strcmp(key, "moe.buffer"))
        return !slots && plan->moe.buffer != SIZING_FACTOR;
    if (!strcmp(key, "memory.fraction"))
        return after > (before > 0 ? before : plan->stack.fraction);
    if (!strcmp(key, "parallel.zero"))
        return training && after > before;
    if (!strcmp(key, "recompute.kind"))
        return training && plan->recompute.kind < changed.recompute.kind &&
               plan->recompute.kind != RECOMPUTE_SAVE;
    if (!strcmp(key, "precision.moments"))
        return training;
    if (!strcmp(key, "precision.weights") || !strcmp(key, "precision.kv_cache"))
        return !training;
    return true;
}

static void try_choices(struct fix_search *search)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        for (size_t j = 0; j < 8 && choices[i].values[j]; j++)
            if (fix_applies(search->plan, choices[i].key, choices[i].values[j]) &&
                try_value(search, choices[i].key, choices[i].values[j]) && !choices[i].all)
                break;
}

static int by_cost(const void *a, const void *b)
{
    const struct fix *x = a, *y = b;
    if (x->seconds_per_token != y->seconds_per_token)
        return x->seconds_per_token < y->seconds_per_token ? -1 : 1;
    return strcmp(x->set, y->set);
}

const struct fix *fix_find(const struct plan *plan, const struct routing_data *routing,
                           struct arena *arena, size_t *n)
{
    struct fix_search search = {
        .plan = plan, .arena = arena, .evaluator = {.routing = routing}};
    fix_micro_batch(&search);
    try_choices(&search);
    fix_ranks(&search);
    if (!search.n)
        fix_together(&search);
    evaluator_release(&search.evaluator);
    if (search.n)
        qsort(search.fixes, search.n, sizeof *search.fixes, by_cost);
    *n = search.n;
    return search.fixes;
}
