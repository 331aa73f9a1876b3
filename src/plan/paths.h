/* The paths: the ways to execute an MoE layer, one row each.
 *
 * A path is a row here and a file that describes it, `const struct path_system path_<word>`
 * (work/path/path.h): its ops, what a stack holds while it runs, and what others ask of it.
 * Nothing else names one path, except a stack that chooses among them.
 *
 * A build may add rows of its own: MOEPLAN_MORE_PATHS names a header with
 * #define MOE_MORE_PATHS(X) X(...), and the files of those paths are linked beside it. */
#ifndef MOEPLAN_PLAN_PATHS_H
#define MOEPLAN_PLAN_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* X(constant, word, keys of the plan it alone reads, one line for lists) */
#define MOE_OWN_PATHS(X)                                                                       \
    X(CAPACITY, capacity, READS_CAPACITY_FACTOR,                                               \
      "fixed [E, C, H] buffers, rows beyond the capacity are dropped")                         \
    X(RAGGED_DOT, ragged_dot, 0, "sorted rows, masked expansion to [e, rows, H]")              \
    X(RAGGED_A2A, ragged_a2a, 0, "permute, ragged all-to-all, grouped products")               \
    X(DEEPEP, deepep, READS_DEEPEP, "token-deduplicated dispatch and combine with a handle")   \
    X(DEEPEP_LL, deepep_ll, READS_DISPATCH_TOKENS | READS_DEEPEP,                              \
      "low latency: fixed slots per expert, for decode")                                       \
    X(RDEP, rdep, 0, "routed rows with explicit offsets to pooled owner experts")              \
    X(BLOCKWISE, blockwise, READS_BLOCK_SIZE, "fixed blocks of rows, one expert per block")    \
    X(SELECTIVE, selective, 0, "decode: load only the experts that are hit")                   \
    X(ALL_EXPERTS, all_experts, 0, "decode: compute all experts and mask")                     \
    X(MASKED, masked, 0, "every expert on every token, masked")                                \
    X(EXPERT_LOOP, expert_loop, 0, "one set of products per expert, sizes known to the host")  \
    X(CHUNKED_A2A, chunked_a2a, READS_CHUNK,                                                   \
      "chunks of fixed capacity in a pipelined all-to-all")                                    \
    X(ALLGATHER, allgather, GATHERS_TOKENS,                                                    \
      "gather all tokens, compute local experts, reduce-scatter")                              \
    X(BLOCK_SPARSE, block_sparse, 0, "rows padded to 128, block-sparse products")              \
    X(FUSED, fused, 0, "every rank has the tokens: its experts in one kernel, sums reduced")

#ifdef MOEPLAN_MORE_PATHS
#include MOEPLAN_MORE_PATHS
#define MOE_PATHS(X) MOE_OWN_PATHS(X) MOE_MORE_PATHS(X)
#else
#define MOE_PATHS(X) MOE_OWN_PATHS(X)
#endif

enum moe_path {
    PATH_AUTO, /* the stack's own choice */
#define PATH_ENUM(constant, word, reads, title) PATH_##constant,
    MOE_PATHS(PATH_ENUM)
#undef PATH_ENUM
        PATH_COUNT
};

/* Keys of group moe that only some paths read. */
enum path_key {
    READS_CAPACITY_FACTOR = 1 << 0,
    READS_BLOCK_SIZE = 1 << 1,
    READS_CHUNK = 1 << 2,
    READS_DISPATCH_TOKENS = 1 << 3,
    READS_DEEPEP = 1 << 4,  /* the library's own: moe.dispatch_sms and the like */
    GATHERS_TOKENS = 1 << 5 /* no key: each rank's experts take the tokens of all */
};

/* How many there are, `auto` among them: they are 0 to paths_count() - 1. */
size_t paths_count(void);

/* Their words, `auto` first; NULL-terminated. */
extern const char *const words_path[];

/* One line for lists; constant. */
const char *path_title(enum moe_path path);

/* Whether a path reads a key; `auto`, which is none yet, reads no such key. */
bool path_reads(enum moe_path path, enum path_key key);

#endif
