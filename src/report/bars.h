/* Parts of a total as rows: name, amount, percent, bar. */
#ifndef MOEPLAN_REPORT_BARS_H
#define MOEPLAN_REPORT_BARS_H

#include <stdio.h>

#include "base/term.h"
#include "report/amount.h"

struct bar {
    const char *name;
    uint64_t bytes;
};

enum {
    BARS_MAX = 10
}; /* rows; the smallest parts beyond are a row "other", as are several tiny ones */

/* A heading with the columns' units, then rows in the order given, indented by two; bars are
 * relative to the largest part. Memory for the layout comes from the arena. */
void bars_print(FILE *out, const struct term *term, const char *heading, const struct bar *bars,
                size_t n, struct scale scale, struct arena *arena);

#endif
