/* What the rows of CUDA and HIP share: one table of functions under both names, and in what the
 * two differ. For native*.c alone.
 *
 * A call goes to the device that is current for the calling thread, so every one that depends
 * on it makes its own device current first: several may be open. */
#ifndef MOEPLAN_EXEC_GPU_NATIVE_H
#define MOEPLAN_EXEC_GPU_NATIVE_H

#include "exec/gpu/compile.h"
#include "exec/gpu/driver.h"
#include "exec/gpu/images.h"

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
    X(current, (uintptr_t which), cuCtxSetCurrent, hipSetDevice)                               \
    X(bus, (char *name, int length, int device), cuDeviceGetPCIBusId, hipDeviceGetPCIBusId)    \
    X(reaches, (int *can, int device, int other), cuDeviceCanAccessPeer,                       \
      hipDeviceCanAccessPeer)                                                                  \
    X(reach, (uintptr_t other, unsigned flags), cuCtxEnablePeerAccess,                         \
      hipDeviceEnablePeerAccess)                                                               \
    X(copy_peer,                                                                               \
      (uint64_t to, uintptr_t to_which, uint64_t from, uintptr_t from_which, size_t bytes,     \
       void *stream),                                                                          \
      cuMemcpyPeerAsync, hipMemcpyPeerAsync)                                                   \
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

struct native_functions {
#define NATIVE_FIELD(field, parameters, cuda, hip) int(*field) parameters;
    NATIVE_FUNCTIONS(NATIVE_FIELD)
#undef NATIVE_FIELD
};

enum { NATIVE_FUNCTION_COUNT = sizeof(struct native_functions) / sizeof(void (*)(void)) };

/* Of cuda.h; HIP's are the same. */
enum { NATIVE_NO_MEMORY = 2, NATIVE_NOT_READY = 600, NATIVE_REACHED_ALREADY = 704 };

struct native_device;

/* In what the two differ. */
struct native_dialect {
    const char *title; /* of messages */
    const struct gpu_driver *driver;
    const char *const *libraries; /* NULL ends; the newest first */
    const char *const *names;     /* of the functions */
    const struct compiler *compiler;
    /* What makes the device current, from now on and now. */
    enum status (*enter)(struct native_device *d, struct err *err);
    /* What the compiler calls the device. */
    enum status (*architecture)(struct native_device *d, struct err *err);
    uint64_t (*units)(void *library, int device); /* NULL: not known */
};

struct native {
    const struct native_dialect *dialect;
    void *library;
    struct native_functions f;
};

struct native_device {
    struct native *native;
    int id;
    uintptr_t which; /* what makes it current: CUDA's context, HIP's number */
    char architecture[64];
    void *begin, *end;             /* events */
    void *embedded;                /* the module of an image of ours; NULL: not loaded */
    const struct gpu_image *image; /* that runs here; NULL: none, or it did not load */
    uint64_t image_hash;           /* 0: nobody asked yet */
    bool compiled;                 /* something was compiled at run time */
};

enum status native_load(const struct native_dialect *dialect, void **state, struct err *err);

/* Says which call returned what; STATUS_NOFIT when memory is lacking. */
enum status native_failed(const struct native *native, struct err *err, const char *call,
                          int code);

/* The name of the function at an offset of the table. */
const char *native_call_name(const struct native *native, size_t offset);

#define NATIVE_TRY(native, field, ...)                                                         \
    do {                                                                                       \
        int code_ = (native)->f.field(__VA_ARGS__);                                            \
        if (code_ != 0)                                                                        \
            return native_failed(                                                              \
                native, err,                                                                   \
                native_call_name(native, offsetof(struct native_functions, field)), code_);    \
    } while (0)

/* The device's own calls: it is made current first. */
#define NATIVE_DO(d, field, ...)                                                               \
    do {                                                                                       \
        NATIVE_TRY((d)->native, current, (d)->which);                                          \
        NATIVE_TRY((d)->native, field, __VA_ARGS__);                                           \
    } while (0)

/* Functions of the rows that are alike in both. */
void native_unload(void *state);
enum status native_list(void *state, struct gpu_facts *facts, uint32_t n, uint32_t *found,
                        struct err *err);
enum status native_open(void *state, uint32_t number, void **device, struct err *err);
void native_close(void *device);
enum status native_alloc(void *device, uint64_t bytes, uint64_t *memory, struct err *err);
void native_free(void *device, uint64_t memory);
enum status native_left(void *device, uint64_t *bytes, struct err *err);
enum status native_fill(void *device, uint64_t memory, uint64_t offset, unsigned char byte,
                        uint64_t bytes, struct err *err);
enum status native_read(void *device, uint64_t memory, uint64_t offset, void *to,
                        uint64_t bytes, struct err *err);
enum status native_write(void *device, uint64_t memory, uint64_t offset, const void *from,
                         uint64_t bytes, struct err *err);
enum status native_copy(void *device, uint64_t from, uint64_t from_offset, uint64_t to,
                        uint64_t to_offset, uint64_t bytes, struct err *err);
enum status native_reach(void *device, void *other, bool *direct, struct err *err);
enum status native_copy_to(void *device, uint64_t from, void *other, uint64_t to,
                           uint64_t bytes, struct err *err);
enum status native_build(void *device, struct gpu_build *build, void **program,
                         struct err *err);
void native_release(void *device, void *program);
enum status native_find(void *device, void *program, const char *name, void **kernel,
                        struct err *err);
enum status native_allow(void *device, void *kernel, uint32_t local_bytes, struct err *err);
enum status native_launch(void *device, const struct gpu_launch *launch, struct err *err);
enum status native_mark(void *device, enum gpu_mark mark, struct err *err);
enum status native_wait(void *device, const char *name, double limit_s, double *seconds,
                        struct err *err);
enum status native_enter(void *device, struct err *err);
void native_kernels(void *device, char *text, size_t room);
const char *native_architecture(void *device);
uint64_t native_units(void *device);
enum status native_bus(void *device, char name[32], struct err *err);

#define NATIVE_ROWS                                                                            \
    .unload = native_unload, .list = native_list, .open = native_open, .close = native_close,  \
    .alloc = native_alloc, .free = native_free, .left = native_left, .fill = native_fill,      \
    .read = native_read, .write = native_write, .copy = native_copy, .reach = native_reach,    \
    .copy_to = native_copy_to, .build = native_build, .release = native_release,               \
    .find = native_find, .allow = native_allow, .launch = native_launch, .mark = native_mark,  \
    .wait = native_wait, .enter = native_enter, .kernels = native_kernels,                     \
    .architecture = native_architecture, .units = native_units, .bus = native_bus,             \
    .addresses = true

#endif
