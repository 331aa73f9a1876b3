/* What a document prints, as something to compare with: a number with its printed precision, a
 * range, a bound, or words. */
#ifndef MOEPLAN_CALIB_CLAIM_CLAIM_VALUE_H
#define MOEPLAN_CALIB_CLAIM_CLAIM_VALUE_H

#include <stdbool.h>

#include "base/arena.h"

enum claim_verdict { CLAIM_AGREES, CLAIM_DIFFERS, CLAIM_NOT_REPRODUCIBLE };

const char *claim_verdict_name(enum claim_verdict verdict); /* "not reproducible" */

/* "1,091" "~2.4" "400-500" "400+": what rounds to it lies within [low, high]. A "~" before a
 * whole number says that its trailing zeros are not meant: ~40 is anything from 35 to 45. */
struct claim_printed {
    bool number;
    double low, high;       /* high may be HUGE_VAL */
    double at_low, at_high; /* the printed ends themselves; errors are relative to the nearer */
};

/* Anything that does not read as a number in one of these forms is words. */
struct claim_printed claim_read(const char *text);

/* Half a unit of the last printed digit of a plain number; 0 for other texts. */
double claim_half_digit(const char *text);

/* What was done to answer: a claim that is only looked up or divided agrees more easily than
 * one that is predicted. */
enum claim_basis {
    CLAIM_PREDICTED,  /* by the functions that predict plans */
    CLAIM_FITTED,     /* the same with constants that were fitted to such values */
    CLAIM_BOUNDED,    /* by a bound: it can be violated, but does not confirm */
    CLAIM_ARITHMETIC, /* on figures that the document prints */
    CLAIM_LOOKED_UP,  /* in the model's or the plan's own description */
    CLAIM_UNANSWERED,
    CLAIM_BASES
};

const char *claim_basis_name(enum claim_basis basis); /* "prediction", "look-up" */

enum claim_kind {
    CLAIM_NOTHING, /* cannot be computed from what the document gives */
    CLAIM_NUMBER,
    CLAIM_AT_LEAST, /* a bound can be violated, but it does not confirm */
    CLAIM_AT_MOST,
    CLAIM_WORDS
};

struct claim_answer {
    enum claim_kind kind;
    double number;    /* base units */
    double spread;    /* what rounding of the printed inputs may change, or its interval */
    bool fitted;      /* by constants that were fitted to such values */
    const char *text; /* CLAIM_WORDS */
    const char *note; /* what the number was made of, or NULL */
};

struct claim_comparison {
    enum claim_verdict verdict;
    bool has_error;
    double error_percent; /* of numbers: predicted over published - 1 */
};

/* Agrees: equal words; a number that rounds to what was printed, give or take `tolerance` (a
 * share of the printed value) and the spread. A bound that the printed value violates differs,
 * one that it keeps says nothing: not reproducible. unit: base units per printed one. */
struct claim_comparison claim_compare(const char *published, double unit, double tolerance,
                                      const struct claim_answer *answer);

/* The answer as the published value is written: in its unit, at least six digits. */
const char *claim_print(const struct claim_answer *answer, double unit, struct arena *arena);

#endif
