/* See guard.h. */
#include "exec/gpu/guard.h"

#include <stdlib.h>

#include "base/text.h"

enum { PATTERN = 0xa5 };

bool guard_asked(void)
{
    const char *asked = getenv("MOEPLAN_GPU_GUARD");
    return asked && *asked && !text_equal(asked, "0");
}

static enum status take_part(const struct gpu_driver *driver, void *device, struct guarded *g,
                             struct err *err)
{
    if (driver->addresses) {
        g->memory = g->whole + GUARD_BYTES;
        return STATUS_OK;
    }
    if (!driver->part)
        return err_set(err, STATUS_ABSENT, "\"%s\" gives no part of an allocation",
                       driver->library);
    return driver->part(device, g->whole, GUARD_BYTES, g->bytes, &g->memory, err);
}

/* Where a band begins in the whole. */
static uint64_t band_at(const struct guarded *g, unsigned band)
{
    return band == 0 ? 0 : GUARD_BYTES + g->bytes;
}

enum status guard_alloc(const struct gpu_driver *driver, void *device, uint64_t bytes,
                        struct guarded *out, struct err *err)
{
    *out = (struct guarded){.bytes = bytes};
    if (bytes > UINT64_MAX - 2 * GUARD_BYTES)
        return err_set(err, STATUS_NOFIT, "no room for guard bands");
    TRY(driver->alloc(device, bytes + 2 * GUARD_BYTES, &out->whole, err));
    enum status status = take_part(driver, device, out, err);
    for (unsigned band = 0; status == STATUS_OK && band < 2; band++)
        status =
            driver->fill(device, out->whole, band_at(out, band), PATTERN, GUARD_BYTES, err);
    if (status != STATUS_OK)
        guard_free(driver, device, out);
    return status;
}

void guard_free(const struct gpu_driver *driver, void *device, const struct guarded *guarded)
{
    if (!driver->addresses && guarded->memory)
        driver->free(device, guarded->memory);
    driver->free(device, guarded->whole);
}

/* How far from the buffer the nearest byte is that was written; GUARD_BYTES: none was. */
static uint64_t nearest(const unsigned char *bytes, unsigned band)
{
    uint64_t far = 0;
    while (far < GUARD_BYTES && bytes[band == 0 ? GUARD_BYTES - 1 - far : far] == PATTERN)
        far++;
    return far;
}

enum status guard_check(const struct gpu_driver *driver, void *device,
                        const struct guarded *guarded, const char *kernel, struct err *err)
{
    static const char *const sides[] = {"in front of", "behind"};
    for (unsigned band = 0; band < 2; band++) {
        unsigned char bytes[GUARD_BYTES];
        TRY(driver->read(device, guarded->whole, band_at(guarded, band), bytes, sizeof bytes,
                         err));
        uint64_t far = nearest(bytes, band);
        if (far < GUARD_BYTES)
            return err_set(err, STATUS_SYSTEM,
                           "kernel \"%s\" wrote %s a buffer of %llu bytes, %llu bytes away",
                           kernel, sides[band], (unsigned long long)guarded->bytes,
                           (unsigned long long)far);
    }
    return STATUS_OK;
}
