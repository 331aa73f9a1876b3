/* The MPI transport is a module opened at run time, so that the binary starts where MPI is
 * absent; base/home.h says where it stands. */
#include <dlfcn.h>
#include <string.h>

#include "base/home.h"
#include "exec/transport/transport.h"

typedef enum status open_fn(double timeout_s, struct transport **out, struct err *err);

static const char module_name[] = "moeplan_mpi.so";

/* The module stays open: MPI may be initialised once per process only. RTLD_GLOBAL, because the
 * library opens plug-ins of its own that look for its symbols. */
static enum status open_module(void **module, struct err *err)
{
    struct arena arena = {0};
    const char *path = home_module(module_name, &arena);
    *module = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!path) {
        err_set(err, STATUS_ABSENT, "transport \"mpi\" cannot be opened: \"%s\" is absent",
                module_name);
        err_hint(err, "install MPI (apt-get install libopenmpi-dev openmpi-bin) and build "
                      "again, which ./bootstrap does, or use --transport local");
    } else if (!*module) {
        err_set(err, STATUS_ABSENT, "transport \"mpi\" cannot be opened: %s", dlerror());
        err_hint(err, "the module was built, but does not load here: is the MPI library that "
                      "it was built with installed?");
    }
    arena_release(&arena);
    return err->status;
}

enum status transport_mpi_open(double timeout_s, struct transport **out, struct err *err)
{
    void *module;
    TRY(open_module(&module, err));
    void *symbol = dlsym(module, "moeplan_transport_mpi_open");
    open_fn *open = NULL;
    if (!symbol)
        return err_set(err, STATUS_ABSENT, "\"%s\" is not of this version", module_name);
    memcpy(&open, &symbol, sizeof symbol);
    return open(timeout_s, out, err);
}
