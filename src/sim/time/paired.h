/* A layer's forward of one micro-batch beside the same layer's backward of another: exchanges
 * of one run beside what the other computes.
 *
 * Megatron's overlap_moe_expert_parallel_comm (core/models/common/model_chunk_schedule_plan.py,
 * TransformerLayerSchedulePlan.run) cuts a layer into four nodes and runs those of both on two
 * streams, in this order:
 *
 *     comm:    combine back | dispatch, dispatch back                  | combine
 *     compute: attention    | experts back, their weights', experts    | attention back
 *
 * Weight gradients that are put off (delay_wgrad_compute) follow the gradients of inputs of
 * their node; otherwise they are part of them, and what waits for these waits for them. */
#ifndef MOEPLAN_SIM_TIME_PAIRED_H
#define MOEPLAN_SIM_TIME_PAIRED_H

#include "sim/time/stretch.h"

/* In forward order. Attention: all before the dispatch, shared experts and the router among it
 * (fine_grained_callables.py); experts: all between the exchanges; combine: what is behind. */
enum pair_node { NODE_ATTENTION, NODE_DISPATCH, NODE_EXPERTS, NODE_COMBINE, PAIR_NODES };

/* Seconds of one layer's nodes. */
struct pair_layer {
    double forward_s[PAIR_NODES];
    double backward_s[PAIR_NODES]; /* without weight_s */
    double weight_s[PAIR_NODES];   /* weight gradients that are put off */
    double exchange_s[PASSES];     /* of dispatch and combine: what links carry */
};

/* What a layer of each segment saves: beside another micro-batch's, its backward by itself; and
 * how long before both are done with it the rows are there, and the gradients. */
struct paired_layers {
    double saved_s[SEGMENT_COUNT], alone_s[SEGMENT_COUNT];
    double rows_s[SEGMENT_COUNT], gradients_s[SEGMENT_COUNT];
};

/* From one layer to the next of many in a row, in the long run (the eigenvalue of what a layer
 * makes of the times at which both streams are free, as in sim/time/launch): no shorter than
 * either stream, than either direction by itself, and no longer than all in turn. Longer nodes
 * never make it shorter. */
double paired_period_s(const struct pair_layer *layer);

/* How much shorter both directions are together than one after the other. `share`: the part of
 * an exchange that does run beside products (a profile's overlap.share). */
double paired_saved_s(const struct pair_layer *layer, double share);

/* The same of a backward by itself: put off, the experts' weight gradients run beside the
 * dispatch's. */
double paired_alone_s(const struct pair_layer *layer, double share);

/* How long before both are done with the last layer its rows are there (the combine's end), and
 * its gradients (attention's): what sends run beside. */
double paired_rows_s(const struct pair_layer *layer);
double paired_gradients_s(const struct pair_layer *layer);

/* Whether the plan's stack pairs micro-batches, whose exchanges then hide nowhere else. */
bool paired_is_on(const struct plan *plan);

/* A layer of a segment, of the stepper's priced ops. */
void paired_layer_of(const struct stepper *stepper, enum segment segment,
                     struct pair_layer *out);

#endif
