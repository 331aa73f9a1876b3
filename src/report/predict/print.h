/* A prediction printed: one screen of text, the JSON of the contract, CSV of its buffers. */
#ifndef MOEPLAN_REPORT_PREDICT_PRINT_H
#define MOEPLAN_REPORT_PREDICT_PRINT_H

#include "base/column.h"
#include "plan/read/load.h"
#include "report/provenance.h"
#include "sim/answer/predict.h"
#include "sim/step/plan_spans.h"

/* What is printed, and where. */
struct predict_view {
    const struct plan *plan;
    const struct origins *origins; /* where values came from; NULL: not said */
    const struct prediction *prediction;
    const struct plan_spans *spans; /* its step along time; NULL: not asked for */
    struct provenance provenance;
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void predict_print_text(const struct predict_view *view);
void predict_print_json(const struct predict_view *view);
/* JSON Schema of what predict_print_json writes; memory from the arena. */
void predict_print_schema(FILE *out, struct arena *arena);

void predict_print_csv(const struct predict_view *view); /* one row per buffer */

/* --buffers: every buffer with shape, formula, expected and worst bytes. */
void predict_print_buffers(const struct predict_view *view);

/* --ops: every op of one rank's step. */
void predict_print_ops(const struct predict_view *view);

/* --why: what the step's time is made of. */
void predict_print_why(const struct predict_view *view);

/* "time" of the contract. */
void predict_json_time(struct json *json, const struct predict_view *view);
const struct column *predict_time_columns(size_t *n); /* struct time_report */
const struct column *constant_table(size_t *n);       /* struct time_sensitivity */
void predict_schema_time(struct json *json);

/* "comm": what crosses links, op by op; bytes of one rank, layer and micro-step. */
void predict_json_comm(struct json *json, const struct ops_report *ops);

/* ---- the columns, shared by all of them ---- */

const struct column *buffer_columns(size_t *n);   /* struct buffer_report: JSON and CSV */
const struct column *buffer_table(size_t *n);     /* the same for --buffers */
const struct column *op_columns(size_t *n);       /* struct op_report: JSON and CSV */
const struct column *op_table(size_t *n);         /* the same for --ops */
const struct column *comm_columns(size_t *n);     /* struct op_report: what it sends */
const struct column *ops_columns(size_t *n);      /* struct ops_report: whose ops they are */
const struct column *category_columns(size_t *n); /* struct category_bytes */
const struct column *wall_columns(size_t *n);     /* struct buffer_report: one that is named */
const struct column *peak_columns(size_t *n);     /* struct peak_report */
const struct column *stage_columns(size_t *n);    /* struct stage_memory */
const struct column *pool_columns(size_t *n);     /* struct pool_report */
const struct column *trade_columns(size_t *n);    /* struct capacity_point */
const struct column *block_columns(size_t *n);    /* struct block_choice */
const struct column *note_columns(size_t *n);     /* struct note */

/* A section of the JSON contract that is one object of a part of struct prediction. */
struct predict_section {
    const char *key;
    const struct column *columns;
    size_t n_columns;
    size_t offset;                                        /* of the part in struct prediction */
    bool (*present)(const struct prediction *prediction); /* NULL: always */
};

const struct predict_section *predict_sections(size_t *n);

/* The objects of "time", by their dotted names; of a prediction whose time was asked for. */
const struct predict_section *predict_time_sections(size_t *n);

/* Members of "memory" before its lists; the second table only when there is a distribution. */
const struct column *memory_columns(size_t *n);
const struct column *distribution_columns(size_t *n);

#endif
