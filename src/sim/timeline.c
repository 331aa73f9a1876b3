/* See timeline.h. */
#include "sim/timeline.h"

#include <math.h>

const char *stream_name(enum stream stream)
{
    static const char *const names[] = {"compute", "link", "host"};
    return names[stream];
}

static enum stream stream_of(const struct op *op)
{
    if (op->kind == OP_EXCHANGE || op->kind == OP_COLLECTIVE)
        return STREAM_LINK;
    return op->kind == OP_COPY || op->kind == OP_SYNC ? STREAM_HOST : STREAM_COMPUTE;
}

/* When all that the op touches is complete. */
static double ready_s(const struct work *work, const struct op *op, const double *complete_s)
{
    double ready = 0;
    for (unsigned i = 0; i < op->n_operands; i++)
        ready = fmax(ready, complete_s[op_operands(work, op)[i].buffer]);
    return ready;
}

void timeline_of(const struct pricing *pricing, const struct work *work, const uint64_t *values,
                 enum segment segment, bool overlap, struct arena *arena, struct timeline *out)
{
    double *complete_s = arena_alloc(arena, work->n_buffers + 1, sizeof *complete_s);
    double free_s[STREAM_COUNT] = {0, 0, 0};
    *out = (struct timeline){.ops = arena_alloc(arena, work->n_ops + 1, sizeof *out->ops)};
    for (size_t i = 0; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        struct timeline_op *at = &out->ops[i];
        if ((segment != SEGMENT_COUNT && op->segment != segment) || !values[op->layers.node])
            continue;
        at->price = price_of(pricing, work, op, values);
        at->stream = stream_of(op);
        at->begin_s =
            overlap ? fmax(free_s[at->stream], ready_s(work, op, complete_s)) : out->end_s;
        at->end_s = free_s[at->stream] = at->begin_s + at->price.s;
        for (unsigned j = 0; j < op->n_operands; j++)
            if (op_operands(work, op)[j].written)
                complete_s[op_operands(work, op)[j].buffer] = at->end_s;
        out->end_s = fmax(out->end_s, at->end_s);
        out->sum_s += at->price.s;
    }
}

void timeline_rounds(double fetch, double compute, double back, uint64_t rounds,
                     struct rounds_times *out)
{
    /* On the link fetch i + 1, issued when compute i starts, goes before return i - 1. */
    double link = fetch, fetched = fetch, done = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        double start = fmax(done, fetched);
        if (i + 1 < rounds)
            fetched = link = fmax(link, start) + fetch;
        if (i > 0)
            link = fmax(link, done) + back;
        done = start + compute;
    }
    double n = (double)rounds;
    *out = (struct rounds_times){.serial_s = n * (fetch + compute + back),
                                 .overlapped_s = fmax(link, done) + back,
                                 .link_s = n * (fetch + back),
                                 .compute_s = n * compute};
}
