/* Words, titles and keys of the paths; see paths.h. */
#include "plan/paths.h"
#include "plan/derive.h"

const char *const words_path[] = {"auto",
#define PATH_WORD(constant, word, reads, title) #word,
                                  MOE_PATHS(PATH_WORD)
#undef PATH_WORD
                                      NULL};

static const struct {
    const char *title;
    unsigned reads;
} rows[] = {{"the stack's own choice; the reason is printed", 0},
#define PATH_ROW(constant, word, reads, title) {title, reads},
            MOE_PATHS(PATH_ROW)
#undef PATH_ROW
};

size_t paths_count(void)
{
    return sizeof rows / sizeof *rows;
}

const char *path_title(enum moe_path path)
{
    return rows[path].title;
}

bool path_reads(enum moe_path path, enum path_key key)
{
    return rows[path].reads & (unsigned)key;
}

bool plan_names_path(const struct plan *plan)
{
    return plan->moe.path != PATH_AUTO;
}
