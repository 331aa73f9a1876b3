/* The size that a checkpoint's name tells behind its model's: "deepseek-v3-8b" begins as a
 * model of 671 billion parameters is called. See model_names.h. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/params.h"
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

double model_name_size(const char *rest)
{
    double size = 0;
    for (const char *at = rest; *at && !(size > 0);) {
        size_t skip = strspn(at, "-_"), length = strcspn(at + skip, "-_");
        size = size_at(at + skip, length);
        at += skip + length;
    }
    return size;
}

/* Names round, and count the embedding or not: within a fifth it is the same number. */
static bool is_near(double size, uint64_t parameters)
{
    return fabs(size * 1e9 - (double)parameters) < 0.2 * (double)parameters;
}

bool model_has_size(const struct model *model, double size)
{
    struct params params;
    params_count(model, &params);
    return is_near(size, params.parameters) || is_near(size, params.active);
}
