/* A failed allocation, or another program's report of its buffers, explained: text, JSON, CSV.
 */
#ifndef MOEPLAN_REPORT_EXPLAIN_PRINT_H
#define MOEPLAN_REPORT_EXPLAIN_PRINT_H

#include "base/column.h"
#include "report/provenance.h"
#include "sim/answer/memory_dump.h"

struct explain_view {
    const struct failure *failure;
    const struct prediction *prediction;
    const struct failure_match *matches; /* of what was wanted */
    size_t n;
    const struct failure_match *beyond; /* of what is in use beyond the prediction */
    size_t n_beyond;
    uint64_t top; /* matches that the text shows */
    struct provenance provenance;
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void explain_print_text(const struct explain_view *view);
void explain_print_json(const struct explain_view *view);
void explain_print_schema(FILE *out);                    /* of the JSON */
void explain_print_csv(const struct explain_view *view); /* one row per match */

struct dump_view {
    const struct memory_dump *dump;
    const struct dump_comparison *compared;
    const struct prediction *prediction;
    uint64_t top; /* rows of each table that the text shows */
    struct provenance provenance;
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void dump_print_text(const struct dump_view *view);
void dump_print_json(const struct dump_view *view);
void dump_print_csv(const struct dump_view *view); /* matches, then what matched nothing */

void dump_print_schema(FILE *out); /* of the JSON */

#endif
