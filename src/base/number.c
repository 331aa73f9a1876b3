/* Numbers; see number.h. */
#include "base/number.h"

#include <string.h>

#include "base/unit.h"

enum { LIMIT_LENGTH = 32 };

bool number_is_whole(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool number_count(const char *text, uint64_t *value)
{
    uint64_t sum = 0;
    if (!number_is_whole(text))
        return false;
    for (; *text; text++)
        if (__builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
            return false;
    *value = sum;
    return true;
}

bool number_real(const char *text, double *value)
{
    return unit_parse(UNIT_NONE, text, value);
}

bool number_limits(const char *text, double *least, double *most)
{
    char from[LIMIT_LENGTH] = "";
    const char *dots = strstr(text, "..");
    if (!dots || dots - text >= LIMIT_LENGTH)
        return false;
    memcpy(from, text, (size_t)(dots - text));
    return number_real(from, least) && number_real(dots + 2, most);
}
