/* See again.h. */
#include "work/pass/again.h"

#include "base/text.h"

void again_all(struct again *again, uint32_t modules)
{
    again->modules[SEGMENT_DENSE] |= modules;
    again->modules[SEGMENT_MOE] |= modules;
}

void again_words(struct again *again, const struct word_list *words,
                 const struct again_name *names, bool kept)
{
    for (uint64_t i = 0; i < words->n; i++)
        for (const struct again_name *name = names; name->name; name++) {
            uint32_t *dense = &again->modules[SEGMENT_DENSE];
            uint32_t *moe = &again->modules[SEGMENT_MOE];
            if (!text_equal(name->name, words->word[i]))
                continue;
            *dense = kept ? *dense & ~name->dense : *dense | name->dense;
            *moe = kept ? *moe & ~name->moe : *moe | name->moe;
        }
}

const char *again_unknown(const struct word_list *words, const struct again_name *names)
{
    for (uint64_t i = 0; i < words->n; i++) {
        const struct again_name *name = names;
        while (name->name && !text_equal(name->name, words->word[i]))
            name++;
        if (!name->name)
            return words->word[i];
    }
    return NULL;
}

static bool runs(const struct again *again, const struct op *op)
{
    for (const char *const *kept = again->kept; kept && *kept; kept++)
        if (text_equal(*kept, op->name))
            return false;
    return again->modules[op->segment] >> op->module & 1;
}

void again_add(struct work *work, const struct again *again, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct op op = work->ops[i];
        if (!runs(again, &op))
            continue;
        op.phase = PHASE_RECOMPUTE;
        if (again->every > 1)
            op.layers =
                size_div(&work->sizes, op.layers, size_const(&work->sizes, again->every));
        work_op(work, op);
    }
}
