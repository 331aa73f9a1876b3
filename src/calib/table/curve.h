/* Measured kernels and collectives beside the forms of sim/time/form.h.
 *
 * A table (models/published) holds families: rows that one set of constants explains, such as
 * an engine's call for bf16 experts. A family has a form: which constants of a profile it
 * reads, within which physical bounds, and how they become seconds. Reading a table turns each
 * measured value into a point with what the form needs of it (rows of the fullest rank,
 * experts hit, bytes on a link), so that fitting and validating are loops over points. */
#ifndef MOEPLAN_CALIB_TABLE_CURVE_H
#define MOEPLAN_CALIB_TABLE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"
#include "plan/data/profile.h"
#include "sim/time/form.h"

enum { CURVE_CONSTANTS = 12, CURVE_TILES = 5 };

/* A constant of a form: the row of a profile it is, and what it may be. */
struct curve_constant {
    enum profile_item of; /* PROFILE_COLLECTIVE stands for the family's own */
    enum profile_quantity is;
    int level;    /* enum profile_level, or PROFILE_ANY */
    double place; /* on a curve by ranks; 0: one value */
    double start, low, high;
};

/* What the forms read of one measured value. */
struct curve_point {
    struct form_device device;
    struct form_experts_call experts;
    double padded[CURVE_TILES]; /* rows in tiles of curve_tiles[i] rows */
    struct form_gemm gemm;
    double messages, bytes, link, ranks; /* of a collective */
    struct form_exchange_bytes exchange;
    bool nodes; /* several */
};

extern const double curve_tiles[CURVE_TILES]; /* 16 to 256 rows */

struct curve_form {
    const char *name; /* "experts" */
    const char *size; /* what a value's size counts: "tokens" */
    const char *what; /* which ops its constants price, for people */
    const struct curve_constant *constants;
    size_t n_constants;
    double (*seconds)(const double *constants, const struct curve_point *point);
    double (*roofline)(const struct curve_point *point); /* 70 % of every peak and bandwidth */
};

struct curve_value {
    const char *row;            /* "h100/Mixtral-8x7B/ep 1/balanced/512 tokens" */
    const char *quantity;       /* "experts_s", "tflop_s" */
    const char *device, *model; /* model: "" where a family knows none */
    uint32_t configuration;     /* values of one layout, all sizes of it */
    double size;                /* tokens, bytes, rows or ranks, as the form says */
    double seconds;
    double amount; /* what the table prints is amount / seconds; 0: the seconds */
    struct curve_point point;
};

struct curve_family {
    const char *profile;
    enum profile_item of;
    int path, compute, level; /* PROFILE_ANY: every */
    const char *name;         /* "sglang-hopper/deepep/fp8" */
    const struct curve_form *form;
    const uint32_t *values; /* [n] into the table's */
    size_t n;
};

struct curve_table {
    const char *name; /* "moe_kernels_hopper" */
    const struct curve_value *values;
    size_t n;
    const struct curve_family *families;
    size_t n_families;
};

/* Whether a table has the columns of one of the forms. */
bool curve_is_table(const struct csv *csv);

/* Reads such a table. STATUS_INPUT, at file:line, for a row that cannot be read. Everything
 * lives in the arena, which must outlive the table. */
enum status curve_read(const struct csv *csv, struct arena *arena, struct curve_table *table,
                       struct err *err);

/* A family's constants from its profile, [n_constants]. STATUS_INPUT naming a constant that the
 * profile does not have. */
enum status curve_constants(const struct curve_family *family, const struct profile *profile,
                            double *constants, struct err *err);

/* ---- the measured rank's rows ---- */

/* A timed call as its row describes it. Source: models/README.md. */
struct curve_call {
    uint64_t tokens, experts, top_k, ranks;
    uint64_t groups,
        kept;          /* the engine's router keeps so many groups of experts; 0: has none */
    bool remote_first; /* the call has the tokens that reach the rank, and their choices of
                        * other ranks' experts run on its first one */
};

/* Rows of the measured rank as the publisher of the kernel tables draws them, averaged over
 * samples: `routing` is "balanced", "uniform" (the same), "power_law_A" or "power_law_A_eplb".
 */
struct curve_rows {
    double tokens; /* of the call */
    double rows, hit;
    double padded[CURVE_TILES];
};

struct curve_routing; /* keeps what was drawn */
struct curve_routing *curve_routing_create(struct arena *arena);

/* Whether the word is one of those above. */
bool curve_routing_is(const char *word);

/* False when the word is unknown, or nothing can be routed so: no tokens or too many, experts
 * that are not shared out evenly, more chosen than there are. */
bool curve_routing_rows(struct curve_routing *routing, const char *word,
                        const struct curve_call *call, struct curve_rows *rows);

/* ---- forms, in curve_forms.c ---- */

extern const struct curve_form curve_experts, curve_gemm, curve_collective, curve_peers,
    curve_staged, curve_direct;

#endif
