/* Blockwise matmul (seed 002): tokens mapped to fixed blocks of one expert each.
 *
 * Source of the algorithm: neuronx-distributed and the BWMM kernels (seed-systems.md B2, B3).
 */
#ifndef MOEPLAN_WORK_ROWS_BLOCKS_H
#define MOEPLAN_WORK_ROWS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* Blocks that any counts fit: the document's ceil(M / B) + E - 1, and the tight worst case
 * ceil((M - (E - 1)) / B) + E - 1, at most M (M rows, E experts held, block B > 0). */
uint64_t blocks_document(uint64_t rows, uint64_t experts, uint64_t block);
uint64_t blocks_tight(uint64_t rows, uint64_t experts, uint64_t block);

/* Blocks that hold these counts: sum of ceil(n / B). */
uint64_t blocks_needed(const uint64_t *counts, uint64_t experts, uint64_t block);

/* The experts of n blocks that these counts fill one expert after the other; blocks behind them
 * belong to the last expert. Returns the blocks filled. */
uint64_t blocks_experts(const uint64_t *counts, uint64_t experts, uint64_t block, uint64_t n,
                        int32_t *expert);

struct block_map {
    uint64_t blocks, block; /* N and B: set by the caller */
    int32_t *expert;        /* [N] expert of a block; trailing ones: the last expert */
    int32_t *token;         /* [N B] token of a position, -1: padding */
    uint8_t *condition;     /* [N] whether any token stands in the block */
    uint64_t valid;         /* blocks with tokens: a prefix */
};

/* Fills the map from ids [T][K]: experts first .. first + experts - 1 are held here, others are
 * not ours; an expert's tokens come in ascending order. cursor [experts] is scratch. False when
 * N blocks do not hold the rows (the map is not filled then). */
bool blocks_fill(const int32_t *ids, uint64_t tokens, uint64_t top_k, uint64_t first,
                 uint64_t experts, uint64_t *cursor, struct block_map *map);

/* How two cores share the blocks of a loop. */
enum block_order {
    BLOCKS_ONE_CORE,
    BLOCKS_PING_PONG, /* even and odd blocks */
    BLOCKS_HI_LO      /* first and second half, the first one longer */
};

/* Weight loads of the first n blocks: every block without skipping; with it a core loads only
 * when its previous block had another expert. */
uint64_t blocks_weight_loads(const int32_t *expert, uint64_t n, bool skip,
                             enum block_order order);

/* Blocks executed when a loop runs `fixed` of them unconditionally and then those that hold
 * tokens, `step` at a time (2: cores in lockstep). */
uint64_t blocks_executed(uint64_t fixed, uint64_t valid, uint64_t provisioned, uint64_t step);

/* Unconditional blocks: NxD's ceil(ceil(T K / EP) / B), and the kernel's default N - E. */
uint64_t blocks_fixed_nxd(uint64_t rows, uint64_t ranks, uint64_t block);
uint64_t blocks_fixed_kernel(uint64_t provisioned, uint64_t experts);

/* What sharding one block over two cores costs (seed-systems.md B4); FLOPs are 6 B H I either
 * way, half on each core. Elements, not bytes, per core. */
struct block_cost {
    uint64_t weights;   /* read per weight load */
    uint64_t tokens;    /* read per block */
    uint64_t sent;      /* to the other core per block */
    uint64_t sent_once; /* to the other core per layer */
    bool weight_skip;   /* the kernel can skip weight loads */
};

/* gather: shard on H with reduce-scatter and all-gather (1.5 B I) in place of a full exchange
 * of partial gate and up products (2 B I). top_k 1 needs no final sum when sharding blocks. */
struct block_cost blocks_shard_cost(enum shard shard, uint64_t tokens, uint64_t top_k,
                                    uint64_t hidden, uint64_t inter, uint64_t block,
                                    bool gather);

#endif
