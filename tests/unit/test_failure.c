/* Failed allocations: the segments of torch's allocator, and texts as frameworks print them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/answer/failure.h"

static const uint64_t mib = 1 << 20;

static void segments_of_the_allocator(void **state)
{
    (void)state;
    const struct {
        uint64_t bytes, segment;
    } rows[] = {
        {1, 2 * mib},
        {mib, 2 * mib},
        {mib + 1, 20 * mib},
        {10 * mib - 512, 20 * mib},
        {10 * mib - 511, 10 * mib}, /* rounds to 10 MiB */
        {10 * mib + 1, 12 * mib},
        {26 * mib, 26 * mib},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(failure_segment(rows[i].bytes), rows[i].segment);
}

static void texts_of_frameworks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *source; /* NULL: none is found */
        uint64_t line, bytes, in_use;
    } rows[] = {
        {"26.21 GiB", "amount", 1, 28142773207, 0},
        {"x\nTried to allocate 2.00 MiB (GPU 0; 80 GiB total)", "torch", 2, 2097152, 0},
        {"Tried to allocate 20.00 MiB. this process has 8.00 GiB memory in use.", "torch", 1,
         20971520, 8589934592},
        {"Out of memory while trying to allocate 1234567 bytes.", "XLA", 1, 1234567, 0},
        {"Allocator (GPU_0_bfc) ran out of memory trying to allocate 8.00GiB", "XLA", 1,
         8589934592, 0},
        {"Attempting to allocate 2.00G. That was not possible.", "XLA", 1, 2147483648, 0},
        {"cuMemMap failed to map 512 bytes", "NVSHMEM", 1, 512, 0},
        {"NCCL WARN Failed to CUDA calloc async 4096 bytes", "NCCL", 1, 4096, 0},
        {"No available memory for the cache blocks", "vLLM", 1, 0, 0},
        {"max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the "
         "available "
         "KV cache memory (7.00 GiB).",
         "vLLM", 1, 17179869184, 0},
        {"Not enough memory. Please try to increase --mem-fraction-static.", "SGLang", 1, 0, 0},
        {"RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes.", "XLA", 1, 4096, 0},
        {"Attempting to reserve 2.00G at the bottom of memory.", "XLA", 1, 2147483648, 0},
        {"Ran out of memory in memory space hbm. Used 16.00G of 15.48G hbm.", "XLA", 1, 0,
         17179869184},
        /* in a container the process has another number than the driver gives it */
        {"Tried to allocate 20.00 MiB. Process 123 has 8.00 GiB memory in use. Of the "
         "allocated "
         "memory 6.00 GiB is allocated by PyTorch",
         "torch", 1, 20971520, 8589934592},
        {"Tried to allocate 20.00 MiB. Process 1 has 8.00 GiB memory in use. Process 2 has "
         "4.00 "
         "GiB memory in use. Of the allocated memory 6.00 GiB is allocated by PyTorch",
         "torch", 1, 20971520, 6442450944},
        /* ROCm says nothing of processes */
        {"HIP out of memory. Tried to allocate 20.00 MiB. Of the allocated memory 6.00 GiB is "
         "allocated by PyTorch",
         "torch", 1, 20971520, 6442450944},
        {"Tried to allocate a lot", NULL, 0, 0, 0},
        {"Tried to allocate 1.2.3 GiB", NULL, 0, 0, 0},
        {"", NULL, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct failure failure;
        bool found = failure_find(rows[i].text, strlen(rows[i].text), &arena, &failure);
        print_message("%s\n", rows[i].text);
        assert_int_equal(found, rows[i].source != NULL);
        if (found) {
            assert_string_equal(failure.source, rows[i].source);
            assert_int_equal(failure.line, rows[i].line);
            assert_int_equal(failure.wanted.bytes, rows[i].bytes);
            assert_int_equal(failure.in_use.bytes, rows[i].in_use);
            assert_true(failure.wanted.low <= failure.wanted.bytes &&
                        failure.wanted.bytes <= failure.wanted.high);
        }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_of_the_allocator),
        cmocka_unit_test(texts_of_frameworks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
