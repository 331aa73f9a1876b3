/* Loads: rows per expert and per rank over the steps of an expert-parallel group.
 *
 * Closed forms (normal order statistics over the law's moments), Gaussian steps, or exact
 * samples. Percentiles over experts are of rows in the whole group (physical experts),
 * interpolated linearly, averaged over steps. Pure. */
#ifndef MOEPLAN_SIM_MOE_LOAD_H
#define MOEPLAN_SIM_MOE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/progress.h"
#include "work/rows/align.h"
#include "work/rows/rows.h"

enum load_method { LOAD_CLOSED, LOAD_GAUSS, LOAD_EXACT };

const char *load_method_name(enum load_method method); /* "closed form", ... */

/* What memory, padding and time ask about the heaviest rank of one step. */
struct load_step {
    uint64_t rows;       /* rows of the fullest rank */
    uint64_t received;   /* tokens of the rank that receives most, one per token */
    uint64_t padded;     /* aligned rows of the rank that has most of them */
    uint64_t hot_expert; /* rows of the fullest physical expert */
    double imbalance;    /* fullest rank / mean */
};

/* A quantity over steps. expected: mean; p99: 99th percentile over steps; worst: certified. */
struct load_range {
    uint64_t expected, p99, worst;
};

struct load {
    enum load_method method;
    uint64_t samples; /* steps; 0 for closed forms */
    uint64_t rows;    /* of the group: T R K */
    double mean, cv;  /* rows per expert */
    double p10, p50, p90, p99, max;
    double rank_mean, rank_cv, rank_imbalance; /* rows per rank; fullest / mean */
    double imbalance_p99;                      /* over steps */
    struct load_range heaviest;                /* rows of the fullest rank */
    struct load_range received;                /* tokens received, fullest rank */
    struct load_range padded;                  /* aligned rows, fullest rank */
    struct load_range hot_expert;
    double distinct_ranks, distinct_nodes; /* destinations per token */
    double exact_padding;    /* aligned rows of the group / rows; 1 without a rule */
    double blocks;           /* alignment blocks that hold rows, per rank, mean */
    struct load_step *steps; /* [samples], or NULL */
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

/* ---- order statistics of independent normals ---- */

/* Expected value of the percentile q over n normals of the given means and standard deviations
 * (Blom's positions in the mixture's distribution). */
double load_normal_percentile(const double *mean, const double *sd, uint64_t n, double q);

/* Mean, and 99th percentile when p99 is not NULL, of the largest of n normals whose sum is
 * fixed. */
double load_normal_maximum(const double *mean, const double *sd, uint64_t n, double *p99);

#endif
