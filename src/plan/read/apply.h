/* Nodes into fields: walks a tree by the field table, remembers where each value stood. */
#ifndef MOEPLAN_PLAN_READ_APPLY_H
#define MOEPLAN_PLAN_READ_APPLY_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/source.h"

struct shelf;

struct loader {
    struct arena *arena;
    struct plan *plan;
    struct mark *origins; /* by field; file NULL: the default */
    struct err *err;
    struct shelf *shelf;       /* the files of parts; NULL: they are read into the arena */
    const struct node *config; /* the configuration that the model is of; NULL: it is of keys */
    const char *beside;        /* notes on what stands beside its file; NULL: none */
};

/* apply_value of one --set key=value: what the key implies for others included, since it stands
 * alone. */
enum status apply_override(struct loader *loader, const char *key, const struct node *value);

/* apply_value of every entry of a mapping, below `group` ("" for the root), but for the keys
 * listed in `except` (NULL-terminated, or NULL). */
enum status apply_mapping(struct loader *loader, const char *group, const struct node *mapping,
                          const char *const *except);

/* Only looks: STATUS_INPUT as apply_value's for the first key of a plan's own mapping that is
 * none. */
enum status apply_names(struct loader *loader, const struct node *mapping,
                        const char *const *except);

/* Where a field's value came from; file NULL: its default. */
struct mark apply_origin(const struct loader *loader, const char *key);

/* Records where the field of a key came from. */
void apply_origin_set(struct loader *loader, const char *key, struct mark mark);

/* Records that all fields below a group ("model.") came from one place. */
void apply_origin_group(struct loader *loader, const char *prefix, struct mark mark);

/* The key that a value in place of this group stands for (recompute: recompute.kind), or "". */
const char *apply_shorthand(const char *key);

/* The i-th key that is no group and stands for another one (collective: block.collective), or
 * NULL behind the last. */
const char *apply_lone_shorthand(size_t i, const char **target);

#endif
