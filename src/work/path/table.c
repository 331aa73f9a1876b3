/* The table of paths; see path.h. */
#include "work/path/path.h"

#include <stddef.h>

static const struct path paths[] = {
    {PATH_CAPACITY, true, "capacity", path_capacity_build},
    {PATH_RAGGED_DOT, true, "ragged_dot", path_ragged_a2a_build},
    {PATH_RAGGED_A2A, true, "ragged_a2a", path_ragged_a2a_build},
    {PATH_DEEPEP, true, "deepep", path_deepep_build},
    {PATH_DEEPEP_LL, false, "deepep_ll", path_deepep_ll_build},
    {PATH_RDEP, true, "rdep", path_rdep_build},
    {PATH_BLOCKWISE, true, "blockwise", path_blockwise_build},
    {PATH_SELECTIVE, true, "selective", path_selective_build},
    {PATH_ALL_EXPERTS, true, "all_experts", path_all_experts_build},
    {PATH_MASKED, true, "masked", path_masked_build},
    {PATH_EXPERT_LOOP, true, "expert_loop", path_expert_loop_build},
    {PATH_CHUNKED_A2A, true, "chunked_a2a", path_chunked_a2a_build},
    {PATH_ALLGATHER, true, "allgather", path_allgather_build},
    {PATH_BLOCK_SPARSE, true, "block_sparse", path_ragged_a2a_build},
};

const struct path *path_find(enum moe_path path)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i].path == path)
            return &paths[i];
    return NULL;
}
