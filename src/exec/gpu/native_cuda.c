/* CUDA's driver API, and what products at peak rate need of it (native_cuda.h); names and
 * numbers are those of cuda.h. */
#include "exec/gpu/native_cuda.h"

#include <stdio.h>
#include <string.h>

#include "exec/gpu/native.h"

/* The function of this name into *to; false: there is none. */
static bool bind(void *library, const char *name, void *to)
{
    void *symbol = gpu_library_find(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

int cuda_allow_local(void *library, void *function, uint32_t bytes)
{
    enum { MOST = 48 << 10, DYNAMIC_BYTES = 8 };
    int (*set)(void *kernel, int attribute, int value);
    if (bytes <= MOST)
        return 0;
    return bind(library, "cuFuncSetAttribute", &set) ? set(function, DYNAMIC_BYTES, (int)bytes)
                                                     : CUDA_LACKS;
}

/* Multiprocessors of a device; 0: unknown. */
static uint64_t cuda_units_of(void *library, int device)
{
    enum { MULTIPROCESSORS = 16 };
    int (*get)(int *value, int attribute, int device);
    int units = 0;
    if (!bind(library, "cuDeviceGetAttribute", &get) ||
        get(&units, MULTIPROCESSORS, device) != 0 || units < 0)
        return 0;
    return (uint64_t)units;
}

/* What TMA is told of a matrix, swizzled by 128 bytes. Three dimensions, whatever the matrix
 * has; the last is that of matrices behind each other. */
static int cuda_encode(void *library, const struct gpu_matrix *m, unsigned char map[128])
{
    enum { BF16 = 9, PLAIN = 0, SWIZZLE_128 = 3, FETCH_256 = 3, ZEROS = 0, WIDE = 64 };
    int (*encode)(void *map, int type, uint32_t dims, uint64_t memory, const uint64_t *sizes,
                  const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                  int interleave, int swizzle, int fetch, int outside);
    _Alignas(64) unsigned char made[128] = {0};
    uint64_t row = m->columns * 2, sizes[] = {m->columns, m->rows, m->matrices},
             strides[] = {row, row * m->rows};
    uint32_t box[] = {WIDE, m->box_rows, 1}, steps[] = {1, 1, 1};
    if (!bind(library, "cuTensorMapEncodeTiled", &encode))
        return CUDA_LACKS;
    int code = encode(made, BF16, 3, m->memory, sizes, strides, box, steps, PLAIN, SWIZZLE_128,
                      FETCH_256, ZEROS);
    memcpy(map, made, sizeof made);
    return code;
}

static const char *const cuda_names[] = {
#define NATIVE_NAME(field, parameters, cuda, hip) #cuda,
    NATIVE_FUNCTIONS(NATIVE_NAME)
#undef NATIVE_NAME
};

static enum status cuda_enter(struct native_device *d, struct err *err)
{
    static const char *const names[] = {"cuDevicePrimaryCtxRetain"};
    struct {
        int (*retain)(void **context, int device);
    } f;
    void *context = NULL;
    TRY(gpu_library_bind(d->native->library, "libcuda.so.1", names, 1, &f, err));
    int code = f.retain(&context, d->id);
    if (code != 0)
        return native_failed(d->native, err, names[0], code);
    d->which = (uintptr_t)context;
    NATIVE_TRY(d->native, current, d->which);
    return STATUS_OK;
}

static enum status cuda_architecture(struct native_device *d, struct err *err)
{
    enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
    static const char *const names[] = {"cuDeviceGetAttribute"};
    struct {
        int (*get)(int *value, int attribute, int device);
    } f;
    int major = 0, minor = 0;
    TRY(gpu_library_bind(d->native->library, "libcuda.so.1", names, 1, &f, err));
    int code = f.get(&major, CAPABILITY_MAJOR, d->id);
    if (code == 0)
        code = f.get(&minor, CAPABILITY_MINOR, d->id);
    snprintf(d->architecture, sizeof d->architecture, "sm_%d%d", major, minor);
    return code == 0 ? STATUS_OK : native_failed(d->native, err, names[0], code);
}

static enum status cuda_map(void *device, const struct gpu_matrix *matrix,
                            unsigned char map[128], struct err *err)
{
    const struct native_device *d = device;
    int code = cuda_encode(d->native->library, matrix, map);
    return code == 0 ? STATUS_OK
                     : native_failed(d->native, err, "cuTensorMapEncodeTiled", code);
}

static const struct native_dialect cuda = {
    .title = "CUDA",
    .driver = &gpu_driver_cuda,
    .libraries = (const char *const[]){"libcuda.so.1", NULL},
    .names = cuda_names,
    .compiler = &compiler_nvrtc,
    .enter = cuda_enter,
    .architecture = cuda_architecture,
    .units = cuda_units_of,
};

static enum status cuda_load(void **state, struct err *err)
{
    return native_load(&cuda, state, err);
}

const struct gpu_driver gpu_driver_cuda = {
    .name = "cuda",
    .library = "libcuda.so.1",
    .hint =
        "NVIDIA's driver, and NVRTC of its toolkit (libnvrtc.so), which compiles the kernels",
    .load = cuda_load,
    .map = cuda_map,
    NATIVE_ROWS};
