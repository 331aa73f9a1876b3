/* The largest value of a key that still fits, for each point of the other axes. */
#ifndef MOEPLAN_CLI_FRONTIER_FIND_H
#define MOEPLAN_CLI_FRONTIER_FIND_H

#include "cli/command/command.h"
#include "lib/frontier.h"

/* `what` is "max:KEY"; KEY a whole number of the plan. Prints one row per point: the axes, the
 * value found (empty when none fits: then the bytes are of the nearest, which the last column
 * names), its verdict and bytes, and whether every smaller value fits too (the verdict need not
 * be monotone: a stack may change its schedule). A value fits when its verdict is fits, or with
 * `marginal` also marginal; where more than 4,096 had to be tried (`not tried`), one of which
 * the next 1,024 do not, or the largest that the key may have, which is said. STATUS_NOFIT
 * without a text when no point has such a value. */
enum status frontier_find(const struct frontier *frontier, const char *what, bool marginal,
                          const struct invocation *call, struct err *err);

#endif
