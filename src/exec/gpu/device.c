/* See device.h. */
#include "exec/gpu/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "exec/gpu/clock.h"
#include "exec/gpu/engine.h"
#include "exec/gpu/guard.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/peak.h"

/* Seconds after which a kernel is taken to hang; MOEPLAN_GPU_LIMIT_S sets another limit. */
static const double limit_s = 60;

/* Where our addresses begin: a bit that no address of a process has set, then the slot. */
static const uintptr_t first_address = (uintptr_t)1 << 62;
enum { SLOT_BITS = 54, PAGE = 4096 };

struct range {
    uintptr_t address; /* ascending: addresses are never used again */
    uint64_t bytes, memory;
    uint64_t whole; /* with its guard bands; 0: it has none */
};

struct gpu {
    const struct gpu_driver *driver;
    void *state, *device;
    struct gpu_facts facts;
    char where[32];
    uint64_t siblings;
    double limit_s;
    char started[64]; /* the kernel that was begun last */
    struct range *blocks;
    size_t n_blocks, capacity;
    uintptr_t next;
    bool guarded;                    /* allocations have guard bands */
    uint64_t given[GPU_TENSORS + 1]; /* memory of the kernel that was begun last */
    bool goes_on, more;              /* of several calls between one pair of marks */
    void *programs[GPU_SOURCE_COUNT];
    void *kernels[KERNEL_COUNT], *phases[KERNEL_COUNT][GPU_PHASES];
    struct peak *peak; /* NULL: all products are portable */
    struct clock *clock;
};

/* ---- opening ---- */

static const struct gpu_driver *driver_named(const char *name, size_t length)
{
    const struct gpu_driver *driver;
    for (unsigned i = 0; (driver = gpu_driver_at(i)) != NULL; i++)
        if (strlen(driver->name) == length && strncmp(driver->name, name, length) == 0)
            return driver;
    return NULL;
}

/* "name:number" */
static enum status read_where(const char *where, const struct gpu_driver **driver,
                              uint32_t *number, struct err *err)
{
    size_t length = strcspn(where, ":");
    uint64_t value = 0;
    *driver = driver_named(where, length);
    bool good = *driver != NULL;
    if (good && where[length] == ':') {
        char *end;
        value = strtoull(where + length + 1, &end, 10);
        good = where[length + 1] >= '0' && where[length + 1] <= '9' && *end == '\0' &&
               value <= UINT32_MAX;
    }
    *number = (uint32_t)value;
    if (good)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "there is no device '%s'", where);
    return err_hint(err, "a driver and a number, as in opencl:0; 'moeplan list devices' shows "
                         "those of this machine");
}

static enum status open_on(struct gpu *gpu, const struct gpu_driver *driver, uint32_t number,
                           struct err *err)
{
    struct gpu_facts facts[64];
    uint32_t found = 0;
    gpu->driver = driver;
    TRY(driver->load(&gpu->state, err));
    TRY(driver->list(gpu->state, facts, 64, &found, err));
    if (number >= found || number >= 64)
        return err_set(err, STATUS_ABSENT,
                       "\"%s\" is there, but knows %u devices, not number "
                       "%u",
                       driver->library, found, number);
    gpu->siblings = found;
    gpu->facts = facts[number];
    snprintf(gpu->where, sizeof gpu->where, "%s:%u", driver->name, number);
    TRY(driver->open(gpu->state, number, &gpu->device, err));
    gpu->peak = peak_create(driver, gpu->device, gpu->facts.name);
    gpu->clock = clock_create(driver, gpu->device);
    return STATUS_OK;
}

static void close_driver(struct gpu *gpu)
{
    peak_free(gpu->peak);
    clock_free(gpu->clock);
    gpu->peak = NULL;
    gpu->clock = NULL;
    if (gpu->device)
        gpu->driver->close(gpu->device);
    if (gpu->state)
        gpu->driver->unload(gpu->state);
    gpu->device = gpu->state = NULL;
}

/* The driver's first device, or the one whose turn it is. */
static enum status open_in_turn(struct gpu *gpu, const struct gpu_driver *driver, uint64_t turn,
                                struct err *err)
{
    TRY(open_on(gpu, driver, 0, err));
    uint32_t number = (uint32_t)(turn % gpu->siblings);
    if (number == 0)
        return STATUS_OK;
    close_driver(gpu);
    return open_on(gpu, driver, number, err);
}

static enum status open_named(struct gpu *gpu, const char *where, struct err *err)
{
    const struct gpu_driver *driver;
    uint32_t number;
    TRY(read_where(where, &driver, &number, err));
    if (open_on(gpu, driver, number, err) == STATUS_OK)
        return STATUS_OK;
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    enum status status = err->status;
    err_clear(err);
    err_set(err, status, "device \"%s\" is not present: %.900s", where, text);
    return err_hint(err, "%s", driver->hint);
}

/* A device of the first driver that has one. */
static enum status open_any(struct gpu *gpu, uint64_t turn, struct err *err)
{
    const struct gpu_driver *driver;
    char tried[600] = "";
    for (unsigned i = 0; (driver = gpu_driver_at(i)) != NULL; i++) {
        struct err why = {.status = STATUS_OK};
        if (open_in_turn(gpu, driver, turn, &why) == STATUS_OK)
            return STATUS_OK;
        close_driver(gpu);
        size_t at = strlen(tried);
        snprintf(tried + at, sizeof tried - at, "%s%s: %.150s", at ? "; " : "", driver->name,
                 why.text);
    }
    err_set(err, STATUS_ABSENT, "backend \"gpu\" is not present: %s", tried);
    return err_hint(err, "--backend cpu performs the same ops on the CPU; OpenCL on the CPU is "
                         "Debian's pocl-opencl-icd");
}

enum status gpu_open(const char *where, unsigned slot, uint64_t turn, struct gpu **out,
                     struct err *err)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return err_set(err, STATUS_SYSTEM, "out of memory for a GPU's records");
    const char *limit = getenv("MOEPLAN_GPU_LIMIT_S");
    gpu->limit_s = limit && strtod(limit, NULL) > 0 ? strtod(limit, NULL) : limit_s;
    gpu->guarded = guard_asked();
    gpu->next = first_address + ((uintptr_t)slot << SLOT_BITS);
    enum status status = where ? open_named(gpu, where, err) : open_any(gpu, turn, err);
    if (status == STATUS_OK)
        *out = gpu;
    else
        gpu_close(gpu);
    return status;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    for (unsigned i = 0; i < GPU_SOURCE_COUNT; i++)
        if (gpu->programs[i])
            gpu->driver->release(gpu->device, gpu->programs[i]);
    close_driver(gpu);
    free(gpu->blocks);
    free(gpu);
}

const struct gpu_facts *gpu_facts(const struct gpu *gpu)
{
    return &gpu->facts;
}

const char *gpu_where(const struct gpu *gpu)
{
    return gpu->where;
}

const struct gpu_driver *gpu_driver_of(const struct gpu *gpu)
{
    return gpu->driver;
}

void *gpu_device_of(const struct gpu *gpu)
{
    return gpu->device;
}

uint64_t gpu_siblings(const struct gpu *gpu)
{
    return gpu->siblings;
}

unsigned gpu_slot(const void *address)
{
    return (unsigned)((uintptr_t)address >> SLOT_BITS & (GPU_MOST - 1));
}

const struct clock *gpu_clock(const struct gpu *gpu)
{
    return gpu->clock;
}

uint64_t gpu_left_bytes(const struct gpu *gpu)
{
    struct err err = {.status = STATUS_OK};
    uint64_t bytes = 0;
    if (!gpu->driver->left || gpu->driver->left(gpu->device, &bytes, &err) != STATUS_OK)
        return 0;
    return bytes;
}

void gpu_kernels_text(const struct gpu *gpu, char *text, size_t room)
{
    gpu->driver->kernels(gpu->device, text, room);
    size_t n = strlen(text);
    if (n + 2 >= room)
        return;
    peak_text(gpu->peak, text + n + 2, room - n - 2);
    if (text[n + 2])
        memcpy(text + n, "; ", 2);
    n = strlen(text);
    if (gpu->guarded)
        snprintf(text + n, room - n, "; guard bands are checked after each");
}

void gpu_list(void (*each)(void *context, const struct gpu_driver *driver,
                           const struct gpu_facts *facts, const char *why),
              void *context)
{
    const struct gpu_driver *driver;
    for (unsigned i = 0; (driver = gpu_driver_at(i)) != NULL; i++) {
        struct err why = {.status = STATUS_OK};
        struct gpu_facts facts[64];
        uint32_t found = 0;
        void *state = NULL;
        if (driver->load(&state, &why) == STATUS_OK)
            driver->list(state, facts, 64, &found, &why);
        for (uint32_t f = 0; f < found && f < 64; f++)
            each(context, driver, &facts[f], NULL);
        if (found == 0)
            each(context, driver, NULL,
                 why.status == STATUS_OK ? "no device of this driver" : why.text);
        if (state)
            driver->unload(state);
    }
}

/* ---- memory ---- */

static bool reserve(struct gpu *gpu)
{
    if (gpu->n_blocks < gpu->capacity)
        return true;
    size_t capacity = gpu->capacity ? 2 * gpu->capacity : 64;
    struct range *grown = realloc(gpu->blocks, capacity * sizeof *grown);
    if (!grown)
        return false;
    gpu->blocks = grown;
    gpu->capacity = capacity;
    return true;
}

static enum status take(struct gpu *gpu, uint64_t bytes, struct guarded *out, struct err *err)
{
    if (gpu->guarded)
        return guard_alloc(gpu->driver, gpu->device, bytes, out, err);
    *out = (struct guarded){.bytes = bytes};
    return gpu->driver->alloc(gpu->device, bytes, &out->memory, err);
}

void *gpu_alloc(struct gpu *gpu, uint64_t bytes)
{
    struct err err = {.status = STATUS_OK};
    struct guarded taken;
    if (!reserve(gpu) || bytes >> SLOT_BITS || take(gpu, bytes, &taken, &err) != STATUS_OK)
        return NULL;
    gpu->blocks[gpu->n_blocks++] = (struct range){gpu->next, bytes, taken.memory, taken.whole};
    void *address = (void *)gpu->next;
    gpu->next += round_up(bytes, PAGE) + PAGE;
    return address;
}

/* The block an address is in; NULL: none. */
static struct range *range_of(const struct gpu *gpu, const void *address)
{
    size_t low = 0, high = gpu->n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gpu->blocks[middle].address <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    struct range *block = &gpu->blocks[low - 1];
    return (uintptr_t)address - block->address <= block->bytes ? block : NULL;
}

void gpu_free(struct gpu *gpu, void *memory)
{
    struct range *block = range_of(gpu, memory);
    if (!block)
        return;
    if (gpu->guarded)
        guard_free(gpu->driver, gpu->device, &(struct guarded){block->whole, block->memory, 0});
    else
        gpu->driver->free(gpu->device, block->memory);
    size_t at = (size_t)(block - gpu->blocks);
    memmove(block, block + 1, (gpu->n_blocks - at - 1) * sizeof *block);
    gpu->n_blocks--;
}

uint64_t gpu_memory_of(const struct gpu *gpu, const void *address, uint64_t *offset)
{
    const struct range *block = address ? range_of(gpu, address) : NULL;
    *offset = block ? (uintptr_t)address - block->address : 0;
    return block ? block->memory : 0;
}

enum status gpu_place(const struct gpu *gpu, const void *address, uint64_t bytes,
                      uint64_t *memory, uint64_t *offset, struct err *err)
{
    const struct range *block = range_of(gpu, address);
    *memory = gpu_memory_of(gpu, address, offset);
    if (block && bytes <= block->bytes - *offset)
        return STATUS_OK;
    return err_set(err, STATUS_SYSTEM,
                   "%llu bytes at %p are not those of an allocation on \"%s\"",
                   (unsigned long long)bytes, address, gpu->where);
}

static bool is_given(const struct gpu *gpu, uint64_t memory)
{
    for (unsigned i = 0; i <= GPU_TENSORS; i++)
        if (gpu->given[i] == memory)
            return true;
    return false;
}

static enum status check_guards(const struct gpu *gpu, bool given, const char *kernel,
                                struct err *err)
{
    for (size_t i = 0; gpu->guarded && i < gpu->n_blocks; i++) {
        const struct range *block = &gpu->blocks[i];
        const struct guarded guarded = {block->whole, block->memory, block->bytes};
        if (!given || is_given(gpu, block->memory))
            TRY(guard_check(gpu->driver, gpu->device, &guarded, kernel, err));
    }
    return STATUS_OK;
}

enum status gpu_check_guards(const struct gpu *gpu, const char *kernel, struct err *err)
{
    return check_guards(gpu, false, kernel, err);
}

enum status gpu_fill(struct gpu *gpu, void *memory, unsigned char byte, uint64_t bytes,
                     struct err *err)
{
    uint64_t number, offset;
    if (bytes == 0)
        return STATUS_OK;
    TRY(gpu_place(gpu, memory, bytes, &number, &offset, err));
    return gpu->driver->fill(gpu->device, number, offset, byte, bytes, err);
}

enum status gpu_read(struct gpu *gpu, const void *memory, void *to, uint64_t bytes,
                     struct err *err)
{
    uint64_t number, offset;
    if (bytes == 0)
        return STATUS_OK;
    TRY(gpu_place(gpu, memory, bytes, &number, &offset, err));
    return gpu->driver->read(gpu->device, number, offset, to, bytes, err);
}

enum status gpu_write(struct gpu *gpu, void *memory, const void *from, uint64_t bytes,
                      struct err *err)
{
    uint64_t number, offset;
    if (bytes == 0)
        return STATUS_OK;
    TRY(gpu_place(gpu, memory, bytes, &number, &offset, err));
    return gpu->driver->write(gpu->device, number, offset, from, bytes, err);
}

enum status gpu_copy(struct gpu *gpu, const void *from, void *to, uint64_t bytes,
                     struct err *err)
{
    uint64_t source, source_offset, target, target_offset;
    if (bytes == 0)
        return STATUS_OK;
    TRY(gpu_place(gpu, from, bytes, &source, &source_offset, err));
    TRY(gpu_place(gpu, to, bytes, &target, &target_offset, err));
    return gpu->driver->copy(gpu->device, source, source_offset, target, target_offset, bytes,
                             err);
}

/* ---- kernels ---- */

static enum status find_kernel(struct gpu *gpu, enum gpu_source source, const char *text,
                               void **kernel, struct err *err)
{
    void **program = &gpu->programs[source];
    char name[64];
    if (!*program) {
        unsigned n;
        const struct gpu_text *texts = gpu_source_texts(source, &n);
        struct gpu_build build = {.name = texts[n - 1].name, .texts = texts, .n = n};
        TRY(gpu->driver->build(gpu->device, &build, program, err));
    }
    snprintf(name, sizeof name, "k_%s", text);
    return gpu->driver->find(gpu->device, *program, name, kernel, err);
}

bool gpu_multiplies(enum kernel kernel)
{
    return engine_knows(kernel);
}

enum status gpu_ask_engines(struct gpu *gpu, struct err *err)
{
    return peak_ask(gpu->peak, gpu, gpu->limit_s, err);
}

/* The launches before a kernel's own, which goes on with what they began. */
static enum status start_phases(struct gpu *gpu, enum kernel kernel, struct gpu_launch *own,
                                struct err *err)
{
    const struct gpu_phase *phases = gpu_phases_of(kernel);
    for (unsigned i = 0; i < GPU_PHASES && phases[i].name; i++) {
        void **found = &gpu->phases[kernel][i];
        if (!*found)
            TRY(find_kernel(gpu, phases[i].source, phases[i].name, found, err));
        struct gpu_launch launch = *own;
        launch.kernel = *found;
        launch.items = phases[i].items;
        launch.groups = phases[i].by_bin ? own->call->bins : own->groups;
        launch.more = true;
        TRY(gpu->driver->launch(gpu->device, &launch, err));
        own->goes_on = true;
    }
    return STATUS_OK;
}

enum status gpu_start(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                      const uint64_t *memory, uint64_t groups, struct err *err)
{
    const struct gpu_kernel *row = gpu_kernel_of(kernel);
    const char *engine = NULL;
    if (!row->name)
        return err_set(err, STATUS_ABSENT, "backend \"gpu\" has no kernel \"%s\"",
                       kernel_name(kernel));
    memcpy(gpu->given, memory, sizeof gpu->given);
    struct gpu_launch launch = {.items = row->items,
                                .name = row->name,
                                .groups = groups,
                                .call = call,
                                .memory = memory,
                                .goes_on = gpu->goes_on,
                                .more = gpu->more};
    TRY(peak_start(gpu->peak, gpu, kernel, &launch, gpu->limit_s, &engine, err));
    snprintf(gpu->started, sizeof gpu->started, "%s", engine ? engine : row->name);
    if (engine)
        return STATUS_OK;
    if (!gpu->kernels[kernel])
        TRY(find_kernel(gpu, row->source, row->name, &gpu->kernels[kernel], err));
    launch.kernel = gpu->kernels[kernel];
    if (groups > 1 && gpu_phases_of(kernel))
        TRY(start_phases(gpu, kernel, &launch, err));
    return gpu->driver->launch(gpu->device, &launch, err);
}

enum status gpu_start_many(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                           const uint64_t *memory, uint64_t groups, unsigned times,
                           struct err *err)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < times && status == STATUS_OK; i++) {
        gpu->goes_on = i > 0;
        gpu->more = i + 1 < times;
        status = gpu_start(gpu, kernel, call, memory, groups, err);
    }
    gpu->goes_on = gpu->more = false;
    return status;
}

enum status gpu_wait(struct gpu *gpu, double *seconds, struct err *err)
{
    *seconds = 0;
    if (!gpu->started[0])
        return STATUS_OK;
    TRY(gpu->driver->wait(gpu->device, gpu->started, gpu->limit_s, seconds, err));
    return check_guards(gpu, true, gpu->started, err);
}

enum status gpu_settle(struct gpu *gpu, const char *name, struct err *err)
{
    if (!gpu->driver->mark)
        return STATUS_OK;
    TRY(gpu->driver->mark(gpu->device, GPU_MARK_END, err));
    return gpu->driver->wait(gpu->device, name, gpu->limit_s, NULL, err);
}

enum status gpu_perform(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                        const uint64_t *memory, uint64_t groups, double *seconds,
                        struct err *err)
{
    TRY(gpu_start(gpu, kernel, call, memory, groups, err));
    return gpu_wait(gpu, seconds, err);
}
