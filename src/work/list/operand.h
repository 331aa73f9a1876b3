/* Operands: the buffers an op touches, each known by what it is to the op, not by its place.
 *
 * They stand in one pool of the list, an op's side by side. Which roles a kernel has, and which
 * of them may be absent, is its row of kernel.h; an absent one has no operand. */
#ifndef MOEPLAN_WORK_LIST_OPERAND_H
#define MOEPLAN_WORK_LIST_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

struct op;
struct work;

/* name, text. Index maps are i32 with -1 for "no row", counts and offsets are i64. */
#define ROLE_LIST(X)                                                                           \
    X(SRC, "src")                                                                              \
    X(OTHER, "other") /* what src meets, in products and sums of two alike */                  \
    X(DST, "dst")                                                                              \
    X(D_DST, "d_dst") /* the gradient that has arrived */                                      \
    X(WEIGHT, "weight")                                                                        \
    X(FACTOR, "factor") /* by which a norm multiplied a row */                                 \
    X(BIAS, "bias")                                                                            \
    X(D_WEIGHT, "d_weight")                                                                    \
    X(D_BIAS, "d_bias")                                                                        \
    X(OFFSETS, "offsets") /* starts of groups, and the end of the last */                      \
    X(SIZES, "sizes")     /* rows of groups that do not fill up to the next start */           \
    X(MAP, "map")         /* the weight of a group, when it is not its number */               \
    X(INDEX, "index")     /* what stands in a row */                                           \
    X(INVERSE, "inverse") /* the other way */                                                  \
    X(POSITION, "position")                                                                    \
    X(PLACE, "place")                                                                          \
    X(SLOT, "slot")                                                                            \
    X(HOME, "home")                                                                            \
    X(ORDER, "order")                                                                          \
    X(KEYS, "keys")                                                                            \
    X(LOGITS, "logits")                                                                        \
    X(WANTED, "wanted")                                                                        \
    X(IDS, "ids")                                                                              \
    X(PHYS, "phys")                                                                            \
    X(GATES, "gates")                                                                          \
    X(D_GATES, "d_gates")                                                                      \
    X(START, "start")                                                                          \
    X(REPLICA, "replica")                                                                      \
    X(COUNTS, "counts")                                                                        \
    X(SENDS, "sends")                                                                          \
    X(RECEIVES, "receives")                                                                    \
    X(HANDLE, "handle")                                                                        \
    X(DROPPED, "dropped")                                                                      \
    X(EXPERT, "expert")                                                                        \
    X(CONDITIONS, "conditions")                                                                \
    X(RUN, "run")                                                                              \
    X(TRIPS, "trips")                                                                          \
    X(BLOCK, "block")                                                                          \
    X(NUMBER, "number")                                                                        \
    X(FETCH, "fetch")                                                                          \
    X(HITS, "hits")                                                                            \
    X(ROW_BLOCK, "row_block")                                                                  \
    X(COLUMN_BLOCK, "column_block")                                                            \
    X(OWN, "own")                                                                              \
    X(RESULT, "result") /* any number of them, told apart by operand.number */

enum role {
#define ROLE_ENUM(name, text) ROLE_##name,
    ROLE_LIST(ROLE_ENUM)
#undef ROLE_ENUM
        ROLE_COUNT
};

const char *role_name(enum role role);

struct operand {
    uint8_t role;   /* enum role; ROLE_COUNT ends a list written in place */
    uint8_t number; /* of a result: whose gradient it is (enum fill), or which tile */
    bool read, written;
    uint16_t buffer;
};

/* Lists written in place: OPERANDS(IN(SRC, a), OUT(DST, c)). */
#define IN(role, buffer)                                                                       \
    {                                                                                          \
        ROLE_##role, 0, true, false, (buffer)                                                  \
    }
#define OUT(role, buffer)                                                                      \
    {                                                                                          \
        ROLE_##role, 0, false, true, (buffer)                                                  \
    }
#define INOUT(role, buffer)                                                                    \
    {                                                                                          \
        ROLE_##role, 0, true, true, (buffer)                                                   \
    }
#define RESULT(number, buffer)                                                                 \
    {                                                                                          \
        ROLE_RESULT, (uint8_t)(number), true, false, (buffer)                                  \
    }
#define OPERANDS(...) ((const struct operand[]){__VA_ARGS__, {.role = ROLE_COUNT}})

/* Gives the op its operands; those without a buffer (WORK_NONE) are left out. */
void work_operands(struct work *work, struct op *op, const struct operand *operands);

/* The first of the op's operands; op->n_operands of them. */
struct operand *op_operands(const struct work *work, const struct op *op);

/* The buffer in a role, or WORK_NONE. */
uint16_t op_buffer(const struct work *work, const struct op *op, enum role role);

bool op_reads(const struct work *work, const struct op *op, uint16_t buffer);
bool op_writes(const struct work *work, const struct op *op, uint16_t buffer);

#endif
