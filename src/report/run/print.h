/* A run printed: one screen of text, the JSON of the contract, CSV of its ops. */
#ifndef MOEPLAN_REPORT_RUN_PRINT_H
#define MOEPLAN_REPORT_RUN_PRINT_H

#include "base/column.h"
#include "calib/run/run.h"
#include "report/provenance.h"

struct run_view {
    const struct plan *plan;
    const struct run_report *report;
    struct provenance provenance;
    const char *step;   /* of an engine, where its plan does not say it, or NULL */
    const char *shrunk; /* how --shrink changed the plan, or NULL */
    const char *share;  /* what of a layer split by tp or etp is performed, or NULL */
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void run_print_text(const struct run_view *view);
void run_print_json(const struct run_view *view);
void run_print_schema(FILE *out);                /* of the JSON */
void run_print_csv(const struct run_view *view); /* one row per op */

/* ---- the columns, shared by all of them ---- */

const struct column *run_op_columns(size_t *n);    /* struct run_op: JSON and CSV */
const struct column *run_op_table(size_t *n);      /* the same on a screen */
const struct column *run_check_columns(size_t *n); /* struct check */
const struct column *run_fix_columns(size_t *n);   /* struct run_fix */
const struct column *run_category_columns(size_t *n);
const struct column *run_place_columns(size_t *n); /* struct run_place */

/* An object of the JSON that is one part of struct run_report. */
struct run_section {
    const char *key;
    const struct column *columns;
    size_t n_columns;
    size_t offset; /* of the part in struct run_report */
};

extern const struct run_section run_section_machine, run_section_memory, run_section_time,
    run_section_rows, run_section_loads, run_section_setup;

/* A buffer of the process, for --dry-run. */
struct run_buffer {
    const char *name, *category, *dtype, *rule;
    unsigned n_dims;
    uint64_t dims[WORK_DIMS]; /* of the process's first rank */
    uint64_t bytes;           /* of the first rank, copies included */
    const char *formula;
};

/* The buffers of the list, largest first; memory from the arena. */
struct run_buffer *run_buffers(const struct run_report *report, struct arena *arena, size_t *n);
const struct column *run_buffer_columns(size_t *n);

#endif
