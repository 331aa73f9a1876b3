/* Parts that all paths share: tensors, router, experts, combine; see dispatch_parts.h. */
#include "work/dispatch/dispatch_parts.h"

#include "base/text.h"
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/piece/dims.h"

struct row_dims rows_of(struct size rows, enum sizing_rule rule)
{
    return (struct row_dims){.n = 1, .dims = {rows}, .rule = rule};
}

struct size rows_total(const struct hold_path *p, const struct row_dims *rows)
{
    return size_product(p->x.sizes, rows->n, rows->dims);
}

struct size part_chunk(const struct hold_path *p, struct size tokens)
{
    uint64_t most = p->style->expert_chunk;
    return most ? size_min(p->x.sizes, tokens, size_const(p->x.sizes, most)) : tokens;
}

struct size part_at_once(const struct hold_path *p, const struct row_dims *tokens)
{
    return part_chunk(p, rows_total(p, tokens));
}

static struct buffer shaped(const char *name, enum category category, enum dtype dtype,
                            const struct row_dims *rows, struct size width)
{
    struct buffer buffer = {.name = name,
                            .category = category,
                            .dtype = dtype,
                            .n_dims = rows->n + 1,
                            .rule = rows->rule};
    for (unsigned i = 0; i < rows->n; i++)
        buffer.dims[i] = rows->dims[i];
    buffer.dims[rows->n] = width;
    return buffer;
}

uint16_t part_rows(struct hold_path *p, const char *name, enum category category,
                   const struct row_dims *rows, struct size width)
{
    return flow_tensor(&p->flow, shaped(name, category, p->dtype, rows, width), true);
}

uint16_t part_floats(struct hold_path *p, const char *name, enum category category,
                     enum dtype dtype, const struct row_dims *rows, struct size width)
{
    return flow_tensor(&p->flow, shaped(name, category, dtype, rows, width), true);
}

uint16_t part_table(struct hold_path *p, const char *name, enum dtype dtype,
                    const struct row_dims *rows, struct size width)
{
    return flow_tensor(&p->flow, shaped(name, CATEGORY_METADATA, dtype, rows, width), false);
}

uint16_t part_once(struct hold_path *p, struct buffer buffer)
{
    struct work *work = p->work;
    size_t i = 0;
    while (i < work->n_buffers && !(work->buffers[i].segment == SEGMENT_STEP &&
                                    text_equal(work->buffers[i].name, buffer.name)))
        i++;
    uint16_t number = i < work->n_buffers ? (uint16_t)i : work_buffer(work, buffer);
    flow_given(&p->flow, number, false);
    return number;
}

uint16_t part_heap(struct hold_path *p, const char *name, enum category category,
                   struct size bytes, const char *source)
{
    struct buffer buffer = {.name = name,
                            .category = category,
                            .segment = SEGMENT_STEP,
                            .dtype = DTYPE_INT8,
                            .n_dims = 1,
                            .dims = {bytes},
                            .rule = RULE_WORST,
                            .life = LIFE_PERSISTENT,
                            .outside = true,
                            .source = source};
    return part_once(p, buffer);
}

void part_scratch(struct hold_path *p, const char *name, enum category category,
                  enum dtype dtype, const struct row_dims *rows, struct size width,
                  unsigned passes)
{
    flow_scratch(&p->flow, shaped(name, category, dtype, rows, width), passes);
}

/* ---- ops ---- */

struct tick part_move(const struct hold_path *p, const char *name, enum op_kind kind)
{
    return (struct tick){.name = name, .kind = kind, .host_syncs = p->zero};
}

struct tick part_exchange(const struct hold_path *p, const char *name)
{
    return part_move(p, name, OP_EXCHANGE);
}

bool part_fp8_dispatch(const struct hold_path *p)
{
    return p->plan->precision.dispatch == DTYPE_FP8_BLOCK ||
           p->plan->precision.dispatch == DTYPE_FP8;
}

/* ---- rows ---- */

static struct row_dims sized(const struct hold_path *p, struct size worst, struct size even,
                             struct size exact)
{
    switch (p->style->sizing) {
    case SIZING_EXACT:
        return rows_of(exact, RULE_ROUTING);
    case SIZING_BALANCED:
        return rows_of(even, RULE_FIXED);
    case SIZING_FACTOR:
        return rows_of(size_scale(p->x.sizes, even, REAL_BUFFER_FACTOR), RULE_FACTOR);
    case SIZING_AUTO: /* stack_sizing has decided */
    case SIZING_WORST:
        break;
    }
    return rows_of(worst, RULE_WORST);
}

/* The experts' rows bound what a rank can take. */
static struct row_dims bounding(const struct hold_path *p, struct row_dims rows, bool padded)
{
    struct work_room *room = &p->work->room;
    if (rows.rule == RULE_FACTOR) {
        room->set = true;
        room->padded = padded;
        room->rows = rows.dims[0];
    }
    return rows;
}

struct row_dims part_expert_rows(const struct hold_path *p, uint64_t multiple)
{
    const struct letters *x = &p->x;
    struct size worst = rows_worst(x), even = rows_routed(x);
    if (p->path->exchange == EXCHANGE_TOKENS &&
        p->plan->moe.sync_free >= 3) /* Primus: the receive buffer times K, whatever e */
        return rows_of(rows_worst_loose(x), RULE_WORST);
    if (multiple <= 1)
        return bounding(p, sized(p, worst, even, x->rows), false);
    return bounding(p,
                    sized(p, rows_padded_up(x, worst, multiple),
                          rows_padded_up(x, even, multiple), x->padded),
                    true);
}

struct row_dims part_received(const struct hold_path *p)
{
    const struct letters *x = &p->x;
    struct size copies = size_min(x->sizes, x->ranks, x->top_k);
    struct row_dims rows =
        sized(p, rows_worst_tokens(x), size_mul(x->sizes, x->tokens, copies), x->received);
    if (rows.rule == RULE_FACTOR)
        p->work->room.tokens = rows.dims[0];
    return rows;
}

/* ---- router, experts, combine ---- */

void part_router(struct hold_path *p)
{
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    p->scores = part_floats(p, "router_scores", CATEGORY_METADATA, p->style->scores, &tokens,
                            dims_choices(p->x.sizes, p->plan, p->x.experts));
    p->indices = part_table(p, "topk_indices", DTYPE_I64, &tokens, p->x.top_k);
    p->gates =
        part_floats(p, "topk_gates", CATEGORY_METADATA, p->style->scores, &tokens, p->x.top_k);
    flow_op(&p->flow, part_move(p, "router", OP_ROUTER), FLOW(p->input),
            FLOW(p->scores, p->indices, p->gates));
}

/* ragged_dot without a grouped kernel masks one operand per local expert (buffers.md 6): the
 * input for the forward and the weight gradient, the output's gradient for both gradients. */
static void part_expand(struct hold_path *p, const struct row_dims *rows,
                        const char *const names[2], struct size in, struct size out)
{
    if (!p->path->expands && !plan_masks_products(p->plan))
        return;
    struct row_dims masked = {.n = 2, .dims = {p->x.local, rows_total(p, rows)}, rows->rule};
    part_scratch(p, names[0], CATEGORY_EXPERT, p->dtype, &masked, in,
                 FLOW_FORWARD | FLOW_BACKWARD);
    part_scratch(p, names[1], CATEGORY_EXPERT, p->dtype, &masked, out, FLOW_BACKWARD);
}

/* Outputs of the products before the activation: one [rows, 2 I], two [rows, I], or one when
 * the experts have no gate. */
static void part_gate_up(struct hold_path *p, uint16_t x, const struct row_dims *rows,
                         enum op_kind product, uint16_t outputs[2])
{
    bool glu = p->plan->model.moe.glu, split = glu && p->style->split_gate_up;
    struct size width = size_times(p->x.sizes, p->x.inter, glu && !split ? 2 : 1);
    const char *const names[] = {split ? "expert_gate"
                                 : glu ? "expert_gate_up"
                                       : "expert_up",
                                 "expert_up"};
    outputs[1] = WORK_NONE;
    for (unsigned i = 0; i < (split ? 2u : 1u); i++) {
        outputs[i] = part_rows(p, names[i], CATEGORY_EXPERT, rows, width);
        flow_op(&p->flow, part_move(p, names[i], product), FLOW(x), FLOW(outputs[i]));
        static const char *const expanded[] = {"expanded_x", "expanded_d_gate_up"};
        if (product == OP_GROUPED_GEMM)
            part_expand(p, rows, expanded, p->x.hidden, width);
    }
}

uint16_t part_experts(struct hold_path *p, uint16_t x, const struct row_dims *rows,
                      uint16_t row_gates, enum op_kind product)
{
    uint16_t before[2];
    part_gate_up(p, x, rows, product, before);
    uint16_t active = part_rows(p, "expert_activated", CATEGORY_EXPERT, rows, p->x.inter);
    uint16_t out = part_rows(p, "expert_out", CATEGORY_EXPERT, rows, p->x.hidden);
    flow_op(&p->flow, part_move(p, "expert_activation", OP_ACTIVATION),
            FLOW(before[0], before[1], row_gates), FLOW(active));
    flow_op(&p->flow, part_move(p, "expert_down", product), FLOW(active), FLOW(out));
    static const char *const expanded[] = {"expanded_activated", "expanded_d_out"};
    if (product == OP_GROUPED_GEMM)
        part_expand(p, rows, expanded, p->x.inter, p->x.hidden);
    return out;
}

uint16_t part_output(struct hold_path *p)
{
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    const char *name = p->latent ? "latent_output" : "moe_output";
    return part_rows(p, name, CATEGORY_ACTIVATION, &tokens, p->x.hidden);
}

uint16_t part_combine(struct hold_path *p, uint16_t returned, const struct row_dims *rows)
{
    if (p->style->scale_before_down) { /* a plain move: the weights were applied before */
        uint16_t moved = part_output(p);
        flow_op(&p->flow, part_move(p, "unpermute", OP_REDUCE), FLOW(returned), FLOW(moved));
        return moved;
    }
    if (p->style->f32_combine) {
        uint16_t copy =
            part_floats(p, "returned_f32", CATEGORY_DISPATCH, DTYPE_F32, rows, p->x.hidden);
        flow_op(&p->flow, part_move(p, "upcast", OP_PACK), FLOW(returned), FLOW(copy));
        returned = copy;
    }
    uint16_t out = part_output(p);
    flow_op(&p->flow, part_move(p, "combine", OP_COMBINE), FLOW(returned, p->gates), FLOW(out));
    return out;
}

/* Tokens of the whole expert-parallel group, as every rank sees them. */
uint16_t part_gather_group(struct hold_path *p, struct row_dims *group, uint64_t extra)
{
    struct size tokens = size_plus(p->x.sizes, rows_worst_tokens(&p->x), extra);
    *group = rows_of(tokens, RULE_FIXED);
    if (p->plan->parallel.ep == 1 && !extra)
        return p->input;
    uint16_t all = part_rows(p, "group_hidden", CATEGORY_COMMUNICATION, group, p->x.hidden);
    flow_op(&p->flow, part_exchange(p, "gather_tokens"), FLOW(p->input), FLOW(all));
    return all;
}

void part_scatter_group(struct hold_path *p, uint16_t from, uint16_t *output)
{
    *output = part_output(p);
    flow_op(&p->flow, part_exchange(p, "reduce_scatter"), FLOW(from), FLOW(*output));
}

bool part_has_shared(const struct hold_path *p)
{
    return p->style->shared && p->plan->model.moe.shared_intermediate > 0;
}

void part_shared(struct hold_path *p, uint16_t x, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    struct size inter = dims_shared_width(s, p->plan);
    struct size wide = size_times(s, inter, p->plan->model.moe.glu ? 2 : 1);
    uint16_t up = part_rows(p, "shared_gate_up", CATEGORY_EXPERT, tokens, wide);
    uint16_t active = part_rows(p, "shared_activated", CATEGORY_EXPERT, tokens, inter);
    uint16_t out =
        part_rows(p, "shared_out", CATEGORY_EXPERT, tokens, size_slot(s, SLOT_HIDDEN));
    flow_op(&p->flow, part_move(p, "shared_gate_up", OP_GEMM), FLOW(x), FLOW(up));
    flow_op(&p->flow, part_move(p, "shared_activation", OP_ACTIVATION), FLOW(up), FLOW(active));
    flow_op(&p->flow, part_move(p, "shared_down", OP_GEMM), FLOW(active), FLOW(out));
}

void part_latent_down(struct hold_path *p)
{
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    if (!p->plan->model.moe.latent_size)
        return;
    uint16_t x = part_rows(p, "latent_rows", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "latent_down", OP_GEMM), FLOW(p->input), FLOW(x));
    p->input = x;
    p->latent = true;
}

void part_latent_up(struct hold_path *p, uint16_t *output)
{
    if (!p->latent)
        return;
    if (p->plan->model.moe.latent_norm) {
        struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
        uint16_t normed =
            part_rows(p, "latent_normed", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
        flow_op(&p->flow, part_move(p, "latent_norm", OP_NORM), FLOW(*output), FLOW(normed));
        *output = normed;
    }
    p->latent = false;
    p->x.hidden = size_slot(p->x.sizes, SLOT_HIDDEN);
    uint16_t out = part_output(p);
    flow_op(&p->flow, part_move(p, "latent_up", OP_GEMM), FLOW(*output), FLOW(out));
    *output = out;
}
