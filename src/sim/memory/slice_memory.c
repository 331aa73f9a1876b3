/* See slice_memory.h. The fold reads a buffer's bytes at one node of the sizes; here every
 * buffer gets a node of its own that holds the sum over ranks. */
#include "sim/memory/slice_memory.h"

#include <string.h>

#include "base/checked.h"

/* Bytes of one buffer in the process. */
static uint64_t buffer_bytes(const struct buffer *buffer, const uint64_t *const *values,
                             uint64_t n, uint64_t places)
{
    uint64_t bytes = 0, copies = buffer->segment == SEGMENT_STEP ? lesser(places, n) : n;
    for (uint64_t i = 0; i < copies; i++)
        bytes += values[i][buffer->all.node];
    return bytes;
}

void slice_memory_peak(const struct work *work, const uint64_t *const *values, uint64_t n,
                       uint64_t places, struct arena *arena, struct memory_peak *peak)
{
    struct work process = *work;
    uint32_t first = work->sizes.n;
    uint64_t *sums = arena_alloc(arena, first + work->n_buffers, sizeof *sums);
    memcpy(sums, values[0], first * sizeof *sums);
    process.buffers = arena_alloc(arena, work->n_buffers, sizeof *process.buffers);
    memcpy(process.buffers, work->buffers, work->n_buffers * sizeof *process.buffers);
    for (size_t b = 0; b < work->n_buffers; b++) {
        process.buffers[b].all.node = first + (uint32_t)b;
        sums[first + b] = buffer_bytes(&work->buffers[b], values, n, places);
    }
    memory_fold(&process, sums, 0, peak);
    memory_explain(&process, sums, 0, peak);
}
