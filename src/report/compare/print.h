/* A comparison of two predictions printed: text, JSON, CSV. */
#ifndef MOEPLAN_REPORT_COMPARE_PRINT_H
#define MOEPLAN_REPORT_COMPARE_PRINT_H

#include "report/provenance.h"
#include "sim/answer/compare.h"

struct compare_view {
    const struct comparison *comparison;
    const struct prediction *a, *b;
    struct provenance provenance_a, provenance_b;
    size_t top; /* rows of a table as text; the others stand in one row, summed */
    FILE *out;
    const struct term *term;
    struct arena *arena;
};

void compare_print_text(const struct compare_view *view);
void compare_print_json(const struct compare_view *view);
void compare_print_schema(FILE *out);                    /* of the JSON */
void compare_print_csv(const struct compare_view *view); /* one row per total, category, buffer
                                                          * and op */

#endif
