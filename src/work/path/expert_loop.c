/* expert_loop: one expert after the other gathers its tokens, computes them and adds them up
 * (seed 002's naive loop, as in transformers). Sizes follow the host's count of each expert. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

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
            .rows = rows.used},
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
                         .rows = rows.used},
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all->gates)),
                      IN(PHYS, all->phys), IN(INDEX, fan->index),
                      IN(OFFSETS, fan->groups.offsets), INOUT(DST, sum)));
    layer_loop_end(l);
}

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, sum)));
    layer_turns(l, &all, &fan, sum);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}

/* HuggingFace: the host asks for each expert's rows. In inference only one expert's rows are
 * alive; in training autograd keeps all of them, which together are the rank's rows. */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    bool all = p->style->flow.backward;
    struct row_dims exact = rows_of(all ? p->x.rows : p->x.hottest, RULE_ROUTING);
    struct row_dims hits = {.n = 2, .dims = {p->x.experts, p->x.top_k}, .rule = RULE_FIXED};
    uint16_t mask = part_table(p, "expert_mask", DTYPE_I64, &hits, p->x.tokens);
    struct tick select = part_move(p, "select", OP_SYNC);
    select.host_syncs = p->x.local;
    flow_op(&p->flow, select, FLOW(p->indices), FLOW(mask));
    uint16_t x = part_rows(p, "expert_rows", CATEGORY_DISPATCH, &exact, p->x.hidden);
    uint16_t order = part_table(p, "row_index", DTYPE_I64, &exact, size_const(s, 1));
    flow_op(&p->flow, part_move(p, "gather", OP_GATHER), FLOW(p->input, mask), FLOW(x, order));
    uint16_t out = part_experts(p, x, &exact, WORK_NONE, OP_GEMM);
    *output = part_output(p);
    flow_op(&p->flow, part_move(p, "index_add", OP_COMBINE), FLOW(out, p->gates, order),
            FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_expert_loop = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_EVERYONE,
    .turns = true,
};
