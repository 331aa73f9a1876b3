/* Keys that follow from others where neither the plan nor its stack says otherwise: what a
 * launch command of the stack would give. */
#ifndef MOEPLAN_PLAN_READ_FOLLOW_H
#define MOEPLAN_PLAN_READ_FOLLOW_H

#include <stdbool.h>

struct loader; /* plan/read/apply.h */
struct model;

/* What the keys of a model's own that the loader has read leave open; `model` is the loader's,
 * or a copy of it as far as it is read. */
void follow_model(const struct loader *loader, struct model *model);

/* After all keys of the plan are read and before the rules: serving keeps the checkpoint's
 * format; experts lie as the stack's launch lays them; one rank has nobody to talk to.
 * `file` is the plan's own. What it sets has the origin of the key it follows from. */
void follow_layout(struct loader *loader, const char *file);

/* What degrees of experts follow from under a plan's stack. */
enum following {
    FOLLOWS_LITTLE,  /* nothing */
    FOLLOWS_TENSORS, /* the tensor-parallel ranks */
    FOLLOWS_RANKS,   /* all ranks: an engine */
};
struct plan;
enum following follow_of(const struct plan *plan);

/* Whether other keys may follow from this one: after a change of it they are read anew. */
bool follow_from(const char *key, enum following who);

#endif
