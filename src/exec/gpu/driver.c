/* The table of drivers and how their libraries are opened; see driver.h. */
#include "exec/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct gpu_driver *gpu_driver_at(unsigned i)
{
    static const struct gpu_driver *const rows[] = {
#define GPU_DRIVER_ROW(name) &gpu_driver_##name,
        GPU_DRIVERS(GPU_DRIVER_ROW)
#undef GPU_DRIVER_ROW
            NULL};
    return i < sizeof rows / sizeof *rows ? rows[i] : NULL;
}

static void *open_in(const char *folder, const char *below, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    return n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Toolkits are often where the loader is not told to look. */
static void *open_in_toolkits(const char *name)
{
    static const struct {
        const char *variable, *otherwise, *below; /* folders */
    } toolkits[] = {{"CUDA_HOME", "/usr/local/cuda", "/lib64"},
                    {"CUDA_PATH", "/usr/local/cuda", "/lib64"},
                    {"ROCM_PATH", "/opt/rocm", "/lib"}};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof toolkits / sizeof *toolkits; i++) {
        const char *said = getenv(toolkits[i].variable);
        library =
            open_in(said && *said ? said : toolkits[i].otherwise, toolkits[i].below, name);
    }
    return library;
}

void *gpu_library_open(const char *name)
{
    const char *folder = getenv("MOEPLAN_GPU_LIBRARIES");
    if (folder && *folder)
        return open_in(folder, "", name);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library ? library : open_in_toolkits(name);
}

enum status gpu_library_bind(void *library, const char *library_name, const char *const *names,
                             unsigned n, void *table, struct err *err)
{
    for (unsigned i = 0; i < n; i++) {
        void *symbol = dlsym(library, names[i]);
        if (!symbol)
            return err_set(err, STATUS_ABSENT, "\"%s\" has no \"%s\": it is too old",
                           library_name, names[i]);
        memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return STATUS_OK;
}

void *gpu_library_find(void *library, const char *name)
{
    return dlsym(library, name);
}

void gpu_library_close(void *library)
{
    if (library)
        dlclose(library);
}
