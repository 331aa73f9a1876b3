/* Lifetimes folded into a peak; see memory.h. */
#include "sim/memory.h"

#include <stdbool.h>
#include <string.h>

static bool exists(const struct buffer *buffer, unsigned schedule)
{
    return buffer->schedules >> schedule & 1;
}

/* Saturating: an overflow was reported by sizes_eval already. */
static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX / 4 : result;
}

uint64_t memory_buffer_bytes(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer)
{
    uint64_t bytes = product(values[buffer->bytes.node], values[buffer->count.node]);
    if (buffer->life != LIFE_SAVED)
        return bytes;
    const struct segment_use *use = &work->use[buffer->segment];
    uint64_t thousandths = product(values[use->repeat.node], values[use->in_flight.node]);
    /* whole copies exactly, a fraction of one rounded up */
    uint64_t whole = product(bytes, thousandths / 1000);
    uint64_t part = thousandths % 1000;
    return whole + (part ? (product(bytes, part) + 999) / 1000 : 0);
}

static bool alive(const struct buffer *buffer, enum segment segment, unsigned schedule,
                  uint16_t op)
{
    return buffer->life == LIFE_TRANSIENT && buffer->segment == segment &&
           exists(buffer, schedule) && buffer->first <= op && op <= buffer->last;
}

static uint64_t live_bytes(const struct work *work, const uint64_t *values,
                           enum segment segment, unsigned schedule, uint16_t op)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < work->n_buffers; i++)
        if (alive(&work->buffers[i], segment, schedule, op))
            bytes += memory_buffer_bytes(work, values, &work->buffers[i]);
    return bytes;
}

/* The live sum rises only where a buffer begins, so those ops are the candidates. A segment
 * that this rank does not run has no transients. */
static uint64_t transient_peak(const struct work *work, const uint64_t *values,
                               unsigned schedule, enum segment *at_segment, uint16_t *at_op)
{
    uint64_t peak = 0;
    uint16_t last_tried[SEGMENT_COUNT];
    memset(last_tried, 0xff, sizeof last_tried);
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (buffer->life != LIFE_TRANSIENT || !exists(buffer, schedule) ||
            last_tried[buffer->segment] == buffer->first ||
            !values[work->use[buffer->segment].repeat.node])
            continue;
        last_tried[buffer->segment] = buffer->first;
        uint64_t bytes = live_bytes(work, values, buffer->segment, schedule, buffer->first);
        if (bytes <= peak)
            continue;
        peak = bytes;
        *at_segment = buffer->segment;
        *at_op = buffer->first;
    }
    return peak;
}

bool memory_at_peak(const struct buffer *buffer, unsigned schedule,
                    const struct memory_peak *peak)
{
    if (buffer->life == LIFE_TRANSIENT)
        return alive(buffer, peak->segment, schedule, peak->op);
    return exists(buffer, schedule);
}

void memory_fold(const struct work *work, const uint64_t *values, unsigned schedule,
                 struct memory_peak *peak)
{
    memset(peak, 0, sizeof *peak);
    peak->op = WORK_NONE;
    transient_peak(work, values, schedule, &peak->segment, &peak->op);
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (!memory_at_peak(buffer, schedule, peak))
            continue;
        uint64_t bytes = memory_buffer_bytes(work, values, buffer);
        peak->category[buffer->category] += bytes;
        *(buffer->state ? &peak->state_bytes : &peak->temp_bytes) += bytes;
        peak->pinned_bytes += buffer->pinned ? bytes : 0;
    }
    peak->total_bytes = peak->state_bytes + peak->temp_bytes;
}
