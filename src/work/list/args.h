/* Arguments: what a kernel is told beside its operands, one struct for a family of kernels.
 *
 * Plain C, fixed widths, no pointers: any backend takes the same bytes. A number is an
 * expression while its op stands in a list, and a value in a call, which a rank evaluated; the
 * numbers of a struct come first, as many as ARGS_LIST says. Flags are 0 or 1. */
#ifndef MOEPLAN_WORK_LIST_ARGS_H
#define MOEPLAN_WORK_LIST_ARGS_H

#include <stdint.h>

#include "work/list/size.h"

union number {
    struct size size; /* in a list */
    uint64_t n;       /* in a call */
};

/* family, its numbers; kernels without arguments are of family none */
#define ARGS_LIST(X)                                                                           \
    X(fill, 0)                                                                                 \
    X(shard, 1)                                                                                \
    X(sort, 0)                                                                                 \
    X(group, 1)                                                                                \
    X(slots, 2)                                                                                \
    X(chunk, 1)                                                                                \
    X(blocks, 2)                                                                               \
    X(deal, 1)                                                                                 \
    X(fetch, 1)                                                                                \
    X(block, 3)                                                                                \
    X(exchange, 2)                                                                             \
    X(hop, 2)                                                                                  \
    X(gather, 3)                                                                               \
    X(part, 1)                                                                                 \
    X(pick, 0)                                                                                 \
    X(swap, 3)                                                                                 \
    X(gemm, 1)                                                                                 \
    X(sparse, 2)                                                                               \
    X(activation, 1)                                                                           \
    X(norm, 0)                                                                                 \
    X(zero, 1)                                                                                 \
    X(combine, 1)                                                                              \
    X(collective, 0)

struct fill_args {
    uint8_t fill; /* enum fill */
};

struct shard_args {
    union number first; /* columns in front of the part */
    uint8_t fill;
    uint8_t by_rows; /* the rank's rows of the matrix, not its columns */
};

struct sort_args {
    uint8_t by_expert; /* by expert inside an owner */
};

struct group_args {
    union number alignment; /* of a group's start */
    uint8_t fixed;          /* group g starts at g times it */
};

struct slots_args {
    union number groups, capacity; /* of tokens that compete; slots of an expert in each */
};

struct chunk_args {
    union number rows; /* of an expert and round */
};

struct blocks_args {
    union number always, step; /* blocks that run whatever they hold; blocks of a trip */
    uint8_t dynamic;           /* blocks without rows are not run */
};

struct deal_args {
    union number rows; /* of a block */
    uint8_t split;     /* both cores have a part of the same block */
    uint8_t halves;    /* one half of the blocks each, not every second one */
    uint8_t skip;      /* matrices that the core holds already are not fetched */
};

struct fetch_args {
    union number panels; /* of columns, side by side */
    uint8_t split;
};

struct block_args {
    union number rows, top_k, tokens; /* of a block; slots of a token; tokens in all */
    uint8_t split;
    uint8_t skip; /* padding is not read */
};

struct exchange_args {
    union number sent, from; /* rows that cross a link */
    uint8_t home;            /* rows go back to the rank whose tokens they are of */
};

struct hop_args {
    union number first, ranks; /* step of the schedule in iteration 0 */
    uint8_t schedule;          /* enum schedule */
};

/* Which part of an index a call works on. */
struct part_args {
    union number rows;    /* of a part */
    uint8_t by_iteration; /* in a loop: part `iteration`; otherwise all */
};

struct gather_args {
    union number divide, slots; /* row index / divide; slots of a source row in inverse */
    struct part_args part;
};

struct pick_args {
    uint8_t by_iteration;
};

struct swap_args {
    union number m, n, k;
};

/* How rows are grouped, beside offsets and sizes. */
struct rows_args {
    union number groups; /* without offsets they share the rows evenly */
    uint8_t turn;        /* in a loop: one group, of weight and size number `iteration` */
    uint8_t parts;       /* in a loop: the groups of every iteration have sizes of their own */
    uint8_t shared;      /* every group is all rows */
};

struct gemm_args {
    struct rows_args rows;
    uint8_t transposed; /* by the weight's transpose */
    uint8_t sum;        /* a gradient is added to what is there */
    uint8_t split;      /* groups are parts of the same rows */
};

struct sparse_args {
    union number block, inter; /* B; I of a panel */
    uint8_t transposed;
};

struct activation_args {
    struct rows_args rows;
    uint8_t gelu; /* GeLU, whatever the model's experts use */
};

/* Added to the mean square of a row (config.json of Gemma 4 and Kimi-K3: rms_norm_eps). */
#define NORM_EPSILON 1e-6

struct norm_args {
    uint8_t root; /* rows are divided by the root of their width, too */
};

struct zero_args {
    union number first; /* row */
};

struct combine_args {
    union number slots;   /* S, rows of a sum */
    uint8_t slot_major;   /* without positions: row i*S+s, not s*n+i */
    uint8_t by_iteration; /* in a loop: sum `iteration` alone */
};

struct collective_args {
    uint8_t how;      /* enum collective_kind */
    uint8_t regather; /* its result is not kept: gathered again for the weight gradient */
};

union args {
    union number number[3];
#define ARGS_MEMBER(family, numbers) struct family##_args family;
    ARGS_LIST(ARGS_MEMBER)
#undef ARGS_MEMBER
};

#endif
