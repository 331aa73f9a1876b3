/* Parameter counts of a model, exact, by component; and its useful FLOPs per token.
 *
 * "matrices" are what matrix products multiply, the embedding table included: projections,
 * expert and router matrices, embedding and head. `parameters` adds norm vectors, biases,
 * attention sinks and the router's selection bias. Sources: training-model.md section 1
 * (DeepSeek-V3: 671,026,419,200 parameters, 671,025,397,760 of them in matrices).
 *
 * Not counted: multi-token prediction modules unless model.mtp_enabled. An encoder of images
 * counts among the parameters and not among the active ones: no text passes it. */
#ifndef MOEPLAN_PLAN_PARAMS_H
#define MOEPLAN_PLAN_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/layers.h"

/* A component: its matrices, and the vectors that are not matrices. */
struct params_part {
    uint64_t matrices;
    uint64_t norms;
    uint64_t biases; /* biases of linear layers, attention sinks, selection bias, scales */
};

struct params {
    uint64_t embedding;                    /* [vocab, hidden] */
    struct params_part head;               /* matrices 0 when tied to the embedding */
    struct params_part mixer[MIXER_COUNT]; /* one layer: attention, mostly */
    uint64_t whole[MIXER_COUNT]; /* of its matrices: those that tensor parallelism leaves whole,
                                    such as MLA's down projections */
    struct params_part dense_mlp;    /* one dense layer */
    struct params_part borrow_mlp;   /* one that borrows keys */
    struct params_part expert;       /* one routed expert */
    struct params_part router;       /* one MoE layer */
    struct params_part shared;       /* one MoE layer: all shared experts and their gate */
    struct params_part images;       /* one MoE layer: experts of images and their router */
    struct params_part residual;     /* one MoE layer: the MLP beside the experts (Arctic) */
    struct params_part latent;       /* one MoE layer: its way down to latent rows, and up */
    struct params_part layer_norms;  /* one layer: the norms of width hidden, its scale */
    struct params_part layer_input;  /* one layer: what it does with its own embeddings */
    struct params_part layer_inputs; /* before all: what projects the tokens to these */
    uint64_t layer_table;            /* [vocab, layers x width] of them */
    struct params_part ngrams;       /* all layers with n-grams, beside their tables */
    uint64_t ngram_table;            /* all their tables */
    struct params_part streams;      /* one mixer or network: its hyper-connections */
    struct params_part streams_end;  /* before the head: those that make one of all */
    struct params_part final_norm;
    struct params_part module_ends; /* norms of a prediction module beside its layer, and what
                                       makes one of its gated copies */
    struct params_part mtp;         /* all multi-token prediction modules; 0 unless enabled */
    struct params_part encoder;     /* all its layers */
    uint64_t encoder_embedding, encoder_projector; /* as the model states them; the first with
                                                      the audio encoder */

    uint64_t layers[KIND_COUNT]; /* without MTP */
    uint64_t moe_layers;         /* of them with experts */
    uint64_t routed;             /* all parameters of all routed experts, MTP's excluded */
    uint64_t matrices;           /* whole model */
    uint64_t parameters;         /* whole model with norms and biases */
    uint64_t active_matrices;    /* per token: top_k experts a layer, embedding included; the
                                    table of layers' embeddings is none of them */
    uint64_t active;             /* per token, matrices without the embedding: DeepSeek-V3
                                    36,624,596,992. A tied table counts: it is the head */
    bool overflow;               /* a count passed 64 bits and is saturated */
};

/* The counts of what a plan's ranks hold: in training, tables of the vocabulary with the rows
 * that the stack fills up (plan_vocabulary), weights, gradients and states alike. */
void params_held(const struct plan *plan, struct params *params);

/* Counts the parameters of parts that the plan freezes as none: params_frozen.c. */
void params_freeze(const struct plan *plan, struct params *params);

/* Matrices that a token is multiplied by, of the layers and parts that are counted: `active` of
 * a model's own counts. */
uint64_t params_active(const struct model *model, const struct params *params);

/* Fills every count. The model obeys the rules; dense_layers may not exceed layers. */
void params_count(const struct model *model, struct params *params);

/* Layers, what is before them and the projector. Saturates. */
uint64_t params_encoder(const struct params *params);

/* Values of all heads of an encoder. */
uint64_t params_encoder_attention(const struct encoder *encoder);

/* Hyper-connections of a layer: one before its mixer, one before its network. Those that a
 * prediction module has not, which is counted among the layers of its kind: mtp_plain. */
uint64_t params_stream_sites(enum layer_kind kind);
uint64_t params_plain_sites(const struct model *model);

/* Of a dense network in layers with this mixer. */
const struct params_part *params_dense(const struct params *params, enum mixer mixer);

/* matrices + norms + biases of one component. */
uint64_t params_part_total(struct params_part part);

/* Twice the mean number of tokens that a token's attention reaches in a sequence of S, itself
 * counted half: S where it reaches all before it, 2 W - W^2 / S in a window of W < S, C in
 * chunks of C that divide S; a window and as many entries of S / ratio as of tokens in a
 * sequence so long; W in blocks of B, its own among them, (2 W - B) - W (W - B) / S where B
 * divides S. Divisions are floors. */
uint64_t params_reach(const struct model *model, enum mixer mixer, uint64_t sequence_length);

/* FLOP of causal attention's two products for one token, forward, all layers, averaged over a
 * sequence: heads * reach * (qk dim + v dim) a layer, for full attention half of the full
 * square (10.23 GFLOP for DeepSeek-V3 at 4096; training-model.md section 3). Saturates. */
uint64_t params_attention_flop(const struct model *model, uint64_t sequence_length);

/* What of it gradients pass, no scores of indexers, of the layers from `first` on. */
uint64_t params_attention_back_flop(const struct model *model, uint64_t first,
                                    uint64_t sequence_length);

/* Useful FLOP of training one token: 6 * active + 3 * params_attention_flop, the recomputed
 * forward not included (250.45 GFLOP for DeepSeek-V3 at 4096). An enabled prediction module
 * multiplies by the head once more. Saturates. */
uint64_t params_flop_per_token(const struct model *model, uint64_t sequence_length);

/* The forward part alone: 2 * active + params_attention_flop. Saturates. */
uint64_t params_forward_flop_per_token(const struct model *model, uint64_t sequence_length);

/* Of a token of the plan's workload, what MFU counts as useful: training, without the gradients
 * of weights that are frozen beside adapters (4 * active + 3 * params_attention_flop; the
 * adapters' own products left out), or the forward alone, in decode at the context's end.
 * Indexers of sparse attention count forward alone, prediction modules in training alone.
 * Saturates. */
uint64_t params_useful_flop_per_token(const struct plan *plan);

#endif
