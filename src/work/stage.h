/* The pipeline stage that needs most memory: its layers, micro-batches in flight, parameters.
 */
#ifndef MOEPLAN_WORK_STAGE_H
#define MOEPLAN_WORK_STAGE_H

#include "plan/plan.h"
#include "work/params.h"

struct stage {
    uint64_t index; /* from 0 */
    uint64_t dense_layers, moe_layers;
    bool embedding, head;           /* first stage; last stage */
    uint64_t in_flight_thousandths; /* micro-batches whose saved tensors live at once, x 1000 */
    uint64_t dense_parameters;      /* not routed experts; on one rank of tp, before zero */
    uint64_t model_parameters;      /* of the whole model */
    uint64_t expert_parameters;     /* routed experts; on one rank of ep and etp, before zero */
};

/* Stage i of plan->parallel.pp (layers by parallel.stages, otherwise as even as possible with
 * the longer stages first). */
void stage_at(const struct plan *plan, uint64_t index, const struct params *params,
              struct stage *stage);

/* The stage with the largest parameters x bytes + saved activations, by the product of layers
 * and in-flight micro-batches; ties: the first. */
void stage_heaviest(const struct plan *plan, struct stage *stage);

#endif
