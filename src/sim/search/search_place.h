/* What a search keeps of layouts that share lists: search_bound.c asks what they need,
 * search_floor.c how long they take. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_PLACE_H
#define MOEPLAN_SIM_SEARCH_SEARCH_PLACE_H

#include "sim/search/search_parts.h"
#include "sim/time/step_floor.h"
#include "work/piece/stage.h"

enum { SEARCH_KINDS = 8, SEARCH_STAGES = 3 };

/* A work list, and what prices it. */
struct search_list {
    struct arena arena;
    uint8_t of[SEARCH_KEYS]; /* the keys from zero to block_size that it was built for */
    enum moe_path path;
    bool built, refused, routed;
    struct work work;
    uint64_t *values;
    struct refold *refold; /* or NULL */
    struct stepper stepper;
    bool listed, timeless; /* its ops were listed; could not be */
};

/* Places of one cp, whose layers take the same time: floors by row and place in it
 * (search_floor.c). */
struct search_crowd {
    struct search_crowd *next;
    uint64_t cp;
    struct step_floor ***floors;
};

struct search_bounds {
    const struct search_ask *ask;
    struct arena arena;
    struct search_list lists[SEARCH_KINDS];
    struct search_errors *errors;
    struct search_crowd *crowds;
    bool alike; /* what all paths have costs the same on each */
};

/* The slots of a layout and micro-batch, and what decides them besides (slots_set_numbers): the
 * places of path and block size in the space, and whether rows are routed. They stand at one of
 * the layout's stages. */
struct search_numbers {
    bool known;
    uint8_t of[3];
    struct slots slots;
    struct stage *stages; /* [n_stages] of the place; moments 0: not asked for yet */
    unsigned at;
};

struct search_place {
    uint32_t family;
    unsigned kind;
    struct search_numbers *numbers; /* by micro-batch */
    uint64_t stages[SEARCH_STAGES]; /* [n_stages] those that may be the fullest */
    unsigned n_stages;
    uint8_t *fullest; /* by zero and recompute, 1 + which of them was; 0: not known */
    struct search_crowd *crowd;
    struct floor_chunks chunks; /* n 0: not asked for yet */
    double **least_s;           /* steps as the crowd's floors are; 0: not known */
};

/* The list of a combination; the bounds keep one of each kind. */
struct search_list *search_list_of(struct search_bounds *bounds,
                                   const struct search_place *place, const struct plan *plan,
                                   const uint8_t index[SEARCH_KEYS]);

/* What search_floor.c keeps of a place; one crowd of each cp. */
void search_floor_open(struct search_bounds *bounds, const struct plan *plan,
                       struct search_place *place, struct arena *arena);

#endif
