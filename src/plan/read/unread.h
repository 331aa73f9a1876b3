/* Which keys a plan reads: what predict computes does not depend on the others.
 *
 * The table of unread_table.c says for each key when it is read; a key without a row is always
 * read. Where the table says that a key is not read, another value of it changes no number of
 * the plan's prediction, as long as it is not read with that value either (a property test
 * changes them). Fixes are other plans, and may read more. */
#ifndef MOEPLAN_PLAN_READ_UNREAD_H
#define MOEPLAN_PLAN_READ_UNREAD_H

#include <stddef.h>

#include "plan/read/load.h"
#include "plan/schema/schema.h"

/* Something a reader should know beside the numbers. */
struct note {
    const char *key;  /* of the plan file */
    const char *text; /* "not read, recompute.kind is none" */
    bool weighs;      /* the answer stands or falls with it: said however short the screen */
};

static inline struct note note_of(const char *key, const char *text)
{
    return (struct note){key, text, false};
}

/* One that weighs. */
static inline struct note note_loud(const char *key, const char *text)
{
    return (struct note){key, text, true};
}

/* A plan and what its stack makes of moe.path: auto. */
struct unread_plan {
    const struct plan *plan;
    enum moe_path path; /* resolved: never auto */
};

/* Why the plan does not read the field, as a note's text; NULL when it reads it. */
const char *unread_reason(const struct field *field, const struct unread_plan *of,
                          struct arena *arena);

/* A note for each key that the user set and the plan does not read, in the order of the field
 * table; *n is their number. */
const struct note *unread_notes(const struct unread_plan *of, const struct origins *origins,
                                struct arena *arena, size_t *n);

/* Whether the value of `other` decides if the field is read. */
bool unread_depends(const struct field *field, const char *other);

/* When the field is read, for help: "when moe.path is chunked_a2a", "not yet, why"; NULL:
 * always. */
const char *unread_when(const struct field *field, struct arena *arena);

#endif
