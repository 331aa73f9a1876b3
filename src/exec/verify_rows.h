/* Rows of a tensor against rows of wanted numbers: what all verifications share. */
#ifndef MOEPLAN_EXEC_VERIFY_ROWS_H
#define MOEPLAN_EXEC_VERIFY_ROWS_H

#include "exec/verify.h"

/* What is wanted: rows of `width` doubles, row i being row i * step of the tensor. */
struct wanted {
    const char *name;
    const double *values;
    uint64_t rows, width, step;
    uint64_t across;  /* doubles from one row to the next; 0: width */
    double tolerance; /* times the scale; 0: the same bits */
    double scale;     /* 0: the rms of the values */
};

double verify_rms(const double *values, uint64_t n); /* 1 when all are zero */
double verify_scale(const struct wanted *wanted);

/* Adds to the check of that name: the largest difference, relative to the scale unless the
 * tolerance is 0. Nothing to compare with: no check. */
void verify_compare(struct checks *checks, const struct rank_state *rank,
                    const struct tensor *tensor, const struct wanted *wanted);

struct worst {
    double error;
    uint64_t row, column;
    double got, wanted;
};
/* Keeps the larger difference. */
void verify_look_at(struct worst *worst, double got, double want, uint64_t row,
                    uint64_t column);

/* Sum over rows of a hash of the row's bits and its number, from `first`: tokens are numbered
 * through the group. */
uint64_t verify_hash_rows(const struct tensor *out, uint64_t first);

/* Of a plain format. */
double verify_unit_roundoff(enum dtype dtype);

#endif
