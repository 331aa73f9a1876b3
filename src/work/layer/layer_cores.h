/* The logical cores of a rank that share the blocks of path blockwise (Trainium's LNC2), as
 * buffers and ops: which block a core has, its operands, what the cores add up between them.
 * One core is the same with one of everything (seed-systems.md B3, B4). */
#ifndef MOEPLAN_WORK_LAYER_LAYER_CORES_H
#define MOEPLAN_WORK_LAYER_LAYER_CORES_H

#include "work/layer/layer.h"

struct cores {
    uint64_t n;
    bool split;         /* both cores work on every block, on a part of it */
    struct size count;  /* n */
    struct size trips;  /* of the loop */
    struct extent rows; /* of all cores in one trip; used: in all trips, of all cores */
    uint16_t block, number, fetch; /* [c] of a trip: block, its expert, whether to fetch it */
    struct groups groups;          /* a core's rows */
};

/* Which core does what; inside the loop over `executed` blocks, `step` a trip. */
struct cores layer_cores_deal(struct layer *l, uint16_t expert, uint16_t run,
                              struct size executed, struct size trips);

/* A core's part of an expert's matrix or bias, [c, rows, columns] or [c, columns] in f32;
 * columns are `panels` panels side by side. WORK_NONE stays. */
uint16_t layer_cores_fetch(struct layer *l, const struct cores *cores, const char *name,
                           uint16_t weights, struct size rows, struct size columns,
                           uint64_t panels);

/* A product of every core's rows and operand, [c B, n] of a dtype. */
uint16_t layer_cores_product(struct layer *l, const struct cores *cores, const char *name,
                             const char *result, uint16_t a, uint16_t operand, uint16_t bias,
                             struct size n, enum dtype dtype);

/* Partial sums of two cores [2 m, n] into sum: [2 m, n] all of it on both cores, [2 m, n / 2] a
 * half of the columns on each, or [m, n] the same in one place. */
void layer_cores_sum(struct layer *l, const char *name, uint16_t partial, uint16_t sum);

#endif
