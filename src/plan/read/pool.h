/* Inside plan/read/load: the part `prefill` of a plan, keys that its prefill servers have
 * otherwise. */
#ifndef MOEPLAN_PLAN_READ_POOL_H
#define MOEPLAN_PLAN_READ_POOL_H

#include "plan/read/apply.h"
#include "plan/read/origins.h"

#define POOL_KEY "prefill"

/* The user's overrides with their values as read. */
struct pool_sets {
    const struct override *items;
    struct node *const *values;
    size_t n;
};

/* The part, an empty one where overrides alone have keys of it; NULL: neither. */
const struct node *pool_find(const struct node *root, const struct pool_sets *sets);

/* STATUS_INPUT for what is no such part, and for a model or a stack of its own. */
enum status pool_check(struct loader *loader, const struct node *pool,
                       const struct pool_sets *sets);

/* The cluster of prefill servers, where it is another than the plan's; NULL: it is not. */
const struct node *pool_cluster(const struct node *pool, const struct pool_sets *sets);

/* Overrides of the plan, or of the part alone, but for those of whole parts. */
enum status pool_apply_sets(struct loader *loader, const struct pool_sets *sets, bool pool);

/* The part on top of the plan that the loader has read: who prefills does nothing else. */
enum status pool_apply(struct loader *loader, const struct node *pool,
                       const struct pool_sets *sets);

/* The plan itself, which decodes. STATUS_INPUT where it cannot. */
enum status pool_set_apart(struct loader *loader, const struct node *pool);

#endif
