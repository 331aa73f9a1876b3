/* The CPU: kernels as one batch of units over all ranks, on the session's workers; and the row
 * that calls them without any. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/checked.h"
#include "exec/backend/backend.h"
#include "exec/session.h"
#include "exec/stopwatch.h"

enum { ALIGNMENT = 64, CACHE_LINE = 64, FILL_BYTES = 1 << 21 };

struct cpu {
    struct session *session;
    const struct kernels *kernels;
    struct kernels own;
    double marks[BACKEND_MARKS];
};

static enum status cpu_open(struct session *session, const struct kernels *kernels,
                            struct arena *arena, void **device, struct err *err)
{
    struct cpu *cpu = arena_alloc(arena, 1, sizeof *cpu);
    (void)err;
    *cpu = (struct cpu){.session = session};
    kernels_cpu(&cpu->own);
    cpu->kernels = kernels ? kernels : &cpu->own;
    *device = cpu;
    return STATUS_OK;
}

/* ---- memory ---- */

static void *cpu_alloc(void *device, unsigned place, uint64_t bytes)
{
    (void)device;
    (void)place;
    uint64_t rounded = round_up(bytes, ALIGNMENT);
    return rounded < SIZE_MAX / 2 ? aligned_alloc(ALIGNMENT, (size_t)rounded) : NULL;
}

static void cpu_free(void *device, void *memory)
{
    (void)device;
    free(memory);
}

struct filling {
    char *memory;
    unsigned char byte;
    uint64_t bytes;
};

/* New memory is nobody else's yet. The thread sanitizer, which writes down four bytes for each
 * that is written, need not know of it: most of its time went into this. */
#if defined(__SANITIZE_THREAD__)
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#else
#define AnnotateIgnoreWritesBegin(file, line)
#define AnnotateIgnoreWritesEnd(file, line)
#endif

static void fill_piece(void *arg, size_t task, unsigned worker)
{
    (void)worker;
    const struct filling *filling = arg;
    uint64_t at = (uint64_t)task * FILL_BYTES, left = filling->bytes - at;
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    memset(filling->memory + at, filling->byte, left < FILL_BYTES ? left : FILL_BYTES);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

/* All workers share the page faults of large buffers. */
static void cpu_fill(void *device, void *memory, unsigned char byte, uint64_t bytes)
{
    const struct cpu *cpu = device;
    struct filling filling = {memory, byte, bytes};
    pool_run(cpu->session->pool, ceil_div(bytes, FILL_BYTES), fill_piece, &filling);
}

static void cpu_copy(void *device, const void *memory, void *to, uint64_t bytes)
{
    (void)device;
    memcpy(to, memory, bytes);
}

static void cpu_read_counts(void *device, const int64_t *memory, uint64_t n, int64_t *to)
{
    (void)device;
    memcpy(to, memory, n * sizeof *to);
}

#if defined(__x86_64__)
/* Bit 23 of EBX of leaf 7 (Intel SDM 2A, CPUID): lines leave the caches without waiting for
 * each other, some eight times as fast (probe, two workers). */
static bool has_clflushopt(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 23 & 1;
}

__attribute__((target("clflushopt"))) static void flush_lines(const char *memory,
                                                              uint64_t bytes)
{
    union {
        const char *given;
        char *memory;
    } at = {memory};
    for (uint64_t i = 0; i < bytes; i += CACHE_LINE)
        _mm_clflushopt(at.memory + i);
}
#endif

static void cpu_flush(void *device, const void *memory, uint64_t bytes)
{
    (void)device;
#if defined(__x86_64__)
    if (has_clflushopt())
        flush_lines(memory, bytes);
    else
        for (uint64_t i = 0; i < bytes; i += CACHE_LINE)
            _mm_clflush((const char *)memory + i);
    _mm_mfence();
#else
    (void)memory;
    (void)bytes;
#endif
}

/* ---- time: what is called is done ---- */

static void cpu_mark(void *device, enum backend_mark mark)
{
    struct cpu *cpu = device;
    cpu->marks[mark] = stopwatch_now_s();
}

static double cpu_elapsed_s(void *device)
{
    const struct cpu *cpu = device;
    return cpu->marks[BACKEND_END] - cpu->marks[BACKEND_BEGIN];
}

/* ---- kernels ---- */

struct batch {
    const struct launch *launch;
    const struct kernel_ops *kernel;
    struct transport *transport;
    pthread_mutex_t lock; /* of the two below */
    enum status status;
    struct err *err;
};

static void note_failure(struct batch *batch, const struct err *err)
{
    pthread_mutex_lock(&batch->lock);
    if (batch->status == STATUS_OK) {
        batch->status = err->status;
        *batch->err = *err;
    }
    pthread_mutex_unlock(&batch->lock);
}

static void run_unit(void *arg, size_t task, unsigned worker)
{
    struct batch *batch = arg;
    const struct launch *launch = batch->launch;
    struct call *call = launch->calls;
    while (task >= call->first_unit + call->units)
        call++;
    struct err err = {.status = STATUS_OK};
    if (batch->kernel->run(call, task - call->first_unit, launch->scratch[worker], &err) !=
        STATUS_OK)
        note_failure(batch, &err);
    if (launch->beside_other)
        batch->transport->ops->progress(batch->transport, worker);
}

/* Numbers the units of all calls; returns how many there are. */
static uint64_t number_units(const struct launch *launch, const struct kernel_ops *kernel)
{
    uint64_t units = 0;
    for (uint64_t i = 0; i < launch->n; i++) {
        struct call *call = &launch->calls[i];
        call->first_unit = units;
        call->units = call->skipped ? 0 : kernel->units ? kernel->units(call) : 1;
        units += call->units;
    }
    return units;
}

static enum status cpu_launch(void *device, const struct launch *launch, struct err *err)
{
    const struct cpu *cpu = device;
    const struct kernel_ops *kernel = &cpu->kernels->table[launch->op->kernel];
    if (!kernel->run)
        return err_set(err, STATUS_ABSENT, "backend \"cpu\" has no kernel \"%s\"",
                       kernel_name((enum kernel)launch->op->kernel));
    struct batch batch = {.launch = launch,
                          .kernel = kernel,
                          .transport = cpu->session->transport,
                          .status = STATUS_OK,
                          .err = err};
    pthread_mutex_init(&batch.lock, NULL);
    pool_run(cpu->session->pool, number_units(launch, kernel), run_unit, &batch);
    pthread_mutex_destroy(&batch.lock);
    for (uint64_t i = 0; kernel->count && i < launch->n; i++)
        if (!launch->calls[i].skipped)
            kernel->count(&launch->calls[i], &launch->calls[i].counts);
    return batch.status;
}

/* Rows of the host's memory. */
#define HOST_MEMORY                                                                            \
    .open = cpu_open, .alloc = cpu_alloc, .free = cpu_free, .fill = cpu_fill,                  \
    .copy = cpu_copy, .read_counts = cpu_read_counts, .flush = cpu_flush, .mark = cpu_mark,    \
    .elapsed_s = cpu_elapsed_s

const struct backend backend_cpu = {.name = "cpu", .launch = cpu_launch, HOST_MEMORY};

/* ---- null: preparing calls, waking workers, reading the clock ---- */

static void do_nothing(void *arg, size_t task, unsigned worker)
{
    (void)arg;
    (void)task;
    (void)worker;
}

static enum status null_launch(void *device, const struct launch *launch, struct err *err)
{
    const struct cpu *cpu = device;
    uint64_t units = 0;
    (void)err;
    for (uint64_t i = 0; i < launch->n; i++)
        units += !launch->calls[i].skipped;
    pool_run(cpu->session->pool, units, do_nothing, NULL);
    return STATUS_OK;
}

const struct backend backend_null = {
    .name = "null", .idle = true, .launch = null_launch, HOST_MEMORY};
