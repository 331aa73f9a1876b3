/* What routing asks of a rank over a whole step, where each layer is routed for itself
 * (moe.routing.layers: independent).
 *
 * Tensors of one layer at a time are as large as the fullest layer makes them; tensors that are
 * saved for backward are held of all layers of a stage together, on one rank, and what they ask
 * for is nearer the mean. A sampled step is the layers of a stage drawn with replacement among
 * the sampled layers (the bootstrap: Efron 1979). Its micro-batches are taken to be routed
 * alike, and the fullest layer to be at work while all that a rank saves is there: an upper
 * bound. */
#ifndef MOEPLAN_SIM_MOE_DEMAND_STEP_H
#define MOEPLAN_SIM_MOE_DEMAND_STEP_H

#include "sim/moe/demand.h"

/* The numbers of MoE layers that the stages of a pipeline hold, upward; more than SLOTS_STAGES
 * of them stand as one, which holds for each. */
struct demand_stages {
    unsigned n;
    struct {
        uint64_t least, most;
    } layers[SLOTS_STAGES];
};

void demand_stages_of(const struct plan *plan, struct demand_stages *stages);

/* A number of all steps: its mean, 99th percentile, and that with two standard errors of it. */
struct demand_range {
    double expected, p99, high;
};

enum { DEMAND_GRID = 20 };

/* What so many layers ask of a rank, for every number of layers; of one source and tokens. */
struct demand_layers {
    uint64_t n, worst[SLOTS_ROUTED];       /* samples; the certified worst of each size */
    struct demand_range one[SLOTS_ROUTED]; /* one layer */
    double sd[SLOTS_ROUTED];               /* of one layer */
    unsigned n_mean;                       /* below the model's MoE layers */
    struct demand_range mean[DEMAND_GRID][SLOTS_ROUTED];
};

/* Means over layers are sampled for some numbers of layers, over as many steps as there are
 * samples; `most`: the model's MoE layers. Samples are those that demand_sample took. */
void demand_layers_of(const struct demand_source *source, const struct demand_spread *spread,
                      uint64_t most, struct demand_layers *out);

enum demand_level { DEMAND_EXPECTED, DEMAND_P99, DEMAND_HIGH };

/* Puts them into the slots, for slots_take_stage. Means are those of the next smaller number of
 * layers that was sampled, no smaller. The 99th percentile of the fullest of L layers is a
 * layer's percentile 0.99^(1/L), further out than samples reach: by Gumbel's law with their
 * mean and variance, at most the certified worst. */
void demand_layers_to_slots(const struct demand_layers *layers,
                            const struct demand_stages *stages, enum demand_level level,
                            struct slots *slots);

/* Sampled step s of a source whose samples are those of demand_sample, into the slots. */
void demand_step_to_slots(const struct demand_source *source,
                          const struct demand_stages *stages, uint64_t s, struct slots *slots);

#endif
