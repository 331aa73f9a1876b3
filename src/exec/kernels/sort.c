/* Index maps: where rows go. Plain C, one unit each: a rank sorts its rows in one pass over
 * counts and prefix sums, stable, in (token, k) order. */
#include "exec/kernels/maps.h"

#include <string.h>

#include "base/checked.h"

void map_clear(const struct tensor *map)
{
    int32_t *at = map->data;
    for (uint64_t i = 0; map->data && i < map->rows * map->width; i++)
        at[i] = -1;
}

void map_zero(const struct tensor *tensor)
{
    if (tensor->data)
        memset(tensor->data, 0, tensor->bytes);
}

int64_t map_prefix(const int64_t *counts, uint64_t n, int64_t *cursor)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        cursor[i] = sum;
        sum += counts[i];
    }
    return sum;
}

void map_align(const int64_t *sizes, uint64_t n, uint64_t alignment, int64_t *offsets)
{
    offsets[0] = 0;
    for (uint64_t g = 0; g < n; g++)
        offsets[g + 1] =
            offsets[g] + (int64_t)round_up((uint64_t)sizes[g], alignment ? alignment : 1);
}

enum status map_overflow(const struct call *call, uint64_t rows, uint64_t capacity,
                         struct err *err)
{
    err_set(err, STATUS_NOFIT, "\"%s\" of rank %llu has %llu rows, its buffer holds %llu",
            call->op->name, (unsigned long long)call->rank, (unsigned long long)rows,
            (unsigned long long)capacity);
    return err_hint(err, "--set moe.buffer=exact or worst");
}

/* When not by expert, rows of an owner keep (token, k) order. */
static enum status sort_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)err;
    const struct layer_sample *sample = call->task->sample;
    const int32_t *phys = tensor_i32(&call->of[ROLE_PHYS]);
    uint64_t n = call->of[ROLE_PHYS].rows * call->of[ROLE_PHYS].width, e = sample->local;
    int64_t *counts = tensor_i64(&call->of[ROLE_COUNTS]),
            *sends = tensor_i64(&call->of[ROLE_SENDS]);
    int64_t *cursor = scratch;
    map_zero(&call->of[ROLE_COUNTS]);
    map_zero(&call->of[ROLE_SENDS]);
    for (uint64_t i = 0; i < n; i++) {
        counts[phys[i]]++;
        sends[(uint64_t)phys[i] / e]++;
    }
    bool by_expert = call->args.sort.by_expert;
    if (by_expert)
        map_prefix(counts, sample->R * e, cursor);
    else
        map_prefix(sends, sample->R, cursor);
    for (uint64_t i = 0; i < n; i++) {
        int64_t at = cursor[by_expert ? (uint64_t)phys[i] : (uint64_t)phys[i] / e]++;
        tensor_i32(&call->of[ROLE_ORDER])[at] = (int32_t)i;
        tensor_i32(&call->of[ROLE_POSITION])[i] = (int32_t)at;
    }
    return STATUS_OK;
}

static enum status group_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    uint64_t R = call->task->sample->R, e = call->task->sample->local;
    const int64_t *counts = tensor_i64(&call->of[ROLE_COUNTS]);
    int64_t *receives = tensor_i64(&call->of[ROLE_RECEIVES]),
            *offsets = tensor_i64(&call->of[ROLE_OFFSETS]);
    int64_t *rows = tensor_i64(&call->of[ROLE_SIZES]);
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *place = tensor_i32(&call->of[ROLE_PLACE]);
    map_zero(&call->of[ROLE_RECEIVES]);
    map_zero(&call->of[ROLE_SIZES]);
    for (uint64_t i = 0; i < R * e; i++) {
        receives[i / e] += counts[i];
        rows[i % e] += counts[i];
    }
    if (call->args.group.fixed)
        for (uint64_t g = 0; g <= e; g++)
            offsets[g] = (int64_t)(g * call->args.group.alignment.n);
    else
        map_align(rows, e, call->args.group.alignment.n, offsets);
    int64_t arrived = 0;
    for (uint64_t i = 0; i < R; i++)
        arrived += receives[i];
    if ((uint64_t)offsets[e] > call->of[ROLE_INDEX].rows)
        return map_overflow(call, (uint64_t)offsets[e], call->of[ROLE_INDEX].rows, err);
    if ((uint64_t)arrived > call->of[ROLE_PLACE].rows)
        return map_overflow(call, (uint64_t)arrived, call->of[ROLE_PLACE].rows, err);
    map_clear(&call->of[ROLE_INDEX]);
    map_clear(&call->of[ROLE_PLACE]);
    map_zero(&call->of[ROLE_SIZES]);
    int32_t at = 0;
    for (uint64_t i = 0; i < R * e; i++) {
        for (int64_t j = 0; j < counts[i]; j++, at++) {
            int32_t to = (int32_t)(offsets[i % e] + rows[i % e]++);
            index[to] = at;
            place[at] = to;
        }
    }
    return STATUS_OK;
}

/* groups * C slots of an expert, C of them for each group of T / groups tokens; the first rows
 * win. */
static enum status slots_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)err;
    const struct layer_sample *s = call->task->sample;
    const int32_t *phys = tensor_i32(&call->of[ROLE_PHYS]);
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *position = tensor_i32(&call->of[ROLE_POSITION]);
    uint64_t n_experts = s->R * s->local, n = s->T * s->K, C = call->args.slots.capacity.n;
    uint64_t groups = call->args.slots.groups.n, per_group = s->T / groups * s->K;
    uint64_t *used = scratch;
    int64_t dropped = 0;
    map_clear(&call->of[ROLE_INDEX]);
    for (uint64_t i = 0; i < n; i++) {
        if (i % per_group == 0)
            memset(used, 0, n_experts * sizeof *used);
        uint64_t expert = (uint64_t)phys[i], c = used[expert]++;
        position[i] = -1;
        if (c >= C) {
            dropped++;
            continue;
        }
        uint64_t slot = (expert * groups + i / per_group) * C + c;
        index[slot] = (int32_t)i;
        position[i] = (int32_t)slot;
    }
    tensor_i64(&call->of[ROLE_DROPPED])[0] = dropped;
    call->counts.dropped = (uint64_t)dropped;
    return STATUS_OK;
}

void kernels_add_sort(struct kernels *kernels)
{
    kernels->table[KERNEL_SORT] = (struct kernel_ops){NULL, sort_run, NULL};
    kernels->table[KERNEL_GROUP] = (struct kernel_ops){NULL, group_run, NULL};
    kernels->table[KERNEL_SLOTS] = (struct kernel_ops){NULL, slots_run, NULL};
}
