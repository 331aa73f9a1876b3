/* Limits of 32-bit indices; see address.h. */
#include "sim/memory/address.h"

#include "base/checked.h"

uint64_t address_elements(const struct buffer *buffer, const uint64_t *values)
{
    bool overflow = false;
    uint64_t elements = 1;
    for (unsigned i = 0; i < buffer->n_dims; i++)
        elements = checked_mul(elements, values[buffer->dims[i].node], &overflow);
    return elements;
}

static bool exists(const struct buffer *buffer, const uint64_t *values, unsigned schedule)
{
    return buffer->schedules >> schedule & 1 && values[buffer->count.node];
}

const struct buffer *address_beyond_library(const struct work *work, const uint64_t *values,
                                            unsigned schedule)
{
    for (size_t i = 0; work->addressable && i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (exists(buffer, values, schedule) && buffer->addressable_bytes &&
            values[buffer->bytes.node] > buffer->addressable_bytes)
            return buffer;
    }
    return NULL;
}

const struct buffer *address_beyond_int(const struct work *work, const uint64_t *values,
                                        unsigned schedule)
{
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (exists(buffer, values, schedule) && !buffer->state &&
            buffer->life != LIFE_PERSISTENT && address_elements(buffer, values) > INT32_MAX)
            return buffer;
    }
    return NULL;
}
