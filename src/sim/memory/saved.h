/* How many copies of a saved tensor there are: the rules of memory_fold, which refold follows.
 */
#ifndef MOEPLAN_SIM_MEMORY_SAVED_H
#define MOEPLAN_SIM_MEMORY_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "work/list/work.h"

/* Where the saved buffers of a segment begin in work->placed, behind all that lasts; they end
 * at placed_end[ORDER_SAVED][segment]. */
static inline size_t saved_begin(const struct work *work, enum segment segment)
{
    return segment ? work->placed_end[ORDER_SAVED][segment - 1]
                   : work->placed_end[ORDER_LASTING][SEGMENT_COUNT - 1];
}

/* Saturating: an overflow was reported by sizes_eval already. */
static inline uint64_t saved_product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX / 4 : result;
}

/* Layers that save it, of those that a stage has: not those whose copies wait elsewhere, nor
 * every n-th where some run forward again. */
static inline uint64_t saved_layers(uint64_t repeat, uint64_t away, uint64_t drop_every)
{
    uint64_t here = repeat > away ? repeat - away : 0;
    return drop_every ? here - here / drop_every : here;
}

/* Whether some layers do not save it: the one at hand may be another than those that do, so
 * that all of theirs count, and what it holds itself is a transient. */
static inline bool saved_by_some(const struct buffer *buffer)
{
    return buffer->drop_every || buffer->some;
}

/* Copies, in thousandths, of `flight` thousandths of micro-batches, where this one holds those
 * of so many of the layers. */
static inline uint64_t saved_copies(uint64_t flight, uint64_t layers, uint64_t held)
{
    uint64_t others = flight > 1000 ? saved_product(layers, flight - 1000) : 0;
    uint64_t all = saved_product(layers, flight);
    uint64_t thousandths = others + saved_product(held, 1000);
    return thousandths < all ? thousandths : all;
}

/* Whether all layers of `segment` have run forward, and none backward, when the micro-batch is
 * inside a layer of `at`. Kinds of layers that alternate are all counted. */
static inline bool saved_before(const struct work *work, enum segment segment, enum segment at)
{
    bool layers = segment_is_layer(segment) && segment_is_layer(at);
    return segment < at || (layers && work->alternating);
}

#endif
