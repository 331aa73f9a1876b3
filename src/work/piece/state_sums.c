/* Sums of gradients over the micro-batches of a step; see state.h. */
#include "base/text.h"
#include "work/piece/state.h"

/* The tick of a name; 0: there is none. */
static uint16_t tick_named(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->n_ticks; i++)
        if (work->ticks[i].name && text_equal(work->ticks[i].name, name))
            return (uint16_t)i;
    return 0;
}

bool step_is_away(const struct work *work, uint16_t *first, uint16_t *last)
{
    *first = tick_named(work, "sync");
    *last = tick_named(work, "rollout");
    return *last > 0;
}

void step_accumulate(struct work *work, enum dtype dtype, struct size elements,
                     const char *source)
{
    struct sizes *z = &work->sizes;
    struct size several = size_beyond(z, size_slot(z, SLOT_ACCUMULATION), size_const(z, 1));
    struct buffer sum = {.name = "accumulated_gradients",
                         .category = CATEGORY_GRADIENTS,
                         .segment = SEGMENT_STEP,
                         .dtype = dtype,
                         .n_dims = 1,
                         .dims = {size_mul(z, elements, several)},
                         .life = LIFE_PERSISTENT,
                         .source = source};
    sum.leaves = step_is_away(work, &sum.first, &sum.last);
    work_buffer(work, sum);
}
