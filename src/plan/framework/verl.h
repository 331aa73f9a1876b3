/* What verl's two readers share: reinforcement learning and supervised training. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_VERL_H
#define MOEPLAN_PLAN_FRAMEWORK_VERL_H

#include "plan/job/reader.h"

/* Sections whose names are Megatron's own configuration's. */
#define VERL_TRANSFORMER "actor.megatron.override_transformer_config"
#define VERL_OPTIMIZER "actor.optim.override_optimizer_config"

/* A supervised job's own names (engine.*, sft_trainer.yaml's) stand beside those of an actor.
 */
extern const struct job_flag verl_flags[];
extern const size_t verl_n_flags;

/* How the trainer is shared out, by its strategy: formats, recomputation, adapters too. */
enum status verl_read_layout(struct job *job);
/* How the loss treats logits; behind the layout and the batch. */
enum status verl_read_loss(struct job *job, bool actor);

#endif
