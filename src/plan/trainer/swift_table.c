/* ms-swift's flags: those of both commands, of its trainer, and of Megatron-SWIFT where they
 * are not Megatron's. Read at modelscope/ms-swift 0bb3103b3bb2 (swift/arguments), 006938be6c7c
 * (swift/megatron/arguments/megatron_args.py) and 00840e65ad86 (its older one, with load and
 * train_type). */
#include "plan/trainer/swift.h"

#define MODEL "ms-swift swift/arguments/base_args/model_args.py"
#define BASE "ms-swift swift/arguments/base_args/base_args.py"
#define TEMPLATE "ms-swift swift/arguments/base_args/template_args.py"
#define TUNER_MODEL "ms-swift swift/model/register.py, load_by_unsloth"
#define QUANT "ms-swift swift/arguments/base_args/quant_args.py"
#define DATA "ms-swift swift/arguments/base_args/data_args.py"
#define GALORE "ms-swift swift/optimizers/galore/utils.py"
#define TUNER "ms-swift swift/arguments/tuner_args.py"
#define SUPERVISED "ms-swift swift/arguments/sft_args.py"
#define RLHF "ms-swift swift/arguments/rlhf_args.py"
#define ROLLOUT "ms-swift swift/rlhf_trainers/args_mixin.py"
#define TRAINING "ms-swift swift/trainers/arguments.py"
#define LISA "ms-swift swift/callbacks/lisa.py"
#define MEGATRON "ms-swift swift/megatron/arguments/megatron_args.py"

/* ---- of both ---- */

#define MODEL_ROWS                                                                             \
    RULE("model model_id_or_path", JOB_VALUE, "model", "by its name on a hub, or its folder",  \
         MODEL),                                                                               \
        RULE("max_length", JOB_VALUE, "workload.sequence_length",                              \
             "the model's longest unless given; prompts alone where answers are generated",    \
             TEMPLATE),                                                                        \
        TIME("packing", JOB_VALUE, "false",                                                    \
             "how long sequences are is the data's: workload.packing.length", BASE),           \
        RULE("packing_length", JOB_VALUE, "workload.sequence_length",                          \
             "with packing; max_length unless given", BASE),                                   \
        IDLE("padding_free", JOB_VALUE, "all sequences have the longest length here",          \
             TEMPLATE),                                                                        \
        RULE("task_type", JOB_VALUE, "model.labels",                                           \
             "seq_cls, reranker: num_labels, 1 unless given; others, and Megatron's, warn",    \
             MODEL),                                                                           \
        RULE("freeze_vit", JOB_VALUE, "workload.encoder.train", "on unless turned off",        \
             TUNER),                                                                           \
        RULE("freeze_aligner", JOB_VALUE, "workload.encoder.train",                            \
             "on unless turned off: none; off: projector", TUNER),                             \
        RULE("vit_gradient_checkpointing", JOB_VALUE, "recompute.encoder",                     \
             "as gradient_checkpointing unless given; of Megatron where freeze_vit is false",  \
             TRAINING)

#define TUNER_ROWS                                                                             \
    RULE("tuner_type train_type sft_type", JOB_VALUE, "lora.rank",                             \
         "full, lora; others warn: lora", BASE),                                               \
        RULE("lora_rank lora_r", JOB_VALUE, "lora.rank", "8 unless given", TUNER),             \
        RULE("target_modules lora_target_modules", JOB_LIST, "lora.targets",                   \
             "by name; all-linear, which holds unless given: every one", TUNER),               \
        RULE("lora_dtype", JOB_VALUE, "lora.format", "float32, bfloat16, float16", TUNER),     \
        RULE("target_regex", JOB_VALUE, "lora.targets",                                        \
             "the linear layers whose names it fits; of Megatron a warning", TUNER),           \
        RULE("modules_to_save lora_modules_to_save", JOB_LIST, "lora.modules_to_save",         \
             "embed_tokens, lm_head; others, and Megatron's, warn", TUNER),                    \
        RULE("freeze_llm", JOB_VALUE, "frozen.modules",                                        \
             "without adapters: all of a vision model's language model but its head", TUNER),  \
        RULE("freeze_parameters", JOB_LIST, "frozen.modules",                                  \
             "names that begin so, with frozen.layers", TUNER),                                \
        RULE("freeze_parameters_ratio", JOB_VALUE, "frozen.layers",                            \
             "of all parameters the first, whole layers", TUNER),                              \
        RULE("freeze_parameters_regex", JOB_VALUE, "frozen.modules", "names that match",       \
             TUNER),                                                                           \
        RULE("trainable_parameters", JOB_LIST, "frozen.modules", "but names that begin so",    \
             TUNER),                                                                           \
        RULE("trainable_parameters_regex", JOB_VALUE, "frozen.modules",                        \
             "but names that match", TUNER),                                                   \
        NEITHER("lora_alpha", JOB_VALUE, TUNER),                                               \
        RULE("lora_dropout", JOB_VALUE, "lora.inputs",                                         \
             "above 0: dropped; 0.05 unless given; not of Megatron", TUNER),                   \
        NEITHER("lora_bias", JOB_VALUE, TUNER), NEITHER("use_rslora", JOB_VALUE, TUNER),       \
        IDLE("adapters adapter_load mcore_adapter", JOB_LIST, "weights to begin with", BASE)

#define RLHF_ROWS                                                                              \
    RULE("rlhf_type", JOB_VALUE, "workload.micro_batch",                                       \
         "dpo and the like: both answers, one row of packing; dpo, kto, grpo: a reference",    \
         RLHF),                                                                                \
        RULE("beta", JOB_VALUE, "workload.colocated.reference", "grpo: 0.04; 0: none", RLHF),  \
        RULE("reference_free", JOB_VALUE, "workload.colocated.reference", "true: none",        \
             MEGATRON),                                                                        \
        RULE("max_completion_length response_length", JOB_VALUE, "workload.sequence_length",   \
             "behind the prompt; 512 unless given", RLHF),                                     \
        RULE("use_vllm", JOB_VALUE, "workload.colocated.engine",                               \
             "off unless given, Megatron-SWIFT's on", ROLLOUT),                                \
        RULE("vllm_mode", JOB_VALUE, "workload.colocated.engine",                              \
             "colocate, which holds unless a server is named; server: none", ROLLOUT),         \
        RULE("vllm_server_host", JOB_LIST, "workload.colocated.engine", "none", ROLLOUT),      \
        RULE("vllm_server_base_url", JOB_LIST, "workload.colocated.engine", "none", ROLLOUT),  \
        RULE("vllm_tensor_parallel_size tensor_parallel_size", JOB_VALUE,                      \
             "workload.colocated.tp", "1 unless given", TRAINING),                             \
        RULE("vllm_gpu_memory_utilization gpu_memory_utilization", JOB_VALUE,                  \
             "workload.colocated.fraction", "0.9 unless given", TRAINING),                     \
        RULE("sleep_level", JOB_VALUE, "workload.colocated.engine",                            \
             "0, which holds unless given: awake; 2: asleep; 1: its weights in host memory",   \
             ROLLOUT),                                                                         \
        RULE("offload_model", JOB_VALUE, "workload.colocated.away",                            \
             "weights, where the engine sleeps", ROLLOUT),                                     \
        RULE("offload_optimizer", JOB_VALUE, "workload.colocated.away",                        \
             "states, where the engine sleeps", ROLLOUT),                                      \
        RULE("vllm_pipeline_parallel_size", JOB_VALUE, "workload.colocated.tp",                \
             "times vllm_tensor_parallel_size", ROLLOUT),                                      \
        RULE(                                                                                  \
            "sync_ref_model", JOB_VALUE, NULL,                                                 \
            "in place; on DeepSpeed's stage 3 a warning: weights are gathered group by group", \
            "ms-swift swift/rlhf_trainers/rollout_mixin.py"),                                  \
        RULE("vllm_quantization", JOB_VALUE, "workload.colocated.weights", "fp8; others warn", \
             ROLLOUT),                                                                         \
        RULE("teacher_model", JOB_VALUE, "workload.colocated.reference",                       \
             "gkd: 1, of the student's shape here; none where it is the base of adapters",     \
             RLHF),                                                                            \
        RULE("teacher_model_server", JOB_VALUE, "workload.colocated.reference", "none", RLHF), \
        RULE("offload_teacher_model", JOB_VALUE, "workload.colocated.reference",               \
             "true: it waits in host memory", RLHF),                                           \
        RULE("reward_model", JOB_LIST, "workload.colocated.parameters",                        \
             "of one that is known by name, by DeepSpeed; others warn", ROLLOUT),              \
        IDLE("ref_model ref_load mcore_ref_model", JOB_VALUE, "of the model's shape", RLHF),   \
        IDLE("num_generations", JOB_VALUE, "batches count responses, not prompts", RLHF),      \
        NEITHER("ref_adapters ref_adapter_load mcore_ref_adapter", JOB_LIST, RLHF),            \
        NEITHER("reward_funcs", JOB_LIST, RLHF), NEITHER("reward_weights", JOB_LIST, RLHF),    \
        NEITHER("loss_type", JOB_LIST, RLHF), NEITHER("rpo_alpha", JOB_VALUE, RLHF),           \
        NEITHER("temperature", JOB_VALUE, RLHF), NEITHER("epsilon", JOB_VALUE, ROLLOUT),       \
        NEITHER("epsilon_high", JOB_VALUE, ROLLOUT),                                           \
        RULE("steps_per_generation", JOB_VALUE, "workload.colocated.sequences",                \
             "times the batch, of grpo without use_vllm, not of Megatron", ROLLOUT),           \
        RULE("generation_batch_size", JOB_VALUE, "workload.colocated.sequences",               \
             "a rank's part of it, likewise", ROLLOUT),                                        \
        NEITHER("importance_sampling_level", JOB_VALUE, ROLLOUT),                              \
        NEITHER("overlong_filter", JOB_VALUE, ROLLOUT),                                        \
        NEITHER("dynamic_sample", JOB_VALUE, ROLLOUT),                                         \
        NEITHER("log_completions", JOB_VALUE, RLHF),                                           \
        NEITHER("num_iterations", JOB_VALUE, RLHF),                                            \
        NEITHER("vllm_max_model_len", JOB_VALUE, TRAINING),                                    \
        NEITHER("vllm_max_num_seqs", JOB_VALUE, TRAINING),                                     \
        NEITHER("vllm_enforce_eager", JOB_VALUE, TRAINING),                                    \
        NEITHER("vllm_enable_prefix_caching", JOB_VALUE, TRAINING),                            \
        NEITHER("vllm_server_port", JOB_LIST, ROLLOUT),                                        \
        NEITHER("vllm_server_timeout", JOB_VALUE, ROLLOUT)

#define DATA_ROWS                                                                              \
    NEITHER("dataset", JOB_LIST, DATA), NEITHER("val_dataset", JOB_LIST, DATA),                \
        NEITHER("cached_dataset", JOB_LIST, DATA),                                             \
        NEITHER("split_dataset_ratio", JOB_VALUE, DATA),                                       \
        NEITHER("dataset_num_proc", JOB_VALUE, DATA),                                          \
        NEITHER("dataset_shuffle", JOB_VALUE, DATA),                                           \
        NEITHER("load_from_cache_file", JOB_VALUE, DATA),                                      \
        NEITHER("streaming", JOB_VALUE, DATA), NEITHER("model_name", JOB_LIST, DATA),          \
        NEITHER("model_author", JOB_LIST, DATA), NEITHER("template", JOB_VALUE, TEMPLATE),     \
        NEITHER("system", JOB_VALUE, TEMPLATE), NEITHER("loss_scale", JOB_VALUE, TEMPLATE),    \
        NEITHER("truncation_strategy", JOB_VALUE, TEMPLATE),                                   \
        NEITHER("model_type", JOB_VALUE, MODEL), NEITHER("use_hf", JOB_VALUE, BASE),           \
        NEITHER("max_model_len", JOB_VALUE, MODEL), NEITHER("rope_scaling", JOB_VALUE, MODEL), \
        RULE("use_ray", JOB_SWITCH, NULL, "refused: its groups of workers are not read",       \
             BASE),                                                                            \
        NEITHER("external_plugins", JOB_LIST, BASE),                                           \
        NEITHER("custom_register_path", JOB_LIST, BASE), NEITHER("ENV", JOB_JSON, BASE),       \
        NEITHER("ddp_timeout", JOB_VALUE, BASE), NEITHER("report_to", JOB_LIST, TRAINING),     \
        NEITHER("logging_steps", JOB_VALUE, TRAINING),                                         \
        NEITHER("save_steps", JOB_VALUE, TRAINING),                                            \
        NEITHER("eval_steps", JOB_VALUE, TRAINING),                                            \
        NEITHER("dataloader_num_workers", JOB_VALUE, TRAINING)

/* ---- of its trainer ---- */

const struct job_flag swift_flags[] = {
    MODEL_ROWS,
    TUNER_ROWS,
    RLHF_ROWS,
    DATA_ROWS,
    RULE("batch_size", JOB_VALUE, "workload.micro_batch",
         "ms-swift 2's per_device_train_batch_size, which is 1 unless given", TRAINING),
    RULE("deepspeed", JOB_VALUE, NULL,
         "zero0 to zero3, zero2_offload, zero3_offload; a file; its text", SUPERVISED),
    RULE("fsdp", JOB_LIST, "parallel.zero", "fsdp2; a file with fsdp, fsdp_config; its text",
         SUPERVISED),
    RULE("zero_hpz_partition_size", JOB_VALUE, "parallel.hpz_shard", "as DeepSpeed's",
         SUPERVISED),
    RULE("deepspeed_autotp_size", JOB_VALUE, "parallel.tp", "as DeepSpeed's autotp_size",
         SUPERVISED),
    RULE("context_parallel_size", JOB_VALUE, "parallel.cp", "where it is above 1", TEMPLATE),
    MEMORY("expert_parallel_size ep_size", JOB_VALUE, "1",
           "every rank has all experts of a layer, as FSDP gathers them", TEMPLATE),
    MEMORY("offload_expert_optimizer", JOB_VALUE, "false",
           "states of experts stay on the device", TEMPLATE),
    RULE("quant_method", JOB_VALUE, "precision.weights",
         "bnb: nf4_double, fp8_channel, by quant_bits; hqq 4: nf4; eetq, quanto 8: "
         "fp8_channel; others warn",
         QUANT),
    RULE("quant_bits quantization_bit", JOB_VALUE, "precision.weights",
         "with quant_method bnb, 4 or 8", QUANT),
    RULE("bnb_4bit_use_double_quant", JOB_VALUE, "precision.weights", "false: nf4", QUANT),
    NEITHER("bnb_4bit_compute_dtype", JOB_VALUE, QUANT),
    NEITHER("bnb_4bit_quant_storage", JOB_VALUE, QUANT),
    RULE("move_model_batches", JOB_VALUE, NULL,
         "without it an engine beside DeepSpeed's stage 3 warns: weights are gathered whole",
         ROLLOUT),
    RULE("use_cce", JOB_VALUE, "stack.cross_entropy", "fused", TRAINING),
    RULE("activation_cpu_offload", JOB_VALUE, "recompute.offload",
         "layer_input with gradient_checkpointing", TRAINING),
    IDLE("use_logits_to_keep", JOB_VALUE,
         "which tokens are trained is the data's; workload.logits_to_keep says it", TRAINING),
    RULE("optimizer", JOB_VALUE, "optimizer.kind", "a plugin: muon, muonclip muon; others warn",
         TRAINING),
    RULE("use_galore", JOB_VALUE, "optimizer.kind", "galore, of attention and networks", TUNER),
    RULE("galore_rank", JOB_VALUE, "optimizer.rank", "128 unless given", TUNER),
    RULE("galore_with_embedding", JOB_VALUE, "optimizer.projected", "embed_tokens, too", TUNER),
    RULE("galore_quantization", JOB_VALUE, "optimizer.kind",
         "galore8bit: Q-GaLore's moments are in 8 bits", GALORE),
    RULE("galore_proj_quant", JOB_VALUE, NULL,
         "with galore_quantization a warning: projections are planned in 16 bits", GALORE),
    NEITHER("galore_proj_bits", JOB_VALUE, GALORE),
    NEITHER("galore_proj_group_size", JOB_VALUE, GALORE),
    NEITHER("galore_cos_threshold", JOB_VALUE, GALORE),
    NEITHER("galore_gamma_proj", JOB_VALUE, GALORE),
    NEITHER("galore_queue_size", JOB_VALUE, GALORE),
    RULE("galore_target_modules", JOB_LIST, "optimizer.projected",
         "parts whose names hold one; all of attention and networks unless given", TRAINING),
    IDLE("galore_optim_per_parameter", JOB_VALUE, "states are the same", TRAINING),
    TIME("experts_impl", JOB_VALUE, "grouped_mm", "products are grouped here", MODEL),
    RULE("use_dora", JOB_VALUE, "lora.dora", "with adapters", TUNER),
    RULE("lisa_activated_layers", JOB_VALUE, "optimizer.active_layers",
         "on one device; elsewhere a warning", LISA),
    NEITHER("lisa_step_interval", JOB_VALUE, LISA),
    RULE("tuner_backend", JOB_VALUE, "recompute.offload",
         "unsloth: layer_input on one device, of which adapters share theirs", TUNER_MODEL),
    MEMORY("device_map", JOB_VALUE, NULL, "every rank has the whole model here", MODEL),
    RULE("router_aux_loss_coef", JOB_VALUE, "stack.balance_loss",
         "above 0: masked; joint with packing or padding_free", TRAINING),
    NEITHER("init_weights", JOB_VALUE, TUNER),
    NEITHER("gradient_checkpointing_kwargs", JOB_VALUE, TRAINING),
    NEITHER("per_device_eval_batch_size", JOB_VALUE, TRAINING),
    NEITHER("save_total_limit", JOB_VALUE, TRAINING),
    NEITHER("warmup_ratio", JOB_VALUE, TRAINING),
    NEITHER("add_version", JOB_VALUE, SUPERVISED),
};

const size_t swift_n_flags = sizeof swift_flags / sizeof *swift_flags;

/* ---- of Megatron-SWIFT ---- */

const struct job_flag swift_megatron_flags[] = {
    MODEL_ROWS,
    TUNER_ROWS,
    RLHF_ROWS,
    DATA_ROWS,
    RULE("load mcore_model", JOB_VALUE, "model",
         "by its folder's name, where no other flag names it", MEGATRON),
    RULE("torch_dtype", JOB_VALUE, "precision.weights",
         "bfloat16, which holds unless given; others: fp16", MEGATRON),
    RULE("recompute-granularity", JOB_VALUE, "recompute.kind",
         "selective unless given; full, none", MEGATRON),
    RULE("config", JOB_VALUE, NULL, "a YAML file of flags, under the command line's", BASE),
    IDLE("megatron_extra_kwargs extra_megatron_kwargs", JOB_JSON, "Megatron's own flags",
         MEGATRON),
    RULE("language_model_only", JOB_VALUE, "model.encoder.layers", "0", MEGATRON),
    IDLE("mlp_padding_free", JOB_VALUE, "all sequences have the longest length here", MEGATRON),
    TIME("sequence_packing_scheduler", JOB_VALUE, NULL, "ranks have as many tokens each",
         MEGATRON),
    NEITHER("move_model_batches", JOB_VALUE, MEGATRON),
    NEITHER("bridge_backend", JOB_VALUE, MEGATRON),
    NEITHER("load_safetensors", JOB_VALUE, MEGATRON),
    NEITHER("save_safetensors", JOB_VALUE, MEGATRON),
    NEITHER("merge_lora", JOB_VALUE, MEGATRON),
    NEITHER("offload_bridge", JOB_VALUE, MEGATRON),
    NEITHER("max_epochs", JOB_VALUE, MEGATRON),
    NEITHER("num_train_epochs", JOB_VALUE, MEGATRON),
    NEITHER("finetune", JOB_SWITCH, MEGATRON),
    NEITHER("lr_warmup_fraction", JOB_VALUE, MEGATRON),
    NEITHER("output_dir", JOB_VALUE, MEGATRON),
    NEITHER("no_save_rng", JOB_SWITCH, MEGATRON),
};

const size_t swift_megatron_n_flags =
    sizeof swift_megatron_flags / sizeof *swift_megatron_flags;
