/* Look-alikes of libcuda.so.1, NVRTC, libamdhip64.so and HIPRTC, for tests: what moeplan opens,
 * under the names of both.
 *
 * Device memory is one region at addresses of its own, behind which nothing lies: a host that
 * follows one faults; the driver and the kernels know where the bytes are. Fresh memory is
 * poisoned, a guard band behind every allocation is checked after every launch. There may be
 * several devices (MOEPLAN_EMUL_DEVICES): a call reaches the memory of the current one alone,
 * and what is begun on one is not done before somebody waits for it (card.h). Kernels are
 * those of kernels.c, found by name, and only in an image of the same texts, or one that nvcc
 * or hipcc made of them (image.c); arguments have the size that the image says.
 * MOEPLAN_EMUL_SEED orders groups and items; MOEPLAN_EMUL_FAULT injects a fault (faults[]),
 * MOEPLAN_EMUL_DEVICE names another architecture. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/gpu/kernels/call.h"
#include "support/emul/card.h"
#include "support/emul/fault.h"
#include "support/emul/fibre.h"
#include "support/emul/image.h"
#include "support/emul/map.h"

#define SEEN __attribute__((visibility("default")))
#define ALSO(name) __attribute__((visibility("default"), alias(#name)))

enum { ARGUMENTS = 10 };

/* ---- faults: "kind" or "kind:what" ---- */

enum fault {
    FAULT_OOM,    /* oom:N  the N-th allocation fails */
    FAULT_LAUNCH, /* launch:NAME  a kernel that fails */
    FAULT_WRONG,  /* wrong:NAME  a kernel that leaves a group out */
    FAULT_HANG,   /* hang:NAME  a kernel that never ends */
    FAULT_DEVICE, /* device  a driver without a device */
    FAULT_IMAGE,  /* image  no image loads; image:N  the N-th does not */
    FAULT_PEER,   /* peer:N  the N-th copy to another device fails */
    FAULT_REACH,  /* reach  a driver that says two devices are linked, and does not link them */
    FAULT_COUNT
};

static const char *const faults[FAULT_COUNT] = {"oom",    "launch", "wrong", "hang",
                                                "device", "image",  "peer",  "reach"};

static const char *fault_of(enum fault fault)
{
    return fault_asked(faults[fault]);
}

static bool strikes(enum fault fault, const char *name)
{
    const char *asked = fault_of(fault);
    return asked && strcmp(asked, name) == 0;
}

/* ---- memory ---- */

static unsigned n_allocations, n_loads, n_peer_copies;
static uint64_t launches;

SEEN int cuInit(unsigned flags)
{
    (void)flags;
    if (fault_of(FAULT_DEVICE))
        return CODE_NO_DEVICE;
    return cards_begin() ? CODE_FINE : CODE_NO_MEMORY;
}
ALSO(cuInit) int hipInit(unsigned flags);

SEEN int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
    const char *nth = fault_of(FAULT_OOM);
    n_allocations++;
    return nth && n_allocations == strtoul(nth, NULL, 10)
               ? CODE_NO_MEMORY
               : card_alloc(card_now(), bytes, memory);
}
ALSO(cuMemAlloc_v2) int hipMalloc(uint64_t *memory, size_t bytes);

SEEN int cuMemFree_v2(uint64_t memory)
{
    card_finish(card_now());
    return card_free(card_now(), memory);
}
ALSO(cuMemFree_v2) int hipFree(uint64_t memory);

/* Returns before it is done, like all copies on a device. */
SEEN int cuMemsetD8_v2(uint64_t memory, unsigned char byte, size_t bytes)
{
    struct card *card = card_now();
    if (!card_has(card, memory, bytes))
        return CODE_BAD_ADDRESS;
    card_later(card, (struct later){card_bytes(card, memory), NULL, bytes, byte});
    return CODE_FINE;
}
ALSO(cuMemsetD8_v2) int hipMemsetD8(uint64_t memory, unsigned char byte, size_t bytes);

SEEN int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    struct card *card = card_now();
    if (!card_has(card, from, bytes))
        return CODE_BAD_ADDRESS;
    card_finish(card);
    memcpy(to, card_bytes(card, from), bytes);
    return CODE_FINE;
}
ALSO(cuMemcpyDtoH_v2) int hipMemcpyDtoH(void *to, uint64_t from, size_t bytes);

SEEN int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    struct card *card = card_now();
    if (!card_has(card, to, bytes))
        return CODE_BAD_ADDRESS;
    card_finish(card);
    memcpy(card_bytes(card, to), from, bytes);
    return CODE_FINE;
}
ALSO(cuMemcpyHtoD_v2) int hipMemcpyHtoD(uint64_t to, const void *from, size_t bytes);

SEEN int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
    struct card *card = card_now();
    if (!card_has(card, to, bytes) || !card_has(card, from, bytes))
        return CODE_BAD_ADDRESS;
    card_later(card, (struct later){card_bytes(card, to), card_bytes(card, from), bytes, 0});
    return CODE_FINE;
}
ALSO(cuMemcpyDtoD_v2) int hipMemcpyDtoD(uint64_t to, uint64_t from, size_t bytes);

/* ---- between devices ---- */

static int reaches(int *can, struct card *card, struct card *other)
{
    if (!card || !other || card == other)
        return CODE_INVALID;
    *can = card_linked(card, other) || fault_of(FAULT_REACH);
    return CODE_FINE;
}

SEEN int cuDeviceCanAccessPeer(int *can, int device, int other)
{
    return reaches(can, card_of(device), card_of(other));
}
ALSO(cuDeviceCanAccessPeer) int hipDeviceCanAccessPeer(int *can, int device, int other);

static int reach(struct card *other, unsigned flags)
{
    struct card *card = card_now();
    if (!other || other == card || flags || !card_linked(card, other))
        return CODE_NO_PEER;
    return card_reach(card, other) ? CODE_FINE : CODE_REACHED_ALREADY;
}

SEEN int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    return reach(context, flags);
}

SEEN int hipDeviceEnablePeerAccess(int device, unsigned flags)
{
    return reach(card_of(device), flags);
}

static int copy_peer(uint64_t to, struct card *target, uint64_t from, struct card *source,
                     size_t bytes, const void *stream)
{
    const char *nth = fault_of(FAULT_PEER);
    n_peer_copies++;
    if (nth && n_peer_copies == strtoul(nth, NULL, 10))
        return CODE_NO_PEER;
    if (stream || !card_has(target, to, bytes) || !card_has(source, from, bytes))
        return CODE_BAD_ADDRESS;
    cards_count(card_reached(source, target) ? COUNT_DIRECT : COUNT_STAGED, bytes);
    card_later(card_now(),
               (struct later){card_bytes(target, to), card_bytes(source, from), bytes, 0});
    return CODE_FINE;
}

SEEN int cuMemcpyPeerAsync(uint64_t to, void *target, uint64_t from, void *source, size_t bytes,
                           void *stream)
{
    return copy_peer(to, target, from, source, bytes, stream);
}

SEEN int hipMemcpyPeerAsync(uint64_t to, int target, uint64_t from, int source, size_t bytes,
                            void *stream)
{
    return copy_peer(to, card_of(target), from, card_of(source), bytes, stream);
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
    *n = (int)cards_count_all();
    return CODE_FINE;
}
ALSO(cuDeviceGetCount) int hipGetDeviceCount(int *n);

SEEN int cuDeviceGet(int *device, int number)
{
    *device = CARD_FIRST + number; /* not its number: the two are different things */
    return card_of(*device) ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceGet) int hipDeviceGet(int *device, int number);

SEEN int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "look-alike");
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceGetName) int hipDeviceGetName(char *name, int length, int device);

SEEN int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = CARD_BYTES;
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceTotalMem_v2) int hipDeviceTotalMem(size_t *bytes, int device);

SEEN int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
    *all = CARD_BYTES;
    *unused = CARD_BYTES - card_used(card_now());
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
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}

SEEN int hipGetDevicePropertiesR0600(char *properties, int device)
{
    snprintf(properties + 1160, 64, "%s:sramecc+:xnack-", kind_of_device("gfx90a"));
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}

SEEN int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = card_of(device);
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}

SEEN int cuCtxSetCurrent(void *context)
{
    return card_enter(context) ? CODE_FINE : CODE_INVALID;
}

SEEN int hipSetDevice(int device)
{
    return card_enter(card_of(device)) ? CODE_FINE : CODE_INVALID;
}

/* The name on the bus; letters of both cases, as drivers give it. */
SEEN int cuDeviceGetPCIBusId(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "0000:%02X:00.0", 0xA0 + device - CARD_FIRST);
    return card_of(device) ? CODE_FINE : CODE_INVALID;
}
ALSO(cuDeviceGetPCIBusId) int hipDeviceGetPCIBusId(char *name, int length, int device);

SEEN int cuGetErrorName(int code, const char **name)
{
    *name = code == CODE_NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return CODE_FINE;
}

/* ---- modules and launches ---- */

struct module {
    const void *image; /* NULL: a text, which may be gone */
    struct card *card;
};

SEEN int cuModuleLoadData(void **module, const void *image)
{
    struct module *made = malloc(sizeof *made);
    const char *nth = fault_of(FAULT_IMAGE);
    n_loads++;
    bool refused = nth && (!*nth || n_loads == strtoul(nth, NULL, 10));
    if (!made || refused || !image_loads(image)) {
        free(made);
        return CODE_BAD_IMAGE;
    }
    made->image = image_is_text(image) ? NULL : image;
    made->card = card_now();
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
    bool maps;       /* it takes them, as products at peak rate do */
    unsigned shared; /* bytes of work-group memory that it may be given, beyond the usual */
    void *code;
    const struct card *card; /* whose module it is of */
};

static struct function functions[512];
static unsigned n_functions;

/* MOEPLAN_EMUL_WGMMA: the device has what wgmma.h performs. Otherwise it is an older one. */
static bool is_unknown(const char *name)
{
    return strncmp(name, "s90_", 4) == 0 && !getenv("MOEPLAN_EMUL_WGMMA");
}

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
    if (n_functions == 512 || is_unknown(name) || !dladdr((void *)functions, &self) ||
        !agrees(module, name))
        return CODE_NOT_FOUND;
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *code = library ? dlsym(library, name) : NULL;
    if (!code)
        return CODE_NOT_FOUND;
    struct function *made = &functions[n_functions++];
    snprintf(made->name, sizeof made->name, "%s", strncmp(name, "k_", 2) ? name : name + 2);
    made->maps = takes_maps(name);
    made->code = code;
    made->shared = 0;
    made->card = ((const struct module *)module)->card;
    *function = made;
    return CODE_FINE;
}
ALSO(cuModuleGetFunction)
int hipModuleGetFunction(void **function, void *module, const char *name);

/* call.c knows the kernels' arguments; maps NULL: it takes none */
void emul_call(void *code, void **parameters, const struct gpu_maps *maps);

struct item {
    void *code;
    void **parameters;
    const struct gpu_maps *maps;
};

SEEN int cuFuncSetAttribute(void *function, int attribute, int value)
{
    enum { MOST_SHARED = 8, HOPPER_BYTES = 232448 };
    if (attribute != MOST_SHARED || value < 0 || value > HOPPER_BYTES)
        return CODE_INVALID;
    ((struct function *)function)->shared = (unsigned)value;
    return CODE_FINE;
}

static void run_item(void *context)
{
    const struct item *item = context;
    emul_call(item->code, item->parameters, item->maps);
}

static uint64_t seed_of(void)
{
    const char *seed = getenv("MOEPLAN_EMUL_SEED");
    return (seed ? strtoull(seed, NULL, 10) : 1) + launches++;
}

SEEN int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void *stream,
                        void **parameters, void **extra)
{
    const struct function *kernel = function;
    char *memory[ARGUMENTS] = {NULL};
    void *local[ARGUMENTS];
    struct card *card = card_now();
    struct gpu_maps maps = {0};
    struct item item = {kernel->code, local, kernel->maps ? &maps : NULL};
    if (kernel->card != card)
        return CODE_INVALID;
    unsigned most = kernel->shared > 49152 ? kernel->shared : 49152;
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared > most || stream || extra || !gx)
        return CODE_INVALID;
    if (kernel->maps)
        maps = map_within(card, *parameters++);
    local[0] = parameters[0];
    for (unsigned i = 1; i < ARGUMENTS; i++) {
        uint64_t address = *(const uint64_t *)parameters[i];
        if (address && !card_has(card, address, 1))
            return CODE_BAD_ADDRESS;
        memory[i] = address ? card_bytes(card, address) : NULL;
        local[i] = &memory[i];
    }
    if (strikes(FAULT_LAUNCH, kernel->name))
        return CODE_LAUNCH_FAILED;
    card_finish(card);
    card_hang(card, strikes(FAULT_HANG, kernel->name));
    uint64_t skipped = strikes(FAULT_WRONG, kernel->name) ? 0 : UINT64_MAX;
    enum fibre_fault fault = fibre_run(run_item, &item, gx, bx, seed_of(), skipped);
    bool intact = card_guards_hold(card);
    if (fault != FIBRE_FINE)
        fprintf(stderr, "look-alike: %s: %s\n", kernel->name, fibre_fault_text(fault));
    return fault != FIBRE_FINE ? CODE_LAUNCH_FAILED : intact ? CODE_FINE : CODE_BAD_ADDRESS;
}
ALSO(cuLaunchKernel)
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **parameters, void **extra);

/* ---- events ---- */

struct event {
    struct card *card;
    double at_ms; /* below 0: nothing was recorded yet */
};

/* What the process worked so far: no clock of a device, but one that runs. */
static double worked_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

SEEN int cuEventCreate(void **event, unsigned flags)
{
    struct event *made = malloc(sizeof *made);
    (void)flags;
    if (!made)
        return CODE_NO_MEMORY;
    *made = (struct event){card_now(), -1};
    *event = made;
    return CODE_FINE;
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
    struct event *made = event;
    if (!made || stream || made->card != card_now())
        return CODE_INVALID;
    made->at_ms = worked_ms();
    return CODE_FINE;
}
ALSO(cuEventRecord) int hipEventRecord(void *event, void *stream);

SEEN int cuEventQuery(void *event)
{
    struct card *card = event ? ((struct event *)event)->card : NULL;
    if (!card)
        return CODE_INVALID;
    if (card_hangs(card))
        return CODE_NOT_READY;
    card_finish(card);
    return CODE_FINE;
}
ALSO(cuEventQuery) int hipEventQuery(void *event);

/* A microsecond, or with MOEPLAN_EMUL_CLOCK what the process worked between the two. */
SEEN int cuEventElapsedTime(float *ms, void *begin, void *end)
{
    const struct event *from = begin, *to = end;
    *ms = 0.001F;
    if (!from || !to)
        return CODE_INVALID;
    if (from->at_ms < 0 || to->at_ms < 0)
        return CODE_NOT_RECORDED;
    if (getenv("MOEPLAN_EMUL_CLOCK") && to->at_ms - from->at_ms > 0.001)
        *ms = (float)(to->at_ms - from->at_ms);
    return CODE_FINE;
}
ALSO(cuEventElapsedTime) int hipEventElapsedTime(float *ms, void *begin, void *end);

/* For an MPI that takes memory of devices (emul_mpi). */
SEEN void *emul_bytes_for_mpi(uint64_t address, size_t bytes)
{
    struct card *card = card_at(address);
    if (!card || !card_has(card, address, bytes))
        return NULL;
    cards_count(COUNT_MPI, bytes);
    return card_bytes(card, address);
}

/* ---- NVML: what a device's clocks are ---- */

SEEN int nvmlInit_v2(void)
{
    return CODE_FINE;
}

/* Lower case here, and a domain of eight digits or four. */
SEEN int nvmlDeviceGetHandleByPciBusId_v2(const char *name, void **device)
{
    unsigned domain, bus;
    if (sscanf(name, "%x:%x:00.0", &domain, &bus) != 2 || domain != 0)
        return 2;
    *device = card_of((int)bus - 0xa0 + CARD_FIRST);
    return *device ? CODE_FINE : 6;
}

SEEN int nvmlDeviceGetClockInfo(void *device, int what, unsigned *mhz)
{
    *mhz = what == 1 ? 1755 : what == 2 ? 2619 : 0;
    return device && *mhz ? CODE_FINE : 2;
}
