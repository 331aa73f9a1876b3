/* Paths: the ways to execute an MoE layer, one file each (<name>.c), one row here. */
#ifndef MOEPLAN_WORK_PATH_PATH_H
#define MOEPLAN_WORK_PATH_PATH_H

#include "work/piece/layer.h"

struct path {
    enum moe_path path;
    bool backward;     /* it has one */
    const char *title; /* one line for lists */
    /* Adds the ops between the router (l->x, l->phys, l->gates) and the layer's routed output;
     * returns that buffer, [T, H] of the activations' dtype. */
    uint16_t (*build)(struct layer *l);
};

/* The row of a path; NULL for PATH_AUTO. */
const struct path *path_find(enum moe_path path);

uint16_t path_capacity_build(struct layer *l);
uint16_t path_ragged_a2a_build(struct layer *l);
uint16_t path_deepep_build(struct layer *l);
uint16_t path_deepep_ll_build(struct layer *l);
uint16_t path_rdep_build(struct layer *l);
uint16_t path_blockwise_build(struct layer *l);
uint16_t path_selective_build(struct layer *l);
uint16_t path_all_experts_build(struct layer *l);
uint16_t path_masked_build(struct layer *l);
uint16_t path_expert_loop_build(struct layer *l);
uint16_t path_chunked_a2a_build(struct layer *l);
uint16_t path_allgather_build(struct layer *l);

/* The experts of block_sparse: rows x padded to blocks, y likewise. */
uint16_t path_block_sparse_expert(struct layer *l, uint16_t x, struct extent padded,
                                  uint16_t offsets);

#endif
