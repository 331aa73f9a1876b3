/* Quantities by name; see claim_quantity.h. */
#include "calib/claim/claim_quantity.h"

#include "base/text.h"

static const struct claim_quantity *const topics[] = {
    claim_plain,  claim_memory, claim_routing, claim_blocks,
    claim_neuron, claim_mesh,   claim_time,
};

enum { N_TOPICS = sizeof topics / sizeof *topics };

static const struct claim_quantity *at(size_t i)
{
    for (size_t t = 0; t < N_TOPICS; t++)
        for (const struct claim_quantity *q = topics[t]; q->name; q++)
            if (i-- == 0)
                return q;
    return NULL;
}

static const char *name_at(const void *table, size_t i)
{
    (void)table;
    return at(i)->name;
}

const struct claim_quantity *claim_quantity_find(const char *name, const char **nearest)
{
    size_t n = 0;
    for (const struct claim_quantity *q = at(n); q; q = at(++n))
        if (text_equal(q->name, name))
            return q;
    *nearest = text_nearest(name, n, name_at, NULL);
    return NULL;
}
