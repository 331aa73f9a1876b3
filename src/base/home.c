/* See home.h. What the build knows comes as definitions: MOEPLAN_SOURCE_DIR, MOEPLAN_DATA_DIR
 * and MOEPLAN_MODULE_DIR (of the install prefix), and the way from the installed binary to
 * both, MOEPLAN_DATA_BESIDE and MOEPLAN_MODULE_BESIDE, and from the installed library to the
 * data, MOEPLAN_DATA_BESIDE_LIBRARY. */
#define _GNU_SOURCE /* dladdr */
#include "base/home.h"

#include "base/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOME_BYTES = 4096 };

const char *home_user_data(void)
{
    const char *folder = getenv("MOEPLAN_DATA");
    return folder && folder[0] ? folder : NULL;
}

/* The shared library that this code is part of; false in a program. */
static bool own_library(char path[HOME_BYTES])
{
    static const char here = 0; /* any address of ours */
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname || !strstr(info.dli_fname, ".so"))
        return false;
    return snprintf(path, HOME_BYTES, "%s", info.dli_fname) < HOME_BYTES;
}

/* A path relative to a file's folder. */
static const char *beside(const char *file, const char *relative, struct arena *arena)
{
    const char *slash = strrchr(file, '/');
    size_t length = slash ? (size_t)(slash - file) + 1 : 0;
    return arena_printf(arena, "%.*s%s", (int)length, file, relative);
}

/* A path relative to the binary's folder; NULL where the system does not say which file is
 * running. */
static const char *beside_binary(const char *relative, struct arena *arena)
{
    char path[HOME_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || length == (ssize_t)sizeof path)
        return NULL;
    path[length] = '\0';
    return beside(path, relative, arena);
}

const char *home_data(struct arena *arena)
{
    char library[HOME_BYTES];
    const char *installed = own_library(library)
                                ? beside(library, MOEPLAN_DATA_BESIDE_LIBRARY, arena)
                                : beside_binary(MOEPLAN_DATA_BESIDE, arena);
    const char *const folders[] = {installed, MOEPLAN_SOURCE_DIR};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && access(arena_printf(arena, "%s/models", folders[i]), R_OK) == 0)
            return folders[i];
    return MOEPLAN_DATA_DIR;
}

const char *home_file(const char *relative, struct arena *arena)
{
    const char *const folders[] = {home_user_data(), home_data(arena)};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path =
            folders[i] ? arena_printf(arena, "%s/%s", folders[i], relative) : NULL;
        if (path && file_is_there(path))
            return path;
    }
    return NULL;
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
