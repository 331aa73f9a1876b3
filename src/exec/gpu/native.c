/* CUDA's driver API and HIP: two libraries whose functions are alike, one table of both names.
 *
 * Kernels are in the image that was embedded for the device's architecture (images.h), or are
 * compiled at run time (compile.h). Prototypes are our own: handles are pointers or numbers of
 * the same width in both, results are 0 or an error. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/gpu/compile.h"
#include "base/hash.h"
#include "exec/gpu/driver.h"
#include "exec/gpu/images.h"
#include "exec/gpu/native_cuda.h"
#include "exec/stopwatch.h"

/* field, parameters, name in CUDA, name in HIP */
#define NATIVE_FUNCTIONS(X)                                                                    \
    X(init, (unsigned flags), cuInit, hipInit)                                                 \
    X(version, (int *version), cuDriverGetVersion, hipDriverGetVersion)                        \
    X(count, (int *n), cuDeviceGetCount, hipGetDeviceCount)                                    \
    X(device, (int *device, int number), cuDeviceGet, hipDeviceGet)                            \
    X(name, (char *name, int length, int device), cuDeviceGetName, hipDeviceGetName)           \
    X(total, (size_t * bytes, int device), cuDeviceTotalMem_v2, hipDeviceTotalMem)             \
    X(free_memory, (size_t * unused, size_t * all), cuMemGetInfo_v2, hipMemGetInfo)            \
    X(alloc, (uint64_t * memory, size_t bytes), cuMemAlloc_v2, hipMalloc)                      \
    X(give_back, (uint64_t memory), cuMemFree_v2, hipFree)                                     \
    X(fill, (uint64_t memory, unsigned char byte, size_t bytes), cuMemsetD8_v2, hipMemsetD8)   \
    X(read, (void *to, uint64_t from, size_t bytes), cuMemcpyDtoH_v2, hipMemcpyDtoH)           \
    X(write, (uint64_t to, const void *from, size_t bytes), cuMemcpyHtoD_v2, hipMemcpyHtoD)    \
    X(copy, (uint64_t to, uint64_t from, size_t bytes), cuMemcpyDtoD_v2, hipMemcpyDtoD)        \
    X(synchronize, (void), cuCtxSynchronize, hipDeviceSynchronize)                             \
    X(load, (void **module, const void *image), cuModuleLoadData, hipModuleLoadData)           \
    X(unload, (void *module), cuModuleUnload, hipModuleUnload)                                 \
    X(function, (void **function, void *module, const char *name), cuModuleGetFunction,        \
      hipModuleGetFunction)                                                                    \
    X(launch,                                                                                  \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
       unsigned bz, unsigned shared, void *stream, void **parameters, void **extra),           \
      cuLaunchKernel, hipModuleLaunchKernel)                                                   \
    X(event_create, (void **event, unsigned flags), cuEventCreate, hipEventCreateWithFlags)    \
    X(event_destroy, (void *event), cuEventDestroy_v2, hipEventDestroy)                        \
    X(event_record, (void *event, void *stream), cuEventRecord, hipEventRecord)                \
    X(event_query, (void *event), cuEventQuery, hipEventQuery)                                 \
    X(event_elapsed, (float *ms, void *begin, void *end), cuEventElapsedTime,                  \
      hipEventElapsedTime)

struct functions {
#define NATIVE_FIELD(field, parameters, cuda, hip) int(*field) parameters;
    NATIVE_FUNCTIONS(NATIVE_FIELD)
#undef NATIVE_FIELD
};

enum { N_FUNCTIONS = sizeof(struct functions) / sizeof(void (*)(void)) };

struct native;

/* In what the two differ. */
struct dialect {
    const char *title; /* of messages */
    const struct gpu_driver *driver;
    const char *const *libraries; /* NULL ends; the newest first */
    const char *const *names;     /* of the functions */
    const struct compiler *compiler;
    int not_ready, no_memory;
    /* Makes the device the calling thread's. */
    enum status (*enter)(struct native *native, int device, struct err *err);
    /* What the compiler calls the device. */
    enum status (*architecture)(struct native *native, int device, char name[64],
                                struct err *err);
    uint64_t (*units)(void *library, int device); /* NULL: not known */
};

struct native {
    const struct dialect *dialect;
    void *library;
    struct functions f;
};

struct native_device {
    struct native *native;
    int id;
    char architecture[64];
    void *begin, *end;             /* events */
    void *embedded;                /* the module of an image of ours; NULL: not loaded */
    const struct gpu_image *image; /* that runs here; NULL: none, or it did not load */
    uint64_t image_hash;           /* 0: nobody asked yet */
    bool compiled;                 /* something was compiled at run time */
};

/* ---- errors ---- */

static enum status failed(const struct native *native, struct err *err, const char *call,
                          int code)
{
    int (*text)(int code, const char **text) = NULL; /* CUDA's; HIP's names differ by version */
    const char *name = NULL;
    void *symbol = gpu_library_find(native->library, "cuGetErrorName");
    if (symbol)
        memcpy(&text, &symbol, sizeof symbol);
    if (text)
        text(code, &name);
    bool no_memory = code == native->dialect->no_memory;
    return err_set(err, no_memory ? STATUS_NOFIT : STATUS_SYSTEM, "%s: %s returned %d (%s)",
                   native->dialect->title, call, code,
                   name        ? name
                   : no_memory ? "out of memory"
                               : "see its list of errors");
}

#define NATIVE_TRY(native, field, ...)                                                         \
    do {                                                                                       \
        int code_ = (native)->f.field(__VA_ARGS__);                                            \
        if (code_ != 0)                                                                        \
            return failed(native, err, call_name(native, offsetof(struct functions, field)),   \
                          code_);                                                              \
    } while (0)

static const char *call_name(const struct native *native, size_t offset)
{
    return native->dialect->names[offset / sizeof(void (*)(void))];
}

/* ---- libraries and devices ---- */

static enum status begin_library(struct native *native, struct err *err)
{
    const struct dialect *dialect = native->dialect;
    for (unsigned i = 0; !native->library && dialect->libraries[i]; i++)
        native->library = gpu_library_open(dialect->libraries[i]);
    if (!native->library)
        return err_set(err, STATUS_ABSENT, "\"%s\" is absent", dialect->driver->library);
    TRY(gpu_library_bind(native->library, dialect->driver->library, dialect->names, N_FUNCTIONS,
                         &native->f, err));
    int code = native->f.init(0);
    if (code == 0)
        return STATUS_OK;
    return err_set(err, STATUS_ABSENT, "\"%s\" is there, but finds no device (%s returned %d)",
                   dialect->driver->library, dialect->names[0], code);
}

static enum status load(const struct dialect *dialect, void **state, struct err *err)
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

static void native_unload(void *state)
{
    free(state);
}

static enum status native_list(void *state, struct gpu_facts *facts, uint32_t n,
                               uint32_t *found, struct err *err)
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
        facts[i].memory_bytes = facts[i].largest_bytes = bytes;
        facts[i].units =
            native->dialect->units ? native->dialect->units(native->library, id) : 0;
        snprintf(facts[i].driver, sizeof facts[i].driver, "%s %d", native->dialect->title,
                 version);
    }
    *found = (uint32_t)count;
    return STATUS_OK;
}

static void native_close(void *device)
{
    struct native_device *d = device;
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
    TRY(native->dialect->enter(native, d->id, err));
    TRY(native->dialect->architecture(native, d->id, d->architecture, err));
    if (!getenv("MOEPLAN_GPU_COMPILE")) /* set: at run time in any case */
        d->image = gpu_image_for(d->architecture);
    NATIVE_TRY(native, event_create, &d->begin, 0);
    NATIVE_TRY(native, event_create, &d->end, 0);
    return STATUS_OK;
}

static enum status native_open(void *state, uint32_t number, void **device, struct err *err)
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

static enum status native_alloc(void *device, uint64_t bytes, uint64_t *memory, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, alloc, memory, (size_t)bytes);
    return STATUS_OK;
}

static void native_free(void *device, uint64_t memory)
{
    const struct native_device *d = device;
    d->native->f.give_back(memory);
}

static enum status native_fill(void *device, uint64_t memory, uint64_t offset,
                               unsigned char byte, uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, fill, memory + offset, byte, (size_t)bytes);
    return STATUS_OK;
}

static enum status native_read(void *device, uint64_t memory, uint64_t offset, void *to,
                               uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, read, to, memory + offset, (size_t)bytes);
    return STATUS_OK;
}

static enum status native_write(void *device, uint64_t memory, uint64_t offset,
                                const void *from, uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, write, memory + offset, from, (size_t)bytes);
    return STATUS_OK;
}

static enum status native_copy(void *device, uint64_t from, uint64_t from_offset, uint64_t to,
                               uint64_t to_offset, uint64_t bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, copy, to + to_offset, from + from_offset, (size_t)bytes);
    return STATUS_OK;
}

/* ---- programs ---- */

/* The module of the embedded image, once for all programs. One that does not load, as on an
 * older driver than its compiler's, is none: the texts are compiled instead. */
static void *embedded_module(struct native_device *d)
{
    if (!d->embedded && d->image && d->native->f.load(&d->embedded, d->image->bytes) != 0) {
        d->image = NULL;
        d->embedded = NULL;
    }
    return d->embedded;
}

static enum status native_build(void *device, struct gpu_build *build, void **program,
                                struct err *err)
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
    int code = d->native->f.load(program, image.bytes);
    image_release(&image);
    if (code == 0)
        return STATUS_OK;
    *program = NULL;
    return err_set(err, STATUS_SYSTEM,
                   "%s: the image of \"%s\" for %s does not load: %s returned %d",
                   d->native->dialect->title, build->name, architecture,
                   call_name(d->native, offsetof(struct functions, load)), code);
}

static void native_release(void *device, void *program)
{
    const struct native_device *d = device;
    if (program != d->embedded)
        d->native->f.unload(program);
}

static void native_kernels(void *device, char *text, size_t room)
{
    const struct native_device *d = device;
    if (d->compiled || !d->image)
        snprintf(text, room, "kernels compiled by %s for %s",
                 d->native->dialect->compiler->title, d->architecture);
    else
        snprintf(text, room, "kernels built in by %s for %s", d->image->compiler,
                 d->image->architecture);
}

static enum status native_find(void *device, void *program, const char *name, void **kernel,
                               struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, function, kernel, program, name);
    return STATUS_OK;
}

/* ---- launches ---- */

static enum status wait_for_end(const struct native_device *d, const char *name, double limit_s,
                                struct err *err)
{
    double begin_s = stopwatch_now_s();
    struct timespec pause = {0, 2000};
    for (;;) {
        int code = d->native->f.event_query(d->end);
        if (code == 0)
            return STATUS_OK;
        if (code != d->native->dialect->not_ready)
            return failed(d->native, err, name, code);
        if (stopwatch_now_s() - begin_s > limit_s)
            return err_set(err, STATUS_SYSTEM,
                           "kernel \"%s\" has not ended after %g s: the device hangs", name,
                           limit_s);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

static enum status native_launch(void *device, const struct gpu_launch *launch, double *seconds,
                                 struct err *err)
{
    const struct native_device *d = device;
    uint64_t memory[GPU_TENSORS + 1];
    struct gpu_call call = *launch->call;
    struct gpu_maps maps;
    void *parameters[GPU_TENSORS + 3];
    unsigned n = 0;
    float ms = 0;
    if (launch->maps) {
        maps = *launch->maps;
        parameters[n++] = &maps;
    }
    parameters[n++] = &call;
    for (unsigned i = 0; i <= GPU_TENSORS; i++) {
        memory[i] = launch->memory[i];
        parameters[n++] = &memory[i];
    }
    int code = cuda_allow_local(d->native->library, launch->kernel, launch->local_bytes);
    if (code != 0)
        return failed(d->native, err, "cuFuncSetAttribute", code);
    if (launch->groups > INT32_MAX)
        return err_set(err, STATUS_INPUT, "kernel \"%s\" has %llu work-groups, the limit is %d",
                       launch->name, (unsigned long long)launch->groups, INT32_MAX);
    NATIVE_TRY(d->native, event_record, d->begin, NULL);
    NATIVE_TRY(d->native, launch, launch->kernel, (unsigned)launch->groups, 1, 1, launch->items,
               1, 1, launch->local_bytes, NULL, parameters, NULL);
    NATIVE_TRY(d->native, event_record, d->end, NULL);
    TRY(wait_for_end(d, launch->name, launch->limit_s, err));
    NATIVE_TRY(d->native, event_elapsed, &ms, d->begin, d->end);
    *seconds = (double)ms * 1e-3;
    return STATUS_OK;
}

/* ---- CUDA ---- */

static const char *const cuda_names[] = {
#define NATIVE_NAME(field, parameters, cuda, hip) #cuda,
    NATIVE_FUNCTIONS(NATIVE_NAME)
#undef NATIVE_NAME
};

static enum status cuda_enter(struct native *native, int device, struct err *err)
{
    static const char *const names[] = {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"};
    struct {
        int (*retain)(void **context, int device);
        int (*set)(void *context);
    } f;
    void *context = NULL;
    TRY(gpu_library_bind(native->library, "libcuda.so.1", names, 2, &f, err));
    int code = f.retain(&context, device);
    if (code != 0)
        return failed(native, err, names[0], code);
    code = f.set(context);
    return code == 0 ? STATUS_OK : failed(native, err, names[1], code);
}

static enum status cuda_architecture(struct native *native, int device, char name[64],
                                     struct err *err)
{
    enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
    static const char *const names[] = {"cuDeviceGetAttribute"};
    struct {
        int (*get)(int *value, int attribute, int device);
    } f;
    int major = 0, minor = 0;
    TRY(gpu_library_bind(native->library, "libcuda.so.1", names, 1, &f, err));
    int code = f.get(&major, CAPABILITY_MAJOR, device);
    if (code == 0)
        code = f.get(&minor, CAPABILITY_MINOR, device);
    snprintf(name, 64, "sm_%d%d", major, minor);
    return code == 0 ? STATUS_OK : failed(native, err, names[0], code);
}

static enum status cuda_map(void *device, const struct gpu_matrix *matrix,
                            unsigned char map[128], struct err *err)
{
    const struct native_device *d = device;
    int code = cuda_encode(d->native->library, matrix, map);
    return code == 0 ? STATUS_OK : failed(d->native, err, "cuTensorMapEncodeTiled", code);
}

static const struct dialect cuda = {
    .title = "CUDA",
    .driver = &gpu_driver_cuda,
    .libraries = (const char *const[]){"libcuda.so.1", NULL},
    .names = cuda_names,
    .compiler = &compiler_nvrtc,
    .not_ready = 600,
    .no_memory = 2,
    .enter = cuda_enter,
    .architecture = cuda_architecture,
    .units = cuda_units_of,
};

static enum status cuda_load(void **state, struct err *err)
{
    return load(&cuda, state, err);
}

/* ---- HIP ---- */

static const char *const hip_names[] = {
#define NATIVE_NAME(field, parameters, cuda, hip) #hip,
    NATIVE_FUNCTIONS(NATIVE_NAME)
#undef NATIVE_NAME
};

static enum status hip_enter(struct native *native, int device, struct err *err)
{
    static const char *const names[] = {"hipSetDevice"};
    struct {
        int (*set)(int device);
    } f;
    TRY(gpu_library_bind(native->library, "libamdhip64.so", names, 1, &f, err));
    int code = f.set(device);
    return code == 0 ? STATUS_OK : failed(native, err, names[0], code);
}

/* The record of a device's properties changes from version to version; its name of the
 * architecture is looked for in the bytes. */
static enum status hip_architecture(struct native *native, int device, char name[64],
                                    struct err *err)
{
    enum { BYTES = 16384 };
    static const char *const names[][1] = {{"hipGetDevicePropertiesR0600"},
                                           {"hipGetDeviceProperties"}};
    struct {
        int (*get)(void *properties, int device);
    } f;
    bool newer = gpu_library_find(native->library, names[0][0]) != NULL;
    char *bytes = calloc(1, BYTES);
    if (!bytes)
        return err_set(err, STATUS_SYSTEM, "out of memory for a device's properties");
    enum status status =
        gpu_library_bind(native->library, "libamdhip64.so", names[newer ? 0 : 1], 1, &f, err);
    int code = status == STATUS_OK ? f.get(bytes, device) : 0;
    const char *at = bytes;
    while (at < bytes + BYTES - 64 && strncmp(at, "gfx", 3) != 0)
        at++;
    size_t length = strncmp(at, "gfx", 3) == 0 ? 3 : 0;
    while (length && length < 63 && isalnum((unsigned char)at[length]))
        length++;
    snprintf(name, 64, "%.*s", (int)length, at);
    free(bytes);
    TRY(status);
    if (code != 0)
        return failed(native, err, names[newer ? 0 : 1][0], code);
    return length ? STATUS_OK
                  : err_set(err, STATUS_ABSENT, "HIP does not name this device's architecture");
}

static const struct dialect hip = {
    .title = "HIP",
    .driver = &gpu_driver_hip,
    .libraries = (const char *const[]){"libamdhip64.so.7", "libamdhip64.so.6",
                                       "libamdhip64.so.5", "libamdhip64.so", NULL},
    .names = hip_names,
    .compiler = &compiler_hiprtc,
    .not_ready = 600,
    .no_memory = 2,
    .enter = hip_enter,
    .architecture = hip_architecture,
};

static enum status hip_load(void **state, struct err *err)
{
    return load(&hip, state, err);
}

/* ---- rows ---- */

static const char *native_architecture(void *device)
{
    const struct native_device *d = device;
    return d->architecture;
}

/* HIP's number of the attribute has changed between versions: there a launch takes as many
 * groups as there are tiles. */
static uint64_t native_units(void *device)
{
    const struct native_device *d = device;
    return d->native->dialect->units ? d->native->dialect->units(d->native->library, d->id) : 0;
}

#define NATIVE_ROWS                                                                            \
    .unload = native_unload, .list = native_list, .open = native_open, .close = native_close,  \
    .alloc = native_alloc, .free = native_free, .fill = native_fill, .read = native_read,      \
    .write = native_write, .copy = native_copy, .build = native_build,                         \
    .release = native_release, .find = native_find, .launch = native_launch,                   \
    .kernels = native_kernels, .architecture = native_architecture, .units = native_units

const struct gpu_driver gpu_driver_cuda = {
    .name = "cuda",
    .library = "libcuda.so.1",
    .hint =
        "NVIDIA's driver, and NVRTC of its toolkit (libnvrtc.so), which compiles the kernels",
    .load = cuda_load,
    .map = cuda_map,
    NATIVE_ROWS};

const struct gpu_driver gpu_driver_hip = {
    .name = "hip",
    .library = "libamdhip64.so",
    .hint = "AMD's ROCm with its driver; HIPRTC of the same compiles the kernels",
    .load = hip_load,
    NATIVE_ROWS};
