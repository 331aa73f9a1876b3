/* Claims: every worked number of the seed documents, recomputed.
 *
 * The table (models/published/claims.csv) says what was published, where, and which quantity
 * with which arguments it is; the functions of calib/claim/claim_*.c compute it from sim and
 * work; the comparison gives the verdict. No verdict stands in the table. */
#ifndef MOEPLAN_CALIB_CLAIM_CLAIMS_H
#define MOEPLAN_CALIB_CLAIM_CLAIMS_H

#include <stddef.h>

#include "base/csv.h"
#include "calib/claim/claim_value.h"

struct claim {
    const char *document; /* "seed001": what stands before the dot of its table */
    const char *table, *row, *quantity, *published, *unit, *place;
    const char *predicted; /* "" when it cannot be computed */
    double error_percent;
    bool has_error;
    enum claim_verdict verdict;
    enum claim_basis basis;
    const char *why;
};

struct claims {
    struct claim *claims;
    size_t n;
    size_t count[CLAIM_NOT_REPRODUCIBLE + 1]; /* by verdict */
};

/* Title of a document, or NULL. */
const char *claims_title(const char *document);

/* Reads the table of claims from the catalogue. */
enum status claims_read(struct arena *arena, struct csv *csv, struct err *err);

/* Evaluates the rows whose table starts with `only` ("" or NULL: all). Memory from the arena.
 * STATUS_INPUT, at file:line, for a row that cannot be read. */
enum status claims_evaluate(const struct csv *csv, const char *only, struct arena *arena,
                            struct claims *out, struct err *err);

#endif
