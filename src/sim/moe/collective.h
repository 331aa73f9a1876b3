/* What collectives cost over p ranks, and the collective matmuls of seed 003.
 *
 * Bytes V are those of the whole array: what a rank holds before a reduce-scatter or after an
 * all-gather. w is the bandwidth of one link one way, the latency is per hop. All ranks start
 * together and links carry nothing else. Source: seed-systems.md C3 and the scaling book. */
#ifndef MOEPLAN_SIM_MOE_COLLECTIVE_H
#define MOEPLAN_SIM_MOE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum fabric_shape {
    FABRIC_CROSSBAR, /* a switch: every pair at w */
    FABRIC_ONE_WAY,  /* a ring used in one direction */
    FABRIC_RING,     /* a ring used in both directions */
    FABRIC_LINE      /* an axis that does not close */
};

struct fabric {
    enum fabric_shape shape;
    uint64_t ranks;
    double bytes_per_s, latency_s;
};

/* Seconds. One rank, or nothing to send, costs nothing. */
double collective_all_gather(const struct fabric *fabric, double bytes);
double collective_reduce_scatter(const struct fabric *fabric, double bytes); /* the same */
double collective_all_reduce(const struct fabric *fabric, double bytes);     /* both in turn */

/* All-to-all by bisection: every rank has a send buffer of `buffer` bytes, half of all of it
 * crosses the cut, `links` links one way. */
double collective_all_to_all_cut(uint64_t ranks, double buffer, uint64_t links,
                                 double link_bytes_per_s);

/* Recursive halving with the far partner first: (p-1)/p V/w on a switch; on a line messages of
 * one step share links: V (p^2 - 1) / (3 p w). Ranks: a power of two. */
double collective_halving(const struct fabric *fabric, double bytes);

/* ---- overlap with a matmul ---- */

/* Product and exchange in n tiles, each tile exchanged while the next is multiplied. */
double collective_tiled(double matmul_s, double exchange_s, uint64_t tiles);

/* All-gather matmul that multiplies the chunk at hand while the next one arrives (Wang et al.):
 * p products, p - 1 hops of a chunk. */
double collective_gather_matmul(double matmul_s, double gather_s, uint64_t ranks);

/* ---- a plan with a block other than moe ---- */

struct collective_block {
    enum block_kind kind;
    uint64_t ranks;                    /* tp */
    double flop;                       /* of a rank's products */
    double matmul_s;                   /* at peak */
    double gather_bytes, reduce_bytes; /* V of the all-gather and of the reduction */
    double bytes_sent;                 /* by a rank */
    double gather_s, reduce_s;
    double serial_s;     /* one after the other */
    double overlapped_s; /* the schedule that overlaps them; serial for an MLP: each depends on
                          * the one before */
};

/* Shapes: x [T, H/tp], hidden H, dense_intermediate F sharded over tp, activations in
 * precision.activations. Axis of the mesh of that length where the cluster has a mesh, else a
 * switch. `tiles` of the overlapped all-reduce. False for block moe. */
bool collective_block_of(const struct plan *plan, uint64_t tiles, struct collective_block *out);

#endif
