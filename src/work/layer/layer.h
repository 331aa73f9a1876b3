/* The MoE layer of a plan as a work list that the host performs: router, path, shared experts,
 * and their backward. One rank's list; ranks differ in the routing slots only.
 *
 * Under stack `host` nothing is reserved for other libraries: every buffer here is allocated,
 * every op performed. A path (path.h) puts its ops between the router and the layer's output
 * with the pieces below. Sizes are per rank. */
#ifndef MOEPLAN_WORK_LAYER_LAYER_H
#define MOEPLAN_WORK_LAYER_LAYER_H

#include <stdbool.h>

#include "work/list/kernel.h"
#include "work/list/work.h"

/* The layer's list, forward and, if asked for, backward; the plan obeys all rules. STATUS_INPUT
 * when the path cannot do what is asked (its reason in err). Memory from the arena. */
enum status layer_build(const struct plan *plan, bool backward, struct arena *arena,
                        struct work *work, struct err *err);

/* The parts of layer_build for a list that holds more than the layer: a frame on a list, ready
 * for pieces; the routed layer and what stands beside it from its input l->x on (made up when
 * WORK_NONE); its backward, from the gradient of `out` on, of the ops from `first` (to `end`):
 * returns the gradient of `in`. */
struct layer;
void layer_begin(struct layer *l, const struct plan *plan, struct work *work, struct err *err);
uint16_t layer_forward(struct layer *l);
uint16_t layer_undo(struct layer *l, size_t first, uint16_t out, uint16_t gradient,
                    uint16_t in);
uint16_t layer_undo_range(struct layer *l, size_t first, size_t end, uint16_t out,
                          uint16_t gradient, uint16_t in);

/* STATUS_INPUT with the reason when the host cannot perform the plan's layer as it is. */
enum status layer_check(const struct plan *plan, struct err *err);

/* Whether the ranks that share an expert's width have different tokens. */
bool layer_gathers_over_etp(const struct plan *plan);

/* What the host cannot perform: the first that is broken is the error. */
struct refusal {
    bool (*broken)(const struct plan *plan);
    const char *text, *hint;
};
enum status layer_refuse(const struct plan *plan, const struct refusal *list, size_t n,
                         struct err *err);

/* Rows of a buffer: what is reserved, by which rule, and how many of them are used. */
struct extent {
    struct size rows, used;
    enum sizing_rule rule;
};

struct path_system; /* work/path/path.h */

/* How rows are grouped by expert; absent operands are WORK_NONE. */
struct groups {
    uint16_t offsets; /* [e+1] starts */
    uint16_t rows;    /* [e] rows of a group when it does not fill up to the next start */
    uint16_t map;     /* weight of a group when it is not its number */
    bool turn, parts, shared; /* as in struct rows_args */
    bool split;               /* groups are parts of the same rows */
};
/* All of a buffer's rows, in even groups. */
struct groups layer_no_groups(void);

/* What a loop does in plainer ops, and the one before it: every kind of layers has its own. */
struct loop_twin {
    const struct op *ops;
    size_t n;
    const struct loop_twin *before;
};

struct layer {
    const struct plan *plan;
    const struct path_system *path;
    struct work *work;
    struct sizes *z;
    struct arena *arena;
    bool listed;  /* part of a whole step's list: priced, its inputs are not made up here */
    bool trains;  /* a backward follows */
    bool frozen;  /* whose gradients are those of rows alone: no weight but adapters has one */
    bool freezes; /* some parts have none (piece/frozen.h) */
    bool quantised; /* whose matrices are in few bits and multiply in the activations' format */
    bool backward;  /* ops being added are the backward's */
    struct err *err;
    enum status status; /* the first refusal */

    /* sizes: one, tokens, experts per token, ranks, experts in all and on this rank, widths:
       of a token, of the rows that experts work on (the same, or model.moe.latent_size), of an
       expert */
    struct size one, T, K, R, E, e, hidden, H, I, GI, TK;
    struct extent tokens;   /* T */
    struct extent slots;    /* T K: the rows a rank sends */
    struct extent received; /* rows of local experts, from every rank, by moe.buffer */

    /* dtypes */
    enum dtype weight, activation, gradient, wire, combined;

    /* buffers of the router and the weights */
    uint16_t x; /* the layer's input; while its path is built, what is routed: [T, H] */
    uint16_t logits, ids, phys, gates, bias, router, w13, w2, b13, b2, shared13, shared2;
    uint16_t residual13, residual2, shared_gate, linear_bias;
    uint16_t latent_down, latent_up;
    uint16_t latent_norm, router_norm, gate_scale; /* learned factors */
    uint16_t gates_returned; /* rdep: gates that came back with their rows */

    /* of the ops being added */
    enum segment segment;
    enum module module;
    enum process_group group;
    bool wide;
    struct size layers;
    uint16_t loop, trips_from; /* 0: none */
    struct size trips;

    const struct loop_twin *twins; /* plainer selves of loops: layer_twin_begin */
    size_t twin_first;
};

/* ---- buffers ---- */

uint16_t layer_buffer(struct layer *l, const char *name, enum category category,
                      enum dtype dtype, enum sizing_rule rule, unsigned n_dims,
                      const struct size *dims);
/* [extent, width] */
uint16_t layer_rows(struct layer *l, const char *name, enum category category, enum dtype dtype,
                    struct extent extent, struct size width);
/* index map, i32 [extent] */
uint16_t layer_map(struct layer *l, const char *name, struct extent extent);
/* counts or offsets, i64 [n] */
uint16_t layer_counts(struct layer *l, const char *name, struct size n);
/* [groups, rows, columns] matrices of the weights' dtype, persistent state */
uint16_t layer_weights(struct layer *l, const char *name, struct size groups, struct size rows,
                       struct size columns);
/* The same in another format: that of a part, or what engines leave in 16 bits. */
uint16_t layer_weights_as(struct layer *l, const char *name, enum dtype dtype,
                          struct size groups, struct size rows, struct size columns);
enum dtype layer_wide_format(const struct layer *l);

struct size layer_width(const struct layer *l, uint16_t buffer); /* elements of a row */
/* Bytes of rows of a width and dtype, scales included; of rows of a buffer. */
struct size layer_bytes(const struct layer *l, struct size rows, struct size width,
                        enum dtype dtype);
struct size layer_traffic(const struct layer *l, struct size rows, uint16_t buffer);
struct extent layer_fixed(struct size rows);

/* ---- ops ---- */

/* What a product reads of a matrix: itself, or a copy in the activations' format that a pass
 * before it makes (bitsandbytes dequantises before every product, forward and backward). */
uint16_t layer_wide(struct layer *l, uint16_t w, struct groups groups);

/* Adds an op with these operands (OPERANDS(...), absent ones left out); its kind
 * follows from op.kernel. */
uint16_t layer_op(struct layer *l, struct op op, const struct operand *operands);

/* The op added last, to say more of it. */
struct op *layer_last(const struct layer *l);

/* Ops between begin and end are run in turn `trips` times. */
void layer_loop_begin(struct layer *l, struct size trips, uint16_t trips_from);
void layer_loop_end(struct layer *l);

/* Between begin and end a loop is written down but not added to the list: it does what the next
 * loop will do, in plainer ops, and the backward is made of it (two cores' shares of a block
 * have no gradient of their own). Does nothing in a forward alone. */
bool layer_twin_begin(struct layer *l);
void layer_twin_end(struct layer *l);

void layer_fill(struct layer *l, uint16_t buffer, enum fill fill);

/* dst[i] = src[index[i] / divide]; `slots` rows of dst per row of src, found by `inverse`. */
struct gather {
    uint16_t src, index, inverse, keys, dst;
    struct size divide, slots, used;
};
void layer_gather(struct layer *l, const char *name, struct gather gather);
/* Rows of tokens to rows of their slots, on their way to the experts; `index` holds slots, and
 * `gates` [n, K] those of src's tokens. Each row is multiplied by its gate where the plan says
 * that gates scale the input. */
void layer_fan_out(struct layer *l, const char *name, struct gather gather, uint16_t gates);

/* Gates as an operand of what feeds the experts, and of what adds up their rows: one of the two
 * is WORK_NONE, by model.moe.scale. */
uint16_t layer_gates_in(const struct layer *l, uint16_t gates);
uint16_t layer_gates_out(const struct layer *l, uint16_t gates);

/* Rows to and from every rank; `sent` and `from` cross a link. */
struct exchange {
    uint16_t src, sends, receives, dst, handle;
    struct size sent, from;
};
void layer_exchange(struct layer *l, const char *name, struct exchange exchange);
/* The same, of rows on their way back to the rank whose tokens they are of. */
void layer_return(struct layer *l, const char *name, struct exchange exchange);
/* The same for activations, op "dispatch": quantised on the way when precision.dispatch says
 * so.
 */
void layer_dispatch(struct layer *l, struct exchange exchange);
/* src[R n] -> dst[R n], n = rows / R each way; what src holds beyond that stays. */
void layer_exchange_fixed(struct layer *l, const char *name, uint16_t src, uint16_t dst);
void layer_return_fixed(struct layer *l, const char *name, uint16_t src, uint16_t dst);
void layer_allgather(struct layer *l, const char *name, uint16_t src, uint16_t dst);

struct gemm_shape {
    struct size rows, k, n, groups; /* rows in all groups together */
    bool transposed;                /* by the weight's transpose */
};
void layer_gemm(struct layer *l, const char *name, uint16_t a, uint16_t w, uint16_t bias,
                uint16_t c, struct groups groups, struct gemm_shape shape);
void layer_activation(struct layer *l, const char *name, uint16_t h, uint16_t a,
                      struct groups groups, struct size used);
/* Rows behind the last group zeroed. */
void layer_mask(struct layer *l, const char *name, uint16_t y, uint16_t offsets);

struct combine {
    uint16_t y, position, gates, keys, inverse, handle, out;
    struct size slots; /* S */
    struct size used;  /* rows of y */
};
void layer_combine(struct layer *l, const char *name, struct combine combine);
/* out[n, ...]: the sum of `slots` arrays of its rows, y[slots n, ...]. */
void layer_sum(struct layer *l, const char *name, uint16_t y, uint16_t out, struct size slots);

/* Learned factors [1, width] of a layer that is performed, whose counts a step's list has
 * among its norms and biases (plan/params.h): WORK_NONE there. */
uint16_t layer_factors(struct layer *l, const char *name, struct size width, enum fill fill);
/* Rows of tokens over the root of their mean square, times the weight's factors: a buffer of
 * their shape. */
struct norm {
    const char *name, *result;
    uint16_t weight;
    bool root; /* over the root of their width, too */
};
uint16_t layer_norm(struct layer *l, struct norm norm, uint16_t x);

/* How ranks of a group exchange data. */
enum collective_kind {
    ALL_REDUCE = 1,
    ALL_GATHER,
    REDUCE_SCATTER,
    RING, /* keys and values once around the group */
    SEND  /* to the next pipeline stage, and from the one before */
};

/* Over a group of n ranks; `full`: bytes of the whole array. No host performs it: it is part of
 * a step's list, not of the layer that run measures. */
void layer_collective(struct layer *l, const char *name, enum process_group group,
                      enum collective_kind how, uint16_t src, uint16_t dst, struct size full);
/* An all-gather over tp of which the weight gradient's operand is gathered again. */
void layer_gather_again(struct layer *l, const char *name, uint16_t src, uint16_t dst);
struct size layer_group_ranks(struct layer *l, enum process_group group);
/* x added up over the ranks of a group, [rows, width] like x. */
uint16_t layer_all_reduced(struct layer *l, const char *name, enum process_group group,
                           uint16_t x);

/* Operands on their way into a product: once per process, not per rank. */
void layer_scratch(struct layer *l);

/* ---- larger pieces ---- */

/* Gate-up, activation, down over grouped rows: returns y, of dtype `combined`. moe.matmul
 * decides what multiplies. In a loop extent.used is the sum over its trips. */
uint16_t layer_expert(struct layer *l, uint16_t x, struct extent extent, struct groups groups);
/* By this rank's part of every expert's width alone: of rows that its etp ranks share. */
uint16_t layer_expert_part(struct layer *l, uint16_t x, struct extent extent,
                           struct groups groups);
/* Rows of all etp ranks, each of which has a part of every expert's width, or their sums back,
 * each rank's rows to it, as `name` (a step's list only: the host refuses). `used`: rows of all
 * of them. */
uint16_t layer_over_etp(struct layer *l, const char *name, enum collective_kind how,
                        uint16_t from, struct extent to, struct size used);

/* The same bytes as [n, m, k, ...] instead of [m, n, k, ...], in a new buffer. */
uint16_t layer_swap(struct layer *l, const char *name, uint16_t src, struct size m,
                    struct size n, struct size k);

/* Slots of local experts among tokens [n, K], sorted by expert and aligned to `alignment`. */
struct fan {
    struct groups groups;
    uint16_t sizes; /* rows of each group, [e] */
    uint16_t index, place;
};
struct fan layer_fan(struct layer *l, uint16_t phys, uint16_t receives, struct extent rows);

/* Rows of fanned-out tokens through their experts and folded back: one row per token of `like`
 * [n, H], gates applied, absent experts left out. */
uint16_t layer_fan_compute(struct layer *l, uint16_t x, uint16_t gates, uint16_t phys,
                           const struct fan *fan, struct extent tokens);

/* Slots sorted by owner, and inside it by expert when asked. */
struct sorted {
    uint16_t order, position, counts, sends;
};
struct sorted layer_sort(struct layer *l, bool by_expert);

/* Rows in another order, one to one: dst[i] = src[index[i]], src[j] = dst[inverse[j]]. */
struct reorder {
    uint16_t src, index, inverse, dst;
    struct size used; /* rows of src */
};
void layer_reorder(struct layer *l, const char *name, struct reorder reorder);

/* This rank's tokens as rows of their slots: row i is slot index[i], position [T K] the other
 * way; `used` rows of dst. */
void layer_pack_slots(struct layer *l, const char *name, uint16_t index, uint16_t position,
                      uint16_t dst, struct size used);
/* The way back, op "combine": rows y of the slots added up with their gates, [T, H]. */
uint16_t layer_unpack_slots(struct layer *l, uint16_t y, uint16_t index, uint16_t position,
                            struct size used);

/* Rows a rank may receive, rounded up per expert to multiples of `alignment`. */
struct extent layer_padded(struct layer *l, uint64_t alignment);
uint64_t layer_alignment(const struct plan *plan); /* moe.alignment, or the path's own */

/* Whether products run over all rows that are allocated, not over whole tiles of those that
 * came: RDEP stretches its last expert's segment to them, and need not ask the device how many
 * there are (seed-systems.md A4); host asks. */
bool layer_computes_allocated(enum moe_path path, const struct plan *plan);

/* Rows that a rank's products run over, by its slots of rows, experts, alignment and whole
 * tiles. */
uint64_t layer_computed_rows(enum moe_path path, const struct plan *plan, const uint64_t *v);

/* Counts [n] to every rank and back: counts of what this rank receives, [n] as well. */
uint16_t layer_exchange_counts(struct layer *l, const char *name, uint16_t counts);

/* All tokens of the group on every rank, with their experts and gates: rows rank by rank. */
struct everyone {
    uint16_t x, phys, gates;
    struct extent tokens; /* R T */
};
struct everyone layer_gather_everyone(struct layer *l);
/* And of the group's etp ranks, where those have others: every number of rows and blocks that
 * is this rank's grows by layer_etp_tokens (as if theirs were routed alike). */
struct everyone layer_gather_etp(struct layer *l, const struct everyone *all);
struct size layer_etp_tokens(struct layer *l);
/* Sums [rows, width] of all these tokens: those of this rank's own group. */
uint16_t layer_scatter_etp(struct layer *l, uint16_t sum);

/* A loop over the local experts, each of which computes its tokens and adds them to sum [R T,
 * H] (path/expert_loop.c). */
void layer_turns(struct layer *l, const struct everyone *all, const struct fan *fan,
                 uint16_t sum);

/* Partial sums [R T, width] of every rank, exchanged in dtype `wire` and added up in the order
 * of ranks: this rank's tokens, [T, width] of `dtype`. */
uint16_t layer_reduce_everyone(struct layer *l, const char *name, uint16_t partial,
                               enum dtype wire, enum dtype dtype);

/* The routed part where every rank sees every token: its experts' rows, and the reduced sum. */
uint16_t layer_routed_everywhere(struct layer *l);

/* ---- replicas of attention that join their tokens before a network: layer_replicas.c ---- */

/* The rows of every replica, [n rows, ...]; and of partial sums [n rows, ...] over all their
 * ranks the replica's own `rows`: summed over the replicas, and (part) over the tp ranks of
 * each, too. A step's list only. */
uint16_t layer_join(struct layer *l, const char *name, uint16_t x);
uint16_t layer_own(struct layer *l, const char *name, uint16_t sums, struct size rows);
uint16_t layer_part(struct layer *l, const char *name, uint16_t sums, struct size rows);

/* Whether the experts are split over several replicas of attention: in a step's list. */
bool layer_joins(const struct layer *l);
/* l->x of all replicas: from here on the layer's tokens are theirs. The same behind the router,
 * with what it chose; and back. */
void layer_join_input(struct layer *l);
struct own_tokens {
    uint16_t x, phys, gates;
    struct size tokens;
};
struct own_tokens layer_join_routed(struct layer *l);
struct own_tokens layer_take(struct layer *l, uint16_t x); /* the layer's tokens are these */
void layer_take_back(struct layer *l, const struct own_tokens *own);
uint16_t layer_part_routed(struct layer *l, const struct own_tokens *own, uint16_t sums);

/* Rows that a rank's experts receive of its group: what moe.buffer reserves, and what routing
 * uses. */
struct extent layer_received(struct layer *l);

/* ---- low-rank adapters (work/piece/lora.h): layer_lora.c ---- */

/* c = a w of a matrix of the table, and the low-rank product of its adapters added to it: A [k,
 * r] for every side, B [r, n] for each its own columns, one of each an expert
 * or of all of a rank. Returns the sum,
 * c itself where there are none. The products of block-sparse and shared cores have none. */
uint16_t layer_lora_beside(struct layer *l, const char *matrix, uint16_t a, uint16_t c,
                           struct groups groups, struct gemm_shape shape);

/* w of the stacked experts with its adapters' product added, which the products read in its
 * place; w itself where there are none. Whole, so its gradient is. */
uint16_t layer_lora_merged(struct layer *l, const char *matrix, uint16_t w);

/* ---- the files of the layer ---- */

void layer_router(struct layer *l);                          /* layer_router.c */
uint16_t layer_routed(struct layer *l);                      /* layer_latent.c */
uint16_t layer_shared(struct layer *l, uint16_t routed_out); /* layer_shared.c */
/* Whether shared experts take the tokens gathered for the routed ones; and add to their sums.
 */
bool layer_shares_gathered(const struct layer *l);
uint16_t layer_shared_added(struct layer *l, uint16_t out);
void layer_backward(struct layer *l, uint16_t out); /* pass/backward.c */
void layer_finish(struct layer *l);                 /* pass/finish.c */

#endif
