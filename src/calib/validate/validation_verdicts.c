/* What was told of published verdicts; see validation.h. */
#include <math.h>

#include "base/text.h"
#include "calib/validate/validation.h"
#include "plan/schema/schema.h"

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : (double)NAN;
}

static void fill_shares(struct validated_verdicts *v)
{
    const struct confusion *c = &v->confusion;
    uint64_t fits = c->fits_as_fits + c->fits_as_marginal + c->fits_as_oom,
             oom = c->oom_as_fits + c->oom_as_marginal + c->oom_as_oom;
    v->expressible = share(v->runs - v->refused, v->runs);
    v->fits_told = share(c->fits_as_fits, fits);
    v->oom_told = share(c->oom_as_oom, oom);
    v->marginal = share(c->fits_as_marginal + c->oom_as_marginal, fits + oom);
    v->accuracy = share(c->fits_as_fits + c->oom_as_oom, fits + oom);
    v->accuracy_of_fits = share(fits, fits + oom);
    v->balanced_accuracy = confusion_balanced_accuracy(c);
}

/* Of the rows from `first` on, those of one stack, or of all where that is NULL. */
static struct validated_verdicts count(const struct validation *validation, size_t first,
                                       const char *stack)
{
    struct validated_verdicts v = {.table = validation->rows[first].table,
                                   .stack = stack ? stack : "all"};
    for (size_t i = first; i < validation->n; i++) {
        const struct validated *row = &validation->rows[i];
        if (!text_equal(row->quantity, VALIDATE_VERDICT_QUANTITY) ||
            (stack && !text_equal(row->stack, stack)))
            continue;
        v.runs++;
        v.refused += row->verdict == VALIDATE_NOT_PREDICTED;
        if (row->verdict != VALIDATE_NOT_PREDICTED)
            confusion_add(&v.confusion, row->published, row->predicted);
    }
    if (stack && !stack[0])
        v.stack = "not said";
    fill_shares(&v);
    return v;
}

static void append(struct validation *validation, const struct validated_verdicts *verdicts,
                   struct arena *arena)
{
    validation->verdicts =
        arena_grow(arena, validation->verdicts, validation->n_verdicts,
                   &validation->verdict_capacity, sizeof *validation->verdicts);
    validation->verdicts[validation->n_verdicts++] = *verdicts;
}

void validation_verdicts(struct validation *validation, size_t first, struct arena *arena)
{
    size_t stacks = 0;
    struct validated_verdicts v;
    for (size_t kind = 0; words_stack[kind] && first < validation->n; kind++) {
        v = count(validation, first, words_stack[kind]);
        if (!v.runs)
            continue;
        append(validation, &v, arena);
        stacks++;
    }
    if (first == validation->n)
        return;
    v = count(validation, first, "");
    if (v.runs) {
        append(validation, &v, arena);
        stacks++;
    }
    v = count(validation, first, NULL);
    if (stacks > 1)
        append(validation, &v, arena);
}
