/* What somebody means by a name that the catalogue does not have: another spelling, the
 * beginning of names, a size written in another way, a typing error. */
#ifndef MOEPLAN_PLAN_READ_GUESS_H
#define MOEPLAN_PLAN_READ_GUESS_H

#include "plan/read/catalog.h"

/* "deepseek-ai/DeepSeek-V3" -> "deepseek-v3": how the catalogue would write it. */
char *guess_spelling(const char *name, struct arena *arena);

/* A hint ("did you mean 'deepseek-v3'?", "did you mean one of 'a', 'b'?"), or NULL where
 * nothing is near. `what` is "model", "cluster" or "stack"; the items are all there is. */
const char *guess_hint(enum catalog_kind kind, const char *what, const char *name,
                       const struct catalog_item *items, size_t n, struct arena *arena);

#endif
