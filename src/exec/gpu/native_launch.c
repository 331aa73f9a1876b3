/* Launches on CUDA and HIP, what a stream did until a mark, and copies between devices. All is
 * in the order of the device's own stream. */
#include <stdint.h>
#include <time.h>

#include "exec/gpu/native.h"
#include "exec/gpu/native_cuda.h"
#include "exec/stopwatch.h"

/* A sleep of a microsecond takes fifty: most kernels have ended before. */
static const double awake_s = 2e-4;

static enum status wait_for_end(const struct native_device *d, const char *name, double limit_s,
                                struct err *err)
{
    double begin_s = stopwatch_now_s(), waited_s;
    struct timespec pause = {0, 2000};
    for (;;) {
        int code = d->native->f.event_query(d->end);
        if (code == 0)
            return STATUS_OK;
        if (code != NATIVE_NOT_READY)
            return native_failed(d->native, err, name, code);
        waited_s = stopwatch_now_s() - begin_s;
        if (waited_s > limit_s)
            return err_set(err, STATUS_SYSTEM,
                           "kernel \"%s\" has not ended after %g s: the device hangs", name,
                           limit_s);
        if (waited_s < awake_s)
            continue;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

enum status native_wait(void *device, const char *name, double limit_s, double *seconds,
                        struct err *err)
{
    const struct native_device *d = device;
    float ms = 0;
    NATIVE_TRY(d->native, current, d->which);
    TRY(wait_for_end(d, name, limit_s, err));
    if (!seconds) /* a device that was given nothing yet has no beginning */
        return STATUS_OK;
    NATIVE_TRY(d->native, event_elapsed, &ms, d->begin, d->end);
    *seconds = (double)ms * 1e-3;
    return STATUS_OK;
}

enum status native_mark(void *device, enum gpu_mark mark, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_DO(d, event_record, mark == GPU_MARK_BEGIN ? d->begin : d->end, NULL);
    return STATUS_OK;
}

enum status native_allow(void *device, void *kernel, uint32_t local_bytes, struct err *err)
{
    const struct native_device *d = device;
    NATIVE_TRY(d->native, current, d->which);
    int code = cuda_allow_local(d->native->library, kernel, local_bytes);
    return code == 0 ? STATUS_OK : native_failed(d->native, err, "cuFuncSetAttribute", code);
}

enum status native_launch(void *device, const struct gpu_launch *launch, struct err *err)
{
    const struct native_device *d = device;
    uint64_t memory[GPU_TENSORS + 1];
    struct gpu_call call = *launch->call;
    struct gpu_maps maps;
    void *parameters[GPU_TENSORS + 3];
    unsigned n = 0;
    if (launch->maps) {
        maps = *launch->maps;
        parameters[n++] = &maps;
    }
    parameters[n++] = &call;
    for (unsigned i = 0; i <= GPU_TENSORS; i++) {
        memory[i] = launch->memory[i];
        parameters[n++] = &memory[i];
    }
    NATIVE_TRY(d->native, current, d->which);
    if (launch->groups > INT32_MAX)
        return err_set(err, STATUS_INPUT, "kernel \"%s\" has %llu work-groups, the limit is %d",
                       launch->name, (unsigned long long)launch->groups, INT32_MAX);
    if (!launch->goes_on)
        NATIVE_TRY(d->native, event_record, d->begin, NULL);
    NATIVE_TRY(d->native, launch, launch->kernel, (unsigned)launch->groups, 1, 1, launch->items,
               1, 1, launch->local_bytes, NULL, parameters, NULL);
    if (!launch->more)
        NATIVE_TRY(d->native, event_record, d->end, NULL);
    return STATUS_OK;
}

/* ---- other devices ---- */

/* Without it the driver itself stages what is copied, through the host's memory. */
enum status native_reach(void *device, void *other, bool *direct, struct err *err)
{
    const struct native_device *d = device, *o = other;
    int can = 0;
    *direct = false;
    NATIVE_DO(d, reaches, &can, d->id, o->id);
    if (!can)
        return STATUS_OK;
    int code = d->native->f.reach(o->which, 0);
    if (code != 0 && code != NATIVE_REACHED_ALREADY)
        return native_failed(
            d->native, err,
            native_call_name(d->native, offsetof(struct native_functions, reach)), code);
    *direct = true;
    return STATUS_OK;
}

enum status native_copy_to(void *device, uint64_t from, void *other, uint64_t to,
                           uint64_t bytes, struct err *err)
{
    const struct native_device *d = device, *o = other;
    NATIVE_DO(d, copy_peer, to, o->which, from, d->which, (size_t)bytes, NULL);
    return STATUS_OK;
}
