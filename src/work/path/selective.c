/* selective: only the experts that some token chose are loaded (seed 002 decode;
 * seed-systems.md B7). With moe.dedup each once: their matrices are copied together and the
 * products run over the copies. Without it the K of every token are copied for that token
 * alone. What stacks hold: buffers.md 10.4; seed-systems.md B7. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

/* Maps of slots (token, k): those of local experts, parts of them by token in a loop. */
struct owned {
    uint16_t slot, place, hits; /* the slot itself, its k, its expert's number; -1: another's */
    struct groups groups;       /* K of a row or none, for every token */
};

static uint16_t picked(struct layer *l, const char *name, uint16_t weights, uint16_t hits,
                       struct extent hit, bool by_iteration)
{
    struct buffer like = l->work->buffers[weights];
    struct size each = size_div(l->z, like.bytes, l->e);
    like.name = name;
    like.category = CATEGORY_WORKSPACE;
    like.life = LIFE_TRANSIENT;
    like.state = false;
    like.dims[0] = hit.rows;
    like.rule = hit.rule;
    like.bytes = size_mul(l->z, hit.rows, each);
    uint16_t copy = work_buffer(l->work, like);
    layer_op(l,
             (struct op){.name = arena_join(l->arena, "load_", name),
                         .kernel = KERNEL_PICK,
                         .args.pick = {by_iteration},
                         .rows = hit.used},
             OPERANDS(IN(WEIGHT, weights), IN(HITS, hits), OUT(DST, copy)));
    return copy;
}

/* The experts' matrices as the picked ones: WORK_NONE stays. */
struct matrices {
    uint16_t w13, w2, b13, b2;
};

static struct matrices take_picked(struct layer *l, uint16_t hits, struct extent hit,
                                   bool by_iteration)
{
    struct matrices whole = {l->w13, l->w2, l->b13, l->b2};
    l->w13 = picked(l, "w13_hit", whole.w13, hits, hit, by_iteration);
    l->w2 = picked(l, "w2_hit", whole.w2, hits, hit, by_iteration);
    if (whole.b13 == WORK_NONE)
        return whole;
    l->b13 = picked(l, "b13_hit", whole.b13, hits, hit, by_iteration);
    l->b2 = picked(l, "b2_hit", whole.b2, hits, hit, by_iteration);
    return whole;
}

static void give_back(struct layer *l, struct matrices whole)
{
    l->w13 = whole.w13;
    l->w2 = whole.w2;
    l->b13 = whole.b13;
    l->b2 = whole.b2;
}

/* Every expert once, for all tokens that chose it. */
static uint16_t once(struct layer *l, const struct everyone *all)
{
    struct fan fan = layer_fan(l, all->phys, WORK_NONE, l->received);
    bool exact = l->received.rule == RULE_ROUTING;
    struct size most = size_min(l->z, l->e, size_mul(l->z, all->tokens.rows, l->K));
    struct size used = size_slot(l->z, SLOT_HIT_EXPERTS);
    struct extent hit = {exact ? used : most, used, exact ? RULE_ROUTING : RULE_WORST};
    uint16_t hits = layer_map(l, "hits", hit);
    fan.groups.map = layer_map(l, "hit_of", layer_fixed(l->e));
    layer_op(l, (struct op){.name = "hits", .kernel = KERNEL_HITS, .host_syncs = l->one},
             OPERANDS(IN(SIZES, fan.sizes), OUT(HITS, hits), OUT(MAP, fan.groups.map)));
    struct matrices whole = take_picked(l, hits, hit, false);
    uint16_t partial = layer_fan_compute(l, all->x, all->gates, all->phys, &fan, all->tokens);
    give_back(l, whole);
    return partial;
}

/* Token by token, its local experts' matrices copied whoever had them before. */
static void add_tokens(struct layer *l, const struct everyone *all, const struct owned *own,
                       uint16_t out)
{
    struct extent rows = {l->K, size_slot(l->z, SLOT_ROWS), RULE_FIXED};
    layer_loop_begin(l, all->tokens.rows, WORK_NONE);
    struct matrices whole = take_picked(l, own->hits, rows, true);
    uint16_t x = layer_rows(l, "x_token", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "select",
                         .kernel = KERNEL_GATHER,
                         .args.gather = {.divide = {l->K},
                                         .slots = {l->K},
                                         .part = {.rows = {l->K}, .by_iteration = true}},
                         .rows = rows.used},
             OPERANDS(IN(SRC, all->x), IN(INDEX, own->slot), IN(KEYS, all->phys),
                      IN(GATES, layer_gates_in(l, all->gates)), OUT(DST, x)));
    uint16_t y = layer_expert(l, x, rows, own->groups);
    give_back(l, whole);
    layer_combine(l, "fold_token",
                  (struct combine){.y = y,
                                   .position = own->place,
                                   .gates = layer_gates_out(l, all->gates),
                                   .keys = all->phys,
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = l->K,
                                   .used = rows.used});
    layer_last(l)->args.combine.by_iteration = true;
    layer_loop_end(l);
}

/* K experts for one token after the other, as the public PyTorch path does: T K loads. The
 * backward takes the tokens by expert. */
static uint16_t by_token(struct layer *l, const struct everyone *all)
{
    struct extent slots = layer_fixed(size_mul(l->z, all->tokens.rows, l->K));
    uint16_t out = layer_rows(l, "y_folded", CATEGORY_DISPATCH, l->combined, all->tokens, l->H);
    struct owned own = {
        .slot = layer_map(l, "own_slot", slots),
        .place = layer_map(l, "own_place", slots),
        .hits = layer_map(l, "own_expert", slots),
        .groups = {.offsets = layer_counts(l, "own_offsets", size_add(l->z, l->K, l->one)),
                   .rows = layer_counts(l, "own_rows", slots.rows),
                   .map = WORK_NONE,
                   .parts = true}};
    layer_op(l, (struct op){.name = "own", .kernel = KERNEL_OWN},
             OPERANDS(IN(PHYS, all->phys), OUT(SLOT, own.slot), OUT(PLACE, own.place),
                      OUT(HITS, own.hits), OUT(SIZES, own.groups.rows),
                      OUT(OFFSETS, own.groups.offsets)));
    struct fan fan = {0};
    if (l->trains)
        fan = layer_fan(l, all->phys, WORK_NONE, l->received);
    if (layer_twin_begin(l)) {
        layer_turns(l, all, &fan, out);
        layer_twin_end(l);
    }
    add_tokens(l, all, &own, out);
    return out;
}

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    uint16_t partial = l->plan->moe.dedup ? once(l, &all) : by_token(l, &all);
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}

/* K experts' matrices gathered for one token after another. */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    if (p->plan->parallel.ep > 1) {
        err_set(err, STATUS_INPUT, "path selective cannot run with parallel.ep %llu",
                (unsigned long long)p->plan->parallel.ep);
        return err_hint(err, "selective loading holds all experts on a rank: use parallel.tp, "
                             "or moe.path all_experts");
    }
    struct sizes *s = p->x.sizes;
    struct row_dims chosen = {2, {p->x.top_k, size_const(s, 1)}, RULE_FIXED};
    uint16_t out = part_experts(p, p->input, &chosen, WORK_NONE, OP_BATCHED_GEMM);
    struct row_dims matrices = {
        2, {p->x.top_k, size_const(s, p->plan->model.moe.glu ? 3 : 2)}, RULE_FIXED};
    part_scratch(p, "selected_weights", CATEGORY_WORKSPACE, p->plan->precision.weights,
                 &matrices, size_mul(s, p->x.hidden, p->x.inter), FLOW_FORWARD | FLOW_BACKWARD);
    *output = part_output(p);
    flow_op(&p->flow, part_move(p, "combine", OP_COMBINE), FLOW(out, p->gates), FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_selective = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_EVERYONE,
    .loads = LOADS_CHOICES,
};
