/* The matmuls of seed 003 that are spread over tensor-parallel ranks, as work lists that the
 * host performs: one rank's products and the exchanges around them (block.kind), by the
 * algorithm of block.collective. Shapes, with T tokens, p ranks (parallel.tp) and F the dense
 * intermediate size; every rank holds a p-th of the contracted or of the other dimension:
 *
 *   allreduce_matmul       x[T, H/p] w[H/p, F] summed over ranks: [T, F] on every rank
 *   reduce_scatter_matmul  x[T, F/p] w[F/p, H] summed: columns [T, H/p]
 *   allgather_matmul       x[T, H/p] of all ranks, times w[H, F/p]: columns [T, F/p]
 *   mlp                    GeLU(gathered x[T, H] w_in[H, F/p]) w_out[F/p, H] summed: [T, H/p]
 *
 * What is scattered lies chunk by chunk, [p, T, columns / p], so that a chunk is one piece of
 * memory. Source: seed-systems.md C3. */
#ifndef MOEPLAN_WORK_PIECE_MATMUL_H
#define MOEPLAN_WORK_PIECE_MATMUL_H

#include <stdbool.h>

#include "work/layer/layer.h"

/* The block's list; the plan obeys all rules and its block is not moe. STATUS_INPUT when the
 * host cannot perform it. Memory from the arena. */
enum status matmul_build(const struct plan *plan, struct arena *arena, struct work *work,
                         struct err *err);

/* STATUS_INPUT with the reason when the host cannot perform the plan's block as it is. */
enum status matmul_check(const struct plan *plan, struct err *err);

/* Slots of every rank: the plan's. */
void matmul_plan_slots(const struct plan *plan, uint64_t workers, struct slots *slots);

enum { MATMUL_TILES = 8 }; /* the most that block.tiles can be */

/* Column tiles of allreduce_matmul: the most up to block.tiles that divide F / p. */
uint64_t matmul_tiles(const struct plan *plan);

/* The algorithm by which ranks exchange: block.collective. One rank has nobody to exchange with
 * and does the same whatever that says: what a ring of one leaves to do. */
enum collective matmul_collective(const struct plan *plan);

/* Whether the rank's columns of the result are chunk `rank` of the array that was reduced,
 * instead of an array of their own. */
bool matmul_reduces_in_place(const struct plan *plan);

/* ---- pieces; struct layer with R = p ---- */

/* Sums an array of p chunks over ranks by the plan's algorithm. The rank's chunk: in place, or
 * in a buffer of its own, which is returned. */
uint16_t matmul_reduce_scatter(struct layer *l, const char *name, uint16_t array);

/* own[n, width] of every rank: all[p n, width]. */
void matmul_all_gather(struct layer *l, const char *name, uint16_t own, uint16_t all);

/* An all-reduce of an array of p chunks in place, in two halves that each begin with an
 * exchange that other ops may run beside, and end behind them. */
struct matmul_reduction {
    const char *name;
    uint16_t array;
    uint16_t arrived; /* from other ranks */
    uint16_t own;     /* the rank's sum; the array itself, or builtin's buffer */
};
struct matmul_reduction matmul_reduce_begin(struct layer *l, const char *name, uint16_t array);
void matmul_reduce_end(struct layer *l, const struct matmul_reduction *reduction);
void matmul_gather_begin(struct layer *l, const struct matmul_reduction *reduction);
void matmul_gather_end(struct layer *l, const struct matmul_reduction *reduction);

/* A loop's hop: the rank's whole array on to its left neighbour, first its own. */
void matmul_pass(struct layer *l, const char *name, uint16_t own, uint16_t moving);

#endif
