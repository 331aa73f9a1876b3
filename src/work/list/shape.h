/* Slots: the few numbers all sizes are expressions over, and how a plan fills them.
 *
 * Everything numeric in a plan is a slot, so a work list is built once per discrete choice
 * (path, stack, kinds, flags) and its sizes are evaluated again for every point of a sweep. */
#ifndef MOEPLAN_WORK_LIST_SHAPE_H
#define MOEPLAN_WORK_LIST_SHAPE_H

#include <stdint.h>

#include "plan/plan.h"
#include "plan/params.h"

/* name, symbol in formulas, meaning */
#define SLOT_LIST(X)                                                                           \
    X(TOKENS, "T", "tokens per rank entering a layer")                                         \
    X(SEQUENCE, "S", "sequence length on this rank (after cp, and sp where it applies)")       \
    X(SEQUENCE_FULL, "S_full", "sequence length of the workload")                              \
    X(ATTENDED, "S_attn", "length of sequences that attention's work goes by")                 \
    X(MICRO_BATCH, "mb", "sequences per micro-step and data-parallel rank")                    \
    X(MAX_SEQS, "n_seqs", "sequences an engine takes into a step, at most")                    \
    X(STEP_TOKENS, "n_step", "tokens an engine takes into a step, at most")                    \
    X(IMAGES, "n_img", "images of a step that an engine profiles, at most")                    \
    X(ACCUMULATION, "n_micro", "micro-batches of a step")                                      \
    X(HEAD_ROWS, "n_head", "rows of a micro-batch whose logits are made")                      \
    X(LOSS_ROWS, "n_loss", "rows of logits that a fused loss makes at once")                   \
    X(COMPETING, "n_compete", "groups of tokens that compete for an expert's slots")           \
    X(UNITS, "n_sm", "SMs or CUs of the device")                                               \
    X(CONTEXT, "S_ctx", "tokens the KV cache holds per sequence")                              \
    X(TOP_K, "K", "experts per token")                                                         \
    X(EXPERTS, "E", "routed experts, redundant ones included")                                 \
    X(LOGICAL_EXPERTS, "E_logical", "routed experts of the model")                             \
    X(LOCAL_EXPERTS, "e", "experts held by a rank, E / R")                                     \
    X(EP, "R", "expert-parallel ranks")                                                        \
    X(HIDDEN, "H", "hidden size")                                                              \
    X(LATENT, "H_latent", "width of the rows that routed experts work on, where it is not H")  \
    X(INTER, "I", "expert intermediate size (a rank's part: after etp)")                       \
    X(INTER_FULL, "I_full", "expert intermediate size of the model")                           \
    X(SHARED_INTER, "I_shared", "intermediate size of all shared experts together")            \
    X(DENSE_INTER, "I_dense", "dense feed-forward intermediate size")                          \
    X(BORROW_INTER, "I_borrow", "the same of layers that borrow keys and values")              \
    X(LAYER_EMBEDDING, "w_layer", "width of a token's embedding in one layer")                 \
    X(LAYER_VOCAB, "V_layer", "rows of the table of layers' embeddings")                       \
    X(RESIDUAL_INTER, "I_residual", "intermediate size of a MLP beside the experts")           \
    X(VOCAB, "V", "vocabulary")                                                                \
    X(LABELS, "n_label", "labels of a score head in place of that over the vocabulary")        \
    X(LAYERS, "L", "layers of the model")                                                      \
    X(DENSE_LAYERS, "L_dense", "layers with a dense feed-forward network")                     \
    X(MOE_LAYERS, "L_moe", "layers with experts")                                              \
    X(STAGE_DENSE_LAYERS, "l_dense", "dense layers on the heaviest pipeline stage")            \
    X(STAGE_MOE_LAYERS, "l_moe", "MoE layers on the heaviest pipeline stage")                  \
    X(STAGE_EMBEDDING, "on_first", "1 where the stage holds the embedding, else 0")            \
    X(STAGE_HEAD, "on_last", "1 where the stage holds the head, else 0")                       \
    X(STAGE_MTP, "l_mtp", "prediction modules on the stage, part of l_moe or l_dense")         \
    X(BLOCKS_IN, "n_res_in", "blocks of attention residuals that a stage takes over")          \
    X(BLOCKS_OUT, "n_res", "those that there are behind its last layer")                       \
    X(BLOCKS_MOVED, "n_res_moved",                                                             \
      "those that a mixer or network reads or writes, mean over the stage (x1000)")            \
    X(HEAD_IN_FLIGHT, "n_flight_head",                                                         \
      "copies of the head's saved tensors that are alive (x1000)")                             \
    X(ENCODER_IN_FLIGHT, "n_flight_encoder",                                                   \
      "copies of the encoder's saved tensors that are alive (x1000)")                          \
    X(ENCODER_FROZEN, "P_frozen",                                                              \
      "parameters of the encoder that are not trained, on one rank of its tp group")           \
    X(EMPTY_IN_FLIGHT, "n_flight_empty", "inputs of chunks without layers that are alive")     \
    X(HEADS, "h", "attention heads")                                                           \
    X(KV_HEADS, "h_kv", "key and value heads")                                                 \
    X(HEAD_DIM, "d", "head size")                                                              \
    X(Q_RANK, "r_q", "q low rank")                                                             \
    X(KV_RANK, "r_kv", "kv low rank")                                                          \
    X(NOPE_DIM, "d_nope", "q/k head size without rotary part")                                 \
    X(ROPE_DIM, "d_rope", "rotary head size")                                                  \
    X(V_DIM, "d_v", "value head size")                                                         \
    X(WINDOW_HEADS, "h_win", "attention heads of window layers with heads of their own")       \
    X(WINDOW_KV_HEADS, "h_kv_win", "key and value heads of those")                             \
    X(WINDOW_HEAD_DIM, "d_win", "head size of those")                                          \
    X(WINDOW_V_DIM, "d_v_win", "value head size of those")                                     \
    X(LINEAR_HEADS, "h_lin", "value heads of a linear layer")                                  \
    X(LINEAR_HEAD_DIM, "d_lin", "size of one")                                                 \
    X(LINEAR_KEY_HEADS, "h_key", "key heads of a linear layer, groups in Mamba")               \
    X(LINEAR_KEY_DIM, "d_key", "size of one, the state size in Mamba")                         \
    X(LINEAR_CONV, "c_conv", "taps of its convolution")                                        \
    X(LINEAR_RANK, "r_lin", "rank of its gates or step")                                       \
    X(LINEAR_CHUNK, "Q", "tokens of its chunks")                                               \
    X(INDEX_HEADS, "h_idx", "heads of the indexer")                                            \
    X(INDEX_DIM, "d_idx", "size of one")                                                       \
    X(INDEX_TOP_K, "K_idx", "keys it chooses")                                                 \
    X(INDEX_BLOCK, "B_idx", "keys of a block that it chooses whole")                           \
    X(CSA_RATIO, "m_csa", "tokens that become an entry in layers of type csa")                 \
    X(HCA_RATIO, "m_hca", "tokens that become an entry in layers of type hca")                 \
    X(O_GROUPS, "g_o", "groups of heads of a low-rank output projection")                      \
    X(O_RANK, "r_o", "width that each of them is projected down to")                           \
    X(STREAMS, "n_hc", "copies of the residual that hyper-connections mix")                    \
    X(BLOCK, "B", "block size")                                                                \
    X(ALIGNMENT, "A", "row alignment per expert")                                              \
    X(CHUNK, "C_chunk", "slots per expert and round")                                          \
    X(GROUPS, "n_group", "router groups")                                                      \
    X(TP, "tp", "tensor-parallel ranks")                                                       \
    X(PP, "pp", "pipeline stages")                                                             \
    X(BATCHES, "n_batches", "batches of decode that an engine has in flight")                  \
    X(VPP, "vpp", "virtual pipeline stages per rank")                                          \
    X(CP, "cp", "context-parallel ranks")                                                      \
    X(ETP, "etp", "expert tensor-parallel ranks")                                              \
    X(DP, "dp", "data-parallel ranks")                                                         \
    X(EXPERT_DP, "edp", "ranks that hold the same experts")                                    \
    X(WORLD, "N", "ranks")                                                                     \
    X(NODE, "n_node", "ranks of a node")                                                       \
    X(SMS, "sms", "SMs or CUs given to dispatch")                                              \
    X(DENSE_PARAMETERS, "P_dense",                                                             \
      "parameters that are not routed experts, on one rank of "                                \
      "its tp and pp group, before zero")                                                      \
    X(PLAIN_PARAMETERS, "P_plain", "of P_dense, those of embedding, head, norms and biases")   \
    X(EXPERT_PARAMETERS, "P_expert",                                                           \
      "routed expert parameters on one rank of its ep, etp "                                   \
      "and pp group, before zero")                                                             \
    X(TRAINED_DENSE, "P_dense_trained", "of P_dense, what is trained where parts are frozen")  \
    X(TRAINED_PLAIN, "P_plain_trained", "of P_plain, likewise")                                \
    X(TRAINED_EXPERTS, "P_expert_trained", "of P_expert, likewise")                            \
    X(PARAMETERS, "P", "parameters of the whole model")                                        \
    X(ROWS, "M", "rows a rank receives (one per token and local expert)")                      \
    X(RECEIVED, "n", "tokens a rank receives (one per token, duplicates removed)")             \
    X(PADDED_ROWS, "M_pad", "rows after alignment per expert")                                 \
    X(HOT_EXPERT, "n_hot", "rows of the fullest local expert")                                 \
    X(HELD_ROWS, "M_held",                                                                     \
      "rows of a layer, mean over those whose saved tensors a rank holds")                     \
    X(HELD_RECEIVED, "n_held", "tokens of a layer, likewise")                                  \
    X(HELD_PADDED, "M_pad_held", "rows after alignment per expert, likewise")                  \
    X(HELD_HOT, "n_hot_held", "rows of the fullest local expert, likewise")                    \
    X(ROWS_SENT, "M_out", "rows a rank sends to other ranks")                                  \
    X(ROWS_FROM, "M_in", "rows a rank receives from other ranks")                              \
    X(TOKENS_OUT, "n_out", "tokens a rank sends, one per owner, itself included")              \
    X(TOKENS_SENT, "n_sent", "tokens a rank sends to other ranks, one per owner")              \
    X(TOKENS_FROM, "n_from", "tokens a rank receives from other ranks, one per token")         \
    X(DROPPED, "n_drop", "rows a rank drops for lack of capacity")                             \
    X(ROUNDS, "n_rounds", "rounds of chunks the fullest pair of rank and expert needs")        \
    X(BLOCKS, "N_valid", "blocks with at least one row")                                       \
    X(WEIGHT_LOADS, "n_load",                                                                  \
      "times a rank's cores fetch an expert's matrices for its blocks")                        \
    X(HIT_EXPERTS, "U", "local experts that at least one row chose")                           \
    X(WORKERS, "n_worker", "worker threads of the executor")

enum slot {
#define SLOT_ENUM(name, symbol, meaning) SLOT_##name,
    SLOT_LIST(SLOT_ENUM)
#undef SLOT_ENUM
    /* of the stage, by kind of layer: how many, and how many copies of one's saved tensors
       are alive (x1000); the same of layers that recompute.layers leaves alone, and of those
       that no recipe applies to */
    SLOT_KIND_LAYERS,
    SLOT_KIND_IN_FLIGHT = SLOT_KIND_LAYERS + KIND_COUNT,
    SLOT_KIND_KEPT = SLOT_KIND_IN_FLIGHT + KIND_COUNT,
    SLOT_KIND_KEPT_IN_FLIGHT = SLOT_KIND_KEPT + KIND_COUNT,
    SLOT_KIND_PLAIN = SLOT_KIND_KEPT_IN_FLIGHT + KIND_COUNT,
    SLOT_KIND_PLAIN_IN_FLIGHT = SLOT_KIND_PLAIN + KIND_COUNT,
    SLOT_KIND_BACK = SLOT_KIND_PLAIN_IN_FLIGHT + KIND_COUNT, /* layers that run backward */
    SLOT_KIND_TRAINED = SLOT_KIND_BACK + KIND_COUNT,         /* of them those whose weights have
                                                                gradients */
    SLOT_KIND_AWAY = SLOT_KIND_TRAINED + KIND_COUNT, /* whose weights are in host memory */
    SLOT_KIND_ADAPTED = SLOT_KIND_AWAY + KIND_COUNT, /* whose linear layers have adapters */
    SLOT_COUNT = SLOT_KIND_ADAPTED + KIND_COUNT
};

enum real_slot { REAL_CAPACITY_FACTOR, REAL_BUFFER_FACTOR, REAL_OFFLOAD, REAL_COUNT };

enum { SLOTS_ROUTED = 4, SLOTS_STAGES = 8 };

/* What routing asks of a rank with so many MoE layers, each routed for itself: of the fullest
 * one, and on average. In the order of SLOT_ROWS and of SLOT_HELD_ROWS. */
struct slots_routed {
    uint64_t layers;
    uint64_t fullest[SLOTS_ROUTED], mean[SLOTS_ROUTED];
};

struct slots {
    uint64_t value[SLOT_COUNT];
    double real[REAL_COUNT];
    /* upward by layers: slots_take_stage sets the routing slots by them; none: they stay */
    struct slots_routed routed[SLOTS_STAGES];
    unsigned n_routed;
    struct params params; /* of the plan's model, for the stages */
};

/* The slots of the heads of layers with this mixer, the same ones where values are as wide as
 * keys and window layers have no heads of their own. */
struct head_slots {
    enum slot heads, kv_heads, head_dim, v_dim;
};

struct head_slots slots_of_heads(const struct model *model, enum mixer mixer);

/* Symbol of a slot in formulas. */
const char *slot_symbol(enum slot slot);

/* The slots of a kind of layer. */
enum slot slot_kind_layers(enum layer_kind kind);
enum slot slot_kind_in_flight(enum layer_kind kind);
enum slot slot_kind_kept(enum layer_kind kind);
enum slot slot_kind_kept_in_flight(enum layer_kind kind);
enum slot slot_kind_plain(enum layer_kind kind);
enum slot slot_kind_plain_in_flight(enum layer_kind kind);
enum slot slot_kind_back(enum layer_kind kind);
enum slot slot_kind_trained(enum layer_kind kind);
enum slot slot_kind_away(enum layer_kind kind);
enum slot slot_kind_adapted(enum layer_kind kind);
const char *real_symbol(enum real_slot slot);

/* The slot that stands for a routing slot in what layers save, where each is routed for itself;
 * any other slot itself. */
enum slot slot_held(enum slot slot);

/* Fills every slot from the plan; routing slots (ROWS, RECEIVED, PADDED_ROWS, HOT_EXPERT, and
 * the HELD ones) with the balanced values T K, ceil(T K), ... until sim/moe/demand replaces
 * them by expected, p99 or worst. The stage is the one that parallel.stage names, or the first:
 * sim/memory/verdict tries all and keeps the one that needs most. The plan obeys all rules. No
 * allocation. */
void slots_from_plan(const struct plan *plan, struct slots *slots);

/* The same for a plan that differs from the one the slots came from in no key of model, cluster
 * and parallel: workload and moe again, routing balanced again, the stage's slots kept. */
void slots_set_numbers(const struct plan *plan, struct slots *slots);

/* The slots that a pipeline stage decides, for stage `index` and one moment of its schedule,
 * both from 0; the others stay. Returns the number of moments of that stage. */
unsigned slots_set_stage(const struct plan *plan, uint64_t index, unsigned moment,
                         struct slots *slots);

struct stage; /* work/piece/stage.h */

/* The same from a stage that is known. */
void slots_take_stage(const struct stage *stage, struct slots *slots);

/* The slots that a pipeline stage decides, from other slots of the same plan. */
void slots_keep_stage(const struct slots *stage, struct slots *slots);

#endif
