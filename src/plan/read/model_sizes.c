/* Whether a checkpoint's name tells of another size than its model's: "deepseek-v3-8b" begins
 * as a model of 671 billion parameters is called. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/params.h"
#include "plan/read/load.h"
#include "plan/read/model_names.h"

/* "8b", "0.5b" up to the next blank of a name: billions; 0: no size. */
static double size_at(const char *word, size_t length)
{
    char text[16], *end;
    if (length < 2 || length >= sizeof text || word[length - 1] != 'b' ||
        !isdigit((unsigned char)word[0]))
        return 0;
    memcpy(text, word, length - 1);
    text[length - 1] = '\0';
    double size = strtod(text, &end);
    return *end ? 0 : size;
}

/* Names round, and count the embedding or not: within a fifth it is the same number. */
static bool is_near(double size, uint64_t parameters)
{
    return fabs(size * 1e9 - (double)parameters) < 0.2 * (double)parameters;
}

bool model_size_differs(const char *model, const char *rest, struct arena *arena)
{
    double size = 0;
    for (const char *at = rest; *at && !(size > 0);) {
        size_t skip = strspn(at, "-_"), length = strcspn(at + skip, "-_");
        size = size_at(at + skip, length);
        at += skip + length;
    }
    if (!(size > 0))
        return false;
    const char *text = arena_printf(arena, "{model: '%s', cluster: h100-8x1}", model);
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct origins origins = {0};
    struct params params;
    struct err err = {0};
    if (plan_load_text(model, text, strlen(text), NULL, 0, arena, plan, &origins, &err) !=
        STATUS_OK)
        return false;
    params_count(&plan->model, &params);
    return !is_near(size, params.parameters) && !is_near(size, params.active);
}
