/* MaxText's settings. Read at AI-Hypercomputer/maxtext e591f30cbbf2. */
#include "plan/framework/maxtext.h"
#include "plan/job/rows.h"

#define BASE "src/maxtext/configs/base.yml"
#define TYPES "src/maxtext/configs/types.py"
#define MOE "src/maxtext/layers/moe.py"
#define AMD "src/MaxText/layers/moe.py of ROCm/maxtext"
#define UTILS "src/maxtext/utils/max_utils.py"

#define POST "src/maxtext/configs/post_train of maxtext 0.2.5"

#define MODEL(name, key, note) RULE(name, JOB_VALUE, key, note, BASE)
#define AXIS(name, key, note)                                                                  \
    RULE("ici_" name "_parallelism", JOB_VALUE, key, note, UTILS),                             \
        RULE("dcn_" name "_parallelism", JOB_VALUE, key, note, UTILS)
#define REMAT(name) RULE(name, JOB_VALUE, "recompute.save", "with remat_policy custom", BASE)

const struct job_flag maxtext_flags[] = {
    /* ---- the model ---- */
    RULE("model_name", JOB_VALUE, "model", "a file of configs/models; default: the base_ keys",
         TYPES),
    RULE("base_config", JOB_VALUE, NULL, "a file below this one", TYPES),
    RULE("override_model_config", JOB_VALUE, NULL, "base_ keys may change a named model",
         TYPES),
    RULE("global_parameter_scale", JOB_VALUE, "model.hidden",
         "a power of two: heads and networks, the width and the depth doubled in turn", TYPES),
    MODEL("base_num_decoder_layers", "model.layers", "16 unless given"),
    MODEL("base_emb_dim", "model.hidden", "2048 unless given"),
    MODEL("base_num_query_heads", "model.attention.heads", "16 unless given"),
    MODEL("base_num_kv_heads", "model.attention.kv_heads", "16 unless given"),
    MODEL("head_dim", "model.attention.head_dim", "128 unless given"),
    MODEL("base_mlp_dim", "model.dense_intermediate", "7168 unless given"),
    MODEL("base_moe_mlp_dim", "model.moe.intermediate", "base_mlp_dim unless given"),
    MODEL("first_num_dense_layers", "model.dense_layers", "0 unless given"),
    MODEL("num_experts", "model.moe.experts", "1 unless given: every layer is dense"),
    MODEL("num_experts_per_tok", "model.moe.top_k", "1 unless given"),
    MODEL("shared_experts", "model.moe.shared_experts", "0 unless given"),
    MODEL("interleave_moe_layer_step", "model.moe_every", "1 unless given"),
    MODEL("vocab_size", "model.vocab", "32000 unless given"),
    MODEL("logits_via_embedding", "model.tied_embeddings", "false unless given"),
    MODEL("attention_type", "model.attention.kind", "mla; otherwise gqa"),
    MODEL("q_lora_rank", "model.attention.q_lora_rank", "0 unless given"),
    MODEL("kv_lora_rank", "model.attention.kv_lora_rank", "512 unless given"),
    MODEL("qk_nope_head_dim", "model.attention.qk_nope_head_dim", "128 unless given"),
    MODEL("qk_rope_head_dim", "model.attention.qk_rope_head_dim", "64 unless given"),
    MODEL("v_head_dim", "model.attention.v_head_dim", "128 unless given"),
    MODEL("use_qk_norm", "model.attention.qk_norm", "false unless given"),
    MODEL("routed_scaling_factor", "model.moe.router.scale", "1 unless given"),
    MODEL("routed_score_func", "model.moe.router.score", "softmax unless given"),
    MODEL("routed_bias", "model.moe.router.bias", "false unless given"),
    MODEL("sliding_window_size", "model.attention.window", "with attention_type local_sliding"),
    MODEL("chunk_attn_window_size", "model.attention.chunk", "with attention_type chunk"),
    MODEL("attention_sink", "model.attention.sinks", "false unless given"),
    MODEL("use_multimodal", "model.encoder.layers",
          "off: 0; false unless the model's file says"),
    MODEL("mtp_num_layers", "model.mtp_layers", "and mtp_enabled above 0"),

    /* ---- the step ---- */
    RULE("per_device_batch_size", JOB_VALUE, "workload.micro_batch",
         "x tp x cp (x pp / microbatches); 12 unless given", BASE),
    DIRECT("max_target_length", JOB_VALUE, "workload.sequence_length", NULL, "2048", BASE),
    RULE("gradient_accumulation_steps", JOB_VALUE, "workload.global_batch",
         "x per_device_batch_size x devices", BASE),
    RULE("num_slices", JOB_VALUE, NULL, "how the dcn axes split", UTILS),
    RULE("compile_topology", JOB_VALUE, "cluster", "v4-N, v5p-N: N/2 chips; v5e-N, v6e-N: N",
         "src/maxtext/trainers/pre_train/train_compile.py"),
    RULE("compile_topology_num_slices", JOB_VALUE, "cluster", "times the topology",
         "src/maxtext/trainers/pre_train/train_compile.py"),

    /* ---- the layout: ici x dcn; one -1 of each kind takes what the others leave ---- */
    AXIS("data", "parallel.zero", "copies; ici 1, dcn -1 unless given"),
    AXIS("fsdp", "parallel.zero", "3; ici -1, dcn 1 unless given"),
    AXIS("fsdp_transpose", "parallel.zero", "3"),
    AXIS("tensor", "parallel.tp", NULL),
    AXIS("tensor_transpose", "parallel.tp", NULL),
    AXIS("tensor_sequence", "parallel.tp", "and sp"),
    AXIS("expert", "parallel.ep", NULL),
    AXIS("context", "parallel.cp", NULL),
    AXIS("sequence", "parallel.cp", NULL),
    AXIS("pipeline", "parallel.pp", NULL),
    RULE("shard_optimizer_over_data", JOB_VALUE, "parallel.zero", "1 where fsdp is 1", BASE),
    RULE("num_layers_per_pipeline_stage", JOB_VALUE, "parallel.vpp", "layers / (pp x value)",
         BASE),
    RULE("num_pipeline_repeats", JOB_VALUE, "parallel.vpp", "as it stands", BASE),
    RULE("num_pipeline_microbatches", JOB_VALUE, "workload.micro_batch", "pp unless given",
         BASE),

    /* ---- the experts ---- */
    RULE("sparse_matmul", JOB_VALUE, "moe.path", "ragged_a2a; off: capacity, or masked", MOE),
    RULE("megablox", JOB_VALUE, "moe.matmul", "megablox; off: ragged_dot", MOE),
    RULE("capacity_factor", JOB_VALUE, "moe.capacity_factor", "only without sparse_matmul",
         MOE),
    RULE("ragged_buffer_factor", JOB_VALUE, "moe.buffer", "a factor; -1: worst", MOE),
    RULE("use_ring_of_experts", JOB_VALUE, "moe.path", "allgather", MOE),
    RULE("use_turbo_deepep_dispatch", JOB_VALUE, "moe.path", "deepep where ep is above 1", AMD),
    RULE("use_deepep_dispatch", JOB_VALUE, "moe.path", "an older name of it", AMD),
    RULE("use_turbo_grouped_gemm", JOB_VALUE, "moe.matmul", "grouped", AMD),
    RULE("use_tokamax_gmm", JOB_VALUE, "moe.matmul", "grouped without megablox", MOE),
    MEMORY("num_moe_token_chunks", JOB_VALUE, "1",
           "tokens pass the experts at once: what of a chunk XLA keeps for backward is not "
           "documented",
           MOE),
    DIRECT("use_random_routing", JOB_VALUE, "moe.routing.distribution",
           "true=uniform True=uniform false=uniform False=uniform", NULL, MOE),

    /* ---- formats ---- */
    DIRECT("weight_dtype", JOB_VALUE, "precision.weights",
           "float32=f32 bfloat16=bf16 float16=f16", "float32", BASE),
    RULE("dtype", JOB_VALUE, "precision.activations", "and dispatch, combine", BASE),
    DIRECT("grad_dtype", JOB_VALUE, "precision.gradients",
           "float32=f32 bfloat16=bf16 float16=f16", "float32", BASE),
    RULE("mu_dtype", JOB_VALUE, "precision.moments",
         "the weights' unless given; precision.moment2 stays theirs", BASE),
    RULE("quantization", JOB_VALUE, "precision.compute", "fp8*, nanoo_fp8, te_fp8*, te_mxfp8",
         BASE),

    /* ---- recomputation ---- */
    RULE("remat_policy", JOB_VALUE, "recompute", "full, or what the policy keeps",
         "src/maxtext/layers/decoders.py"),
    REMAT("query_proj"),
    REMAT("key_proj"),
    REMAT("value_proj"),
    REMAT("qkv_proj"),
    REMAT("kv_proj"),
    REMAT("out_proj"),
    REMAT("mla_q"),
    REMAT("mla_kv"),
    REMAT("query_wa_proj"),
    REMAT("kv_wa_proj"),
    REMAT("attention_out"),
    REMAT("moe_x_sorted"),
    REMAT("moe_routing_maps"),
    REMAT("indexer_cutoff_threshold"),
    REMAT("context"),
    REMAT("engram"),
    REMAT("mlpwi"),
    REMAT("mlpwi_0"),
    REMAT("mlpwi_1"),
    REMAT("mlpwo"),
    REMAT("moe_mlpwi"),
    REMAT("moe_mlpwi_0"),
    REMAT("moe_mlpwi_1"),
    REMAT("moe_mlpwo"),
    RULE("decoder_layer_input", JOB_VALUE, "recompute.offload",
         "policy custom: offload; remat warns", BASE),

    /* ---- what matters and is not modelled ---- */
    RULE("num_vocab_tiling", JOB_VALUE, "stack.loss_chunks", "above 1: rows in so many tiles",
         BASE),
    NEITHER("packing", JOB_VALUE, BASE),
    MEMORY("vocab_tiling_ag_once", JOB_VALUE, "false",
           "the whole head and its gradient stay through the loss", BASE),
    MEMORY("logits_dot_in_fp32", JOB_VALUE, "false",
           "logits in the activations' format stand in", BASE),
    NEITHER("cast_logits_to_fp32", JOB_VALUE, BASE),
    NEITHER("final_logits_soft_cap", JOB_VALUE, BASE),
    NEITHER("z_loss_multiplier", JOB_VALUE, BASE),
    MEMORY("use_dpo", JOB_VALUE, "false", "a copy of the model stands beside it", POST),
    MEMORY("lora.enable_lora", JOB_VALUE, "false", "all weights are trained here", POST),
    MEMORY("enable_diloco", JOB_VALUE, "false", "slices have copies and an outer optimizer",
           BASE),
    RULE("teacher_overrides.model_name student_overrides.model_name", JOB_VALUE, NULL,
         "refused: a model taught by another", POST),
    RULE("optimizer_memory_host_offload", JOB_VALUE, "optimizer.offload", "1", BASE),
    RULE("parameter_memory_host_offload", JOB_VALUE, "optimizer.offload_params",
         "with optimizer_memory_host_offload", BASE),
    RULE("scan_layers", JOB_VALUE, "stack.unrolled", "off: true", BASE),
    RULE("opt_type", JOB_VALUE, "optimizer.kind", "adamw, adam_pax adam; sgd, muon by name",
         BASE),

    /* ---- neither ---- */
    NEITHER("run_name", JOB_VALUE, BASE),
    NEITHER("base_output_directory", JOB_VALUE, BASE),
    NEITHER("dataset_type", JOB_VALUE, BASE),
    NEITHER("dataset_path", JOB_VALUE, BASE),
    NEITHER("steps", JOB_VALUE, BASE),
    RULE("enable_checkpointing", JOB_VALUE, "workload.async_checkpoint",
         "true unless given, with async_checkpointing", BASE),
    RULE("async_checkpointing", JOB_VALUE, "workload.async_checkpoint", "true unless given",
         BASE),
    NEITHER("hardware", JOB_VALUE, BASE),
    NEITHER("learning_rate", JOB_VALUE, BASE),
    NEITHER("attention", JOB_VALUE, BASE),
    NEITHER("checkpoint_period", JOB_VALUE, BASE),
    NEITHER("gradient_clip_threshold", JOB_VALUE, BASE),
    NEITHER("decoder_block", JOB_VALUE, BASE),
    NEITHER("tokenizer_path", JOB_VALUE, BASE),
    NEITHER("reuse_example_batch", JOB_VALUE, BASE),
    NEITHER("profiler", JOB_VALUE, BASE),
    NEITHER("enable_goodput_recording", JOB_VALUE, BASE),
};

const size_t maxtext_n_flags = sizeof maxtext_flags / sizeof *maxtext_flags;
