/* See slice.h. */
#include "sim/slice.h"

#include "sim/slice_memory.h"

enum status slice_init(const struct plan *plan, const struct routing_data *data, bool backward,
                       struct slice_ranks ranks, struct arena *arena, struct slice *out,
                       struct err *err)
{
    *out = (struct slice){
        .plan = plan, .first = ranks.first, .n = ranks.n, .workers = ranks.workers};
    TRY(slice_kind_of(plan)->build(out, data, backward, arena, err));
    out->slots = arena_alloc(arena, ranks.n, sizeof *out->slots);
    out->values = arena_alloc(arena, ranks.n, sizeof *out->values);
    for (uint64_t i = 0; i < ranks.n; i++)
        out->values[i] = arena_alloc(arena, out->work.sizes.n, sizeof **out->values);
    return slice_step(out, 0, err);
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
    slice_memory_peak(&c->work, (const uint64_t *const *)c->values, c->n, arena, peak);
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
