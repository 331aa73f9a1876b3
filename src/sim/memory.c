/* Lifetimes folded into a peak; see memory.h. */
#include "sim/memory.h"

#include <string.h>

/* A moment of the step: this op of one layer of this segment. */
struct moment {
    enum segment segment;
    uint16_t op;
    unsigned schedule;
};

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

static uint64_t one_copy(const uint64_t *values, const struct buffer *buffer)
{
    return product(values[buffer->bytes.node], values[buffer->count.node]);
}

/* bytes x thousandths / 1000: whole copies exactly, a fraction of one rounded up */
static uint64_t copies_of(uint64_t bytes, uint64_t thousandths)
{
    uint64_t part = thousandths % 1000;
    return product(bytes, thousandths / 1000) +
           (part ? (product(bytes, part) + 999) / 1000 : 0);
}

static uint64_t repeat_of(const struct work *work, const uint64_t *values, enum segment segment)
{
    return values[work->use[segment].repeat.node];
}

uint64_t memory_buffer_bytes(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer)
{
    uint64_t bytes = one_copy(values, buffer);
    if (buffer->life != LIFE_SAVED)
        return bytes;
    uint64_t flight = values[work->use[buffer->segment].in_flight.node];
    return copies_of(bytes, product(repeat_of(work, values, buffer->segment), flight));
}

static bool surrounds(const struct buffer *buffer, const struct moment *moment)
{
    return buffer->segment == moment->segment && buffer->first <= moment->op &&
           moment->op <= buffer->last;
}

/* Whether all layers of `segment` have run forward, and none backward, when the micro-batch is
 * inside a layer of `at`. Dense and MoE layers that alternate are both counted. */
static bool passed(const struct work *work, enum segment segment, enum segment at)
{
    bool layers = (segment == SEGMENT_DENSE || segment == SEGMENT_MOE) &&
                  (at == SEGMENT_DENSE || at == SEGMENT_MOE);
    return segment < at || (layers && work->alternating);
}

/* Layers whose copies of a saved buffer this micro-batch holds at the moment. */
static uint64_t layers_held(const struct work *work, const uint64_t *values,
                            const struct buffer *buffer, const struct moment *moment)
{
    uint64_t repeat = repeat_of(work, values, buffer->segment);
    if (buffer->segment == moment->segment)
        return repeat - (surrounds(buffer, moment) ? 0 : 1);
    return passed(work, buffer->segment, moment->segment) ? repeat : 0;
}

static uint64_t alive_bytes(const struct work *work, const uint64_t *values,
                            const struct buffer *buffer, const struct moment *moment)
{
    if (!exists(buffer, moment->schedule))
        return 0;
    uint64_t bytes = one_copy(values, buffer);
    if (buffer->life == LIFE_PERSISTENT)
        return bytes;
    if (buffer->life == LIFE_TRANSIENT)
        return surrounds(buffer, moment) ? bytes : 0;
    uint64_t repeat = repeat_of(work, values, buffer->segment);
    if (!repeat)
        return 0;
    uint64_t flight = values[work->use[buffer->segment].in_flight.node];
    uint64_t others = flight > 1000 ? product(repeat, flight - 1000) : 0;
    uint64_t held = product(layers_held(work, values, buffer, moment), 1000);
    uint64_t all = product(repeat, flight);
    return copies_of(bytes, others + held < all ? others + held : all);
}

static uint64_t moment_bytes(const struct work *work, const uint64_t *values,
                             const struct moment *moment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < work->n_buffers; i++)
        bytes += alive_bytes(work, values, &work->buffers[i], moment);
    return bytes;
}

/* The sum rises only where a buffer begins, so those ops are the candidates. A segment that
 * this rank does not run has none. */
static struct moment worst_moment(const struct work *work, const uint64_t *values,
                                  unsigned schedule)
{
    struct moment worst = {.segment = SEGMENT_STEP, .op = WORK_NONE, .schedule = schedule};
    uint64_t most = 0;
    uint16_t last_tried[SEGMENT_COUNT];
    memset(last_tried, 0xff, sizeof last_tried);
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (buffer->life == LIFE_PERSISTENT || !exists(buffer, schedule) ||
            last_tried[buffer->segment] == buffer->first ||
            !repeat_of(work, values, buffer->segment))
            continue;
        last_tried[buffer->segment] = buffer->first;
        struct moment moment = {buffer->segment, buffer->first, schedule};
        uint64_t bytes = moment_bytes(work, values, &moment);
        if (bytes > most) {
            most = bytes;
            worst = moment;
        }
    }
    return worst;
}

uint64_t memory_bytes_at_peak(const struct work *work, const uint64_t *values,
                              const struct buffer *buffer, unsigned schedule,
                              const struct memory_peak *peak)
{
    struct moment moment = {peak->segment, peak->op, schedule};
    return alive_bytes(work, values, buffer, &moment);
}

bool memory_at_peak(const struct work *work, const uint64_t *values,
                    const struct buffer *buffer, unsigned schedule,
                    const struct memory_peak *peak)
{
    return memory_bytes_at_peak(work, values, buffer, schedule, peak) != 0;
}

void memory_fold(const struct work *work, const uint64_t *values, unsigned schedule,
                 struct memory_peak *peak)
{
    memset(peak, 0, sizeof *peak);
    struct moment moment = worst_moment(work, values, schedule);
    peak->segment = moment.segment;
    peak->op = moment.op;
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        uint64_t bytes = alive_bytes(work, values, buffer, &moment);
        peak->category[buffer->category] += bytes;
        *(buffer->state ? &peak->state_bytes : &peak->temp_bytes) += bytes;
        peak->pinned_bytes += buffer->pinned ? bytes : 0;
        peak->outside_bytes += buffer->outside ? bytes : 0;
        peak->resident_bytes += buffer->life == LIFE_PERSISTENT && !buffer->outside ? bytes : 0;
    }
    peak->total_bytes = peak->state_bytes + peak->temp_bytes;
}
