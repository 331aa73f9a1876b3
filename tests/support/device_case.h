/* A call of one kernel on a device and on the host: the same inputs, every output compared. */
#ifndef MOEPLAN_TESTS_SUPPORT_DEVICE_CASE_H
#define MOEPLAN_TESTS_SUPPORT_DEVICE_CASE_H

#include <stdbool.h>

#include "base/rng.h"
#include "exec/kernels/kernel.h"

enum { DEVICE_CASE_SPACE = 1 << 21 }; /* bytes of one worker's scratch */

struct device_case {
    struct gpu *gpu;
    struct rng rng;
    struct plan plan;
    struct layer_sample sample;
    struct inputs inputs;
    struct task task;
    struct op op;
    struct call call; /* tensors on the host */
    uint64_t given;   /* bits of roles that are inputs; the others are outputs */
    uint64_t space_bytes;
    double seconds; /* on the device */
};

void device_case_begin(struct device_case *m, struct gpu *gpu, enum kernel kernel,
                       uint32_t draw);

/* Memory of an operand, which the comparison frees. Outputs are wanted. */
void *device_case_give(struct device_case *m, enum role role, enum dtype dtype, uint64_t rows,
                       uint64_t width, bool is_input);
int32_t *device_case_i32(struct device_case *m, enum role role, uint64_t rows, uint64_t width);
int64_t *device_case_i64(struct device_case *m, enum role role, uint64_t rows);
void device_case_want(struct device_case *m, enum role role, enum dtype dtype, uint64_t rows,
                      uint64_t width);

/* Fails the test that called it unless both sides fail, or every output has the same bytes; of
 * floats the last place may differ. MOEPLAN_TEST_TIMES=1: prints what the device took. */
void device_case_compare(struct device_case *m, const char *what);

/* Runs tests whose state is the device: OpenCL's first, or MOEPLAN_TEST_DEVICE. */
struct CMUnitTest;
int device_case_main(struct CMUnitTest *tests, size_t n);

#endif
