/* Swept keys that no point reads. */
#ifndef MOEPLAN_CLI_FRONTIER_UNREAD_H
#define MOEPLAN_CLI_FRONTIER_UNREAD_H

#include "lib/frontier.h"

/* A line on `out` for each --over key that the plan reads at none of the points, with the
 * reason at the first. Says nothing where too many points would have to be asked. */
void frontier_unread(const struct frontier *frontier, FILE *out);

#endif
