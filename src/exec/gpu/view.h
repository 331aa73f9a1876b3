/* Views of tensors that no plan knows: of known answers and of probing. */
#ifndef MOEPLAN_EXEC_GPU_VIEW_H
#define MOEPLAN_EXEC_GPU_VIEW_H

#include "exec/gpu/kernels/call.h"

/* [rows, width], behind each other from the first byte of its memory. */
struct gpu_view gpu_view_rows(uint64_t rows, uint64_t width, enum gpu_format format);

/* [n, rows, columns] */
struct gpu_view gpu_view_matrices(uint64_t n, uint64_t rows, uint64_t columns,
                                  enum gpu_format format);

#endif
