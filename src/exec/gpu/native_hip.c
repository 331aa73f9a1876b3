/* HIP: AMD's API, under CUDA's functions by other names. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/gpu/native.h"

static const char *const hip_names[] = {
#define NATIVE_NAME(field, parameters, cuda, hip) #hip,
    NATIVE_FUNCTIONS(NATIVE_NAME)
#undef NATIVE_NAME
};

static enum status hip_enter(struct native_device *d, struct err *err)
{
    d->which = (uintptr_t)d->id;
    NATIVE_TRY(d->native, current, d->which);
    return STATUS_OK;
}

/* The record of a device's properties changes from version to version; its name of the
 * architecture is looked for in the bytes. */
static enum status hip_architecture(struct native_device *d, struct err *err)
{
    enum { BYTES = 16384 };
    static const char *const names[][1] = {{"hipGetDevicePropertiesR0600"},
                                           {"hipGetDeviceProperties"}};
    struct {
        int (*get)(void *properties, int device);
    } f;
    bool newer = gpu_library_find(d->native->library, names[0][0]) != NULL;
    char *bytes = calloc(1, BYTES);
    if (!bytes)
        return err_set(err, STATUS_SYSTEM, "out of memory for a device's properties");
    enum status status = gpu_library_bind(d->native->library, "libamdhip64.so",
                                          names[newer ? 0 : 1], 1, &f, err);
    int code = status == STATUS_OK ? f.get(bytes, d->id) : 0;
    const char *at = bytes;
    while (at < bytes + BYTES - 64 && strncmp(at, "gfx", 3) != 0)
        at++;
    size_t length = strncmp(at, "gfx", 3) == 0 ? 3 : 0;
    while (length && length < 63 && isalnum((unsigned char)at[length]))
        length++;
    snprintf(d->architecture, sizeof d->architecture, "%.*s", (int)length, at);
    free(bytes);
    TRY(status);
    if (code != 0)
        return native_failed(d->native, err, names[newer ? 0 : 1][0], code);
    return length ? STATUS_OK
                  : err_set(err, STATUS_ABSENT, "HIP does not name this device's architecture");
}

static const struct native_dialect hip = {
    .title = "HIP",
    .driver = &gpu_driver_hip,
    .libraries = (const char *const[]){"libamdhip64.so.7", "libamdhip64.so.6",
                                       "libamdhip64.so.5", "libamdhip64.so", NULL},
    .names = hip_names,
    .compiler = &compiler_hiprtc,
    .enter = hip_enter,
    .architecture = hip_architecture,
};

static enum status hip_load(void **state, struct err *err)
{
    return native_load(&hip, state, err);
}

const struct gpu_driver gpu_driver_hip = {
    .name = "hip",
    .library = "libamdhip64.so",
    .hint = "AMD's ROCm with its driver; HIPRTC of the same compiles the kernels",
    .load = hip_load,
    NATIVE_ROWS};
