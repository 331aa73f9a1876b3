/* Kernels and collectives beside their forms, with the constants of the profile that each row
 * names. */
#ifndef MOEPLAN_CALIB_VALIDATE_VALIDATE_CURVES_H
#define MOEPLAN_CALIB_VALIDATE_VALIDATE_CURVES_H

#include "calib/table/curve.h"
#include "calib/validate/validation.h"

/* Appends the table's rows and summaries; errors as validate_table. */
enum status validate_curves(const struct csv *csv, struct arena *arena, struct validation *out,
                            struct err *err);

#endif
