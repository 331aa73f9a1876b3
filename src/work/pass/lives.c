/* See lives.h. */
#include "work/pass/lives.h"

void work_loop_range(const struct work *work, uint16_t op, uint16_t *first, uint16_t *last)
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

/* Ops of one segment that touch a buffer. */
struct use {
    bool touched, needed; /* needed: read after the forward */
    uint16_t first, last, last_needed;
    uint16_t made_again; /* first op that recomputes it, WORK_NONE: none */
};

static void note(struct use *use, const struct op *op, const struct operand *operand,
                 uint16_t first, uint16_t last)
{
    if (!use->touched)
        *use = (struct use){true, false, first, last, 0, WORK_NONE};
    use->last = last > use->last ? last : use->last;
    if (op->phase == PHASE_RECOMPUTE && operand->written && use->made_again == WORK_NONE)
        use->made_again = first;
    if (op->phase == PHASE_BACKWARD && operand->read) {
        use->needed = true;
        use->last_needed = last;
    }
}

static void note_all(const struct work *work, struct use *uses)
{
    for (size_t i = 0; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        uint16_t first, last;
        work_loop_range(work, (uint16_t)i, &first, &last);
        for (unsigned j = 0; j < op->n_operands; j++) {
            const struct operand *operand = &op_operands(work, op)[j];
            note(&uses[operand->buffer * SEGMENT_COUNT + op->segment], op, operand, first,
                 last);
        }
        if (op->trips_from != WORK_NONE && op->loop)
            note(&uses[op->trips_from * SEGMENT_COUNT + op->segment], op,
                 &(struct operand){.read = true}, first, last);
    }
}

/* Whether an operand is part of the state: its bytes are there already. */
static bool is_state(const struct buffer *buffer)
{
    bool moved =
        buffer->category == CATEGORY_COMMUNICATION || buffer->category == CATEGORY_METADATA;
    return buffer->life == LIFE_PERSISTENT || (buffer->segment == SEGMENT_STEP && !moved) ||
           (buffer->category == CATEGORY_GRADIENTS && buffer->n_dims > 1);
}

static void set_life(struct buffer *buffer, enum segment segment, const struct use *use,
                     const struct work *work)
{
    bool forward = work->ops[use->first].phase == PHASE_FORWARD;
    buffer->segment = segment;
    buffer->life = LIFE_TRANSIENT;
    buffer->first = use->first;
    buffer->last = use->last;
    if (!use->needed || !forward)
        return;
    buffer->last = use->last_needed;
    if (use->made_again == WORK_NONE)
        buffer->life = LIFE_SAVED;
    else
        buffer->first = use->made_again;
}

/* One record for every segment that touches it: rows that pass from one segment to the next are
 * held by both, each for its own layers. */
static void add_lives(struct work *work, uint16_t number, const struct use *uses)
{
    bool first = true;
    for (unsigned s = 0; s < SEGMENT_COUNT; s++) {
        const struct use *use = &uses[number * SEGMENT_COUNT + s];
        if (!use->touched || (s == SEGMENT_STEP && !first))
            continue;
        uint16_t at = first ? number : work_buffer(work, work->buffers[number]);
        set_life(&work->buffers[at], (enum segment)s, use, work);
        first = false;
    }
    if (first)
        work->buffers[number].schedules = 0;
}

void lives_from_use(struct work *work)
{
    size_t n = work->n_buffers;
    struct arena scratch = {0};
    struct use *uses = arena_alloc(&scratch, n * SEGMENT_COUNT, sizeof *uses);
    note_all(work, uses);
    for (size_t i = 0; i < work->n_ops; i++)
        work_tick(work, (struct tick){.name = work->ops[i].name,
                                      .kind = work->ops[i].kind,
                                      .segment = work->ops[i].segment,
                                      .phase = work->ops[i].phase});
    for (size_t b = work->n_held; b < n; b++) {
        if (is_state(&work->buffers[b]))
            work->buffers[b].schedules = 0;
        else
            add_lives(work, (uint16_t)b, uses);
    }
    arena_release(&scratch);
}
