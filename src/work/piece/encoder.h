/* The encoder of a multimodal model: its parameters on a rank and its sizes.
 *
 * It stands where the embedding does, on the first pipeline stage; tensor parallelism divides
 * the products of its layers and the projector, and leaves norms, biases, patch embedding and
 * positions whole. Every context-parallel rank runs all patches. Sources: Megatron-Bridge
 * models/qwen_vl/modelling_qwen3_vl/{model,transformer_config,vision_model}.py at 03711a9d,
 * torchtitan models/qwen3_vl/parallelize.py at 006d4edb, vLLM models/qwen3_vl.py at 002d7b93.
 */
#ifndef MOEPLAN_WORK_PIECE_ENCODER_H
#define MOEPLAN_WORK_PIECE_ENCODER_H

#include "plan/params.h"
#include "work/list/size.h"
#include "work/list/work.h"

/* Of one rank, in elements. */
struct encoder_share {
    uint64_t trained, frozen; /* together all; outside training all counts as trained */
    uint64_t layer;           /* of one of its layers */
};

struct encoder_share encoder_share(const struct plan *plan, const struct params *params);

bool encoder_is_there(const struct plan *plan);
/* Whether its layers have adapters, and how many elements they are: of a layer's products r (in
 * + out) each, q, k and v being one of them (transformers' Qwen-VL, GLM-4.5V, Kimi-VL). */
bool encoder_adapts(const struct plan *plan);
uint64_t encoder_adapters(const struct plan *plan);
/* Whether its layers run backward: all of it is trained, or has adapters. */
bool encoder_runs_back(const struct plan *plan);

/* Whether its layers run again whole. */
bool encoder_runs_again(const struct plan *plan);

/* Patches that a rank's encoder reads in a micro-batch: those of its sequences, and in the
 * profile run of an engine as many whole images as a step's tokens have room for, at least
 * one. */
struct size encoder_patches(const struct plan *plan, struct sizes *sizes);

/* Whether each tp rank has the encoder whole and takes some of the images; over how many ranks
 * a layer is split; patches that one rank encodes. */
bool encoder_apart(const struct plan *plan);
struct size encoder_ranks(const struct plan *plan, struct sizes *sizes);
struct size encoder_own_patches(const struct plan *plan, struct sizes *sizes);
/* Patches that attention reaches from each of n. */
struct size encoder_reach(const struct plan *plan, struct sizes *sizes, struct size n);

/* Widths of one tensor-parallel rank; UP: what enters the activation. */
enum encoder_width {
    ENCODER_HIDDEN,
    ENCODER_QKV,
    ENCODER_CONTEXT,
    ENCODER_HEADS,
    ENCODER_UP,
    ENCODER_INTER,
    ENCODER_STATISTICS, /* of norms */
    ENCODER_WIDTHS
};
struct encoder_widths {
    struct size of[ENCODER_WIDTHS], merged; /* a token's patches side by side */
};
struct encoder_widths encoder_widths(const struct plan *plan, struct sizes *sizes);

/* ---- one layer ---- */

enum encoder_half { ENCODER_ATTENTION, ENCODER_NETWORK };

/* What of a layer stays when it runs again whole, or by torchtitan's list of ops. */
enum encoder_keeps { ENCODER_KEEPS_INPUT = 1, ENCODER_KEEPS_OPS = 2 };

/* A tensor of a layer, [patches, width], in the order in which they are made. Training saves
 * them, engines hold those that ops make from one op to the next, a step's list performs the
 * ops. */
struct encoder_tensor {
    const char *name;
    enum encoder_width width;
    enum dtype dtype;              /* NONE: the activations' */
    const char *op;                /* that makes it of what the op before made; NULL: none */
    enum op_kind kind;             /* of that op */
    const char *sum;               /* over tp ranks: the sum's name; NULL: not added up */
    enum encoder_half made, until; /* half that makes it; whose backward reads it last */
    bool saved;
    unsigned keeps;
    bool eager, glu; /* by stacks that fuse nothing; with a gate alone */
};

/* The table of a layer, and how many rows. */
const struct encoder_tensor *encoder_layer(size_t *n);

#endif
