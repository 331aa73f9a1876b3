/* Several changes together; see fix_parts.h. Greedy: of all moves the one after which the least
 * is missing, until the plan fits; then what is not needed goes, and what can be smaller is. */
#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "sim/fix_parts.h"

enum { MOVES_MAX = 64, TOGETHER_MAX = 4 };

struct move {
    const char *key, *value;
};

struct moves {
    struct move list[MOVES_MAX];
    size_t n;
};

static void offer(struct moves *moves, const struct plan *plan, const char *key,
                  const char *value)
{
    if (moves->n < MOVES_MAX && fix_applies(plan, key, value))
        moves->list[moves->n++] = (struct move){key, value};
}

static void offer_doublings(struct fix_search *search, struct moves *moves, const char *key,
                            uint64_t present, uint64_t limit)
{
    for (uint64_t value = 2 * present; value && value <= limit; value *= 2)
        offer(moves, search->plan, key,
              arena_printf(search->arena, "%llu", (unsigned long long)value));
}

/* The strongest value of every kind of change, and every doubling of an axis. */
static void list_moves(struct fix_search *search, struct moves *moves)
{
    const struct plan *plan = search->plan;
    const struct parallel *p = &plan->parallel;
    size_t n;
    const struct fix_choice *choices = fix_choices(&n);
    offer(moves, plan, "workload.micro_batch", "1");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < 8 && choices[i].values[j]; j++)
            if (choices[i].all || j == 7 || !choices[i].values[j + 1])
                offer(moves, plan, choices[i].key, choices[i].values[j]);
    offer_doublings(search, moves, "parallel.ep", p->ep, plan_world(plan));
    offer_doublings(search, moves, "parallel.tp", p->tp, 16);
    offer_doublings(search, moves, "parallel.pp", p->pp, 32);
    offer_doublings(search, moves, "parallel.cp", p->cp, 16);
}

/* The plan with some of the moves; false when one of them breaks its field's limits. */
static bool apply(const struct fix_search *search, const struct move *moves, size_t n,
                  size_t but, struct plan *changed)
{
    *changed = *search->plan;
    for (size_t i = 0; i < n; i++)
        if (i != but && !fix_set(changed, moves[i].key, moves[i].value))
            return false;
    return true;
}

/* Appends the move after which the least is missing; false when none helps. */
static bool take_best(struct fix_search *search, const struct moves *moves, struct move *taken,
                      size_t n, uint64_t *excess)
{
    uint64_t before = *excess;
    for (size_t i = 0; i < moves->n; i++) {
        struct move tried[TOGETHER_MAX];
        struct evaluation result;
        struct plan changed;
        memcpy(tried, taken, n * sizeof *tried);
        tried[n] = moves->list[i];
        search->structure++;
        search->evaluator.least = true;
        if (!apply(search, tried, n + 1, n + 1, &changed))
            continue;
        evaluate(&search->evaluator, &changed, search->structure, &result);
        uint64_t over = result.peak.total_bytes > result.limit_bytes
                            ? result.peak.total_bytes - result.limit_bytes
                            : 0;
        if (!result.valid || over >= *excess)
            continue;
        *excess = over;
        taken[n] = moves->list[i];
    }
    return *excess < before;
}

/* Leaves out every move that the others can do without. */
static size_t drop_needless(struct fix_search *search, struct move *taken, size_t n)
{
    for (size_t but = 0; but < n;) {
        struct plan changed;
        struct evaluation result;
        search->structure++;
        if (n > 1 && apply(search, taken, n, but, &changed) &&
            fix_fits(search, &changed, &result)) {
            memmove(&taken[but], &taken[but + 1], (n - but - 1) * sizeof *taken);
            n--;
        } else {
            but++;
        }
    }
    return n;
}

/* Replaces every move by the smallest of its key that still fits. */
static void weaken(struct fix_search *search, const struct moves *moves, struct move *taken,
                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct move strong = taken[i];
        for (size_t j = 0; j < moves->n && moves->list[j].value != strong.value; j++) {
            struct plan changed;
            struct evaluation result;
            if (strcmp(moves->list[j].key, strong.key) != 0)
                continue;
            taken[i] = moves->list[j];
            search->structure++;
            if (apply(search, taken, n, n, &changed) && fix_fits(search, &changed, &result))
                break;
            taken[i] = strong;
        }
    }
}

static void add_together(struct fix_search *search, const struct moves *moves,
                         struct move *taken, size_t n)
{
    struct text settings = {.arena = search->arena};
    struct plan changed;
    struct evaluation result;
    n = drop_needless(search, taken, n);
    weaken(search, moves, taken, n);
    search->structure++;
    if (!apply(search, taken, n, n, &changed) || !fix_fits(search, &changed, &result))
        return;
    for (size_t i = 0; i < n; i++)
        text_printf(&settings, "%s%s=%s", i ? " " : "", taken[i].key, taken[i].value);
    fix_add(search, text_string(&settings), &changed, &result);
}

void fix_together(struct fix_search *search)
{
    struct moves moves = {.n = 0};
    struct move taken[TOGETHER_MAX];
    uint64_t excess = UINT64_MAX;
    list_moves(search, &moves);
    for (size_t n = 0; n < TOGETHER_MAX; n++) {
        struct plan changed;
        struct evaluation result;
        if (!take_best(search, &moves, taken, n, &excess))
            return;
        search->structure++;
        if (apply(search, taken, n + 1, n + 1, &changed) &&
            fix_fits(search, &changed, &result)) {
            add_together(search, &moves, taken, n + 1);
            return;
        }
    }
}
