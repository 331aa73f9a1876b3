/* The library's interface without memory: a call says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/moeplan.h"

static const char small[] = "model: mixtral-8x7b\n"
                            "cluster: h100-8x2\n"
                            "stack: megatron\n"
                            "workload: {sequence_length: 4096, micro_batch: 1}\n"
                            "parallel: {tp: 2, ep: 8}\n";

/* Pages that the stack grows by later are under the same limit, and no call can say that they
 * are not to be had: the process ends. They are taken before. */
static unsigned grow_stack(void)
{
    enum { STACK = 1 << 19, PAGE = 1024 };
    volatile char room[STACK];
    unsigned sum = 0;
    for (size_t i = 0; i < STACK; i += PAGE)
        room[i] = 1;
    for (size_t i = 0; i < STACK; i += PAGE)
        sum += (unsigned)room[i];
    return sum;
}

/* With a given number of bytes to spare: 0 predicted, 1 said that memory ran out, 2 else. */
static int predict_within(size_t spare)
{
    if (!grow_stack())
        return 2;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 2;
    fclose(file);
    struct rlimit limit = {0};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + spare;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    struct moeplan_plan *plan = NULL;
    struct moeplan_result *result = NULL;
    struct moeplan_error error = {0};
    int status = moeplan_open_text("small.yaml", small, sizeof small - 1, &plan, &error);
    if (status == MOEPLAN_OK)
        status = moeplan_predict(plan, NULL, &result, &error);
    moeplan_result_free(result);
    moeplan_close(plan);
    if (status == MOEPLAN_OK)
        return 0;
    return status == MOEPLAN_SYSTEM && strstr(error.text, "memory") ? 1 : 2;
}

static void without_memory_a_call_says_so(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* their own memory is taken from the same limit */
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    unsigned ended[2] = {0};
    for (size_t spare = 0; spare <= 16 << 20 && !ended[0]; spare += 1 << 16) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) { /* a process of its own: this one's heap has room left */
            char number[32];
            snprintf(number, sizeof number, "%zu", spare);
            execl("/proc/self/exe", "test_library_memory", number, (char *)NULL);
            _exit(3);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            fail_msg("with %zu KiB to spare: status %#x", spare >> 10, (unsigned)status);
        ended[WEXITSTATUS(status)]++;
    }
    print_message("%u sizes were too small\n", ended[1]);
    assert_int_equal(ended[0], 1);
    assert_true(ended[1] > 0);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return predict_within(strtoul(argv[1], NULL, 10));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_a_call_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
