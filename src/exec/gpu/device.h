/* An open GPU: its memory under addresses of our own, and its kernels, compiled when first
 * asked for.
 *
 * What a driver calls memory is a number that cannot be calculated with; an operand is a
 * pointer that can. So every allocation gets a range of addresses that no process has: they are
 * added to like any other, and to follow one is a fault. */
#ifndef MOEPLAN_EXEC_GPU_DEVICE_H
#define MOEPLAN_EXEC_GPU_DEVICE_H

#include "exec/gpu/driver.h"
#include "work/list/kernel.h"

struct gpu;

/* where: "opencl:0", "opencl" (its first device), or NULL: the first device there is.
 * STATUS_ABSENT says what was looked for; STATUS_USAGE that there is no such driver. */
enum status gpu_open(const char *where, struct gpu **out, struct err *err);
void gpu_close(struct gpu *gpu); /* NULL is fine */

const struct gpu_facts *gpu_facts(const struct gpu *gpu);
const char *gpu_where(const struct gpu *gpu); /* "opencl:0" */
/* Where the kernels that ran came from: built in for an architecture, or compiled by whom. */
void gpu_kernels_text(const struct gpu *gpu, char *text, size_t room);

/* Devices of all drivers, for a list: calls `each` for every one. Drivers that are absent are
 * called with facts NULL and why. */
void gpu_list(void (*each)(void *context, const struct gpu_driver *driver,
                           const struct gpu_facts *facts, const char *why),
              void *context);

/* NULL when there is no more. */
void *gpu_alloc(struct gpu *gpu, uint64_t bytes);
void gpu_free(struct gpu *gpu, void *memory);

enum status gpu_fill(struct gpu *gpu, void *memory, unsigned char byte, uint64_t bytes,
                     struct err *err);
enum status gpu_read(struct gpu *gpu, const void *memory, void *to, uint64_t bytes,
                     struct err *err);
enum status gpu_write(struct gpu *gpu, void *memory, const void *from, uint64_t bytes,
                      struct err *err);
enum status gpu_copy(struct gpu *gpu, const void *from, void *to, uint64_t bytes,
                     struct err *err);

/* The driver's number of the allocation that an address is in, and how far; 0 for NULL. */
uint64_t gpu_memory_of(const struct gpu *gpu, const void *address, uint64_t *offset);

/* Performs a call of a kernel's row on `memory` and returns when it has ended. */
enum status gpu_perform(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                        const uint64_t *memory, uint64_t groups, double *seconds,
                        struct err *err);

#endif
