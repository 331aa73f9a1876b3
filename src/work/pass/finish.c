/* Lifetimes from use: a transient lives from the first op that touches it to the last, and for
 * the whole of any loop that does. What no op touches is dropped. */
#include "work/piece/layer.h"

static void touch(struct buffer *buffer, uint16_t first, uint16_t last)
{
    if (buffer->life != LIFE_TRANSIENT)
        return;
    if (buffer->first == WORK_NONE || first < buffer->first)
        buffer->first = first;
    if (last > buffer->last)
        buffer->last = last;
}

static void loop_range(const struct work *work, uint16_t op, uint16_t *first, uint16_t *last)
{
    *first = *last = op;
    uint16_t loop = work->ops[op].loop;
    if (!loop)
        return;
    while (*first > 0 && work->ops[*first - 1].loop == loop)
        --*first;
    while (*last + 1U < work->n_ops && work->ops[*last + 1].loop == loop)
        ++*last;
}

static void renumber(uint16_t *buffers, unsigned n, const uint16_t *number)
{
    for (unsigned i = 0; i < n; i++)
        if (buffers[i] != WORK_NONE)
            buffers[i] = number[buffers[i]];
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
        renumber(work->ops[i].reads, OP_BUFFERS, number);
        renumber(work->ops[i].writes, OP_BUFFERS, number);
        renumber(&work->ops[i].trips_from, 1, number);
    }
}

/* ---- bytes ---- */

static struct size operand_bytes(struct work *work, const uint16_t *list, struct size trips)
{
    struct size sum = size_const(&work->sizes, 0);
    for (unsigned i = 0; i < OP_BUFFERS; i++)
        if (list[i] != WORK_NONE)
            sum = size_add(&work->sizes, sum, work->buffers[list[i]].bytes);
    return size_mul(&work->sizes, sum, trips);
}

void work_fill_bytes(struct work *work)
{
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        bool said = !size_is_zero(&work->sizes, op->bytes_read) ||
                    !size_is_zero(&work->sizes, op->bytes_written);
        if (said || !kernel_is_work((enum kernel)op->kernel))
            continue;
        struct size trips = size_is_zero(&work->sizes, op->trips)
                                ? size_const(&work->sizes, 1)
                                : op->trips;
        op->bytes_read = operand_bytes(work, op->reads, trips);
        op->bytes_written = operand_bytes(work, op->writes, trips);
    }
}

void layer_finish(struct layer *l)
{
    struct work *work = l->work;
    work_fill_bytes(work);
    for (size_t i = 0; i < work->n_ops; i++) {
        uint16_t first, last;
        loop_range(work, (uint16_t)i, &first, &last);
        if (work->ops[i].trips_from != WORK_NONE)
            touch(&work->buffers[work->ops[i].trips_from], first, last);
        for (unsigned j = 0; j < OP_BUFFERS; j++) {
            if (work->ops[i].reads[j] != WORK_NONE)
                touch(&work->buffers[work->ops[i].reads[j]], first, last);
            if (work->ops[i].writes[j] != WORK_NONE)
                touch(&work->buffers[work->ops[i].writes[j]], first, last);
        }
    }
    drop_untouched(l);
    work_index(work);
}
