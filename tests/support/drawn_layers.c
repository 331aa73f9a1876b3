/* See drawn_layers.h. */
#include "support/drawn_layers.h"

#include "plan/layers.h"

void drawn_attention(struct rng *rng, struct attention *a)
{
    *a = (struct attention){.kind = ATTENTION_GQA, .heads = 8, .kv_heads = 4, .head_dim = 16};
    if (rng_below(rng, 2))
        *a = (struct attention){.kind = ATTENTION_MLA,
                                .heads = 8,
                                .kv_heads = 8,
                                .q_lora_rank = 32 * rng_below(rng, 2),
                                .kv_lora_rank = 32,
                                .qk_nope_head_dim = 16,
                                .qk_rope_head_dim = 8,
                                .v_head_dim = 16};
}

/* Divided evenly by up to 4 tp ranks. */
static void draw_linear(struct rng *rng, struct linear *linear)
{
    *linear = (struct linear){.kind = (enum linear_kind)rng_below(rng, LINEAR_COUNT),
                              .heads = 8,
                              .head_dim = 16,
                              .key_heads = 4,
                              .key_dim = 8,
                              .conv = 4 * rng_below(rng, 2),
                              .rank = 8,
                              .chunk = 16,
                              .state = DTYPE_F32};
    if (linear->kind == LINEAR_GATED_DELTA_NET || linear->kind == LINEAR_MAMBA2)
        return;
    linear->key_heads = linear->heads;
    linear->key_dim = linear->head_dim;
    if (linear->kind == LINEAR_MAMBA1)
        *linear = (struct linear){.kind = LINEAR_MAMBA1,
                                  .heads = 1,
                                  .head_dim = 128,
                                  .key_heads = 1,
                                  .key_dim = 8,
                                  .conv = 4,
                                  .rank = 8,
                                  .chunk = 16,
                                  .state = DTYPE_F32};
}

/* Gates, values narrower than keys or the keys themselves, heads of window layers of their own;
 * divided evenly by up to 4 tp ranks. */
static void draw_heads(struct rng *rng, struct model *model)
{
    struct attention *a = &model->attention;
    uint64_t gate = rng_below(rng, 3);
    a->output_gate = gate == 1;
    a->head_gate = gate == 2;
    if (a->kind != ATTENTION_GQA)
        return;
    a->k_eq_v = rng_below(rng, 4) == 0;
    a->v_head_dim = a->k_eq_v ? 0 : 8 * rng_below(rng, 2);
    if (rng_below(rng, 2))
        model->window =
            (struct window){8 * rng_below(rng, 3), 4 * rng_below(rng, 3), 8 * rng_below(rng, 4),
                            8 * rng_below(rng, 2), rng_below(rng, 2)};
}

/* Layers alike, kinds in turn, or parts. */
void drawn_layers(struct rng *rng, struct model *model)
{
    static const struct {
        struct enum_list types;
        uint64_t dense_layers; /* when of parts */
    } lists[] = {
        {{0}, 0},
        {{2, {LAYER_WINDOW, LAYER_FULL}}, 0},
        {{4, {LAYER_CHUNK, LAYER_CHUNK, LAYER_CHUNK, LAYER_FULL}}, 0},
        {{1, {LAYER_WINDOW}}, 0},
        {{4, {LAYER_WINDOW, LAYER_MOE, LAYER_FULL, LAYER_DENSE}}, 2},
        {{2, {LAYER_LINEAR, LAYER_FULL}}, 0},
        {{1, {LAYER_LINEAR}}, 0},
        {{4, {LAYER_LINEAR, LAYER_MOE, LAYER_FULL, LAYER_MOE}}, 0},
        {{2, {LAYER_REUSE, LAYER_FULL}}, 0},
    };
    uint64_t i = rng_below(rng, sizeof lists / sizeof *lists);
    model->layer_types = lists[i].types;
    draw_linear(rng, &model->linear);
    draw_heads(rng, model);
    if (model->attention.q_lora_rank && rng_below(rng, 2))
        model->indexer = (struct indexer){4, 8, 1 + rng_below(rng, 300), 0, 1, 0, false};
    if (model->attention.kind == ATTENTION_GQA && rng_below(rng, 6) == 0) {
        model->layer_types = (struct enum_list){3, {LAYER_BLOCKS, LAYER_FULL, LAYER_BLOCKS}};
        model->indexer = (struct indexer){
            model->attention.kv_heads, 8, 16 * (1 + rng_below(rng, 9)), 16, 1, 0, false};
    }
    if (model->attention.kind == ATTENTION_MLA && model->indexer.top_k % 4 == 0)
        model->indexer.pool = 4;
    model->attention.window = 1 + rng_below(rng, 300);
    model->attention.chunk = 1 + rng_below(rng, 300);
    model->dense_layers = rng_below(rng, 3);
    if (!model_has_parts(model))
        return;
    model->layers = 8;
    model->dense_layers = lists[i].dense_layers;
}
