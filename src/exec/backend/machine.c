/* See machine.h. */
#include "exec/backend/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/pool.h"
#include "exec/memory_left.h"

static void cpu_name(char name[96])
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (file && name[0] == '\0' && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0)
            sscanf(line, "model name : %95[^\n]", name);
    if (file)
        fclose(file);
}

void machine_describe(struct machine *machine)
{
    struct utsname system;
    memset(machine, 0, sizeof *machine);
    machine->cpus = pool_cpus();
    machine->memory_bytes = memory_left_bytes();
    cpu_name(machine->cpu);
    if (uname(&system) != 0)
        return;
    snprintf(machine->system, sizeof machine->system, "%.31s %.31s %.31s", system.sysname,
             system.release, system.machine);
    if (machine->cpu[0] == '\0')
        snprintf(machine->cpu, sizeof machine->cpu, "%.95s", system.machine);
}
