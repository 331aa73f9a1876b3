/* What sim/memory/memory needs to know of a complete list and can know without sizes: the order
 * of allocation, and the moments of a layer at which the peak may be. A moment whose living
 * buffers all live at another one as well cannot be worse, so it is left out. */
#include <string.h>

#include "work/list/work.h"

enum { ORDER_SAVED = 2 }; /* of work_order; above: transient */

/* All buffers' numbers to `out` by a part of theirs below n_parts, those of one part as they
 * stand in the list; end[part] is one past the last of a part. */
static void sort_by(const struct work *work, unsigned (*part_of)(const struct buffer *buffer),
                    unsigned n_parts, uint16_t *out, size_t *end)
{
    memset(end, 0, n_parts * sizeof *end);
    for (size_t i = 0; i < work->n_buffers; i++)
        end[part_of(&work->buffers[i])]++;
    for (size_t part = 0, before = 0; part < n_parts; part++) {
        size_t n = end[part];
        end[part] = before; /* its begin, which moves to its end */
        before += n;
    }
    for (size_t i = 0; i < work->n_buffers; i++)
        out[end[part_of(&work->buffers[i])]++] = (uint16_t)i;
}

static unsigned order_and_segment(const struct buffer *buffer)
{
    return work_order(buffer) * SEGMENT_COUNT + (unsigned)buffer->segment;
}

static unsigned segment_of(const struct buffer *buffer)
{
    return (unsigned)buffer->segment;
}

static void place_buffers(struct work *work)
{
    work->placed = arena_alloc(work->arena, work->n_buffers + 1, sizeof *work->placed);
    sort_by(work, order_and_segment, WORK_ORDERS * SEGMENT_COUNT, work->placed,
            &work->placed_end[0][0]);
    work->n_placed = work->n_buffers;
}

/* ---- moments ---- */

struct between {
    uint16_t first, last;
};

/* The buffers of one segment and schedule that come and go, and the moments at which one of
 * them begins (a sum of what is alive rises nowhere else). */
struct candidates {
    const uint16_t *own; /* [n_own] all buffers of the segment */
    size_t n_own;
    size_t n, n_ticks, words; /* words: of a set of buffers */
    uint16_t *buffers, *ticks;
    struct between *spans; /* [n] of the buffers, from begin to end */
    uint64_t *sets;        /* [n_ticks][words] who is alive */
};

static bool is_new(const struct candidates *c, uint16_t tick)
{
    for (size_t i = 0; i < c->n_ticks; i++)
        if (c->ticks[i] == tick)
            return false;
    return true;
}

/* A word of the set that is alive at a tick. */
static uint64_t alive_at(const struct candidates *c, uint16_t tick, size_t word)
{
    const struct between *spans = c->spans + 64 * word;
    size_t n = c->n - 64 * word < 64 ? c->n - 64 * word : 64;
    uint64_t set = 0;
    for (size_t i = 0; i < n; i++)
        set |= (uint64_t)(spans[i].first <= tick && tick <= spans[i].last) << i;
    return set;
}

static void gather(const struct work *work, unsigned schedule, struct candidates *c)
{
    c->n = c->n_ticks = 0;
    for (size_t i = 0; i < c->n_own; i++) {
        const struct buffer *buffer = &work->buffers[c->own[i]];
        if (work_order(buffer) < ORDER_SAVED || !(buffer->schedules >> schedule & 1))
            continue;
        c->spans[c->n] = (struct between){buffer->first, buffer->last};
        c->buffers[c->n++] = c->own[i];
        if (is_new(c, buffer->first))
            c->ticks[c->n_ticks++] = buffer->first;
    }
    c->words = (c->n + 63) / 64;
    for (size_t tick = 0; tick < c->n_ticks; tick++)
        for (size_t word = 0; word < c->words; word++)
            c->sets[tick * c->words + word] = alive_at(c, c->ticks[tick], word);
}

static bool contains(const struct candidates *c, size_t outer, size_t inner)
{
    for (size_t word = 0; word < c->words; word++)
        if (c->sets[inner * c->words + word] & ~c->sets[outer * c->words + word])
            return false;
    return true;
}

/* Another moment holds at least as much; of equal ones the first is kept. */
static bool is_covered(const struct candidates *c, size_t tick)
{
    for (size_t other = 0; other < c->n_ticks; other++)
        if (other != tick && contains(c, other, tick) &&
            (other < tick || !contains(c, tick, other)))
            return true;
    return false;
}

static void add_moment(struct work *work, const struct candidates *c, size_t tick,
                       enum segment segment, unsigned schedule)
{
    work->moments = arena_grow(work->arena, work->moments, work->n_moments,
                               &work->moment_capacity, sizeof *work->moments);
    struct work_moment *moment = &work->moments[work->n_moments++];
    *moment = (struct work_moment){segment, (uint16_t)schedule, c->ticks[tick], work->n_members,
                                   work->n_members};
    for (size_t i = 0; i < c->n; i++) {
        if (!(c->sets[tick * c->words + i / 64] >> i % 64 & 1) ||
            work->buffers[c->buffers[i]].life != LIFE_TRANSIENT)
            continue;
        work->members = arena_grow(work->arena, work->members, work->n_members,
                                   &work->member_capacity, sizeof *work->members);
        work->members[work->n_members++] = c->buffers[i];
    }
    moment->end = work->n_members;
}

static void find_moments(struct work *work)
{
    size_t n = work->n_buffers + 1, end[SEGMENT_COUNT];
    struct arena scratch = {0};
    struct candidates c = {
        .buffers = arena_take(&scratch, n, sizeof *c.buffers),
        .ticks = arena_take(&scratch, n, sizeof *c.ticks),
        .spans = arena_take(&scratch, n, sizeof *c.spans),
        .sets = arena_take(&scratch, n * ((n + 63) / 64), sizeof *c.sets),
    };
    uint16_t *own = arena_take(&scratch, n, sizeof *own);
    sort_by(work, segment_of, SEGMENT_COUNT, own, end);
    work->moments = NULL; /* a copy of a list may be indexed anew, beside the first */
    work->members = NULL;
    work->n_moments = work->moment_capacity = work->n_members = work->member_capacity = 0;
    for (unsigned schedule = 0; schedule < work->n_schedules; schedule++)
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
            size_t first = segment ? end[segment - 1] : 0;
            c.own = own + first;
            c.n_own = end[segment] - first;
            gather(work, schedule, &c);
            for (size_t tick = 0; tick < c.n_ticks; tick++)
                if (!is_covered(&c, tick))
                    add_moment(work, &c, tick, (enum segment)segment, schedule);
        }
    arena_release(&scratch);
}

void work_index(struct work *work)
{
    for (size_t i = 0; i < work->n_buffers; i++) {
        struct buffer *buffer = &work->buffers[i];
        buffer->all = size_mul(&work->sizes, buffer->bytes, buffer->count);
        work->pinned = work->pinned || buffer->pinned;
        work->addressable = work->addressable || buffer->addressable_bytes;
    }
    place_buffers(work);
    find_moments(work);
}
