/* Reduce-scatter and all-gather of chunks in the ways of block.collective: see matmul.h. */
#include "work/matmul.h"

/* All chunks but the rank's own cross a link, whatever the schedule. */
static struct size others(struct layer *l, uint16_t array)
{
    struct size chunk = size_div(l->z, l->work->buffers[array].dims[0], l->R);
    return layer_traffic(l, size_mul(l->z, chunk, size_sub(l->z, l->R, l->one)), array);
}

static struct size steps_of(struct layer *l, enum schedule schedule)
{
    return size_const(l->z, schedule_steps(schedule, l->plan->parallel.tp));
}

static uint16_t flags_of(enum schedule schedule)
{
    return (uint16_t)(schedule * KERNEL_SCHEDULE);
}

static void hop(struct layer *l, const char *name, enum schedule schedule, uint16_t array,
                uint16_t own, uint16_t to, struct size bytes)
{
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_HOP,
                         .flags = flags_of(schedule),
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             LAYER_OPERANDS(array, own), LAYER_OPERANDS(to));
}

/* ---- reduce-scatter ---- */

/* A chunk from every rank, then their sum in the order of ranks. */
static uint16_t reduce_at_once(struct layer *l, const char *name, uint16_t array)
{
    struct buffer like = l->work->buffers[array];
    struct extent all = layer_fixed(like.dims[0]);
    struct extent part = layer_fixed(size_div(l->z, like.dims[0], l->R));
    struct size width = layer_width(l, array);
    uint16_t parts = layer_rows(l, arena_printf(l->arena, "%s_parts", name),
                                CATEGORY_COMMUNICATION, like.dtype, all, width);
    uint16_t out = layer_rows(l, arena_printf(l->arena, "%s_sum", name), CATEGORY_ACTIVATION,
                              like.dtype, part, width);
    layer_exchange_fixed(l, arena_printf(l->arena, "scatter_%s", name), array, parts);
    layer_combine(l, arena_printf(l->arena, "sum_%s", name),
                  (struct combine){.y = parts,
                                   .position = WORK_NONE,
                                   .gates = WORK_NONE,
                                   .keys = WORK_NONE,
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = l->R,
                                   .used = all.rows});
    return out;
}

/* Chunks that arrive in the largest step: one, or half of all. */
static struct extent arriving(struct layer *l, enum schedule schedule, uint16_t array)
{
    struct size rows = l->work->buffers[array].dims[0];
    bool halves = schedule == SCHEDULE_HALVING_REDUCE && l->plan->parallel.tp > 1;
    return layer_fixed(size_div(l->z, rows, halves ? size_const(l->z, 2) : l->R));
}

static void reduce_in_hops(struct layer *l, const char *name, enum schedule schedule,
                           uint16_t array)
{
    struct buffer like = l->work->buffers[array];
    struct size bytes = others(l, array);
    uint16_t arrived =
        layer_rows(l, arena_printf(l->arena, "%s_arrived", name), CATEGORY_COMMUNICATION,
                   like.dtype, arriving(l, schedule, array), layer_width(l, array));
    layer_loop_begin(l, steps_of(l, schedule), WORK_NONE);
    hop(l, arena_printf(l->arena, "send_%s", name), schedule, array, WORK_NONE, arrived, bytes);
    layer_op(l,
             (struct op){.name = arena_printf(l->arena, "add_%s", name),
                         .kernel = KERNEL_ADD_CHUNKS,
                         .flags = flags_of(schedule),
                         .groups = l->R,
                         .bytes_read = size_times(l->z, bytes, 2),
                         .bytes_written = bytes},
             LAYER_OPERANDS(arrived, array), LAYER_OPERANDS(array));
    layer_loop_end(l);
}

uint16_t matmul_reduce_scatter(struct layer *l, const char *name, uint16_t array)
{
    enum collective collective = l->plan->block.collective;
    if (collective == COLLECTIVE_BUILTIN)
        return reduce_at_once(l, name, array);
    reduce_in_hops(
        l, name, collective == COLLECTIVE_RING ? SCHEDULE_RING_REDUCE : SCHEDULE_HALVING_REDUCE,
        array);
    return array;
}

/* ---- all-gather ---- */

void matmul_all_gather(struct layer *l, const char *name, uint16_t own, uint16_t all)
{
    enum collective collective = l->plan->block.collective;
    if (collective == COLLECTIVE_BUILTIN) {
        layer_allgather(l, name, own, all);
        return;
    }
    enum schedule schedule =
        collective == COLLECTIVE_RING ? SCHEDULE_RING_GATHER : SCHEDULE_DOUBLING_GATHER;
    struct size steps = steps_of(l, schedule), bytes = others(l, all);
    layer_loop_begin(l, own == WORK_NONE ? steps : size_add(l->z, steps, l->one), WORK_NONE);
    hop(l, name, schedule, all, own, all, bytes);
    layer_loop_end(l);
}

void matmul_pass(struct layer *l, const char *name, uint16_t own, uint16_t moving)
{
    struct size rows = l->work->buffers[own].dims[0];
    hop(l, name, SCHEDULE_PASS_LEFT, moving, own, moving,
        layer_traffic(l, size_mul(l->z, rows, size_sub(l->z, l->R, l->one)), own));
}
