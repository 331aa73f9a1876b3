/* capacity: every expert takes at most C rows of a source, the rest is dropped; one batched
 * GEMM over a fixed buffer (GShard, Switch; seed 000 dense_matmul; Megatron drop-and-pad). */
#include "work/path/path.h"

#include "plan/derive.h"

/* Tokens compete for slots inside a group: a sequence, or all tokens of the rank. */
static struct size competing_groups(struct layer *l)
{
    uint64_t tokens = plan_tokens(l->plan), sequences = l->plan->workload.micro_batch;
    bool split = l->plan->moe.capacity_scope == CAPACITY_SEQUENCE && sequences > 0 &&
                 tokens % sequences == 0;
    return split ? size_slot(l->z, SLOT_MICRO_BATCH) : l->one;
}

/* C = min(T_g, ceil(T_g K cf / E)) of a group's T_g tokens (seed-systems.md B1). */
static struct size capacity(struct layer *l, struct size groups)
{
    struct sizes *z = l->z;
    struct size tokens = size_div(z, l->T, groups);
    struct size wanted = size_scale_up(z, size_mul(z, tokens, l->K), REAL_CAPACITY_FACTOR);
    return size_min(z, tokens, size_ceil_div(z, wanted, l->E));
}

uint16_t path_capacity_build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size groups = competing_groups(l), C = capacity(l, groups);
    struct size per_expert = size_mul(z, groups, C);
    struct extent slots = layer_fixed(size_mul(z, l->E, per_expert));
    uint16_t index = layer_map(l, "slot_index", slots);
    uint16_t position = layer_map(l, "position", l->slots);
    uint16_t dropped = layer_counts(l, "dropped", l->one);
    layer_op(l,
             (struct op){.name = "slots",
                         .kernel = KERNEL_SLOTS,
                         .args.slots = {.groups = {groups}, .capacity = {C}}},
             OPERANDS(IN(PHYS, l->phys), OUT(INDEX, index), OUT(POSITION, position),
                      OUT(DROPPED, dropped)));

    enum dtype act = l->activation;
    uint16_t send = layer_rows(l, "x_slots", CATEGORY_DISPATCH, act, slots, l->H);
    layer_pack_slots(l, "fill_slots", index, position, send, slots.rows);
    uint16_t arrived = layer_rows(l, "x_received", CATEGORY_DISPATCH, act, slots, l->H);
    layer_exchange_fixed(l, "dispatch", send, arrived);
    uint16_t x = layer_swap(l, "x_expert", arrived, l->R, l->e, per_expert);

    uint16_t y = layer_expert(l, x, slots, layer_no_groups());

    uint16_t back = layer_swap(l, "y_received", y, l->e, l->R, per_expert);
    uint16_t home = layer_rows(l, "y_slots", CATEGORY_DISPATCH, l->combined, slots, l->H);
    layer_return_fixed(l, "return", back, home);
    return layer_unpack_slots(l, "combine", home, index, position, slots.rows);
}
