/* The plan: one immutable typed value made from text.
 *
 * Plain data without pointers to owned memory, so a copy is an assignment; sweeps change fields
 * of a copy. Every field stands once in the table of plan/schema/schema.h, with its key, unit,
 * default, limits and help. Units: bytes, bytes per second, FLOP per second, seconds, counts.
 */
#ifndef MOEPLAN_PLAN_PLAN_H
#define MOEPLAN_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/cluster.h"
#include "plan/lists.h"
#include "plan/paths.h"
#include "plan/words.h"

/* ---- the groups of the plan file ---- */

struct attention {
    enum attention_kind kind;
    uint64_t heads, kv_heads, head_dim;          /* GQA; heads also MLA */
    uint64_t q_lora_rank, kv_lora_rank;          /* kv of MLA alone; q_lora_rank 0: direct q */
    uint64_t qk_nope_head_dim, qk_rope_head_dim; /* MLA */
    uint64_t v_head_dim;                         /* of a value; with GQA 0: head_dim */
    bool bias;                                   /* q, k, v biases (and o when output_bias) */
    bool output_bias;
    bool qk_norm;           /* RMS norms on q and k: head_dim each */
    bool qk_norm_all_heads; /* those norms span all heads (OLMoE, MiniMax-M2) */
    bool sinks;             /* one learned sink per head (gpt-oss) */
    bool output_gate;       /* a sigmoid gate on the output: GQA from as many rows of q again,
                               MLA from a matrix of its own (Kimi-K3) */
    bool head_gate; /* a sigmoid gate per head on the output, a matrix of its own (Step, MLA of
                       Ling-3.0) */
    bool k_eq_v;    /* but in window layers keys are values too: no v matrix (Gemma 4) */
    uint64_t window, chunk;        /* tokens that layers of type window, chunk reach */
    uint64_t csa_ratio, hca_ratio; /* tokens that become an entry in layers of type csa, hca */
    bool entry_keys; /* an indexer's keys are made of entries, and these of one window each */
    uint64_t o_groups, o_lora_rank; /* shared_kv: the output by groups of heads, low rank */
};

/* What the heads of layers of type window have of their own; 0: as those of other layers. */
struct window {
    uint64_t heads, kv_heads, head_dim, v_head_dim;
    bool sinks; /* there, where the others have none (MiMo-V2) */
};

/* Layers of type linear. Keys and queries of key_heads x key_dim meet values of heads x
 * head_dim; Mamba calls them groups x state and heads x size (layer-kinds.md 1.2 to 1.6). */
struct linear {
    enum linear_kind kind;
    uint64_t heads, head_dim, key_heads, key_dim;
    uint64_t conv;        /* taps of the convolution before it; 0: none */
    uint64_t rank;        /* of the gates (kimi_delta), of the step (mamba1) */
    bool full_rank_gate;  /* kimi_delta's output gate is one matrix (Kimi-K3) */
    bool full_rank_decay; /* and so is its decay (Ling-3.0): it has no rank */
    bool bare;        /* mamba1 without norms of step, B and C, mamba2 without the gated norm */
    uint64_t chunk;   /* tokens that a training kernel takes at once */
    enum dtype state; /* format of the state when serving; NONE until the engine's is known */
    enum dtype conv_state; /* of the convolution's columns; NONE: the activations' */
};

/* Chooses the top_k keys that sparse attention reads (DeepSeek-V3.2, GLM-5), in layers of type
 * blocks as whole blocks of so many, for each group of queries its own (MiniMax-M3). */
struct indexer {
    uint64_t heads, head_dim, top_k; /* heads 0: none */
    uint64_t block;                  /* layers of type blocks */
    uint64_t pool;       /* mla: tokens whose keys are weighed into one, and chosen together */
    uint64_t candidates; /* tsa_choose: entries that it chooses among; 0: all */
    bool pooled; /* a block has one key, and all heads one choice (Qwen3.8-Flash-Next) */
};

/* What turns images into tokens of the model: layers of bidirectional attention over patches,
 * then a projector that merges patches into tokens. */
struct encoder {
    uint64_t layers; /* 0: none */
    uint64_t hidden, heads, intermediate;
    uint64_t attention;        /* values of all heads; 0: as many as hidden */
    bool glu, bias, norm_bias; /* of its layers */
    uint64_t inputs;           /* values of a patch: channels x frames x side x side */
    uint64_t merge;            /* patches that become one token */
    uint64_t outputs;          /* rows of hidden size per token: 1, more where some enter later
                                  layers of the model (deepstack) */
    uint64_t
        embedding; /* parameters outside the layers before the projector: patches, positions */
    uint64_t projector;     /* and of the projector, or of all of them */
    uint64_t audio;         /* parameters of an encoder of sounds beside it */
    bool on_request;        /* SGLang takes images where it is told to alone (Gemma 3) */
    bool loaded_on_request; /* and loads the encoder then alone (Llama 4) */
    bool captured;          /* SGLang captures graphs of its prompts (Qwen3.5) */
    bool nested; /* its configuration stands within another, where SGLang's fraction sees none
                  * (Qwen3-Omni) */
    uint64_t said_layers, said_hidden; /* by which that weighs it; 0: layers, hidden */
};

/* A second embedding, of which every layer reads a part of its own (Gemma-4 E2B, E4B). */
struct layer_embedding {
    uint64_t width; /* of a token in one layer; 0: none */
    uint64_t vocab; /* rows of its table */
};

/* Embeddings of hashed n-grams that a layer adds to every copy of the residual, gated and
 * behind a convolution over earlier tokens (Qwen3.8-Flash-Next: PLE), or that are part of the
 * embedding itself (LongCat-Flash-Lite). */
struct ngram {
    uint64_t tables;        /* layers that have one, on the first stage; 0: none */
    uint64_t rows;          /* of a table, of all heads */
    uint64_t heads;         /* rows that a token reads */
    uint64_t width;         /* values of a token: of all its rows */
    uint64_t conv, gap;     /* taps of the convolution, and tokens from one to the next */
    enum dtype format;      /* of tables; none: 8 bits where the weights have them, else 16 */
    enum dtype projections; /* of what projects their rows; none: 16 bits */
    bool embedded; /* every head's row is projected alone, the embedding is the mean of the
                    * token's row and these: no gates, no norms (LongCat-Flash-Lite) */
};

/* A model's own layers that draft a block of tokens in one pass, from hidden rows of several
 * layers: window layers with fewer experts than the model's (DeepSeek-V4.1: DSpark). */
struct dspark {
    uint64_t layers;         /* 0: none */
    uint64_t experts, top_k; /* of each; 0: as many as the model's layers have */
    uint64_t inputs;         /* hidden rows that one projection makes a row of */
    uint64_t rank; /* of the two tables that say what a drafted token follows; 0: none */
};

struct router {
    enum router_score score;
    enum router_order order;
    bool normalize;     /* divide the K chosen scores by their sum */
    bool bias;          /* selection bias per expert (loss-free balancing) */
    bool linear_bias;   /* the router's linear layer has a bias (gpt-oss) */
    bool learned_scale; /* of its input, [hidden], and one of each expert's gate (Gemma 4) */
    uint64_t groups, top_groups; /* group-limited when groups > 1 */
    double scale;                /* route_scale */
};

struct model_moe {
    uint64_t experts, top_k, intermediate;
    uint64_t latent_size; /* width of the rows that routed experts work on; 0: hidden */
    bool latent_norm;     /* a norm of their sums before these are projected up (Kimi-K3) */
    uint64_t shared_experts, shared_intermediate; /* width of all shared experts together */
    uint64_t zero_experts; /* choices of the router beside the experts that compute nothing and
                            * return their input (LongCat-Flash) */
    bool shortcut; /* their sum is added behind the next layer, a dense one (LongCat-Flash) */
    uint64_t hash_layers;        /* first layers that route by a table of the vocabulary */
    uint64_t image_intermediate; /* width of as many experts that tokens of images choose from,
                                  * by a router of their own (ERNIE-4.5-VL); 0: none */
    bool shared_gate;            /* a [hidden] gate on the shared experts' output (Qwen2-MoE) */
    enum activation activation;
    bool glu;  /* gate and up matrices; false: one up matrix */
    bool bias; /* biases on the expert matrices */
    enum gate_scale scale;
    struct router router;
};

struct model {
    char name[PLAN_NAME];
    uint64_t layers;       /* transformer layers, dense and MoE; without MTP */
    uint64_t dense_layers; /* of them with a dense feed-forward network */
    uint64_t moe_every;    /* 1: the dense layers come first; n: every n-th layer is MoE */
    struct enum_list layer_types; /* enum layer_type, repeated over the layers; empty: full */
    uint64_t hidden, dense_intermediate;
    uint64_t residual_intermediate; /* a dense MLP beside the experts of a MoE layer (Arctic) */
    uint64_t borrow_intermediate;   /* dense, in layers that borrow keys; 0: as others */
    uint64_t vocab;
    uint64_t labels; /* of a score head in place of the one over the vocabulary; 0: none */
    bool tied_embeddings;
    uint64_t mtp_layers; /* multi-token prediction modules; counted only when mtp_enabled */
    bool mtp_enabled;
    bool mtp_window;           /* their attention has a window (MiMo-V2, Step-3.5) */
    bool mtp_dense;            /* their network is dense where the model has experts */
    bool mtp_first;            /* vLLM's class of the model holds the first of them alone */
    bool mtp_plain;            /* they have one residual where the model has copies */
    uint64_t norms_per_layer;  /* [hidden] norm vectors per layer (2; 4 with post-norms) */
    uint64_t residual_streams; /* copies of the residual that hyper-connections mix */
    bool residual_identity;  /* these are read and added to, not mixed with each other (Hy4) */
    bool residual_mean;      /* the head reads their mean, not a weighed sum (GLM-5.3-Flash) */
    uint64_t residual_rank;  /* of the gates that weigh them (Qwen3.8-Flash-Next); 0: weights
                                of the copies, which are mixed as well (DeepSeek-V4) */
    uint64_t residual_block; /* layers whose sum attention residuals keep; 0: none (Kimi-K3) */
    bool side_by_side;       /* a network reads what its mixer does, both are added at once */
    bool norm_bias;          /* norms have a bias beside the weight (LayerNorm: Phi-3.5-MoE) */
    bool mlp_bias;           /* dense networks have biases (StarCoder2) */
    bool layer_scale;        /* one learned factor on a layer's output (Gemma 4) */
    bool head_bias;          /* the head has a [vocab] bias (Phi-3.5-MoE) */
    uint64_t max_position;
    bool rotary;             /* attention rotates queries and keys by their positions */
    uint64_t rotary_beside;  /* columns of tables of cosines and sines beside the first */
    enum dtype rotary_table; /* vLLM's, of cosines and sines; none: 16 bits */
    enum dtype checkpoint;   /* format of the matrices as published; none: 16 bits */
    struct enum_list plain;  /* enum weight_part: of them in plain_format instead */
    enum dtype plain_format;
    struct attention attention;
    struct window window;
    struct linear linear;
    struct indexer indexer;
    struct encoder encoder;
    struct layer_embedding layer_embedding;
    struct ngram ngram;
    struct dspark dspark;
    struct model_moe moe;
};

/* Constants of a software stack that cannot be derived; each with its source in models/stacks.
 */
struct stack {
    char name[PLAN_NAME];
    enum stack_kind kind;
    char
        calibration[PLAN_NAME]; /* what its constants were measured on, for people; may be "" */
    char calibration_tpu[PLAN_NAME];    /* what stands for TPUs in place of it; may be "" */
    char calibration_device[PLAN_NAME]; /* devices of both, "b200, h100"; "": any */
    char profile[PLAN_PATH]; /* constants of time: a name or a file; "": by stack and device */
    double fraction;         /* of device memory the stack may use */
    uint64_t reserve_bytes;  /* taken outside the pool before anything else */
    double error;            /* stated relative error of temp: verdict is marginal within it */
    double relax;           /* schedules: the relaxed one while state + temp <= relax * limit */
    uint64_t grad_copies;   /* f32 copies of the largest stacked tensor at the step's end */
    double fragmentation;   /* allocated bytes the allocator adds, relative */
    uint64_t context_bytes; /* driver context and libraries */
    uint64_t workspace_bytes;     /* GEMM library workspaces */
    uint64_t comm_bytes_per_rank; /* persistent collective buffers (NCCL, RCCL) */
    enum attention_backend attention;
    enum cross_entropy cross_entropy;
    enum balance_loss balance_loss;
    enum on_overflow on_overflow;   /* of moe.buffer as a factor */
    uint64_t loss_chunks;           /* cross_entropy: chunked */
    bool loss_parallel;             /* over tp, each rank its part of the vocabulary */
    struct word_list graph_modules; /* graphs: partial; empty: all but the experts */
    bool compiled; /* layers are compiled: element-wise results are made again in backward */
    bool random_dummies; /* dummy tokens choose experts as others do, not all the same (vLLM) */
    bool unrolled;       /* no layers' weights are stacked for one compiled layer (MaxText) */
    bool wgrad_placeholders; /* one 16-bit tensor per shape of weight stands in for gradients */
    uint64_t vocab_multiple; /* vocabulary is padded to a multiple of this times tp */
    bool static_shapes;      /* XLA: worst case is always allocated */
    /* collectives of these groups run beside computation */
    bool overlap_ep, overlap_dp, overlap_pp, overlap_tp;
    bool delay_wgrad; /* overlap_ep: weight gradients behind the gradients of inputs */
    uint64_t selective_threshold_percent; /* decode switch, in percent of experts */
    uint64_t graph_batch;      /* most sequences of an engine's decode graph; 0: its default */
    bool graph_padding;        /* TensorRT-LLM: a batch runs as the next larger graph */
    enum graphs prompt_graphs; /* engines: of steps with prompts */
    uint64_t prompt_graph_tokens; /* most tokens of such a step; 0: the engine's */
    char version[PLAN_WORD];      /* of an engine, "0.19"; "": the newest known */
    enum graphs graphs;
    enum expert_backend experts;
};

/* What stands beside training: an engine that generates, and models that only answer. */
enum colocated_engine { ENGINE_NONE, ENGINE_ASLEEP, ENGINE_AWAKE };
enum colocated_away {
    AWAY_WEIGHTS,
    AWAY_STATES,
    AWAY_REFERENCE,
    AWAY_CRITIC,
    AWAY_ENGINE,
    AWAY_CRITIC_WEIGHTS,
    AWAY_CRITIC_STATES,
    AWAY_FROZEN,
    AWAY_AVERAGE
};

struct colocated {
    enum colocated_engine engine; /* while the model is trained */
    uint64_t tp;                  /* devices that share a copy of its weights */
    enum dtype weights;           /* format of its weights */
    double fraction;              /* of a device, that it takes while it generates */
    struct enum_list away;        /* enum colocated_away: waits in host memory for its turn */
    uint64_t reference;           /* frozen copies of the model */
    uint64_t passes;              /* without gradients over what a step trains, beside it */
    enum dtype format;            /* of frozen copies and of running means */
    uint64_t critic;              /* copies that are trained in turn with it */
    uint64_t critic_parameters;   /* of models of other shapes that are, too */
    bool critic_joint;            /* both are trained in its own pass, not in turn */
    uint64_t average;             /* running means of its weights */
    uint64_t parameters;          /* of other frozen models */
    uint64_t sequences;           /* that the model itself generates at once, without engine */
    bool whole;                   /* and gathers all weights for (DeepSpeed's third stage) */
};

/* What requests are wanted to see (serve); 0: no limit. */
struct limit {
    double ttft_s, tpot_s, latency_s;
    double share; /* of the requests that keep all of them */
};

/* What is trained of the encoder beside the language model. */
enum encoder_training { ENCODER_ALL, ENCODER_PROJECTOR, ENCODER_FROZEN };

struct workload_encoder {
    uint64_t patches; /* of a sequence, of all its images; 0: text alone */
    uint64_t item;   /* patches of the largest image or frame: attention stays within; 0: all */
    bool unprofiled; /* a profile run encodes none */
    bool requested;  /* SGLang is told to take them: --enable-multimodal */
    uint64_t limit;  /* images of a prompt that an engine takes; 0: it leaves the encoder out */
    enum encoder_training train;
};

/* Sequences of several lengths laid end to end in one of sequence_length (thd); 0: none are. */
struct packing {
    uint64_t length,
        square; /* mean of their lengths, and of the squares; square 0: all alike */
};

/* What proposes tokens: their text, the model's own prediction module, a smaller model, the
 * model's own layers for a block of tokens. */
enum draft_method { DRAFT_NGRAM, DRAFT_MTP, DRAFT_MODEL, DRAFT_DSPARK };

/* Tokens that a draft proposes for every sequence and step (plan/speculation.h). */
struct speculation {
    uint64_t tokens;   /* one after the other; 0: none */
    uint64_t branches; /* tried at each of them */
    double acceptance; /* chance of each, when those before it were accepted */
    enum draft_method method;
    enum dtype weights, kv_cache; /* of a draft model; none: 16 bits, the model's */
    enum draft_shares shares;
    char model[PLAN_PATH]; /* whose sizes these are, for people; "": nobody's */
    struct drafter {       /* dense, grouped queries */
        uint64_t layers;   /* 0: nothing is known of it */
        uint64_t hidden, heads, kv_heads, head_dim, intermediate, vocab;
        bool tied;
        uint64_t inputs; /* rows as wide as the model's that a projection makes one of; 0 */
        bool joined; /* the first layer's q, k and v read embedding and hidden row at once */
    } size;
};

struct workload {
    enum mode mode;
    struct packing packing;
    struct colocated colocated;
    struct workload_encoder encoder;
    uint64_t sequence_length, micro_batch;
    uint64_t logits_to_keep; /* of a sequence, from its end: the loss reads no others; 0: all */
    uint64_t global_batch, tokens_per_step;        /* 0: plan_micro_batches */
    uint64_t context_length;                       /* decode: KV cache per sequence */
    uint64_t tokens_per_sequence;                  /* decode: 1, more when speculating */
    uint64_t max_num_batched_tokens, max_num_seqs; /* an engine's, per rank; 0: its default */
    uint64_t shared_prefix; /* tokens that all sequences begin with, cached once */
    bool queue;             /* decode: sequences that an engine's cache does not hold wait */
    bool fit_context;       /* decode, queue: shorter sequences where it holds none so long */
    uint64_t concurrency;   /* serve: requests in flight in the whole deployment */
    double request_rate;    /* serve: requests per second that arrive there; 0: concurrency */
    struct limit limit;
    struct speculation speculation;
    uint64_t input_length, output_length; /* serve: tokens of a request, at most */
    double length_spread; /* serve: lengths lie evenly in (1 - spread) .. 1 of these */
    bool disaggregated;   /* serve: ask for prefill apart from decode */
    struct {
        uint64_t prefill, decode; /* of each pool, where they are apart; 0: not said */
    } deployments;
    enum duty role;       /* of requests, where other servers have the rest */
    bool chunked_prefill; /* TensorRT-LLM: prompts are cut to what a step leaves */
    struct {
        uint64_t timeout; /* steps; 0: replicas of attention do not wait for each other */
        uint64_t wait;    /* steps that prompts of all of them wait beside answers */
    } balance;
    uint64_t poll_steps; /* SGLang: decode steps between looks for new requests */
    enum data_source data;
    enum scenario scenario;
    uint64_t steps;
    uint64_t total_tokens; /* of the whole run; 0: not stated */
    bool async_checkpoint;
};

struct parallel {
    uint64_t tp, pp, vpp, cp, ep, etp;
    uint64_t
        vpp_group; /* micro-batches that each of vpp chunks takes in turn; 0: as the stack */
    uint64_t dp;   /* 0: derived from the cluster */
    uint64_t attention_dp; /* serve: replicas of attention; 0: dp */
    uint64_t batches; /* of decode in flight over the stages of an engine; 0: one a stage */
    bool dense_apart, head_apart; /* SGLang: not shared out over replicas of attention */
    bool encoder_apart;           /* engines: each tp rank encodes its part of the images */
    uint64_t dcp;                 /* tp ranks that share out the tokens of an engine's cache */
    uint64_t attention_cp; /* SGLang: tp ranks that share out a prompt, with whole keys */
    uint64_t zero;
    uint64_t dp_shard;        /* data-parallel ranks that zero shares over; 0: all */
    uint64_t outer_zero;      /* what the groups share out that then hold the same */
    uint64_t hpz_shard;       /* ranks that share a second copy of the weights; 0: none */
    enum reshard reshard;     /* zero 3 */
    enum prefetch prefetch;   /* in backward, zero 3 */
    bool double_buffer;       /* gathered layers and their gradients have places of their own */
    uint64_t reduce_bucket;   /* elements reduced at once (DeepSpeed); 0: the stack's */
    uint64_t prefetch_bucket; /* elements gathered ahead (DeepSpeed); 0: the stack's */
    uint64_t live_parameters; /* elements gathered at once (DeepSpeed); 0: the stack's */
    bool overlap_reduce;      /* a bucket fills while another is reduced */
    bool sp;
    enum pipeline_schedule schedule;
    struct number_list stages;  /* layers per pipeline stage (or chunk); empty: even */
    char layout[PLAN_NAME * 2]; /* in Megatron's language, in place of stages; "": none */
    uint64_t stage;         /* predict this stage only, from 1; 0: the one that needs most */
    struct word_list order; /* which axes lie inside a node, innermost first */
};

struct routing {
    enum distribution distribution;
    enum popularity popularity;
    double alpha, sigma, concentration, share; /* zipf; lognormal; dirichlet; hot_rank */
    enum placement placement;
    char placement_file[PLAN_PATH]; /* placement: table */
    char file[PLAN_PATH];           /* distribution: trace */
    uint64_t seed, samples;
    enum routing_layers layers;
};

struct moe {
    enum moe_path path;
    double capacity_factor;
    enum capacity_scope capacity_scope;
    enum drop_policy drop;
    uint64_t block_size;
    enum buffer_sizing buffer;
    double buffer_factor; /* buffer: <number> */
    enum matmul matmul;
    struct routing routing;
    uint64_t chunk;
    enum shard shard;
    bool skip_token;
    enum weight_skip skip_weight;
    bool skip_dynamic;
    enum static_blocks static_blocks;
    uint64_t cores;     /* that share a rank's blocks; 0: as the stack does (plan_cores) */
    uint64_t sync_free; /* 0..3 */
    uint64_t dispatch_sms;
    enum moe_library library; /* whose buffers path deepep takes */
    uint64_t
        dispatch_tokens; /* low latency: most tokens a rank sends at once; 0: the stack's */
    uint64_t redundant_experts;
    enum shared_mode shared;
    double switch_threshold; /* moe.switch: decode, selective against all experts */
    uint64_t expert_tokens;  /* that an engine's experts take at once; 0: its default */
    bool dedup, reuse_handle, overlap;
    bool overlap_single; /* sglang: parts of one batch beside its own exchanges */
    uint64_t overlap_decode,
        overlap_prefill;    /* vllm: tokens of a step from which it is halves */
    double overlap_balance; /* sglang: least share of the tokens that whole prompts make */
    bool paged_stash;       /* saved rows of experts are packed into pages */
    bool fuse_activation;   /* one kernel multiplies by gate and up, and gates */
    uint64_t alignment;     /* rows; 0: what the path's software uses */
};

struct precision {
    enum dtype weights, gradients, master, moments, activations, dispatch, combine, kv_cache;
    enum dtype window_cache; /* vLLM: of layers with a window; none: kv_cache */
    enum compute compute;
    enum precision_recipe recipe;
    bool quantized_params; /* the layers' matrices exist in the recipe's format only */
    uint64_t plain_first, plain_last; /* layers at the ends that no recipe applies to */
    bool keep_transpose;            /* transposes of gathered fp8 weights stay, of all layers */
    enum dtype moment2;             /* second moment; none: as moments */
    enum accumulated accumulated;   /* whole gradients that wait for the last micro-batch */
    enum fake_weights fake_weights; /* rounding that training runs through: of weights, */
    enum fake_inputs fake_inputs;   /* and of what they multiply */
    enum dtype gather; /* sharded weights travel in; none: as they are computed with */
    /* enum weight_part, not in the format of weights: of engines in plain_format, of a base in
     * few bits beside adapters as what that leaves whole */
    struct enum_list plain;
    enum dtype plain_format;
};

struct optimizer {
    enum optimizer_kind kind;
    bool plain_embedding; /* its moments are f32 beside others in bytes */
    enum precision_aware aware;
    enum optimizer_step step;
    double offload;      /* part of the parameters whose states and update are the host's */
    bool offload_params; /* and the sharded weights wait there too */
    uint64_t sub_group;  /* elements updated at once (DeepSpeed); 0: the stack's */
    bool in_backward;    /* a layer is updated as soon as its gradients are there */
    uint64_t rank;       /* of projected gradients (GaLore, APOLLO) */
    struct enum_list projected; /* enum frozen_part: whose matrices have them */
    bool one_layer;             /* of all layers one is trained at a time (BAdam) */
    uint64_t active_layers;     /* of all so many have gradients at a time (LISA); 0: all */
};

/* How a model of HuggingFace's keeps the experts of a layer. */
enum lora_experts {
    LORA_EXPERTS_AUTO,
    LORA_EXPERTS_LINEAR,   /* linear layers (transformers 4) */
    LORA_EXPERTS_STACKED,  /* one parameter (5): no linear layer that libraries look for */
    LORA_EXPERTS_QUANTISED /* one, in few bits with the rest (axolotl) */
};

/* Adapters are trained, everything else is frozen; rank 0: all is trained. */
enum saved_module { SAVED_EMBED_TOKENS, SAVED_LM_HEAD };

/* What of the frozen base waits in host memory for its turn. */
enum base_part { BASE_EMBED_TOKENS, BASE_LAYERS };

/* What an adapter reads, and backward keeps: the matrix's own input; a copy of each adapter,
 * cast to its format; a copy that a dropout has made, and its mask. */
enum lora_inputs { INPUTS_SHARED, INPUTS_COPIED, INPUTS_DROPPED };

struct lora {
    uint64_t rank;
    struct word_list targets;  /* empty: every linear layer */
    struct number_list ranks;  /* of targets, one each; 0, empty: rank */
    struct number_list layers; /* whose linear layers have them; empty: all */
    bool language;             /* false: the encoder's layers alone */
    struct enum_list saved;    /* enum saved_module: trained whole beside them */
    bool rows;                 /* some rows of the embedding are trained, too */
    struct enum_list host;     /* enum base_part: waits in host memory */
    bool sharded;              /* vLLM, Megatron: over tp on both sides */
    bool share_experts;        /* one for all experts of a rank */
    bool skip_experts;         /* none of routed ones */
    uint64_t expert_rank;      /* of theirs, where it is not `rank`; 0 */
    uint64_t slots;            /* engines: adapters of one batch, which have room each */
    enum dtype format;         /* of the adapters */
    enum lora_inputs inputs;
    bool dora;    /* each output of a matrix has a magnitude (PEFT's use_dora) */
    bool encoder; /* the linear layers of the encoder's layers have adapters, too */
    enum lora_experts experts;
    bool fused;       /* adapters of stacked experts are multiplied beside them */
    enum dtype plain; /* of what a base in few bits leaves whole; none: what PEFT makes of it */
};

/* Parts of the model, of all layers or at its ends. */
enum frozen_part {
    FROZEN_EMBED_TOKENS,
    FROZEN_LM_HEAD,
    FROZEN_NORMS,
    FROZEN_ATTENTION, /* whatever mixes tokens */
    FROZEN_ROUTER,
    FROZEN_EXPERTS, /* with the way to latent rows and back */
    FROZEN_SHARED_EXPERTS,
    FROZEN_DENSE_MLP,
    FROZEN_PARTS
};

/* What is not trained though there are no adapters: no gradients, no states. */
struct frozen {
    uint64_t layers;          /* so many first layers, and the embedding */
    struct enum_list modules; /* enum frozen_part */
    enum dtype format;        /* none: precision.weights */
};

/* Whether the encoder's layers run again: as the others do, or by a switch of their own. */
enum encoder_again { ENCODER_AGAIN_AUTO, ENCODER_AGAIN_NONE, ENCODER_AGAIN_FULL };

struct recompute_plan {
    enum recompute kind;
    struct word_list save;    /* recompute: {save: [...]} */
    struct word_list modules; /* selective: what is recomputed, in the stack's own names */
    struct word_list offload; /* what is kept in host memory between forward and backward */
    uint64_t layers;          /* full: of a stage's so many first layers alone; 0: all */
    uint64_t every;           /* full: the input of every so many layers is kept */
    uint64_t offload_layers;  /* of the first so many layers all that is saved waits there */
    bool distribute;          /* tp ranks share out the inputs that full recomputation keeps */
    uint64_t mlp_tiles;       /* parts of the sequence that dense networks take in turn */
    enum encoder_again encoder;
};

struct memory {
    double fraction;               /* 0: the stack's */
    uint64_t reserve_bytes;        /* on top of the stack's */
    uint64_t cache_block;          /* tokens of a KV cache block; 0: the engine's */
    uint64_t cache_bytes;          /* of the pool; 0: what the fraction leaves */
    uint64_t cache_blocks;         /* of the pool, whatever fits; 0 */
    uint64_t cache_tokens;         /* of the pool, at most; 0 */
    uint64_t cache_window;         /* TensorRT-LLM: last tokens that a sequence keeps; 0: all */
    uint64_t transfer_tokens;      /* TensorRT-LLM: of a buffer caches are sent from; 0 */
    uint64_t offload_group;        /* vLLM, SGLang: layers in one; 0: none is in host memory */
    uint64_t offload_in_group;     /* of them the last, which are */
    uint64_t offload_ahead;        /* layers that have room on the device to come into */
    uint64_t host_experts;         /* SGLang: routed ones of a layer multiplied by the CPU */
    bool ngram_host;               /* vLLM: tables of n-grams are in host memory */
    uint64_t weight_offload_bytes; /* of a rank's layers that an engine keeps in host memory */
    uint64_t host_cache_bytes;     /* of a second cache in host memory, per rank */
    double host_cache_ratio;       /* the same as a multiple of the pool */
    double window_ratio;    /* SGLang: tokens of window layers to those of full ones; 0 */
    double attention_share; /* SGLang: what attention's kernels leave of its fraction; 0 */
    double state_ratio;     /* SGLang: bytes of states to those of the KV cache; 0 */
    uint64_t state_slots;   /* of all ranks of attention's dp; 0: by that ratio */
    uint64_t state_copies;  /* slots that a running sequence may take; 0: the engine's */
    uint64_t state_block;   /* vLLM: kept every so many tokens, and more; 0: the last alone */
};

struct block {
    enum block_kind kind;
    enum collective collective;
    uint64_t tiles; /* most column tiles of a product beside its all-reduce */
};

struct plan {
    char name[PLAN_NAME];       /* the file's name without folder and ending */
    char model_name[PLAN_NAME]; /* as the user wrote it; a mapping: "inline", or its base */
    char cluster_name[PLAN_NAME];
    char stack_name[PLAN_NAME];
    struct model model;
    struct cluster cluster;
    struct stack stack;
    struct workload workload;
    struct parallel parallel;
    struct moe moe;
    struct precision precision;
    struct optimizer optimizer;
    struct lora lora;
    struct frozen frozen;
    struct recompute_plan recompute;
    struct memory memory;
    struct block block;
    /* What prefills, where the plan has that apart (its part `prefill`): this plan is then what
     * decodes, that one a whole plan of the same model with no pool of its own. It lives as
     * long as the arena that the plan was loaded into. NULL: not apart. See plan/pools.h. */
    const struct plan *prefill;
};

#endif
