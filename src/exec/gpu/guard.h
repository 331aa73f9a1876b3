/* Guard bands, to find a kernel that writes where it may not: with MOEPLAN_GPU_GUARD=1 every
 * allocation lies between two bands of a pattern. Those of a kernel's operands are read back
 * after it. The meter does not count them; tests/support/emul has bands of its own. */
#ifndef MOEPLAN_EXEC_GPU_GUARD_H
#define MOEPLAN_EXEC_GPU_GUARD_H

#include "exec/gpu/driver.h"

enum { GUARD_BYTES = 4096 }; /* of one band; any alignment of a device's memory divides it */

/* The driver's numbers: of the allocation with both bands, and of what lies between them. */
struct guarded {
    uint64_t whole, memory, bytes;
};

/* Whether the environment asks for bands. */
bool guard_asked(void);

/* STATUS_NOFIT when there is no more memory; STATUS_ABSENT when the driver can give no part of
 * an allocation. */
enum status guard_alloc(const struct gpu_driver *driver, void *device, uint64_t bytes,
                        struct guarded *out, struct err *err);
void guard_free(const struct gpu_driver *driver, void *device, const struct guarded *guarded);

/* STATUS_SYSTEM names the kernel that ran last, where a band is not as it was. */
enum status guard_check(const struct gpu_driver *driver, void *device,
                        const struct guarded *guarded, const char *kernel, struct err *err);

#endif
