/* Libraries of GPU toolkits are found where their variables say they are, when the system's
 * loader is not told of them; the folder of look-alikes hides both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "exec/gpu/driver.h"

static const char name[] = "libmoeplan-toolkit-test.so.7";

/* Any library: that of C, which this process has. */
static void find_any(char path[4096])
{
    char line[4608];
    FILE *maps = fopen("/proc/self/maps", "r");
    path[0] = '\0';
    while (maps && !path[0] && fgets(line, sizeof line, maps)) {
        const char *begin = strchr(line, '/');
        if (begin && strstr(begin, "/libc.so.6"))
            snprintf(path, 4096, "%.*s", (int)strcspn(begin, "\n"), begin);
    }
    if (maps)
        fclose(maps);
}

static void found_where_the_toolkit_is(void **state)
{
    char folder[] = "/tmp/moeplan-toolkit-XXXXXX", below[64], file[128], any[4096];
    (void)state;
    find_any(any);
    if (!any[0])
        skip();
    assert_non_null(mkdtemp(folder));
    snprintf(below, sizeof below, "%s/lib64", folder);
    snprintf(file, sizeof file, "%s/%s", below, name);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(symlink(any, file), 0);
    unsetenv("MOEPLAN_GPU_LIBRARIES");
    unsetenv("CUDA_PATH");
    unsetenv("CUDA_HOME");
    void *before = gpu_library_open(name);
    setenv("CUDA_HOME", folder, 1);
    void *after = gpu_library_open(name);
    setenv("MOEPLAN_GPU_LIBRARIES", folder, 1);
    void *hidden = gpu_library_open(name);
    unlink(file);
    rmdir(below);
    rmdir(folder);
    assert_null(before);
    assert_non_null(after);
    assert_null(hidden);
    gpu_library_close(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_where_the_toolkit_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
