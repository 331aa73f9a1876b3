/* Blockwise mapping, weight loads, shardings; see blocks.h. */
#include "work/rows/blocks.h"

#include <string.h>

#include "base/checked.h"

uint64_t blocks_document(uint64_t rows, uint64_t experts, uint64_t block)
{
    return ceil_div(rows, block) + experts - 1;
}

uint64_t blocks_tight(uint64_t rows, uint64_t experts, uint64_t block)
{
    if (rows <= experts - 1)
        return rows;
    uint64_t blocks = ceil_div(rows - (experts - 1), block) + experts - 1;
    return blocks < rows ? blocks : rows;
}

uint64_t blocks_needed(const uint64_t *counts, uint64_t experts, uint64_t block)
{
    uint64_t sum = 0;
    for (uint64_t e = 0; e < experts; e++)
        sum += ceil_div(counts[e], block);
    return sum;
}

uint64_t blocks_experts(const uint64_t *counts, uint64_t experts, uint64_t block, uint64_t n,
                        int32_t *expert)
{
    uint64_t at = 0;
    for (uint64_t e = 0; e < experts; e++)
        for (uint64_t i = ceil_div(counts[e], block); i > 0 && at < n; i--)
            expert[at++] = (int32_t)e;
    for (uint64_t b = at; b < n; b++)
        expert[b] = (int32_t)experts - 1;
    return at;
}

/* Counts in cursor become first positions; fills the experts of the blocks. */
static bool lay_out(uint64_t experts, uint64_t *cursor, struct block_map *map)
{
    uint64_t at = 0;
    if (blocks_needed(cursor, experts, map->block) > map->blocks)
        return false;
    map->valid = blocks_experts(cursor, experts, map->block, map->blocks, map->expert);
    for (uint64_t e = 0; e < experts; e++) {
        uint64_t blocks = ceil_div(cursor[e], map->block);
        cursor[e] = at * map->block;
        at += blocks;
    }
    return true;
}

bool blocks_fill(const int32_t *ids, uint64_t tokens, uint64_t top_k, uint64_t first,
                 uint64_t experts, uint64_t *cursor, struct block_map *map)
{
    memset(cursor, 0, experts * sizeof *cursor);
    for (uint64_t i = 0; i < tokens * top_k; i++)
        if ((uint64_t)ids[i] - first < experts)
            cursor[(uint64_t)ids[i] - first]++;
    if (!lay_out(experts, cursor, map))
        return false;
    for (uint64_t i = 0; i < map->blocks * map->block; i++)
        map->token[i] = -1;
    for (uint64_t i = 0; i < tokens * top_k; i++)
        if ((uint64_t)ids[i] - first < experts)
            map->token[cursor[(uint64_t)ids[i] - first]++] = (int32_t)(i / top_k);
    for (uint64_t b = 0; b < map->blocks; b++)
        map->condition[b] = b < map->valid;
    return true;
}

/* Loads of blocks start, start + stride, ... below end. */
static uint64_t loads_of_core(const int32_t *expert, uint64_t start, uint64_t end,
                              uint64_t stride)
{
    uint64_t loads = 0;
    for (uint64_t b = start; b < end; b += stride)
        loads += b == start || expert[b] != expert[b - stride];
    return loads;
}

uint64_t blocks_weight_loads(const int32_t *expert, uint64_t n, bool skip,
                             enum block_order order)
{
    if (!skip)
        return n;
    if (order == BLOCKS_PING_PONG)
        return loads_of_core(expert, 0, n, 2) + loads_of_core(expert, 1, n, 2);
    uint64_t half = order == BLOCKS_HI_LO ? n - n / 2 : n;
    return loads_of_core(expert, 0, half, 1) + loads_of_core(expert, half, n, 1);
}

uint64_t blocks_executed(uint64_t fixed, uint64_t valid, uint64_t provisioned, uint64_t step)
{
    uint64_t needed = round_up(valid, step);
    uint64_t run = fixed > needed ? fixed : needed;
    return run < provisioned ? run : provisioned;
}

uint64_t blocks_fixed_nxd(uint64_t rows, uint64_t ranks, uint64_t block)
{
    return ceil_div(ceil_div(rows, ranks), block);
}

uint64_t blocks_fixed_kernel(uint64_t provisioned, uint64_t experts)
{
    return provisioned > experts ? provisioned - experts : 0;
}

struct block_cost blocks_shard_cost(enum shard shard, uint64_t tokens, uint64_t top_k,
                                    uint64_t hidden, uint64_t inter, uint64_t block,
                                    bool gather)
{
    uint64_t weights = 3 * hidden * inter;
    if (shard == SHARD_H)
        return (struct block_cost){.weights = weights / 2,
                                   .tokens = block * hidden / 2,
                                   .sent = gather ? 3 * block * inter / 2 : 2 * block * inter,
                                   .weight_skip = true};
    if (shard == SHARD_I)
        return (struct block_cost){
            .weights = weights / 2, .tokens = block * hidden, .sent = block * hidden / 2};
    return (struct block_cost){.weights = weights,
                               .tokens = block * hidden,
                               .sent_once = top_k > 1 ? tokens * hidden / 2 : 0,
                               .weight_skip = true};
}
