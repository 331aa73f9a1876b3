/* Functions of CUDA's driver that products at peak rate need and nothing else: results are 0,
 * an error of the driver, or CUDA_LACKS, when it is too old to have them. */
#ifndef MOEPLAN_EXEC_GPU_NATIVE_CUDA_H
#define MOEPLAN_EXEC_GPU_NATIVE_CUDA_H

#include <stdint.h>

enum { CUDA_LACKS = -1 };

/* Lets a kernel have so many bytes of work-group memory; more than 48 KiB are asked for. */
int cuda_allow_local(void *library, void *function, uint32_t bytes);

#endif
