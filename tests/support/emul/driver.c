/* Look-alikes of libcuda.so.1, NVRTC, libamdhip64.so and HIPRTC, for tests: what moeplan opens,
 * under the names of both.
 *
 * Device memory is one region at addresses of its own, behind which nothing lies: a host that
 * follows one faults; the driver and the kernels know where the bytes are. Fresh memory is
 * poisoned, a guard band behind every allocation is checked after every launch. Kernels are
 * those of kernels.c, found by name, and only in an image of the same texts, or one that nvcc
 * or hipcc made of them (image.c); arguments have the size that the image says.
 * MOEPLAN_EMUL_SEED orders groups and items; MOEPLAN_EMUL_FAULT injects a fault (faults[]),
 * MOEPLAN_EMUL_DEVICE names another architecture. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/gpu/kernels/call.h"
#include "support/emul/fibre.h"
#include "support/emul/image.h"

#define SEEN __attribute__((visibility("default")))
#define ALSO(name) __attribute__((visibility("default"), alias(#name)))

enum {
    CODE_FINE = 0,
    CODE_INVALID = 1,
    CODE_NO_MEMORY = 2,
    CODE_NO_DEVICE = 100,
    CODE_BAD_IMAGE = 200,
    CODE_NOT_FOUND = 500,
    CODE_NOT_READY = 600,
    CODE_BAD_ADDRESS = 700,
    CODE_LAUNCH_FAILED = 719,
    ARGUMENTS = 10,
    BLOCKS = 4096,
    GUARD = 256
};

static const size_t region_bytes = (size_t)256 << 20;

/* ---- faults: "kind" or "kind:what" ---- */

enum fault {
    FAULT_OOM,    /* oom:N  the N-th allocation fails */
    FAULT_LAUNCH, /* launch:NAME  a kernel that fails */
    FAULT_WRONG,  /* wrong:NAME  a kernel that leaves a group out */
    FAULT_HANG,   /* hang:NAME  a kernel that never ends */
    FAULT_DEVICE, /* device  a driver without a device */
    FAULT_ARCH,   /* arch  an architecture that the compiler does not know */
    FAULT_ABORT,  /* abort  a compiler that ends the process */
    FAULT_IMAGE,  /* image  no image loads; image:N  the N-th does not */
    FAULT_COUNT
};

static const char *const faults[FAULT_COUNT] = {"oom",    "launch", "wrong", "hang",
                                                "device", "arch",   "abort", "image"};

/* What follows the kind when the fault is asked for, "" for nothing; NULL when it is not. */
static const char *fault_of(enum fault fault)
{
    const char *asked = getenv("MOEPLAN_EMUL_FAULT");
    size_t length = strlen(faults[fault]);
    if (!asked || strncmp(asked, faults[fault], length) != 0)
        return NULL;
    return asked[length] == ':' ? asked + length + 1 : asked[length] ? NULL : "";
}

static bool strikes(enum fault fault, const char *name)
{
    const char *asked = fault_of(fault);
    return asked && strcmp(asked, name) == 0;
}

/* ---- memory ---- */

struct held {
    char *at;
    size_t bytes;
};

static struct {
    char *region, *bytes;
    struct held blocks[BLOCKS];
    unsigned n_blocks, n_allocations, loads;
    size_t used;
    bool hangs;
    uint64_t launches;
} gpu;

/* Where the bytes of a device's address are. */
static char *bytes_at(uint64_t memory)
{
    return gpu.bytes + (memory - (uintptr_t)gpu.region);
}

static bool lies_in(uint64_t memory, size_t bytes)
{
    const char *at = (const char *)(uintptr_t)memory;
    for (unsigned i = 0; i < gpu.n_blocks; i++)
        if (at >= gpu.blocks[i].at && at + bytes <= gpu.blocks[i].at + gpu.blocks[i].bytes)
            return true;
    return false;
}

static bool guards_hold(void)
{
    for (unsigned i = 0; i < gpu.n_blocks; i++)
        for (unsigned j = 0; j < GUARD; j++)
            if ((unsigned char)bytes_at((uintptr_t)gpu.blocks[i].at)[gpu.blocks[i].bytes + j] !=
                0xa5)
                return false;
    return true;
}

SEEN int cuInit(unsigned flags)
{
    (void)flags;
    if (fault_of(FAULT_DEVICE))
        return CODE_NO_DEVICE;
    const int flags_of = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (!gpu.region) {
        gpu.region = mmap(NULL, region_bytes, PROT_NONE, flags_of, -1, 0);
        gpu.bytes = mmap(NULL, region_bytes, PROT_READ | PROT_WRITE, flags_of, -1, 0);
    }
    return gpu.region == MAP_FAILED || gpu.bytes == MAP_FAILED ? CODE_NO_MEMORY : CODE_FINE;
}
ALSO(cuInit) int hipInit(unsigned flags);

/* First fit among the blocks, which are kept in order of address. */
SEEN int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
    const char *nth = fault_of(FAULT_OOM);
    size_t room = (bytes + GUARD + 255) / 256 * 256, at = 0;
    unsigned i = 0;
    gpu.n_allocations++;
    if ((nth && gpu.n_allocations == strtoul(nth, NULL, 10)) || gpu.n_blocks == BLOCKS)
        return CODE_NO_MEMORY;
    for (; i < gpu.n_blocks; i++) {
        size_t begin = (size_t)(gpu.blocks[i].at - gpu.region);
        if (begin - at >= room)
            break;
        at = (begin + gpu.blocks[i].bytes + GUARD + 255) / 256 * 256;
    }
    if (bytes == 0 || room > region_bytes || at > region_bytes - room)
        return CODE_NO_MEMORY;
    memmove(&gpu.blocks[i + 1], &gpu.blocks[i], (gpu.n_blocks - i) * sizeof *gpu.blocks);
    gpu.blocks[i] = (struct held){gpu.region + at, bytes};
    gpu.n_blocks++;
    memset(gpu.bytes + at, 0xff, bytes);
    memset(gpu.bytes + at + bytes, 0xa5, GUARD);
    *memory = (uintptr_t)(gpu.region + at);
    return CODE_FINE;
}
ALSO(cuMemAlloc_v2) int hipMalloc(uint64_t *memory, size_t bytes);

SEEN int cuMemFree_v2(uint64_t memory)
{
    for (unsigned i = 0; i < gpu.n_blocks; i++) {
        if (gpu.blocks[i].at != (char *)(uintptr_t)memory)
            continue;
        memmove(&gpu.blocks[i], &gpu.blocks[i + 1],
                (gpu.n_blocks - i - 1) * sizeof *gpu.blocks);
        gpu.n_blocks--;
        return CODE_FINE;
    }
    return CODE_INVALID;
}
ALSO(cuMemFree_v2) int hipFree(uint64_t memory);

SEEN int cuMemsetD8_v2(uint64_t memory, unsigned char byte, size_t bytes)
{
    if (!lies_in(memory, bytes))
        return CODE_BAD_ADDRESS;
    memset(bytes_at(memory), byte, bytes);
    return CODE_FINE;
}
ALSO(cuMemsetD8_v2) int hipMemsetD8(uint64_t memory, unsigned char byte, size_t bytes);

SEEN int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    if (!lies_in(from, bytes))
        return CODE_BAD_ADDRESS;
    memcpy(to, bytes_at(from), bytes);
    return CODE_FINE;
}
ALSO(cuMemcpyDtoH_v2) int hipMemcpyDtoH(void *to, uint64_t from, size_t bytes);

SEEN int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    if (!lies_in(to, bytes))
        return CODE_BAD_ADDRESS;
    memcpy(bytes_at(to), from, bytes);
    return CODE_FINE;
}
ALSO(cuMemcpyHtoD_v2) int hipMemcpyHtoD(uint64_t to, const void *from, size_t bytes);

SEEN int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
    if (!lies_in(to, bytes) || !lies_in(from, bytes))
        return CODE_BAD_ADDRESS;
    memmove(bytes_at(to), bytes_at(from), bytes);
    return CODE_FINE;
}
ALSO(cuMemcpyDtoD_v2) int hipMemcpyDtoD(uint64_t to, uint64_t from, size_t bytes);

/* When the process ends everything has been given back. */
__attribute__((destructor)) static void count_left(void)
{
    if (gpu.n_blocks > 0)
        fprintf(stderr, "look-alike: %u allocations were not given back\n", gpu.n_blocks);
}

/* ---- devices ---- */

SEEN int cuDriverGetVersion(int *version)
{
    *version = 1;
    return CODE_FINE;
}
ALSO(cuDriverGetVersion) int hipDriverGetVersion(int *version);

SEEN int cuDeviceGetCount(int *n)
{
    *n = 1;
    return CODE_FINE;
}
ALSO(cuDeviceGetCount) int hipGetDeviceCount(int *n);

SEEN int cuDeviceGet(int *device, int number)
{
    *device = 7; /* not its number: the two are different things */
    return number == 0 ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceGet) int hipDeviceGet(int *device, int number);

SEEN int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "look-alike");
    return device == 7 ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceGetName) int hipDeviceGetName(char *name, int length, int device);

SEEN int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = region_bytes;
    return device == 7 ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceTotalMem_v2) int hipDeviceTotalMem(size_t *bytes, int device);

SEEN int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
    size_t used = 0;
    for (unsigned i = 0; i < gpu.n_blocks; i++)
        used += gpu.blocks[i].bytes;
    *all = region_bytes;
    *unused = region_bytes - used;
    return CODE_FINE;
}
ALSO(cuMemGetInfo_v2) int hipMemGetInfo(size_t *unused, size_t *all);

/* The architecture: MOEPLAN_EMUL_DEVICE, or one that there are images for. */
static const char *kind_of_device(const char *else_kind)
{
    const char *asked = getenv("MOEPLAN_EMUL_DEVICE");
    return asked ? asked : else_kind;
}

SEEN int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int capability = (int)strtol(kind_of_device("sm_90") + 3, NULL, 10);
    *value = attribute == 75   ? capability / 10
             : attribute == 76 ? capability % 10
             : attribute == 16 ? 3 /* units: fewer than tiles */
                               : 0;
    return device == 7 ? CODE_FINE : CODE_INVALID;
}

SEEN int hipGetDevicePropertiesR0600(char *properties, int device)
{
    snprintf(properties + 1160, 64, "%s:sramecc+:xnack-", kind_of_device("gfx90a"));
    return device == 7 ? CODE_FINE : CODE_INVALID;
}

SEEN int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &gpu;
    return device == 7 ? CODE_FINE : CODE_INVALID;
}

SEEN int cuCtxSetCurrent(void *context)
{
    return context == &gpu ? CODE_FINE : CODE_INVALID;
}

SEEN int hipSetDevice(int device)
{
    return device == 7 ? CODE_FINE : CODE_INVALID;
}

SEEN int cuCtxSynchronize(void)
{
    return CODE_FINE;
}
ALSO(cuCtxSynchronize) int hipDeviceSynchronize(void);

SEEN int cuGetErrorName(int code, const char **name)
{
    *name = code == CODE_NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return CODE_FINE;
}

/* ---- the compiler: an image is its text ---- */

struct program {
    char *image;
    size_t bytes;
    const char *log;
};

SEEN int nvrtcCreateProgram(void **program, const char *text, const char *name, int n,
                            const char *const *headers, const char *const *names)
{
    struct program *made = calloc(1, sizeof *made);
    (void)name;
    (void)headers;
    (void)names;
    if (!made || n != 0)
        return CODE_INVALID;
    made->bytes = strlen(text) + 1;
    made->image = strdup(text);
    if (!made->image)
        return CODE_NO_MEMORY;
    *program = made;
    return CODE_FINE;
}
ALSO(nvrtcCreateProgram)
int hiprtcCreateProgram(void **program, const char *text, const char *name, int n,
                        const char *const *headers, const char *const *names);

static bool names_architecture(const char *option)
{
    static const char *const known[] = {"--gpu-architecture=sm_90", "--gpu-architecture=sm_86",
                                        "--offload-arch=gfx90a", "--offload-arch=gfx906"};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(option, known[i]) == 0)
            return true;
    return false;
}

SEEN int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
    struct program *made = program;
    bool known = false;
    if (fault_of(FAULT_ABORT))
        abort();
    for (int i = 0; i < n; i++)
        known |= names_architecture(options[i]);
    if (known && !fault_of(FAULT_ARCH))
        return CODE_FINE;
    made->log = "error: invalid value for --gpu-architecture";
    return 5;
}
ALSO(nvrtcCompileProgram)
int hiprtcCompileProgram(void *program, int n, const char *const *options);

SEEN int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    const struct program *made = program;
    *bytes = made->log ? strlen(made->log) + 1 : 1;
    return CODE_FINE;
}
ALSO(nvrtcGetProgramLogSize) int hiprtcGetProgramLogSize(void *program, size_t *bytes);

SEEN int nvrtcGetProgramLog(void *program, char *text)
{
    const struct program *made = program;
    memcpy(text, made->log ? made->log : "", made->log ? strlen(made->log) + 1 : 1);
    return CODE_FINE;
}
ALSO(nvrtcGetProgramLog) int hiprtcGetProgramLog(void *program, char *text);

SEEN int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    const struct program *made = program;
    *bytes = made->bytes;
    return CODE_FINE;
}
ALSO(nvrtcGetCUBINSize) int hiprtcGetCodeSize(void *program, size_t *bytes);

SEEN int nvrtcGetCUBIN(void *program, char *bytes)
{
    const struct program *made = program;
    memcpy(bytes, made->image, made->bytes);
    return CODE_FINE;
}
ALSO(nvrtcGetCUBIN) int hiprtcGetCode(void *program, char *bytes);

/* ---- modules and launches ---- */

struct module {
    const void *image; /* NULL: a text, which may be gone */
};

SEEN int cuModuleLoadData(void **module, const void *image)
{
    struct module *made = malloc(sizeof *made);
    const char *nth = fault_of(FAULT_IMAGE);
    gpu.loads++;
    bool refused = nth && (!*nth || gpu.loads == strtoul(nth, NULL, 10));
    if (!made || refused || !image_loads(image)) {
        free(made);
        return CODE_BAD_IMAGE;
    }
    made->image = image_is_text(image) ? NULL : image;
    *module = made;
    return CODE_FINE;
}
ALSO(cuModuleLoadData) int hipModuleLoadData(void **module, const void *image);

SEEN int cuModuleUnload(void *module)
{
    free(module);
    return CODE_FINE;
}
ALSO(cuModuleUnload) int hipModuleUnload(void *module);

struct function {
    char name[64];
    bool maps; /* it takes them, as products at peak rate do, and looks at none */
    void *code;
};

static struct function functions[128];
static unsigned n_functions;

static bool takes_maps(const char *name)
{
    return strncmp(name, "k_", 2) != 0;
}

/* Of the arguments that this library's kernel has. */
static size_t bytes_of_arguments(const char *name)
{
    return sizeof(struct gpu_call) + (ARGUMENTS - 1) * sizeof(uint64_t) +
           (takes_maps(name) ? sizeof(struct gpu_maps) : 0);
}

/* The image has the kernel, and with arguments of the size that is given. */
static bool agrees(const struct module *module, const char *name)
{
    size_t hidden,
        bytes = module->image ? image_argument_bytes(module->image, name, &hidden) : SIZE_MAX;
    size_t wanted = bytes_of_arguments(name);
    if (bytes == SIZE_MAX || (bytes >= wanted && bytes - wanted <= hidden))
        return true;
    fprintf(stderr, "look-alike: %s: the image's arguments are %zu bytes, the call's %zu\n",
            name, bytes, wanted);
    return false;
}

/* The library itself is searched for what kernels.c has in it. */
SEEN int cuModuleGetFunction(void **function, void *module, const char *name)
{
    Dl_info self;
    if (n_functions == 128 || !dladdr((void *)functions, &self) || !agrees(module, name))
        return CODE_NOT_FOUND;
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *code = library ? dlsym(library, name) : NULL;
    if (!code)
        return CODE_NOT_FOUND;
    struct function *made = &functions[n_functions++];
    snprintf(made->name, sizeof made->name, "%s", strncmp(name, "k_", 2) ? name : name + 2);
    made->maps = takes_maps(name);
    made->code = code;
    *function = made;
    return CODE_FINE;
}
ALSO(cuModuleGetFunction)
int hipModuleGetFunction(void **function, void *module, const char *name);

void emul_call(void *code, void **parameters,
               bool maps); /* call.c knows the kernels' arguments */

struct item {
    void *code;
    void **parameters;
    bool maps;
};

static void run_item(void *context)
{
    const struct item *item = context;
    emul_call(item->code, item->parameters, item->maps);
}

static uint64_t seed_of(void)
{
    const char *seed = getenv("MOEPLAN_EMUL_SEED");
    return (seed ? strtoull(seed, NULL, 10) : 1) + gpu.launches++;
}

SEEN int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void *stream,
                        void **parameters, void **extra)
{
    const struct function *kernel = function;
    char *memory[ARGUMENTS] = {NULL};
    void *local[ARGUMENTS];
    struct item item = {kernel->code, local, kernel->maps};
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared > 49152 || stream || extra || !gx)
        return CODE_INVALID;
    parameters += kernel->maps;
    local[0] = parameters[0];
    for (unsigned i = 1; i < ARGUMENTS; i++) {
        uint64_t address = *(const uint64_t *)parameters[i];
        if (address && !lies_in(address, 1))
            return CODE_BAD_ADDRESS;
        memory[i] = address ? bytes_at(address) : NULL;
        local[i] = &memory[i];
    }
    if (strikes(FAULT_LAUNCH, kernel->name))
        return CODE_LAUNCH_FAILED;
    gpu.hangs = strikes(FAULT_HANG, kernel->name);
    uint64_t skipped = strikes(FAULT_WRONG, kernel->name) ? 0 : UINT64_MAX;
    enum fibre_fault fault = fibre_run(run_item, &item, gx, bx, seed_of(), skipped);
    bool intact = guards_hold();
    if (fault != FIBRE_FINE)
        fprintf(stderr, "look-alike: %s: %s\n", kernel->name,
                fault == FIBRE_DIVERGED ? "items wait at different barriers"
                                        : "too much work-group memory");
    return fault != FIBRE_FINE ? CODE_LAUNCH_FAILED : intact ? CODE_FINE : CODE_BAD_ADDRESS;
}
ALSO(cuLaunchKernel)
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **parameters, void **extra);

/* ---- events ---- */

SEEN int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = malloc(1);
    return *event ? CODE_FINE : CODE_NO_MEMORY;
}
ALSO(cuEventCreate) int hipEventCreateWithFlags(void **event, unsigned flags);

SEEN int cuEventDestroy_v2(void *event)
{
    free(event);
    return CODE_FINE;
}
ALSO(cuEventDestroy_v2) int hipEventDestroy(void *event);

SEEN int cuEventRecord(void *event, void *stream)
{
    return event && !stream ? CODE_FINE : CODE_INVALID;
}
ALSO(cuEventRecord) int hipEventRecord(void *event, void *stream);

SEEN int cuEventQuery(void *event)
{
    return !event ? CODE_INVALID : gpu.hangs ? CODE_NOT_READY : CODE_FINE;
}
ALSO(cuEventQuery) int hipEventQuery(void *event);

SEEN int cuEventElapsedTime(float *ms, void *begin, void *end)
{
    *ms = 0.001F;
    return begin && end ? CODE_FINE : CODE_INVALID;
}
ALSO(cuEventElapsedTime) int hipEventElapsedTime(float *ms, void *begin, void *end);
