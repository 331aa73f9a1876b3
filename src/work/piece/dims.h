/* The parts of a layer, and the shapes that its tensors and matrices are made of: rows, columns
 * of one rank, and the facts of a plan that decide which of them exist. Stacks' tables of what
 * they hold and the list of what is computed read the same ones. */
#ifndef MOEPLAN_WORK_PIECE_DIMS_H
#define MOEPLAN_WORK_PIECE_DIMS_H

#include "work/list/letters.h"
#include "work/list/work.h"

/* Rows of a tensor. */
enum row {
    ROW_LOCAL,           /* T: after sequence parallelism */
    ROW_FULL,            /* T tp: the sequence gathered over tp, T without sp */
    ROW_SENT,            /* T K, or E C with capacity */
    ROW_RECEIVED_TOKENS, /* n: one row per received token */
    ROW_GATHERED,        /* T R: tokens of all expert ranks */
    ROW_RECEIVED,        /* M: one row per received copy, or E C */
    ROW_COMPUTED,        /* M etp: what a rank's experts multiply */
    ROW_ROUTED,          /* rows that return to a rank's tokens, where a stack asks for them */
    ROW_KINDS
};

/* Columns of a tensor. */
enum col {
    COL_ONE,
    COL_HIDDEN,
    COL_Q_RANK,
    COL_KV_LATENT, /* kv rank and rotary part */
    COL_KV_RANK,
    COL_Q,
    COL_K,
    COL_V,
    COL_QKV,    /* q, k and v together */
    COL_KV,     /* k and v */
    COL_KV_UP,  /* MLA: heads x (nope + v) */
    COL_UP_OUT, /* what the projections to heads write: QKV, or for MLA q and k_nope with v */
    COL_CONTEXT,
    COL_HEADS,
    COL_SCORES, /* heads x S: one row of the square of scores */
    COL_DENSE,
    COL_DENSE_IN, /* gate and up together */
    COL_INTER,
    COL_INTER_IN,
    COL_SHARED_INTER,
    COL_SHARED_IN,
    COL_EXPERTS,
    COL_ROW_MAP, /* 2 E + 1 */
    COL_TOP_K,
    COL_VOCAB, /* padded, a tp rank's part */
    COL_KINDS
};

/* What must hold for a row of a table to apply (all of its bits). */
enum {
    FACT_MLA = 1 << 0,
    FACT_GQA = 1 << 1,
    FACT_Q_LOW_RANK = 1 << 2,
    FACT_FLASH = 1 << 3,
    FACT_UNFUSED = 1 << 4,
    FACT_SHARED = 1 << 5,
    FACT_EP = 1 << 6,       /* ep > 1: rows travel */
    FACT_ETP = 1 << 7,      /* etp > 1: rows are gathered over it */
    FACT_SORTED = 1 << 8,   /* e > 1: rows are sorted by expert after they arrive */
    FACT_UNSORTED = 1 << 9, /* e = 1 */
    FACT_ALLTOALL = 1 << 10,
    FACT_ALLGATHER = 1 << 11,
    FACT_FLEX = 1 << 12, /* DeepEP and its kin: one row per received token */
    FACT_Q_FULL_RANK = 1 << 13,
    FACT_QK_NORM = 1 << 14, /* norms between the projection and rope: GQA only */
    FACT_GATHER = 1 << 15,  /* sp over tp > 1 */
    FACT_PER_OP = 1 << 16,  /* TRAIN_OPS is on */
    FACT_EAGER = 1 << 17,
    FACT_COMPILED = 1 << 18,
    FACT_CP = 1 << 19,    /* cp > 1: keys and values go around a ring */
    FACT_RECIPE = 1 << 20 /* products run by a low precision recipe */
};

enum { IN_DENSE = 1, IN_MOE = 2, IN_BOTH = 3 };

struct dims {
    const struct plan *plan;
    struct sizes *z;
    struct letters letters;
    unsigned facts; /* FACT_MLA, ... that hold for this plan */
    /* routed rows are those of balanced dispatch until a stack says how it sizes them */
    struct size rows[ROW_KINDS], width[COL_KINDS];
};

/* Fills all but the facts of an exchange (FACT_ALLTOALL, ...). */
void dims_fill(struct dims *dims, const struct plan *plan, struct sizes *sizes);

#endif
