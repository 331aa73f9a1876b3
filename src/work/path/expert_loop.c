/* expert_loop: one expert after the other gathers its tokens, computes them and adds them up
 * (seed 002's naive loop, as in transformers). Sizes follow the host's count of each expert. */
#include "work/path/path.h"
#include "work/stack/dispatch_paths.h"

void layer_turns(struct layer *l, const struct everyone *all, const struct fan *fan,
                 uint16_t sum)
{
    bool exact = l->received.rule == RULE_ROUTING;
    struct extent rows = {exact ? size_slot(l->z, SLOT_HOT_EXPERT) : all->tokens.rows,
                          l->received.used, exact ? RULE_ROUTING : RULE_WORST};
    layer_loop_begin(l, l->e, WORK_NONE);
    uint16_t x = layer_rows(l, "x_expert", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "select",
                         .kernel = KERNEL_GATHER,
                         .flags = KERNEL_INDEX_I,
                         .k = l->K,
                         .groups = l->K,
                         .host_syncs = l->e,
                         .bytes_read = layer_traffic(l, rows.used, all->x),
                         .bytes_written = layer_traffic(l, rows.used, x)},
             LAYER_OPERANDS(all->x, fan->index, fan->place, all->phys, fan->groups.offsets,
                            layer_gates_in(l, all->gates)),
             LAYER_OPERANDS(x));
    struct groups one = {WORK_NONE, fan->sizes, WORK_NONE};
    uint16_t y = layer_expert(l, x, rows, one, KERNEL_WEIGHT_I);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .flags = KERNEL_INDEX_I,
                         .bytes_read = layer_traffic(l, rows.used, y)},
             LAYER_OPERANDS(y, layer_gates_out(l, all->gates), all->phys, sum, fan->index,
                            fan->groups.offsets),
             LAYER_OPERANDS(sum));
    layer_loop_end(l);
}

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             LAYER_OPERANDS(WORK_NONE), LAYER_OPERANDS(sum));
    layer_turns(l, &all, &fan, sum);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}

const struct path_system path_expert_loop = {
    .backward = true,
    .build = build,
    .hold = hold_expert_loop,
    .exchange = EXCHANGE_EVERYONE,
};
