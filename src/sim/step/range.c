/* See range.h. */
#include "sim/step/range.h"

#include <math.h>

#include "base/text.h"

/* The size that a family's table counts: tokens of the group, or bytes of a whole collective.
 */
static double size_of(const struct pricing *p, enum profile_item item, const struct op *op,
                      const uint64_t *v)
{
    double ranks = p->place[op->group].ranks;
    if (item == PROFILE_EXPERTS)
        return p->tokens;
    double bytes = fmax((double)v[op->bytes_sent.node], (double)v[op->bytes_received.node]);
    return ranks > 1 ? bytes * ranks / (ranks - 1) / (item == PROFILE_ALL_REDUCE ? 2 : 1) : 0;
}

/* The row that says on which sizes the kernel of an item was fitted, or NULL. */
static const struct constant *fitted_on(const struct profile *profile, enum profile_item item,
                                        const struct plan *plan)
{
    int path = (int)plan->moe.path, compute = (int)plan->precision.compute;
    const struct constant *c = profile_find(profile, item, PROFILE_OVERHEAD, path, compute,
                                            PROFILE_SCALE_UP),
                          *share = profile_find(profile, item, PROFILE_EFFICIENCY, path,
                                                compute, PROFILE_SCALE_UP);
    return profile_is_of_kernel(share, c) ? c : NULL;
}

/* How far outside: 1 within the range. A message below it takes its start, whatever its size.
 */
static double beyond(const struct constant *c, double size, bool link)
{
    if (size <= 0)
        return 1;
    return fmax(1, fmax(link ? 1 : c->least / size, size / c->most));
}

const char *range_outside(const struct profile *profile, const struct pricing *p,
                          const struct work *work, const uint64_t *v, struct arena *arena)
{
    static const char *const units[] = {"tokens", "bytes"};
    double furthest[PROFILE_ITEMS] = {0}, size[PROFILE_ITEMS] = {0};
    const struct constant *found[PROFILE_ITEMS] = {NULL};
    struct text text = {.arena = arena};
    for (size_t i = 0; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        enum profile_item item = price_is_call(p, op) ? PROFILE_EXPERTS : price_item(op, v);
        bool link = profile_item_class(item) == PROFILE_COLLECTIVE;
        if ((!link && item != PROFILE_EXPERTS) || !v[op->layers.node])
            continue;
        const struct constant *c = fitted_on(profile, item, p->plan);
        double at = size_of(p, item, op, v), far = c && c->most > 0 ? beyond(c, at, link) : 1;
        if (far <= 1.0001 || far <= furthest[item])
            continue;
        furthest[item] = far;
        size[item] = at;
        found[item] = c;
    }
    for (unsigned i = 0; i < PROFILE_ITEMS; i++)
        if (found[i])
            text_printf(&text, "%s%s at %.4g %s, fitted on %.4g to %.4g",
                        text.length ? "; " : "", profile_item_name((enum profile_item)i),
                        size[i], units[i != PROFILE_EXPERTS], found[i]->least, found[i]->most);
    return text.length ? text_string(&text) : NULL;
}
