/* Drivers of GPUs: one row an API, opened at run time with prototypes of our own.
 *
 * A row knows devices, memory as a number, programs compiled from text, and launches that are
 * timed by the device. Nothing of a vendor is needed to build or start: a library that is not
 * there is STATUS_ABSENT, with what was looked for. Calls come from one thread at a time. */
#ifndef MOEPLAN_EXEC_GPU_DRIVER_H
#define MOEPLAN_EXEC_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "exec/gpu/kernels/call.h"

/* A device, for lists and reports. */
struct gpu_facts {
    char name[128];        /* "pthread-..." , "NVIDIA H200" */
    char driver[160];      /* whose driver, which version */
    uint64_t memory_bytes; /* of the device */
    uint64_t units;
    uint32_t number; /* of --device NAME:N */
};

/* One launch. */
struct gpu_launch {
    void *kernel;
    const char *name;
    uint64_t groups;
    uint32_t items;       /* of a work-group */
    uint32_t local_bytes; /* of work-group memory, beside the kernel's own */
    const struct gpu_call *call;
    const struct gpu_maps *maps; /* in front of the call; NULL: the kernel takes none */
    const uint64_t *memory;      /* [GPU_TENSORS + 1], the last is the workspace; 0: none */
    bool goes_on;                /* of an op that another launch began */
    bool more; /* another launch ends the op: marks stand around all of them */
};

/* Between two marks the device's clock is read. */
enum gpu_mark { GPU_MARK_BEGIN, GPU_MARK_END };

struct gpu_text {
    const char *name; /* of the file */
    const char *text;
    uint64_t length;
};

/* A program of several texts, in order. */
struct gpu_build {
    const char *name;
    const struct gpu_text *texts;
    unsigned n;
    const char *architecture; /* to compile for; NULL: the device's own */
    uint64_t hash;            /* of the image, set by build; 0: nobody knows */
};

/* `matrices` of [rows, columns] in bf16, behind each other; a loader takes pieces of box_rows
 * by 64. */
struct gpu_matrix {
    uint64_t memory, columns, rows, matrices;
    uint32_t box_rows;
};

struct gpu_driver {
    const char *name;    /* of --device NAME:N */
    const char *library; /* what is opened */
    const char *hint;    /* what to do when it is absent */

    /* The library; *state is given to the others. */
    enum status (*load)(void **state, struct err *err);
    void (*unload)(void *state);
    /* The devices there are, at most n of them; returns how many are known. */
    enum status (*list)(void *state, struct gpu_facts *facts, uint32_t n, uint32_t *found,
                        struct err *err);
    enum status (*open)(void *state, uint32_t number, void **device, struct err *err);
    void (*close)(void *device);

    /* STATUS_NOFIT when there is no more. */
    enum status (*alloc)(void *device, uint64_t bytes, uint64_t *memory, struct err *err);
    void (*free)(void *device, uint64_t memory);
    /* A part of an allocation under a number of its own, freed before the whole; NULL: numbers
     * are addresses, or there are no parts. */
    enum status (*part)(void *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                        uint64_t *part, struct err *err);
    enum status (*fill)(void *device, uint64_t memory, uint64_t offset, unsigned char byte,
                        uint64_t bytes, struct err *err);
    enum status (*read)(void *device, uint64_t memory, uint64_t offset, void *to,
                        uint64_t bytes, struct err *err);
    enum status (*write)(void *device, uint64_t memory, uint64_t offset, const void *from,
                         uint64_t bytes, struct err *err);
    enum status (*copy)(void *device, uint64_t from, uint64_t from_offset, uint64_t to,
                        uint64_t to_offset, uint64_t bytes, struct err *err);
    /* What the device itself says is left of its memory; NULL: it does not. */
    enum status (*left)(void *device, uint64_t *bytes, struct err *err);
    bool addresses; /* memory is an address: it may be calculated with, other libraries take it
                     */

    /* Copies to another device of this driver; both NULL: through the host's memory. `reach`
     * says whether the two are linked without it. `copy_to` is begun, and done at an END. */
    enum status (*reach)(void *device, void *other, bool *direct, struct err *err);
    enum status (*copy_to)(void *device, uint64_t from, void *other, uint64_t to,
                           uint64_t bytes, struct err *err);

    enum status (*build)(void *device, struct gpu_build *build, void **program,
                         struct err *err);
    void (*release)(void *device, void *program);
    enum status (*find)(void *device, void *program, const char *name, void **kernel,
                        struct err *err);
    /* Lets launches of a kernel have so many bytes of work-group memory beside its own; NULL:
     * none ever has any. */
    enum status (*allow)(void *device, void *kernel, uint32_t local_bytes, struct err *err);
    /* Begins one, between marks of its own or, with others, of its op; one op at a time. */
    enum status (*launch)(void *device, const struct gpu_launch *launch, struct err *err);
    /* NULL: there are none but a launch's. */
    enum status (*mark)(void *device, enum gpu_mark mark, struct err *err);
    /* Until the last END: what was begun before has ended. Longer than the limit is a hang of
     * `name`. seconds: between the last launch's marks; NULL where there may have been none. */
    enum status (*wait)(void *device, const char *name, double limit_s, double *seconds,
                        struct err *err);
    /* Makes the device the calling thread's, for a library that asks; NULL: nobody does. */
    enum status (*enter)(void *device, struct err *err);
    /* Where the kernels that ran came from, for reports. */
    void (*kernels)(void *device, char *text, size_t room);

    /* For products at peak rate (peak.h); NULL: there are none. What the compiler calls the
     * device; how many work-groups run at once at least, 0: unknown; and what a loader is told
     * of a matrix. */
    const char *(*architecture)(void *device);
    uint64_t (*units)(void *device);
    enum status (*map)(void *device, const struct gpu_matrix *matrix, unsigned char map[128],
                       struct err *err);
    /* Its name on the bus, "0000:17:00.0", under which others know it; NULL: not known. */
    enum status (*bus)(void *device, char name[32], struct err *err);
};

/* name */
#define GPU_DRIVERS(X)                                                                         \
    X(cuda)                                                                                    \
    X(hip)                                                                                     \
    X(opencl)

#define GPU_DRIVER_ROW(name) extern const struct gpu_driver gpu_driver_##name;
GPU_DRIVERS(GPU_DRIVER_ROW)
#undef GPU_DRIVER_ROW

/* The rows in order, NULL behind the last. */
const struct gpu_driver *gpu_driver_at(unsigned i);

/* Opens a library: in the folder of MOEPLAN_GPU_LIBRARIES when that is set, else where the
 * system looks, then in the toolkits' folders (CUDA_HOME, CUDA_PATH, ROCM_PATH, or where they
 * are by default). NULL when it is not there. */
void *gpu_library_open(const char *name);

/* Fills a table of functions: names[i] into the i-th pointer of `table`. */
enum status gpu_library_bind(void *library, const char *library_name, const char *const *names,
                             unsigned n, void *table, struct err *err);
void *gpu_library_find(void *library, const char *name); /* NULL: it has none */
void gpu_library_close(void *library);

#endif
