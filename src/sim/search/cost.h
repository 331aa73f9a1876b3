/* What a step costs per token by FLOPs over peak and bytes over bandwidth: no calibration, no
 * overlap, balanced routing. It ranks plans; it is not a prediction of time. */
#ifndef MOEPLAN_SIM_SEARCH_COST_H
#define MOEPLAN_SIM_SEARCH_COST_H

#include "plan/plan.h"

/* name in outputs, what it holds */
#define COST_LIST(X)                                                                           \
    X(COMPUTE, "compute", "FLOPs over peak, or weights and cache over memory bandwidth")       \
    X(EXCHANGE, "exchange", "dispatch and combine of expert rows")                             \
    X(SHARDING, "sharding", "gathers of sharded weights, reductions of gradients")             \
    X(TENSOR, "tensor", "collectives of tensor and context parallelism")                       \
    X(PIPELINE, "pipeline", "stages that wait while the pipeline fills and drains")

enum cost_part {
#define COST_ENUM(name, text, help) COST_##name,
    COST_LIST(COST_ENUM)
#undef COST_ENUM
        COST_PARTS
};

const char *cost_part_name(enum cost_part part);

struct cost {
    double flop_per_token;           /* executed: recompute, padding and masks included */
    double exchange_bytes_per_token; /* expert dispatch and combine, sent */
    double shard_bytes_per_token;    /* weights gathered and gradients reduced, received */
    double part_s[COST_PARTS];       /* device-seconds per token */
    double seconds_per_token;        /* their sum; 1 over it: tokens per second and device */
};

/* The plan obeys all rules. A rate that the cluster does not state costs nothing. A step that
 * names no global batch is taken to have 4 pp micro-steps with a pipeline (as many as the
 * memory model assumes), else one. */
void cost_of(const struct plan *plan, struct cost *cost);

#endif
