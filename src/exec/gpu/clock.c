/* See clock.h. Names and numbers are those of nvml.h, and of the amdgpu driver's pp_dpm_sclk: a
 * line for each level, "1: 1700Mhz *", the star at the one that holds. */
#include "exec/gpu/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clock {
    int (*info)(void *handle, int what, unsigned *mhz); /* NVML's */
    void *handle;
    char folder[4096]; /* the kernel's, of the device; "": none */
    char missing[200];
};

static void bind(void *library, const char *name, void *to)
{
    void *symbol = gpu_library_find(library, name);
    memcpy(to, &symbol, sizeof symbol);
}

/* ---- NVML ---- */

static void open_nvml(struct clock *clock, const char *bus)
{
    static const char name[] = "libnvidia-ml.so.1";
    void *library = gpu_library_open(name);
    int (*init)(void), (*by_bus)(const char *bus, void **handle);
    if (!library) {
        snprintf(clock->missing, sizeof clock->missing, "\"%s\" is absent", name);
        return;
    }
    bind(library, "nvmlInit_v2", &init);
    bind(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
    bind(library, "nvmlDeviceGetClockInfo", &clock->info);
    if (!init || !by_bus || !clock->info || init() != 0 || by_bus(bus, &clock->handle) != 0) {
        snprintf(clock->missing, sizeof clock->missing, "\"%s\" does not know device %s", name,
                 bus);
        clock->info = NULL;
    }
}

static uint32_t read_nvml(const struct clock *clock, int what)
{
    unsigned mhz = 0;
    return clock->info(clock->handle, what, &mhz) == 0 ? mhz : 0;
}

/* ---- the kernel's files ---- */

static uint32_t read_level(const struct clock *clock, const char *name)
{
    char path[sizeof clock->folder + 32], line[128];
    uint32_t mhz = 0;
    snprintf(path, sizeof path, "%s/%s", clock->folder, name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strchr(line, ':');
        if (at && strchr(at, '*'))
            mhz = (uint32_t)strtoul(at + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    return mhz;
}

static void open_files(struct clock *clock, const char *bus)
{
    const char *root = getenv("MOEPLAN_GPU_LIBRARIES"); /* stands for the system */
    snprintf(clock->folder, sizeof clock->folder, "%s/sys/bus/pci/devices/%s", root ? root : "",
             bus);
    for (char *at = strrchr(clock->folder, '/'); *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (read_level(clock, "pp_dpm_sclk"))
        return;
    snprintf(clock->missing, sizeof clock->missing,
             "the kernel names no clock of device %s (pp_dpm_sclk)", bus);
    clock->folder[0] = '\0';
}

/* ---- all ---- */

static void open_any(struct clock *clock, const struct gpu_driver *driver, void *device)
{
    struct err err = {.status = STATUS_OK};
    char bus[32] = "";
    if (!driver->bus)
        snprintf(clock->missing, sizeof clock->missing, "OpenCL does not say them");
    else if (driver->bus(device, bus, &err) != STATUS_OK)
        snprintf(clock->missing, sizeof clock->missing, "%.190s", err.text);
    else if (strcmp(driver->name, "cuda") == 0)
        open_nvml(clock, bus);
    else
        open_files(clock, bus);
}

struct clock *clock_create(const struct gpu_driver *driver, void *device)
{
    struct clock *clock = calloc(1, sizeof *clock);
    if (clock)
        open_any(clock, driver, device);
    return clock;
}

void clock_free(struct clock *clock)
{
    free(clock);
}

struct clock_rates clock_read(const struct clock *clock)
{
    enum { CORE = 1, MEMORY = 2 };
    if (clock && clock->info)
        return (struct clock_rates){read_nvml(clock, CORE), read_nvml(clock, MEMORY)};
    if (clock && clock->folder[0])
        return (struct clock_rates){read_level(clock, "pp_dpm_sclk"),
                                    read_level(clock, "pp_dpm_mclk")};
    return (struct clock_rates){0, 0};
}

const char *clock_missing(const struct clock *clock)
{
    return clock ? clock->missing : "out of memory";
}
