/* Products of adapters as ops of a layer; see layer.h. */
#include "base/text.h"
#include "work/layer/layer.h"
#include "work/piece/lora.h"

static uint16_t adapter(struct layer *l, const char *name, struct size groups, struct size rows,
                        struct size columns)
{
    struct size dims[] = {groups, rows, columns};
    uint16_t w = layer_buffer(l, name, CATEGORY_WEIGHTS, l->activation, RULE_FIXED, 3, dims);
    l->work->buffers[w].trained = true;
    return w;
}

/* Rows like those of c, so wide. */
static uint16_t rows_like(struct layer *l, const char *name, uint16_t c, enum dtype dtype,
                          struct size width)
{
    struct buffer like = l->work->buffers[c];
    struct extent extent = {like.dims[0], like.dims[0], like.rule};
    return layer_rows(l, name, like.category, dtype, extent, width);
}

static const struct layer_matrix *adapted(struct layer *l, const char *name,
                                          struct lora_sides *sides)
{
    struct dims d;
    size_t n;
    const struct layer_matrix *m = matrices_of_layer(&n), *end = m + n;
    if (!l->listed || !l->frozen || l->backward || !segment_is_layer(l->segment))
        return NULL;
    while (m < end && !text_equal(m->name, name))
        m++;
    if (m == end)
        return NULL;
    dims_fill(&d, l->plan, l->z);
    dims_mixer(&d, kind_mixer(segment_kind(l->segment)));
    *sides = lora_of(l->plan, l->z, &d, m);
    if (lora_is_in_some(l->plan, m) && !lora_adapts_kind(l->plan, segment_kind(l->segment)))
        return NULL;
    return sides->n ? m : NULL;
}

/* Of several side by side the one by which the second factors have as many elements. */
static struct size rank_of(struct layer *l, const struct lora_sides *sides)
{
    return l->plan->lora.ranks.n ? size_ceil_div(l->z, sides->up, sides->outputs)
                                 : size_const(l->z, sides->low / sides->n);
}

uint16_t layer_lora_beside(struct layer *l, const char *matrix, uint16_t a, uint16_t c,
                           struct groups groups, struct gemm_shape shape)
{
    struct lora_sides sides;
    const struct layer_matrix *m = adapted(l, matrix, &sides);
    if (!m || (m->expert && lora_merges(l->plan)))
        return c;
    struct arena *arena = l->arena;
    struct size rank = rank_of(l, &sides);
    struct size low = size_const(l->z, sides.low), wide = layer_width(l, c);
    bool apart = m->expert && !lora_shares_experts(l->plan);
    struct size e = apart ? l->e : l->one;
    if (m->expert && !apart) {
        groups = layer_no_groups();
        shape.groups = l->one;
    }
    const enum module before = l->module;
    const struct size layers = l->layers;
    if (lora_is_in_some(l->plan, m))
        l->layers = size_slot(l->z, slot_kind_adapted(segment_kind(l->segment)));
    l->module = m->op;
    uint16_t down = adapter(l, arena_join(arena, "w_lora_a_", matrix), e, shape.k, low);
    uint16_t up = adapter(l, arena_join(arena, "w_lora_b_", matrix), e, rank, sides.outputs);
    uint16_t x =
        rows_like(l, arena_printf(arena, "lora_%s_low", matrix), c, l->activation, low);
    uint16_t y =
        rows_like(l, arena_printf(arena, "lora_%s_out", matrix), c, l->activation, wide);
    uint16_t sum = rows_like(l, arena_join(arena, matrix, "_adapted"), c,
                             l->work->buffers[c].dtype, wide); /* as the base's product is */
    shape.n = low;
    layer_gemm(l, arena_join(arena, "lora_a_", matrix), a, down, WORK_NONE, x, groups, shape);
    groups.shared = false;
    shape.k = rank;
    shape.n = sides.outputs;
    layer_gemm(l, arena_join(arena, "lora_b_", matrix), x, up, WORK_NONE, y, groups, shape);
    layer_op(l,
             (struct op){.name = arena_join(arena, "add_lora_", matrix),
                         .kernel = KERNEL_ADD,
                         .rows = shape.rows},
             OPERANDS(IN(SRC, c), IN(OTHER, y), OUT(DST, sum)));
    l->module = before;
    l->layers = layers;
    return sum;
}

uint16_t layer_lora_merged(struct layer *l, const char *matrix, uint16_t w)
{
    struct lora_sides sides;
    const struct layer_matrix *m = lora_merges(l->plan) ? adapted(l, matrix, &sides) : NULL;
    if (!m)
        return w;
    struct arena *arena = l->arena;
    struct sizes *z = l->z;
    struct buffer merged = l->work->buffers[w];
    const struct size rank = rank_of(l, &sides), n = merged.dims[2];
    struct size rows[] = {size_mul(z, merged.dims[0], merged.dims[1]), rank};
    struct size wide[] = {rows[0], n};
    uint16_t a = layer_buffer(l, arena_join(arena, "w_lora_a_", matrix), CATEGORY_WEIGHTS,
                              l->activation, RULE_FIXED, 2, rows);
    l->work->buffers[a].trained = true;
    uint16_t b = adapter(l, arena_join(arena, "w_lora_b_", matrix), merged.dims[0], rank, n);
    uint16_t delta = layer_buffer(l, arena_join(arena, matrix, "_delta"), CATEGORY_WEIGHTS,
                                  l->activation, RULE_FIXED, 2, wide);
    layer_gemm(
        l, arena_join(arena, "lora_", matrix), a, b, WORK_NONE, delta, layer_no_groups(),
        (struct gemm_shape){.rows = rows[0], .k = rank, .n = n, .groups = merged.dims[0]});
    merged.name = arena_join(arena, matrix, "_merged");
    merged.dtype = l->activation;
    merged.bytes = size_const(z, 0); /* anew, from the dims */
    merged.life = LIFE_TRANSIENT;
    merged.state = false;
    merged.trained = true;
    uint16_t sum = work_buffer(l->work, merged);
    layer_op(l,
             (struct op){.name = arena_join(arena, "add_lora_", matrix), .kernel = KERNEL_ADD},
             OPERANDS(IN(SRC, w), IN(OTHER, delta), OUT(DST, sum)));
    return sum;
}
