/* The table of paths; see path.h. */
#include "work/path.h"

#include <stddef.h>

static const struct path paths[] = {
    {PATH_CAPACITY, false, "capacity", path_capacity_build},
    {PATH_RAGGED_DOT, false, "ragged_dot", path_ragged_a2a_build},
    {PATH_RAGGED_A2A, false, "ragged_a2a", path_ragged_a2a_build},
    {PATH_MASKED, false, "masked", path_masked_build},
};

const struct path *path_find(enum moe_path path)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i].path == path)
            return &paths[i];
    return NULL;
}
