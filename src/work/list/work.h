/* The work list: the ops that one rank does in one step, and the buffers they touch.
 *
 * sim prices it, exec performs it. It holds one layer of each segment with a repeat count,
 * never L copies. Peak = persistent + saved x repeat x in-flight + one layer's transient. */
#ifndef MOEPLAN_WORK_LIST_WORK_H
#define MOEPLAN_WORK_LIST_WORK_H

#include "base/err.h"
#include "plan/layers.h"
#include "work/list/args.h"
#include "work/list/module.h"
#include "work/list/operand.h"
#include "work/list/size.h"

enum { WORK_DIMS = 6, WORK_NONE = 0xffff };

/* The order in which a step comes to allocate its buffers. */
enum work_order {
    ORDER_STATE,
    ORDER_LASTING, /* what else lives through the step */
    ORDER_SAVED,
    ORDER_TRANSIENT,
    WORK_ORDERS
};

/* name in JSON and text; the order of the bars */
#define CATEGORY_LIST(X)                                                                       \
    X(WEIGHTS, "weights")                                                                      \
    X(GRADIENTS, "gradients")                                                                  \
    X(MASTER, "master")                                                                        \
    X(OPTIMIZER, "optimizer")                                                                  \
    X(KV_CACHE, "kv_cache")                                                                    \
    X(CHECKPOINT, "checkpoint")                                                                \
    X(ACTIVATION, "activation")                                                                \
    X(ATTENTION, "attention")                                                                  \
    X(DISPATCH, "dispatch")                                                                    \
    X(EXPERT, "expert")                                                                        \
    X(MASK, "mask")                                                                            \
    X(METADATA, "metadata")                                                                    \
    X(LOGITS, "logits")                                                                        \
    X(WORKSPACE, "workspace")                                                                  \
    X(COMMUNICATION, "communication")                                                          \
    X(RUNTIME, "runtime")

enum category {
#define CATEGORY_ENUM(name, text) CATEGORY_##name,
    CATEGORY_LIST(CATEGORY_ENUM)
#undef CATEGORY_ENUM
        CATEGORY_COUNT
};

const char *category_name(enum category category);

/* SEGMENT_DENSE and SEGMENT_MOE are layers with full attention and a dense feed-forward
 * network, or experts; plan/layers.h has the other kinds. */
enum segment {
    SEGMENT_STEP,  /* what lives once per step: state, optimizer, runtime */
    SEGMENT_EMBED, /* embedding */
#define SEGMENT_ENUM(name, mixer, ffn, text, word) SEGMENT_##name,
    LAYER_KIND_LIST(SEGMENT_ENUM)
#undef SEGMENT_ENUM
        SEGMENT_HEAD, /* final norm, logits, loss */
    SEGMENT_COUNT
};

const char *segment_name(enum segment segment);

/* The segment of a kind of layer, and back; is_layer: it has a kind at all. */
enum segment segment_of_kind(enum layer_kind kind);
enum layer_kind segment_kind(enum segment segment);
bool segment_is_layer(enum segment segment);
bool segment_has_experts(enum segment segment);

enum sizing_rule {
    RULE_FIXED,   /* the plan decides */
    RULE_ROUTING, /* routing decides: expected, p99 and worst differ */
    RULE_WORST,   /* reserved for the worst case whatever routing does */
    RULE_FACTOR   /* reserved by a factor on balanced rows, whatever routing does */
};

enum life {
    LIFE_PERSISTENT, /* the whole step */
    LIFE_SAVED,      /* from the layer's forward to its backward: x repeat x in-flight */
    LIFE_TRANSIENT   /* from op first to op last of its segment */
};

/* A buffer is one allocation of one layer of its segment (or of the step). */
struct buffer {
    const char *name;
    enum category category;
    enum segment segment;
    enum dtype dtype;
    unsigned n_dims;
    struct size dims[WORK_DIMS];
    struct size bytes; /* one copy */
    struct size count; /* copies alive for the same reason; {const 1} mostly */
    struct size all;   /* bytes x count; set by work_index */
    enum sizing_rule rule;
    enum life life;
    /* ticks, both included, between which the layer at hand holds a transient, and its own copy
     * of a saved buffer (last WORK_NONE: to the end) */
    uint16_t first, last;
    /* saved in all layers but every n-th, which runs forward again (a transient beside it holds
     * that layer's copy); 0: in all */
    uint16_t drop_every;
    bool some;          /* saved in some layers: segment_use.kept */
    uint16_t away;      /* layers whose copies wait in host memory; of a copy that comes back,
                           those that it comes back for (0: all) */
    uint32_t schedules; /* bit s: exists in schedule s */
    bool state;         /* parameters and optimizer: reported as state, the rest as temp */
    bool trained; /* lists of a step: an adapter, which has a gradient where all is frozen */
    uint16_t of;  /* and a copy in 16 bits of a quantised matrix: its number + 1; 0: none */
    bool pinned;  /* saved because the user named it: no schedule can drop it */
    bool outside; /* not from the framework's allocator: communication libraries */
    bool leaves;  /* what persists of the step: not on the device at ticks first to last */
    uint64_t addressable_bytes; /* most that the library's index reaches; 0: no such limit */
    const char *source;         /* where its presence is documented, or NULL */
};

/* What an op is; kernels, costs and backward rules are tables by kind. */
#define OP_LIST(X)                                                                             \
    X(ROUTER, "router")                                                                        \
    X(SORT, "sort")                                                                            \
    X(PERMUTE, "permute")                                                                      \
    X(PACK, "pack")                                                                            \
    X(EXCHANGE, "exchange")                                                                    \
    X(GATHER, "gather")                                                                        \
    X(GROUPED_GEMM, "grouped_gemm")                                                            \
    X(BATCHED_GEMM, "batched_gemm")                                                            \
    X(BLOCKED_GEMM, "blocked_gemm")                                                            \
    X(GEMM, "gemm")                                                                            \
    X(ACTIVATION, "activation")                                                                \
    X(ATTENTION, "attention")                                                                  \
    X(NORM, "norm")                                                                            \
    X(COMBINE, "combine")                                                                      \
    X(REDUCE, "reduce")                                                                        \
    X(MASK, "mask")                                                                            \
    X(EMBED, "embed")                                                                          \
    X(LOSS, "loss")                                                                            \
    X(UPDATE, "update")                                                                        \
    X(CACHE, "cache")                                                                          \
    X(COLLECTIVE, "collective")                                                                \
    X(COPY, "copy")                                                                            \
    X(SYNC, "sync")

enum op_kind {
#define OP_ENUM(name, text) OP_##name,
    OP_LIST(OP_ENUM)
#undef OP_ENUM
        OP_KIND_COUNT
};

const char *op_kind_name(enum op_kind kind);

enum phase { PHASE_FORWARD, PHASE_RECOMPUTE, PHASE_BACKWARD, PHASE_UPDATE };

const char *phase_name(enum phase phase);

/* Ranks that an op exchanges data with. */
#define GROUP_LIST(X)                                                                          \
    X(NONE, "none")                                                                            \
    X(TP, "tp")                                                                                \
    X(CP, "cp")                                                                                \
    X(EP, "ep")                                                                                \
    X(ETP, "etp")                                                                              \
    X(DP, "dp")   /* all that hold the same dense parameters: dp x cp */                       \
    X(EDP, "edp") /* all that hold the same experts */                                         \
    X(PP, "pp")                                                                                \
    X(REPLICAS, "replicas") /* of attention, whose tokens experts take together */             \
    X(DCP, "dcp")           /* those of tp that share out the tokens of a cache */             \
    X(HEADS, "heads")       /* those of tp that split the heads of attention */                \
    X(PROMPT, "prompt")     /* those that share out a step's tokens in attention */            \
    /* with parallel.dp_shard: those that share a copy of either out, and those that hold the  \
       same shard of it */                                                                     \
    X(DP_SHARD, "dp_shard")                                                                    \
    X(EDP_SHARD, "edp_shard")                                                                  \
    X(DP_REPLICA, "dp_replica")                                                                \
    X(EDP_REPLICA, "edp_replica")                                                              \
    /* with parallel.hpz_shard: those that share a second copy of either */                    \
    X(DP_SECOND, "dp_second")                                                                  \
    X(EDP_SECOND, "edp_second")

enum process_group {
#define GROUP_ENUM(name, text) GROUP_##name,
    GROUP_LIST(GROUP_ENUM)
#undef GROUP_ENUM
        GROUP_COUNT
};

const char *process_group_name(enum process_group group);
/* Whether its ranks hold the same parameters, or share them out. */
bool process_group_is_data(enum process_group group);

/* How an engine's kernels do an op of its list, beside a kernel of its own for it; bits. */
enum op_done {
    DONE_NOWHERE = 1, /* not at all: the list has it, the engine has not */
    DONE_ALONG = 2,   /* by the kernel of the op beside it: bytes, but no start */
    DONE_BESIDE = 4,  /* on a stream beside the layer's, in graphs of few tokens: no start */
    DONE_REDUCED = 8, /* by the all-reduce before it, of few tokens: no start */
    DONE_CALLED = 16, /* by a kernel that a call of another op launches from C++ */
    DONE_EVERYWHERE =
        64 /* by every rank for the tokens of all that share them out in the list */
};

/* Counts are per rank, for one layer of the segment and one micro-step. */
struct op {
    const char *name;
    enum op_kind kind;
    enum segment segment;
    enum phase phase;
    enum module module;
    enum process_group group;
    struct size layers; /* of the segment that run it, per micro-step; phase update: per step */
    struct size rows;   /* it works on, where its operands reserve more */
    struct size flop;   /* executed */
    struct size bytes_read, bytes_written;
    struct size bytes_sent, bytes_received; /* over links; zero for local ops */
    struct size host_syncs;
    struct size groups, m, n, k; /* GEMM shape: groups x [m, k] x [k, n] */
    /* of host lists: first_operand .. + n_operands - 1 of work->operands; see operand.h */
    uint32_t first_operand;
    uint16_t n_operands;
    uint16_t kernel;  /* host lists: how it is performed (enum kernel of kernel.h) */
    union args args;  /* of that kernel */
    bool wide;        /* a product that no low precision recipe runs */
    bool ahead;       /* an iteration ahead of its loop; exchanges: beside others */
    uint8_t done;     /* bits of enum op_done; 0: by a kernel of its own */
    uint8_t launches; /* kernels that its Python launches for it (train_kernels); 0: one */
    uint16_t loop;    /* adjacent ops of one loop run in turn `trips` times; 0: not in a loop */
    uint16_t trips_from; /* buffer that holds the trips at run time, WORK_NONE: the plan does */
    struct size trips;
};

/* A point of a layer's run, or of the step's, from which or up to which buffers are held: the
 * time axis of memory. What a stack's software holds does not follow from data alone, so its
 * tables speak of ticks; each hangs on an op of the list. */
struct tick {
    const char *name;
    enum op_kind kind;
    enum segment segment;
    enum phase phase;
    struct size host_syncs; /* waits of the host for the device */
};

/* What waits in host memory, of one rank. */
struct host_buffer {
    const char *name;
    struct size bytes;
    const char *source;
};

struct segment_use {
    struct size repeat;                 /* layers of this kind on the heaviest stage */
    struct size in_flight;              /* micro-batches saved at once, in thousandths */
    struct size kept, kept_in_flight;   /* of those with a part of their own (struct stage) */
    struct size plain, plain_in_flight; /* of those that no recipe applies to */
    struct size back;    /* layers that run backward: repeat, unless some are frozen */
    struct size trained; /* layers whose weights have gradients: back, unless backward goes
                          * through frozen ones (plan_first_back) */
};

/* A tick of one layer of a segment, under one schedule, at which the peak may be. */
struct work_moment {
    enum segment segment;
    uint16_t schedule, tick;
    size_t begin, end; /* of its living transients in work->members */
};

/* A receive buffer of given size (moe.buffer a factor): the most that a rank can take of one
 * layer. What the stack does with more is its on_overflow. */
struct work_room {
    bool set;
    bool padded;        /* rows count after alignment per expert */
    struct size rows;   /* one per token and local expert */
    struct size tokens; /* one per token: where the exchange has a buffer of its own, else 0 */
};

struct work {
    struct sizes sizes;
    struct buffer *buffers;
    size_t n_buffers, buffer_capacity;
    size_t n_held; /* the first of them are what the stack holds; the others are operands of ops
                      that its holds stand for (or that it fuses away), with no memory of their
                      own in the fold */
    struct tick *ticks;
    size_t n_ticks, tick_capacity;
    struct op *ops;
    size_t n_ops, op_capacity;
    struct operand *operands; /* of all ops */
    size_t n_operands, operand_capacity;
    struct host_buffer *host;
    size_t n_host, host_capacity;
    /* buffer numbers by allocation order, then segment: work_index */
    uint16_t *placed;
    size_t n_placed, placed_end[WORK_ORDERS][SEGMENT_COUNT];
    struct work_moment *moments;
    size_t n_moments, moment_capacity;
    uint16_t *members;
    size_t n_members, member_capacity;
    struct segment_use use[SEGMENT_COUNT];
    struct work_room room;
    /* some buffer is pinned; has a limit of addressing; leaves the device for a while */
    bool pinned, addressable, leaves;
    bool apart;           /* every layer is routed for itself: what layers save goes by the mean
                             over them (the HELD slots) */
    bool alternating;     /* dense and MoE layers take turns, instead of dense layers first */
    unsigned n_schedules; /* at least 1 */
    const char *schedule_name[4]; /* "relaxed", "after rematerialisation" */
    struct {
        bool known;
        struct size dense, experts;
    } adapters; /* parameters of a stage's, once they were asked for */
    struct arena *arena;
};

/* An empty list with all segments used once, ready for a builder. */
void work_init(struct work *work, struct arena *arena);

/* Prepares a list for sim/memory/memory (work/pass/index.c); to be called when it is complete
 * and before its sizes are evaluated (work_build does). */
void work_index(struct work *work);

enum work_order work_order(const struct buffer *buffer);

/* Builds the list of a plan's step; the plan obeys all rules. STATUS_INPUT when the stack
 * refuses the plan (its reason in err). Memory from the arena. */
enum status work_build(const struct plan *plan, struct arena *arena, struct work *work,
                       struct err *err);

/* Adds the ops of the plan's step to a list that work_build made, and their operands: the same
 * for every stack but for what its policy recomputes, offloads, gathers and waits for. */
enum status work_ops(const struct plan *plan, struct work *work, struct err *err);

/* Gives ops that say no bytes, mostly moves of index tables, those of their operands. */
void work_fill_bytes(struct work *work);

/* Bytes of one copy by its dims and dtype. */
struct size buffer_shape_bytes(struct sizes *sizes, const struct buffer *buffer);

/* Adding to a list; the returned numbers name the buffer, tick or op. `bytes` of a buffer is
 * set from its dims and dtype unless given. */
uint16_t work_buffer(struct work *work, struct buffer buffer);
void work_host(struct work *work, const char *name, struct size bytes, const char *source);
uint16_t work_tick(struct work *work, struct tick tick);
uint16_t work_op(struct work *work, struct op op);

#endif
