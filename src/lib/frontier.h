/* A sweep as the user asks for it, shared by `frontier`, `plot` and the library: the base plan,
 * the axes read from --case and --over, and their effect on plans. */
#ifndef MOEPLAN_LIB_FRONTIER_H
#define MOEPLAN_LIB_FRONTIER_H

#include "lib/axis.h"
#include "lib/request.h"
#include "plan/data/trace.h"
#include "plan/read/follow.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/search/sweep.h"

struct frontier {
    const char *file;
    const struct node *root;    /* the plan file, read once */
    struct shelf *shelf;        /* the files of its parts */
    struct override *overrides; /* --set and --seed */
    size_t n_overrides;
    struct arena *arena;
    struct plan base;
    enum following follows; /* what does in the plan, or in one of the sweep's */
    size_t n_axes;
    struct axis axes[SWEEP_AXES];
    struct routing_data routing; /* files the base plan's routing names */
    struct plan **prefills;      /* of each value of sweep.joint, where it has one */
    struct sweep sweep;
};

/* As typed; a case is "NAME:KEY=VALUE,...", an over "KEY=VALUES" (axis.h). */
struct frontier_axes {
    const char *const *cases;
    size_t n_cases;
    const char *const *overs;
    size_t n_overs;
};

/* The axes alone: cases (if any) first, then each over in order. STATUS_USAGE for what is
 * malformed. Memory from the arena. */
enum status frontier_axes_read(struct frontier *frontier, const struct frontier_axes *axes,
                               struct arena *arena, struct err *err);

/* Loads the plan of a request that was read and finds what the axes, read before, do to it;
 * without any the only point is the plan. STATUS_INPUT for keys and values, named as typed.
 * The frontier must not move afterwards. */
enum status frontier_init(struct frontier *frontier, const struct request *request,
                          struct err *err);

/* Of a base plan with a part `prefill`: whether its servers have what the plan says of a key of
 * whole numbers, so that a setting of it is of both. */
enum status frontier_inherits(const struct frontier *frontier, const struct field *field,
                              bool *inherits, struct err *err);

/* Why a point has no verdict, at most RULE_TEXT bytes: the rule it breaks, or what its stack
 * refuses. */
void frontier_why(const struct plan *plan, char why[RULE_TEXT]);

#endif
