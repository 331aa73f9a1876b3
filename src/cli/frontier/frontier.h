/* A sweep as the user asks for it, shared by `frontier` and `plot`: the base plan, the axes
 * read from --case and --over, and their effect on plans. */
#ifndef MOEPLAN_CLI_FRONTIER_FRONTIER_H
#define MOEPLAN_CLI_FRONTIER_FRONTIER_H

#include "cli/option/axis.h"
#include "cli/command/command.h"
#include "plan/load.h"
#include "plan/source.h"
#include "plan/trace.h"
#include "sim/sweep.h"

struct frontier {
    const char *file;
    struct node *root;          /* the plan file, read once */
    struct override *overrides; /* --set and --seed */
    size_t n_overrides;
    struct arena *arena;
    struct plan base;
    size_t n_axes;
    struct axis axes[SWEEP_AXES];
    struct routing_data routing; /* files the base plan's routing names */
    struct sweep sweep;
};

/* Loads the plan and prepares the axes: cases (if any) first, then each --over in order;
 * without any the only point is the plan. STATUS_USAGE for malformed options, STATUS_INPUT for
 * keys and values, named as typed. */
enum status frontier_init(struct frontier *frontier, const struct invocation *call,
                          const struct option_list *cases, const struct option_list *overs,
                          struct err *err);

#endif
