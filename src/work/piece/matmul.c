/* The blocks as work lists; see matmul.h. */
#include "work/piece/matmul.h"

#include "work/list/dtype.h"

/* ---- what the host refuses ---- */

static bool many_ranks(const struct plan *plan)
{
    return plan->parallel.tp > 512; /* rows that a sum takes at once */
}

static bool packed(const struct plan *plan)
{
    return !dtype_is_plain(plan->precision.activations) ||
           !dtype_is_plain(plan->precision.weights);
}

static bool spread_otherwise(const struct plan *plan)
{
    return plan->parallel.pp > 1;
}

static const struct refusal refusals[] = {
    {many_ranks, "the host performs at most 512 ranks of a group", "--set parallel.tp=512"},
    {packed,
     "a collective matmul on the host takes activations and weights in f32, bf16 or f16",
     "--set precision.activations=bf16 --set precision.weights=bf16"},
    {spread_otherwise, "a collective matmul has no pipeline stages", "--set parallel.pp=1"},
};

enum status matmul_check(const struct plan *plan, struct err *err)
{
    return layer_refuse(plan, refusals, sizeof refusals / sizeof *refusals, err);
}

void matmul_plan_slots(const struct plan *plan, uint64_t workers, struct slots *slots)
{
    slots_from_plan(plan, slots);
    slots->value[SLOT_WORKERS] = workers;
}

uint64_t matmul_tiles(const struct plan *plan)
{
    uint64_t part = plan->model.dense_intermediate / plan->parallel.tp,
             tiles = plan->block.tiles;
    while (tiles > 1 && part % tiles)
        tiles--;
    return tiles;
}

enum collective matmul_collective(const struct plan *plan)
{
    return plan->parallel.tp > 1 ? plan->block.collective : COLLECTIVE_RING;
}

bool matmul_reduces_in_place(const struct plan *plan)
{
    bool scatters =
        plan->block.kind == BLOCK_REDUCE_SCATTER_MATMUL || plan->block.kind == BLOCK_MLP;
    return scatters && matmul_collective(plan) != COLLECTIVE_BUILTIN;
}

/* ---- pieces ---- */

/* The layer's frame, and the widths that a rank holds. */
struct sharded {
    struct layer l;
    struct size F, f, h; /* F, F / p, H / p */
};

static void shard(struct layer *l, uint16_t buffer, enum fill fill, bool by_rows,
                  struct size first)
{
    layer_op(l,
             (struct op){
                 .name = l->work->buffers[buffer].name,
                 .kernel = KERNEL_SHARD,
                 .args.shard = {.first = {first}, .fill = (uint8_t)fill, .by_rows = by_rows}},
             OPERANDS(OUT(DST, buffer)));
}

/* A rank's part of a matrix in `groups` parts. */
static uint16_t weights(struct layer *l, const char *name, enum fill fill, bool by_rows,
                        struct size groups, struct size rows, struct size columns)
{
    uint16_t w = layer_weights(l, name, groups, rows, columns);
    shard(l, w, fill, by_rows, (struct size){0});
    return w;
}

/* A rank's columns of the tokens. */
static uint16_t tokens(struct layer *l, struct size width)
{
    uint16_t x = layer_rows(l, "x", CATEGORY_ACTIVATION, l->activation, l->tokens, width);
    shard(l, x, FILL_X, false, (struct size){0});
    return x;
}

static uint16_t activations(struct layer *l, const char *name, struct size rows,
                            struct size width)
{
    return layer_rows(l, name, CATEGORY_ACTIVATION, l->activation, layer_fixed(rows), width);
}

/* a[T, k] times every matrix of w[groups, k, n]: [groups T, n] */
static uint16_t product(struct layer *l, const char *name, const char *result, uint16_t a,
                        uint16_t w)
{
    const struct buffer *matrix = &l->work->buffers[w];
    struct size groups = matrix->dims[0], k = matrix->dims[1], n = matrix->dims[2];
    struct size rows = size_mul(l->z, groups, l->T);
    struct groups shared = layer_no_groups();
    struct gemm_shape shape = {.rows = rows, .k = k, .n = n, .groups = groups};
    uint16_t c = activations(l, result, rows, n);
    shared.shared = true;
    layer_gemm(l, name, a, w, WORK_NONE, c, shared, shape);
    return c;
}

/* x[T, H/p] of all ranks as [T, H]. */
static uint16_t gather_tokens(struct sharded *b, uint16_t x)
{
    struct layer *l = &b->l;
    uint16_t all = activations(l, "x_chunks", size_mul(l->z, l->R, l->T), b->h);
    matmul_all_gather(l, "gather_x", x, all);
    uint16_t x_all = layer_swap(l, "x_all", all, l->R, l->T, l->one);
    struct buffer *rows = &l->work->buffers[x_all]; /* the same bytes in rows of a token */
    rows->dims[0] = l->T;
    rows->dims[1] = l->hidden;
    return x_all;
}

static void output(struct layer *l, const struct operand *results)
{
    layer_op(l, (struct op){.name = "output", .kernel = KERNEL_RESULT}, results);
}

/* ---- blocks ---- */

/* The product of tile i beside the reduction of the tile before it and the gathering of the one
 * before that. */
static void add_tiles(struct layer *l, uint16_t x, const uint16_t *w, uint64_t n, uint16_t *out)
{
    struct matmul_reduction tiles[MATMUL_TILES + 1] = {{0}};
    for (uint64_t i = 0; i <= n + 1; i++) {
        const char *number = arena_printf(l->arena, "%d", (int)i);
        if (i > 0 && i <= n)
            tiles[i - 1] = matmul_reduce_begin(l, arena_printf(l->arena, "tile_%d", (int)i - 1),
                                               out[i - 1]);
        if (i > 1)
            matmul_gather_begin(l, &tiles[i - 2]);
        if (i < n)
            out[i] = product(l, arena_join(l->arena, "product_", number),
                             arena_join(l->arena, "out_", number), x, w[i]);
        if (i > 1)
            matmul_gather_end(l, &tiles[i - 2]);
        if (i > 0 && i <= n)
            matmul_reduce_end(l, &tiles[i - 1]);
    }
}

/* Tiles of F / n columns, every one reduced and gathered again where it stands. */
static void allreduce(struct sharded *b)
{
    struct layer *l = &b->l;
    uint64_t n = matmul_tiles(l->plan);
    struct size wide = size_div(l->z, b->F, size_const(l->z, n));
    uint16_t w[MATMUL_TILES], out[MATMUL_TILES];
    struct operand results[MATMUL_TILES + 1];
    uint16_t x = tokens(l, b->h);
    for (uint64_t i = 0; i < n; i++) {
        w[i] = layer_weights(l, arena_printf(l->arena, "w_%d", (int)i), l->one, b->h, wide);
        shard(l, w[i], FILL_W13, true, size_times(l->z, wide, i));
    }
    add_tiles(l, x, w, n, out);
    for (uint64_t i = 0; i < n; i++)
        results[i] = (struct operand)RESULT(i, out[i]);
    results[n].role = ROLE_COUNT;
    output(l, results);
}

static uint16_t scattered_product(struct sharded *b, uint16_t a)
{
    struct layer *l = &b->l;
    uint16_t w = weights(l, "w_out", FILL_W2, true, l->R, b->f, b->h);
    return matmul_reduce_scatter(l, "out", product(l, "project_out", "out", a, w));
}

static void reduce_scatter(struct sharded *b)
{
    output(&b->l, OPERANDS(RESULT(0, scattered_product(b, tokens(&b->l, b->f)))));
}

/* Products with the chunk at hand while it is passed on (Wang et al.). */
static uint16_t product_of_passing(struct sharded *b, uint16_t x)
{
    struct layer *l = &b->l;
    struct sizes *z = l->z;
    uint16_t w = weights(l, "w_in", FILL_W13, false, l->R, b->h, b->f);
    uint16_t moving = activations(l, "x_passing", l->T, b->h);
    uint16_t out = activations(l, "out", l->T, b->f);
    struct size factors[] = {l->T, l->hidden, b->f};
    l->work->buffers[moving].count = size_const(z, 2);
    layer_loop_begin(l, l->R, WORK_NONE);
    matmul_pass(l, "pass_x", x, moving);
    layer_op(l,
             (struct op){.name = "project_in",
                         .kernel = KERNEL_CHUNK_GEMM,
                         .flop = size_times(z, size_product(z, 3, factors), 2),
                         .args.gemm.rows.groups = {l->one},
                         .groups = l->one,
                         .m = l->T,
                         .n = b->f,
                         .k = b->h},
             OPERANDS(IN(SRC, moving), IN(WEIGHT, w), INOUT(DST, out)));
    layer_loop_end(l);
    return out;
}

static uint16_t product_of_gathered(struct sharded *b, uint16_t x, const char *result)
{
    struct layer *l = &b->l;
    uint16_t w = weights(l, "w_in", FILL_W13, false, l->one, l->hidden, b->f);
    return product(l, "project_in", result, gather_tokens(b, x), w);
}

static void allgather(struct sharded *b)
{
    uint16_t x = tokens(&b->l, b->h);
    bool passes = matmul_collective(b->l.plan) == COLLECTIVE_RING;
    output(&b->l, OPERANDS(RESULT(0, passes ? product_of_passing(b, x)
                                            : product_of_gathered(b, x, "out"))));
}

static void mlp(struct sharded *b)
{
    struct layer *l = &b->l;
    uint16_t h = product_of_gathered(b, tokens(l, b->h), "h");
    uint16_t a = activations(l, "a", l->T, b->f);
    layer_activation(l, "gelu", h, a, layer_no_groups(), l->T);
    layer_last(l)->args.activation.gelu = true;
    output(l, OPERANDS(RESULT(0, scattered_product(b, a))));
}

enum status matmul_build(const struct plan *plan, struct arena *arena, struct work *work,
                         struct err *err)
{
    static void (*const builders[])(struct sharded * b) = {
        [BLOCK_ALLREDUCE_MATMUL] = allreduce,
        [BLOCK_REDUCE_SCATTER_MATMUL] = reduce_scatter,
        [BLOCK_ALLGATHER_MATMUL] = allgather,
        [BLOCK_MLP] = mlp,
    };
    TRY(matmul_check(plan, err));
    work_init(work, arena);
    struct sizes *z = &work->sizes;
    struct sharded b = {.l = {.plan = plan,
                              .work = work,
                              .z = z,
                              .arena = arena,
                              .err = err,
                              .segment = SEGMENT_MOE,
                              .group = GROUP_TP,
                              .layers = size_const(z, 1),
                              .trips_from = WORK_NONE,
                              .one = size_const(z, 1),
                              .T = size_slot(z, SLOT_TOKENS),
                              .R = size_slot(z, SLOT_TP),
                              .hidden = size_slot(z, SLOT_HIDDEN),
                              .activation = plan->precision.activations,
                              .weight = plan->precision.weights},
                        .F = size_slot(z, SLOT_DENSE_INTER)};
    b.l.tokens = layer_fixed(b.l.T);
    b.f = size_div(z, b.F, b.l.R);
    b.h = size_div(z, b.l.hidden, b.l.R);
    layer_scratch(&b.l);
    builders[plan->block.kind](&b);
    layer_finish(&b.l);
    return b.l.status;
}
