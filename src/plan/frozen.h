/* What a training plan leaves as it is: without adapters the first layers, and parts of all
 * others (frozen.layers, frozen.modules); with them the layers that have none (lora.layers). */
#ifndef MOEPLAN_PLAN_FROZEN_H
#define MOEPLAN_PLAN_FROZEN_H

#include "plan/plan.h"

/* Whether anything is, for good or for the time of a layer, by a stack whose launches can say
 * so; adapters freeze all by themselves.
 */
bool plan_freezes(const struct plan *plan);
/* Whether one layer at a time is trained, and everything else is as it was frozen. */
bool plan_trains_one_layer(const struct plan *plan);
/* Whether of all layers some alone have gradients until others are drawn (LISA). */
bool plan_draws_layers(const struct plan *plan);
/* Whether adapters stand in some layers of the language model alone, or in none of it; and
 * whether the linear layers of layer i have them. */
bool plan_adapts_some(const struct plan *plan);
bool plan_adapts_layer(const struct plan *plan, uint64_t layer);
/* Layers at the beginning, with the embedding before them. */
uint64_t plan_frozen_layers(const struct plan *plan);
/* The first layer that runs backward: the first that is trained. Megatron's recomputation of
 * whole layers needs a gradient of its input for any of their weights to have one, so that
 * backward goes through all of them (tensor_parallel/random.py, CheckpointFunction; slime makes
 * the embedding's output ask for one). Adapters' layers that run again need one as well, which
 * PEFT has the embedding's output ask for (peft_model.py, prepare_model_for_gradient_
 * checkpointing); where none does, backward ends at the first layer that has adapters. */
uint64_t plan_first_back(const struct plan *plan);
/* A part of every layer, or an end: embedding and head are one where they are tied. */
bool plan_freezes_part(const struct plan *plan, enum frozen_part part);

#endif
