/* Two predictions side by side: what differs, in what they take, in bytes at the peak by
 * category and buffer and in work by op. Differences are those of B from A, the largest first;
 * the rows of a part sum to its total exactly. Pure; memory from the arena. */
#ifndef MOEPLAN_SIM_ANSWER_COMPARE_H
#define MOEPLAN_SIM_ANSWER_COMPARE_H

#include "sim/answer/predict.h"

enum compare_part {
    COMPARE_MEMORY,   /* the total */
    COMPARE_CATEGORY, /* bytes at the peak of each side */
    COMPARE_BUFFER,   /* the same by buffer, all copies */
    COMPARE_WORK,     /* the total of one rank's ops */
    COMPARE_OP
};

struct compare_count {
    uint64_t a, b;
    int64_t difference; /* b - a */
};

struct compare_seconds {
    double a, b, difference;
};

/* One thing that both sides may have; a side that does not have it counts 0. */
struct compare_row {
    enum compare_part part;
    const char *name;
    const char *segment, *phase; /* NULL: not applicable */
    const char *category;        /* of a buffer */
    struct compare_count bytes;  /* held at the peak; of ops: read and written in memory */
    /* of ops: of one micro-step, all layers of the stage; phase update: of one step */
    struct compare_count flop, sent;
    struct compare_seconds seconds; /* by the profile, one op after another */
};

/* A key of the plan whose resolved value differs, as `show` writes it. */
struct compare_key {
    const char *key, *a, *b;
};

/* One of the answer's figures of time that both sides have. */
struct compare_figure {
    const char *key;    /* as a prediction's JSON calls it */
    const char *label;  /* for people */
    bool is_rate;       /* a second; else seconds */
    double a, b, ratio; /* b / a */
};

struct compare_rows {
    struct compare_row total;
    struct compare_row *rows; /* those that differ in nothing included */
    size_t n;
};

struct comparison {
    struct compare_key *keys;
    size_t n_keys;
    struct compare_figure *time; /* where both sides are timed */
    size_t n_time;
    struct compare_rows categories, buffers; /* their totals are the same */
    bool has_ops;                            /* both sides list their ops */
    struct compare_rows ops;                 /* seconds of the total: the sum of the rows' */
};

struct compare_side {
    const struct plan *plan;
    const struct prediction *prediction;
};

/* Fills the comparison. Names point into the predictions. STATUS_INPUT when a sum over layers
 * does not fit 63 bits. */
enum status compare(const struct compare_side *a, const struct compare_side *b,
                    struct arena *arena, struct comparison *out, struct err *err);

/* Whether the two sides of a row are the same. */
bool compare_same(const struct compare_row *row);

/* Adds a row to another, for sums over rows. */
void compare_add(struct compare_row *sum, const struct compare_row *row);

const char *compare_part_name(enum compare_part part);

#endif
