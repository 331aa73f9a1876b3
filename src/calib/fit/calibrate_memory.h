/* Measured peaks beside predicted ones: how wide `marginal` has to be for this user's runs, and
 * which part of memory is off.
 *
 * A stack's file states a relative error of its temporary memory; a verdict within it is
 * marginal. A few own runs (models/README.md; memory.allocated_bytes and its like) say how far
 * off this software is on this machine, often much less. */
#ifndef MOEPLAN_CALIB_FIT_CALIBRATE_MEMORY_H
#define MOEPLAN_CALIB_FIT_CALIBRATE_MEMORY_H

#include <stdbool.h>

#include "base/csv.h"
#include "calib/table/score.h"

struct peak_value {
    const char *row, *quantity;
    double measured, predicted; /* bytes */
    double temp_bytes;          /* predicted, what the error is relative to */
    double off;                 /* (measured - predicted) / temp */
};

/* A category of buffers whose size times a factor explains what is missing. */
struct peak_term {
    const char *category;
    const char *largest; /* its largest buffer at the peak of the first run; NULL */
    const char *formula; /* of that buffer; NULL */
    double factor;       /* 1.1: the category takes a tenth more than predicted */
    double explained;    /* share of the squared differences */
};

enum { PEAK_TERMS = 3 };

struct published_sets;

struct memory_calibration {
    const char *stack;
    struct peak_value *values;
    size_t n;
    struct score score;
    double stated; /* the stack's error, relative to temp */
    double bias;   /* mean of off */
    double error;  /* |bias| and the 90 % prediction interval of one more run */
    struct peak_term terms[PEAK_TERMS];
    size_t n_terms;
};

/* Whether a table of runs has peaks. */
bool calibrate_is_memory(const struct csv *csv);

/* `stack`: only plans of it (NULL: all, which must be one); `sets`: keys for every plan beside
 * its own (NULL: none). STATUS_INPUT when nothing is left
 * or a plan cannot be read or predicted. */
enum status calibrate_memory(const struct csv *csv, const char *stack,
                             const struct published_sets *sets, struct arena *arena,
                             struct memory_calibration *out, struct err *err);

#endif
