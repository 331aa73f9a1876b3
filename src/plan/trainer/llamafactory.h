/* Between the files of LLaMA-Factory's readers. */
#ifndef MOEPLAN_PLAN_TRAINER_LLAMAFACTORY_H
#define MOEPLAN_PLAN_TRAINER_LLAMAFACTORY_H

#include "plan/trainer/trainer.h"

/* Settings of mcore_adapter in LLaMA-Factory's table, so that its files are told by them from
 * Megatron-Bridge's. */
#define LLAMAFACTORY_ARGUMENTS "llamafactory src/llamafactory/hparams/training_args.py"
#define LLAMAFACTORY_MCA(name, key)                                                            \
    RULE(name, JOB_VALUE, key, "as Megatron's, whose layers it asks for",                      \
         LLAMAFACTORY_ARGUMENTS)
#define LLAMAFACTORY_MCA_ROWS                                                                  \
    RULE("use_mca", JOB_SWITCH, "stack", "megatron, as with USE_MCA=1",                        \
         LLAMAFACTORY_ARGUMENTS),                                                              \
        LLAMAFACTORY_MCA("tensor_model_parallel_size", "parallel.tp"),                         \
        LLAMAFACTORY_MCA("pipeline_model_parallel_size", "parallel.pp"),                       \
        LLAMAFACTORY_MCA("virtual_pipeline_model_parallel_size", "parallel.vpp"),              \
        LLAMAFACTORY_MCA("expert_model_parallel_size", "parallel.ep"),                         \
        LLAMAFACTORY_MCA("expert_tensor_parallel_size", "parallel.etp"),                       \
        LLAMAFACTORY_MCA("context_parallel_size", "parallel.cp"),                              \
        LLAMAFACTORY_MCA("sequence_parallel", "parallel.sp"),                                  \
        LLAMAFACTORY_MCA("use_distributed_optimizer", "parallel.zero"),                        \
        LLAMAFACTORY_MCA("overlap_param_gather", "stack.overlap.dp"),                          \
        LLAMAFACTORY_MCA("overlap_grad_reduce", "stack.overlap.dp"),                           \
        LLAMAFACTORY_MCA("moe_token_dispatcher_type", "moe.path"),                             \
        LLAMAFACTORY_MCA("moe_grouped_gemm", "moe.matmul"),                                    \
        LLAMAFACTORY_MCA("moe_layer_recompute", "recompute.modules"),                          \
        LLAMAFACTORY_MCA("recompute_granularity", "recompute.kind"),                           \
        LLAMAFACTORY_MCA("recompute_method", "recompute.layers"),                              \
        LLAMAFACTORY_MCA("recompute_num_layers", "recompute.every"),                           \
        LLAMAFACTORY_MCA("recompute_modules", "recompute.modules"),                            \
        NEITHER("bias_activation_fusion", JOB_VALUE, LLAMAFACTORY_ARGUMENTS),                  \
        NEITHER("apply_rope_fusion", JOB_VALUE, LLAMAFACTORY_ARGUMENTS)

/* The same job on Megatron's layers; not a framework that is named, as LLaMA-Factory's own
 * settings tell it. */
extern const struct job_framework job_llamafactory_mca;

/* Makes the job one of Megatron's layers, and prepares it, where its settings say so. */
enum status llamafactory_mca_take(struct job *job, bool *taken);

#endif
