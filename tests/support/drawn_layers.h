/* Small layers of a drawn model, whose widths up to 4 tp ranks divide evenly. */
#ifndef MOEPLAN_TESTS_SUPPORT_DRAWN_LAYERS_H
#define MOEPLAN_TESTS_SUPPORT_DRAWN_LAYERS_H

#include "base/rng.h"
#include "plan/plan.h"

/* Of grouped queries, or latent. */
void drawn_attention(struct rng *rng, struct attention *attention);

/* Layers alike, kinds in turn, or parts. */
void drawn_layers(struct rng *rng, struct model *model);

#endif
