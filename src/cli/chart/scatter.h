/* Predictions against measurements with the identity line. */
#ifndef MOEPLAN_CLI_CHART_SCATTER_H
#define MOEPLAN_CLI_CHART_SCATTER_H

#include "calib/validate/validate.h"
#include "cli/chart/picture.h"

/* Fills a picture with the numbers of a validation: of the unit that most of them have, as one
 * pair of axes holds no two. STATUS_INPUT when no number has a prediction. */
enum status chart_scatter(const struct validation *validation, struct picture *picture,
                          struct err *err);

#endif
