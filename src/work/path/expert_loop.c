/* expert_loop: one expert after the other gathers its tokens, computes them and adds them up
 * (seed 002's naive loop, as in transformers). Sizes follow the host's count of each expert. */
#include "work/path/path.h"

void layer_turns(struct layer *l, const struct everyone *all, const struct fan *fan,
                 uint16_t sum)
{
    bool exact = l->received.rule == RULE_ROUTING;
    struct extent rows = {exact ? size_slot(l->z, SLOT_HOT_EXPERT) : all->tokens.rows,
                          l->received.used, exact ? RULE_ROUTING : RULE_WORST};
    layer_loop_begin(l, l->e, WORK_NONE);
    uint16_t x = layer_rows(l, "x_expert", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(
        l,
        (struct op){
            .name = "select",
            .kernel = KERNEL_GATHER,
            .args.gather = {.divide = {l->K}, .slots = {l->K}, .part = {.by_iteration = true}},
            .host_syncs = l->e,
            .bytes_read = layer_traffic(l, rows.used, all->x),
            .bytes_written = layer_traffic(l, rows.used, x)},
        OPERANDS(IN(SRC, all->x), IN(INDEX, fan->index), IN(INVERSE, fan->place),
                 IN(KEYS, all->phys), IN(OFFSETS, fan->groups.offsets),
                 IN(GATES, layer_gates_in(l, all->gates)), OUT(DST, x)));
    struct groups one = {
        .offsets = WORK_NONE, .rows = fan->sizes, .map = WORK_NONE, .turn = true};
    uint16_t y = layer_expert(l, x, rows, one);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .args.part = {.by_iteration = true},
                         .bytes_read = layer_traffic(l, rows.used, y)},
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all->gates)),
                      IN(PHYS, all->phys), IN(INDEX, fan->index),
                      IN(OFFSETS, fan->groups.offsets), INOUT(DST, sum)));
    layer_loop_end(l);
}

uint16_t path_expert_loop_build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, sum)));
    layer_turns(l, &all, &fan, sum);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}
