/* The machine a run was performed on, for its report. */
#ifndef MOEPLAN_EXEC_BACKEND_MACHINE_H
#define MOEPLAN_EXEC_BACKEND_MACHINE_H

#include <stdint.h>

struct machine {
    char cpu[96];          /* "Intel(R) Xeon(R) ...", or the architecture's name */
    char system[96];       /* "Linux 6.1.0 x86_64" */
    uint64_t cpus;         /* that this process may use */
    uint64_t memory_bytes; /* available when the run began */
};

void machine_describe(struct machine *machine);

#endif
