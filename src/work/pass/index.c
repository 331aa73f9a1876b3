/* What sim/memory needs to know of a complete list and can know without sizes: the order of
 * allocation, and the moments of a layer at which the peak may be. A moment whose living
 * buffers all live at another one as well cannot be worse, so it is left out. */
#include <string.h>

#include "work/list/work.h"

enum { ORDER_SAVED = 2 }; /* of work_order; above: transient */

static void place_buffers(struct work *work)
{
    size_t n = 0;
    work->placed = arena_alloc(work->arena, work->n_buffers + 1, sizeof *work->placed);
    for (unsigned order = 0; order < WORK_ORDERS; order++)
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
            for (size_t i = 0; i < work->n_buffers; i++)
                if (work_order(&work->buffers[i]) == order &&
                    work->buffers[i].segment == (enum segment)segment)
                    work->placed[n++] = (uint16_t)i;
            work->placed_end[order][segment] = n;
        }
    work->n_placed = n;
}

/* ---- moments ---- */

/* The buffers of one segment and schedule that come and go, and the moments at which one of
 * them begins (a sum of what is alive rises nowhere else). */
struct candidates {
    size_t n, n_ticks, words; /* words: of a set of buffers */
    uint16_t *buffers, *ticks;
    uint64_t *sets; /* [n_ticks][words] who is alive */
};

static bool is_new(const struct candidates *c, uint16_t tick)
{
    for (size_t i = 0; i < c->n_ticks; i++)
        if (c->ticks[i] == tick)
            return false;
    return true;
}

static void gather(const struct work *work, enum segment segment, unsigned schedule,
                   struct candidates *c)
{
    c->n = c->n_ticks = 0;
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (buffer->segment != segment || work_order(buffer) < ORDER_SAVED ||
            !(buffer->schedules >> schedule & 1))
            continue;
        c->buffers[c->n++] = (uint16_t)i;
        if (is_new(c, buffer->first))
            c->ticks[c->n_ticks++] = buffer->first;
    }
    c->words = (c->n + 63) / 64;
    memset(c->sets, 0, c->n_ticks * c->words * sizeof *c->sets);
    for (size_t tick = 0; tick < c->n_ticks; tick++)
        for (size_t i = 0; i < c->n; i++) {
            const struct buffer *buffer = &work->buffers[c->buffers[i]];
            if (buffer->first <= c->ticks[tick] && c->ticks[tick] <= buffer->last)
                c->sets[tick * c->words + i / 64] |= UINT64_C(1) << i % 64;
        }
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
    struct work_moment *moment = &work->moments[work->n_moments++];
    *moment = (struct work_moment){segment, (uint16_t)schedule, c->ticks[tick], work->n_members,
                                   work->n_members};
    for (size_t i = 0; i < c->n; i++)
        if (c->sets[tick * c->words + i / 64] >> i % 64 & 1 &&
            work->buffers[c->buffers[i]].life == LIFE_TRANSIENT)
            work->members[moment->end++] = c->buffers[i];
    work->n_members = moment->end;
}

/* Room for all that could be kept: every buffer begins at most one moment of a schedule. */
static void find_moments(struct work *work)
{
    size_t n = work->n_buffers + 1, most = n * work->n_schedules;
    struct arena scratch = {0};
    struct candidates c = {
        .buffers = arena_alloc(&scratch, n, sizeof *c.buffers),
        .ticks = arena_alloc(&scratch, n, sizeof *c.ticks),
        .sets = arena_alloc(&scratch, n * ((n + 63) / 64), sizeof *c.sets),
    };
    work->moments = arena_alloc(work->arena, most, sizeof *work->moments);
    work->members = arena_alloc(work->arena, most * n, sizeof *work->members);
    work->n_moments = work->n_members = 0;
    for (unsigned schedule = 0; schedule < work->n_schedules; schedule++)
        for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
            gather(work, (enum segment)segment, schedule, &c);
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
