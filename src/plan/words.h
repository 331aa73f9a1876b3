/* The words that a plan's keys take, in the order of their texts in plan/schema/schema_words.c.
 */
#ifndef MOEPLAN_PLAN_WORDS_H
#define MOEPLAN_PLAN_WORDS_H

enum attention_kind {
    ATTENTION_GQA,
    ATTENTION_MLA,
    ATTENTION_SHARED_KV /* one head that is key and value of all queries (DeepSeek-V4) */
};

/* What a model's list of layers may say of one: its mixer, or a network that stands alone. */
enum layer_type {
    LAYER_FULL,   /* attention over the whole sequence, as model.attention says */
    LAYER_WINDOW, /* the same over the last attention.window tokens */
    LAYER_CHUNK,  /* the same within chunks of attention.chunk tokens */
    LAYER_LINEAR, /* a recurrence, as model.linear says */
    LAYER_REUSE,  /* full attention by the indexer's last choice: no indexer of its own */
    LAYER_CSA,    /* a window, and of what is before it what an indexer chooses of entries that
                     stand for attention.csa_ratio tokens each */
    LAYER_HCA,    /* a window, and all entries that stand for attention.hca_ratio tokens each */
    LAYER_CSA_REUSE,  /* a window, and what the last csa layer before it chose of its entries */
    LAYER_TSA,        /* as csa, of entries that stand for one token each */
    LAYER_TSA_CHOOSE, /* a choice of its own of the entries of the last tsa layer before it */
    LAYER_TSA_REUSE,  /* the last choice of a tsa or tsa_choose layer before it */
    LAYER_BLOCKS,     /* of blocks of indexer.block keys those that an indexer chooses */
    LAYER_BORROW,     /* full attention to keys and values of the last full layer before it */
    LAYER_WINDOW_BORROW, /* attention over the window to those of the last window layer */
    LAYER_BOTH,          /* full attention and a recurrence of the same rows, added at once */
    LAYER_DENSE,
    LAYER_MOE,
    LAYER_TYPES
};

/* Matrices of a layer that a quantised checkpoint may keep in a format of their own; experts,
 * by definition, are in the checkpoint's. */
enum weight_part {
    PART_AUTO,         /* in a list: as the checkpoint has it */
    PART_ATTENTION,    /* in a list: into and out of attention */
    PART_ATTENTION_IN, /* q, k, v and what leads to them */
    PART_ATTENTION_OUT,
    PART_LINEAR,  /* of a recurrence */
    PART_INDEXER, /* of sparse attention */
    PART_DENSE,
    PART_SHARED,
    PART_RESIDUAL,
    PART_LATENT,
    WEIGHT_PARTS,
    PART_WHOLE = WEIGHT_PARTS /* of none that a checkpoint quantises */
};

/* Recurrences over the sequence with a state in place of a cache. */
enum linear_kind {
    LINEAR_GATED_DELTA_NET, /* Qwen3-Next, Qwen3.5 */
    LINEAR_KIMI_DELTA,      /* Kimi-Linear */
    LINEAR_LIGHTNING,       /* MiniMax-Text-01 */
    LINEAR_MAMBA2,          /* Nemotron-3, Granite-4-H */
    LINEAR_MAMBA1,          /* Jamba */
    LINEAR_SHORT_CONV,      /* LFM2: gates around a convolution, no recurrence */
    LINEAR_COUNT
};

enum mode { MODE_TRAIN, MODE_PREFILL, MODE_DECODE, MODE_SERVE };

/* What a draft model takes from the model that it is of. */
enum draft_shares { SHARES_NOTHING, SHARES_EMBEDDING, SHARES_ENDS };

/* What an engine does of every request. */
enum duty { DUTY_ALL, DUTY_PROMPTS, DUTY_ANSWERS };

enum dtype {
    DTYPE_NONE, /* "none": the tensor does not exist (no master weights) */
    DTYPE_F32,
    DTYPE_BF16,
    DTYPE_F16,
    DTYPE_FP8,         /* E4M3, one f32 scale per tensor (counted as none) */
    DTYPE_FP8_CHANNEL, /* E4M3, one f32 scale per output channel */
    DTYPE_FP8_BLOCK,   /* E4M3, one f32 scale per 128 x 128 block (weights), per 128 (rows) */
    DTYPE_MXFP8,       /* E4M3, one E8M0 byte per 32 */
    DTYPE_MXFP4,       /* E2M1, one E8M0 byte per 32 */
    DTYPE_NVFP4,       /* E2M1, one E4M3 byte per 16 */
    DTYPE_INT8,
    DTYPE_INT4,       /* a 16-bit scale per 128 of a column (AWQ, GPTQ, W4A8) */
    DTYPE_INT4_32,    /* and per 32 */
    DTYPE_NF4,        /* bitsandbytes: an f32 scale per 64 */
    DTYPE_NF4_DOUBLE, /* and its scales in bytes, an f32 per 256 of them */
    DTYPE_I32,
    DTYPE_I64,
    DTYPE_F64,
    DTYPE_BOOL,
    DTYPE_COUNT
};

enum compute { COMPUTE_F32, COMPUTE_F32X3, COMPUTE_BF16, COMPUTE_FP8 };

/* How a training stack's products run in 8 or 4 bits (TransformerEngine's recipes). */
enum precision_recipe {
    RECIPE_NONE,
    RECIPE_FP8_DELAYED, /* a scale per tensor, from its history */
    RECIPE_FP8_CURRENT, /* a scale per tensor, of now (tensorwise) */
    RECIPE_FP8_BLOCK,   /* 128 x 128 of weights, 1 x 128 of activations (blockwise) */
    RECIPE_MXFP8,       /* E8M0 per 32 */
    RECIPE_NVFP4        /* E4M3 per 16 */
};

enum matmul { MATMUL_GROUPED, MATMUL_RAGGED_DOT, MATMUL_MEGABLOX };

/* auto: what the stack does: the worst case where shapes are static, exact otherwise */
enum moe_library {
    LIBRARY_AUTO,          /* the stack's own; DeepEP V1 where it has none */
    LIBRARY_DEEPEP,        /* V1: fixed NVLink and RDMA queues */
    LIBRARY_DEEPEP_V2,     /* elastic buffer, grows with tokens */
    LIBRARY_PRIMUS,        /* Primus-Turbo's port of V1 */
    LIBRARY_PRIMUS_JAX,    /* and from JAX: sized by one config row, no workspace */
    LIBRARY_HYBRID_EP,     /* a budget of rows, overflow dropped and flagged */
    LIBRARY_MEGA,          /* Primus-Turbo Mega MoE: symmetric heap of row pools */
    LIBRARY_MEGA_DEEPGEMM, /* DeepGEMM's mega kernel */
    LIBRARY_MINIMAL_ASYNC, /* torchtitan's: two symmetric row buffers */
    LIBRARY_COUNT
};

enum buffer_sizing { SIZING_AUTO, SIZING_WORST, SIZING_EXACT, SIZING_BALANCED, SIZING_FACTOR };

enum distribution {
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_ZIPF,
    DISTRIBUTION_LOGNORMAL,
    DISTRIBUTION_DIRICHLET,
    DISTRIBUTION_HOT_RANK,
    DISTRIBUTION_TRACE
};

enum placement { PLACEMENT_CONTIGUOUS, PLACEMENT_STRIDED, PLACEMENT_TABLE, PLACEMENT_EPLB };

/* Whether all MoE layers of a step are routed alike. */
enum routing_layers { ROUTING_INDEPENDENT, ROUTING_SAME };

enum scenario { SCENARIO_STEADY, SCENARIO_COLD, SCENARIO_BURST, SCENARIO_PROFILE_RUN };

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTE_SAVE };

enum stack_kind {
    STACK_GENERIC,
    STACK_MAXTEXT,
    STACK_MEGATRON,
    STACK_TORCHTITAN,
    STACK_NXD,
    STACK_VLLM,
    STACK_SGLANG,
    STACK_PRIMUS,
    STACK_TRTLLM,
    STACK_HOST, /* moeplan's own executor: what `moeplan run` performs */
    STACK_FSDP,
    STACK_DEEPSPEED,
    STACK_COUNT
};

enum router_score { SCORE_SOFTMAX, SCORE_SIGMOID, SCORE_SQRTSOFTPLUS };
enum router_order { ORDER_TOPK_THEN_SCORE, ORDER_SCORE_THEN_TOPK };
enum activation { ACTIVATION_SILU, ACTIVATION_GELU, ACTIVATION_RELU, ACTIVATION_SWIGLU_OAI };
enum gate_scale { GATE_POST, GATE_PRE }; /* gate multiplies the output, or the input */
enum shard { SHARD_H, SHARD_I, SHARD_BLOCK };
enum weight_skip { WEIGHT_SKIP_NONE, WEIGHT_SKIP_PING_PONG, WEIGHT_SKIP_HI_LO };
enum static_blocks { STATIC_BLOCKS_NXD, STATIC_BLOCKS_KERNEL };
enum shared_mode { SHARED_AUTO, SHARED_SP, SHARED_TP };
enum pipeline_schedule {
    PIPELINE_1F1B,
    PIPELINE_INTERLEAVED,
    PIPELINE_ZERO_BUBBLE,
    PIPELINE_DUALPIPE,
    PIPELINE_GPIPE
};
/* CUDA graphs that an engine captures: none (eager), pieces around attention, whole forwards
 * too; auto: what the stack does. */
enum graphs { GRAPHS_AUTO, GRAPHS_NONE, GRAPHS_PARTIAL, GRAPHS_FULL };

/* What computes the experts in an engine, and takes the workspaces; auto: its own choice. */
enum expert_backend {
    EXPERTS_AUTO,
    EXPERTS_TRITON,     /* Triton's fused MoE kernels */
    EXPERTS_TRITON_OAI, /* OpenAI's triton_kernels for mxfp4 */
    EXPERTS_CUTLASS,    /* the engine's CUTLASS grouped products */
    EXPERTS_DEEPGEMM,   /* DeepGEMM over contiguous rows, each expert's padded */
    EXPERTS_MASKED,     /* DeepGEMM over the same number of slots for every expert */
    EXPERTS_FLASHINFER, /* FlashInfer's CUTLASS runner */
    EXPERTS_TRTLLM_GEN, /* TensorRT-LLM's generated kernels */
    EXPERTS_MARLIN,     /* Marlin: 4-bit weights, 16-bit rows */
    EXPERTS_COUNT
};
enum block_kind {
    BLOCK_MOE,
    BLOCK_ALLREDUCE_MATMUL,
    BLOCK_REDUCE_SCATTER_MATMUL,
    BLOCK_ALLGATHER_MATMUL,
    BLOCK_MLP
};

/* What a training stack's attention keeps: statistics per row, or the square of scores. */
enum attention_backend { BACKEND_FLASH, BACKEND_UNFUSED };

/* What the optimizer keeps per parameter beside a master copy. */
enum optimizer_kind {
    OPTIMIZER_ADAM,      /* two moments */
    OPTIMIZER_ADAM8BIT,  /* two moments in bytes, an f32 scale per 256 (bitsandbytes) */
    OPTIMIZER_MUON,      /* momentum; a second moment for what is no matrix of a layer */
    OPTIMIZER_LION,      /* momentum */
    OPTIMIZER_LION8BIT,  /* momentum in bytes, an f32 scale per 256 (bitsandbytes) */
    OPTIMIZER_ADAFACTOR, /* a sum per row and per column of a matrix, no momentum */
    OPTIMIZER_SGD,       /* momentum */
    OPTIMIZER_ADAM4BIT,  /* two moments in 4 bits, an f32 scale per 256 (torchao) */
    OPTIMIZER_ADEMAMIX,  /* three moments */
    OPTIMIZER_ADEMAMIX8BIT,
    OPTIMIZER_RMSPROP, /* a second moment alone */
    OPTIMIZER_RMSPROP8BIT,
    OPTIMIZER_KAHAN_ADAM, /* two moments, and what rounding took from 16-bit weights (optimi) */
    OPTIMIZER_SCHEDULE_FREE, /* a second moment and a second copy of what is trained */
    OPTIMIZER_ADAM_MINI,     /* a moment; of embedding and head a second one */
    OPTIMIZER_GALORE,        /* two moments of projected gradients, and the projections */
    OPTIMIZER_GALORE8BIT,    /* those moments in bytes, an f32 scale per 256 */
    OPTIMIZER_APOLLO,        /* two moments of projected gradients */
    OPTIMIZER_LOMO,          /* nothing: a weight is updated as soon as its gradient is there */
    OPTIMIZER_ADALOMO        /* likewise, by f32 sums per row and per column */
};

/* Megatron's --use-precision-aware-optimizer: not; TransformerEngine's FusedAdam on the states
 * as they are stored; or, as Megatron-Bridge's recipes run it, behind Megatron's own f32
 * master.
 */
enum precision_aware { AWARE_NONE, AWARE_NATIVE, AWARE_COPIED };

/* One kernel for a parameter's whole update, or lists of temporaries (torch.optim). */
enum optimizer_step { STEP_FUSED, STEP_FOREACH };

/* How a training stack's loss treats logits: an f32 copy and the 16-bit ones side by side, the
 * gradient written over the 16-bit logits, or as the word says. */
enum cross_entropy {
    LOSS_F32,
    LOSS_IN_PLACE,
    LOSS_TE,             /* an f32 gradient beside the 16-bit logits */
    LOSS_TORCH,          /* f32 logits, their log-softmax and an f32 gradient */
    LOSS_CHUNKED,        /* the same of stack.loss_chunks parts, one after the other */
    LOSS_FUSED,          /* head and loss at once, a few rows at a time (Liger) */
    LOSS_LOG_PROBS,      /* f32 logits, of which a softmax is made that waits for backward */
    LOSS_LOG_SOFTMAX,    /* the same by way of a log-softmax, whose gradient stands apart */
    LOSS_LOG_PROBS_PART, /* 16-bit logits that wait, their softmax in stack.loss_chunks parts */
    LOSS_LINEAR_PROBS,   /* head and log-softmax of a part at once, both again in backward */
    LOSS_SMOOTHED,       /* shifted logits, their log-softmax and its negative, as they come */
    LOSS_SMOOTHED_F32    /* the same of logits cast to f32 */
};

/* The loss that balances experts: each layer's of its own scores, or of all layers at once;
 * with the mask of padding spread as the choices are. */
enum balance_loss { BALANCE_LAYER, BALANCE_JOINT, BALANCE_MASKED };

/* Whether FSDP keeps a layer's gathered weights from its forward to its backward. */
enum reshard { RESHARD_AUTO, RESHARD_ALWAYS, RESHARD_NEVER };

/* FSDP2: the format of whole gradients that wait for a step's last micro-batch; none: those of
 * each micro-batch are reduced at once. */
enum accumulated {
    ACCUMULATED_AUTO,
    ACCUMULATED_NONE,
    ACCUMULATED_F32,
    ACCUMULATED_BF16,
    ACCUMULATED_F16
};

/* Rounding of linear layers' weights and inputs that training runs through (torchao's QAT): to
 * integers with scales in f32 or in 16 bits, to 4 bits with a least, to fp8, to that and then
 * to 4 bits. */
enum fake_weights { FAKE_NONE, FAKE_INT, FAKE_INT_16, FAKE_INT4, FAKE_FP8, FAKE_FP8_INT4 };
enum fake_inputs { INPUTS_PLAIN, INPUTS_INT8, INPUTS_INT8_16, INPUTS_FP8 };

/* When FSDP gathers the layer that backward comes to next: beside the gradients of the layer at
 * hand, behind them, when it is there. */
enum prefetch { PREFETCH_AUTO, PREFETCH_PRE, PREFETCH_POST, PREFETCH_NONE };
enum collective { COLLECTIVE_BUILTIN, COLLECTIVE_RING, COLLECTIVE_HALVING };
enum data_source { DATA_SYNTHETIC, DATA_REAL };
enum drop_policy { DROP_POSITION, DROP_PROBS };

/* What software does with rows beyond a receive buffer of given size: leaves them out, or ends.
 */
enum on_overflow { OVERFLOW_FAIL, OVERFLOW_DROP };

/* Whose popularity is drawn: every sampled layer and step anew, or once for the run. */
enum popularity { POPULARITY_PER_STEP, POPULARITY_FIXED };
enum capacity_scope { CAPACITY_SEQUENCE, CAPACITY_BATCH };

#endif
