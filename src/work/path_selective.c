/* selective: only the experts that some token chose are loaded, each once (seed 002 decode with
 * deduplication): their matrices are copied together and the products run over the copies. */
#include "work/path.h"

static uint16_t picked(struct layer *l, const char *name, uint16_t weights, uint16_t hits,
                       struct extent hit)
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
    struct size loaded = size_mul(l->z, hit.used, each);
    layer_op(l,
             (struct op){.name = arena_printf(l->arena, "load_%s", name),
                         .kernel = KERNEL_PICK,
                         .bytes_read = loaded,
                         .bytes_written = loaded},
             LAYER_OPERANDS(weights, hits), LAYER_OPERANDS(copy));
    return copy;
}

uint16_t path_selective_build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    bool exact = l->received.rule == RULE_ROUTING;
    struct size most = size_min(l->z, l->e, size_mul(l->z, all.tokens.rows, l->K));
    struct size used = size_slot(l->z, SLOT_HIT_EXPERTS);
    struct extent hit = {exact ? used : most, used, exact ? RULE_ROUTING : RULE_WORST};
    uint16_t hits = layer_map(l, "hits", hit);
    fan.groups.map = layer_map(l, "hit_of", layer_fixed(l->e));
    layer_op(l, (struct op){.name = "hits", .kernel = KERNEL_HITS, .host_syncs = l->one},
             LAYER_OPERANDS(fan.sizes), LAYER_OPERANDS(hits, fan.groups.map));

    uint16_t w13 = l->w13, w2 = l->w2, b13 = l->b13, b2 = l->b2;
    l->w13 = picked(l, "w13_hit", w13, hits, hit);
    l->w2 = picked(l, "w2_hit", w2, hits, hit);
    if (b13 != WORK_NONE) {
        l->b13 = picked(l, "b13_hit", b13, hits, hit);
        l->b2 = picked(l, "b2_hit", b2, hits, hit);
    }
    uint16_t partial = layer_fan_compute(l, all.x, all.gates, all.phys, &fan, all.tokens);
    l->w13 = w13;
    l->w2 = w2;
    l->b13 = b13;
    l->b2 = b2;
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}
