/* What a run performs of layers that tp or etp splits: the work of one rank of each group. */
#ifndef MOEPLAN_CALIB_RUN_RUN_SHARE_H
#define MOEPLAN_CALIB_RUN_RUN_SHARE_H

#include "base/arena.h"
#include "plan/plan.h"

/* "expert width 2048 -> 32 (etp 64), ...", in the arena; NULL when nothing is split, or
 * when block.kind is not moe. The ranks
 * of such a group have the same tokens, so that only the sum over them is not performed. */
const char *run_share(const struct plan *plan, struct arena *arena);

#endif
