/* What predict says about routing, padding, intensity and decode of one MoE layer.
 *
 * Rows are of one layer and one micro-step. Reals that do not apply are NaN: printers leave
 * them out. Pure; memory from the arena. */
#ifndef MOEPLAN_SIM_MOE_PREDICT_MOE_H
#define MOEPLAN_SIM_MOE_PREDICT_MOE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/progress.h"
#include "plan/plan.h"
#include "sim/moe/capacity.h"
#include "sim/moe/decode.h"
#include "sim/moe/intensity.h"
#include "sim/moe/load.h"
#include "work/rows/rows.h"

enum { RECOVERY_STEPS = 500 };

struct routing_report {
    uint64_t rows; /* token-expert pairs of the expert-parallel group */
    double rows_per_expert_mean, rows_per_expert_p10, rows_per_expert_p50;
    double rows_per_expert_p90, rows_per_expert_p99, rows_per_expert_max;
    double load_cv;
    double rank_imbalance,
        rank_imbalance_p99;                  /* fullest rank / mean: mean and p99 over steps */
    double drop_fraction, drop_fraction_p99; /* of rows */
    double distinct_ranks, distinct_nodes;   /* destinations of a token */
    uint64_t heaviest_rows_expected, heaviest_rows_p99, heaviest_rows_worst;
    uint64_t received_expected, received_p99, received_worst; /* tokens, duplicates removed */
    double placement_imbalance_before, placement_imbalance_after; /* EPLB, expected loads */
    /* cold start with --exact: the loss-free bias at DeepSeek-V3's rate, fullest expert / mean
     */
    double recovery_before, recovery_after;
    uint64_t recovery_steps; /* until 1.5, 0: not within RECOVERY_STEPS */
    const char *method;      /* "gaussian", "exact sample" */
    uint64_t samples;
};

struct padding_report {
    const char *rule, *formula; /* the system's alignment rule, and what it allocates */
    uint64_t alignment;
    double exact_factor;     /* rows after alignment / rows, sampled */
    double allocated_factor; /* rows the system reserves / rows, at the mean rows of a rank */
    uint64_t blocks_provisioned, blocks_document; /* blockwise: tight, and seed 002's formula */
    double blocks_expected;                       /* that hold rows, per rank */
    double blocks_executed;                       /* with the plan's dynamic loop */
    uint64_t block_size;
    double token_rows_skipped; /* share of token loads that skipping saves */
    double weight_loads;       /* of expert weights per rank, with the plan's skipping */
    uint64_t rounds;           /* chunked: static rounds */
    double rounds_expected;    /* chunked: dropless */
};

struct intensity_report {
    double aif, flop_per_byte, ridge_flop_per_byte;
    const char *bound; /* "memory", "compute", or NULL when the ridge is unknown */
    uint64_t smallest_compute_bound_block; /* 0: none of the choices, or not blockwise */
    struct block_choice blocks[BLOCK_CHOICES];
    bool has_blocks;
};

struct moe_report {
    bool has_routing, has_padding, has_intensity, has_decode;
    struct routing_report routing;
    struct padding_report padding;
    struct intensity_report intensity;
    struct decode decode;
    struct capacity_point trade[CAPACITY_POINTS];
    unsigned n_trade;    /* 0 unless the path drops */
    const char **advice; /* one sentence each */
    size_t n_advice;
};

struct predict_moe_options {
    const struct routing_data *routing; /* files the plan names, or NULL */
    const struct rows *rows;            /* the plan's sampler when it stands already, or NULL */
    double lost;                        /* share of rows beyond a receive buffer that drops */
    bool exact;                         /* exact sampling even where it is not needed */
    bool drops_mean;     /* no drop_fraction_p99 where the law has the mean: it takes samples */
    uint64_t free_bytes; /* of a rank's memory limit, for advice */
    struct pool *pool;   /* for the samples, or NULL */
    struct progress progress; /* of the samples */
    struct rows_known *known; /* where samples of drops are kept, or NULL */
};

/* Nothing is present when the model has no routed experts. STATUS_INPUT when the routing cannot
 * be sampled (data missing, impossible groups). */
enum status predict_moe(const struct plan *plan, const struct predict_moe_options *options,
                        struct arena *arena, struct moe_report *out, struct err *err);

/* What a sampler was made of, and where samples of its drops are kept; NULL: nowhere. */
struct demand_key;
struct drops_from {
    const struct demand_key *key;
    struct rows_known *known;
};

/* The drop_fraction of that record alone, of a plan that is routed by a path with capacity and
 * whose receive buffers lose nothing: it follows from the sampler and the unit. Samples only
 * where the law of drops is not close. */
double predict_drops(const struct rows *rows, const struct capacity_unit *unit,
                     const struct drops_from *from, struct arena *arena);

#endif
