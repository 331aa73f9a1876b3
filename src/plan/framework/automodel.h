/* What NeMo-RL's DTensor trainer shares with Automodel, whose layers it trains. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_AUTOMODEL_H
#define MOEPLAN_PLAN_FRAMEWORK_AUTOMODEL_H

#include "plan/job/reader.h"

/* Stack, dispatcher and routing of layers with a backend of Automodel's own, by the rows
 * model.backend.dispatcher, enable_deepep and fake_balanced_gate. */
enum status automodel_set_experts(struct job *job);

/* Adapters stand on what the row `flag` lists: the last part of each name, or every matrix. */
void automodel_set_targets(struct job *job, const char *flag, bool all);

#endif
