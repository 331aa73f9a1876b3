/* The user's folders; see cache.h. */
#include "base/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool make(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *temporary_folder(void)
{
    const char *set = getenv("TMPDIR");
    return set && *set ? set : "/tmp";
}

bool cache_folder(char *path, size_t room)
{
    const char *own = getenv("MOEPLAN_CACHE"), *user = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int n;
    if (own && *own)
        n = snprintf(path, room, "%s", own);
    else if (user && *user)
        n = snprintf(path, room, "%s/moeplan", user);
    else if (home && *home) {
        n = snprintf(path, room, "%s/.cache", home);
        if (n > 0 && (size_t)n < room && make(path)) /* a fresh account has none */
            n = snprintf(path, room, "%s/.cache/moeplan", home);
    } else
        return false;
    return n > 0 && (size_t)n < room && make(path);
}
