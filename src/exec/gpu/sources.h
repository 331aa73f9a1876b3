/* The texts of kernels, put into the binary when it is built (embed.cmake): of every program
 * the headers it begins with, then its file; a text of NULL ends it. */
#ifndef MOEPLAN_EXEC_GPU_SOURCES_H
#define MOEPLAN_EXEC_GPU_SOURCES_H

#include "exec/gpu/kernels.h"

#define GPU_SOURCE_TEXTS(name) extern const struct gpu_text gpu_program_##name[];
GPU_SOURCES(GPU_SOURCE_TEXTS)
#undef GPU_SOURCE_TEXTS

#endif
