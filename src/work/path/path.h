/* Paths: the ways to execute an MoE layer. Each is a row of plan/paths.h and one file here,
 * <word>.c, that describes it: the ops it performs, what a stack holds while they run, and the
 * facts that predictions, checks and stacks ask. Nobody asks which path it is. */
#ifndef MOEPLAN_WORK_PATH_PATH_H
#define MOEPLAN_WORK_PATH_PATH_H

#include "base/err.h"
#include "work/rows/align.h"

struct layer;     /* work/layer/layer.h */
struct refusal;   /* as well */
struct hold_path; /* work/dispatch/dispatch_parts.h */

/* What crosses between ranks. */
enum path_exchange {
    EXCHANGE_ROWS,     /* a row for every choice of a token */
    EXCHANGE_TOKENS,   /* a token once for each rank that has one of its experts */
    EXCHANGE_MESSAGES, /* low latency: rows straight into slots of their expert */
    EXCHANGE_CAPACITY, /* C slots of every expert, empty or not; rows beyond them are dropped */
    EXCHANGE_CHUNKS,   /* slots of every expert, again and again until all rows went */
    EXCHANGE_GATHER,   /* a dispatcher's all-gather of tokens, and its reduce-scatter */
    EXCHANGE_EVERYONE  /* every token is where its experts are before the layer begins, and
                        * partial sums are reduced after it */
};

/* Rows that a rank's experts multiply. */
enum path_computes {
    COMPUTES_ROUTED,   /* what routing gives, padded by expert where `align` says so */
    COMPUTES_RESERVED, /* what is reserved, filled or not */
    COMPUTES_ALL       /* every token of the group by every local expert */
};

/* How often a rank's experts are read; with COMPUTES_ALL each once. */
enum path_loads {
    LOADS_HIT,     /* those that some token chose, once */
    LOADS_CHOICES, /* once for every choice, unless moe.dedup */
    LOADS_ROUNDS   /* all of them in every round */
};

struct path_system {
    bool backward; /* the host has one */

    /* Adds the ops between the router (l->x, l->phys, l->gates) and the layer's routed output;
     * returns that buffer, [T, H] of the activations' dtype. */
    uint16_t (*build)(struct layer *l);
    /* Adds what eager training and serving hold (work/dispatch/dispatch_parts.h); *output is
     * the [T, H] result. STATUS_INPUT where the path cannot run the plan. */
    enum status (*hold)(struct hold_path *p, uint16_t *output, struct err *err);

    uint64_t alignment; /* rows of an expert when moe.alignment is 0; 0: no padding */
    /* The rule by which a system rounds rows up; NULL: by none. */
    enum align_kind (*align)(const struct plan *plan);

    enum path_exchange exchange;
    enum path_computes computes;
    enum path_loads loads;
    bool expands;       /* products are masked copies, one per local expert */
    bool turns;         /* one expert after the other, launched by itself */
    bool blocks;        /* a fused loop over blocks of moe.block_size rows of one expert */
    bool pools;         /* rows are pooled at their owners, inside one scale-up domain */
    bool returns_gates; /* gates travel with their rows, and back */

    /* What its trainer keeps to run dispatch and experts again; NULL: autograd as usual. */
    const char *const *keeps;

    const struct refusal *refusals; /* of the host; NULL: none */
    size_t n_refusals;
};

#define PATH_SYSTEM(constant, word, reads, title) extern const struct path_system path_##word;
MOE_PATHS(PATH_SYSTEM)
#undef PATH_SYSTEM

/* The description of a path; of `auto`, one that says nothing. */
const struct path_system *path_system_of(enum moe_path path);

/* Rows an expert's part is padded to when moe.alignment is 0; 1: not padded. */
uint64_t path_alignment(enum moe_path path);

/* The rule by which a plan's rows on this path are rounded up. */
enum align_kind path_align(const struct plan *plan, enum moe_path path);

#endif
