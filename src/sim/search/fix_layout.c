/* Layouts of three axes; see fix_parts.h. Exhaustive: an axis has a handful of values, and one
 * evaluation takes microseconds. */
#include <math.h>
#include <string.h>

#include "sim/search/fix_parts.h"

enum { AXES = 5, AXIS_VALUES = 16, TRIPLE = 3 };

static const char *const keys[AXES] = {"parallel.ep", "parallel.pp", "parallel.tp",
                                       "parallel.zero", "recompute.kind"};

struct axis {
    const struct fix_move *values[AXIS_VALUES];
    size_t n;
};

struct best {
    struct fix_move moves[TRIPLE];
    double seconds_per_token;
};

static void collect(const struct fix_moves *moves, const char *key, struct axis *axis)
{
    axis->n = 0;
    for (size_t i = 0; i < moves->n && axis->n < AXIS_VALUES; i++)
        if (strcmp(moves->list[i].key, key) == 0)
            axis->values[axis->n++] = &moves->list[i];
}

/* Whether stages of a stated number of layers would do as they follow from their number. */
static bool is_overstated(struct fix_search *search, const struct fix_move *three)
{
    struct fix_move plain[TRIPLE];
    struct evaluation result;
    memcpy(plain, three, sizeof plain);
    for (size_t i = 0; i < TRIPLE; i++) {
        const char *more = strchr(three[i].set, ' ');
        if (!more)
            continue;
        plain[i].set =
            arena_printf(search->arena, "%.*s", (int)(more - three[i].set), three[i].set);
        plain[i].field = NULL;
        return fix_fits(search, plain, TRIPLE, &result);
    }
    return false;
}

/* Whether no two of the three would do, nor less of one. */
static bool are_needed(struct fix_search *search, const struct fix_move *three)
{
    if (is_overstated(search, three))
        return false;
    for (size_t but = 0; but < TRIPLE; but++) {
        const struct fix_move two[] = {three[(but + 1) % TRIPLE], three[(but + 2) % TRIPLE]};
        struct evaluation result;
        if (fix_fits(search, two, TRIPLE - 1, &result))
            return false;
    }
    return true;
}

/* The candidate when it fits, needs all it changes and is faster than the best so far: what is
 * known of two of its changes is known of all that share them, its time is not. */
static void consider(struct fix_search *search, const struct fix_move *candidate,
                     struct best *best)
{
    struct evaluation result;
    if (!fix_fits(search, candidate, TRIPLE, &result) || !are_needed(search, candidate))
        return;
    double seconds = fix_seconds(search, candidate, TRIPLE);
    if (seconds >= best->seconds_per_token)
        return;
    memcpy(best->moves, candidate, sizeof best->moves);
    best->seconds_per_token = seconds;
}

static void try_axes(struct fix_search *search, const struct axis *a, const struct axis *b,
                     const struct axis *c, struct best *best)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n; j++)
            for (size_t k = 0; k < c->n; k++) {
                const struct fix_move candidate[TRIPLE] = {*a->values[i], *b->values[j],
                                                           *c->values[k]};
                consider(search, candidate, best);
            }
}

/* The fastest of all threes of axes first..first_end x later x later. */
static void search_axes(struct fix_search *search, const struct axis *axes, size_t first,
                        size_t first_end)
{
    struct best best = {.seconds_per_token = HUGE_VAL};
    for (size_t i = first; i < first_end; i++)
        for (size_t j = i + 1; j < AXES; j++)
            for (size_t k = j + 1; k < AXES; k++)
                try_axes(search, &axes[i], &axes[j], &axes[k], &best);
    if (!isinf(best.seconds_per_token))
        fix_keep(search, best.moves, TRIPLE);
}

void fix_layout(struct fix_search *search, const struct fix_moves *moves)
{
    struct axis axes[AXES];
    for (size_t i = 0; i < AXES; i++)
        collect(moves, keys[i], &axes[i]);
    search_axes(search, axes, 0, 1);
    search_axes(search, axes, 1, AXES);
}
