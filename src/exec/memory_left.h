/* What this process may still take: of the machine's memory, under the limits of its user
 * (setrlimit) and of every control group it stands in. UINT64_MAX where nothing says. */
#ifndef MOEPLAN_EXEC_MEMORY_LEFT_H
#define MOEPLAN_EXEC_MEMORY_LEFT_H

#include <stdint.h>

/* The smallest of MemAvailable, what the limits leave, and what every control group leaves, in
 * bytes. */
uint64_t memory_left_bytes(void);

/* Of address space alone (ulimit -v), which libraries take far more of than of memory. */
uint64_t memory_left_address_bytes(void);

/* What the groups of a process leave: `membership` as in /proc/self/cgroup, `mount` the folder
 * where the kernel shows them. Limits of version 2 (memory.max) and of version 1
 * (memory.limit_in_bytes), at the group and at every one around it; cached files that the
 * kernel would drop first count as free. A group shown under another path, as in a container,
 * is that of the mount. */
uint64_t memory_left_groups(const char *membership, const char *mount);

#endif
