/* Loads: rows per expert and per rank over the steps of an expert-parallel group.
 *
 * Gaussian steps or exact samples. Percentiles over experts are of rows in the whole group
 * (physical experts), interpolated linearly, averaged over steps. Pure. */
#ifndef MOEPLAN_SIM_MOE_LOAD_H
#define MOEPLAN_SIM_MOE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/progress.h"
#include "work/rows/align.h"
#include "work/rows/rows.h"

enum load_method { LOAD_GAUSS, LOAD_EXACT };

const char *load_method_name(enum load_method method); /* "gaussian", ... */

/* A quantity over steps. expected: mean; p99: 99th percentile over steps; worst: certified. */
struct load_range {
    uint64_t expected, p99, worst;
};

struct load {
    enum load_method method;
    uint64_t samples; /* steps */
    uint64_t rows;    /* of the group: T R K */
    double mean, cv;  /* rows per expert */
    double p10, p50, p90, p99, max;
    double rank_imbalance;      /* fullest rank / mean */
    double imbalance_p99;       /* over steps */
    struct load_range heaviest; /* rows of the fullest rank */
    struct load_range received; /* tokens received, fullest rank */
    struct load_range padded;   /* aligned rows, fullest rank */
    struct load_range hot_expert;
    double distinct_ranks, distinct_nodes; /* destinations per token */
    double exact_padding; /* aligned rows of the group / rows; 1 without a rule */
    double blocks;        /* alignment blocks that hold rows, per rank, mean */
};

struct load_ask {
    enum load_method method;
    uint64_t samples;
    enum align_kind align_kind;
    uint64_t align;    /* rows; 0: no padding asked */
    struct pool *pool; /* or NULL */
    struct progress progress;
};

/* The closest method that is valid and cheap: exact when `exact` or when Gaussian steps are not
 * valid, Gaussian otherwise. */
enum load_method load_choose(const struct rows *rows, bool exact);

/* Memory from the arena. */
void load_of(const struct rows *rows, const struct load_ask *ask, struct arena *arena,
             struct load *out);

#endif
