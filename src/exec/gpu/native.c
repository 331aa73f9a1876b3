/* CUDA's driver API and HIP: two libraries whose functions are alike, one table of both names.
 *
 * Kernels are in the image that was embedded for the device's architecture (images.h), or are
 * compiled at run time (compile.h). Prototypes are our own: handles are pointers or numbers of
 * the same width in both, results are 0 or an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "exec/gpu/native.h"

/* ---- errors ---- */

enum status native_failed(const struct native *native, struct err *err, const char *call,
                          int code)
{
    int (*text)(int code, const char **text) = NULL; /* CUDA's; HIP's names differ by version */
    const char *name = NULL;
    void *symbol = gpu_library_find(native->library, "cuGetErrorName");
    if (symbol)
        memcpy(&text, &symbol, sizeof symbol);
    if (text)
        text(code, &name);
    bool no_memory = code == NATIVE_NO_MEMORY;
    return err_set(err, no_memory ? STATUS_NOFIT : STATUS_SYSTEM, "%s: %s returned %d (%s)",
                   native->dialect->title, call, code,
                   name        ? name
                   : no_memory ? "out of memory"
                               : "see its list of errors");
}

const char *native_call_name(const struct native *native, size_t offset)
{
    return native->dialect->names[offset / sizeof(void (*)(void))];
}

/* ---- libraries and devices ---- */

static enum status begin_library(struct native *native, struct err *err)
{
    const struct native_dialect *dialect = native->dialect;
    for (unsigned i = 0; !native->library && dialect->libraries[i]; i++)
        native->library = gpu_library_open(dialect->libraries[i]);
    if (!native->library)
        return err_set(err, STATUS_ABSENT, "\"%s\" is absent", dialect->driver->library);
    TRY(gpu_library_bind(native->library, dialect->driver->library, dialect->names,
                         NATIVE_FUNCTION_COUNT, &native->f, err));
    int code = native->f.init(0);
    if (code == 0)
        return STATUS_OK;
    return err_set(err, STATUS_ABSENT, "\"%s\" is there, but finds no device (%s returned %d)",
                   dialect->driver->library, dialect->names[0], code);
}

enum status native_load(const struct native_dialect *dialect, void **state, struct err *err)
{
    struct native *native = calloc(1, sizeof *native);
    if (!native)
        return err_set(err, STATUS_SYSTEM, "out of memory for %s", dialect->title);
    native->dialect = dialect;
    enum status status = begin_library(native, err);
    if (status == STATUS_OK)
        *state = native;
    else
        free(native); /* the library stays: it may have started threads */
    return status;
}

void native_unload(void *state)
{
    free(state);
}

enum status native_list(void *state, struct gpu_facts *facts, uint32_t n, uint32_t *found,
                        struct err *err)
{
    struct native *native = state;
    int count = 0, version = 0, id;
    NATIVE_TRY(native, count, &count);
    NATIVE_TRY(native, version, &version);
    for (uint32_t i = 0; i < n && (int)i < count; i++) {
        size_t bytes = 0;
        memset(&facts[i], 0, sizeof facts[i]);
        facts[i].number = i;
        NATIVE_TRY(native, device, &id, (int)i);
        NATIVE_TRY(native, name, facts[i].name, (int)sizeof facts[i].name - 1, id);
        NATIVE_TRY(native, total, &bytes, id);
        facts[i].memory_bytes = bytes;
        facts[i].units =
            native->dialect->units ? native->dialect->units(native->library, id) : 0;
        snprintf(facts[i].driver, sizeof facts[i].driver, "%s %d", native->dialect->title,
                 version);
    }
    *found = (uint32_t)count;
    return STATUS_OK;
}

void native_close(void *device)
{
    struct native_device *d = device;
    if (d->begin)
        d->native->f.current(d->which);
    if (d->begin)
        d->native->f.event_destroy(d->begin);
    if (d->end)
        d->native->f.event_destroy(d->end);
    if (d->embedded)
        d->native->f.unload(d->embedded);
    free(d);
}

static enum status begin_device(struct native_device *d, uint32_t number, struct err *err)
{
    struct native *native = d->native;
    NATIVE_TRY(native, device, &d->id, (int)number);
    TRY(native->dialect->enter(d, err));
    TRY(native->dialect->architecture(d, err));
    if (!getenv("MOEPLAN_GPU_COMPILE")) /* set: at run time in any case */
        d->image = gpu_image_for(d->architecture);
    NATIVE_TRY(native, event_create, &d->begin, 0);
    NATIVE_TRY(native, event_create, &d->end, 0);
    return STATUS_OK;
}

enum status native_open(void *state, uint32_t number, void **device, struct err *err)
{
    struct native_device *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(err, STATUS_SYSTEM, "out of memory for a device");
    d->native = state;
    enum status status = begin_device(d, number, err);
    if (status == STATUS_OK)
        *device = d;
    else
        native_close(d);
    return status;
}

/* ---- memory ---- */

enum status native_alloc(void *device, uint64_t bytes, uint64_t *memory, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, alloc, memory, (size_t)bytes);
    return STATUS_OK;
}

void native_free(void *device, uint64_t memory)
{
    const struct native_device *d = device;
    d->native->f.current(d->which);
    d->native->f.give_back(memory);
}

enum status native_left(void *device, uint64_t *bytes, struct err *err)
{
    const struct native_device *d = device;
    size_t left = 0, all = 0;
    NATIVE_DO(d, free_memory, &left, &all);
    *bytes = left;
    return STATUS_OK;
}

enum status native_fill(void *device, uint64_t memory, uint64_t offset, unsigned char byte,
                        uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, fill, memory + offset, byte, (size_t)bytes);
    return STATUS_OK;
}

enum status native_read(void *device, uint64_t memory, uint64_t offset, void *to,
                        uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, read, to, memory + offset, (size_t)bytes);
    return STATUS_OK;
}

enum status native_write(void *device, uint64_t memory, uint64_t offset, const void *from,
                         uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, write, memory + offset, from, (size_t)bytes);
    return STATUS_OK;
}

enum status native_copy(void *device, uint64_t from, uint64_t from_offset, uint64_t to,
                        uint64_t to_offset, uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, copy, to + to_offset, from + from_offset, (size_t)bytes);
    return STATUS_OK;
}

/* ---- programs ---- */

/* The module of the embedded image, once for all programs. One that does not load, as on an
 * older driver than its compiler's, is none: the texts are compiled instead. */
static void *embedded_module(struct native_device *d)
{
    d->native->f.current(d->which);
    if (!d->embedded && d->image && d->native->f.load(&d->embedded, d->image->bytes) != 0) {
        d->image = NULL;
        d->embedded = NULL;
    }
    return d->embedded;
}

enum status native_build(void *device, struct gpu_build *build, void **program, struct err *err)
{
    struct native_device *d = device;
    struct image image = {0};
    const char *architecture = build->architecture ? build->architecture : d->architecture;
    *program = embedded_module(d);
    if (*program) {
        if (!d->image_hash)
            d->image_hash = hash_bytes(HASH_START, d->image->bytes,
                                       (size_t)(d->image->end - d->image->bytes));
        build->hash = d->image_hash;
        return STATUS_OK;
    }
    d->compiled = true;
    TRY(compile_texts(d->native->dialect->compiler, architecture, build->name, build->texts,
                      build->n, &image, err));
    build->hash = hash_bytes(HASH_START, image.bytes, image.length);
    int code = d->native->f.current(d->which);
    if (code == 0)
        code = d->native->f.load(program, image.bytes);
    image_release(&image);
    if (code == 0)
        return STATUS_OK;
    *program = NULL;
    return err_set(err, STATUS_SYSTEM,
                   "%s: the image of \"%s\" for %s does not load: %s returned %d",
                   d->native->dialect->title, build->name, architecture,
                   native_call_name(d->native, offsetof(struct native_functions, load)), code);
}

void native_release(void *device, void *program)
{
    const struct native_device *d = device;
    d->native->f.current(d->which);
    if (program != d->embedded)
        d->native->f.unload(program);
}

void native_kernels(void *device, char *text, size_t room)
{
    const struct native_device *d = device;
    if (d->compiled || !d->image)
        snprintf(text, room, "kernels compiled by %s for %s",
                 d->native->dialect->compiler->title, d->architecture);
    else
        snprintf(text, room, "kernels built in by %s for %s", d->image->compiler,
                 d->image->architecture);
}

enum status native_find(void *device, void *program, const char *name, void **kernel,
                        struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, function, kernel, program, name);
    return STATUS_OK;
}

/* ---- what is asked of a device ---- */

enum status native_enter(void *device, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, current, d->which);
    return STATUS_OK;
}

const char *native_architecture(void *device)
{
    const struct native_device *d = device;
    return d->architecture;
}

/* HIP's number of the attribute has changed between versions: there a launch takes as many
 * groups as there are tiles. */
uint64_t native_units(void *device)
{
    const struct native_device *d = device;
    return d->native->dialect->units ? d->native->dialect->units(d->native->library, d->id) : 0;
}

enum status native_bus(void *device, char name[32], struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, bus, name, 31, d->id);
    return STATUS_OK;
}
