/* Collectives of a step's list, by the closed forms of ring algorithms; see layer.h. */
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/layer/layer.h"
#include "work/piece/dims.h"

struct size layer_group_ranks(struct layer *l, enum process_group group)
{
    static const enum slot slots[GROUP_COUNT] = {
        [GROUP_TP] = SLOT_TP,       [GROUP_CP] = SLOT_CP,         [GROUP_EP] = SLOT_EP,
        [GROUP_ETP] = SLOT_ETP,     [GROUP_EDP] = SLOT_EXPERT_DP, [GROUP_PP] = SLOT_PP,
        [GROUP_REPLICAS] = SLOT_DP,
    };
    struct sharers shard = plan_sharers(l->plan), copies = plan_replicas(l->plan);
    struct sharers second = plan_second_sharers(l->plan);
    const uint64_t parts[GROUP_COUNT] = {
        [GROUP_DCP] = engine_cache_ranks(l->plan), [GROUP_DP_SHARD] = shard.dense,
        [GROUP_EDP_SHARD] = shard.experts,         [GROUP_DP_REPLICA] = copies.dense,
        [GROUP_EDP_REPLICA] = copies.experts,      [GROUP_DP_SECOND] = second.dense,
        [GROUP_EDP_SECOND] = second.experts};
    if (group == GROUP_HEADS)
        return dims_head_ranks(l->z, l->plan);
    if (group == GROUP_PROMPT)
        return dims_prompt_ranks(l->z, l->plan);
    if (parts[group])
        return size_const(l->z, parts[group]);
    if (group == GROUP_DP || (group == GROUP_REPLICAS && plan_is_engine(l->plan)))
        return size_mul(l->z, size_slot(l->z, SLOT_DP), size_slot(l->z, SLOT_CP));
    return size_slot(l->z, slots[group]);
}

/* What a rank sends, and receives: (n - 1) / n of the array once, or twice where it is reduced
 * and gathered again; around a ring, its own part to the next rank n - 1 times. */
static struct size volume(struct layer *l, enum process_group group, enum collective_kind how,
                          struct size full)
{
    struct size n = layer_group_ranks(l, group);
    if (how == SEND)
        return full;
    if (how == RING)
        return size_mul(l->z, full, size_sub(l->z, n, l->one));
    struct size once = size_sub(l->z, full, size_ceil_div(l->z, full, n));
    return how == ALL_REDUCE ? size_times(l->z, once, 2) : once;
}

static void add(struct layer *l, const char *name, enum process_group group,
                struct collective_args args, uint16_t src, uint16_t dst, struct size full)
{
    struct size bytes = volume(l, group, (enum collective_kind)args.how, full);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_COLLECTIVE,
                         .args.collective = args,
                         .group = group,
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             OPERANDS(IN(SRC, src), OUT(DST, dst)));
}

void layer_collective(struct layer *l, const char *name, enum process_group group,
                      enum collective_kind how, uint16_t src, uint16_t dst, struct size full)
{
    add(l, name, group, (struct collective_args){.how = (uint8_t)how}, src, dst, full);
}

void layer_gather_again(struct layer *l, const char *name, uint16_t src, uint16_t dst)
{
    add(l, name, GROUP_TP, (struct collective_args){.how = ALL_GATHER, .regather = 1}, src, dst,
        l->work->buffers[dst].bytes);
}

uint16_t layer_all_reduced(struct layer *l, const char *name, enum process_group group,
                           uint16_t x)
{
    struct buffer like = l->work->buffers[x];
    like.name = name;
    uint16_t sum = work_buffer(l->work, like);
    layer_collective(l, arena_join(l->arena, "reduce_", name), group, ALL_REDUCE, x, sum,
                     like.bytes);
    return sum;
}
