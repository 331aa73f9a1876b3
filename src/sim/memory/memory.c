/* Lifetimes folded into a peak; see memory.h. */
#include "sim/memory/memory.h"

#include <assert.h>
#include <string.h>

#include "sim/memory/saved.h"

/* A moment of the step: this tick of one layer of this segment. */
struct moment {
    enum segment segment;
    uint16_t tick;
    unsigned schedule;
};

static bool exists(const struct buffer *buffer, unsigned schedule)
{
    return buffer->schedules >> schedule & 1;
}

/* bytes x thousandths / 1000: whole copies exactly, a fraction of one rounded up */
static uint64_t copies_of(uint64_t bytes, uint64_t thousandths)
{
    if (thousandths == 1000)
        return bytes;
    uint64_t part = thousandths % 1000;
    return saved_product(bytes, thousandths / 1000) +
           (part ? (saved_product(bytes, part) + 999) / 1000 : 0);
}

static uint64_t repeat_of(const struct work *work, const uint64_t *values, enum segment segment)
{
    return values[work->use[segment].repeat.node];
}

/* Of the micro-batches that a segment's stage has in flight, thousandths. */
static uint64_t flight_of(const struct work *work, const uint64_t *values,
                          const struct buffer *buffer)
{
    const struct segment_use *use = &work->use[buffer->segment];
    return values[buffer->some ? use->kept_in_flight.node : use->in_flight.node];
}

/* Layers that save a buffer. */
static uint64_t saving_layers(const struct work *work, const uint64_t *values,
                              const struct buffer *buffer)
{
    const struct segment_use *use = &work->use[buffer->segment];
    return saved_layers(values[buffer->some ? use->kept.node : use->back.node], buffer->away,
                        buffer->drop_every);
}

uint64_t memory_buffer_bytes(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer)
{
    uint64_t bytes = values[buffer->all.node];
    if (buffer->life != LIFE_SAVED)
        return bytes;
    return copies_of(bytes, saved_product(saving_layers(work, values, buffer),
                                          flight_of(work, values, buffer)));
}

static bool surrounds(const struct buffer *buffer, const struct moment *moment)
{
    return buffer->segment == moment->segment && buffer->first <= moment->tick &&
           moment->tick <= buffer->last;
}

/* Layers whose copies of a saved buffer this micro-batch holds at the moment. */
static uint64_t layers_held(const struct work *work, const uint64_t *values,
                            const struct buffer *buffer, const struct moment *moment)
{
    uint64_t layers = saving_layers(work, values, buffer);
    if (buffer->segment == moment->segment)
        return layers - (saved_by_some(buffer) || surrounds(buffer, moment) ? 0 : 1);
    return saved_before(work, buffer->segment, moment->segment) ? layers : 0;
}

/* A saved buffer of which this micro-batch holds so many layers' copies. */
static uint64_t saved_bytes(const struct work *work, const uint64_t *values,
                            const struct buffer *buffer, uint64_t layers, uint64_t held)
{
    return copies_of(values[buffer->all.node],
                     saved_copies(flight_of(work, values, buffer), layers, held));
}

/* Whether all layers of a kind are frozen, which the stage has. */
static bool runs_forward_alone(const struct work *work, const uint64_t *values,
                               enum segment segment)
{
    return !values[work->use[segment].back.node] && repeat_of(work, values, segment);
}

/* Copies of a buffer at a moment, in thousandths. */
static uint64_t alive_copies(const struct work *work, const uint64_t *values,
                             const struct buffer *buffer, const struct moment *moment)
{
    if (!exists(buffer, moment->schedule))
        return 0;
    if (buffer->life == LIFE_PERSISTENT)
        return buffer->leaves && surrounds(buffer, moment) ? 0 : 1000;
    if (buffer->life == LIFE_TRANSIENT)
        return surrounds(buffer, moment) ? 1000 : 0;
    uint64_t layers = saving_layers(work, values, buffer);
    if (moment->segment == SEGMENT_STEP)
        return 0; /* no micro-batch is under way in the optimizer's step */
    if (!layers)  /* none keeps it; the one at hand makes it all the same */
        return runs_forward_alone(work, values, buffer->segment) && surrounds(buffer, moment)
                   ? 1000
                   : 0;
    return saved_copies(flight_of(work, values, buffer), layers,
                        layers_held(work, values, buffer, moment));
}

static uint64_t alive_bytes(const struct work *work, const uint64_t *values,
                            const struct buffer *buffer, const struct moment *moment)
{
    uint64_t copies = alive_copies(work, values, buffer, moment);
    return copies ? copies_of(values[buffer->all.node], copies) : 0;
}

/* ---- the worst moment ---- */

/* Buffers that stand together in work->placed. */
struct range {
    size_t begin, end;
};

static struct range saved_of(const struct work *work, enum segment segment)
{
    return (struct range){saved_begin(work, segment), work->placed_end[ORDER_SAVED][segment]};
}

static uint64_t range_bytes(const struct work *work, const uint64_t *values, struct range range,
                            const struct moment *moment)
{
    uint64_t bytes = 0;
    for (size_t i = range.begin; i < range.end; i++)
        bytes += alive_bytes(work, values, &work->buffers[work->placed[i]], moment);
    return bytes;
}

enum { OWN_MOST = 128 }; /* see struct own */

/* What lives through the step. */
static uint64_t persistent_bytes(const struct work *work, const uint64_t *values,
                                 const struct moment *moment)
{
    struct range all = {0, work->placed_end[ORDER_LASTING][SEGMENT_COUNT - 1]};
    return range_bytes(work, values, all, moment);
}

/* Of these, what is not on the device at the moment. */
static uint64_t left_bytes(const struct work *work, const uint64_t *values,
                           const struct moment *moment)
{
    uint64_t bytes = 0;
    size_t end = work->leaves ? work->placed_end[ORDER_LASTING][SEGMENT_COUNT - 1] : 0;
    for (size_t i = 0; i < end; i++) {
        const struct buffer *buffer = &work->buffers[work->placed[i]];
        if (buffer->leaves && exists(buffer, moment->schedule) && surrounds(buffer, moment))
            bytes += values[buffer->all.node];
    }
    return bytes;
}

/* Saved tensors of the other segments, alive whichever op of the moment's segment runs. */
static uint64_t elsewhere_bytes(const struct work *work, const uint64_t *values,
                                const struct moment *moment)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        if (i != moment->segment)
            bytes += range_bytes(work, values, saved_of(work, (enum segment)i), moment);
    return bytes;
}

struct worst {
    struct moment moment;
    uint64_t bytes;
};

/* The saved tensors of a segment in one of its layers: those that are dropped there now, or not
 * yet made, and what each of the first ones takes more where it is alive. */
struct own {
    struct range range;
    uint64_t bytes, more[OWN_MOST];
};

static void own_bytes(const struct work *work, const uint64_t *values, enum segment segment,
                      unsigned schedule, struct own *own)
{
    own->range = saved_of(work, segment);
    own->bytes = 0;
    for (size_t i = own->range.begin; i < own->range.end && i - own->range.begin < OWN_MOST;
         i++) {
        const struct buffer *buffer = &work->buffers[work->placed[i]];
        uint64_t layers = saving_layers(work, values, buffer);
        uint64_t *more = &own->more[i - own->range.begin];
        *more = 0;
        if (!exists(buffer, schedule) || segment == SEGMENT_STEP)
            continue;
        if (!layers) { /* see alive_copies */
            *more = runs_forward_alone(work, values, segment) ? values[buffer->all.node] : 0;
            continue;
        }
        uint64_t least =
            saved_bytes(work, values, buffer, layers, layers - (saved_by_some(buffer) ? 0 : 1));
        *more = saved_bytes(work, values, buffer, layers, layers) - least;
        own->bytes += least;
    }
}

/* What is alive at a moment besides what stands whichever op of its segment runs. */
static uint64_t coming_bytes(const struct work *work, const uint64_t *values,
                             const struct work_moment *at, const struct moment *moment,
                             const struct own *own)
{
    uint64_t bytes = own->bytes;
    size_t i = own->range.begin;
    for (; i < own->range.end && i - own->range.begin < OWN_MOST; i++)
        if (surrounds(&work->buffers[work->placed[i]], moment))
            bytes += own->more[i - own->range.begin];
    bytes += range_bytes(work, values, (struct range){i, own->range.end}, moment);
    for (i = at->begin; i < at->end; i++)
        bytes += values[work->buffers[work->members[i]].all.node];
    return bytes;
}

/* A segment that this rank does not run has no moments. */
static struct worst worst_moment(const struct work *work, const uint64_t *values,
                                 unsigned schedule)
{
    struct worst worst = {{SEGMENT_STEP, WORK_NONE, schedule}, 0};
    uint64_t persistent = persistent_bytes(work, values, &worst.moment), standing = persistent;
    enum segment segment = SEGMENT_COUNT; /* whose standing and own bytes are known */
    struct own own;
    own.range = (struct range){0, 0};
    own.bytes = 0;
    worst.bytes = persistent;
    for (size_t i = 0; i < work->n_moments; i++) {
        const struct work_moment *at = &work->moments[i];
        struct moment moment = {at->segment, at->tick, schedule};
        if (at->schedule != schedule || !repeat_of(work, values, at->segment))
            continue;
        if (at->segment != segment) {
            standing = persistent + elsewhere_bytes(work, values, &moment);
            own_bytes(work, values, at->segment, schedule, &own);
        }
        segment = at->segment;
        uint64_t bytes = standing + coming_bytes(work, values, at, &moment, &own) -
                         left_bytes(work, values, &moment);
        if (bytes > worst.bytes)
            worst = (struct worst){moment, bytes};
    }
    return worst;
}

/* ---- the fold ---- */

uint64_t memory_bytes_at_peak(const struct work *work, const uint64_t *values,
                              const struct buffer *buffer, unsigned schedule,
                              const struct memory_peak *peak)
{
    struct moment moment = {peak->segment, peak->tick, schedule};
    return alive_bytes(work, values, buffer, &moment);
}

void memory_fold(const struct work *work, const uint64_t *values, unsigned schedule,
                 struct memory_peak *peak)
{
    assert(work->n_placed == work->n_buffers);
    memset(peak, 0, sizeof *peak);
    struct worst worst = worst_moment(work, values, schedule);
    struct range state = {0, work->placed_end[ORDER_STATE][SEGMENT_COUNT - 1]};
    peak->segment = worst.moment.segment;
    peak->tick = worst.moment.tick;
    peak->state_bytes = range_bytes(work, values, state, &worst.moment);
    peak->total_bytes = worst.bytes;
    peak->temp_bytes = worst.bytes - peak->state_bytes;
    for (size_t i = 0; work->pinned && i < work->n_buffers; i++)
        if (work->buffers[i].pinned)
            peak->pinned_bytes += alive_bytes(work, values, &work->buffers[i], &worst.moment);
}

/* ---- the fold of a sweep ---- */

/* What is alive at a moment, of buffers of these orders and of transients. */
static void sum_moment(const struct work *work, const uint64_t *values, const bool *moves,
                       const struct moment *moment, struct range placed,
                       struct range transients, struct arena *arena, struct memory_sum *sum)
{
    size_t n = placed.end - placed.begin + transients.end - transients.begin;
    *sum = (struct memory_sum){.segment = moment->segment, .tick = moment->tick};
    sum->terms = arena_alloc(arena, n + 1, sizeof *sum->terms);
    for (size_t i = 0; i < n; i++) {
        size_t in_placed = placed.begin + i;
        uint16_t number = in_placed < placed.end
                              ? work->placed[in_placed]
                              : work->members[transients.begin + in_placed - placed.end];
        const struct buffer *buffer = &work->buffers[number];
        uint64_t copies = alive_copies(work, values, buffer, moment);
        if (moves[buffer->all.node] && copies)
            sum->terms[sum->n++] = (struct memory_term){buffer->all.node, copies};
        else if (copies)
            sum->still_bytes += copies_of(values[buffer->all.node], copies);
    }
}

/* Whether the number of copies is known as long as nothing that stays changes. */
static bool copies_stay(const struct work *work, const bool *moves)
{
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        if (moves[work->use[i].repeat.node] || moves[work->use[i].in_flight.node] ||
            moves[work->use[i].back.node] || moves[work->use[i].kept.node] ||
            moves[work->use[i].kept_in_flight.node])
            return false;
    return !work->pinned && !work->leaves;
}

void memory_keep(const struct work *work, const uint64_t *values, const bool *moves,
                 unsigned schedule, struct arena *arena, struct memory_kept *kept)
{
    struct moment moment = {SEGMENT_STEP, WORK_NONE, schedule};
    struct range none = {0, 0}, state = {0, work->placed_end[ORDER_STATE][SEGMENT_COUNT - 1]};
    struct range persistent = {0, work->placed_end[ORDER_LASTING][SEGMENT_COUNT - 1]};
    struct range lasting = {0, work->placed_end[ORDER_SAVED][SEGMENT_COUNT - 1]};
    *kept = (struct memory_kept){.usable = copies_stay(work, moves)};
    if (!kept->usable)
        return;
    kept->moments = arena_alloc(arena, work->n_moments + 1, sizeof *kept->moments);
    sum_moment(work, values, moves, &moment, state, none, arena, &kept->state);
    sum_moment(work, values, moves, &moment, persistent, none, arena, &kept->moments[0]);
    kept->n = 1;
    for (size_t i = 0; i < work->n_moments; i++) {
        const struct work_moment *at = &work->moments[i];
        if (at->schedule != schedule || !repeat_of(work, values, at->segment))
            continue;
        moment = (struct moment){at->segment, at->tick, schedule};
        sum_moment(work, values, moves, &moment, lasting, (struct range){at->begin, at->end},
                   arena, &kept->moments[kept->n++]);
    }
}

static uint64_t sum_bytes(const struct memory_sum *sum, const uint64_t *values)
{
    uint64_t bytes = sum->still_bytes;
    for (size_t i = 0; i < sum->n; i++)
        bytes += copies_of(values[sum->terms[i].node], sum->terms[i].copies);
    return bytes;
}

void memory_fold_kept(const struct memory_kept *kept, const uint64_t *values,
                      struct memory_peak *peak)
{
    const struct memory_sum *worst = &kept->moments[0];
    uint64_t most = sum_bytes(worst, values);
    for (size_t i = 1; i < kept->n; i++) {
        uint64_t bytes = sum_bytes(&kept->moments[i], values);
        if (bytes <= most)
            continue;
        most = bytes;
        worst = &kept->moments[i];
    }
    memset(peak, 0, sizeof *peak);
    peak->segment = worst->segment;
    peak->tick = worst->tick;
    peak->state_bytes = sum_bytes(&kept->state, values);
    peak->total_bytes = most;
    peak->temp_bytes = most - peak->state_bytes;
}

void memory_explain(const struct work *work, const uint64_t *values, unsigned schedule,
                    struct memory_peak *peak)
{
    struct moment moment = {peak->segment, peak->tick, schedule};
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        uint64_t bytes = alive_bytes(work, values, buffer, &moment);
        peak->category[buffer->category] += bytes;
        peak->outside_bytes += buffer->outside ? bytes : 0;
        peak->resident_bytes += buffer->life == LIFE_PERSISTENT && !buffer->outside ? bytes : 0;
    }
}
