/* Lifetimes from use: a transient lives from the first op that touches it to the last, and for
 * the whole of any loop that does. What no op touches is dropped. */
#include "work/pass/lives.h"
#include "work/layer/layer.h"

static void touch(struct buffer *buffer, uint16_t first, uint16_t last)
{
    if (buffer->life != LIFE_TRANSIENT)
        return;
    if (buffer->first == WORK_NONE || first < buffer->first)
        buffer->first = first;
    if (last > buffer->last)
        buffer->last = last;
}

/* Buffers of a twin that the backward had no need of. */
static void drop_untouched(struct layer *l)
{
    struct work *work = l->work;
    uint16_t *number = arena_alloc(l->arena, work->n_buffers + 1, sizeof *number);
    size_t n = 0;
    for (size_t b = 0; b < work->n_buffers; b++) {
        if (work->buffers[b].life == LIFE_TRANSIENT && work->buffers[b].first == WORK_NONE)
            continue;
        number[b] = (uint16_t)n;
        work->buffers[n++] = work->buffers[b];
    }
    work->n_buffers = n;
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        for (unsigned j = 0; j < op->n_operands; j++)
            op_operands(work, op)[j].buffer = number[op_operands(work, op)[j].buffer];
        if (op->trips_from != WORK_NONE)
            op->trips_from = number[op->trips_from];
    }
}

void layer_finish(struct layer *l)
{
    struct work *work = l->work;
    work_fill_bytes(work);
    for (size_t i = 0; i < work->n_ops; i++) {
        uint16_t first, last;
        const struct op *op = &work->ops[i];
        work_loop_range(work, (uint16_t)i, &first, &last);
        if (op->trips_from != WORK_NONE)
            touch(&work->buffers[op->trips_from], first, last);
        for (unsigned j = 0; j < op->n_operands; j++)
            touch(&work->buffers[op_operands(work, op)[j].buffer], first, last);
    }
    drop_untouched(l);
    work_index(work);
}
