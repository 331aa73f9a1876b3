/* verl's table; for plan/framework/verl.c. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_VERL_H
#define MOEPLAN_PLAN_FRAMEWORK_VERL_H

#include "plan/job/reader.h"

/* Sections whose names are Megatron's own configuration's. */
#define VERL_TRANSFORMER "actor.megatron.override_transformer_config"
#define VERL_OPTIMIZER "actor.optim.override_optimizer_config"

extern const struct job_flag verl_flags[];
extern const size_t verl_n_flags;

#endif
