/* See refold.h. */
#include "sim/memory/refold.h"

#include <string.h>

#include "sim/memory/saved.h"

enum { ONE = 1000 }; /* a copy, in thousandths */

/* Sizes that are added up: those that do not move first. */
struct sum {
    uint32_t *nodes;
    size_t n_steady, n;
};

/* Saved tensors of a segment, of which as many layers hold copies. */
struct heap {
    enum segment segment;
    uint16_t drop_every;
    bool some;
    uint32_t repeat, flight; /* nodes */
    struct sum sum;
};

/* A segment's moments [begin, end). */
struct span {
    size_t begin, end;
    bool moves; /* some size of theirs does */
};

/* The sizes of a layer's tensors: values, and what they add up to. */
struct point {
    bool known;
    uint64_t slot[SLOT_COUNT];
    double real[REAL_COUNT];
    uint64_t *values;
    uint64_t lasting[ORDER_SAVED], *heaps, *moments; /* of what does not move */
    uint64_t most[SEGMENT_COUNT];                    /* of a span that does not move */
};

struct refold {
    const struct work *work;
    struct arena *arena;
    struct run {
        uint16_t begin, end;
    } still[SLOT_COUNT]; /* [n_still] slots that do not move, those that stand together */
    size_t n_still;
    struct sizes_moving part;
    struct sum lasting[ORDER_SAVED]; /* of each order before */
    struct heap *heaps;
    size_t n_heaps;
    struct sum *moments; /* [work->n_moments] what comes and goes in a layer */
    struct span spans[SEGMENT_COUNT];
    struct point *points;
};

/* ---- what moves ---- */

/* Slots that pipeline stages and the number of copies of weights decide. */
static void mark_moving(bool moves[SLOT_COUNT])
{
    static const enum slot moving[] = {
        SLOT_STAGE_DENSE_LAYERS,
        SLOT_STAGE_MOE_LAYERS,
        SLOT_STAGE_EMBEDDING,
        SLOT_STAGE_HEAD,
        SLOT_STAGE_MTP,
        SLOT_BLOCKS_IN,
        SLOT_BLOCKS_OUT,
        SLOT_BLOCKS_MOVED,
        SLOT_HEAD_IN_FLIGHT,
        SLOT_EMPTY_IN_FLIGHT,
        SLOT_ENCODER_IN_FLIGHT,
        SLOT_ENCODER_FROZEN,
        SLOT_DENSE_PARAMETERS,
        SLOT_PLAIN_PARAMETERS,
        SLOT_EXPERT_PARAMETERS,
        SLOT_TRAINED_DENSE,
        SLOT_TRAINED_PLAIN,
        SLOT_TRAINED_EXPERTS,
        SLOT_PARAMETERS,
        SLOT_PP,
        SLOT_VPP,
        SLOT_DP,
        SLOT_EXPERT_DP,
        SLOT_ACCUMULATION,
    };
    memset(moves, 0, SLOT_COUNT * sizeof *moves);
    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
        moves[moving[i]] = true;
    for (unsigned i = SLOT_KIND_LAYERS; i < SLOT_COUNT; i++)
        moves[i] = true;
}

static void list_still(struct refold *r, const bool moves[SLOT_COUNT])
{
    for (unsigned i = 0; i < SLOT_COUNT; i++) {
        if (moves[i])
            continue;
        if (i == 0 || moves[i - 1])
            r->still[r->n_still++].begin = (uint16_t)i;
        r->still[r->n_still - 1].end = (uint16_t)(i + 1);
    }
}

/* ---- the list ---- */

static struct sum sum_of(size_t most, struct arena *arena)
{
    return (struct sum){.nodes = arena_take(arena, most + 1, sizeof(uint32_t))};
}

static void sum_add(const struct refold *r, struct sum *sum, const struct buffer *buffer)
{
    uint32_t node = buffer->all.node, *at = &sum->nodes[sum->n++];
    if (r->part.moves[node]) {
        *at = node;
        return;
    }
    *at = sum->nodes[sum->n_steady];
    sum->nodes[sum->n_steady++] = node;
}

static struct heap *heap_of(struct refold *r, const struct buffer *buffer)
{
    const struct segment_use *use = &r->work->use[buffer->segment];
    for (size_t i = 0; i < r->n_heaps; i++)
        if (r->heaps[i].segment == buffer->segment &&
            r->heaps[i].drop_every == buffer->drop_every && r->heaps[i].some == buffer->some)
            return &r->heaps[i];
    struct heap *heap = &r->heaps[r->n_heaps++];
    *heap =
        (struct heap){.segment = buffer->segment,
                      .drop_every = buffer->drop_every,
                      .some = buffer->some,
                      .repeat = buffer->some ? use->kept.node : use->back.node,
                      .flight = buffer->some ? use->kept_in_flight.node : use->in_flight.node,
                      .sum = sum_of(r->work->n_buffers, r->arena)};
    return heap;
}

static bool exists(const struct buffer *buffer)
{
    return buffer->schedules & 1;
}

static void add_buffers(struct refold *r)
{
    const struct work *work = r->work;
    for (unsigned i = 0; i < ORDER_SAVED; i++)
        r->lasting[i] = sum_of(work->n_buffers, r->arena);
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        enum work_order order = work_order(buffer);
        if (!exists(buffer) || order > ORDER_SAVED)
            continue;
        if (order < ORDER_SAVED)
            sum_add(r, &r->lasting[order], buffer);
        else
            sum_add(r, &heap_of(r, buffer)->sum, buffer);
    }
}

/* Of a layer's own saved tensors those that are there now and not at all moments: where some
 * layers drop theirs, a heap counts all that the others have. */
static bool is_there(const struct buffer *buffer, const struct work_moment *at)
{
    return buffer->segment == at->segment && buffer->life == LIFE_SAVED && exists(buffer) &&
           !saved_by_some(buffer) && buffer->first <= at->tick && at->tick <= buffer->last;
}

static void add_moment(struct refold *r, const struct work_moment *at, struct sum *sum)
{
    const struct work *work = r->work;
    size_t begin = saved_begin(work, at->segment),
           end = work->placed_end[ORDER_SAVED][at->segment];
    *sum = sum_of(at->end - at->begin + (end - begin), r->arena);
    for (size_t i = at->begin; i < at->end; i++)
        sum_add(r, sum, &work->buffers[work->members[i]]);
    for (size_t i = begin; i < end && at->segment != SEGMENT_STEP; i++)
        if (is_there(&work->buffers[work->placed[i]], at))
            sum_add(r, sum, &work->buffers[work->placed[i]]);
}

static void add_moments(struct refold *r)
{
    const struct work *work = r->work;
    r->moments = arena_alloc(r->arena, work->n_moments + 1, sizeof *r->moments);
    for (size_t i = 0; i < work->n_moments; i++) { /* those of a segment stand together */
        struct span *span = &r->spans[work->moments[i].segment];
        add_moment(r, &work->moments[i], &r->moments[i]);
        span->begin = span->end ? span->begin : i;
        span->end = i + 1;
        span->moves = span->moves || r->moments[i].n > r->moments[i].n_steady;
    }
}

/* Of such a heap a stage may hold no layers although it runs some. */
static bool has_away(const struct work *work)
{
    for (size_t i = 0; i < work->n_buffers; i++)
        if (work->buffers[i].life == LIFE_SAVED && work->buffers[i].away)
            return true;
    return false;
}

struct refold *refold_create(const struct work *work, size_t n_points, struct arena *arena)
{
    if (work->n_schedules > 1 || work->leaves || has_away(work))
        return NULL;
    struct refold *r = arena_alloc(arena, 1, sizeof *r);
    r->work = work;
    r->arena = arena;
    r->points = arena_alloc(arena, n_points, sizeof *r->points);
    r->heaps = arena_take(arena, work->n_buffers + 1, sizeof *r->heaps);
    bool moves[SLOT_COUNT];
    mark_moving(moves);
    list_still(r, moves);
    sizes_move(&work->sizes, moves, arena, &r->part);
    add_buffers(r);
    add_moments(r);
    return r;
}

/* ---- a point ---- */

static uint64_t steady_sum(const struct sum *sum, const uint64_t *values)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < sum->n_steady; i++)
        bytes += values[sum->nodes[i]];
    return bytes;
}

static uint64_t whole_sum(const struct sum *sum, uint64_t steady, const uint64_t *values)
{
    for (size_t i = sum->n_steady; i < sum->n; i++)
        steady += values[sum->nodes[i]];
    return steady;
}

static uint64_t most_of(const struct refold *r, const struct point *p, enum segment segment)
{
    uint64_t most = 0;
    for (size_t i = r->spans[segment].begin; i < r->spans[segment].end; i++) {
        uint64_t bytes = whole_sum(&r->moments[i], p->moments[i], p->values);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool stands_at(const struct refold *r, const struct point *p, const struct slots *slots)
{
    bool same = p->known;
    for (size_t i = 0; same && i < r->n_still; i++) {
        const struct run *run = &r->still[i];
        size_t bytes = (size_t)(run->end - run->begin) * sizeof *p->slot;
        same = memcmp(&p->slot[run->begin], &slots->value[run->begin], bytes) == 0;
    }
    return same && memcmp(p->real, slots->real, sizeof p->real) == 0;
}

/* False when a size overflows. */
static bool point_take(const struct refold *r, struct point *p, const struct slots *slots)
{
    const struct work *work = r->work;
    if (!p->values) {
        p->values = arena_take(r->arena, work->sizes.n, sizeof *p->values);
        p->heaps = arena_take(r->arena, r->n_heaps + 1, sizeof *p->heaps);
        p->moments = arena_take(r->arena, work->n_moments + 1, sizeof *p->moments);
    }
    memcpy(p->slot, slots->value, sizeof p->slot);
    memcpy(p->real, slots->real, sizeof p->real);
    p->known = sizes_eval(&work->sizes, slots, p->values);
    if (!p->known)
        return false;
    for (unsigned i = 0; i < ORDER_SAVED; i++)
        p->lasting[i] = steady_sum(&r->lasting[i], p->values);
    for (size_t i = 0; i < r->n_heaps; i++)
        p->heaps[i] = steady_sum(&r->heaps[i].sum, p->values);
    for (size_t i = 0; i < work->n_moments; i++)
        p->moments[i] = steady_sum(&r->moments[i], p->values);
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        p->most[i] = r->spans[i].moves ? 0 : most_of(r, p, (enum segment)i);
    return true;
}

/* ---- a fold ---- */

/* False where a product overflows. */
static bool heap_bytes(const struct heap *heap, uint64_t sum, const uint64_t *values,
                       uint64_t copies, uint64_t *bytes)
{
    uint64_t whole, part = copies % ONE;
    if (__builtin_mul_overflow(sum, copies / ONE, &whole))
        return false;
    *bytes += whole;
    for (size_t i = 0; part && i < heap->sum.n; i++) {
        uint64_t some;
        if (__builtin_mul_overflow(values[heap->sum.nodes[i]], part, &some))
            return false;
        *bytes += (some + ONE - 1) / ONE;
    }
    return true;
}

/* A heap's bytes while a layer of a segment runs, but what that layer itself may hold or not.
 * False where this is no whole copy of it. */
static bool add_heap(const struct refold *r, const struct point *p, size_t i,
                     enum segment segment, uint64_t *bytes)
{
    const struct heap *heap = &r->heaps[i];
    uint64_t repeat = p->values[heap->repeat], flight = p->values[heap->flight];
    uint64_t layers = saved_layers(repeat, 0, heap->drop_every);
    bool own = heap->segment == segment, all = !heap->drop_every && !heap->some;
    uint64_t held = own ? layers - all : saved_before(r->work, heap->segment, segment) * layers;
    if (!layers || segment == SEGMENT_STEP)
        return true;
    if (own && all && flight < ONE)
        return false;
    return heap_bytes(heap, whole_sum(&heap->sum, p->heaps[i], p->values), p->values,
                      saved_copies(flight, layers, held), bytes);
}

/* The worst moment of a segment, on top of what lives through the step. */
static bool segment_bytes(const struct refold *r, const struct point *p, enum segment segment,
                          uint64_t *bytes)
{
    *bytes = r->spans[segment].moves ? most_of(r, p, segment) : p->most[segment];
    for (size_t i = 0; i < r->n_heaps; i++)
        if (!add_heap(r, p, i, segment, bytes))
            return false;
    return true;
}

static void fold_whole(const struct refold *r, const struct point *p, struct refold_peak *out)
{
    struct memory_peak peak;
    memory_fold(r->work, p->values, 0, &peak);
    *out = (struct refold_peak){peak.total_bytes, peak.state_bytes};
}

static void fold(const struct refold *r, const struct point *p, struct refold_peak *out)
{
    uint64_t state = whole_sum(&r->lasting[ORDER_STATE], p->lasting[ORDER_STATE], p->values),
             most = 0, bytes;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++) {
        const struct span *span = &r->spans[i];
        if (span->begin == span->end || !p->values[r->work->use[i].repeat.node])
            continue;
        bool alone = !p->values[r->work->use[i].back.node]; /* forward: none is trained */
        if (alone || !segment_bytes(r, p, (enum segment)i, &bytes)) {
            fold_whole(r, p, out);
            return;
        }
        most = bytes > most ? bytes : most;
    }
    uint64_t lasting =
        whole_sum(&r->lasting[ORDER_LASTING], p->lasting[ORDER_LASTING], p->values);
    *out = (struct refold_peak){state + lasting + most, state};
}

bool refold_peak(struct refold *r, size_t point, const struct slots *slots,
                 struct refold_peak *out)
{
    struct point *p = &r->points[point];
    if (stands_at(r, p, slots) ? !sizes_eval_moved(&r->work->sizes, &r->part, slots, p->values)
                               : !point_take(r, p, slots))
        return false;
    fold(r, p, out);
    return true;
}
