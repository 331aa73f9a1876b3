/* Fixes, for people and programs: what they cost, what they need and their --set. */
#ifndef MOEPLAN_REPORT_FIXES_H
#define MOEPLAN_REPORT_FIXES_H

#include "base/arena.h"
#include "base/column.h"
#include "base/term.h"
#include "report/amount.h"
#include "sim/search/fix.h"

const struct column *fix_columns(size_t *n); /* struct fix */

/* "--set A --set B" */
const char *fix_options(const struct fix *fix, struct arena *arena);

struct fixes_page {
    FILE *out;
    const struct term *term;
    struct scale scale;
    struct arena *arena; /* for the time of the call */
    size_t most;         /* shown in all, where there are more than one a kind */
    unsigned room;       /* of a kind rather one that takes one line at most: 0 */
};

/* A heading and a line a fix: the first of every kind, then the next ones in their order; those
 * left out are counted. Nothing where there are none. */
void fixes_print(const struct fixes_page *page, const struct fix *fixes, size_t n_fixes);

#endif
