/* Predictions beside measurements, ours or published: the records of both kinds of tables. */
#ifndef MOEPLAN_CALIB_VALIDATE_VALIDATION_H
#define MOEPLAN_CALIB_VALIDATE_VALIDATION_H

#include <stdbool.h>

#include "calib/table/score.h"

/* agrees: equal words; a number within the error that its profile states (kernels), or its
 * stack (bytes), or within a time's own interval. */
enum validate_verdict { VALIDATE_AGREES, VALIDATE_DIFFERS, VALIDATE_NOT_PREDICTED };

const char *validate_verdict_name(enum validate_verdict verdict);

struct validated {
    const char *table, *row, *quantity;
    const char *family;                /* which summary it belongs to */
    const char *published, *predicted; /* words, or numbers in base units; predicted "" */
    bool has_error;
    double error_percent;
    enum validate_verdict verdict;
    const char *stack;      /* kind of the plan's stack; "" where there is no plan */
    const char *why;        /* a plan that is refused: the reason; NULL */
    double measured, value; /* of numbers, in base units; NaN */
    double low, high; /* what agrees with the prediction, in base units; NaN: nothing says */
    double control;   /* what the baseline says; NaN where there is none */
};

/* What stands under a table, one a family or quantity. */
struct validated_summary {
    const char *table, *family;
    uint64_t values, agree, not_predicted;
    struct score score;       /* of numbers */
    double width_percent;     /* median half width of what agrees; NaN */
    uint64_t constants;       /* of the profile, fitted; 0 where nothing was */
    const char *control_name; /* "70 % roofline", "constant MFU"; NULL */
    double control_mean, control_median;
};

/* Verdicts of runs, by the stack of their plans: what was told, beside always saying "fits". */
struct validated_verdicts {
    const char *table, *stack; /* "all": of every stack, where there are several */
    uint64_t runs, refused;
    struct confusion confusion; /* of those that are not refused */
    double expressible;         /* shares; NaN where there is nothing to share */
    double fits_told, oom_told; /* "marginal" tells neither */
    double marginal;            /* of all verdicts predicted */
    double accuracy, accuracy_of_fits;
    double balanced_accuracy; /* NaN unless both were published; always "fits" has 0.5 */
};

struct published_sets;

struct validation {
    const struct published_sets *sets; /* keys for every run beside its own; NULL: none */
    struct validated *rows;
    size_t n, capacity;
    struct validated_summary *summaries;
    size_t n_summaries, summary_capacity;
    struct validated_verdicts *verdicts;
    size_t n_verdicts, verdict_capacity;
};

/* The quantity whose values are fits, marginal and oom. */
#define VALIDATE_VERDICT_QUANTITY "memory.verdict"

/* Appends a row; a summary of the rows from `first` on whose family is `family` (NULL: all). */
void validation_add(struct validation *validation, const struct validated *row,
                    struct arena *arena);
struct validated_summary *validation_summarise(struct validation *validation, size_t first,
                                               const char *family, struct arena *arena);

/* Appends what was told of the verdicts among the rows from `first` on, one record a stack. */
void validation_verdicts(struct validation *validation, size_t first, struct arena *arena);

/* A number as a CSV cell: the shortest that reads back. */
const char *validation_number(double value, struct arena *arena);

#endif
