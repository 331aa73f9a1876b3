/* See home.h. What the build knows comes as definitions: MOEPLAN_SOURCE_DIR, MOEPLAN_DATA_DIR
 * and MOEPLAN_MODULE_DIR (of the install prefix), and the way from the installed binary to
 * both, MOEPLAN_DATA_BESIDE and MOEPLAN_MODULE_BESIDE. */
#include "base/home.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOME_BYTES = 4096 };

const char *home_user_data(void)
{
    const char *folder = getenv("MOEPLAN_DATA");
    return folder && folder[0] ? folder : NULL;
}

/* A path relative to the binary's folder; NULL where the system does not say which file is
 * running. */
static const char *beside_binary(const char *relative, struct arena *arena)
{
    char path[HOME_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || length == (ssize_t)sizeof path)
        return NULL;
    while (length > 0 && path[length - 1] != '/')
        length--;
    return arena_printf(arena, "%.*s%s", (int)length, path, relative);
}

const char *home_data(struct arena *arena)
{
    const char *const folders[] = {beside_binary(MOEPLAN_DATA_BESIDE, arena),
                                   MOEPLAN_SOURCE_DIR};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && access(arena_printf(arena, "%s/models", folders[i]), R_OK) == 0)
            return folders[i];
    return MOEPLAN_DATA_DIR;
}

const char *home_module(const char *name, struct arena *arena)
{
    const char *const folders[] = {beside_binary(".", arena),
                                   beside_binary(MOEPLAN_MODULE_BESIDE, arena),
                                   MOEPLAN_MODULE_DIR};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path = folders[i] ? arena_printf(arena, "%s/%s", folders[i], name) : NULL;
        if (path && access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}
