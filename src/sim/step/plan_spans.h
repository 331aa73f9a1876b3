/* A plan's step, or one layer of it, along time: the step that `predict` says seconds of, on
 * the expected fullest rank. Pure. */
#ifndef MOEPLAN_SIM_STEP_PLAN_SPANS_H
#define MOEPLAN_SIM_STEP_PLAN_SPANS_H

#include "sim/time/step_spans.h"

struct plan_spans {
    struct stepper stepper; /* with the list, its values and what prices it */
    struct step_time step;
    struct span_list list;
    enum segment segment; /* as asked */
};

struct plan_spans_ask {
    const struct routing_data *routing; /* or NULL */
    const struct profile *profile;
    size_t most;          /* spans of a step, about */
    enum segment segment; /* one layer of it; SEGMENT_COUNT: the whole step */
};

/* The layer that stands for a model: of the kinds with experts the one that most layers are;
 * of all kinds in a model without. */
enum segment plan_spans_layer(const struct model *model);

/* Memory from the arena; plan_spans_release frees the rest, also after a failure. STATUS_INPUT
 * when the stack refuses the plan or its routing cannot be sampled. */
enum status plan_spans_of(const struct plan *plan, const struct plan_spans_ask *ask,
                          struct arena *arena, struct plan_spans *out, struct err *err);
void plan_spans_release(struct plan_spans *spans);

#endif
