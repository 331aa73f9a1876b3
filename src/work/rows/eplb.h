/* Expert placement with replicas as DeepSeek's load balancer does it (deepseek-ai/EPLB).
 *
 * Hierarchical: groups of experts are packed onto nodes, experts are replicated inside a node,
 * replicas are packed onto the node's ranks. Global: the same with one group and one node. */
#ifndef MOEPLAN_WORK_ROWS_EPLB_H
#define MOEPLAN_WORK_ROWS_EPLB_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct eplb {
    uint64_t experts, replicas, ranks;
    uint32_t *expert; /* [P] logical expert of physical slot; slots of rank r are contiguous */
    uint32_t *count;  /* [E] replicas of an expert, at least 1 */
    double *load;     /* [R] expected load of a rank, replicas sharing evenly */
};

/* groups and nodes 1: global policy. STATUS_INPUT unless replicas >= experts, and replicas
 * divide by ranks, ranks by nodes, experts by groups, groups by nodes. Ties go to the lowest
 * index; the sort is stable. Memory from the arena. */
enum status eplb_place(const double *weight, uint64_t experts, uint64_t replicas,
                       uint64_t groups, uint64_t nodes, uint64_t ranks, struct arena *arena,
                       struct eplb *out, struct err *err);

/* Packs n items into m packs of n / m each, heaviest first onto the lightest pack with room;
 * with one item per pack the identity. pack[i], and place[i] within it. */
void eplb_pack(const double *weight, uint64_t n, uint64_t m, struct arena *arena,
               uint32_t *pack, uint32_t *place);

#endif
