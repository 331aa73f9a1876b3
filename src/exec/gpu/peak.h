/* Products at peak rate: engines for matrix cores, tried on known answers before they are used.
 *
 * An engine is a file of kernels (kernels/peak_*.cl) behind one schedule (schedule.cl) and the
 * arguments of the portable products. A device uses one only after it gave there, bit by bit,
 * what the portable kernels give on integers at the edges of tiles and groups; what came out is
 * kept by device and image (compile.h, its folder). Products that no engine takes, by format or
 * shape, are portable ones. MOEPLAN_GPU_PEAK=0: all are. */
#ifndef MOEPLAN_EXEC_GPU_PEAK_H
#define MOEPLAN_EXEC_GPU_PEAK_H

#include "exec/gpu/device.h"

struct peak;

/* The engines that a device may have; NULL: none. Lives until peak_free. */
struct peak *peak_create(const struct gpu_driver *driver, void *device, const char *name);
void peak_free(struct peak *peak);

/* Asks the device's engines for known answers, those not asked yet, in memory that is given
 * back at once. A product that nobody asked for before it does so itself. */
enum status peak_ask(struct peak *peak, struct gpu *gpu, double limit_s, struct err *err);

/* Begins the call on an engine: *name is what it is called, "" when there is nothing to do, and
 * as it was when no engine takes the call, or the engine's answers differ. */
enum status peak_start(struct peak *peak, struct gpu *gpu, enum kernel kernel,
                       const struct gpu_launch *asked, double limit_s, const char **name,
                       struct err *err);

/* What products ran on, and why; nothing when there were none in 16 bits. */
void peak_text(const struct peak *peak, char *text, size_t room);

#endif
