/* See slice.h. */
#include "sim/step/slice.h"

#include <string.h>

#include "base/checked.h"
#include "sim/memory/slice_memory.h"

static struct slice slice_of(const struct plan *plan, struct slice_ranks ranks)
{
    return (struct slice){.plan = plan,
                          .first = ranks.first,
                          .n = ranks.n,
                          .workers = ranks.workers,
                          .places = ranks.places ? ranks.places : 1};
}

enum status slice_init(const struct plan *plan, const struct routing_data *data, bool backward,
                       struct slice_ranks ranks, struct arena *arena, struct slice *out,
                       struct err *err)
{
    *out = slice_of(plan, ranks);
    TRY(slice_kind_of(plan)->build(out, backward, arena, err));
    if (slice_kind_of(plan)->route)
        TRY(slice_kind_of(plan)->route(out, data, arena, err));
    out->slots = arena_alloc(arena, ranks.n, sizeof *out->slots);
    out->values = arena_alloc(arena, ranks.n, sizeof *out->values);
    for (uint64_t i = 0; i < ranks.n; i++)
        out->values[i] = arena_alloc(arena, out->work.sizes.n, sizeof **out->values);
    return slice_step(out, 0, err);
}

uint64_t slice_sample_bytes(const struct plan *plan)
{
    const struct slice_kind *kind = slice_kind_of(plan);
    return kind->route ? kind->route_bytes(plan) : 0;
}

/* The peak of ranks that all have the same sizes. */
static enum status least_peak(struct slice *slice, struct arena *arena, uint64_t *bytes,
                              struct err *err)
{
    struct slots slots;
    struct memory_peak peak;
    uint64_t *values = arena_alloc(arena, slice->work.sizes.n, sizeof *values);
    const uint64_t **of_ranks = arena_alloc(arena, slice->n, sizeof *of_ranks);
    slice_kind_of(slice->plan)->fill_least(slice, &slots);
    if (!sizes_eval(&slice->work.sizes, &slots, values))
        return err_set(err, STATUS_INPUT, "sizes of the layer overflow 64 bits");
    for (uint64_t i = 0; i < slice->n; i++)
        of_ranks[i] = values;
    slice_memory_peak(&slice->work, of_ranks, slice->n, slice->places, arena, &peak);
    *bytes = peak.total_bytes;
    return STATUS_OK;
}

enum status slice_least(const struct plan *plan, bool backward, struct slice_ranks ranks,
                        uint64_t *bytes, struct err *err)
{
    struct arena arena = {0};
    struct slice slice = slice_of(plan, ranks);
    const struct slice_kind *kind = slice_kind_of(plan);
    enum status status = kind->build(&slice, backward, &arena, err);
    if (status == STATUS_OK)
        status = least_peak(&slice, &arena, bytes, err);
    if (status == STATUS_OK)
        *bytes += slice_sample_bytes(plan); /* both far below 2^63 */
    arena_release(&arena);
    return status;
}

enum status slice_step(struct slice *c, uint64_t step, struct err *err)
{
    slice_kind_of(c->plan)->fill_slots(c, step);
    for (uint64_t i = 0; i < c->n; i++)
        if (!sizes_eval(&c->work.sizes, &c->slots[i], c->values[i]))
            return err_set(err, STATUS_INPUT, "sizes of rank %llu overflow 64 bits",
                           (unsigned long long)(c->first + i));
    return STATUS_OK;
}

void slice_peak(const struct slice *c, struct arena *arena, struct memory_peak *peak)
{
    slice_memory_peak(&c->work, (const uint64_t *const *)c->values, c->n, c->places, arena,
                      peak);
}

/* Ranks p n / places, rounded up, to those of the next. */
void slice_place_peak(const struct slice *c, uint64_t place, struct arena *arena,
                      struct memory_peak *peak)
{
    uint64_t first = ceil_div(place * c->n, c->places),
             end = ceil_div((place + 1) * c->n, c->places);
    memset(peak, 0, sizeof *peak);
    if (end > first)
        slice_memory_peak(&c->work, (const uint64_t *const *)c->values + first, end - first, 1,
                          arena, peak);
}

uint64_t slice_exchange_bytes(const struct slice *c)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < c->n; i++)
        for (size_t op = 0; op < c->work.n_ops; op++) {
            uint64_t sent = c->values[i][c->work.ops[op].bytes_sent.node];
            most = sent > most ? sent : most;
        }
    return most;
}
