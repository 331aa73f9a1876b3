/* masked: every local expert computes every token, and a mask keeps what was routed to it
 * (seed 003's naive scan). What stacks hold: buffers.md 5.1; seed-systems.md C1. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

/* Which slot a row of expert x is: maps over [e, R T]; only gates that scale need them. */
struct slot_maps {
    uint16_t place, index;
};

static struct slot_maps map_slots(struct layer *l, const struct everyone *all)
{
    struct sizes *z = l->z;
    struct slot_maps s = {
        layer_map(l, "place", layer_fixed(size_mul(z, all->tokens.rows, l->K))),
        layer_map(l, "index", layer_fixed(size_mul(z, l->e, all->tokens.rows)))};
    layer_op(l, (struct op){.name = "table", .kernel = KERNEL_TABLE},
             OPERANDS(IN(PHYS, all->phys), OUT(PLACE, s.place), OUT(INDEX, s.index)));
    return s;
}

/* The tokens as this iteration's expert sees them: its own scaled, the others zero. */
static uint16_t scaled(struct layer *l, const struct everyone *all, const struct slot_maps *s)
{
    struct extent rows = all->tokens;
    uint16_t x = layer_rows(l, "x_scaled", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "scale",
                         .kernel = KERNEL_GATHER,
                         .args.gather = {.divide = {l->K},
                                         .slots = {l->K},
                                         .part = {.rows = {rows.rows}, .by_iteration = true}},
                         .rows = size_slot(l->z, SLOT_ROWS)},
             OPERANDS(IN(SRC, all->x), IN(INDEX, s->index), IN(INVERSE, s->place),
                      IN(KEYS, all->phys), IN(GATES, all->gates), OUT(DST, x)));
    return x;
}

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    bool scales = layer_gates_in(l, all.gates) != WORK_NONE;
    struct slot_maps slots = {WORK_NONE, WORK_NONE};
    if (scales)
        slots = map_slots(l, &all);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, sum)));
    layer_loop_begin(l, l->e, WORK_NONE);
    struct groups turn = layer_no_groups();
    turn.turn = true;
    struct extent rows = all.tokens;
    rows.used = size_mul(l->z, l->e, rows.rows);
    uint16_t x = scales ? scaled(l, &all, &slots) : all.x;
    uint16_t y = layer_expert(l, x, rows, turn);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .rows = size_slot(l->z, SLOT_ROWS)}, /* those that chose the expert */
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all.gates)), IN(PHYS, all.phys),
                      INOUT(DST, sum)));
    layer_loop_end(l);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}

/* One expert at a time in inference; in training all of them stay for backward: [e, T, ...].
 * With experts spread, each expert's weights are broadcast in turn (seed-systems.md C1). */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    bool all = p->style->flow.backward || p->style->one_hot;
    struct size experts = all ? p->x.experts : size_const(s, 1);
    struct row_dims rows = {2, {experts, p->x.tokens}, RULE_FIXED};
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    uint16_t mask = part_table(p, "expert_mask", DTYPE_BOOL, &tokens, p->x.experts);
    flow_op(&p->flow, part_move(p, "mask", OP_SORT), FLOW(p->indices), FLOW(mask));
    uint16_t out = part_experts(p, p->input, &rows, WORK_NONE, OP_BATCHED_GEMM);
    if (p->plan->parallel.ep > 1) {
        struct row_dims matrices =
            rows_of(size_const(s, p->plan->model.moe.glu ? 3 : 2), RULE_FIXED);
        part_scratch(p, "broadcast_expert", CATEGORY_COMMUNICATION, p->plan->precision.weights,
                     &matrices, size_mul(s, p->x.hidden, p->x.inter),
                     FLOW_FORWARD | FLOW_BACKWARD);
    }
    *output = part_output(p);
    flow_op(&p->flow, part_move(p, "masked_sum", OP_COMBINE), FLOW(out, p->gates, mask),
            FLOW(*output));
    if (p->style->f32_combine)
        part_scratch(p, "expert_out_f32", CATEGORY_EXPERT, DTYPE_F32, &rows, p->x.hidden,
                     FLOW_FORWARD);
    return STATUS_OK;
}

const struct path_system path_masked = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_EVERYONE,
    .computes = COMPUTES_ALL,
};
