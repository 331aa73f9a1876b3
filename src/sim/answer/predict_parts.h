/* Inside sim/answer/predict: a plan's list as it was built and evaluated, which the parts of
 * the record are told of. */
#ifndef MOEPLAN_SIM_ANSWER_PREDICT_PARTS_H
#define MOEPLAN_SIM_ANSWER_PREDICT_PARTS_H

#include "sim/answer/predict.h"
#include "sim/step/evaluate.h"

/* The list evaluated for another demand of routing. */
struct predict_other {
    struct slots slots;
    uint64_t *values;
    struct evaluation result;
};

struct predict_context {
    const struct plan *plan;
    struct arena *arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    struct evaluation result;
    bool routed;             /* sizes follow routing */
    const struct rows *rows; /* the laws that memory, time and the layer share, or NULL */
    bool sampled;            /* they do, or overflow of buffers of given size: demand is set */
    struct demand_spread demand;
    struct demand_source source;
    struct demand_stages stages; /* none: all layers are routed alike */
    struct demand_layers layers; /* of layers that are not */
    struct overflow overflow;
    struct predict_other *expected, *worst; /* the same list for other demands */
};

/* The slots with every layer as full as that. */
void predict_set_alike(const struct predict_context *c, const struct demand *demand,
                       struct slots *slots);

/* The same where all layers are routed alike; of layers that are routed apart, what they ask.
 */
void predict_set_demand(const struct predict_context *c, const struct demand *demand,
                        enum demand_level level, struct slots *slots);

/* Memory of an evaluated list; adds to the peak what explains it. */
void predict_report_memory(struct predict_context *c, struct memory_report *m);

#endif
