/* Counting allocator; see meter.h. */
#include "exec/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system_file.h"
#include "base/unit.h"
#include "exec/backend/backend.h"

static enum status no_memory(const struct meter *meter, const char *name, uint64_t bytes,
                             struct err *err)
{
    char asked[48], held[48];
    unit_print(asked, UNIT_BYTES, (double)bytes);
    unit_print(held, UNIT_BYTES, (double)meter->now_bytes);
    if (meter->backend->far) /* it was said to fit: something else holds the device's memory */
        return err_set(err, STATUS_SYSTEM,
                       "out of memory on the device: buffer \"%s\" takes %s on top of %s", name,
                       asked, held);
    err_set(err, STATUS_NOFIT, "buffer \"%s\" does not fit this machine: %s on top of %s", name,
            asked, held);
    return err_hint(err, "--rank N runs one rank of a group, --shrink N a smaller plan");
}

static void count_up(struct meter *meter, const struct meter_want *want)
{
    struct meter_place *place = &meter->places[want->place];
    meter->n_allocations++;
    meter->now_bytes += want->bytes;
    meter->now[want->category] += want->bytes;
    place->now_bytes += want->bytes;
    if (place->now_bytes > place->peak_bytes)
        place->peak_bytes = place->now_bytes;
    if (meter->now_bytes <= meter->peak_bytes)
        return;
    meter->peak_bytes = meter->now_bytes;
    memcpy(meter->peak, meter->now, sizeof meter->peak);
}

enum status meter_alloc(struct meter *meter, const struct meter_want *want, void **out,
                        struct err *err)
{
    *out = NULL;
    if (want->bytes == 0)
        return STATUS_OK;
    if (meter->limit_bytes && want->bytes > meter->limit_bytes - meter->now_bytes)
        return no_memory(meter, want->name, want->bytes, err);
    void *memory = meter->backend->alloc(meter->device, want->place, want->bytes);
    if (!memory)
        return no_memory(meter, want->name, want->bytes, err);
    count_up(meter, want);
    *out = memory;
    return STATUS_OK;
}

void meter_free(struct meter *meter, const struct meter_want *want, void *memory)
{
    if (!memory)
        return;
    meter->now_bytes -= want->bytes;
    meter->now[want->category] -= want->bytes;
    meter->places[want->place].now_bytes -= want->bytes;
    meter->backend->free(meter->device, memory);
}

uint64_t meter_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    uint64_t pages = 0, resident = 0;
    int n = fscanf(file, "%" SCNu64 " %" SCNu64, &pages, &resident);
    fclose(file);
    long page = sysconf(_SC_PAGESIZE);
    return n == 2 && page > 0 ? resident * (uint64_t)page : 0;
}

uint64_t meter_resident_peak_bytes(void)
{
    uint64_t kib = system_file_number("/proc/self/status", "VmHWM:");
    return kib == UINT64_MAX ? 0 : kib * 1024;
}

void meter_resident_mark(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5\n", file); /* forget the peak */
    fclose(file);
}
