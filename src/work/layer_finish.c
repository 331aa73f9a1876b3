/* Lifetimes from use: a transient lives from the first op that touches it to the last, and for
 * the whole of any loop that does. */
#include "work/layer.h"

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

void layer_finish(struct layer *l)
{
    struct work *work = l->work;
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
    work_index(work);
}
