/* What sim/memory/memory needs to know of a complete list and can know without sizes: the order
 * of allocation, and the moments of a layer at which the peak may be. A moment whose living
 * buffers all live at another one as well cannot be worse, so it is left out. */
#include <assert.h>
#include <string.h>

#include "work/list/work.h"

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

/* A buffer that a moment may hold, and from when to when. */
struct passing {
    uint16_t first, last, number;
};

/* The buffers of one segment and schedule that come and go, and the moments at which one of
 * them begins (a sum of what is alive rises nowhere else). */
struct candidates {
    const uint16_t *own; /* [n_own] all buffers of the segment */
    size_t n_own;
    size_t n, n_ticks, n_passing;
    uint16_t *buffers, *ticks; /* [n], [n_ticks], both as they stand in the list */
    struct passing *passing;   /* [n_passing] those of the buffers that are not saved */
    uint16_t low, high;        /* the earliest and the latest of the ticks */
    uint32_t *since; /* [high + 1] from low on: 1 + the latest of the ticks until it */
    bool *worst;     /* [high + 1] of the ticks: none that comes later holds all that
                        lives then */
};

static void gather(const struct work *work, unsigned schedule, struct candidates *c)
{
    c->n = c->n_ticks = c->n_passing = c->high = 0;
    c->low = UINT16_MAX;
    for (size_t i = 0; i < c->n_own; i++) {
        const struct buffer *buffer = &work->buffers[c->own[i]];
        if (work_order(buffer) < ORDER_SAVED || !(buffer->schedules >> schedule & 1))
            continue;
        assert(buffer->first <= buffer->last);
        c->buffers[c->n++] = c->own[i];
        if (buffer->life == LIFE_TRANSIENT)
            c->passing[c->n_passing++] =
                (struct passing){buffer->first, buffer->last, c->own[i]};
        c->low = buffer->first < c->low ? buffer->first : c->low;
        c->high = buffer->first > c->high ? buffer->first : c->high;
    }
}

static void gather_ticks(const struct work *work, struct candidates *c)
{
    memset(c->since + c->low, 0, (c->high - c->low + 1u) * sizeof *c->since);
    for (size_t i = 0; i < c->n; i++) {
        uint16_t tick = work->buffers[c->buffers[i]].first;
        if (c->since[tick])
            continue;
        c->since[tick] = tick + 1u;
        c->worst[tick] = false;
        c->ticks[c->n_ticks++] = tick;
    }
    for (size_t tick = c->low + 1u; tick <= c->high; tick++)
        if (!c->since[tick])
            c->since[tick] = c->since[tick - 1];
}

/* What lives at a tick lives at the next that begins a buffer, too, unless one ends before
 * that; an earlier one lacks what the tick begins. */
static void find_worst(const struct work *work, struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++) {
        uint16_t last = work->buffers[c->buffers[i]].last;
        c->worst[c->since[last < c->high ? last : c->high] - 1] = true;
    }
}

static void add_moment(struct work *work, const struct candidates *c, uint16_t tick,
                       enum segment segment, unsigned schedule)
{
    work->moments = arena_grow(work->arena, work->moments, work->n_moments,
                               &work->moment_capacity, sizeof *work->moments);
    struct work_moment *moment = &work->moments[work->n_moments++];
    *moment = (struct work_moment){segment, (uint16_t)schedule, tick, work->n_members,
                                   work->n_members};
    for (size_t i = 0; i < c->n_passing; i++) {
        const struct passing *passing = &c->passing[i];
        if (tick < passing->first || tick > passing->last)
            continue;
        work->members = arena_grow(work->arena, work->members, work->n_members,
                                   &work->member_capacity, sizeof *work->members);
        work->members[work->n_members++] = passing->number;
    }
    moment->end = work->n_members;
}

/* One past the latest tick at which a buffer begins. */
static size_t ticks_of(const struct work *work)
{
    size_t end = 1;
    for (size_t i = 0; i < work->n_buffers; i++)
        end = work->buffers[i].first + 1u > end ? work->buffers[i].first + 1u : end;
    return end;
}

static void find_moments(struct work *work)
{
    size_t n = work->n_buffers + 1, end[SEGMENT_COUNT];
    struct arena scratch = {0};
    size_t ticks = ticks_of(work);
    struct candidates c = {
        .buffers = arena_take(&scratch, n, sizeof *c.buffers),
        .ticks = arena_take(&scratch, n, sizeof *c.ticks),
        .passing = arena_take(&scratch, n, sizeof *c.passing),
        .since = arena_take(&scratch, ticks, sizeof *c.since),
        .worst = arena_take(&scratch, ticks, sizeof *c.worst),
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
            if (c.n)
                gather_ticks(work, &c);
            find_worst(work, &c);
            bool all = work->leaves && segment == SEGMENT_STEP; /* a later one may hold less */
            for (size_t i = 0; i < c.n_ticks; i++)
                if (all || c.worst[c.ticks[i]])
                    add_moment(work, &c, c.ticks[i], (enum segment)segment, schedule);
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
        work->leaves = work->leaves || buffer->leaves;
    }
    place_buffers(work);
    find_moments(work);
}
