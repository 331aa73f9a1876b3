/* Traffic: the bytes that an op reads and writes, by its operands.
 *
 * One row a kernel says how much of each operand a call touches. An op of a list says bytes by
 * itself only where its operands do not show them: kernels of TRAFFIC_SAID, and the ops that
 * tests/property/test_traffic_laws names. work_fill_bytes gives all others theirs. */
#ifndef MOEPLAN_WORK_LIST_TRAFFIC_H
#define MOEPLAN_WORK_LIST_TRAFFIC_H

#include "work/list/kernel.h"

enum traffic {
    TRAFFIC_ALL,      /* every byte of it, in each trip of a loop */
    TRAFFIC_NONE,     /* tables of places, sizes and gates beside whole rows: not counted */
    TRAFFIC_ROWS,     /* op.rows of its rows, in all trips together; all where op says none */
    TRAFFIC_IN,       /* m rows of k elements; of rows that all groups share, all */
    TRAFFIC_OUT,      /* m rows of n elements */
    TRAFFIC_MATRICES, /* the matrices of experts that have rows */
    TRAFFIC_GRADIENT, /* all matrices once; where it adds to them those of experts with rows,
                         which it reads as well */
    TRAFFIC_ONCE,     /* every byte of it, in all trips together */
    TRAFFIC_LATER,    /* every byte of it, in each trip but the first */
    TRAFFIC_REST,     /* its rows from args.zero.first on */
    TRAFFIC_SUM,      /* args.combine: all, or in a loop one row a trip */
    TRAFFIC_FILLED,   /* as many of its rows; all where parts of an index have one size, whose
                         -1 become zeros */
    TRAFFIC_SRC,      /* op.rows of its rows, as many elements of each as src's rows have */
    TRAFFIC_LINK,     /* what crosses a link: op.bytes_sent of what is read, .._received */
    TRAFFIC_SAID,     /* the op says it */
};

/* How much of an operand a kernel reads, or writes. */
enum traffic traffic_of(enum kernel kernel, enum role role, bool written);

/* Sets op.bytes_read and op.bytes_written by its operands, which it has already. */
void traffic_set(struct work *work, struct op *op);

/* How a product's rows are grouped: see struct groups (layer.h). */
struct traffic_groups {
    uint16_t offsets, map;
    bool turn, parts;
    bool loop; /* in one of so many trips */
    struct size trips;
};

/* Bytes of the matrices w that it touches in all trips of its loop: those of experts that have
 * rows, where rows are grouped, and again in every trip unless each has matrices of its own. */
struct size traffic_matrices(struct work *work, uint16_t w,
                             const struct traffic_groups *groups);

/* Bytes of n rows of a width and format, scales included. */
struct size traffic_bytes(struct sizes *sizes, struct size n, struct size width,
                          enum dtype dtype);

#endif
