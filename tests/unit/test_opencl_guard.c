/* Guard bands around memory of an OpenCL device: a kernel that writes beside its buffer is
 * named, with the side and how far; one that stays inside is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/gpu/device.h"
#include "exec/gpu/guard.h"

enum { BYTES = 1000, SKIPPED = 77 };

/* Fills its first operand, and then one byte at FROM, counted from the operand's beginning. */
static const char format[] =
    "typedef struct { uchar bytes[%zu]; } call_t;\n"
    "__kernel void k_%s(call_t call, __global uchar *a, __global uchar *b, __global uchar *c,\n"
    "    __global uchar *d, __global uchar *e, __global uchar *f, __global uchar *g,\n"
    "    __global uchar *h, __global uchar *space)\n"
    "{\n"
    "    for (int i = 0; i < %d; i++) a[i] = 1;\n"
    "    a[%d] = 1;\n"
    "}\n";

static struct gpu *open_device(struct err *err)
{
    struct gpu *gpu = NULL;
    return gpu_open("opencl:0", 0, 0, &gpu, err) == STATUS_OK ? gpu : NULL;
}

static void assert_fine(enum status status, const struct err *err)
{
    if (status != STATUS_OK)
        fail_msg("%s", err->text);
}

/* Performs the kernel on `buffer`, which lies among others. */
static void perform(struct gpu *gpu, const char *name, int at, const void *buffer)
{
    const struct gpu_driver *driver = gpu_driver_of(gpu);
    void *device = gpu_device_of(gpu), *program = NULL;
    struct err err = {0};
    struct gpu_call call = {0};
    uint64_t memory[GPU_TENSORS + 1] = {0}, offset;
    char source[1000], entry[32];
    double seconds;
    snprintf(source, sizeof source, format, sizeof call, name, BYTES, at);
    snprintf(entry, sizeof entry, "k_%s", name);
    const struct gpu_text text = {name, source, strlen(source)};
    struct gpu_build build = {.name = name, .texts = &text, .n = 1};
    struct gpu_launch launch = {
        .name = name, .groups = 1, .items = 1, .call = &call, .memory = memory};
    memory[0] = gpu_memory_of(gpu, buffer, &offset);
    assert_int_equal(offset, 0);
    assert_fine(driver->build(device, &build, &program, &err), &err);
    assert_fine(driver->find(device, program, entry, &launch.kernel, &err), &err);
    assert_fine(driver->launch(device, &launch, &err), &err);
    assert_fine(driver->wait(device, name, 60, &seconds, &err), &err);
    driver->release(device, program);
}

static void assert_written(struct gpu *gpu, const void *buffer)
{
    unsigned char bytes[BYTES];
    struct err err = {0};
    assert_fine(gpu_read(gpu, buffer, bytes, BYTES, &err), &err);
    for (unsigned i = 0; i < BYTES; i++)
        assert_int_equal(bytes[i], 1);
}

static void overruns_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int at;
        const char *text; /* NULL: nothing is wrong */
    } cases[] = {
        {"inside", BYTES - 1, NULL},
        {"behind", BYTES,
         "kernel \"behind\" wrote behind a buffer of 1000 bytes, 0 bytes away"},
        {"after", BYTES + GUARD_BYTES - 1,
         "kernel \"after\" wrote behind a buffer of 1000 bytes, 4095 bytes away"},
        {"before", -1,
         "kernel \"before\" wrote in front of a buffer of 1000 bytes, 0 bytes away"},
        {"far", -GUARD_BYTES,
         "kernel \"far\" wrote in front of a buffer of 1000 bytes, 4095 bytes away"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct gpu *gpu = open_device(&err);
        assert_non_null(gpu);
        void *first = gpu_alloc(gpu, 64), *buffer = gpu_alloc(gpu, BYTES),
             *last = gpu_alloc(gpu, 64);
        assert_fine(gpu_check_guards(gpu, "none", &err), &err);
        perform(gpu, cases[i].name, cases[i].at, buffer);
        assert_written(gpu, buffer);
        enum status status = gpu_check_guards(gpu, cases[i].name, &err);
        assert_int_equal(status, cases[i].text ? STATUS_SYSTEM : STATUS_OK);
        if (cases[i].text)
            assert_string_equal(err.text, cases[i].text);
        gpu_free(gpu, first);
        gpu_free(gpu, buffer);
        gpu_free(gpu, last);
        gpu_close(gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overruns_are_named)};
    struct err err = {0};
    setenv("MOEPLAN_GPU_GUARD", "1", 1);
    struct gpu *gpu = open_device(&err);
    if (!gpu) {
        printf("%s: skipped\n", err.text);
        return SKIPPED;
    }
    gpu_close(gpu);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
