/* Several changes together; see fix_parts.h. Greedy: of all moves the one after which the least
 * is missing, until the plan fits; then what is not needed goes, and what can be smaller is. */
#include <string.h>

#include "base/checked.h"
#include "sim/memory/verdict.h"
#include "sim/search/fix_parts.h"

static bool has_key(const struct fix_move *taken, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(taken[i].key, key) == 0)
            return true;
    return false;
}

/* Whether more is missing, or as much where only less is of use, as far as it is known without
 * looking at all stages. */
static bool lacks_more(struct fix_search *search, const struct plan *changed,
                       struct fix_known *known, uint64_t excess, bool less)
{
    uint64_t limit = verdict_limit(changed);
    return excess <= UINT64_MAX - limit && limit + excess >= less &&
           fix_needs_more(search, changed, known, limit + excess - less);
}

/* What is missing on the device and, of what waits there, on the host. */
static uint64_t excess_of(const struct evaluation *result)
{
    uint64_t device = remaining(result->peak.total_bytes, result->limit_bytes);
    uint64_t host =
        result->host_limit_bytes ? remaining(result->host_bytes, result->host_limit_bytes) : 0;
    return device + host;
}

/* Appends the move after which the least is missing, of equal ones the first; false when none
 * helps. The strongest of a key stand last: what they leave rules most of the others out. Where
 * no other move follows, only what fits is of use. */
static bool take_best(struct fix_search *search, const struct fix_moves *moves,
                      struct fix_move *taken, size_t n, uint64_t *excess)
{
    uint64_t least = *excess;
    bool found = false, last = n + 1 == FIX_TOGETHER;
    for (size_t i = moves->n; i-- > 0;) {
        struct fix_move tried[FIX_TOGETHER];
        struct evaluation result;
        struct plan changed;
        memcpy(tried, taken, n * sizeof *tried);
        tried[n] = moves->list[i];
        if (has_key(taken, n, tried[n].key) || !fix_apply(search->plan, tried, n + 1, &changed))
            continue;
        struct fix_known *known = fix_known_of(search, &changed);
        if (lacks_more(search, &changed, known, last ? 0 : least, !last && !found))
            continue;
        fix_evaluate(search, &changed, known, true, &result);
        uint64_t over = excess_of(&result);
        if (!result.valid || over > least || (over == least && !found))
            continue;
        found = true;
        least = over;
        taken[n] = moves->list[i];
    }
    *excess = least;
    return found;
}

/* Leaves out every move that the others can do without. */
static size_t drop_needless(struct fix_search *search, struct fix_move *taken, size_t n)
{
    for (size_t but = 0; but < n;) {
        struct fix_move others[FIX_TOGETHER];
        struct evaluation result;
        memcpy(others, taken, but * sizeof *taken);
        memcpy(&others[but], &taken[but + 1], (n - but - 1) * sizeof *taken);
        if (n > 1 && fix_fits(search, others, n - 1, &result)) {
            memcpy(taken, others, (n - 1) * sizeof *taken);
            n--;
        } else {
            but++;
        }
    }
    return n;
}

/* Replaces every move by the smallest of its key that still fits. */
static void weaken(struct fix_search *search, const struct fix_moves *moves,
                   struct fix_move *taken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct fix_move strong = taken[i];
        for (size_t j = 0; j < moves->n && moves->list[j].set != strong.set; j++) {
            struct evaluation result;
            if (strcmp(moves->list[j].key, strong.key) != 0)
                continue;
            taken[i] = moves->list[j];
            if (fix_fits(search, taken, n, &result))
                break;
            taken[i] = strong;
        }
    }
}

/* Greedy from n moves on; how many there are then, 0: they do not fit. */
static size_t gather(struct fix_search *search, const struct fix_moves *moves,
                     struct fix_move *taken, size_t n)
{
    uint64_t excess = UINT64_MAX;
    for (; n < FIX_TOGETHER; n++) {
        struct evaluation result;
        if (!take_best(search, moves, taken, n, &excess))
            return 0;
        if (!fix_fits(search, taken, n + 1, &result))
            continue;
        n = drop_needless(search, taken, n + 1);
        weaken(search, moves, taken, n);
        return drop_needless(search, taken, n);
    }
    return 0;
}

static bool together(struct fix_search *search, const struct fix_moves *moves)
{
    struct fix_move taken[FIX_TOGETHER];
    size_t n = gather(search, moves, taken, 0);
    return n > 0 && fix_keep(search, taken, n);
}

/* What does not change the result, smaller micro-batches among it. */
static const struct fix_moves *harmless_of(struct fix_search *search,
                                           const struct fix_moves *moves)
{
    struct fix_moves *harmless = arena_alloc(search->arena, 1, sizeof *harmless);
    for (size_t i = 0; i < moves->n; i++)
        if (moves->list[i].kind != FIX_NUMERICS)
            harmless->list[harmless->n++] = moves->list[i];
    fix_list_batches(search, harmless);
    return harmless;
}

size_t fix_gather(struct fix_search *search, const struct fix_moves *moves,
                  struct fix_move *taken, size_t n)
{
    return gather(search, harmless_of(search, moves), taken, n);
}

/* What does not change the result is preferred; all moves when that does not suffice. Of plans
 * that offloading alone would fix, what fixes them without. */
void fix_together(struct fix_search *search, const struct fix_moves *moves)
{
    for (size_t i = 0; i < search->n; i++)
        if (fix_offloads(&search->fixes[i]))
            moves = fix_moves_but(moves, FIX_OFFLOAD, search->arena);
    bool harmless = !fix_is_hopeless(search, search->plan, moves, false) &&
                    together(search, harmless_of(search, moves));
    if (!harmless && !search->n)
        together(search, moves);
}
