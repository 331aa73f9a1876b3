/* What NeMo-RL's DTensor trainer shares with Automodel, whose layers it trains. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_AUTOMODEL_H
#define MOEPLAN_PLAN_FRAMEWORK_AUTOMODEL_H

#include "plan/job/reader.h"

extern const struct job_flag automodel_flags[];
extern const size_t automodel_n_flags;

/* Stack, dispatcher and routing of layers with a backend of Automodel's own, by the rows
 * model.backend.dispatcher, enable_deepep and fake_balanced_gate. */
enum status automodel_set_experts(struct job *job);

/* What says where adapters stand (PeftConfig). */
struct automodel_patterns {
    const struct setting *targets, *excluded; /* NULL: not given */
    bool all;                                 /* every linear layer */
    bool backend;                             /* its own layers, whose experts are one module */
    uint64_t rank;
    bool scales; /* experts of its own layers have the rank shared out over top_k */
    const char *flags, *scale_flag;
};

/* lora.targets, lora.skip_experts and lora.expert_rank; behind the model. */
enum status automodel_set_targets(struct job *job, const struct automodel_patterns *patterns);

#endif
