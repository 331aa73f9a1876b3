/* See again.h. */
#include "work/pass/again.h"

#include "base/text.h"

void again_all(struct again *again, uint32_t modules)
{
    again->dense |= modules;
    again->moe |= modules;
}

void again_words(struct again *again, const struct word_list *words,
                 const struct again_name *names, bool kept)
{
    for (uint64_t i = 0; i < words->n; i++)
        for (const struct again_name *name = names; name->name; name++) {
            if (!text_equal(name->name, words->word[i]))
                continue;
            again->dense = kept ? again->dense & ~name->dense : again->dense | name->dense;
            again->moe = kept ? again->moe & ~name->moe : again->moe | name->moe;
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
    if (!segment_is_layer(op->segment))
        return false;
    return (segment_has_experts(op->segment) ? again->moe : again->dense) >> op->module & 1;
}

void again_add(struct work *work, const struct again *again, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct op op = work->ops[i];
        if (!runs(again, &op))
            continue;
        op.phase = PHASE_RECOMPUTE;
        if (op.layers.node == work->use[op.segment].repeat.node)
            op.layers = work->use[op.segment].back;
        if (again->every > 1)
            op.layers =
                size_div(&work->sizes, op.layers, size_const(&work->sizes, again->every));
        if (again->some)
            op.layers = size_sub(&work->sizes, op.layers, work->use[op.segment].kept);
        work_op(work, op);
    }
}
