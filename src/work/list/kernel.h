/* Kernels: the ways the host performs ops, each with its operands.
 *
 * An op of a host list names one. Operands are positions in the op's reads and writes, written
 * here as (reads) -> (writes); [?] may be absent (WORK_NONE). Shapes use the letters of
 * shape.h; "slot" t*K+k is one (token, k) pair of a rank, M the capacity of a row buffer. Index
 * maps are i32 with -1 for "no row", counts and offsets are i64. */
#ifndef MOEPLAN_WORK_LIST_KERNEL_H
#define MOEPLAN_WORK_LIST_KERNEL_H

#include "work/piece/schedule.h"
#include "work/list/work.h"

/* name, text, kind of op, operands */
#define KERNEL_LIST(X)                                                                         \
    X(NONE, "none", SYNC, "an op that no host kernel performs")                                \
    X(FILL, "fill", EMBED, "() -> (buffer): data by role, op.flags is an enum fill")           \
    X(SHARD, "shard", EMBED,                                                                   \
      "() -> (buffer[g,m,n]): a tensor-parallel rank's part of the tokens or of a matrix, by " \
      "role, op.flags; op.m: columns in front of it")                                          \
    X(WAIT, "wait", SYNC, "(buffers...) -> (): exchanges that run ahead with them end here")   \
    X(RESULT, "result", LOSS, "(outputs...) -> (): outputs are checked here")                  \
    X(TOPK, "topk", ROUTER, "(logits[T,E], wanted[T,K], bias[E]?) -> (ids[T,K], gates[T,K])")  \
    X(TOPK_GRAD, "topk_grad", ROUTER,                                                          \
      "(logits[T,E], ids[T,K], gates[T,K], dgates[T,K], bias?) -> (dlogits[T,E])")             \
    X(PLACE, "place", ROUTER,                                                                  \
      "(ids[T,K], start[E_logical+1], replica[E]) -> (phys[T,K]): round robin over replicas")  \
    X(SORT, "sort", SORT,                                                                      \
      "(phys[T,K]) -> (order[TK], position[TK], counts[E], sends[R]): slots by owner and, "    \
      "with KERNEL_BY_EXPERT, by expert; stable")                                              \
    X(GROUP, "group", SORT,                                                                    \
      "(counts[R,e]) -> (receives[R], offsets[e+1], rows[e], index[M], place[M_in]): rows "    \
      "received in (source, expert) order to (expert, source) order, starts aligned to op.m")  \
    X(FAN, "fan", SORT,                                                                        \
      "(phys[n,K], receives[R]?) -> (offsets[e+1], rows[e], index[M], place[nK]): the slots "  \
      "of local experts, sorted by expert; n rows, or as many as receives sums to")            \
    X(LAYOUT, "layout", SORT,                                                                  \
      "(phys[T,K]) -> (index[M], slot[M], position[T,R], sends[R], handle[4]): one row per "   \
      "token and owner; index: token, slot: t*R+r")                                            \
    X(SLOTS, "slots", SORT,                                                                    \
      "(phys[T,K]) -> (index[E*C], position[TK], dropped[1]): C slots per expert and group "   \
      "of T/op.groups tokens")                                                                 \
    X(MOST, "most", SORT, "(counts[E]) -> (most[1]): the largest count")                       \
    X(ROUNDS, "rounds", SYNC, "(most[R]) -> (rounds[1]): chunks of op.m rows that all need")   \
    X(CHUNK, "chunk", SORT,                                                                    \
      "(order[TK], counts[E]) -> (index[E*C], home[E*C]): the slots of this round, and their " \
      "places among the sorted rows")                                                          \
    X(BLOCKS, "blocks", SORT,                                                                  \
      "(phys[n,K]) -> (expert[N], index[N*B], place[nK], conditions[N], run[1], trips[1]): "   \
      "blocks of one local expert each; op.m blocks run always, with KERNEL_DYNAMIC further "  \
      "only valid ones, op.n together in one trip")                                            \
    X(DEAL, "deal", SORT,                                                                      \
      "(expert[N], run[1]) -> (block[c], number[c], fetch[c], rows[c], offsets[c+1]): what "   \
      "each core does in this trip: its block of op.m rows (-1: none), that block's expert, "  \
      "whether its matrices must be fetched")                                                  \
    X(FETCH, "fetch", PACK,                                                                    \
      "(w[e,k,n], number[c], fetch[c]) -> (operand[c,k',n']): a core's part of an expert's "   \
      "matrix, of each of op.groups panels of columns")                                        \
    X(LOAD_BLOCK, "load_block", GATHER,                                                        \
      "(src[n+1,H], index[N*B], block[c], gates[n,K]?) -> (dst[c*B,H']): a core's part of "    \
      "the tokens of its block, times their gates; padding is row n of src, or with "          \
      "KERNEL_SKIP not read")                                                                  \
    X(CORE_SUM, "core_sum", REDUCE,                                                            \
      "(partial[2*m,n]) -> (sum[2*m,n], [2*m,n/2] or [m,n]): both cores' partial sums added "  \
      "up on both cores, or on each half of the columns, apart or in place")                   \
    X(ADD_BLOCK, "add_block", COMBINE,                                                         \
      "(y[c*B,H'], gates[n,K]?, index[N*B], block[c], sum) -> (sum[n,H] or [c*n,H]): the "     \
      "rows "                                                                                  \
      "of a core's block added to their tokens")                                               \
    X(TABLE, "table", SORT,                                                                    \
      "(phys[n,K]) -> (place[nK], index[e*n]): row x*n+i for local expert x of token i")       \
    X(HITS, "hits", SORT,                                                                      \
      "(rows[e]) -> (hits[U], map[e]): experts with rows, and their numbers among them")       \
    X(OWN, "own", SORT,                                                                        \
      "(phys[n,K]) -> (slot[nK], place[nK], hits[nK], rows[nK], offsets[K+1]): of the slots "  \
      "of local experts the slot, its k, the expert, 1 row; -1 and 0 rows for others")         \
    X(RECORD, "record", PACK,                                                                  \
      "(phys[T,K], gates[T,K], order[TK]) -> (records[TK,2]): row id, local expert, gate")     \
    X(POOL, "pool", SORT,                                                                      \
      "(records[M_in,2], receives[R]) -> (offsets[e+1], rows[e], index[M], place[M_in], "      \
      "gates[M_in]): stable by local expert, starts aligned to op.m")                          \
    X(EXCHANGE, "exchange", EXCHANGE,                                                          \
      "(src, sends[R], receives[R], handle?) -> (dst): rows to and from every rank, "          \
      "contiguous by peer")                                                                    \
    X(EXCHANGE_FIXED, "exchange_fixed", EXCHANGE,                                              \
      "(src[R*n,...]) -> (dst[R*n,...]): n rows to every rank")                                \
    X(ALLGATHER, "allgather", EXCHANGE, "(src[n,...]) -> (dst[R*n,...])")                      \
    X(HOP, "hop", EXCHANGE,                                                                    \
      "(array, own?) -> (dst): step op.m + iteration of a schedule of schedule.h: chunks of "  \
      "array to one peer; dst: what arrives (reduce), array itself (gather), its next copy "   \
      "(pass). With own, iteration 0 only puts own into its place")                            \
    X(GATHER, "gather", GATHER,                                                                \
      "(src, index[rows], inverse?, keys?, offsets?, gates?) -> (dst): dst[i] = src[index[i] " \
      "/ op.k], times gates[index[i]], zero for -1; op.groups: slots per source row in "       \
      "`inverse`; KERNEL_INDEX_I: the part "                                                   \
      "of "                                                                                    \
      "index from op.m * iteration, or from offsets[iteration] to the next")                   \
    X(SCATTER, "scatter", GATHER,                                                              \
      "(src, index[rows], dst) -> (dst): dst[index[i]] = src[i], injective")                   \
    X(SWAP, "swap", PERMUTE, "(src[m,n,k,...]) -> (dst[n,m,k,...])")                           \
    X(QUANTIZE, "quantize", PACK, "(src[n,H]) -> (dst[n,H] with scales)")                      \
    X(DEQUANTIZE, "dequantize", PACK, "(src[n,H] with scales) -> (dst[n,H])")                  \
    X(GEMM, "gemm", GROUPED_GEMM,                                                              \
      "(a[M,k], w[e,k,n], offsets[e+1]?, rows[e]?, map?, bias[e,n]?) -> (c[M,n])")             \
    X(CHUNK_GEMM, "chunk_gemm", GEMM,                                                          \
      "(as gemm, c[M,n]) -> (c): a times matrix (rank + iteration) mod p of w[p,k,n], added "  \
      "to c but in iteration 0")                                                               \
    X(WGRAD, "wgrad", GROUPED_GEMM,                                                            \
      "(a[M,k], dc[M,n], offsets[e+1]?, rows[e]?, map?) -> (dw[e,k,n], dbias[e,n]?)")          \
    X(EXPAND, "expand", MASK,                                                                  \
      "(src[M,k], offsets[e+1]) -> (dst[e,M,k]): rows of other groups zero")                   \
    X(EXPANDED_GEMM, "expanded_gemm", BATCHED_GEMM,                                            \
      "(a[e,M,k], w[e,k,n], offsets[e+1]) -> (c[M,n]): the sum over e of all products")        \
    X(EXPANDED_WGRAD, "expanded_wgrad", BATCHED_GEMM,                                          \
      "(a[e,M,k], dc[M,n], offsets[e+1]) -> (dw[e,k,n])")                                      \
    X(SPARSE_MAP, "sparse_map", SORT,                                                          \
      "(offsets[e+1]) -> (row_block[nnz], column_block[nnz]); op.m is B, op.n is I")           \
    X(SDD, "sdd", BLOCKED_GEMM,                                                                \
      "(a[M,k], w[e,k,G I], row_block, column_block, offsets, bias?) -> (c[nnz*B,G*B])")       \
    X(DSD, "dsd", BLOCKED_GEMM,                                                                \
      "(a[nnz*B,G*B], w[e,I,n], row_block, column_block, offsets, bias?) -> (c[M,n])")         \
    X(SPARSE_WGRAD, "sparse_wgrad", BLOCKED_GEMM,                                              \
      "(sparse[nnz*B,G*B], dense[M,h], offsets) -> (dw[e,I,h] or transposed, dbias?)")         \
    X(ACTIVATION, "activation", ACTIVATION, "(h[M,G I], offsets[e+1]?, rows[e]?) -> (a[M,I])") \
    X(ACTIVATION_GRAD, "activation_grad", ACTIVATION,                                          \
      "(h[M,G I], da[M,I], offsets[e+1]?, rows[e]?) -> (dh[M,G I])")                           \
    X(SIGMOID, "sigmoid", ACTIVATION, "(logits[n,...]) -> (gates[n,...])")                     \
    X(SIGMOID_GRAD, "sigmoid_grad", ACTIVATION,                                                \
      "(gates[n,...], dgates[n,...]) -> (dlogits[n,...])")                                     \
    X(MASK, "mask", MASK, "(y[M,...], offsets[e+1]) -> (y): rows from offsets[e] on zeroed")   \
    X(ZERO, "zero", MASK, "() -> (buffer): rows from op.m on")                                 \
    X(COMBINE, "combine", COMBINE,                                                             \
      "(y, position[n,S]?, gates[n,S]?, keys[n,S]?, inverse?, handle?) -> (out[n,...]): the "  \
      "sum of S rows in the order of a binary tree over keys")                                 \
    X(SPREAD, "spread", COMBINE,                                                               \
      "(dout[n,...], inverse[M]?, gates[n,S]?, handle?) -> (dy[M,...]); op.groups is S")       \
    X(GATE_GRAD, "gate_grad", COMBINE,                                                         \
      "(y, position[n,S]?, dout[n,...]) -> (dgates[n,S]): zero where there is no row")         \
    X(ACCUMULATE, "accumulate", COMBINE,                                                       \
      "(y, gates[n,K]?, phys[n,K], sum[n,...], index?, offsets?) -> (sum): rows of the "       \
      "expert "                                                                                \
      "of this iteration added; index, as for gather, says whose they are")                    \
    X(ACCUMULATE_GRAD, "accumulate_grad", COMBINE,                                             \
      "(y?, gates[n,K]?, phys[n,K], dsum[n,...], index?, offsets?, dgates?) -> (dy?, "         \
      "dgates?)")                                                                              \
    X(ADD, "add", REDUCE, "(a, b) -> (sum)")                                                   \
    X(ADD_CHUNKS, "add_chunks", REDUCE,                                                        \
      "(arrived, array) -> (array[p n,...]): the chunks of this hop added to the rank's own; " \
      "op.groups is p")                                                                        \
    X(EMBED, "embed", EMBED, "(table[V,H], ids) -> (x[T,H])")                                  \
    X(EMBED_GRAD, "embed_grad", EMBED, "(dx[T,H], ids) -> (dtable[V,H])")                      \
    X(NORM, "norm", NORM, "(x[n,w]) -> (y[n,w])")                                              \
    X(NORM_GRAD, "norm_grad", NORM, "(x[n,w], dy[n,w]) -> (dx[n,w])")                          \
    X(ROPE, "rope", ATTENTION, "(projected...) -> (q, k, v): split, rotated, joined")          \
    X(ROPE_GRAD, "rope_grad", ATTENTION, "(dq, dk, dv) -> (dprojected...)")                    \
    X(ATTENTION, "attention", ATTENTION, "(q, k, v, cache?) -> (context)")                     \
    X(ATTENTION_GRAD, "attention_grad", ATTENTION,                                             \
      "(q, k, v, context, dcontext) -> (dq, dk, dv)")                                          \
    X(CACHE, "cache", CACHE, "(k, v) -> (cache)")                                              \
    X(LOSS, "loss", LOSS, "(logits[n,V]) -> (dlogits[n,V])")                                   \
    X(SAMPLE, "sample", LOSS, "(logits[n,V]) -> (ids[n])")                                     \
    X(COLLECTIVE, "collective", COLLECTIVE, "(src...) -> (dst...): over op.group")             \
    X(UPDATE, "update", UPDATE, "(state...) -> (state...)")                                    \
    X(COPY, "copy", COPY, "(src) -> (dst): between device and host memory")                    \
    X(PICK, "pick", GATHER,                                                                    \
      "(weights[e,...], hits[U]) -> (dst[U,...]): matrices of a list; KERNEL_INDEX_I: of its " \
      "part by iteration")

enum kernel {
#define KERNEL_ENUM(name, text, kind, operands) KERNEL_##name,
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

/* op.flags */
enum {
    KERNEL_TRANSPOSED = 1,  /* GEMM: the weight's transpose, a[M,n] -> c[M,k] */
    KERNEL_BY_EXPERT = 2,   /* SORT: by expert inside an owner */
    KERNEL_AHEAD = 4,       /* an iteration ahead of its loop; exchanges: beside others */
    KERNEL_WEIGHT_I = 8,    /* in a loop: the weight and the row count of iteration i */
    KERNEL_INDEX_I = 16,    /* in a loop: a part of the index or the groups by iteration */
    KERNEL_SHARED_A = 32,   /* GEMM: every group multiplies the same rows */
    KERNEL_SLOT_MAJOR = 64, /* COMBINE without positions: row i*S+s, not s*n+i */
    KERNEL_STRIDE = 128,    /* GROUP: group g starts at g * op.m */
    KERNEL_RETURN = 1024,   /* exchanges: rows go back to the rank whose tokens they are of */
    KERNEL_SUM = 512,       /* WGRAD: added to what the gradient holds */
    KERNEL_DYNAMIC = 256,   /* BLOCKS: blocks without rows are not run */
    KERNEL_GELU = 1024,     /* ACTIVATION: GeLU, whatever the model's experts use */
    KERNEL_ROWS = 2048,     /* SHARD: the rank's rows of the matrix, not its columns */
    KERNEL_SCHEDULE = 4096, /* HOP, ADD_CHUNKS: enum schedule times this */
    KERNEL_SPLIT = 8192,    /* both cores have a part of the same block */
    KERNEL_HI_LO = 16384,   /* DEAL: one half of the blocks each, not every second one */
    KERNEL_SKIP = 32768,    /* DEAL: weights, LOAD_BLOCK: padding that need not be fetched */
};

/* FILL: what a buffer is filled with. */
enum fill {
    FILL_X,
    FILL_WANTED,      /* the experts routing chose, logical ids [T, K] */
    FILL_W13,         /* gate and up matrices [e, H, G I] */
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
    FILL_COUNT
};

/* The schedule of a hop. */
enum schedule kernel_schedule(const struct op *op);

/* Whether an op of this kernel is work of the plan's: not inputs made up for a measurement, a
 * check of its outputs, or a wait. */
bool kernel_is_work(enum kernel kernel);

const char *kernel_name(enum kernel kernel);
enum op_kind kernel_kind(enum kernel kernel);

#endif
