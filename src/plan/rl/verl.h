/* What verl's two readers share: reinforcement learning and supervised training. */
#ifndef MOEPLAN_PLAN_RL_VERL_H
#define MOEPLAN_PLAN_RL_VERL_H

#include "plan/framework/colocated.h"

/* Sections whose names are Megatron's own configuration's. */
#define VERL_TRANSFORMER "actor.megatron.override_transformer_config"
#define VERL_OPTIMIZER "actor.optim.override_optimizer_config"

/* A supervised job's own names (engine.*, sft_trainer.yaml's) stand beside those of an actor.
 */
extern const struct job_flag verl_flags[];
extern const size_t verl_n_flags;

/* Sequences of a micro-batch by the flag of a rank (own) or, before there was one, of all ranks
 * that hold whole sequences (workers/fsdp_workers.py, ppo_micro_batch_size), and the flag that
 * says it; 0: neither does. Fails as job_count does. */
enum status verl_read_micro(struct job *job, const char *own, const char *all, uint64_t *micro,
                            const char **flag);

/* How the trainer is shared out, by its strategy: formats, recomputation, adapters too. */
enum status verl_read_layout(struct job *job);
/* How the loss treats logits; behind the layout and the batch. */
enum status verl_read_loss(struct job *job, bool actor);

/* Models beside the actor: its reference, a critic, a reward model, and what of them waits in
 * host memory, which goes to `away`; behind the engine, which says what of the actor does. */
enum status verl_read_models(struct job *job, struct away *away);

/* Whether the layout was read as Megatron's. */
bool verl_is_megatron(const struct job *job);
/* One of a strategy's switch and the other's; which of them is on, NULL: none. */
enum status verl_either_on(struct job *job, const char *const flags[2], const char **on);

#endif
