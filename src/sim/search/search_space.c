/* What a search tries; see search.h. */

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "sim/search/search.h"

enum { CONTEXT_MOST = 16, CHUNKS_MOST = 8, BATCH_MOST = 64, DECODE_BATCH_MOST = 1024 };

const char *search_key_name(enum search_key key)
{
    static const char *const names[] = {
#define SEARCH_NAME(name, text, key) text,
        SEARCH_LIST(SEARCH_NAME)
#undef SEARCH_NAME
    };
    return names[key];
}

const char *search_key_full(enum search_key key)
{
    static const char *const names[] = {
#define SEARCH_FULL(name, text, key) key,
        SEARCH_LIST(SEARCH_FULL)
#undef SEARCH_FULL
    };
    return names[key];
}

double search_score(const struct search_ask *ask, const struct search_hit *hit)
{
    const double scores[SEARCH_OBJECTIVES] = {
        [SEARCH_BY_TOKENS] = hit->seconds_per_token * (1 + hit->error), /* its slow end */
        [SEARCH_BY_TPOT] = hit->serving.tpot_s,
        [SEARCH_BY_TTFT] = hit->serving.ttft_s,
        [SEARCH_BY_MEMORY] = (double)hit->total_bytes,
    };
    return scores[ask->objective];
}

bool search_is_soon(const struct search_ask *ask, const struct search_hit *hit)
{
    bool overloaded = hit->serving.present && hit->serving.utilization >= 1;
    return !overloaded && (ask->most_tpot_s <= 0 || hit->serving.tpot_s <= ask->most_tpot_s) &&
           (ask->most_ttft_s <= 0 || hit->serving.ttft_s <= ask->most_ttft_s);
}

/* The plan's counts; NULL for keys of another type. */
static const uint64_t *count_of(const struct plan *plan, enum search_key key)
{
    const struct parallel *p = &plan->parallel;
    const uint64_t *const counts[SEARCH_KEYS] = {
        [SEARCH_TP] = &p->tp,
        [SEARCH_CP] = &p->cp,
        [SEARCH_PP] = &p->pp,
        [SEARCH_VPP] = &p->vpp,
        [SEARCH_EP] = &p->ep,
        [SEARCH_ETP] = &p->etp,
        [SEARCH_ZERO] = &p->zero,
        [SEARCH_BLOCK] = &plan->moe.block_size,
        [SEARCH_MICRO_BATCH] = &plan->workload.micro_batch,
    };
    return counts[key];
}

double search_get(const struct plan *plan, enum search_key key)
{
    if (key == SEARCH_PATH)
        return plan->moe.path;
    if (key == SEARCH_RECOMPUTE)
        return plan->recompute.kind;
    if (key == SEARCH_CAPACITY)
        return plan->moe.capacity_factor;
    return (double)*count_of(plan, key);
}

static uint64_t *count_in(struct plan *plan, enum search_key key)
{
    size_t offset = (size_t)((const char *)count_of(plan, key) - (const char *)plan);
    return (uint64_t *)(void *)((char *)plan + offset);
}

void search_set(struct plan *plan, enum search_key key, double value)
{
    if (key == SEARCH_PATH)
        plan->moe.path = (enum moe_path)value;
    else if (key == SEARCH_RECOMPUTE)
        plan->recompute.kind = (enum recompute)value;
    else if (key == SEARCH_CAPACITY)
        plan->moe.capacity_factor = value;
    else
        *count_in(plan, key) = (uint64_t)value;
}

/* Adds a value in its place, once. */
static void add(struct search_space *space, enum search_key key, double value)
{
    double *values = space->value[key];
    size_t at = 0, n = space->n[key];
    while (at < n && values[at] < value)
        at++;
    if ((at < n && values[at] == value) || n == SEARCH_VALUES)
        return;
    for (size_t i = n; i > at; i--)
        values[i] = values[i - 1];
    values[at] = value;
    space->n[key]++;
}

static void add_divisors(struct search_space *space, enum search_key key, uint64_t of,
                         uint64_t most)
{
    for (uint64_t value = 1; value <= most && value <= of; value++)
        if (of % value == 0)
            add(space, key, (double)value);
}

static void add_powers(struct search_space *space, enum search_key key, uint64_t from,
                       uint64_t most)
{
    for (uint64_t value = from; value <= most; value *= 2)
        add(space, key, (double)value);
}

static void add_training(const struct plan *plan, struct search_space *space)
{
    uint64_t world = plan_world(plan);
    add_divisors(space, SEARCH_CP, world, CONTEXT_MOST);
    add_powers(space, SEARCH_VPP, 1, CHUNKS_MOST);
    for (unsigned zero = 0; zero <= 3; zero++)
        add(space, SEARCH_ZERO, zero);
    add(space, SEARCH_RECOMPUTE, RECOMPUTE_NONE);
    add(space, SEARCH_RECOMPUTE, RECOMPUTE_SELECTIVE);
    add(space, SEARCH_RECOMPUTE, RECOMPUTE_FULL);
}

bool search_turns(const struct rule *rule)
{
    const char *keys[] = {rule->key, rule->also[0], rule->also[1]};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i] && text_equal(keys[i], "parallel.dp")) /* which follows from them */
            return true;
        for (unsigned key = 0; keys[i] && key < SEARCH_KEYS; key++)
            if (text_equal(keys[i], search_key_full((enum search_key)key)))
                return true;
    }
    return false;
}

void search_space_default(const struct plan *plan, struct search_space *space)
{
    uint64_t world = plan_world(plan);
    uint64_t node = plan_linked_ranks(plan);
    bool decode = plan->workload.mode == MODE_DECODE;
    static const double factors[] = {1, 1.25, 1.5, 2};
    *space = (struct search_space){0};
    add_divisors(space, SEARCH_TP, world, node);
    add_divisors(space, SEARCH_PP, world, plan->model.layers);
    if (plan_is_engine(plan) && !plan->model.moe.experts) { /* nothing to lay or exchange */
        add(space, SEARCH_PATH, plan->moe.path);
    } else {
        add_divisors(space, SEARCH_EP, world, plan_experts_total(plan));
        add_divisors(space, SEARCH_ETP, world, node);
        for (unsigned path = 1; path < paths_count(); path++) /* after `auto` */
            add(space, SEARCH_PATH, path);
    }
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        add(space, SEARCH_CAPACITY, factors[i]);
    add_powers(space, SEARCH_BLOCK, 128, 1024);
    add_powers(space, SEARCH_MICRO_BATCH, 1, decode ? DECODE_BATCH_MOST : BATCH_MOST);
    if (plan->workload.mode == MODE_TRAIN)
        add_training(plan, space);
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (key != SEARCH_PATH || plan_names_path(plan))
            add(space, (enum search_key)key, search_get(plan, (enum search_key)key));
}
