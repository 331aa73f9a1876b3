/* blockwise: rows in blocks of B, one expert a block; blocks are computed one after the other
 * and added to their tokens (seed 002 BWMM; seed-systems.md B2 to B4). As many blocks are
 * provided as any routing can need; with moe.skip.dynamic only those with rows are run beyond a
 * static number. Two cores share the blocks, or the work of each, as moe.shard says. What
 * stacks hold: buffers.md 10.4; seed-systems.md B2. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/piece/block_loop.h"
#include "work/layer/layer_cores.h"

/* Rows that may reach this rank's experts: all tokens' K, as in Neuron's kernels. */
static struct size provisioned(struct layer *l, struct size tokens)
{
    struct sizes *z = l->z;
    struct size rows = size_mul(z, tokens, l->K), B = size_slot(z, SLOT_BLOCK);
    struct size slack = size_mul(z, l->e, size_sub(z, B, l->one));
    return size_min(z, size_div(z, size_add(z, rows, slack), B), rows);
}

/* Blocks that always run: ceil(ceil(T K / R) / B) of the whole group's tokens, or the kernel's
 * own N - e. */
static struct size always(struct layer *l, struct size tokens, struct size N)
{
    struct sizes *z = l->z;
    if (l->plan->moe.static_blocks == STATIC_BLOCKS_KERNEL)
        return size_sub(z, N, l->e);
    struct size share = size_ceil_div(z, size_mul(z, tokens, l->K), l->R);
    return size_ceil_div(z, share, size_slot(z, SLOT_BLOCK));
}

struct block_maps {
    uint16_t expert, index, place;
    uint16_t run, trips; /* [1] blocks executed, and trips of the loop over them */
    struct size executed, n_trips;
};

static struct block_maps map_blocks(struct layer *l, const struct everyone *all)
{
    struct sizes *z = l->z;
    struct size n = all->tokens.rows, N = provisioned(l, n), fixed = always(l, n, N);
    struct size step = size_const(z, block_loop_step(l->plan));
    bool dynamic = l->plan->moe.skip_dynamic;
    struct size own = size_mul(z, size_slot(z, SLOT_BLOCKS), layer_etp_tokens(l)),
                valid = size_round_up(z, own, step);
    struct block_maps m = {
        .expert = layer_map(l, "block_expert", layer_fixed(N)),
        .index =
            layer_map(l, "block_index", layer_fixed(size_mul(z, N, size_slot(z, SLOT_BLOCK)))),
        .place = layer_map(l, "block_place", layer_fixed(size_mul(z, n, l->K))),
        .run = layer_counts(l, "blocks_run", l->one),
        .trips = layer_counts(l, "block_trips", l->one),
        .executed = dynamic ? size_min(z, N, size_max(z, fixed, valid)) : N};
    m.n_trips = size_ceil_div(z, m.executed, step);
    layer_op(
        l,
        (struct op){.name = "blocks",
                    .kernel = KERNEL_BLOCKS,
                    .args.blocks = {.always = {fixed}, .step = {step}, .dynamic = dynamic}},
        OPERANDS(IN(PHYS, all->phys), OUT(EXPERT, m.expert), OUT(INDEX, m.index),
                 OUT(PLACE, m.place),
                 OUT(CONDITIONS, layer_map(l, "conditions", layer_fixed(N))), OUT(RUN, m.run),
                 OUT(TRIPS, m.trips)));
    return m;
}

/* Padding reads a row of zeros behind the tokens, as every input of the kernels has one. */
static struct everyone gather_tokens(struct layer *l)
{
    struct everyone group = layer_gather_everyone(l), all = layer_gather_etp(l, &group);
    struct buffer *x = &l->work->buffers[all.x];
    if (l->plan->moe.skip_token)
        return all;
    x->dims[0] = size_add(l->z, x->dims[0], l->one);
    x->bytes = layer_traffic(l, x->dims[0], all.x);
    layer_op(l,
             (struct op){
                 .name = "zero_row", .kernel = KERNEL_ZERO, .args.zero = {{all.tokens.rows}}},
             OPERANDS(OUT(DST, all.x)));
    return all;
}

/* Rows of blocks that are of a token. */
static struct size rows_met(struct layer *l)
{
    return size_mul(l->z, size_slot(l->z, SLOT_ROWS), layer_etp_tokens(l));
}

/* Of how many cores a row is in parts. */
static struct size shares_of(const struct layer *l, const struct cores *cores)
{
    return cores->split ? cores->count : l->one;
}

/* The loop as one core without operands of its own would do it: what the backward undoes. */
static void add_twin(struct layer *l, const struct everyone *all, const struct block_maps *m,
                     uint16_t sum)
{
    struct sizes *z = l->z;
    struct size B = size_slot(z, SLOT_BLOCK);
    struct extent rows = {B, size_mul(z, m->executed, B), RULE_FIXED};
    struct part_args part = {.rows = {B}, .by_iteration = true};
    if (!layer_twin_begin(l))
        return;
    layer_loop_begin(l, m->executed, m->run);
    uint16_t x = layer_rows(l, "x_block", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "load_block",
                         .kernel = KERNEL_GATHER,
                         .args.gather = {.divide = {l->K}, .slots = {l->K}, .part = part},
                         .rows = rows.used},
             OPERANDS(IN(SRC, all->x), IN(INDEX, m->index), IN(INVERSE, m->place),
                      IN(KEYS, all->phys), IN(GATES, layer_gates_in(l, all->gates)),
                      OUT(DST, x)));
    struct groups one = {
        .offsets = WORK_NONE, .rows = WORK_NONE, .map = m->expert, .turn = true};
    uint16_t y = layer_expert_part(l, x, rows, one);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .args.part = part,
                         .rows = rows_met(l)},
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all->gates)),
                      IN(PHYS, all->phys), IN(INDEX, m->index), INOUT(DST, sum)));
    layer_loop_end(l);
    layer_twin_end(l);
}

static struct size half_if(const struct layer *l, bool halved, struct size size)
{
    return halved ? size_div(l->z, size, size_const(l->z, 2)) : size;
}

static uint16_t load_block(struct layer *l, const struct cores *cores,
                           const struct everyone *all, const struct block_maps *m,
                           struct size width)
{
    bool skip = l->plan->moe.skip_token;
    struct size filled = size_mul(l->z, shares_of(l, cores), rows_met(l));
    uint16_t x = layer_rows(l, "x_block", CATEGORY_DISPATCH, l->activation, cores->rows, width);
    layer_op(l,
             (struct op){.name = "load_block",
                         .kernel = KERNEL_LOAD_BLOCK,
                         .args.block = {.rows = {size_slot(l->z, SLOT_BLOCK)},
                                        .top_k = {l->K},
                                        .split = cores->split,
                                        .skip = skip},
                         .bytes_read = layer_traffic(l, skip ? filled : cores->rows.used, x),
                         .bytes_written = layer_traffic(l, cores->rows.used, x)},
             OPERANDS(IN(SRC, all->x), IN(INDEX, m->index), IN(BLOCK, cores->block),
                      IN(GATES, layer_gates_in(l, all->gates)), OUT(DST, x)));
    return x;
}

static uint16_t summed(struct layer *l, const struct cores *cores, const char *name,
                       uint16_t partial, struct size columns, const char *result,
                       enum dtype dtype)
{
    uint16_t sum = layer_rows(l, result, CATEGORY_EXPERT, dtype, cores->rows, columns);
    layer_cores_sum(l, name, partial, sum);
    return sum;
}

/* Shares of the two cores (B4). h: halves of H; partial gate and up products are exchanged
 * whole and activated twice. i: halves of I; partial outputs are reduced and scattered. */
static uint16_t compute_block(struct layer *l, const struct cores *cores, uint16_t x)
{
    bool h = cores->split && l->plan->moe.shard == SHARD_H, i = cores->split && !h;
    struct size H = half_if(l, h, l->H), I = half_if(l, i, l->I), GI = half_if(l, i, l->GI);
    uint64_t panels = l->plan->model.moe.glu ? 2 : 1;
    uint16_t w13 = layer_cores_fetch(l, cores, "fetch_w13", l->w13, H, GI, panels);
    uint16_t w2 = layer_cores_fetch(l, cores, "fetch_w2", l->w2, I, H, 1);
    uint16_t b13 = layer_cores_fetch(l, cores, "fetch_b13", l->b13, H, GI, panels);
    uint16_t b2 = layer_cores_fetch(l, cores, "fetch_b2", l->b2, I, H, 1);
    uint16_t to_h = layer_cores_product(l, cores, "gate_up", h ? "h_partial" : "h", x, w13, b13,
                                        GI, h ? DTYPE_F32 : l->activation);
    if (h)
        to_h = summed(l, cores, "exchange_gate_up", to_h, GI, "h", l->activation);
    uint16_t a = layer_rows(l, "a", CATEGORY_EXPERT, l->activation, cores->rows, I);
    layer_activation(l, "activation", to_h, a, cores->groups, cores->rows.used);
    uint16_t y = layer_cores_product(l, cores, "down", i ? "y_partial" : "y", a, w2, b2, H,
                                     i ? DTYPE_F32 : l->combined);
    return i ? summed(l, cores, "scatter_down", y, half_if(l, i, H), "y", l->combined) : y;
}

/* With blocks of their own both cores may meet a token: each adds to a sum of its own, and the
 * two are added up at the end. A token of one expert is met once. */
static bool sums_apart(const struct layer *l)
{
    return plan_cores(l->plan) == 2 && !block_loop_split(l->plan) &&
           l->plan->model.moe.top_k > 1;
}

static void zero(struct layer *l, const char *name, uint16_t buffer)
{
    layer_op(l, (struct op){.name = name, .kernel = KERNEL_ZERO}, OPERANDS(OUT(DST, buffer)));
}

static void add_loop(struct layer *l, const struct everyone *all, const struct block_maps *m,
                     uint16_t sum)
{
    layer_loop_begin(l, m->n_trips, m->trips);
    struct cores cores = layer_cores_deal(l, m->expert, m->run, m->executed, m->n_trips);
    bool h = cores.split && l->plan->moe.shard == SHARD_H;
    uint16_t x = load_block(l, &cores, all, m, half_if(l, h, l->H));
    uint16_t y = compute_block(l, &cores, x);
    layer_op(l,
             (struct op){.name = "add_block",
                         .kernel = KERNEL_ADD_BLOCK,
                         .args.block = {.rows = {size_slot(l->z, SLOT_BLOCK)},
                                        .top_k = {l->K},
                                        .tokens = {all->tokens.rows}},
                         .rows = size_mul(l->z, shares_of(l, &cores), rows_met(l))},
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all->gates)),
                      IN(INDEX, m->index), IN(BLOCK, cores.block), INOUT(DST, sum)));
    layer_loop_end(l);
}

/* Of the loop's sums: this rank's tokens. */
static uint16_t reduced(struct layer *l, uint16_t sum)
{
    return layer_reduce_everyone(l, "routed_out", layer_scatter_etp(l, sum), l->combined,
                                 l->activation);
}

static uint16_t build(struct layer *l)
{
    struct everyone all = gather_tokens(l);
    struct block_maps m = map_blocks(l, &all);
    uint16_t out = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    add_twin(l, &all, &m, out);
    if (!sums_apart(l)) {
        zero(l, "zero_sum", out);
        add_loop(l, &all, &m, out);
        return reduced(l, out);
    }
    struct extent twice = layer_fixed(size_times(l->z, all.tokens.rows, 2));
    uint16_t sums = layer_rows(l, "core_sums", CATEGORY_ACTIVATION, DTYPE_F32, twice, l->H);
    zero(l, "zero_sums", sums);
    add_loop(l, &all, &m, sums);
    layer_cores_sum(l, "add_cores", sums, out);
    return reduced(l, out);
}

static enum align_kind align(const struct plan *plan)
{
    (void)plan;
    return ALIGN_NEURON;
}

static bool has_pair(const struct plan *plan)
{
    return plan_cores(plan) == 2;
}

static bool halves_odd_hidden(const struct plan *plan)
{
    bool whole = plan->moe.shard == SHARD_BLOCK && plan->model.moe.top_k == 1;
    return has_pair(plan) && !whole && model_row_width(&plan->model) % 2;
}

static bool halves_odd_inter(const struct plan *plan)
{
    uint64_t inter = ceil_div(plan->model.moe.intermediate, plan->parallel.etp);
    return has_pair(plan) && plan->moe.shard == SHARD_I && inter % 2;
}

static bool skips_on_i(const struct plan *plan)
{
    return has_pair(plan) && plan->moe.shard == SHARD_I &&
           plan->moe.skip_weight != WEIGHT_SKIP_NONE;
}

static const struct refusal refusals[] = {
    {halves_odd_hidden, "two cores share the hidden size in halves: it must be even",
     "--set moe.cores=1"},
    {halves_odd_inter,
     "two cores share the experts' intermediate size in halves: it must be even",
     "--set moe.shard=h"},
    {skips_on_i, "moe.shard i fetches the weights of every block, as its kernel does",
     "--set moe.skip.weight=none"},
};

/* Blocks' tables: the expert of each block, and the token of each position (-1: none). */
static uint16_t block_tables(struct hold_path *p, struct size blocks)
{
    struct sizes *s = p->x.sizes;
    struct size one = size_const(s, 1);
    struct row_dims n = rows_of(blocks, RULE_WORST);
    struct row_dims positions =
        rows_of(size_plus(s, size_mul(s, blocks, p->x.block), 1), RULE_WORST);
    struct row_dims group = rows_of(rows_worst_tokens(&p->x), RULE_FIXED);
    uint16_t owner = part_table(p, "block_to_expert", DTYPE_I64, &n, one);
    uint16_t ids = part_table(p, "token_position_to_id", DTYPE_I64, &positions, one);
    flow_op(&p->flow, part_move(p, "assign_blocks", OP_SORT), FLOW(p->indices),
            FLOW(owner, ids));
    part_scratch(p, "token_position_by_expert", CATEGORY_MASK, DTYPE_F64, &group, p->x.experts,
                 FLOW_FORWARD);
    return ids;
}

/* In training the kernels write every block's gate_up [N, 2, I, B] and down [N, B, H] for
 * backward; in inference a block's intermediates stay on chip. */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims group;
    uint16_t x = part_gather_group(p, &group, 1); /* a zero row absorbs padding */
    struct size blocks = neuron_blocks(&p->x, rows_worst_tokens(&p->x));
    uint16_t ids = block_tables(p, blocks);
    struct row_dims rows = {2, {blocks, p->x.block}, RULE_WORST};
    struct row_dims out_rows = {2, {group.dims[0], size_const(s, 1)}, RULE_FIXED};
    if (!p->style->flow.backward && plan_cores(p->plan) == 2 &&
        p->plan->moe.shard == SHARD_BLOCK)
        out_rows.dims[1] = size_const(s, 2); /* each core writes its own copy */
    uint16_t out = part_rows(p, "block_output", CATEGORY_DISPATCH, &out_rows, p->x.hidden);
    if (p->style->flow.backward) {
        uint16_t down = part_experts(p, x, &rows, WORK_NONE, OP_BLOCKED_GEMM);
        flow_op(&p->flow, part_move(p, "scatter_blocks", OP_COMBINE), FLOW(down, p->gates, ids),
                FLOW(out));
    } else {
        struct tick op = part_move(p, "blockwise", OP_BLOCKED_GEMM);
        flow_op(&p->flow, op, FLOW(x, p->gates, ids), FLOW(out));
    }
    part_scatter_group(p, out, output);
    return STATUS_OK;
}

const struct path_system path_blockwise = {
    .backward = true,
    .build = build,
    .hold = hold,
    .align = align,
    .exchange = EXCHANGE_EVERYONE,
    .blocks = true,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
};
