/* Sizes: integer expressions over slots, built once, evaluated many times.
 *
 * A struct sizes is a growing list of nodes in topological order; equal expressions are one
 * node. Evaluation is one pass over the list without allocation. The same nodes print as the
 * formula a user reads, in symbols and in this plan's numbers. */
#ifndef MOEPLAN_WORK_LIST_SIZE_H
#define MOEPLAN_WORK_LIST_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "work/list/shape.h"

/* An expression; {0} is the constant 0. Only meaningful with the struct sizes it came from. */
struct size {
    uint32_t node;
};

struct size_node;

struct sizes {
    struct arena *arena;
    struct size_node *nodes;
    uint32_t n;
    size_t capacity;
    uint32_t *table; /* open hash of node numbers */
    uint32_t table_size;
    uint32_t slot[SLOT_COUNT]; /* nodes of slots; 0: not asked for yet */
};

/* Empty list; memory from the arena. */
void sizes_init(struct sizes *sizes, struct arena *arena);

struct size size_const(struct sizes *sizes, uint64_t value);
struct size size_slot(struct sizes *sizes, enum slot slot);
struct size size_add(struct sizes *sizes, struct size a, struct size b);
struct size size_sub(struct sizes *sizes, struct size a, struct size b); /* at least 0 */
struct size size_mul(struct sizes *sizes, struct size a, struct size b);
struct size size_div(struct sizes *sizes, struct size a, struct size b); /* floor; b 0: 0 */
struct size size_ceil_div(struct sizes *sizes, struct size a, struct size b); /* b 0: 0 */
struct size size_round_up(struct sizes *sizes, struct size a, struct size b); /* b 0: a */
struct size size_min(struct sizes *sizes, struct size a, struct size b);
struct size size_max(struct sizes *sizes, struct size a, struct size b);
struct size size_beyond(struct sizes *sizes, struct size a, struct size b); /* 1 where a > b */
/* trunc(a * real): the truncation of int(a * factor) in the frameworks */
struct size size_scale(struct sizes *sizes, struct size a, enum real_slot real);
/* ceil(a * real) */
struct size size_scale_up(struct sizes *sizes, struct size a, enum real_slot real);
/* Product of n sizes. */
struct size size_product(struct sizes *sizes, unsigned n, const struct size *factors);
/* a * constant */
struct size size_times(struct sizes *sizes, struct size a, uint64_t constant);

/* The same expression of other slots: of each the one that `other` names. */
struct size size_of_slots(struct sizes *sizes, struct size size, enum slot (*other)(enum slot));

bool size_is_zero(const struct sizes *sizes, struct size size); /* the constant 0 */

/* Evaluates all nodes: values[i] for node i (room for sizes->n). False when something
 * overflowed 64 bits; the values are then saturated. */
bool sizes_eval(const struct sizes *sizes, const struct slots *slots, uint64_t *values);

/* Which nodes a sweep moves: learned from the slots it evaluates with, kept beside values; or
 * said (sizes_move). */
struct sizes_moving {
    bool known;        /* the rest is set, and values hold the nodes that stay */
    bool reals_stay;   /* what is scaled by a real slot moves with what it scales alone */
    bool *moves;       /* [sizes->n] depends on a slot that has changed, or on a real one */
    uint32_t *nodes;   /* [n] of them, in order */
    uint32_t *staying; /* [n_staying] slots that have not changed */
    uint32_t n, n_staying;
    uint64_t turn; /* counts when a node that stayed got another value */
};

/* Evaluates only nodes that may have changed since the last call with these values, which no
 * other wrote since. False as sizes_eval. Memory from the arena, with the first call. */
bool sizes_eval_moving(const struct sizes *sizes, struct sizes_moving *moving,
                       const struct slots *slots, struct arena *arena, uint64_t *values);

/* Of slots that are said to move, to size one list for many plans that differ in little; real
 * ones stay. Memory from the arena. */
void sizes_move(const struct sizes *sizes, const bool moves[SLOT_COUNT], struct arena *arena,
                struct sizes_moving *moving);
/* Their values anew; the others are those of slots that differ in none that does not move.
 * False as sizes_eval. */
bool sizes_eval_moved(const struct sizes *sizes, const struct sizes_moving *moving,
                      const struct slots *slots, uint64_t *values);

/* Appends the formula in symbols: "R*T*min(K, e)*H*2". */
void size_formula(const struct sizes *sizes, struct size size, struct text *out);
/* Appends it in numbers: "8*32768*min(8, 32)*7168*2". */
void size_numbers(const struct sizes *sizes, struct size size, const struct slots *slots,
                  struct text *out);

#endif
