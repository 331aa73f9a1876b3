/* The layers of a model: each a mixer and a feed-forward network, or one of the two alone.
 *
 * Layers of one mixer and one network are alike: a kind. A work list holds one layer of each
 * kind with a repeat count, so everything below asks how many of a kind a run of layers has. */
#ifndef MOEPLAN_PLAN_LAYERS_H
#define MOEPLAN_PLAN_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* What mixes the tokens of a sequence. */
enum mixer {
    MIXER_FULL,   /* attention as model.attention says */
    MIXER_WINDOW, /* the same over a window, by heads of its own where model.window has some */
    MIXER_CHUNK,  /* the same within chunks */
    MIXER_LINEAR, /* a recurrence with a state */
    MIXER_REUSE,  /* full attention that reuses an indexer's choice */
    MIXER_CSA,    /* a window and chosen compressed entries */
    MIXER_HCA,    /* a window and all compressed entries */
    MIXER_CSA_REUSE,     /* a window and what an earlier layer chose of its entries */
    MIXER_TSA,           /* a window and chosen entries of one token each */
    MIXER_TSA_CHOOSE,    /* a window and a choice of an earlier layer's entries */
    MIXER_TSA_REUSE,     /* a window and an earlier choice of these */
    MIXER_BLOCKS,        /* blocks of keys that an indexer chooses */
    MIXER_BORROW,        /* full attention to keys and values of an earlier layer */
    MIXER_WINDOW_BORROW, /* attention over a window likewise */
    MIXER_BOTH,          /* full attention and a recurrence of the same rows, added */
    MIXER_NONE,          /* the layer is a network alone */
    MIXER_COUNT
};

enum ffn { FFN_DENSE, FFN_MOE, FFN_NONE, FFN_COUNT };

/* name, mixer, network, text, word in tables */
#define LAYER_KIND_LIST(X)                                                                     \
    X(DENSE, FULL, DENSE, "dense layer", "dense")                                              \
    X(MOE, FULL, MOE, "moe layer", "moe")                                                      \
    X(FULL, FULL, NONE, "attention layer", "attention")                                        \
    X(WINDOW_DENSE, WINDOW, DENSE, "window dense layer", "window_dense")                       \
    X(WINDOW_MOE, WINDOW, MOE, "window moe layer", "window_moe")                               \
    X(WINDOW, WINDOW, NONE, "window layer", "window")                                          \
    X(CHUNK_DENSE, CHUNK, DENSE, "chunk dense layer", "chunk_dense")                           \
    X(CHUNK_MOE, CHUNK, MOE, "chunk moe layer", "chunk_moe")                                   \
    X(CHUNK, CHUNK, NONE, "chunk layer", "chunk")                                              \
    X(LINEAR_DENSE, LINEAR, DENSE, "linear dense layer", "linear_dense")                       \
    X(LINEAR_MOE, LINEAR, MOE, "linear moe layer", "linear_moe")                               \
    X(LINEAR, LINEAR, NONE, "linear layer", "linear")                                          \
    X(REUSE_DENSE, REUSE, DENSE, "reuse dense layer", "reuse_dense")                           \
    X(REUSE_MOE, REUSE, MOE, "reuse moe layer", "reuse_moe")                                   \
    X(REUSE, REUSE, NONE, "reuse layer", "reuse")                                              \
    X(CSA_DENSE, CSA, DENSE, "csa dense layer", "csa_dense")                                   \
    X(CSA_MOE, CSA, MOE, "csa moe layer", "csa_moe")                                           \
    X(CSA, CSA, NONE, "csa layer", "csa")                                                      \
    X(HCA_DENSE, HCA, DENSE, "hca dense layer", "hca_dense")                                   \
    X(HCA_MOE, HCA, MOE, "hca moe layer", "hca_moe")                                           \
    X(HCA, HCA, NONE, "hca layer", "hca")                                                      \
    X(CSA_REUSE_DENSE, CSA_REUSE, DENSE, "csa reuse dense layer", "csa_reuse_dense")           \
    X(CSA_REUSE_MOE, CSA_REUSE, MOE, "csa reuse moe layer", "csa_reuse_moe")                   \
    X(CSA_REUSE, CSA_REUSE, NONE, "csa reuse layer", "csa_reuse")                              \
    X(TSA_DENSE, TSA, DENSE, "tsa dense layer", "tsa_dense")                                   \
    X(TSA_MOE, TSA, MOE, "tsa moe layer", "tsa_moe")                                           \
    X(TSA, TSA, NONE, "tsa layer", "tsa")                                                      \
    X(TSA_CHOOSE_DENSE, TSA_CHOOSE, DENSE, "tsa choose dense layer", "tsa_choose_dense")       \
    X(TSA_CHOOSE_MOE, TSA_CHOOSE, MOE, "tsa choose moe layer", "tsa_choose_moe")               \
    X(TSA_CHOOSE, TSA_CHOOSE, NONE, "tsa choose layer", "tsa_choose")                          \
    X(TSA_REUSE_DENSE, TSA_REUSE, DENSE, "tsa reuse dense layer", "tsa_reuse_dense")           \
    X(TSA_REUSE_MOE, TSA_REUSE, MOE, "tsa reuse moe layer", "tsa_reuse_moe")                   \
    X(TSA_REUSE, TSA_REUSE, NONE, "tsa reuse layer", "tsa_reuse")                              \
    X(BLOCKS_DENSE, BLOCKS, DENSE, "blocks dense layer", "blocks_dense")                       \
    X(BLOCKS_MOE, BLOCKS, MOE, "blocks moe layer", "blocks_moe")                               \
    X(BLOCKS, BLOCKS, NONE, "blocks layer", "blocks")                                          \
    X(BORROW_DENSE, BORROW, DENSE, "borrow dense layer", "borrow_dense")                       \
    X(BORROW_MOE, BORROW, MOE, "borrow moe layer", "borrow_moe")                               \
    X(BORROW, BORROW, NONE, "borrow layer", "borrow")                                          \
    X(WINDOW_BORROW_DENSE, WINDOW_BORROW, DENSE, "window borrow dense layer",                  \
      "window_borrow_dense")                                                                   \
    X(WINDOW_BORROW_MOE, WINDOW_BORROW, MOE, "window borrow moe layer", "window_borrow_moe")   \
    X(WINDOW_BORROW, WINDOW_BORROW, NONE, "window borrow layer", "window_borrow")              \
    X(BOTH_DENSE, BOTH, DENSE, "both dense layer", "both_dense")                               \
    X(BOTH_MOE, BOTH, MOE, "both moe layer", "both_moe")                                       \
    X(BOTH, BOTH, NONE, "both layer", "both")                                                  \
    X(FFN_DENSE, NONE, DENSE, "dense network", "dense_alone")                                  \
    X(FFN_MOE, NONE, MOE, "moe network", "moe_alone")

enum layer_kind {
#define LAYER_KIND_ENUM(name, mixer, ffn, text, word) KIND_##name,
    LAYER_KIND_LIST(LAYER_KIND_ENUM)
#undef LAYER_KIND_ENUM
        KIND_COUNT
};

enum mixer layer_mixer(enum layer_type type);
enum mixer kind_mixer(enum layer_kind kind);
/* The mixer whose keys and values layers of this one read: that of their own kind which makes
 * some, or itself. */
enum mixer mixer_owner(enum mixer mixer);
bool mixer_borrows(enum mixer mixer);
/* Whether layers of a mixer have a part's weights and cache: their own, or, of both, those of
 * full attention and of a recurrence. */
bool mixer_has(enum mixer mixer, enum mixer part);
enum ffn kind_ffn(enum layer_kind kind);
const char *kind_name(enum layer_kind kind);

/* Adds to count[kind] the layers first .. end - 1. */
void model_layers(const struct model *model, uint64_t first, uint64_t end,
                  uint64_t count[KIND_COUNT]);

/* Whether that is so, or the list of layers names dense or moe: each layer is then one part,
 * with the norms of one. */
bool model_has_parts(const struct model *model);

/* Which kinds the model has, those of enabled prediction modules included. Without a list there
 * are MoE layers wherever there are experts. */
void model_kinds(const struct model *model, bool has[KIND_COUNT]);

/* The kind of a prediction module's layer: full attention, a window where the model says so or
 * one head is key and value, chosen blocks where the model has such layers (vLLM
 * models/minimax_m3/nvidia/mtp.py: force_sparse_attn), and experts where there are any and it
 * does not say that modules are dense (layer-kinds.md 1.8 and 1.9). */
enum layer_kind model_mtp_kind(const struct model *model);

/* Experts with weights that a token is multiplied by in the mean, rounded up: all its choices,
 * but for those that return their input. */
uint64_t model_choices(const struct model *model);

/* Whether the network of a layer has a norm of its own: it does not read the mixer's rows, or
 * through another norm. */
bool model_has_network_norm(const struct model *model);

/* Width of the rows that routed experts read and write: the hidden size, or the latent one. */
uint64_t model_row_width(const struct model *model);

/* Norms of width hidden that a layer has: none where the gates of copies of the residual norm
 * what they weigh. */
uint64_t model_layer_norms(const struct model *model);

/* Whether layers with this mixer have an indexer of their own: full attention of latents, csa
 * and blocks, where the model has one. */
bool model_has_indexer(const struct model *model, enum mixer mixer);

/* The mixer whose entries layers of this one meet; itself: it makes them, or there are none. */
enum mixer mixer_source(enum mixer mixer);

/* Tokens of a key that an indexer of latents chooses by; 1: each has its own. */
uint64_t model_index_pool(const struct model *model);

/* Numbers that hyper-connections make of a token before a mixer or network: n that read the n
 * copies, n that add to them, and n^2 that mix these, unless they are not mixed. */
uint64_t model_stream_mixes(const struct model *model);

/* The heads of layers with this mixer: what model.window says of window layers in place, the
 * value size of grouped queries filled in. */
struct attention model_attention(const struct model *model, enum mixer mixer);

/* Whether window layers differ from the others in their heads. */
bool model_has_own_window(const struct model *model);

/* The mixer of attention's layers where they are all alike: full, or window where none is
 * without one, prediction modules' included. */
enum mixer model_attention_mixer(const struct model *model);

/* For tables of rules and of keys. */
bool plan_has_own_window(const struct plan *plan);

/* Whether those stand beside layers that have other heads. */
bool plan_splits_attention(const struct plan *plan);
bool plan_has_window(const struct plan *plan);
bool plan_has_chunk(const struct plan *plan);
bool plan_has_linear(const struct plan *plan);
bool plan_is_recurrent(const struct plan *plan);
bool plan_has_both(const struct plan *plan);
bool plan_has_csa(const struct plan *plan);
bool plan_has_hca(const struct plan *plan);
bool plan_has_entries(const struct plan *plan); /* layers that meet those of any ratio */
bool plan_has_tsa(const struct plan *plan);
bool plan_reuses_entries(
    const struct plan *plan); /* layers that read those of an earlier one */
bool plan_has_blocks(const struct plan *plan);
/* Whether layers read keys and values of earlier ones. */
bool model_borrows(const struct model *model);
bool plan_borrows(const struct plan *plan);
/* Whether the layers have embeddings of their own; or that, or the former. */
bool plan_embeds_layers(const struct plan *plan);
bool plan_borrows_or_embeds(const struct plan *plan);
/* Columns of what projects rows of n-grams. */
uint64_t model_ngram_outputs(const struct model *model);
/* The format of tables of n-grams, and of what projects their rows. */
enum dtype plan_ngram_format(const struct plan *plan);
enum dtype plan_ngram_projections(const struct plan *plan);
/* Width of the dense network of layers with this mixer. */
uint64_t model_dense_width(const struct model *model, enum mixer mixer);
/* Whether prediction modules are part of the run. */
bool plan_has_modules(const struct plan *plan);
/* Whether tables of the vocabulary name the experts of all layers. */
bool plan_routes_by_tables(const struct plan *plan);
/* Query heads of window layers. */
uint64_t plan_window_heads(const struct plan *plan);
/* Whether one head is key and value: every layer has a window (DeepSeek-V4). */
bool plan_shares_kv(const struct plan *plan);

/* Layers that have this mixer, alone or as one of both, this network; without prediction
 * modules. */
uint64_t model_mixers(const struct model *model, enum mixer mixer);
bool model_has_mixer(const struct model *model, enum mixer mixer); /* one at least */
/* Whether every layer has grouped-query attention, and no other mixer. */
bool model_attends_by_groups(const struct model *model);
uint64_t model_ffns(const struct model *model, enum ffn ffn);

/* Numbers that the head makes of a token: labels of a score head, or the vocabulary; and
 * whether the head is the embedding, which a score head never is. */
uint64_t model_outputs(const struct model *model);
bool model_ties_head(const struct model *model);

#endif
