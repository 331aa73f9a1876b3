/* What a profile's runs had, and whether a plan leaves it; see profile.h. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/data/profile.h"
#include "plan/schema/schema.h"

/* "4..16" holds 8; any other text holds itself. */
static bool holds(const char *allowed, const char *value)
{
    const char *dots = strstr(allowed, "..");
    double low, high, x;
    char first[64];
    if (!dots || (size_t)(dots - allowed) >= sizeof first)
        return text_equal(allowed, value);
    memcpy(first, allowed, (size_t)(dots - allowed));
    first[dots - allowed] = '\0';
    return number_real(first, &low) && number_real(dots + 2, &high) && number_real(value, &x) &&
           x >= low && x <= high;
}

void profile_left_runs(const struct profile *profile, const struct plan *plan, struct text *out)
{
    struct arena arena = {0};
    for (size_t i = 0; i < profile->n_runs; i++) {
        const struct profile_run *run = &profile->runs[i];
        struct text value = {.arena = &arena};
        bool held = false;
        schema_print(schema_find(run->key), plan, &value);
        for (size_t j = 0; run->values[j] && !held; j++)
            held = holds(run->values[j], text_string(&value));
        if (!held)
            text_printf(out, "%s%s %s", out->length ? ", " : "", run->key, text_string(&value));
    }
    arena_release(&arena);
}
