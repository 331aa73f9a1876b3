/* What a device's clocks are: a rate without them is not comparable. From NVML for CUDA, from
 * the kernel's files for HIP; OpenCL says only what the most is. */
#ifndef MOEPLAN_EXEC_GPU_CLOCK_H
#define MOEPLAN_EXEC_GPU_CLOCK_H

#include "exec/gpu/driver.h"

struct clock;

struct clock_rates {
    uint32_t core_mhz, memory_mhz; /* 0: not known */
};

/* NULL when there is no memory for it. Reading is left out where nothing can be read. */
struct clock *clock_create(const struct gpu_driver *driver, void *device);
void clock_free(struct clock *clock); /* NULL is fine */

/* Now. */
struct clock_rates clock_read(const struct clock *clock);
/* Why nothing is read; "" when it is. */
const char *clock_missing(const struct clock *clock);

#endif
