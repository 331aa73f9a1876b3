/* See memory_left.h. Sources: cgroups(7), the kernel's cgroup-v2.rst and cgroup-v1/memory.rst,
 * proc_pid_statm(5), setrlimit(2). */
#include "exec/memory_left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/system_file.h"

/* ---- control groups ---- */

/* How a version names its files below the mount. */
struct version {
    const char *mount, *limit, *used, *cached;
};

static const struct version versions[] = {
    {"", "memory.max", "memory.current", "inactive_file "},
    {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

static uint64_t group_number(const char *folder, const char *name, const char *key)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path ? system_file_number(path, key) : UINT64_MAX;
}

static uint64_t group_left(const char *folder, const struct version *version)
{
    uint64_t limit = group_number(folder, version->limit, "");
    uint64_t used = group_number(folder, version->used, "");
    uint64_t cached = group_number(folder, "memory.stat", version->cached);
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    used -= cached == UINT64_MAX ? 0 : lesser(cached, used);
    return limit > used ? limit - used : 0;
}

/* The group at `path` and those around it, up to the mount. */
static uint64_t levels_left(const char *mount, const struct version *version, const char *path)
{
    char folder[4096];
    int root = snprintf(folder, sizeof folder, "%s%s", mount, version->mount);
    int length = root + snprintf(folder + root, sizeof folder - (size_t)root, "%s", path);
    uint64_t left = UINT64_MAX;
    if (length >= (int)sizeof folder)
        return UINT64_MAX;
    for (;;) {
        left = lesser(left, group_left(folder, version));
        char *last = strrchr(folder + root, '/');
        if (!last)
            return left;
        *last = '\0';
    }
}

/* "0::/path" is version 2's, "4:memory:/path" that of version 1's controller. */
static const struct version *version_of(char *line, const char **path)
{
    char *controllers = strchr(line, ':');
    char *at = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!at)
        return NULL;
    *at = '\0';
    *path = at + 1;
    at[1 + strcspn(at + 1, "\n")] = '\0';
    if (controllers[1] == '\0')
        return &versions[0];
    for (char *save = NULL, *name = strtok_r(controllers + 1, ",", &save); name;
         name = strtok_r(NULL, ",", &save))
        if (strcmp(name, "memory") == 0)
            return &versions[1];
    return NULL;
}

uint64_t memory_left_groups(const char *membership, const char *mount)
{
    uint64_t left = UINT64_MAX;
    char line[4096];
    FILE *file = fopen(membership, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *path = NULL;
        const struct version *version = version_of(line, &path);
        if (version)
            left = lesser(left, levels_left(mount, version, path));
    }
    if (file)
        fclose(file);
    return left;
}

/* ---- limits of the user ---- */

/* `field` of /proc/self/statm: 0 all pages, 5 those of data and stack. */
static uint64_t pages_bytes(unsigned field)
{
    uint64_t pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned n = 0;
    while (file && n < 6 && fscanf(file, "%" SCNu64, &pages[n]) == 1)
        n++;
    if (file)
        fclose(file);
    long page = sysconf(_SC_PAGESIZE);
    return n == 6 && page > 0 ? pages[field] * (uint64_t)page : 0;
}

static uint64_t limit_left(int resource, unsigned field)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t used = pages_bytes(field), most = (uint64_t)limit.rlim_cur;
    return most > used ? most - used : 0;
}

uint64_t memory_left_address_bytes(void)
{
    return limit_left(RLIMIT_AS, 0);
}

uint64_t memory_left_bytes(void)
{
    uint64_t kib = system_file_number("/proc/meminfo", "MemAvailable:");
    uint64_t left = kib == UINT64_MAX ? UINT64_MAX : kib * 1024;
    left = lesser(left, lesser(memory_left_address_bytes(), limit_left(RLIMIT_DATA, 5)));
    return lesser(left, memory_left_groups("/proc/self/cgroup", "/sys/fs/cgroup"));
}
