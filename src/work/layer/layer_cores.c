/* See layer_cores.h. */
#include "work/layer/layer_cores.h"

#include "plan/derive.h"
#include "work/piece/block_loop.h"

struct cores layer_cores_deal(struct layer *l, uint16_t expert, uint16_t run,
                              struct size executed, struct size trips)
{
    struct sizes *z = l->z;
    struct size B = size_slot(z, SLOT_BLOCK);
    struct cores cores = {.n = plan_cores(l->plan),
                          .split = block_loop_split(l->plan),
                          .count = size_const(z, plan_cores(l->plan)),
                          .trips = trips};
    bool skip = l->plan->moe.skip_weight != WEIGHT_SKIP_NONE;
    bool halves = block_loop_order(l->plan) == BLOCKS_HI_LO;
    struct extent each = layer_fixed(cores.count);
    struct size shares = cores.split ? cores.count : l->one;
    cores.rows =
        (struct extent){size_mul(z, cores.count, B),
                        size_product(z, 3, (struct size[]){shares, executed, B}), RULE_FIXED};
    cores.block = layer_map(l, "core_block", each);
    cores.number = layer_map(l, "core_expert", each);
    cores.fetch = layer_map(l, "core_fetch", each);
    cores.groups = (struct groups){
        .offsets = layer_counts(l, "core_offsets", size_add(z, cores.count, l->one)),
        .rows = layer_counts(l, "core_rows", cores.count),
        .map = WORK_NONE,
        .split = cores.split};
    layer_op(
        l,
        (struct op){
            .name = "deal",
            .kernel = KERNEL_DEAL,
            .args.deal = {.rows = {B}, .split = cores.split, .halves = halves, .skip = skip}},
        OPERANDS(IN(EXPERT, expert), IN(RUN, run), OUT(BLOCK, cores.block),
                 OUT(NUMBER, cores.number), OUT(FETCH, cores.fetch),
                 OUT(SIZES, cores.groups.rows), OUT(OFFSETS, cores.groups.offsets)));
    return cores;
}

/* Bytes of one expert's matrix as it is stored. */
static struct size stored_bytes(struct layer *l, uint16_t weights)
{
    return size_div(l->z, l->work->buffers[weights].bytes, l->work->buffers[weights].dims[0]);
}

uint16_t layer_cores_fetch(struct layer *l, const struct cores *cores, const char *name,
                           uint16_t weights, struct size rows, struct size columns,
                           uint64_t panels)
{
    if (weights == WORK_NONE)
        return WORK_NONE;
    struct sizes *z = l->z;
    const struct buffer *source = &l->work->buffers[weights];
    bool matrix = source->n_dims == 3;
    struct size dims[] = {cores->count, matrix ? rows : columns, columns};
    uint16_t operand =
        layer_buffer(l, arena_join(l->arena, source->name, "_core"), CATEGORY_WORKSPACE,
                     DTYPE_F32, RULE_FIXED, matrix ? 3 : 2, dims);
    l->work->buffers[operand].life = LIFE_TRANSIENT;
    struct size loads = size_slot(z, SLOT_WEIGHT_LOADS);
    struct size part = size_div(z, l->work->buffers[operand].bytes, cores->count);
    struct size written =
        size_mul(z, size_mul(z, loads, part), cores->split ? cores->count : l->one);
    layer_op(
        l,
        (struct op){.name = name,
                    .kernel = KERNEL_FETCH,
                    .args.fetch = {.panels = {size_const(z, panels)}, .split = cores->split},
                    .bytes_read = size_mul(z, loads, stored_bytes(l, weights)),
                    .bytes_written = written},
        OPERANDS(IN(WEIGHT, weights), IN(NUMBER, cores->number), IN(FETCH, cores->fetch),
                 OUT(DST, operand)));
    return operand;
}

uint16_t layer_cores_product(struct layer *l, const struct cores *cores, const char *name,
                             const char *result, uint16_t a, uint16_t operand, uint16_t bias,
                             struct size n, enum dtype dtype)
{
    uint16_t c = layer_rows(l, result, CATEGORY_EXPERT, dtype, cores->rows, n);
    struct gemm_shape shape = {
        .rows = cores->rows.used, .k = layer_width(l, a), .n = n, .groups = cores->count};
    layer_gemm(l, name, a, operand, bias, c, cores->groups, shape);
    return c;
}

void layer_cores_sum(struct layer *l, const char *name, uint16_t partial, uint16_t sum)
{
    struct sizes *z = l->z;
    struct buffer to = l->work->buffers[sum];
    struct size trips = l->loop ? l->trips : l->one;
    struct size rows = size_mul(z, to.dims[0], trips);
    struct size read = size_times(z, size_mul(z, rows, to.dims[1]), 2 * sizeof(float));
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_CORE_SUM,
                         .bytes_read = read,
                         .bytes_written = layer_traffic(l, rows, sum)},
             OPERANDS(IN(SRC, partial), OUT(DST, sum)));
}
