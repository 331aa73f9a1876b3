/* A training layer as eager frameworks run it: its ticks in order, forward and then backward, and
 * the tensors that live between them. Stacks on PyTorch (megatron, primus, torchtitan) are
 * tables of these tensors; what they share (attention, dense network, head, state) stands here.
 *
 * A tensor is one row: shape, the op that makes it, the op that last needs it, and the modules
 * whose recomputation drops it in between. Reference: buffers.md 1.4, 7, 9; the autograd rules
 * of the ops named. */
#ifndef MOEPLAN_WORK_STACK_TRAIN_H
#define MOEPLAN_WORK_STACK_TRAIN_H

#include <stdbool.h>

#include "work/stack/dispatch_size.h"
#include "work/list/work.h"

/* Ticks of a layer in forward order; the backward of tick i is TRAIN_BACK(i), in reverse order.
 * A segment's ticks have consecutive numbers in the work list. */
#define TRAIN_OP_LIST(X)                                                                       \
    X(ATTENTION_NORM, "attention_norm", NORM)                                                  \
    X(DOWN, "attention_down", GEMM)                                                            \
    X(UP, "attention_qkv", GEMM)                                                               \
    X(ROPE, "rope", ATTENTION)                                                                 \
    X(ATTENTION, "attention", ATTENTION)                                                       \
    X(PROJECTION, "attention_out", GEMM)                                                       \
    X(MLP_NORM, "mlp_norm", NORM)                                                              \
    X(SHARED, "shared_experts", GEMM)                                                          \
    X(ROUTER, "router", ROUTER)                                                                \
    X(PERMUTE, "permute", PERMUTE)                                                             \
    X(DISPATCH, "dispatch", EXCHANGE)                                                          \
    X(SORT, "sort", SORT)                                                                      \
    X(GATE_UP, "gate_up", GROUPED_GEMM)                                                        \
    X(ACTIVATE, "activation", ACTIVATION)                                                      \
    X(EXPERT_DOWN, "down", GROUPED_GEMM)                                                       \
    X(UNSORT, "unsort", SORT)                                                                  \
    X(COMBINE, "combine", EXCHANGE)                                                            \
    X(UNPERMUTE, "unpermute", PERMUTE)                                                         \
    X(RESIDUAL, "residual", REDUCE)

enum train_op {
#define TRAIN_ENUM(name, text, kind) TRAIN_##name,
    TRAIN_OP_LIST(TRAIN_ENUM)
#undef TRAIN_ENUM
        TRAIN_FORWARD_OPS
};

#define TRAIN_BACK(op) (2 * TRAIN_FORWARD_OPS - 1 - (op))

/* Rows of a tensor. */
enum train_rows {
    TRAIN_LOCAL,           /* T: after sequence parallelism */
    TRAIN_FULL,            /* T tp: the sequence gathered over tp, T without sp */
    TRAIN_SENT,            /* T K, or E C with capacity */
    TRAIN_RECEIVED_TOKENS, /* n: one row per received token */
    TRAIN_GATHERED,        /* T R: tokens of all expert ranks */
    TRAIN_RECEIVED,        /* M: one row per received copy, or E C */
    TRAIN_COMPUTED,        /* M etp: what a rank's experts multiply */
    TRAIN_ROUTED, /* rows that return to a rank's tokens, where a stack asks for them */
    TRAIN_ROWS
};

/* Columns of a tensor. */
enum train_width {
    TRAIN_ONE,
    TRAIN_HIDDEN,
    TRAIN_Q_RANK,
    TRAIN_KV_LATENT, /* kv rank and rotary part */
    TRAIN_KV_RANK,
    TRAIN_Q,
    TRAIN_K,
    TRAIN_V,
    TRAIN_QKV,    /* q, k and v together */
    TRAIN_KV,     /* k and v */
    TRAIN_KV_UP,  /* MLA: heads x (nope + v) */
    TRAIN_UP_OUT, /* what the projections to heads write: QKV, or for MLA q and k_nope with v */
    TRAIN_CONTEXT,
    TRAIN_HEADS,
    TRAIN_SCORES, /* heads x S: one row of the square of scores */
    TRAIN_DENSE,
    TRAIN_DENSE_IN, /* gate and up together */
    TRAIN_INTER,
    TRAIN_INTER_IN,
    TRAIN_SHARED_INTER,
    TRAIN_SHARED_IN,
    TRAIN_EXPERTS,
    TRAIN_ROW_MAP, /* 2 E + 1 */
    TRAIN_TOP_K,
    TRAIN_VOCAB, /* padded, a tp rank's part */
    TRAIN_WIDTHS
};

/* What must hold for a row of a table to apply (all of its bits). */
enum {
    TRAIN_MLA = 1 << 0,
    TRAIN_GQA = 1 << 1,
    TRAIN_Q_LOW_RANK = 1 << 2,
    TRAIN_FLASH = 1 << 3,
    TRAIN_UNFUSED = 1 << 4,
    TRAIN_HAS_SHARED = 1 << 5,
    TRAIN_EP = 1 << 6,       /* ep > 1: rows travel */
    TRAIN_ETP = 1 << 7,      /* etp > 1: rows are gathered over it */
    TRAIN_SORTED = 1 << 8,   /* e > 1: rows are sorted by expert after they arrive */
    TRAIN_UNSORTED = 1 << 9, /* e = 1 */
    TRAIN_ALLTOALL = 1 << 10,
    TRAIN_ALLGATHER = 1 << 11,
    TRAIN_FLEX = 1 << 12, /* DeepEP and its kin: one row per received token */
    TRAIN_Q_FULL_RANK = 1 << 13,
    TRAIN_QK_NORM = 1 << 14, /* norms between the projection and rope: GQA only */
    TRAIN_GATHER = 1 << 15,  /* sp over tp > 1 */
    TRAIN_PER_OP = 1 << 16,  /* TRAIN_OPS is on */
    TRAIN_EAGER = 1 << 17,
    TRAIN_COMPILED = 1 << 18,
    TRAIN_CP = 1 << 19 /* cp > 1: keys and values go around a ring */
};

enum { TRAIN_IN_DENSE = 1, TRAIN_IN_MOE = 2, TRAIN_IN_BOTH = 3 };

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
    TRAIN_OPS = 1 << 9,       /* everything but the outputs of some ops (torchtitan's "op") */
    TRAIN_OP_KEPT = 1 << 10,  /* on a tensor: TRAIN_OPS keeps it */
    TRAIN_POINTWISE = 1 << 11 /* element-wise results, by a compiler */
};

/* Modules whose saved tensors wait in host memory (Megatron's fine-grained offloading). */
enum {
    TRAIN_OFF_ATTENTION_NORM = 1 << 0,
    TRAIN_OFF_QKV = 1 << 1,
    TRAIN_OFF_ATTENTION = 1 << 2,
    TRAIN_OFF_PROJECTION = 1 << 3,
    TRAIN_OFF_MLP_NORM = 1 << 4,
    TRAIN_OFF_EXPERT_INPUT = 1 << 5,
    TRAIN_OFF_EXPERT_GATE_UP = 1 << 6
};

struct train_tensor {
    const char *name;
    enum category category;
    unsigned segments; /* TRAIN_IN_... */
    unsigned when;     /* bits above */
    enum train_rows rows;
    enum train_width width;
    enum dtype dtype; /* DTYPE_NONE: precision.activations */
    bool saved;       /* for backward; otherwise alive from first to last only */
    unsigned first, last;
    unsigned
        dropped_by; /* modules; without `until` the recomputed forward holds it throughout */
    unsigned until,
        again;        /* last op of forward that reads it; op of backward that remakes it */
    unsigned offload; /* TRAIN_OFF_... */
    bool
        product_input; /* read by a product alone: kept in one byte when that computes in fp8 */
    const char *source;
};

/* A weight matrix of a layer: [out, in], on one rank. */
struct train_matrix {
    const char *name;
    unsigned segments, when;
    enum train_op op; /* that multiplies it */
    enum train_rows rows;
    enum train_width in, out;
    bool expert; /* e of them */
};

struct train {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    struct letters letters;
    enum moe_path path;
    unsigned holds; /* TRAIN_MLA, ... that hold for this plan */
    unsigned drops; /* modules this plan recomputes */
    unsigned offloads;
    uint16_t drop_every; /* of every so many layers one is recomputed whole; 0: none */
    struct size rows[TRAIN_ROWS], width[TRAIN_WIDTHS];
    enum sizing_rule routed, received_rule; /* of rows, and of received tokens */
    uint16_t base[SEGMENT_COUNT];           /* number of a segment's first tick */
};

/* Fills everything but drops and offloads from the plan; adds segments and ticks. */
void train_init(struct train *train, const struct plan *plan, struct work *work,
                enum moe_path path);

/* Adds the rows of a table that apply. */
void train_tensors(struct train *train, const struct train_tensor *tensors, size_t n);

/* Tables every stack here shares: norms, attention, residual stream; dense network. */
void train_attention(struct train *train);
void train_dense(struct train *train);

/* Embedding, head, loss; persistent extras: gathered sequence, pipeline gradient, GEMM
 * workspaces, placeholders for weight gradients; what FSDP gathers for a layer. */
void train_ends(struct train *train);
void train_extras(struct train *train);
void train_gathered_weights(struct train *train);

/* The matrices of a layer; *n is their number. Constant. */
const struct train_matrix *train_matrices(size_t *n);

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
