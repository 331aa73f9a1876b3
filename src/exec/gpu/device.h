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

enum { GPU_MOST = 64 }; /* devices of a process */

/* where: "opencl:0", "opencl" (its first device), or NULL: the first device there is, or, of
 * those its driver has, number `turn` in turn. slot: which of the process's devices it is,
 * below GPU_MOST. STATUS_ABSENT says what was looked for; STATUS_USAGE that there is no such
 * driver.
 */
enum status gpu_open(const char *where, unsigned slot, uint64_t turn, struct gpu **out,
                     struct err *err);
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

const struct gpu_driver *gpu_driver_of(const struct gpu *gpu);
void *gpu_device_of(const struct gpu *gpu);   /* what the driver's functions are given */
uint64_t gpu_siblings(const struct gpu *gpu); /* devices that its driver knows */

/* The slot of the device that an address of gpu_alloc is on. */
unsigned gpu_slot(const void *address);

/* Its clocks, and what reads them. */
const struct clock *gpu_clock(const struct gpu *gpu);

/* What the device says is left of its memory; 0 where it does not say. */
uint64_t gpu_left_bytes(const struct gpu *gpu);

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

/* [address, address + bytes) as the driver knows it; STATUS_SYSTEM when it is not of one
 * allocation. */
enum status gpu_place(const struct gpu *gpu, const void *address, uint64_t bytes,
                      uint64_t *memory, uint64_t *offset, struct err *err);

/* With guard bands (guard.h), whether all are as they were; `kernel`: what ran last. */
enum status gpu_check_guards(const struct gpu *gpu, const char *kernel, struct err *err);

/* Whether engines may perform a kernel (peak.h), and asks the device's for known answers. */
bool gpu_multiplies(enum kernel kernel);
enum status gpu_ask_engines(struct gpu *gpu, struct err *err);

/* Begins a call of a kernel's row on `memory`, one at a time, and waits until it has ended. */
enum status gpu_start(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                      const uint64_t *memory, uint64_t groups, struct err *err);
/* So many times, with the device's clock read before the first and behind the last alone. */
enum status gpu_start_many(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                           const uint64_t *memory, uint64_t groups, unsigned times,
                           struct err *err);
enum status gpu_wait(struct gpu *gpu, double *seconds, struct err *err);
/* Until all that was begun has ended; `name`: what it is, when it hangs. */
enum status gpu_settle(struct gpu *gpu, const char *name, struct err *err);

/* Both. */
enum status gpu_perform(struct gpu *gpu, enum kernel kernel, const struct gpu_call *call,
                        const uint64_t *memory, uint64_t groups, double *seconds,
                        struct err *err);

#endif
