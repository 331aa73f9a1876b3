/* The MPI transport is a module opened at run time, so that the binary starts where MPI is
 * absent. It stands beside the binary, or where installation put it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/transport/transport.h"

typedef enum status open_fn(struct transport **out, struct err *err);

static const char module_name[] = "moeplan_mpi.so";

static void beside_binary(char path[1024])
{
    char self[900];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(path, 1024, "%s/%s", self, module_name);
}

/* The module stays open: MPI may be initialised once per process only. RTLD_GLOBAL, because the
 * library opens plug-ins of its own that look for its symbols. */
static void *open_module(void)
{
    char path[1024];
    beside_binary(path);
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (module)
        return module;
    snprintf(path, sizeof path, "%s/%s", MOEPLAN_MODULE_DIR, module_name);
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

enum status transport_mpi_open(struct transport **out, struct err *err)
{
    void *module = open_module();
    if (!module) {
        err_set(err, STATUS_ABSENT, "transport \"mpi\" cannot be opened: \"%s\" is absent",
                module_name);
        return err_hint(err, "install MPI (apt-get install libopenmpi-dev openmpi-bin) and "
                             "build again, or use --transport local");
    }
    void *symbol = dlsym(module, "moeplan_transport_mpi_open");
    open_fn *open = NULL;
    if (!symbol)
        return err_set(err, STATUS_ABSENT, "\"%s\" is not of this version", module_name);
    memcpy(&open, &symbol, sizeof symbol);
    return open(out, err);
}
