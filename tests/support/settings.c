/* See settings.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/settings.h"

struct override setting_of(const char *text, struct arena *arena)
{
    size_t key = strcspn(text, "=");
    if (text[key] != '=')
        fail_msg("'%s' is not key=value", text);
    const char *option = arena_printf(arena, "--set %s", text);
    return (struct override){arena_strndup(arena, text, key),
                             option + strlen("--set ") + key + 1, option};
}

size_t settings_split(const char *text, struct arena *arena, struct override *settings,
                      size_t most)
{
    size_t n = 0;
    for (const char *at = text + strspn(text, " "); *at;) {
        size_t length = strcspn(at, " ");
        if (n == most)
            fail_msg("more than %zu settings: %s", most, text);
        settings[n++] = setting_of(arena_strndup(arena, at, length), arena);
        at += length + strspn(at + length, " ");
    }
    return n;
}
