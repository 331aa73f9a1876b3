/* Parts that paths are made of; only the dispatch_*.c files include this. */
#ifndef MOEPLAN_WORK_STACK_DISPATCH_PARTS_H
#define MOEPLAN_WORK_STACK_DISPATCH_PARTS_H

#include "work/stack/dispatch.h"
#include "work/list/letters.h"

/* A path being written. */
struct path {
    const struct plan *plan;
    const struct dispatch_style *style;
    struct work *work;
    struct flow flow;
    struct letters x;
    enum moe_path kind;
    enum dtype dtype; /* activations */
    struct size zero;
    uint16_t input, scores, indices, gates;
};

/* Leading dimensions of rows ([rows], [e, C], [E, mb, C]), with their rule. */
struct rows {
    unsigned n;
    struct size dims[3];
    enum sizing_rule rule;
};

typedef enum status (*path_builder)(struct path *p, uint16_t *output, struct err *err);

/* ---- tensors and ops ---- */

struct rows rows_of(struct size rows, enum sizing_rule rule);
struct size rows_total(const struct path *p, const struct rows *rows);

/* [rows..., width] with a gradient; a table (no gradient) of any dtype; a persistent heap. */
uint16_t part_rows(struct path *p, const char *name, enum category category,
                   const struct rows *rows, struct size width);
uint16_t part_table(struct path *p, const char *name, enum dtype dtype, const struct rows *rows,
                    struct size width);
/* A float tensor of another dtype than activations, with a gradient. */
uint16_t part_floats(struct path *p, const char *name, enum category category, enum dtype dtype,
                     const struct rows *rows, struct size width);
uint16_t part_heap(struct path *p, const char *name, enum category category, struct size bytes,
                   const char *source);

/* Ticks: of an op of any kind, of an exchange. */
struct tick part_move(const struct path *p, const char *name, enum op_kind kind);
struct tick part_exchange(const struct path *p, const char *name);

/* ---- parts ---- */

/* Rows that a rank's experts compute under style.sizing; worst: T R min(K, e). Each expert's
 * part is padded to `multiple` (0, 1: not). */
struct rows part_expert_rows(const struct path *p, uint64_t multiple);
/* Tokens a rank receives, duplicates removed; worst: T R. */
struct rows part_received(const struct path *p);

void part_router(struct path *p);

/* A scratch tensor of the op added last; see flow_scratch. */
void part_scratch(struct path *p, const char *name, enum category category, enum dtype dtype,
                  const struct rows *rows, struct size width, unsigned passes);

/* Products of the experts over rows of x: gate and up, activation, down; returns down's output.
 * row_gates: per-row gates multiplied into the activation, or WORK_NONE. */
uint16_t part_experts(struct path *p, uint16_t x, const struct rows *rows, uint16_t row_gates,
                      enum op_kind product);

/* Weighted sum of returned rows [T K, H] into [T, H]. */
uint16_t part_combine(struct path *p, uint16_t returned, const struct rows *rows);
/* Plain move of rows into [T, H] (the weights were applied before). */
uint16_t part_scatter(struct path *p, const char *name, uint16_t from);

void part_shared(struct path *p);

#endif
