/* The letters of the MoE formulas as sizes, and the sums and products that formulas share.
 *
 * Every dispatcher's buffers are expressions over these letters, so one statement of a formula
 * sizes the work list, prints in `--buffers`, and is tested against the published tables. */
#ifndef MOEPLAN_WORK_LIST_LETTERS_H
#define MOEPLAN_WORK_LIST_LETTERS_H

#include "work/list/size.h"

struct letters {
    struct sizes *sizes;
    /* T K E e R H I; H is that of the rows that travel and that experts read: the model's
       hidden size, or model.moe.latent_size */
    struct size tokens, top_k, experts, local, ranks, hidden, inter;
    struct size node, block, sms;                /* n_node B sms */
    struct size sequence, micro_batch;           /* S mb */
    struct size rows, received, padded, hottest; /* M n M_pad n_hot: given by routing */
    uint64_t ep;                                 /* R as a number: tables are looked up by it */
};

/* Letters over the slots of `sizes`; a list built with one `ep` serves only that R. */
struct letters letters_over(struct sizes *sizes, const struct plan *plan);

/* Width of the rows that routed experts work on. */
struct size size_row_width(struct sizes *sizes, const struct plan *plan);

/* Sum of n sizes; the others take a constant as their second operand. */
struct size size_sum(struct sizes *sizes, unsigned n, const struct size *terms);
struct size size_plus(struct sizes *sizes, struct size a, uint64_t constant);
struct size size_up(struct sizes *sizes, struct size a, uint64_t multiple);
struct size size_ceil_by(struct sizes *sizes, struct size a, uint64_t divisor);

/* Bytes of n elements of a format, without scales. */
struct size dispatch_bytes(struct sizes *sizes, enum dtype dtype, struct size n);
/* Of n scales, the scales of these included. */
struct size size_scale_bytes(struct sizes *sizes, enum dtype dtype, struct size n);
/* dtype_matrix_bytes as a size: of a [rows, columns] weight matrix with its scales. */
struct size size_matrix_bytes(struct sizes *sizes, enum dtype dtype, struct size rows,
                              struct size columns);

/* n and list of a sum or product written in place: size_sum(s, SIZES(a, b, c)). */
#define SIZES(...)                                                                             \
    (unsigned)(sizeof((struct size[]){__VA_ARGS__}) / sizeof(struct size)), (struct size[])    \
    {                                                                                          \
        __VA_ARGS__                                                                            \
    }

/* The three ceilings of rows a rank may receive (buffers.md 1.2). */
struct size rows_routed(const struct letters *x);       /* N = T K: what a rank sends */
struct size rows_worst_tokens(const struct letters *x); /* W1 = T R: one row per token */
struct size rows_worst(const struct letters *x);        /* W2 = T R min(K, e): certified */
struct size rows_worst_loose(const struct letters *x);  /* W3 = T R K: not tightened by e */

/* Rows after padding each of the e groups to `multiple`, whatever the counts: the largest sum
 * of rounded groups is rows + e (multiple - 1), rounded down to a multiple, when rows can fill
 * all groups; systems reserve the plain sum, or round it up. */
struct size rows_padded(const struct letters *x, struct size rows, uint64_t multiple);
struct size rows_padded_up(const struct letters *x, struct size rows, uint64_t multiple);

#endif
