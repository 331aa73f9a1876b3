/* What a sweep keeps of its points when it is asked for less than all: rows that stand beside
 * another verdict, the fastest, those that nothing beats, or numbers alone. Memory does not
 * grow with the points, only with what is kept. */
#ifndef MOEPLAN_SIM_SEARCH_SWEEP_KEEP_H
#define MOEPLAN_SIM_SEARCH_SWEEP_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/step/evaluate.h"

enum sweep_reduce {
    REDUCE_NOTHING,
    REDUCE_BOUNDARY, /* points whose verdict is not that of a neighbour along the last axis */
    REDUCE_PARETO,   /* fitting points that no other beats in both bytes and speed */
    REDUCE_TOP,      /* the fastest that fit */
    REDUCE_COUNT     /* how many points have each verdict */
};

enum {
    SWEEP_VERDICTS = VERDICT_OOM + 2,
    SWEEP_INVALID = VERDICT_OOM + 1,
    SWEEP_TOP_MOST = 10000
};

struct sweep_keep {
    enum sweep_reduce reduce;
    uint64_t top;  /* REDUCE_TOP: how many, up to SWEEP_TOP_MOST */
    bool marginal; /* marginal points count as fitting */
};

/* A point that stands for itself. */
struct sweep_best {
    double speed; /* of any unit: more is better */
    uint64_t bytes, point;
    char *row; /* its bytes of output; owned by what holds it */
    size_t length;
};

/* SWEEP_INVALID, or the verdict. */
unsigned sweep_verdict(const struct evaluation *result);

/* Whether a point can be among the best at all: it fits. */
bool sweep_can_be_best(const struct sweep_keep *keep, const struct evaluation *result);

/* Sorts n points (top: fastest first; pareto: least bytes first, equal ones in the order of the
 * sweep), moves those that stay to the front and returns their number. */
size_t sweep_best_cut(const struct sweep_keep *keep, struct sweep_best *points, size_t n);

/* Whether a point would be cut beside n that were. */
bool sweep_best_loses(const struct sweep_keep *keep, const struct sweep_best *cut, size_t n,
                      const struct sweep_best *point);

#endif
