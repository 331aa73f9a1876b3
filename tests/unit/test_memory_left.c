/* What a process may still take, from trees of control groups as kernels show them and from
 * limits of its user. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "exec/memory_left.h"

static char scratch[64];

static int make_scratch(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/memory_left.XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* A file with its folders. */
static void put(const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", scratch, path);
    for (char *at = whole + strlen(scratch) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(whole, 0700);
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static uint64_t left(const char *membership)
{
    char file[128], mount[128];
    put("membership", membership);
    snprintf(file, sizeof file, "%s/membership", scratch);
    snprintf(mount, sizeof mount, "%s/cgroup", scratch);
    return memory_left_groups(file, mount);
}

static void every_level_of_version_two_counts(void **state)
{
    (void)state;
    put("cgroup/a/memory.max", "1000000\n");
    put("cgroup/a/memory.current", "700000\n");
    put("cgroup/a/b/memory.max", "max\n");
    put("cgroup/a/b/memory.current", "600000\n");
    put("cgroup/a/b/c/memory.max", "900000\n");
    put("cgroup/a/b/c/memory.current", "500000\n");
    assert_int_equal(left("0::/a/b/c\n"), 300000); /* of a, which is around c */
    assert_int_equal(left("0::/a/b\n"), 300000);
    put("cgroup/a/b/c/memory.current", "850000\n");
    assert_int_equal(left("0::/a/b/c\n"), 50000);
    put("cgroup/a/b/c/memory.stat", "anon 1\ninactive_file 200000\n");
    assert_int_equal(left("0::/a/b/c\n"), 250000);
    put("cgroup/a/memory.current", "2000000\n"); /* lowered below what is in use */
    assert_int_equal(left("0::/a/b/c\n"), 0);
}

/* In a container the path is the host's, the mount is the group itself. */
static void a_group_under_another_path_is_the_mount(void **state)
{
    (void)state;
    put("cgroup/memory.max", "5000\n");
    put("cgroup/memory.current", "1000\n");
    assert_int_equal(left("0::/kubepods/pod1/box\n"), 4000);
    assert_int_equal(left("0::/\n"), 4000);
}

static void version_one_has_a_tree_of_its_own(void **state)
{
    (void)state;
    put("cgroup/memory/slurm/memory.limit_in_bytes", "8000\n");
    put("cgroup/memory/slurm/memory.usage_in_bytes", "6000\n");
    put("cgroup/memory/slurm/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("cgroup/memory/slurm/job/memory.usage_in_bytes", "3000\n");
    assert_int_equal(left("5:cpuset:/slurm\n4:cpu,memory:/slurm/job\n"), 2000);
    put("cgroup/memory/slurm/memory.stat", "total_inactive_file 500\n");
    assert_int_equal(left("4:memory:/slurm/job\n0::/nowhere\n"), 2500);
    assert_true(left("5:cpuset:/slurm\n") == UINT64_MAX);
    assert_true(left("no colons\n") == UINT64_MAX);
}

/* Of address space: a sanitizer takes terabytes of it before main. */
static uint64_t address_in_use(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%" SCNu64, &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limits_of_the_user_count(void **state)
{
    (void)state;
    const uint64_t more = UINT64_C(1) << 30;
    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)(address_in_use() + more);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    uint64_t address = memory_left_address_bytes(), all = memory_left_bytes();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_in_range(address, more - (more >> 4), more + (more >> 4));
    assert_true(all <= address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_level_of_version_two_counts, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(a_group_under_another_path_is_the_mount, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(version_one_has_a_tree_of_its_own, make_scratch,
                                        remove_scratch),
        cmocka_unit_test(limits_of_the_user_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
