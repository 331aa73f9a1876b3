/* Keys that follow from others where neither the plan nor its stack says otherwise: what a
 * launch command of the stack would give. */
#ifndef MOEPLAN_PLAN_READ_FOLLOW_H
#define MOEPLAN_PLAN_READ_FOLLOW_H

#include <stdbool.h>

struct loader; /* plan/read/apply.h */

/* After all keys of the plan are read and before the rules: serving keeps the checkpoint's
 * format; an engine's experts lie over its tp x dp ranks; one rank has nobody to talk to.
 * `file` is the plan's own. What it sets has the origin of the key it follows from. */
void follow_layout(struct loader *loader, const char *file);

/* Whether other keys may follow from this one, of an engine's plan (plan_is_engine) or of
 * another: after a change of it they are read anew. */
bool follow_from(const char *key, bool engine);

#endif
