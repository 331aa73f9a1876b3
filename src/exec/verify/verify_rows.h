/* Rows of a tensor against rows of wanted numbers: what all verifications share. */
#ifndef MOEPLAN_EXEC_VERIFY_VERIFY_ROWS_H
#define MOEPLAN_EXEC_VERIFY_VERIFY_ROWS_H

#include "exec/verify/verify.h"

/* What is wanted: rows of `width` doubles, row i being row i * step of the tensor. */
struct wanted {
    const char *name;
    const double *values;
    uint64_t rows, width, step;
    uint64_t across;  /* doubles from one row to the next; 0: width */
    double tolerance; /* 0: the same bits, in the tensor's format */
    /* of the sizes that errors follow (oracle.h), NULL: none are known: `n_squares` in a row of
     * them, 1 or one for each column, a row of them for `alike` rows, 0: for each */
    const double *squares;
    uint64_t n_squares, alike;
};

/* What errors of an element are relative to: the rms of all values, so that small elements are
 * not held to their own size, and at least its own size before its terms cancelled. */
double verify_rms(const struct wanted *wanted);
double verify_size(const struct wanted *wanted, uint64_t row, uint64_t column);

/* Adds to the check of that name: the largest difference; with a tolerance, relative to the
 * largest of the two, the rms of the row and the element itself. Nothing to compare with: no
 * check. */
void verify_compare(const struct execution *x, struct checks *checks,
                    const struct rank_state *rank, const struct tensor *tensor,
                    const struct wanted *wanted);

struct worst {
    double error;
    uint64_t row, column;
    double got, wanted;
};
/* Keeps the larger difference of an element, relative to `scale` or to itself, if that is
 * larger; 0: as it is. */
void verify_look_at(struct worst *worst, double got, double want, double scale, uint64_t row,
                    uint64_t column);

/* Sum over rows of a hash of the row's bits and its number, from `first`: tokens are numbered
 * through the group. */
uint64_t verify_hash_rows(const struct execution *x, const struct tensor *out, uint64_t first);

/* Of a plain format; the square of the smallest size that it stores with all its bits, where
 * results are that small. */
double verify_unit_roundoff(enum dtype dtype);
double verify_least(enum dtype dtype);

#endif
