/* The table of paths; see path.h. */
#include "work/path/path.h"

static const struct path_system nothing;

static const struct path_system *const systems[] = {&nothing, /* auto */
#define PATH_ROW(constant, word, reads, title) &path_##word,
                                                    MOE_PATHS(PATH_ROW)
#undef PATH_ROW
};

const struct path_system *path_system_of(enum moe_path path)
{
    return systems[path];
}

uint64_t path_alignment(enum moe_path path)
{
    uint64_t alignment = path_system_of(path)->alignment;
    return alignment ? alignment : 1;
}

enum align_kind path_align(const struct plan *plan, enum moe_path path)
{
    const struct path_system *system = path_system_of(path);
    return system->align ? system->align(plan) : ALIGN_NONE;
}
