/* See notes.h. */
#include "sim/notes.h"

#include "base/text.h"
#include "work/stack/stack.h"

/* A path is priced with any software, for comparison: that this one cannot run it is said. */
static bool path_note(const struct plan *plan, struct arena *arena, struct note *note)
{
    struct err err = {0};
    if (stack_runs(plan, stack_path(plan, NULL), &err) == STATUS_OK)
        return false;
    *note = (struct note){
        "moe.path", arena_printf(arena, "%s: priced as if it did; %s", err.text, err.hint)};
    return true;
}

const struct note *notes_of(const struct plan *plan, const struct origins *origins,
                            struct arena *arena, size_t *n)
{
    const struct unread_plan of = {plan, stack_path(plan, NULL)};
    const struct note *unread = NULL;
    size_t n_unread = 0;
    if (origins)
        unread = unread_notes(&of, origins, arena, &n_unread);
    struct note *notes = arena_alloc(arena, n_unread + 1, sizeof *notes);
    *n = path_note(plan, arena, &notes[0]) ? 1 : 0;
    for (size_t i = 0; i < n_unread; i++)
        notes[(*n)++] = unread[i];
    return notes;
}
