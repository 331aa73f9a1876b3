/* The hunt for what may fit: the layouts of a search, and the walk through the combinations of
 * those that share lists. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_HUNT_H
#define MOEPLAN_SIM_SEARCH_SEARCH_HUNT_H

#include "plan/rule/rule.h"
#include "sim/search/search_parts.h"

/* Keys from HUNT_INNER on vary inside a task; groups of a batch, the first of which is small:
 * what it finds spares the others work. */
enum { HUNT_INNER = SEARCH_ZERO, HUNT_FIRST = 16, HUNT_GROUPS = 64 };

/* A layout: the keys before HUNT_INNER. Those of one tp and ep and of one family stand
 * together: they have the same lists, and other layers and micro-batches on their stages. */
struct hunt_layout {
    uint8_t index[SEARCH_KEYS];
    uint64_t first; /* number of its first combination */
    uint32_t family;
};

/* What one task finds. */
struct hunt_found {
    struct arena arena;
    struct search_candidate *items;
    size_t n, capacity;
    uint64_t points, invalid, too_large;
    struct search_candidate nearest;
    bool any; /* nearest is set */
};

/* The layouts of one plan. */
struct hunt {
    const struct search_ask *ask;
    size_t variant; /* which of the asked plans */
    struct plan base;
    struct rule_parts rules; /* by whether they name the micro-batch */
    struct hunt_layout *layouts;
    size_t n_layouts;
    size_t *groups, n_groups; /* first layouts of groups */
    size_t *order, first; /* groups as they are taken, so that few have all tp and ep; where the
                             batch begins */
    bool lays;            /* an engine's: parallel.sp follows from each layout */
    bool nearest;         /* nothing fits: look at what cannot fit, too */
    struct judge *judge;  /* of what was found before the batch */
    struct hunt_found *found; /* [HUNT_GROUPS] of the batch */
};

/* ---- the enumeration: search_layouts.c ---- */

/* Every layout of n plans that obeys the rules, or the asked part of them, and which of them
 * are a group: memory from the arena. How many there are beside the part, too. */
size_t hunt_list(struct hunt *hunts, size_t n, struct arena *arena);

/* How many values of a key a plan has to try: one of keys that its path does not read. */
size_t hunt_n_values(const struct hunt *hunt, const struct plan *plan, enum search_key key);

/* Sets the keys [from, SEARCH_KEYS); those before are set. */
void hunt_set_keys(const struct hunt *hunt, unsigned from, const uint8_t index[SEARCH_KEYS],
                   struct plan *plan);

/* The plan that a hit was made of, by its values. */
void hunt_plan(const struct hunt *hunt, const double value[SEARCH_KEYS], struct plan *plan);

/* The next combination like an odometer over keys [from, to), of a plan that stands at the
 * present one. The first key that moved; SEARCH_KEYS when it wrapped. */
unsigned hunt_turn(const struct hunt *hunt, const struct plan *plan, unsigned from, unsigned to,
                   uint8_t index[SEARCH_KEYS]);

/* ---- where nothing obeys: search_refused.c ---- */

/* STATUS_INPUT: what refuses most of the combinations (`points` of them), and how many, in the
 * stack's words. */
enum status search_refused(const struct hunt *hunts, size_t n, uint64_t points,
                           struct arena *arena, struct err *err);

/* ---- one group: search_walk.c ---- */

/* All combinations of a group of the batch, into its found; a task of a pool. */
void hunt_walk(void *hunt, size_t group, unsigned worker);

/* Of equal ones the first of the enumeration. */
bool hunt_is_nearer(const struct search_candidate *one, const struct search_candidate *other);

#endif
