/* Kernels: the ways the host performs ops, each with its operands.
 *
 * An op of a host list names one. Its operands are written here by role, (read) -> (written),
 * and every list is held against it; [?] may be absent. Shapes use the letters of shape.h;
 * "slot" t*K+k is one (token, k) pair of a rank, M the capacity of a row buffer. */
#ifndef MOEPLAN_WORK_LIST_KERNEL_H
#define MOEPLAN_WORK_LIST_KERNEL_H

#include "work/list/work.h"

/* name, text, kind of op, family of its arguments (args.h), operands */
#define KERNEL_LIST(X)                                                                         \
    X(NONE, "none", SYNC, none, "an op that no host kernel performs")                          \
    X(FILL, "fill", EMBED, fill, "() -> (dst): what args say")                                 \
    X(SHARD, "shard", EMBED, shard,                                                            \
      "() -> (dst[g,m,n]): a tensor-parallel rank's part of the tokens or of a matrix")        \
    X(WAIT, "wait", SYNC, none,                                                                \
      "(result...) -> (): exchanges that run ahead with them end here")                        \
    X(RESULT, "result", LOSS, none,                                                            \
      "(result..., d_gates?, ids?) -> (): outputs are checked here")                           \
    X(TOPK, "topk", ROUTER, none,                                                              \
      "(logits[T,E], wanted[T,K], bias[E]?) -> (ids[T,K], gates[T,K])")                        \
    X(TOPK_GRAD, "topk_grad", ROUTER, none,                                                    \
      "(logits[T,E], ids[T,K], gates[T,K], d_gates[T,K], bias?) -> (dst[T,E])")                \
    X(SCALE_GATES, "scale_gates", ROUTER, none,                                                \
      "(gates[T,K], ids[T,K], weight[1,E]) -> (dst[T,K]): each by its expert's weight")        \
    X(SCALE_GATES_WGRAD, "scale_gates_wgrad", ROUTER, none,                                    \
      "(gates[T,K], ids[T,K], d_gates[T,K]) -> (d_weight[1,E])")                               \
    X(PLACE, "place", ROUTER, none,                                                            \
      "(ids[T,K], start[E_logical+1], replica[E]) -> (phys[T,K]): round robin over replicas")  \
    X(SORT, "sort", SORT, sort,                                                                \
      "(phys[T,K]) -> (order[TK], position[TK], counts[E], sends[R]): slots by owner, or by"   \
      " expert; stable")                                                                       \
    X(GROUP, "group", SORT, group,                                                             \
      "(counts[R,e]) -> (receives[R], offsets[e+1], sizes[e], index[M], place[M_in]): rows "   \
      "received in (source, expert) order to (expert, source) order")                          \
    X(FAN, "fan", SORT, none,                                                                  \
      "(phys[n,K], receives[R]?) -> (offsets[e+1], sizes[e], index[M], place[nK]): the "       \
      "slots of local experts, sorted by expert; n rows, or as many as receives sums to")      \
    X(LAYOUT, "layout", SORT, none,                                                            \
      "(phys[T,K]) -> (index[M], slot[M], position[T,R], sends[R], handle[4]): one row per "   \
      "token and owner; index: token, slot: t*R+r")                                            \
    X(SLOTS, "slots", SORT, slots,                                                             \
      "(phys[T,K]) -> (index[E*C], position[TK], dropped[1]): C slots per expert and group "   \
      "of tokens")                                                                             \
    X(MOST, "most", SORT, none, "(counts[E]) -> (dst[1]): the largest count")                  \
    X(ROUNDS, "rounds", SYNC, chunk,                                                           \
      "(counts[R]) -> (dst[1]): chunks of rows that the largest needs")                        \
    X(CHUNK, "chunk", SORT, chunk,                                                             \
      "(order[TK], counts[E]) -> (index[E*C], home[E*C]): the slots of this round, and "       \
      "their places among the sorted rows")                                                    \
    X(BLOCKS, "blocks", SORT, blocks,                                                          \
      "(phys[n,K]) -> (expert[N], index[N*B], place[nK], conditions[N], run[1], trips[1]): "   \
      "blocks of one local expert each")                                                       \
    X(DEAL, "deal", SORT, deal,                                                                \
      "(expert[N], run[1]) -> (block[c], number[c], fetch[c], sizes[c], offsets[c+1]): what"   \
      " each core does in this trip: its block (-1: none), that block's expert, whether its"   \
      " matrices must be fetched")                                                             \
    X(FETCH, "fetch", PACK, fetch,                                                             \
      "(weight[e,k,n], number[c], fetch[c]) -> (dst[c,k',n']): a core's part of an expert's"   \
      " matrix, of each of its panels of columns")                                             \
    X(LOAD_BLOCK, "load_block", GATHER, block,                                                 \
      "(src[n+1,H], index[N*B], block[c], gates[n,K]?) -> (dst[c*B,H']): a core's part of "    \
      "the tokens of its block, times their gates; padding is row n of src, or not read")      \
    X(CORE_SUM, "core_sum", REDUCE, none,                                                      \
      "(src[2*m,n]) -> (dst[2*m,n], [2*m,n/2] or [m,n]): both cores' partial sums added up "   \
      "on both cores, or on each half of the columns, apart or in place")                      \
    X(ADD_BLOCK, "add_block", COMBINE, block,                                                  \
      "(src[c*B,H'], gates[n,K]?, index[N*B], block[c], dst) -> (dst[n,H] or [c*n,H]): the "   \
      "rows of a core's block added to their tokens")                                          \
    X(TABLE, "table", SORT, none,                                                              \
      "(phys[n,K]) -> (place[nK], index[e*n]): row x*n+i for local expert x of token i")       \
    X(HITS, "hits", SORT, none,                                                                \
      "(sizes[e]) -> (hits[U], map[e]): experts with rows, and their numbers among them")      \
    X(OWN, "own", SORT, none,                                                                  \
      "(phys[n,K]) -> (slot[nK], place[nK], hits[nK], sizes[nK], offsets[K+1]): of the "       \
      "slots of local experts the slot, its k, the expert, 1 row; -1 and 0 rows for others")   \
    X(RECORD, "record", PACK, none,                                                            \
      "(phys[T,K], gates[T,K], order[TK]) -> (dst[TK,2]): row id, local expert, gate")         \
    X(POOL, "pool", SORT, group,                                                               \
      "(src[M_in,2], receives[R]) -> (offsets[e+1], sizes[e], index[M], place[M_in], "         \
      "gates[M_in]): records, stable by local expert")                                         \
    X(EXCHANGE, "exchange", EXCHANGE, exchange,                                                \
      "(src, sends[R], receives[R], handle?) -> (dst): rows to and from every rank, "          \
      "contiguous by peer")                                                                    \
    X(EXCHANGE_FIXED, "exchange_fixed", EXCHANGE, exchange,                                    \
      "(src[R*n,...]) -> (dst[R*n,...]): n rows to every rank")                                \
    X(ALLGATHER, "allgather", EXCHANGE, exchange, "(src[n,...]) -> (dst[R*n,...])")            \
    X(HOP, "hop", EXCHANGE, hop,                                                               \
      "(src, own?) -> (dst): a step of a schedule of schedule.h: chunks of src to one peer;"   \
      " dst: what arrives (reduce), src itself (gather), its next copy (pass). With own, "     \
      "iteration 0 only puts own into its place")                                              \
    X(GATHER, "gather", GATHER, gather,                                                        \
      "(src, index, inverse?, keys?, offsets?, gates?) -> (dst): dst[i] = src[index[i] / "     \
      "divide], times gates[index[i]], zero for -1; a part of index: with offsets from "       \
      "offsets[iteration] to the next")                                                        \
    X(SCATTER, "scatter", GATHER, none,                                                        \
      "(src, index, dst) -> (dst): dst[index[i]] = src[i], injective")                         \
    X(SWAP, "swap", PERMUTE, swap, "(src[m,n,k,...]) -> (dst[n,m,k,...])")                     \
    X(QUANTIZE, "quantize", PACK, none, "(src[n,H]) -> (dst[n,H] with scales)")                \
    X(DEQUANTIZE, "dequantize", PACK, none, "(src[n,H] with scales) -> (dst[n,H])")            \
    X(GEMM, "gemm", GROUPED_GEMM, gemm,                                                        \
      "(src[M,k], weight[e,k,n], offsets[e+1]?, sizes[e]?, map?, bias[e,n]?) -> (dst[M,n])")   \
    X(GATED_GEMM, "gated_gemm", GROUPED_GEMM, gemm,                                            \
      "(src[M,k], weight[e,k,G I], offsets[e+1]?, sizes[e]?, map?, bias[e,G I]?) -> "          \
      "(dst[M,I], other[M,G I]?): gemm and activation in one; other: the product's rows, "     \
      "rounded to dst's format like those that are not kept")                                  \
    X(CHUNK_GEMM, "chunk_gemm", GEMM, gemm,                                                    \
      "(src[M,k], weight[p,k,n], dst) -> (dst[M,n]): src times matrix (rank + iteration) "     \
      "mod p, added to dst but in iteration 0")                                                \
    X(WGRAD, "wgrad", GROUPED_GEMM, gemm,                                                      \
      "(src[M,k], d_dst[M,n], offsets[e+1]?, sizes[e]?, map?) -> (d_weight[e,k,n], "           \
      "d_bias[e,n]?)")                                                                         \
    X(EXPAND, "expand", MASK, none,                                                            \
      "(src[M,k], offsets[e+1]) -> (dst[e,M,k]): rows of other groups zero")                   \
    X(EXPANDED_GEMM, "expanded_gemm", BATCHED_GEMM, gemm,                                      \
      "(src[e,M,k], weight[e,k,n], offsets[e+1]) -> (dst[M,n]): the sum over e of all "        \
      "products")                                                                              \
    X(EXPANDED_WGRAD, "expanded_wgrad", BATCHED_GEMM, gemm,                                    \
      "(src[e,M,k], d_dst[M,n], offsets[e+1]) -> (d_weight[e,k,n])")                           \
    X(SPARSE_MAP, "sparse_map", SORT, sparse,                                                  \
      "(offsets[e+1]) -> (row_block[nnz], column_block[nnz])")                                 \
    X(SDD, "sdd", BLOCKED_GEMM, sparse,                                                        \
      "(src[M,k], weight[e,k,G I], row_block, column_block, offsets, bias?) -> "               \
      "(dst[nnz*B,G*B])")                                                                      \
    X(DSD, "dsd", BLOCKED_GEMM, sparse,                                                        \
      "(src[nnz*B,G*B], weight[e,I,n], row_block, column_block, offsets, bias?) -> "           \
      "(dst[M,n])")                                                                            \
    X(SPARSE_WGRAD, "sparse_wgrad", BLOCKED_GEMM, sparse,                                      \
      "(src[nnz*B,G*B], other[M,h], offsets) -> (d_weight[e,I,h], d_bias?): or the "           \
      "transpose")                                                                             \
    X(ACTIVATION, "activation", ACTIVATION, activation,                                        \
      "(src[M,G I], offsets[e+1]?, sizes[e]?) -> (dst[M,I])")                                  \
    X(ACTIVATION_GRAD, "activation_grad", ACTIVATION, activation,                              \
      "(src[M,G I], d_dst[M,I], offsets[e+1]?, sizes[e]?) -> (dst[M,G I])")                    \
    X(SIGMOID, "sigmoid", ACTIVATION, none, "(src[n,...]) -> (dst[n,...])")                    \
    X(SIGMOID_GRAD, "sigmoid_grad", ACTIVATION, none,                                          \
      "(gates[n,...], d_gates[n,...]) -> (dst[n,...])")                                        \
    X(MASK, "mask", MASK, none,                                                                \
      "(dst[M,...], offsets[e+1]) -> (dst): rows from offsets[e] on zeroed")                   \
    X(ZERO, "zero", MASK, zero, "() -> (dst): rows from the first on")                         \
    X(COMBINE, "combine", COMBINE, combine,                                                    \
      "(src, position[n,S]?, gates[n,S]?, keys[n,S]?, inverse?, handle?) -> (dst[n,...]): "    \
      "the sum of S rows in the order of a binary tree over keys")                             \
    X(SPREAD, "spread", COMBINE, combine,                                                      \
      "(src[n,...], inverse[M]?, gates[n,S]?, handle?) -> (dst[M,...])")                       \
    X(GATE_GRAD, "gate_grad", COMBINE, combine,                                                \
      "(src, position[n,S]?, d_dst[n,...]) -> (d_gates[n,S]): zero where there is no row")     \
    X(ACCUMULATE, "accumulate", COMBINE, part,                                                 \
      "(src, gates[n,K]?, phys[n,K], index?, offsets?, dst) -> (dst[n,...]): rows of the "     \
      "expert of this iteration added; index, as for gather, says whose they are")             \
    X(ACCUMULATE_GRAD, "accumulate_grad", COMBINE, part,                                       \
      "(src?, gates[n,K]?, phys[n,K], d_dst[n,...], index?, offsets?, d_gates?) -> (dst?, "    \
      "d_gates?)")                                                                             \
    X(ADD, "add", REDUCE, none, "(src, other) -> (dst)")                                       \
    X(ADD_CHUNKS, "add_chunks", REDUCE, hop,                                                   \
      "(src, dst) -> (dst[p n,...]): the chunks of this hop added to the rank's own")          \
    X(EMBED, "embed", EMBED, none, "(weight[V,H], ids) -> (dst[T,H])")                         \
    X(EMBED_GRAD, "embed_grad", EMBED, none, "(d_dst[T,H], ids) -> (d_weight[V,H])")           \
    X(NORM, "norm", NORM, norm,                                                                \
      "(src[n,w], weight[1,w]?) -> (dst[n,w], factor[n]?): by the root of a row's mean "       \
      "square, and by weights; factor: by what the row was multiplied")                        \
    X(NORM_GRAD, "norm_grad", NORM, norm,                                                      \
      "(src[n,w], weight[1,w]?, factor[n], d_dst[n,w]) -> (dst[n,w])")                         \
    X(NORM_WGRAD, "norm_wgrad", NORM, norm,                                                    \
      "(src[n,w], factor[n], d_dst[n,w]) -> (d_weight[1,w])")                                  \
    X(ROPE, "rope", ATTENTION, none, "(result...) -> (result...): split, rotated, joined")     \
    X(ROPE_GRAD, "rope_grad", ATTENTION, none, "(result...) -> (result...)")                   \
    X(ATTENTION, "attention", ATTENTION, none, "(result...) -> (result): q, k, v to context")  \
    X(ATTENTION_GRAD, "attention_grad", ATTENTION, none, "(result...) -> (result...)")         \
    X(CONVOLUTION, "convolution", ATTENTION, none,                                             \
      "(src[n,w]) -> (dst[n,w]): along sequences")                                             \
    X(CONVOLUTION_GRAD, "convolution_grad", ATTENTION, none, "(result...) -> (result...)")     \
    X(SCAN, "scan", ATTENTION, none, "(result...) -> (result): a recurrence over sequences")   \
    X(SCAN_GRAD, "scan_grad", ATTENTION, none, "(result...) -> (result...)")                   \
    X(INDEX, "index", ATTENTION, none, "(result...) -> (result): scores to chosen keys")       \
    X(CACHE, "cache", CACHE, none, "(result...) -> (): into the cache")                        \
    X(LOSS, "loss", LOSS, none, "(src[n,V]) -> (dst[n,V]): logits to their gradient")          \
    X(SAMPLE, "sample", LOSS, none, "(src[n,V]) -> (dst[n])")                                  \
    X(COLLECTIVE, "collective", COLLECTIVE, collective, "(src) -> (dst): over op.group")       \
    X(UPDATE, "update", UPDATE, none, "(result...) -> (result...): state")                     \
    X(HOST_UPDATE, "host_update", UPDATE, none, "(dst) -> (dst): state in host memory")        \
    X(COPY, "copy", COPY, none, "(src) -> (dst): between device and host memory")              \
    X(PICK, "pick", GATHER, pick,                                                              \
      "(weight[e,...], hits[U]) -> (dst[U,...]): matrices of a list, or of its part by "       \
      "iteration")

enum kernel {
#define KERNEL_ENUM(name, text, kind, args, operands) KERNEL_##name,
    KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_COUNT
};

/* Floats of one worker's scratch: a tile of each operand of a product. */
enum { KERNEL_TILE_ROWS = 256, KERNEL_TILE_COLUMNS = 512, KERNEL_TILE_DEPTH = 512 };
enum {
    KERNEL_SCRATCH_FLOATS = KERNEL_TILE_ROWS * KERNEL_TILE_DEPTH +
                            KERNEL_TILE_DEPTH * KERNEL_TILE_COLUMNS +
                            KERNEL_TILE_ROWS * KERNEL_TILE_COLUMNS
};

/* FILL: what a buffer is filled with. */
enum fill {
    FILL_X,
    FILL_WANTED,      /* the experts routing chose, logical ids [T, K] */
    FILL_W13,         /* gate and up matrices [e, H, G I], H of the rows they read */
    FILL_W2,          /* down matrices [e, I, H] */
    FILL_ROUTER,      /* [H, E_logical] */
    FILL_BIAS,        /* router selection bias [E_logical] */
    FILL_B13,         /* biases [e, G I] */
    FILL_B2,          /* [e, H] */
    FILL_SHARED_13,   /* shared experts [1, H, G I_s] */
    FILL_SHARED_2,    /* [1, I_s, H] */
    FILL_START,       /* first replica of every logical expert [E_logical + 1] */
    FILL_REPLICA,     /* physical experts by logical expert [E] */
    FILL_DOUT,        /* gradient of the output */
    FILL_RESIDUAL_13, /* the MLP beside the experts [1, H, G I_r] */
    FILL_RESIDUAL_2,  /* [1, I_r, H] */
    FILL_SHARED_GATE, /* gate on the shared experts' output [H, 1] */
    FILL_LINEAR_BIAS, /* of the router's product [1, E_logical] */
    FILL_LATENT_DOWN, /* tokens to latent rows [1, H, H_latent] */
    FILL_LATENT_UP,   /* and back [1, H_latent, H] */
    FILL_LATENT_NORM, /* weights of a norm of latent rows [1, H_latent] */
    FILL_ROUTER_NORM, /* of the router's input [1, H] */
    FILL_GATE_SCALE,  /* factors of gates [1, E_logical] */
    FILL_COUNT
};

/* Whether an op of this kernel is work of the plan's: not inputs made up for a measurement, a
 * check of its outputs, or a wait. */
bool kernel_is_work(enum kernel kernel);

/* Whether it multiplies rows of groups by their weights: gemm or gated_gemm. */
bool kernel_is_product(enum kernel kernel);

const char *kernel_name(enum kernel kernel);
enum op_kind kernel_kind(enum kernel kernel);
const char *kernel_operands(enum kernel kernel);
unsigned kernel_numbers(enum kernel kernel); /* of its arguments */

#endif
