/* The expert network over grouped rows: gate and up in one product, activation, down. */
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/layer/layer.h"

/* [e, M, k] copies in which only a group's own rows are not zero, and one product over them:
 * what ragged_dot becomes without a grouped kernel (buffers.md 6). */
static void expanded(struct layer *l, const char *name, uint16_t a, uint16_t w, uint16_t c,
                     struct extent extent, uint16_t offsets, struct size k, struct size n)
{
    struct sizes *z = l->z;
    const struct buffer *source = &l->work->buffers[a];
    struct size dims[] = {l->e, extent.rows, k};
    uint16_t wide = layer_buffer(l, arena_join(l->arena, source->name, "_expanded"),
                                 CATEGORY_EXPERT, source->dtype, extent.rule, 3, dims);
    layer_op(l,
             (struct op){.name = arena_join(l->arena, name, "_expand"),
                         .kernel = KERNEL_EXPAND,
                         .rows = extent.used},
             OPERANDS(IN(SRC, a), IN(OFFSETS, offsets), OUT(DST, wide)));
    struct size factors[] = {l->e, extent.rows, k, n};
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_EXPANDED_GEMM,
                         .flop = size_times(z, size_product(z, 4, factors), 2),
                         .groups = l->e,
                         .m = extent.rows,
                         .n = n,
                         .k = k},
             OPERANDS(IN(SRC, wide), IN(WEIGHT, w), IN(OFFSETS, offsets), OUT(DST, c)));
}

/* Whether the products are masked copies of everything: plain groups only. */
static bool is_expanded(const struct layer *l, struct groups groups)
{
    bool asked = plan_masks_products(l->plan) || l->path->expands;
    return asked && groups.offsets != WORK_NONE && groups.rows == WORK_NONE &&
           groups.map == WORK_NONE && l->b13 == WORK_NONE;
}

static uint16_t product(struct layer *l, const char *name, uint16_t a, uint16_t w,
                        uint16_t bias, uint16_t c, struct extent extent, struct groups groups)
{
    struct size k = layer_width(l, a), n = layer_width(l, c);
    const char *matrix = arena_join(l->arena, "expert_", name);
    w = l->frozen ? layer_lora_merged(l, matrix, w) : w;
    struct size n_groups = groups.turn ? l->one : l->work->buffers[w].dims[0];
    struct gemm_shape shape = {.rows = extent.used, .k = k, .n = n, .groups = n_groups};
    if (is_expanded(l, groups))
        expanded(l, name, a, layer_wide(l, w, groups), c, extent, groups.offsets, k, n);
    else
        layer_gemm(l, name, a, w, bias, c, groups, shape);
    return l->frozen ? layer_lora_beside(l, matrix, a, c, groups, shape) : c;
}

uint16_t layer_expert_part(struct layer *l, uint16_t x, struct extent extent,
                           struct groups groups)
{
    struct groups own = groups;
    own.shared = false;
    uint16_t h = layer_rows(l, "h", CATEGORY_EXPERT, l->activation, extent, l->GI);
    h = product(l, "gate_up", x, l->w13, l->b13, h, extent, groups);
    uint16_t a = layer_rows(l, "a", CATEGORY_EXPERT, l->activation, extent, l->I);
    layer_activation(l, "activation", h, a, is_expanded(l, groups) ? layer_no_groups() : own,
                     extent.used);
    uint16_t y = layer_rows(l, "y", CATEGORY_EXPERT, l->combined, extent, l->H);
    return product(l, "down", a, l->w2, l->b2, y, extent, own);
}

uint16_t layer_over_etp(struct layer *l, const char *name, enum collective_kind how,
                        uint16_t from, struct extent to, struct size used)
{
    uint16_t out = layer_rows(l, name, CATEGORY_COMMUNICATION, l->work->buffers[from].dtype, to,
                              layer_width(l, from));
    layer_collective(l, arena_join(l->arena, "etp_", name), GROUP_ETP, how, from, out,
                     layer_traffic(l, used, from));
    return out;
}

uint16_t layer_expert(struct layer *l, uint16_t x, struct extent extent, struct groups groups)
{
    if (!layer_gathers_over_etp(l->plan))
        return layer_expert_part(l, x, extent, groups);
    struct size etp = size_slot(l->z, SLOT_ETP), used = size_mul(l->z, extent.used, etp);
    struct extent all = {size_mul(l->z, extent.rows, etp), used, extent.rule};
    uint16_t gathered = layer_over_etp(l, "x_etp", ALL_GATHER, x, all, used);
    uint16_t y = layer_expert_part(l, gathered, all, groups);
    return layer_over_etp(l, "y_etp", REDUCE_SCATTER, y, extent, used);
}
