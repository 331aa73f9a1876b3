/* Published runs among the points of a sweep.
 *
 * A run of the catalogue's tables (models/README.md) belongs to a point when its plan is this
 * plan and its settings make the same plan as the point's, key by key. */
#ifndef MOEPLAN_CLI_FRONTIER_PUBLISHED_H
#define MOEPLAN_CLI_FRONTIER_PUBLISHED_H

#include "cli/command/command.h"
#include "lib/frontier.h"

/* Appends CSV: the sweep's axes, then verdict, total_bytes, row, source. A run that did not fit
 * stands at its published size (published temp plus predicted state where only temp is known),
 * one that ran at the predicted total, for nobody publishes what it left free. Nothing at all
 * when no run matches. STATUS_INPUT when a matching row of a table cannot be read. */
enum status frontier_published(const struct frontier *frontier, struct text *out,
                               struct err *err);

/* The same for one quantity of the tables, such as "routing.rows_per_expert_p10": the axes, the
 * value as published, row, source. */
enum status frontier_published_value(const struct frontier *frontier, const char *quantity,
                                     struct text *out, struct err *err);

#endif
