/* Arithmetic between printed figures of a document. */
#include <math.h>

#include "calib/claim/claim_quantity.h"

static struct claim_answer value(struct claim_call *call)
{
    return claim_is(claim_number(call, "x"));
}

static struct claim_answer ratio(struct claim_call *call)
{
    double divisor = claim_number(call, "of");
    return claim_is(claim_number(call, "a") / divisor);
}

static struct claim_answer product(struct claim_call *call)
{
    return claim_is(claim_number(call, "a") * claim_number(call, "b") *
                    claim_number_or(call, "c", 1));
}

static struct claim_answer difference(struct claim_call *call)
{
    double from = claim_number(call, "from");
    return claim_is((from - claim_number(call, "less")) * claim_number_or(call, "scale", 1));
}

/* Share lost on the way from one figure to another. */
static struct claim_answer lost(struct claim_call *call)
{
    double from = claim_number(call, "from");
    return claim_is(1 - claim_number(call, "to") / from);
}

static struct claim_answer gained(struct claim_call *call)
{
    double from = claim_number(call, "from");
    return claim_is(claim_number(call, "to") / from - 1);
}

static struct claim_answer largest(struct claim_call *call)
{
    double values[64];
    size_t n = claim_numbers(call, "values", 64, values);
    double most = -HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, values[i]);
    return claim_is(most);
}

/* Which of two loses the smaller share: "first" or "second". */
static struct claim_answer loses_less(struct claim_call *call)
{
    double first_from = claim_number(call, "first_from");
    double second_from = claim_number(call, "second_from");
    double first = 1 - claim_number(call, "first_to") / first_from;
    double second = 1 - claim_number(call, "second_to") / second_from;
    struct claim_answer answer =
        claim_says(first < second ? claim_word(call, "first") : claim_word(call, "second"));
    answer.note =
        arena_printf(call->arena, "%s loses %.1f %%, %s %.1f %%", claim_word(call, "first"),
                     100 * first, claim_word(call, "second"), 100 * second);
    return answer;
}

static struct claim_answer at_most(struct claim_call *call)
{
    return claim_at_most(claim_number(call, "x"));
}

const struct claim_quantity claim_plain[] = {
    {"value", value, CLAIM_ARITHMETIC},     {"ratio", ratio, CLAIM_ARITHMETIC},
    {"product", product, CLAIM_ARITHMETIC}, {"difference", difference, CLAIM_ARITHMETIC},
    {"share_lost", lost, CLAIM_ARITHMETIC}, {"share_gained", gained, CLAIM_ARITHMETIC},
    {"largest", largest, CLAIM_ARITHMETIC}, {"loses_less", loses_less, CLAIM_ARITHMETIC},
    {"at_most", at_most, CLAIM_ARITHMETIC}, {NULL, NULL, CLAIM_UNANSWERED},
};
