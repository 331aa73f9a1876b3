/* The rows behind plan/read/unread.h. */
#ifndef MOEPLAN_PLAN_READ_UNREAD_TABLE_H
#define MOEPLAN_PLAN_READ_UNREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum { UNREAD_CONDITIONS = 6 };

enum condition_kind {
    CONDITION_END,   /* no condition */
    CONDITION_WORD,  /* a word or a switch: one of those whose bits are set */
    CONDITION_ABOVE, /* a number above `above`; of a list its length */
    CONDITION_ZERO,  /* a number that is 0 */
    CONDITION_OTHER  /* what `holds` says */
};

struct condition {
    enum condition_kind kind;
    const char *key; /* whose value decides */
    uint32_t words;  /* bit i: word i, of a switch 0 and 1 */
    uint64_t above;
    bool as_written; /* moe.path auto is not what the stack makes of it */
    bool (*holds)(const struct plan *plan);
    const char *text, *otherwise; /* CONDITION_OTHER: for help, and as a reason */
};

/* A key is read where all conditions of one of its rows hold; `never` in place of conditions:
 * predict does not read it at all, and why. */
struct unread_row {
    const char *key;
    struct condition when[UNREAD_CONDITIONS];
    const char *never;
};

extern const struct unread_row unread_rows[];
extern const size_t unread_rows_n;

#endif
