/* OpenCL: through the ICD loader, with prototypes of our own (version 1.2's). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/gpu/driver.h"
#include "exec/stopwatch.h"

/* ---- the library ---- */

#define CL_FUNCTIONS(X)                                                                        \
    X(int32_t, clGetPlatformIDs, (uint32_t n, void **platforms, uint32_t *found))              \
    X(int32_t, clGetPlatformInfo,                                                              \
      (void *platform, uint32_t what, size_t n, void *value, size_t *size))                    \
    X(int32_t, clGetDeviceIDs,                                                                 \
      (void *platform, uint64_t type, uint32_t n, void **devices, uint32_t *found))            \
    X(int32_t, clGetDeviceInfo,                                                                \
      (void *device, uint32_t what, size_t n, void *value, size_t *size))                      \
    X(void *, clCreateContext,                                                                 \
      (const intptr_t *properties, uint32_t n, void *const *devices,                           \
       void (*notify)(const char *, const void *, size_t, void *), void *user, int32_t *code)) \
    X(int32_t, clReleaseContext, (void *context))                                              \
    X(void *, clCreateCommandQueue,                                                            \
      (void *context, void *device, uint64_t properties, int32_t *code))                       \
    X(int32_t, clReleaseCommandQueue, (void *queue))                                           \
    X(void *, clCreateBuffer,                                                                  \
      (void *context, uint64_t flags, size_t bytes, void *host, int32_t *code))                \
    X(void *, clCreateSubBuffer,                                                               \
      (void *memory, uint64_t flags, uint32_t type, const void *region, int32_t *code))        \
    X(int32_t, clReleaseMemObject, (void *memory))                                             \
    X(int32_t, clEnqueueFillBuffer,                                                            \
      (void *queue, void *memory, const void *pattern, size_t size, size_t offset,             \
       size_t bytes, uint32_t n, void *const *wait, void **event))                             \
    X(int32_t, clEnqueueReadBuffer,                                                            \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes, void *to,    \
       uint32_t n, void *const *wait, void **event))                                           \
    X(int32_t, clEnqueueWriteBuffer,                                                           \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes,              \
       const void *from, uint32_t n, void *const *wait, void **event))                         \
    X(int32_t, clEnqueueCopyBuffer,                                                            \
      (void *queue, void *from, void *to, size_t from_offset, size_t to_offset, size_t bytes,  \
       uint32_t n, void *const *wait, void **event))                                           \
    X(void *, clCreateProgramWithSource,                                                       \
      (void *context, uint32_t n, const char **texts, const size_t *lengths, int32_t *code))   \
    X(int32_t, clBuildProgram,                                                                 \
      (void *program, uint32_t n, void *const *devices, const char *options,                   \
       void (*notify)(void *, void *), void *user))                                            \
    X(int32_t, clGetProgramBuildInfo,                                                          \
      (void *program, void *device, uint32_t what, size_t n, void *value, size_t *size))       \
    X(int32_t, clReleaseProgram, (void *program))                                              \
    X(void *, clCreateKernel, (void *program, const char *name, int32_t *code))                \
    X(int32_t, clReleaseKernel, (void *kernel))                                                \
    X(int32_t, clSetKernelArg, (void *kernel, uint32_t i, size_t size, const void *value))     \
    X(int32_t, clEnqueueNDRangeKernel,                                                         \
      (void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global,   \
       const size_t *local, uint32_t n, void *const *wait, void **event))                      \
    X(int32_t, clFlush, (void *queue))                                                         \
    X(int32_t, clFinish, (void *queue))                                                        \
    X(int32_t, clGetEventInfo,                                                                 \
      (void *event, uint32_t what, size_t n, void *value, size_t *size))                       \
    X(int32_t, clGetEventProfilingInfo,                                                        \
      (void *event, uint32_t what, size_t n, void *value, size_t *size))                       \
    X(int32_t, clReleaseEvent, (void *event))

struct functions {
#define CL_FIELD(result, name, parameters) result(*name) parameters;
    CL_FUNCTIONS(CL_FIELD)
#undef CL_FIELD
};

/* Numbers of the standard's header. */
enum {
    PLATFORM_VERSION = 0x0901,
    PLATFORM_NAME = 0x0902,
    DEVICE_UNITS = 0x1002,
    DEVICE_FLOAT = 0x101b,
    DEVICE_MEMORY = 0x101f,
    DEVICE_NAME = 0x102b,
    DEVICE_DRIVER = 0x102d,
    DEVICE_DOUBLE = 0x1032,
    BUILD_LOG = 0x1183,
    QUEUE_PROFILING = 2,
    MEMORY_READ_WRITE = 1,
    PART_REGION = 0x1220,
    EVENT_STATUS = 0x11d3,
    EVENT_STARTED = 0x1282,
    EVENT_ENDED = 0x1283,
    FLOAT_CORRECT_DIVIDE = 1 << 7
};

static const uint64_t every_type = 0xffffffffU;

static const struct {
    int32_t code;
    const char *text;
} codes[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},       {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"}, {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},       {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"}, {-30, "CL_INVALID_VALUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},   {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},   {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE"},   {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

static bool is_no_memory(int32_t code)
{
    return code == -4 || code == -5 || code == -6 || code == -61;
}

static enum status failed(struct err *err, const char *call, int32_t code)
{
    const char *text = "unknown error";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            text = codes[i].text;
    return err_set(err, is_no_memory(code) ? STATUS_NOFIT : STATUS_SYSTEM,
                   "OpenCL: %s returned %d (%s)", call, (int)code, text);
}

/* Relays what a function of the library returned. */
#define CL_TRY(state, function, ...)                                                           \
    do {                                                                                       \
        int32_t code_ = (state)->cl.function(__VA_ARGS__);                                     \
        if (code_ != 0)                                                                        \
            return failed(err, #function, code_);                                              \
    } while (0)

struct opencl {
    void *library;
    struct functions cl;
};

static enum status opencl_load(void **state, struct err *err)
{
    static const char *const names[] = {
#define CL_NAME(result, name, parameters) #name,
        CL_FUNCTIONS(CL_NAME)
#undef CL_NAME
    };
    struct opencl *opencl = calloc(1, sizeof *opencl);
    if (!opencl)
        return err_set(err, STATUS_SYSTEM, "out of memory for OpenCL");
    opencl->library = gpu_library_open(gpu_driver_opencl.library);
    enum status status =
        opencl->library
            ? gpu_library_bind(opencl->library, gpu_driver_opencl.library, names,
                               sizeof names / sizeof *names, &opencl->cl, err)
            : err_set(err, STATUS_ABSENT, "\"%s\" is absent", gpu_driver_opencl.library);
    if (status == STATUS_OK) {
        *state = opencl;
        return STATUS_OK;
    }
    gpu_library_close(opencl->library);
    free(opencl);
    return status;
}

/* The library stays: drivers start threads that do not like to be unloaded. */
static void opencl_unload(void *state)
{
    free(state);
}

/* ---- devices: those of all platforms, numbered through ---- */

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

struct found {
    void *platform[MOST_DEVICES], *device[MOST_DEVICES];
    uint32_t n;
};

static void find_devices(const struct opencl *opencl, struct found *found)
{
    void *platforms[MOST_PLATFORMS];
    uint32_t n_platforms = 0;
    found->n = 0;
    if (opencl->cl.clGetPlatformIDs(MOST_PLATFORMS, platforms, &n_platforms) != 0)
        return; /* a loader without drivers says so as an error */
    n_platforms = n_platforms < MOST_PLATFORMS ? n_platforms : MOST_PLATFORMS;
    for (uint32_t p = 0; p < n_platforms; p++) {
        uint32_t n = 0, room = MOST_DEVICES - found->n;
        if (room == 0 || opencl->cl.clGetDeviceIDs(platforms[p], every_type, room,
                                                   found->device + found->n, &n) != 0)
            continue;
        n = n < room ? n : room;
        for (uint32_t i = 0; i < n; i++)
            found->platform[found->n + i] = platforms[p];
        found->n += n;
    }
}

static uint64_t number_of(const struct opencl *opencl, void *device, uint32_t what, size_t size)
{
    uint64_t value = 0; /* little-endian: narrow ones fill its beginning */
    if (opencl->cl.clGetDeviceInfo(device, what, size, &value, NULL) != 0)
        return 0;
    return value;
}

static void describe(const struct opencl *opencl, const struct found *found, uint32_t i,
                     struct gpu_facts *facts)
{
    char platform[64] = "", version[64] = "";
    void *device = found->device[i];
    memset(facts, 0, sizeof *facts);
    facts->number = i;
    opencl->cl.clGetPlatformInfo(found->platform[i], PLATFORM_NAME, sizeof platform - 1,
                                 platform, NULL);
    opencl->cl.clGetDeviceInfo(device, DEVICE_DRIVER, sizeof version - 1, version, NULL);
    opencl->cl.clGetDeviceInfo(device, DEVICE_NAME, sizeof facts->name - 1, facts->name, NULL);
    snprintf(facts->driver, sizeof facts->driver, "%s %s", platform, version);
    facts->memory_bytes = number_of(opencl, device, DEVICE_MEMORY, 8);
    facts->units = number_of(opencl, device, DEVICE_UNITS, 4);
}

static enum status opencl_list(void *state, struct gpu_facts *facts, uint32_t n,
                               uint32_t *count, struct err *err)
{
    struct found found;
    (void)err;
    find_devices(state, &found);
    for (uint32_t i = 0; i < n && i < found.n; i++)
        describe(state, &found, i, &facts[i]);
    *count = found.n;
    return STATUS_OK;
}

struct opencl_device {
    const struct opencl *opencl;
    void *id, *context, *queue;
    void *first, *event; /* of the launches under way, and the last; NULL: there is none */
    bool exact_divide;
};

static void forget(const struct opencl_device *d, void **event)
{
    if (*event)
        d->opencl->cl.clReleaseEvent(*event);
    *event = NULL;
}

static void opencl_close(void *device)
{
    struct opencl_device *d = device;
    forget(d, &d->first);
    forget(d, &d->event);
    if (d->queue) {
        d->opencl->cl.clFinish(d->queue);
        d->opencl->cl.clReleaseCommandQueue(d->queue);
    }
    if (d->context)
        d->opencl->cl.clReleaseContext(d->context);
    free(d);
}

static enum status begin(struct opencl_device *d, struct err *err)
{
    int32_t code = 0;
    if (!number_of(d->opencl, d->id, DEVICE_DOUBLE, 8))
        return err_set(err, STATUS_ABSENT,
                       "this OpenCL device has no numbers of 64 bits, in which routers score");
    d->exact_divide =
        number_of(d->opencl, d->id, DEVICE_FLOAT, 8) & (uint64_t)FLOAT_CORRECT_DIVIDE;
    d->context = d->opencl->cl.clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (!d->context)
        return failed(err, "clCreateContext", code);
    d->queue = d->opencl->cl.clCreateCommandQueue(d->context, d->id, QUEUE_PROFILING, &code);
    return d->queue ? STATUS_OK : failed(err, "clCreateCommandQueue", code);
}

static enum status opencl_open(void *state, uint32_t number, void **device, struct err *err)
{
    struct found found;
    find_devices(state, &found);
    if (number >= found.n)
        return err_set(err, STATUS_ABSENT, "OpenCL has %u devices, there is no device %u",
                       found.n, number);
    struct opencl_device *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(err, STATUS_SYSTEM, "out of memory for OpenCL");
    d->opencl = state;
    d->id = found.device[number];
    enum status status = begin(d, err);
    if (status == STATUS_OK)
        *device = d;
    else
        opencl_close(d);
    return status;
}

/* ---- memory ---- */

static void *memory_of(uint64_t memory)
{
    return (void *)(uintptr_t)memory;
}

static enum status opencl_alloc(void *device, uint64_t bytes, uint64_t *memory, struct err *err)
{
    const struct opencl_device *d = device;
    int32_t code = 0;
    void *made =
        d->opencl->cl.clCreateBuffer(d->context, MEMORY_READ_WRITE, (size_t)bytes, NULL, &code);
    if (!made)
        return failed(err, "clCreateBuffer", code);
    *memory = (uintptr_t)made;
    return STATUS_OK;
}

static enum status opencl_part(void *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                               uint64_t *part, struct err *err)
{
    const struct opencl_device *d = device;
    const size_t region[2] = {(size_t)offset, (size_t)bytes};
    int32_t code = 0;
    void *made = d->opencl->cl.clCreateSubBuffer(memory_of(memory), MEMORY_READ_WRITE,
                                                 PART_REGION, region, &code);
    if (!made)
        return failed(err, "clCreateSubBuffer", code);
    *part = (uintptr_t)made;
    return STATUS_OK;
}

static void opencl_free(void *device, uint64_t memory)
{
    const struct opencl_device *d = device;
    d->opencl->cl.clReleaseMemObject(memory_of(memory));
}

static enum status opencl_fill(void *device, uint64_t memory, uint64_t offset,
                               unsigned char byte, uint64_t bytes, struct err *err)
{
    const struct opencl_device *d = device;
    CL_TRY(d->opencl, clEnqueueFillBuffer, d->queue, memory_of(memory), &byte, 1,
           (size_t)offset, (size_t)bytes, 0, NULL, NULL);
    CL_TRY(d->opencl, clFinish, d->queue);
    return STATUS_OK;
}

static enum status opencl_read(void *device, uint64_t memory, uint64_t offset, void *to,
                               uint64_t bytes, struct err *err)
{
    const struct opencl_device *d = device;
    CL_TRY(d->opencl, clEnqueueReadBuffer, d->queue, memory_of(memory), 1, (size_t)offset,
           (size_t)bytes, to, 0, NULL, NULL);
    return STATUS_OK;
}

static enum status opencl_write(void *device, uint64_t memory, uint64_t offset,
                                const void *from, uint64_t bytes, struct err *err)
{
    const struct opencl_device *d = device;
    CL_TRY(d->opencl, clEnqueueWriteBuffer, d->queue, memory_of(memory), 1, (size_t)offset,
           (size_t)bytes, from, 0, NULL, NULL);
    return STATUS_OK;
}

static enum status opencl_copy(void *device, uint64_t from, uint64_t from_offset, uint64_t to,
                               uint64_t to_offset, uint64_t bytes, struct err *err)
{
    const struct opencl_device *d = device;
    CL_TRY(d->opencl, clEnqueueCopyBuffer, d->queue, memory_of(from), memory_of(to),
           (size_t)from_offset, (size_t)to_offset, (size_t)bytes, 0, NULL, NULL);
    CL_TRY(d->opencl, clFinish, d->queue);
    return STATUS_OK;
}

/* ---- programs ---- */

static enum status build_failed(const struct opencl_device *d, void *program, const char *name,
                                int32_t code, struct err *err)
{
    char log[700] = "";
    size_t size = 0;
    char *whole = NULL;
    const struct functions *cl = &d->opencl->cl;
    cl->clGetProgramBuildInfo(program, d->id, BUILD_LOG, 0, NULL, &size);
    if (size > 0 && (whole = calloc(1, size + 1)) != NULL)
        cl->clGetProgramBuildInfo(program, d->id, BUILD_LOG, size, whole, NULL);
    snprintf(log, sizeof log, "%s", whole ? whole : "");
    free(whole);
    cl->clReleaseProgram(program);
    return err_set(err, STATUS_SYSTEM,
                   "OpenCL cannot compile \"%s\": clBuildProgram returned "
                   "%d: %s",
                   name, (int)code, log);
}

enum { MOST_TEXTS = 16 };

static enum status opencl_build(void *device, struct gpu_build *build, void **program,
                                struct err *err)
{
    const struct gpu_text *texts = build->texts;
    unsigned n = build->n;
    const struct opencl_device *d = device;
    const char *text[MOST_TEXTS];
    size_t length[MOST_TEXTS];
    int32_t code = 0;
    for (unsigned i = 0; i < n && i < MOST_TEXTS; i++) {
        text[i] = texts[i].text;
        length[i] = (size_t)texts[i].length;
    }
    void *made = d->opencl->cl.clCreateProgramWithSource(d->context, n, text, length, &code);
    if (!made)
        return failed(err, "clCreateProgramWithSource", code);
    const char *options = d->exact_divide
                              ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                              : "-cl-std=CL1.2";
    code = d->opencl->cl.clBuildProgram(made, 1, &d->id, options, NULL, NULL);
    if (code != 0)
        return build_failed(d, made, build->name, code, err);
    *program = made;
    return STATUS_OK;
}

static void opencl_release(void *device, void *program)
{
    const struct opencl_device *d = device;
    d->opencl->cl.clReleaseProgram(program);
}

static enum status opencl_find(void *device, void *program, const char *name, void **kernel,
                               struct err *err)
{
    const struct opencl_device *d = device;
    int32_t code = 0;
    void *made = d->opencl->cl.clCreateKernel(program, name, &code);
    if (!made)
        return failed(err, "clCreateKernel", code);
    *kernel = made;
    return STATUS_OK;
}

/* ---- launches ---- */

/* Sleeps a little longer every time, so that short kernels are noticed soon. */
static void rest(long *nanoseconds)
{
    const struct timespec pause = {0, *nanoseconds};
    nanosleep(&pause, NULL);
    if (*nanoseconds < 1000000)
        *nanoseconds *= 2;
}

static enum status wait_for(const struct opencl_device *d, void *event, const char *name,
                            double limit_s, struct err *err)
{
    double begin_s = stopwatch_now_s();
    long pause = 2000;
    for (;;) {
        int32_t status = 0;
        CL_TRY(d->opencl, clGetEventInfo, event, EVENT_STATUS, sizeof status, &status, NULL);
        if (status == 0)
            return STATUS_OK;
        if (status < 0)
            return failed(err, name, status);
        if (stopwatch_now_s() - begin_s > limit_s)
            return err_set(err, STATUS_SYSTEM,
                           "kernel \"%s\" has not ended after %g s: the device hangs", name,
                           limit_s);
        rest(&pause);
    }
}

static enum status set_arguments(const struct opencl_device *d, const struct gpu_launch *launch,
                                 struct err *err)
{
    CL_TRY(d->opencl, clSetKernelArg, launch->kernel, 0, sizeof *launch->call, launch->call);
    for (uint32_t i = 0; i <= GPU_TENSORS; i++) {
        void *memory = memory_of(launch->memory[i]);
        CL_TRY(d->opencl, clSetKernelArg, launch->kernel, i + 1, sizeof memory,
               memory ? (const void *)&memory : NULL);
    }
    return STATUS_OK;
}

/* From the first launch's start to the last one's end; a queue keeps their order. */
static enum status seconds_of(const struct opencl_device *d, double *seconds, struct err *err)
{
    uint64_t started = 0, ended = 0; /* ns */
    CL_TRY(d->opencl, clGetEventProfilingInfo, d->first ? d->first : d->event, EVENT_STARTED,
           sizeof started, &started, NULL);
    CL_TRY(d->opencl, clGetEventProfilingInfo, d->event, EVENT_ENDED, sizeof ended, &ended,
           NULL);
    *seconds = (double)(ended - started) * 1e-9;
    return STATUS_OK;
}

static enum status opencl_launch(void *device, const struct gpu_launch *launch, struct err *err)
{
    struct opencl_device *d = device;
    size_t local = launch->items, global = (size_t)launch->groups * local;
    TRY(set_arguments(d, launch, err));
    if (!launch->goes_on)
        forget(d, &d->first);
    if (launch->goes_on && !d->first)
        d->first = d->event;
    else
        forget(d, &d->event);
    d->event = NULL;
    CL_TRY(d->opencl, clEnqueueNDRangeKernel, d->queue, launch->kernel, 1, NULL, &global,
           &local, 0, NULL, &d->event);
    CL_TRY(d->opencl, clFlush, d->queue);
    return STATUS_OK;
}

static enum status opencl_wait(void *device, const char *name, double limit_s, double *seconds,
                               struct err *err)
{
    struct opencl_device *d = device;
    if (seconds)
        *seconds = 0;
    if (!d->event)
        return STATUS_OK;
    enum status status = wait_for(d, d->event, name, limit_s, err);
    if (status == STATUS_OK && seconds)
        status = seconds_of(d, seconds, err);
    forget(d, &d->first);
    forget(d, &d->event);
    return status;
}

static void opencl_kernels(void *device, char *text, size_t room)
{
    (void)device;
    snprintf(text, room, "kernels compiled by the device's driver");
}

const struct gpu_driver gpu_driver_opencl = {
    .name = "opencl",
    .library = "libOpenCL.so.1",
    .hint =
        "the OpenCL driver of the device's maker, or pocl-opencl-icd, which performs on the "
        "CPU (apt-get install pocl-opencl-icd)",
    .load = opencl_load,
    .unload = opencl_unload,
    .list = opencl_list,
    .open = opencl_open,
    .close = opencl_close,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .part = opencl_part,
    .fill = opencl_fill,
    .read = opencl_read,
    .write = opencl_write,
    .copy = opencl_copy,
    .build = opencl_build,
    .release = opencl_release,
    .find = opencl_find,
    .launch = opencl_launch,
    .wait = opencl_wait,
    .kernels = opencl_kernels,
};
