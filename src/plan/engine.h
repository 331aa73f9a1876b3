/* What a serving engine sets by itself: by its release, the device and the layout.
 *
 * Sources: engines.md 1.1 and 1.2 (vLLM 0.11.0, 0.19.0, 0.33.0: engine/arg_utils.py,
 * config/cache.py, config/scheduler.py, envs.py, v1/worker/gpu_worker.py), 2.1 (SGLang 0.5.23:
 * arg_groups/memory_hook.py) and 3 (TensorRT-LLM: llmapi/llm_args.py, pyexecutor/_util.py).
 * Nothing here divides by zero, so that rules may ask before all of them hold. */
#ifndef MOEPLAN_PLAN_ENGINE_H
#define MOEPLAN_PLAN_ENGINE_H

#include "plan/plan.h"

/* Generations of devices whose defaults differ: NVIDIA's, and AMD's from gfx942 on. */
enum generation {
    GENERATION_OTHER,
    GENERATION_SM80,
    GENERATION_SM90,
    GENERATION_SM100,
    GENERATION_GFX942
};

/* How the last rows of a profile run are sampled, and what lives with their logits. */
enum sampler {
    SAMPLER_NONE,   /* nothing is profiled: logits and probabilities */
    SAMPLER_SORT,   /* torch.sort over the vocabulary */
    SAMPLER_TRITON, /* Triton's top-k and top-p, a scratch row per SM */
    SAMPLER_FUSED   /* FlashInfer's, masks and counts */
};

/* What the cache's pool is, of a device that holds weights, activations and what is outside. */
enum pool_rule {
    POOL_OF_DEVICE, /* vLLM: utilisation x device - all of them */
    POOL_OF_FREE,   /* SGLang: fraction x (device - outside) - weights; the rest is for steps */
    POOL_OF_REST    /* TensorRT-LLM: fraction x (device - all of them) */
};

/* What one release does that another does differently. */
struct engine_release {
    const char *version; /* the first known to do so */
    enum pool_rule pool;
    double fraction; /* gpu_memory_utilization; 0: as the stack's file says */
    enum sampler sampler;
    uint64_t expert_chunk;       /* tokens that fused experts take at once; 0: all */
    uint64_t low_latency_tokens; /* of a low-latency dispatch per rank, more go in rounds
                                  * (VLLM_MOE_DP_CHUNK_SIZE); 0: all of a step */
    bool keeps_workspaces;       /* the experts' workspaces stay after the profile run */
    bool charges_graphs;         /* CUDA graphs are taken from the cache's pool */
    bool plans_ahead;            /* a step is planned while the one before it runs, its blocks
                                  * kept until then */
    bool second_runner;          /* v1/worker/gpu: ahead beside pipeline stages, too, prompts
                                  * over ranks, experts' kernels of 0.33 */
    bool counts_longest;         /* its log counts tokens by sequences of the longest length */
    bool tuples_pages;           /* DeepSeek-V4's blocks hold whole tuples of pages */
    bool compiles;               /* torch.compile, unless no graphs are asked for */
    bool times_joined;           /* and times kernels that may be joined before it runs */
    bool experts_by_model;       /* the default of moe_config.backend is AUTO, not CUTLASS */
    bool doubles_batch;          /* 16,384 tokens on devices of 160 GiB as a server */
    bool limits_batch;           /* by default no more tokens than all sequences can have */
    bool caches_states;        /* prefixes of models with recurrent and other layers are cached
                                * unless it is told not to, with two states a sequence */
    uint64_t outside_bytes[3]; /* not torch's, made after the snapshot: alone, with tp, and
                                * where its all-reduces are not fused */
};

/* Whether some release of the engine has these kernels for experts in precision.weights, on the
 * plan's device and behind moe.path; EXPERTS_AUTO: any that it takes by itself. True of
 * devices that are not known. Sources: engine_experts.c. */
bool engine_runs_experts(const struct plan *plan, enum expert_backend backend);

/* Whether DeepEP sends tokens to ep ranks, each once (its normal kernels), or into slots of
 * every expert (low latency). */
bool engine_sends_tokens(const struct plan *plan);
bool engine_sends_slots(const struct plan *plan);

/* Whether experts that ep does not divide are run, the remainder one each on the first ranks:
 * vLLM's, model_executor/layers/fused_moe/expert_map_manager.py, determine_expert_map at
 * 04d26335 (0.11: layer.py). SGLang asserts an even split (fused_moe_triton/layer.py,
 * eplb/expert_location.py of 0.5.23). */
bool plan_spreads_remainder(const struct plan *plan);

/* What an engine multiplies in, unless it is told: rows of a product are quantised to the
 * format of its weights where the device multiplies in it, 8 bits from compute capability 8.9
 * on (vLLM quantization/fp8.py, SGLang fp8.py, TensorRT-LLM linear.py), blocks of 32 and 16 on
 * Blackwell; else in 16 bits (Marlin). */
enum compute engine_compute(const struct plan *plan);

/* What a step of an engine holds while prompts wait (engines.md section 4). */
enum batching {
    BATCHING_MIXED, /* vLLM: decodes, and prompts cut to what they leave */
    BATCHING_WHOLE, /* TensorRT-LLM without chunked prefill: decodes, and whole prompts */
    BATCHING_APART  /* SGLang: prompts alone, decodes wait */
};
enum batching engine_batching(const struct plan *plan);

/* Whether the last layers of groups are in host memory, and come in ahead: vLLM's, and of
 * SGLang their experts alone. */
bool engine_groups_layers(const struct plan *plan);

/* Routed experts of a layer that are on a rank's device: but those that KTransformers has the
 * CPU multiply, whose ranks share all experts out by tp. */
uint64_t engine_device_experts(const struct plan *plan);

bool plan_is_engine(const struct plan *plan); /* a stack that serves with a paged cache */

/* Whether precision.plain names parts; or leaves it to the checkpoint, which has some. */
bool plan_parts_are_given(const struct plan *plan);
bool plan_parts_by_checkpoint(const struct plan *plan);

/* Whether a frozen base in few bits, beside which adapters are trained, has the matrices of a
 * part whole (transformers quantizers/base.py, modules_to_not_convert). */
bool plan_base_leaves(const struct plan *plan, enum weight_part part);

/* Format in which a stack has the matrices of a part (not a word of lists: PART_ATTENTION_IN or
 * behind it) where it multiplies: precision.weights, or an engine's of precision.plain; what a
 * base in few bits leaves whole is cast to that of its rows. */
enum dtype plan_part_format(const struct plan *plan, enum weight_part part);
enum generation plan_generation(const struct plan *plan);

/* The newest release known that is not newer than stack.version, or than all of them when that
 * is empty; never NULL. */
const struct engine_release *engine_release(const struct plan *plan);

/* max_num_batched_tokens and max_num_seqs of a rank: the plan's, or the engine's defaults. The
 * second is decode's micro_batch by another name, where that says more than one sequence. */
uint64_t engine_tokens(const struct plan *plan);
/* 70 GiB or more and no A100 by its name (an A800 is none), nor by 0.33 a GB10: the tier that
 * takes large batches (vLLM engine/arg_utils.py, get_batch_defaults). */
bool engine_is_large(const struct plan *plan, const struct engine_release *release);
double engine_fraction(const struct plan *plan); /* of its pool's rule */
uint64_t engine_sequences(const struct plan *plan);
uint64_t engine_cache_ranks(const struct plan *plan); /* that share a cache's tokens out */
/* Ranks that share out a step's tokens in attention, each with the keys of all of them; and
 * those that split its heads. 1, tp: there is no such sharing. */
uint64_t engine_prompt_ranks(const struct plan *plan);
uint64_t engine_attention_ranks(const struct plan *plan);
uint64_t engine_batches(const struct plan *plan); /* of decode in flight over its stages */

/* SGLang's own, of which mem_fraction_static follows: a step's tokens over all ranks of its
 * tensor parallelism, and the largest batch of its decode graphs. */
uint64_t engine_sglang_chunk(const struct plan *plan);
uint64_t engine_sglang_graph_batch(const struct plan *plan);
double engine_sglang_fraction(const struct plan *plan);
uint64_t engine_sglang_requests(const struct plan *plan); /* of a replica by default */
/* Graphs of steps with prompts; what attention leaves of a fraction of memory, whoever said it.
 */
enum graphs engine_sglang_prompt_graphs(const struct plan *plan);
bool engine_sglang_loads_encoder(const struct plan *plan);
/* Bytes beside its pool for images. */
uint64_t engine_sglang_image_bytes(const struct plan *plan);
double engine_sglang_attention_share(const struct plan *plan);
/* Bytes that its fraction leaves to steps and graphs. */
uint64_t engine_sglang_kept(const struct plan *plan);
/* Whether the engine caches prefixes of the model's recurrent layers unless it is told not to.
 */
bool engine_caches_states(const struct plan *plan);

/* Of its pool: tokens of window layers to those of full ones (1 for other engines), the share
 * that recurrent layers' states take (mem_cache/kv_cache_configurator.py), states a rank keeps
 * when that is said in number, and states that a running sequence may take. */
double engine_window_ratio(const struct plan *plan);
double engine_state_share(const struct plan *plan);
uint64_t engine_state_slots(const struct plan *plan);
uint64_t engine_state_copies(const struct plan *plan);

uint64_t engine_context(const struct plan *plan); /* tokens of the longest sequence */
/* The same as the engine is started with, which its own sizes follow: where a context is fitted
 * to the cache (workload.fit_context) the model's own, before that is sized. */
uint64_t engine_longest(const struct plan *plan);
/* Images of workload.encoder.item patches that all sequences may have at once, one at least:
 * what a profile run encodes at most (vLLM multimodal/encoder_budget.py). */
uint64_t engine_images(const struct plan *plan);

/* Whether sequences that the cache does not hold wait: mode serve, and workload.queue. */
bool engine_queues(const struct plan *plan);

/* Bytes of a rank: outside torch, made before or after the model (measured by release, or what
 * the stack's file says of contexts and collectives); CUDA graphs that the release takes from
 * the pool; utilisation x device; what weights, activations and cache may take of it, whatever
 * the plan holds. Sources: engines.md 1.2, 2.2, 3. */
uint64_t engine_outside(const struct plan *plan);
uint64_t engine_graphs(const struct plan *plan);
uint64_t engine_requested(const struct plan *plan);
/* Whether an engine by itself has a graph for a decode step of so many sequences of a rank:
 * TensorRT-LLM of 128 at most unless told otherwise, and where it does not pad of some sizes
 * alone (llmapi/llm_args.py, CudaGraphConfig); the others of all up to graph_batch. */
bool engine_has_graph(const struct plan *plan, uint64_t sequences);
uint64_t engine_largest_graph(const struct plan *plan); /* UINT64_MAX: none is too large */
/* The same of steps with prompts, of so many tokens of a rank: pieces of vLLM's and SGLang's;
 * TensorRT-LLM's where asked for (llmapi/llm_args.py, prefill_cuda_graph_backend, of 3,072
 * tokens at most unless told). */
enum graphs engine_prompt_graphs(const struct plan *plan, uint64_t tokens);
/* Whether a step that a graph launches runs the shared experts on a stream of their own: SGLang
 * to DUAL_STREAM_TOKEN_THRESHOLD tokens (models/deepseek_v2.py), vLLM to
 * VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD, TensorRT-LLM always (modeling_deepseekv3.py,
 * maybe_execute_in_parallel). */
bool engine_parts_stream(const struct plan *plan);
/* Whether a step adds the residual and normalises in the all-reduce before. TensorRT-LLM in
 * every layer (AllReduceFusionOp.RESIDUAL_RMS_NORM); SGLang of models with experts on Hopper
 * and Blackwell by itself (server_args.py), to FUSE_ALLREDUCE_MAX_BATCH_SIZE tokens
 * (layers/communicator.py) and not beside an all-to-all; neither with attention data
 * parallelism. */
bool engine_norm_reduced(const struct plan *plan);
bool engine_takes_fraction(const struct plan *plan); /* of the device, before all else */
uint64_t engine_room(const struct plan *plan);
uint64_t engine_cache_block(const struct plan *plan); /* tokens of a KV cache block */

#endif
