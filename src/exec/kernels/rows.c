/* Kernels that move whole rows: gather, scatter, swap, mask. */
#include "exec/kernels/kernel.h"

#include <string.h>

static uint64_t out_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_DST].rows);
}

static enum status gather_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    struct span_rows part = kernel_index_part(call, &call->args.gather.part,
                                              &call->of[ROLE_INDEX], &call->of[ROLE_OFFSETS]);
    const int32_t *index = tensor_i32(&call->of[ROLE_INDEX]) + part.begin;
    const struct tensor *gates = &call->of[ROLE_GATES];
    uint64_t begin, end, n = part.end - part.begin, divide = call->args.gather.divide.n;
    size_t bytes = tensor_row_bytes(&call->of[ROLE_DST]);
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        char *to = tensor_row(&call->of[ROLE_DST], i);
        if (i >= n || index[i] < 0)
            memset(to, 0, bytes);
        else if (gates->present)
            tensor_scale_row(&call->of[ROLE_SRC], (uint64_t)index[i] / divide,
                             tensor_f32(gates)[index[i]], &call->of[ROLE_DST], i);
        else
            memcpy(to, tensor_row(&call->of[ROLE_SRC], (uint64_t)index[i] / divide), bytes);
    }
    return STATUS_OK;
}

static uint64_t in_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_SRC].rows);
}

/* No two rows of src share one of dst. */
static enum status scatter_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const int32_t *index = tensor_i32(&call->of[ROLE_INDEX]);
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        if (index[i] >= 0)
            memcpy(tensor_row(&call->of[ROLE_DST], (uint64_t)index[i]),
                   tensor_row(&call->of[ROLE_SRC], i), tensor_row_bytes(&call->of[ROLE_SRC]));
    return STATUS_OK;
}

/* The numbers of this iteration. */
static const int32_t *picked(const struct call *call)
{
    bool part = call->args.pick.by_iteration;
    return tensor_i32(&call->of[ROLE_HITS]) +
           (part ? call->iteration * call->of[ROLE_DST].rows : 0);
}

static enum status pick_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    int32_t from = picked(call)[unit];
    if (from >= 0)
        memcpy(tensor_row(&call->of[ROLE_DST], unit),
               tensor_row(&call->of[ROLE_WEIGHT], (uint64_t)from),
               tensor_row_bytes(&call->of[ROLE_DST]));
    return STATUS_OK;
}

static void pick_count(const struct call *call, struct counts *counts)
{
    for (uint64_t i = 0; i < call->of[ROLE_DST].rows; i++)
        counts->loads += picked(call)[i] >= 0;
    counts->fetched = counts->loads * tensor_row_bytes(&call->of[ROLE_WEIGHT]);
}

static uint64_t pick_units(const struct call *call)
{
    return call->of[ROLE_DST].rows;
}

/* dst may be seen as longer rows */
static enum status swap_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end, m = call->args.swap.m.n, n = call->args.swap.n.n,
                         k = call->args.swap.k.n;
    size_t bytes = tensor_row_bytes(&call->of[ROLE_SRC]);
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t c = i % k, b = i / k % m, a = i / k / m;
        memcpy((char *)call->of[ROLE_DST].data + i * bytes,
               tensor_row(&call->of[ROLE_SRC], (b * n + a) * k + c), bytes);
    }
    return STATUS_OK;
}

/* mask: rows behind the last group become zero */
static enum status mask_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *offsets = &call->of[ROLE_OFFSETS];
    uint64_t begin, end, valid = (uint64_t)tensor_i64(offsets)[offsets->rows - 1];
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    if (begin < valid)
        begin = valid;
    if (begin < end)
        memset(tensor_row(&call->of[ROLE_DST], begin), 0,
               (end - begin) * tensor_row_bytes(&call->of[ROLE_DST]));
    return STATUS_OK;
}

void kernels_add_rows(struct kernels *kernels)
{
    kernels->table[KERNEL_GATHER] = (struct kernel_ops){out_units, gather_run, NULL};
    kernels->table[KERNEL_SCATTER] = (struct kernel_ops){in_units, scatter_run, NULL};
    kernels->table[KERNEL_PICK] = (struct kernel_ops){pick_units, pick_run, pick_count};
    kernels->table[KERNEL_SWAP] = (struct kernel_ops){in_units, swap_run, NULL};
    kernels->table[KERNEL_MASK] = (struct kernel_ops){out_units, mask_run, NULL};
}
