/* Parameters of a pipeline stage, which stage.c lays out. */
#ifndef MOEPLAN_WORK_PIECE_STAGE_PARTS_H
#define MOEPLAN_WORK_PIECE_STAGE_PARTS_H

#include "plan/params.h"
#include "work/piece/stage.h"

/* How many of the stage's layers have experts, and how many have none. */
void stage_networks(struct stage *stage);

/* Elements on a rank of what the stage has: its layers, ends and modules are given. */
void stage_parameters(const struct plan *plan, const struct params *params,
                      struct stage *stage);

/* Of these those that are trained: of so many layers of each kind, without the parts that are
 * frozen in them; of one layer where they take turns (badam/block_optim.py, which leaves the
 * ends and the norm before the head out), of so many where they are drawn. */
void stage_trained(const struct plan *plan, const struct params *params,
                   const uint64_t layers[KIND_COUNT], struct stage *stage);

#endif
