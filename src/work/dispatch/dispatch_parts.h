/* Parts of what stacks hold on a path; the files of work/path write it with them. */
#ifndef MOEPLAN_WORK_DISPATCH_DISPATCH_PARTS_H
#define MOEPLAN_WORK_DISPATCH_DISPATCH_PARTS_H

#include "work/dispatch/dispatch.h"
#include "work/list/letters.h"

/* A path being written. */
struct hold_path {
    const struct plan *plan;
    const struct dispatch_style *style;
    struct work *work;
    struct flow flow;
    struct letters x;
    const struct path_system *path;
    enum dtype dtype; /* activations */
    struct size zero;
    bool latent; /* between the projections to latent rows and up from them */
    uint16_t input, scores, indices, gates;
};

/* Leading dimensions of rows ([rows], [e, C], [E, mb, C]), with their rule. */
struct row_dims {
    unsigned n;
    struct size dims[3];
    enum sizing_rule rule;
};

/* ---- tensors and ops ---- */

struct row_dims rows_of(struct size rows, enum sizing_rule rule);
struct size rows_total(const struct hold_path *p, const struct row_dims *rows);
/* Of so many tokens, or of a rank's, what an engine's experts take at once. */
struct size part_chunk(const struct hold_path *p, struct size tokens);
struct size part_at_once(const struct hold_path *p, const struct row_dims *tokens);

/* Takes a buffer of the step's that all layers share: added by the first kind of them. */
uint16_t part_once(struct hold_path *p, struct buffer buffer);

/* [rows..., width] with a gradient; a table (no gradient) of any dtype; a persistent heap. */
uint16_t part_rows(struct hold_path *p, const char *name, enum category category,
                   const struct row_dims *rows, struct size width);
uint16_t part_table(struct hold_path *p, const char *name, enum dtype dtype,
                    const struct row_dims *rows, struct size width);
/* A float tensor of another dtype than activations, with a gradient. */
uint16_t part_floats(struct hold_path *p, const char *name, enum category category,
                     enum dtype dtype, const struct row_dims *rows, struct size width);
uint16_t part_heap(struct hold_path *p, const char *name, enum category category,
                   struct size bytes, const char *source);

/* Ticks: of an op of any kind, of an exchange. */
struct tick part_move(const struct hold_path *p, const char *name, enum op_kind kind);
struct tick part_exchange(const struct hold_path *p, const char *name);

bool part_fp8_dispatch(const struct hold_path *p); /* rows travel in fp8 */

/* ---- parts ---- */

/* Rows that a rank's experts compute under style.sizing; worst: T R min(K, e). Each expert's
 * part is padded to `multiple` (0, 1: not). */
struct row_dims part_expert_rows(const struct hold_path *p, uint64_t multiple);
/* Tokens a rank receives, duplicates removed; worst: T R. */
struct row_dims part_received(const struct hold_path *p);

void part_router(struct hold_path *p);

/* A scratch tensor of the op added last; see flow_scratch. */
void part_scratch(struct hold_path *p, const char *name, enum category category,
                  enum dtype dtype, const struct row_dims *rows, struct size width,
                  unsigned passes);

/* Products of the experts over rows of x: gate and up, activation, down; returns down's output.
 * row_gates: per-row gates multiplied into the activation, or WORK_NONE. */
uint16_t part_experts(struct hold_path *p, uint16_t x, const struct row_dims *rows,
                      uint16_t row_gates, enum op_kind product);

/* Fused kernels of inference (style.kernel): from [tokens, H] to the weighted sum [tokens, H],
 * with the workspaces they take (dispatch_fused.c). */
uint16_t part_fused(struct hold_path *p, uint16_t x, const struct row_dims *tokens);

/* The same of kernels that write a tensor per product, over their own rows
 * (dispatch_products.c). */
uint16_t part_products(struct hold_path *p, uint16_t x, const struct row_dims *tokens);

/* Weighted sum of returned rows [T K, H] into [T, H]. */
uint16_t part_combine(struct hold_path *p, uint16_t returned, const struct row_dims *rows);
/* The routed output [T, H], for the op added next; H as in letters. */
uint16_t part_output(struct hold_path *p);

/* Hidden states of the expert-parallel group, `extra` rows behind them; the input itself on one
 * rank. And the group's results back to their ranks. */
uint16_t part_gather_group(struct hold_path *p, struct row_dims *group, uint64_t extra);
void part_scatter_group(struct hold_path *p, uint16_t from, uint16_t *output);

bool part_has_shared(const struct hold_path *p);
/* The shared experts over these tokens. */
void part_shared(struct hold_path *p, uint16_t x, const struct row_dims *tokens);

/* Where experts work on a latent width: the input projected down to it, which the path reads
 * from then on, and *output, what it made, up. Nothing elsewhere. */
void part_latent_down(struct hold_path *p);
void part_latent_up(struct hold_path *p, uint16_t *output);
/* Where experts are split over replicas of attention (plan_joined_replicas): from here on input
 * and letters are those of all replicas; behind the router, with what it chose; and of the
 * experts' sums the replica's own (dispatch_replicas.c). */
void part_join_input(struct hold_path *p);
void part_join_routed(struct hold_path *p);
void part_own(struct hold_path *p, struct size tokens, uint16_t sums, uint16_t *output);

#endif
