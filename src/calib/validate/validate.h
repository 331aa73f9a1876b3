/* Validation: predictions beside measurements, ours or published.
 *
 * Two kinds of tables: kernels and collectives (calib/table/curve.h), whose prediction is a
 * form with the constants of the profile each row names; and runs, each a plan with one value
 * (memory verdict, bytes, rates). Nothing is fitted here. */
#ifndef MOEPLAN_CALIB_VALIDATE_VALIDATE_H
#define MOEPLAN_CALIB_VALIDATE_VALIDATE_H

#include "base/csv.h"
#include "calib/validate/validation.h"

/* Tables that are shipped, NULL-terminated: what `validate` takes without operands. */
extern const char *const validate_tables[];

/* Appends the rows and summaries of a table. STATUS_USAGE where out->sets would set keys of a
 * table without plans; STATUS_INPUT, at file:line, for one that cannot be
 * read, or a profile that is missing. */
enum status validate_table(const struct csv *csv, struct arena *arena, struct validation *out,
                           struct err *err);

#endif
