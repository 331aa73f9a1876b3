/* Routing: (T, K, E, R, distribution, placement, seed) into rows per expert and rank.
 *
 * Every token picks K distinct experts: successive draws without replacement with chances p_e
 * (the law of Gumbel top-K). Counter-based: token t of source rank r in step s always picks the
 * same experts, whatever is sampled before, beside or on how many threads. Three ways to the
 * same law: exact per-token sampling (alias table and rejection), a Gaussian step (rows_gauss),
 * and moments in closed form (struct rows_law). sim and exec take their rows from here.
 *
 * Sources: Rosen 1972 and Hajek 1964 on successive and rejective sampling. */
#ifndef MOEPLAN_WORK_ROWS_ROWS_H
#define MOEPLAN_WORK_ROWS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/data/trace.h"
#include "work/rows/crossing.h"
#include "work/rows/placement.h"

enum {
    ROWS_BURST_RUN = 64, /* tokens of a burst that are routed alike: variance grows by it */
    ROWS_FEW = 16,       /* fewer rows than this expected: Poisson's law, not the normal one */
    ROWS_PILOT = 2048,   /* tokens from which a law without closed form is estimated */
    ROWS_DRAWS = 1024,   /* most popularities that are drawn; more samples begin again */
    ROWS_BINS = 1024     /* of the table of normal quantiles */
};

/* Parts of laws that samplers have in common: what tokens choose, whatever ranks hold the
 * experts, and what they touch where as many ranks do. Filled by rows_prepare; the caller's, of
 * one thread; {0} knows nothing yet. Kept are copies: a sampler outlives it. */
struct rows_part;
struct rows_known {
    struct arena arena;
    struct rows_part *parts;
    size_t n;
};

void rows_known_release(struct rows_known *known);

struct rows_spec {
    uint64_t tokens; /* T: per source rank and step, at most */
    uint64_t all; /* of all ranks, where these have no T each: the first ones have one more than
                   * the others where it does not divide; 0: T R */
    uint64_t top_k, experts; /* K of E logical experts */
    uint64_t ranks;          /* R of the expert-parallel group */
    uint64_t ranks_per_node; /* of them in one node; 0: all */
    uint64_t redundant;      /* extra physical experts */
    struct router router;    /* groups, top_groups, score, bias: group-limited choice */
    struct routing routing;
    enum scenario scenario;
    bool balanced;     /* moe.buffer balanced: balance is asserted, no distribution is read */
    bool nodes_unread; /* nobody reads what tokens touch of nodes: laws leave it 0 */
    struct routing_data data;
    struct rows_known *known; /* while it is prepared, or NULL: every part is worked out */
};

/* Tokens of a step, of all source ranks and of one. */
uint64_t rows_tokens(const struct rows_spec *spec);
uint64_t rows_tokens_of(const struct rows_spec *spec, uint64_t rank);

/* Ranks of the plan's expert-parallel group in one node, at least 1. */
uint64_t rows_per_node(const struct plan *plan);

/* T, K, E, R and routing of a plan. data may be NULL when the plan names no file. */
void rows_spec_from_plan(const struct plan *plan, const struct routing_data *data,
                         struct rows_spec *spec);

/* Moments of the choice of one token. Covariance: diag(d) - d d' / sum(d), within groups of
 * experts when the choice is group-limited, plus lift lift' when a hot rank exists. */
struct rows_law {
    double *pi;    /* [E] chance that a token picks the expert; sums to K */
    double *d;     /* [E] Hajek's d */
    double *sum_d; /* [groups] */
    double *mean;  /* [groups] sums of pi */
    double *kept;  /* [groups] chance that a token keeps the group, or NULL */
    double *root;  /* [E] sqrt(d) */
    double *lift;  /* [E], or NULL */
    double
        *group; /* [groups][groups] lower Cholesky factor of the groups' covariance, or NULL */
    double *touch;            /* [R] chance that a token has an expert on the rank */
    double *slope, *residual; /* [R] tokens received given the rows: regression, sd per token */
    double *node_mean;        /* [nodes] rows of a token on a node */
    double *node_touch, *node_slope, *node_residual; /* [nodes] as of ranks */
    double distinct_ranks, distinct_nodes;           /* per token, means */
};

enum rows_kind {
    ROWS_FLAT,     /* successive draws over all experts */
    ROWS_GROUPED,  /* the best groups first, then draws inside them */
    ROWS_HOT,      /* a share of the tokens goes to rank 0 */
    ROWS_FIXED,    /* all tokens alike */
    ROWS_RECORDED, /* recorded indices, replayed */
    ROWS_BALANCED, /* dealt round in turn: every expert the same, to one row */
    ROWS_KIND_COUNT
};

struct rows_alias; /* alias tables of one law */

/* Prepared once, then read only: threads share it. */
struct rows {
    struct rows_spec spec;
    enum rows_kind kind;
    struct expert_map map;
    uint64_t groups;          /* 1 unless group-limited */
    unsigned n_laws;          /* layers of a trace, or popularities drawn; else 1. Step s uses
                                 law s mod n_laws */
    struct rows_law *laws;    /* [n_laws] */
    struct rows_alias *alias; /* [n_laws]; NULL for uniform chances */
    double *p;                /* [n_laws][E] popularity, sums to 1 */
    double *log_weight;       /* [n_laws][E] log of it, up to a constant */
    int32_t *hot;             /* [E] experts of rank 0 first, then the others */
    uint64_t n_hot;           /* experts of rank 0 */
    double hot_share;         /* chance that a token goes there */
    uint64_t run;             /* tokens routed alike: 1, or ROWS_BURST_RUN */
    uint32_t *node;           /* [R] of each rank */
    double *normal;           /* [ROWS_BINS + 1] quantiles of the normal law */
};

/* Scenarios: steady takes the distribution; cold replaces it by log-normal with sigma pi/sqrt 6
 * (half of an untrained router's logit variance is shared by all tokens); burst routes runs of
 * ROWS_BURST_RUN tokens alike; profile_run sends every token to the same experts of rank 0.
 * hot_rank: a token goes with chance `share` to as many experts of rank 0 as it can, else
 * uniformly. Hot ranks and recorded indices do not look at router groups.
 * STATUS_INPUT when data and spec do not agree. Memory from the arena. */
enum status rows_prepare(const struct rows_spec *spec, struct arena *arena, struct rows *out,
                         struct err *err);

/* A group of experts that is kept for a token (group-limited choice). */
struct rows_head {
    double second;  /* time of its second arrival */
    double mass;    /* popularity of the experts that have not arrived */
    uint64_t base;  /* its first expert */
    int32_t expert; /* first arrival, -1 while not drawn */
    uint32_t used;  /* arrivals chosen */
};

struct rows_arrivals;

/* Working memory of one thread, from that thread's arena. */
struct rows_scratch {
    uint32_t clock;
    uint32_t *stamp; /* [E] clock at which an expert was picked */
    uint32_t rank_clock;
    uint32_t *rank_stamp, *node_stamp; /* [R] */
    uint32_t *counts;                  /* [E] */
    uint64_t *seen;                    /* [E] occurrences, for replicas */
    uint32_t *words;                   /* random words of a chunk of tokens */
    uint32_t *noise;                   /* [E] random words of a step */
    int32_t *ids, *replicas;           /* experts of a chunk of tokens */
    double *keys;                      /* [max(E, 2 R)] */
    struct rows_arrivals *arrivals;    /* [groups] of a few tokens */
    struct rows_head *heads;           /* [groups] those that stay */
    double *firsts;                    /* [groups] times of their first arrivals */
    uint32_t *time_words;              /* random words of waiting times */
    double *times;                     /* waiting times of a chunk of tokens */
};

void rows_scratch_init(const struct rows *rows, struct arena *arena,
                       struct rows_scratch *scratch);

/* Experts of n tokens from `first` on, of source rank `rank` in step `step`: ids [n][K],
 * logical, in the order of the choice (best first). */
void rows_sample_tokens(const struct rows *rows, uint64_t step, uint64_t rank, uint64_t first,
                        uint64_t n, struct rows_scratch *scratch, int32_t *ids);

/* Replicas of the experts in ids [n][K]: the j-th occurrence of an expert goes to its replica
 * j mod count. seen [E] counts occurrences: zero before a source rank's first token. */
void rows_assign_replicas(const struct rows *rows, const int32_t *ids, uint64_t n,
                          uint64_t *seen, int32_t *replicas);

/* One step of the whole group. Arrays that are NULL are not filled, and cost nothing. */
struct rows_step {
    uint64_t *expert;   /* [E] rows per logical expert */
    uint64_t *replica;  /* [P] rows per physical expert */
    uint64_t *rank;     /* [R] rows a rank receives, from itself included */
    uint64_t *received; /* [R] tokens a rank receives, one per token */
    uint64_t *node;     /* [nodes] tokens that a node receives, one per token */
    uint64_t *matrix;   /* [R][P] rows from a source rank to a replica */
    uint64_t *pairs;    /* [R][R] tokens from a source to a destination rank, one per token */
    struct crossing *crossing; /* set by the caller; its map is of as many ranks per node */
    double distinct_ranks, distinct_nodes; /* per token; with `received` only */
};

enum { ROWS_WANT_RECEIVED = 1, ROWS_WANT_MATRIX = 2, ROWS_WANT_PAIRS = 4, ROWS_WANT_NODES = 8 };

/* Nodes of the group, the last one not full where they do not divide it. */
uint64_t rows_nodes(const struct rows *rows);

/* Arrays for a step: expert, replica and rank always, the rest as wanted. */
void rows_step_init(const struct rows *rows, unsigned want, struct arena *arena,
                    struct rows_step *out);

/* The exact sample of a step. */
void rows_sample_step(const struct rows *rows, uint64_t step, struct rows_scratch *scratch,
                      struct rows_step *out);

/* The Gaussian step: T R pi plus noise of the law's covariance, rounded, sum T R K; experts
 * with fewer than ROWS_FEW rows expected (or missing) are drawn by Poisson's law. Fills expert,
 * replica, rank, received and node; matrix and pairs must be NULL, crossing is not counted. */
void rows_gauss_step(const struct rows *rows, uint64_t step, struct rows_scratch *scratch,
                     struct rows_step *out);

/* Whether Gaussian steps are close: ROWS_FEW rows per expert on average, and no recorded
 * indices. Their statistics agree with exact sampling to 0.5 % then. */
bool rows_gauss_valid(const struct rows *rows);

/* Whether popularity itself is drawn (lognormal, dirichlet, a cold router): under per_step then
 * every sampled layer and step has its own, as no two layers of a model share theirs. */
bool rows_popularity_is_drawn(const struct rows_spec *spec);

/* Upper bound of the chance that some rank of the group receives more than `room` rows of one
 * layer, by Hoeffding's inequality (1963, theorem 1) for each rank and the sum over them:
 * tokens choose independently, each brings 0 to min(K, e) rows. 1 where nothing is known about
 * the law: recorded indices, drawn popularity, a piloted law with skew. */
double rows_tail(const struct rows *rows, uint64_t room);

/* ---- closed forms ---- */

/* Rosen's approximation of the chance to be among k successive draws: 1 - exp(-p_e t), t such
 * that they sum to k. Returns t. pi may be NULL. */
double rows_rosen(const double *p, uint64_t n, uint64_t k, double *pi);

/* Exact, by quadrature to about 1e-5: the chance that a token has at least one of its k experts
 * in each of n_sets sets; set_of[e] is the set of expert e. With every expert its own set these
 * are the inclusion chances. */
void rows_touch(const double *p, uint64_t n, uint64_t k, const uint32_t *set_of,
                uint64_t n_sets, double *touch);

/* The same for several partitions of the experts at once, whose arrivals are alike. */
struct rows_sets {
    const uint32_t *set_of; /* [n] below n */
    uint64_t n;
    double *touch; /* [n] */
};

void rows_touch_all(const double *p, uint64_t n, uint64_t k, const struct rows_sets *sets,
                    size_t n_sets);

/* The same for uniform choice: 1 - C(E - size, k) / C(E, k). */
double rows_touch_uniform(uint64_t experts, uint64_t k, uint64_t size);

/* Hajek's d: d = pi (1 - pi) / (1 - d / sum d). Returns the sum. */
double rows_hajek(const double *pi, uint64_t n, double *d);

/* ---- ceilings of what a rank can receive (buffers.md 1.2) ---- */

struct rows_ceilings {
    uint64_t tokens; /* W1 = T R: one row per token */
    uint64_t rows;   /* W2 = T R min(K, e): one per token and local expert, tight */
    uint64_t loose;  /* W3 = T R K */
};

/* local: e, experts on the fullest rank. Saturates at UINT64_MAX. */
struct rows_ceilings rows_ceilings(uint64_t tokens, uint64_t ranks, uint64_t top_k,
                                   uint64_t local);

#endif
