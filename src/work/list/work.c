/* Building blocks of a work list; see work.h. */
#include "work/list/work.h"

#include <assert.h>

#include "base/err.h"
#include "work/list/dtype.h"

const char *category_name(enum category category)
{
    static const char *const names[] = {
#define CATEGORY_TEXT(name, text) text,
        CATEGORY_LIST(CATEGORY_TEXT)
#undef CATEGORY_TEXT
    };
    return names[category];
}

const char *segment_name(enum segment segment)
{
    static const char *const names[] = {"step", "embedding",
#define SEGMENT_TEXT(name, mixer, ffn, text, word) text,
                                        LAYER_KIND_LIST(SEGMENT_TEXT)
#undef SEGMENT_TEXT
                                            "head"};
    return names[segment];
}

enum segment segment_of_kind(enum layer_kind kind)
{
    return (enum segment)(SEGMENT_DENSE + (unsigned)kind);
}

enum layer_kind segment_kind(enum segment segment)
{
    return (enum layer_kind)(segment - SEGMENT_DENSE);
}

bool segment_is_layer(enum segment segment)
{
    return segment >= SEGMENT_DENSE && segment < SEGMENT_HEAD;
}

bool segment_has_experts(enum segment segment)
{
    return segment_is_layer(segment) && kind_ffn(segment_kind(segment)) == FFN_MOE;
}

const char *op_kind_name(enum op_kind kind)
{
    static const char *const names[] = {
#define OP_TEXT(name, text) text,
        OP_LIST(OP_TEXT)
#undef OP_TEXT
    };
    return names[kind];
}

const char *phase_name(enum phase phase)
{
    static const char *const names[] = {"forward", "recompute", "backward", "update"};
    return names[phase];
}

const char *process_group_name(enum process_group group)
{
    static const char *const names[] = {
#define GROUP_TEXT(name, text) text,
        GROUP_LIST(GROUP_TEXT)
#undef GROUP_TEXT
    };
    return names[group];
}

bool process_group_is_data(enum process_group group)
{
    return group == GROUP_DP || group == GROUP_EDP || group >= GROUP_DP_SHARD;
}

struct size buffer_shape_bytes(struct sizes *sizes, const struct buffer *buffer)
{
    struct size elements = size_product(sizes, buffer->n_dims, buffer->dims);
    unsigned bits = dtype_bits(buffer->dtype);
    if (bits >= 8)
        return size_times(sizes, elements, bits / 8);
    return size_ceil_div(sizes, size_times(sizes, elements, bits), size_const(sizes, 8));
}

uint16_t work_buffer(struct work *work, struct buffer buffer)
{
    assert(work->n_buffers < WORK_NONE);
    if (size_is_zero(&work->sizes, buffer.bytes))
        buffer.bytes = buffer_shape_bytes(&work->sizes, &buffer);
    if (size_is_zero(&work->sizes, buffer.count))
        buffer.count = size_const(&work->sizes, 1);
    if (!buffer.schedules)
        buffer.schedules = UINT32_MAX;
    work->buffers = arena_grow(work->arena, work->buffers, work->n_buffers,
                               &work->buffer_capacity, sizeof buffer);
    work->buffers[work->n_buffers] = buffer;
    return (uint16_t)work->n_buffers++;
}

void work_host(struct work *work, const char *name, struct size bytes, const char *source)
{
    work->host = arena_grow(work->arena, work->host, work->n_host, &work->host_capacity,
                            sizeof *work->host);
    work->host[work->n_host++] = (struct host_buffer){name, bytes, source};
}

uint16_t work_tick(struct work *work, struct tick tick)
{
    assert(work->n_ticks < WORK_NONE);
    work->ticks =
        arena_grow(work->arena, work->ticks, work->n_ticks, &work->tick_capacity, sizeof tick);
    work->ticks[work->n_ticks] = tick;
    return (uint16_t)work->n_ticks++;
}

uint16_t work_op(struct work *work, struct op op)
{
    assert(work->n_ops < WORK_NONE);
    work->ops = arena_grow(work->arena, work->ops, work->n_ops, &work->op_capacity, sizeof op);
    work->ops[work->n_ops] = op;
    return (uint16_t)work->n_ops++;
}

enum work_order work_order(const struct buffer *buffer)
{
    if (buffer->life == LIFE_PERSISTENT)
        return buffer->state ? ORDER_STATE : ORDER_LASTING;
    return buffer->life == LIFE_SAVED ? ORDER_SAVED : ORDER_TRANSIENT;
}

void work_init(struct work *work, struct arena *arena)
{
    *work = (struct work){.arena = arena,
                          .buffer_capacity = 192, /* most lists have fewer */
                          .tick_capacity = 128,
                          .n_schedules = 1,
                          .schedule_name = {""}};
    work->buffers = arena_take(arena, work->buffer_capacity, sizeof *work->buffers);
    work->ticks = arena_take(arena, work->tick_capacity, sizeof *work->ticks);
    sizes_init(&work->sizes, arena);
    struct size one = size_const(&work->sizes, 1), full = size_const(&work->sizes, 1000),
                none = size_const(&work->sizes, 0);
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        work->use[i] = (struct segment_use){one, full, one, full, none, none, one, one};
}
