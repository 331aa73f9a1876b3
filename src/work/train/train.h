/* A training layer as eager frameworks run it: its ticks in order, forward and then backward,
 * and the tensors that live between them. Stacks on PyTorch (megatron, primus, torchtitan) are
 * tables of these tensors; what they share (attention, dense network, head, state) stands here.
 *
 * A tensor is one row: shape, the op that makes it, the op that last needs it, and the modules
 * whose recomputation drops it in between. Reference: buffers.md 1.4, 7, 9; the autograd rules
 * of the ops named. */
#ifndef MOEPLAN_WORK_TRAIN_TRAIN_H
#define MOEPLAN_WORK_TRAIN_TRAIN_H

#include <stdbool.h>

#include "work/list/work.h"
#include "work/piece/matrix.h"

/* The backward ticks of the modules, in reverse order. A segment's ticks have consecutive
 * numbers in the work list: all modules forward, then all backward. */
enum {
#define TRAIN_BACK(name, text, kind) BACK_##name = 2 * MODULES - 1 - MODULE_##name,
    MODULE_LIST(TRAIN_BACK)
#undef TRAIN_BACK
};

/* Modules whose recomputation drops a tensor; KEPT: not even full recomputation does. */
enum {
    TRAIN_NORMS = 1 << 0,
    TRAIN_MLA_UP = 1 << 1,
    TRAIN_CORE_ATTENTION = 1 << 2,
    TRAIN_MLP = 1 << 3,
    TRAIN_MOE_ACTIVATION = 1 << 4,
    TRAIN_MOE = 1 << 5,
    TRAIN_SHARED_EXPERTS = 1 << 6,
    TRAIN_FULL_LAYER = 1 << 7,
    TRAIN_KEPT = 1 << 8,
    TRAIN_OPS = 1 << 9,        /* everything but the outputs of some ops (torchtitan's "op") */
    TRAIN_OP_KEPT = 1 << 10,   /* on a tensor: TRAIN_OPS keeps it */
    TRAIN_POINTWISE = 1 << 11, /* element-wise results, by a compiler */
    TRAIN_STREAMS = 1 << 12,   /* rows and copies of hyper-connections, a chunk at once */
    TRAIN_TILES = 1 << 13      /* dense networks, a part of the sequence after the other */
};

/* Modules whose saved tensors wait in host memory (Megatron's fine-grained offloading). */
enum {
    TRAIN_OFF_ATTENTION_NORM = 1 << 0,
    TRAIN_OFF_QKV = 1 << 1,
    TRAIN_OFF_ATTENTION = 1 << 2,
    TRAIN_OFF_PROJECTION = 1 << 3,
    TRAIN_OFF_MLP_NORM = 1 << 4,
    TRAIN_OFF_EXPERT_INPUT = 1 << 5,
    TRAIN_OFF_EXPERT_GATE_UP = 1 << 6,
    TRAIN_OFF_EXPERT_ACTIVATED = 1 << 7
};

/* Read by a product alone; with GQA alone (the low-rank products of MLA read it twice, each
 * with a copy of its own); by attention's output projection, which saves the rows it was given
 * and not its copy but with delayed scaling (set_save_original_input of Megatron-LM
 * core/transformer/attention.py and multi_latent_attention.py, TransformerEngine from 2.6 on).
 */
enum { PRODUCT_INPUT = 1, PRODUCT_INPUT_GQA = 2, PRODUCT_INPUT_PROJECTION = 3 };
/* By the projections to heads, which keep the rows where they run again (mla_up_proj). */
enum { PRODUCT_INPUT_UP = 4 };

struct train_tensor {
    const char *name;
    enum category category;
    unsigned segments; /* IN_... */
    fact_set when;     /* bits above */
    enum row rows;
    enum col width;
    enum dtype dtype; /* DTYPE_NONE: precision.activations */
    bool saved;       /* for backward; otherwise alive from first to last only */
    unsigned first, last;
    unsigned
        dropped_by; /* modules; without `until` the recomputed forward holds it throughout */
    unsigned until,
        again;        /* last op of forward that reads it; op of backward that remakes it */
    unsigned offload; /* TRAIN_OFF_... */
    unsigned product_input; /* PRODUCT_...: kept in the format its product computes in */
    unsigned mixers;        /* MIX_...: those it is beside; 0: all */
    const char *source;
};

struct train {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    struct dims d;                  /* of full attention; the rows are those of all kinds */
    struct dims mixer[MIXER_COUNT]; /* widths and facts of a mixer */
    bool kinds[KIND_COUNT];         /* of layers that it holds */
    enum moe_path path;
    unsigned drops; /* modules this plan recomputes */
    unsigned offloads;
    enum dtype reduces_in;     /* FSDP2: format of gradients while they are reduced */
    uint16_t away[KIND_COUNT]; /* layers whose saved tensors all wait in host memory */
    bool some;                 /* all but the layers that recompute.layers leaves alone */
    uint16_t drop_every;       /* of every so many layers one is recomputed whole; 0: none */
    enum sizing_rule routed, received_rule; /* of rows, and of received tokens */
    uint16_t base[SEGMENT_COUNT];           /* number of a segment's first tick */
    uint16_t encoder;                       /* and of the encoder's; 0: none runs */
};

/* Fills everything but drops and offloads from the plan; adds segments and ticks. */
void train_init(struct train *train, const struct plan *plan, struct work *work,
                enum moe_path path);

/* Adds the rows of a table that apply; train_mixer: beside these mixers only (MIX_...). */
void train_tensors(struct train *train, const struct train_tensor *tensors, size_t n);
void train_mixer(struct train *train, unsigned mixers, const struct train_tensor *tensors,
                 size_t n);

/* Tables every stack here shares: norms, attention, residual stream; dense network. */
void train_attention(struct train *train);
void train_dense(struct train *train);

/* Attention whose one head is key and value, in place of the others', called by
 * train_attention; residuals that are more than a row; and what of both Megatron refuses, or is
 * not modelled: train_shared.c, train_residual.c */
void train_shared(struct train *train);
void train_residual(struct train *train);
void train_residual_eager(struct train *train); /* of transformers' modules */
enum status train_mixed_refuse(const struct plan *plan, struct err *err);

/* Recurrences: train_linear.c, called by train_attention. */
void train_linear(struct train *train);

/* Embedding, head, loss; persistent extras: gathered sequence, pipeline gradient, GEMM
 * workspaces, placeholders for weight gradients. */
void train_ends(struct train *train);
void train_extras(struct train *train);
void train_head(struct train *train); /* train_ends calls it: train_head.c */
enum { TRAIN_HEAD_TICKS = 6 };
unsigned train_head_ticks(const struct plan *plan); /* with those of a loss of balance */

/* The encoder of images: what it saves and holds, called by train_ends; what FSDP gathers of it
 * (kept: from forward to backward). train_encoder.c */
void train_encoder(struct train *train);
void train_encoder_unit(struct train *train, bool kept);

/* Under zero 3 what is gathered of a layer: by Megatron-FSDP, by FSDP2, by DeepSpeed, with its
 * buckets; under zero 0 those of torch's reducer, and autocast's copies: train_sharded.c */
void train_gathered_weights(struct train *train);
void train_fsdp2(struct train *train);
void train_whole(struct train *train);
void train_deepspeed(struct train *train);
void train_in_backward(struct train *train);

/* Elements of a matrix of a layer, of all of a rank's experts together; 0: it has none. */
struct size train_matrix_elements(struct train *train, enum layer_kind kind,
                                  const struct layer_matrix *matrix);

/* Weight gradients that stand alone before they are accumulated, where no placeholders stand
 * for them: train_wgrad.c */
void train_weight_gradients(struct train *train);

/* A rank's part of what joins a prediction module's hidden rows with the next embeddings; count
 * 1 where the stage has such modules. */
struct projection {
    struct size out, in, count;
};
struct projection train_mtp_projection(struct train *train);

/* Where parts are frozen, the op of forward up to which the input of a kind's frozen products
 * is held; 0: it is saved. *some: and saved in the layers that have adapters. What adapters
 * save themselves: train_lora.c */
unsigned train_frozen_until(struct train *train, const char *tensor, enum layer_kind kind,
                            bool *some);
void train_adapters(struct train *train);

/* Quantisation-aware training: how many copies of a weight and of an input a linear layer keeps
 * for backward, in f32 and in 16 bits, and whether it still reads the input as it is; which
 * matrices it is of. `trained`: the weight has a gradient. train_rounded.c */
struct train_kept {
    uint64_t f32, half;
};
struct train_rounding {
    struct train_kept weight, input;
    bool reads_plain;
    uint64_t passing; /* of f32 while forward rounds */
};
struct train_rounding train_rounding(const struct plan *plan, bool trained);
bool train_rounds(const struct train *train, const struct layer_matrix *matrix);
void train_rounded(struct train *train);

/* Tables of an eager layer that fuses nothing, its dense network and its experts:
 * torchtitan.c */
void train_eager(struct train *train);

/* Turns names into bits by a table ({name, bits}, NULL-terminated). STATUS_INPUT for one that
 * is not there; `what` is the key, for the message. */
struct train_name {
    const char *name;
    unsigned bits;
};
enum status train_names(const struct word_list *words, const struct train_name *names,
                        const char *what, unsigned *bits, struct err *err);

/* How often the host waits for counts in the forward of one MoE layer (buffers.md 12): recorded
 * with its first exchange. */
void train_host_syncs(struct train *t, uint64_t n);

#endif
