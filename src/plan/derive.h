/* Quantities that follow from a plan alone: world, dp, tokens per rank. All rules hold already.
 */
#ifndef MOEPLAN_PLAN_DERIVE_H
#define MOEPLAN_PLAN_DERIVE_H

#include <stdbool.h>

#include "plan/plan.h"

/* Persistent buffers of collectives, which one rank alone has none of. */
uint64_t plan_comm_bytes(const struct plan *plan);

uint64_t plan_devices(const struct plan *plan); /* nodes x devices of a node */
/* Devices of one domain of the nodes' links: a node's, or, where links join several nodes,
 * those of as many as stand in one when a job's nodes stand evenly in as few domains as hold
 * them (Slurm's topology/block with segments: 64 nodes of 4 in racks of 18 are 16 a rack). */
uint64_t plan_linked_devices(const struct plan *plan);
uint64_t plan_linked_ranks(const struct plan *plan); /* those x logical cores */
bool plan_links_nodes(const struct plan *plan);      /* whether that is more than a node's */
uint64_t plan_world(const struct plan *plan);     /* ranks: nodes x devices x logical cores */
uint64_t plan_dp(const struct plan *plan);        /* world / (tp pp cp) */
uint64_t plan_expert_dp(const struct plan *plan); /* world / (ep etp pp) */
/* Rows of the vocabulary's tables: those that fill a multiple of stack.vocab_multiple x tp
 * among them (Megatron-LM training/vocab_utils.py, calculate_padded_vocab_size). */
uint64_t plan_vocabulary(const struct plan *plan);
/* Ranks that share one copy of the parameters out: all of the stage's for dense ones, edp for
 * experts; with dp_shard so many of them, the others hold the same (HSDP). */
struct sharers {
    uint64_t dense, experts;
};
struct sharers plan_sharers(const struct plan *plan);
/* How many such groups hold the same. */
struct sharers plan_replicas(const struct plan *plan);
/* Parts of the sequence that dense networks take one after the other, in backward again (tiled
 * MLP of DeepSpeed's ALST, which axolotl has on FSDP too); 1: all at once. */
uint64_t plan_mlp_tiles(const struct plan *plan);
/* Whether copies of the shards stand in other groups: HSDP. */
bool plan_shards_in_part(const struct plan *plan);
/* Whether those share the optimizer's states out (Megatron-FSDP's HFSDP). */
bool plan_shares_states_outside(const struct plan *plan);
/* Whether ranks keep a second copy of sharded weights, shared out by fewer (DeepSpeed's hpZ),
 * and by how many. */
bool plan_keeps_second_copy(const struct plan *plan);
struct sharers plan_second_sharers(const struct plan *plan);
/* Whether a layer is updated in backward (torchtitan's early_step_in_backward). */
bool plan_steps_in_backward(const struct plan *plan);
/* Whether the optimizer steps weights that every rank has whole (GaLore, APOLLO, LOMO). */
bool plan_steps_whole(const struct plan *plan);
/* Whether a weight is updated, and its gradient gone, before the next one's is made (LOMO), or
 * as soon as its own is (hooks of transformers' layer-wise GaLore and APOLLO). */
bool plan_drops_gradients(const struct plan *plan);
/* Whether full recomputation leaves the layers behind recompute.layers alone. */
bool plan_recomputes_some(const struct plan *plan);
/* Experts that the rows of a token go to: all its choices or, in training of transformers'
 * models, those alone that have weights, in the mean (models/longcat_flash, whose loop over
 * experts gives those without the rows as they are). */
uint64_t plan_choices(const struct plan *plan);
/* Layers that full recomputation runs again together, from one input; 1: each by itself. */
uint64_t plan_recomputes_together(const struct plan *plan);
/* Whether tp ranks share out the inputs of layers that full recomputation keeps. */
bool plan_distributes_inputs(const struct plan *plan);
bool plan_lists(const struct word_list *list, const char *word); /* whether it stands there */
bool plan_is_huggingface(const struct plan *plan); /* its models, by FSDP or DeepSpeed */
bool plan_is_megatron(const struct plan *plan);    /* or Primus, which runs it */
/* Whether logits are made of the ends of sequences alone (workload.logits_to_keep). */
bool plan_keeps_logits(const struct plan *plan);
/* Whether the sums of blocks that attention residuals read are counted: in engines, and in
 * training where a stack's modules are known to have them. */
bool plan_has_block_sums(const struct plan *plan);
/* Whether 8-bit products cast their operands each time and keep neither: torchao's Float8Linear
 * and MXLinear save input and weight as they were (float8_linear.py, save_for_backward), while
 * TransformerEngine keeps the copies of both. */
bool plan_casts_products(const struct plan *plan);
/* The forward of one micro-batch beside the backward of another, so that the exchange of either
 * hides behind the other's products (Megatron combined_1f1b.py). */
bool plan_overlaps_experts(const struct plan *plan);
uint64_t plan_moe_layers(const struct plan *plan);
bool plan_has_experts(const struct plan *plan); /* has such layers */

/* Whether a layer or a prediction module has a network of experts; a period of MoE layers makes
 * some whatever dense_layers is. Elsewhere nothing of model.moe is read. */
bool plan_has_moe(const struct plan *plan);
/* And whether there are experts that tokens are routed to. */
bool plan_is_routed(const struct plan *plan);
/* Whether their experts' sum is added behind the next layer. */
bool plan_has_shortcut(const struct plan *plan);
bool plan_names_path(const struct plan *plan); /* false: moe.path is auto, the stack's rule */
uint64_t plan_tokens(const struct plan *plan); /* T: tokens per rank entering a layer */
/* Tokens of a sequence in a step, over all ranks that share it. */
uint64_t plan_sequence_tokens(const struct plan *plan);
/* Length of sequences that attention's work goes by: sequence_length, or of packed ones the
 * mean of the squares over the mean. */
uint64_t plan_attention_length(const struct plan *plan);
uint64_t
plan_sequence_ranks(const struct plan *plan); /* that share a sequence: cp, with sp cp tp */
/* serve: whether requests arrive at a rate, not one for each that ends. */
bool plan_arrives(const struct plan *plan);
/* serve: requests that a replica of attention has in flight: ceil(concurrency / replicas), of
 * which max_num_seqs may be in a step; as many as that where they arrive at a rate. */
uint64_t plan_requests(const struct plan *plan);
/* An engine with tensor and expert parallelism over one set of ranks and without sp: every tp
 * rank has all tokens, and those of an expert-parallel rank (etp of them, each with a part of
 * its experts' width) count as the source of its part of them. */
bool plan_tokens_everywhere(const struct plan *plan);
/* An engine that splits every expert over all ranks of several replicas of attention (ep 1, etp
 * = tp dp): how many replicas' tokens come together before the experts; 1 elsewhere. */
uint64_t plan_joined_replicas(const struct plan *plan);
/* Replicas of attention in one engine: dp, or 1 where dp counts SGLang's engines, each with
 * experts over its own tp ranks. */
uint64_t plan_engine_replicas(const struct plan *plan);
/* Tokens of a rank that experts choose among: T, of all replicas that come together. Routing
 * counts them in 32 bits. */
#define PLAN_MOST_TOKENS UINT32_MAX
uint64_t plan_joined_tokens(const struct plan *plan);
/* Whether all networks behind attention are split over those replicas' ranks and take their
 * tokens together, dense and shared ones too (SGLang), not the routed experts alone. */
bool plan_joins_networks(const struct plan *plan);
/* SGLang's dp attention of a dense model (etp = tp x dp): attention of Qwen3 is over
 * attn_tp_size and its network over tp_size (models/qwen3.py, Qwen2MLP; 0.5.23). */
bool plan_joins_dense(const struct plan *plan);
/* SGLang: replicas of attention in one engine; among how many of them dense networks, and the
 * head, are split; 1 elsewhere. Their tokens come together there. */
uint64_t plan_attention_replicas(const struct plan *plan);
uint64_t plan_dense_replicas(const struct plan *plan);
uint64_t plan_head_replicas(const struct plan *plan);
/* Ranks among which the tokens of a MoE layer are shared out: tp, ep where they are on every
 * rank, or 1. */
uint64_t plan_token_ranks(const struct plan *plan);
uint64_t plan_experts_total(const struct plan *plan); /* E with redundant experts */
uint64_t plan_local_experts(const struct plan *plan); /* e = ceil(E_total / ep) */
uint64_t plan_cores(const struct plan *plan);         /* that share a rank's blocks: 1 or 2 */
/* Whether each rank holds the shared experts whole: moe.shared, auto as the engine has them. */
bool plan_shared_whole(const struct plan *plan);
/* Replicas of attention that share the shared experts' width, and take their tokens together.
 */
uint64_t plan_shared_replicas(const struct plan *plan);
/* Whether an engine's ranks gather all tokens for their experts and take those of the shared
 * ones, split over the same ranks, from there. */
bool plan_shared_gathered(const struct plan *plan);
/* A rank's part of the networks beside the experts. Rounded up. */
uint64_t plan_shared_width(const struct plan *plan);
uint64_t plan_residual_width(const struct plan *plan);
uint64_t plan_expert_width(const struct plan *plan); /* of an expert, after etp */
/* Whether the plan says how large a step's batch is. */
bool plan_states_batch(const struct plan *plan);

/* Micro-batches of a training step and dp rank, at least 1; where the plan says neither
 * global_batch nor tokens_per_step, four a stage of a pipeline, else 1. */
uint64_t plan_micro_batches(const struct plan *plan);
/* Interleaved 1F1B: how many of a step's micro-batches go through a chunk before the next chunk
 * has its turn; the last such group may be smaller. */
uint64_t plan_interleaved_group(const struct plan *plan, uint64_t micro_batches);
bool plan_on_tpu(const struct plan *plan); /* whose compiler's memory was looked at */
/* Whether products of rows by experts are masked ones over all rows, once an expert: what
 * jax.lax.ragged_dot is on GPUs (seed 000). A TPU's XLA has a kernel for it: 65,536 rows of 64
 * experts take one matrix of rows of temp, forward and backward, not 64 of them (compiled ahead
 * of time for v6e by libtpu 0.0.42). */
bool plan_masks_products(const struct plan *plan);
/* Bytes of a rank, device / logical cores; what of them the device's runtime leaves programs.
 */
uint64_t plan_rank_memory(const struct plan *plan);
uint64_t plan_usable_memory(const struct plan *plan);
/* The part of those that a plan may use: memory.fraction, or the stack's. XLA takes all that a
 * TPU's runtime leaves; maxtext's own fraction is that of JAX's allocator on GPUs
 * (XLA_PYTHON_CLIENT_MEM_FRACTION, JAX docs/gpu_memory_allocation.rst). */
double plan_memory_fraction(const struct plan *plan);
/* Up to how much of that a first schedule is kept: stack.relax, or all of it where the compiler
 * knows what the runtime leaves. XLA rematerialises for a TPU until a program is within it, and
 * fails where none is ("Can't reduce memory use below ... by rematerialization", tensorflow/tpu
 * issue 598; openxla.org/xla/errors/error_1000). */
double plan_relax(const struct plan *plan);

#endif
