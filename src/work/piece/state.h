/* State of a training step: weights, gradients, what the optimizer keeps, sharded as
 * parallel.zero says; what the update makes beside it. Shards are ceilings of the even part. */
#ifndef MOEPLAN_WORK_PIECE_STATE_H
#define MOEPLAN_WORK_PIECE_STATE_H

#include "work/list/work.h"

/* Elements of dense parameters and of experts. */
struct shards {
    struct size dense, experts;
};
/* Ranks that share out a copy of either. */
struct shards step_sharers(const struct plan *plan, struct sizes *z);
/* The parameters that a rank has where ranks share them out from a stage of zero on: of all of
 * its stage; of any, of which `whole` are a rank's of the model; of what is trained, adapters
 * or all. */
struct shards step_shards(const struct plan *plan, struct work *work, unsigned from_zero);
struct shards step_share_out(const struct plan *plan, struct sizes *sizes, struct shards whole,
                             unsigned from_zero);
struct shards step_trained(const struct plan *plan, struct work *work, unsigned from_zero);

/* State: weights and, in training, master weights, moments, and gradients when they persist,
 * dense and expert parameters apart; then copies of checkpoints, and models beside the trained
 * one. gradients_persist: false where the stack holds gradients as part of temp (XLA). */
void step_state(const struct plan *plan, struct work *work, bool gradients_persist);

/* Elements that stay on a device through the step, so many times, beside the state. */
void step_reserve(struct work *work, const char *name, enum category category, enum dtype dtype,
                  struct size elements, uint64_t count, const char *source);

/* Gradients that wait for the last of a step's micro-batches, beside those of the one at hand:
 * none of a step that has one. While an engine that slept takes its turn (the ticks *first to
 * *last; false: there is none) they are gone. state_sums.c */
void step_accumulate(struct work *work, enum dtype dtype, struct size elements,
                     const char *source);
bool step_is_away(const struct work *work, uint16_t *first, uint16_t *last);

/* What the update makes beside the state (f32 copies of gradients and states), at a tick of the
 * step behind all layers; nothing where it makes none. */
void step_optimizer(const struct plan *plan, struct work *work);

/* Whether sharded weights are host memory's (FSDP2, ZeRO's stage 3): the device has what is
 * gathered. */
bool state_waits_there(const struct plan *plan);

#endif
