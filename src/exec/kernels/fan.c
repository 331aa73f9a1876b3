/* Index maps of rows that are known one by one: fan-out of tokens to experts, the layout of a
 * deduplicated dispatch, records of route rows and their pooling at the owner. */
#include <string.h>

#include "exec/kernels/maps.h"

/* Rows received in all, or all rows of the buffer. */
static uint64_t rows_in(const struct tensor *receives, uint64_t all)
{
    if (!receives->present)
        return all;
    uint64_t sum = 0;
    for (uint64_t r = 0; r < receives->rows; r++)
        sum += (uint64_t)tensor_i64(receives)[r];
    return sum;
}

/* A physical expert's number on this rank, or -1. */
static int64_t local_number(const struct call *call, int32_t physical)
{
    uint64_t local = call->task->sample->local;
    if (physical < 0 || (uint64_t)physical / local != call->rank)
        return -1;
    return (int64_t)((uint64_t)physical % local);
}

static enum status fan_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    const struct tensor *phys = &call->of[ROLE_PHYS];
    uint64_t e = call->task->sample->local, K = phys->width;
    uint64_t n = rows_in(&call->of[ROLE_RECEIVES], phys->rows) * K;
    int64_t *offsets = tensor_i64(&call->of[ROLE_OFFSETS]),
            *rows = tensor_i64(&call->of[ROLE_SIZES]);
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *place = tensor_i32(&call->of[ROLE_PLACE]);
    if (n > call->of[ROLE_PLACE].rows)
        return map_overflow(call, n / K, call->of[ROLE_PLACE].rows / K, err);
    map_zero(&call->of[ROLE_SIZES]);
    for (uint64_t i = 0; i < n; i++) {
        int64_t expert = local_number(call, tensor_i32(phys)[i]);
        if (expert >= 0)
            rows[expert]++;
    }
    map_align(rows, e, 1, offsets);
    if ((uint64_t)offsets[e] > call->of[ROLE_INDEX].rows)
        return map_overflow(call, (uint64_t)offsets[e], call->of[ROLE_INDEX].rows, err);
    map_clear(&call->of[ROLE_INDEX]);
    map_clear(&call->of[ROLE_PLACE]);
    map_zero(&call->of[ROLE_SIZES]);
    for (uint64_t i = 0; i < n; i++) {
        int64_t expert = local_number(call, tensor_i32(phys)[i]);
        if (expert < 0)
            continue;
        place[i] = (int32_t)(offsets[expert] + rows[expert]++);
        index[place[i]] = (int32_t)i;
    }
    return STATUS_OK;
}

/* ---- one row per token and owner ---- */

static uint64_t owner_of(const struct call *call, uint64_t slot)
{
    return (uint64_t)tensor_i32(&call->of[ROLE_PHYS])[slot] / call->task->sample->local;
}

/* Rows by owner, then by token. The handle names the dispatch it belongs to. */
static enum status layout_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    uint64_t T = call->of[ROLE_PHYS].rows, K = call->of[ROLE_PHYS].width,
             R = call->task->sample->R;
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *slot = tensor_i32(&call->of[ROLE_SLOT]);
    int32_t *position = tensor_i32(&call->of[ROLE_POSITION]);
    int64_t *sends = tensor_i64(&call->of[ROLE_SENDS]),
            *handle = tensor_i64(&call->of[ROLE_HANDLE]);
    int64_t *cursor = scratch;
    map_clear(&call->of[ROLE_POSITION]);
    map_zero(&call->of[ROLE_SENDS]);
    for (uint64_t i = 0; i < T * K; i++) {
        uint64_t at = i / K * R + owner_of(call, i);
        sends[at % R] += position[at] < 0;
        position[at] = 0;
    }
    int64_t n = map_prefix(sends, R, cursor);
    if ((uint64_t)n > call->of[ROLE_INDEX].rows)
        return map_overflow(call, (uint64_t)n, call->of[ROLE_INDEX].rows, err);
    map_clear(&call->of[ROLE_INDEX]);
    map_clear(&call->of[ROLE_SLOT]);
    for (uint64_t at = 0; at < T * R; at++) {
        if (position[at] < 0)
            continue;
        int64_t row = cursor[at % R]++;
        position[at] = (int32_t)row;
        index[row] = (int32_t)(at / R);
        slot[row] = (int32_t)at;
    }
    memcpy(handle, (int64_t[]){(int64_t)call->task->step, (int64_t)T, (int64_t)R, n},
           4 * sizeof *handle);
    return STATUS_OK;
}

/* ---- route rows ---- */

/* A record of 16 bytes: the row's id in the whole group, then local expert and gate. */
struct record {
    int64_t id;
    int32_t expert;
    float gate;
};

/* id = (r T + t) K + k */
static enum status record_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const struct layer_sample *s = call->task->sample;
    struct record *records = call->of[ROLE_DST].data;
    for (uint64_t i = 0; i < s->T * s->K; i++) {
        int32_t slot = tensor_i32(&call->of[ROLE_ORDER])[i];
        int32_t expert = tensor_i32(&call->of[ROLE_PHYS])[slot];
        records[i] = (struct record){.id = (int64_t)(call->rank * s->T * s->K) + slot,
                                     .expert = expert % (int32_t)s->local,
                                     .gate = tensor_f32(&call->of[ROLE_GATES])[slot]};
    }
    return STATUS_OK;
}

static enum status pool_records(struct call *call, uint64_t unit, void *scratch,
                                struct err *err)
{
    (void)unit;
    (void)scratch;
    const struct record *records = call->of[ROLE_SRC].data;
    uint64_t e = call->task->sample->local, n = rows_in(&call->of[ROLE_RECEIVES], 0);
    int64_t *offsets = tensor_i64(&call->of[ROLE_OFFSETS]),
            *rows = tensor_i64(&call->of[ROLE_SIZES]);
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *place = tensor_i32(&call->of[ROLE_PLACE]);
    if (n > call->of[ROLE_PLACE].rows)
        return map_overflow(call, n, call->of[ROLE_PLACE].rows, err);
    map_zero(&call->of[ROLE_SIZES]);
    for (uint64_t i = 0; i < n; i++)
        rows[records[i].expert]++;
    map_align(rows, e, call->args.group.alignment.n, offsets);
    if ((uint64_t)offsets[e] > call->of[ROLE_INDEX].rows)
        return map_overflow(call, (uint64_t)offsets[e], call->of[ROLE_INDEX].rows, err);
    map_clear(&call->of[ROLE_INDEX]);
    map_clear(&call->of[ROLE_PLACE]);
    map_zero(&call->of[ROLE_SIZES]);
    map_zero(&call->of[ROLE_GATES]);
    for (uint64_t i = 0; i < n; i++) {
        place[i] = (int32_t)(offsets[records[i].expert] + rows[records[i].expert]++);
        index[place[i]] = (int32_t)i;
        tensor_f32(&call->of[ROLE_GATES])[i] = records[i].gate;
    }
    return STATUS_OK;
}

void kernels_add_fan(struct kernels *kernels)
{
    kernels->table[KERNEL_FAN] = (struct kernel_ops){NULL, fan_run, NULL};
    kernels->table[KERNEL_LAYOUT] = (struct kernel_ops){NULL, layout_run, NULL};
    kernels->table[KERNEL_RECORD] = (struct kernel_ops){NULL, record_run, NULL};
    kernels->table[KERNEL_POOL] = (struct kernel_ops){NULL, pool_records, NULL};
}
