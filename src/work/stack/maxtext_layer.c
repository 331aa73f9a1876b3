/* The sizes of a layer of MaxText's, and buffers of them; see maxtext.h. */
#include "work/path/path.h"
#include "work/piece/segments.h"
#include "work/stack/maxtext.h"

/* A rank's part of a width: tensor parallelism splits heads, the inner widths and, between
 * layers, the hidden one (base.yml, logical_axis_rules: activation_heads, activation_mlp and
 * activation_embed over "tensor"). Over "tensor_sequence" (parallel.sp) a rank has its part of
 * the tokens instead, and as many bytes. */
static struct size rank_part(const struct maxtext_layer *layer, struct size width)
{
    const struct parallel *p = &layer->plan->parallel;
    return p->tp > 1 && !p->sp ? size_ceil_div(layer->z, width, size_slot(layer->z, SLOT_TP))
                               : width;
}

static struct size width(const struct maxtext_layer *layer, enum slot count, struct size each)
{
    return size_mul(layer->z, rank_part(layer, size_slot(layer->z, count)), each);
}

void maxtext_take(const struct plan *plan, struct maxtext_layer *layer, enum mixer mixer)
{
    struct sizes *z = layer->z;
    const struct head_slots slots = slots_of_heads(&plan->model, mixer);
    if (plan->model.attention.kind == ATTENTION_MLA) {
        struct size qk = size_add(z, size_slot(z, SLOT_NOPE_DIM), size_slot(z, SLOT_ROPE_DIM));
        layer->q = layer->k = width(layer, SLOT_HEADS, qk);
        layer->v = layer->context = width(layer, SLOT_HEADS, size_slot(z, SLOT_V_DIM));
        return;
    }
    struct size head = size_slot(z, slots.head_dim), value = size_slot(z, slots.v_dim);
    layer->q = width(layer, slots.heads, head);
    layer->context = width(layer, slots.heads, value);
    layer->k = width(layer, slots.kv_heads, head);
    layer->v = width(layer, slots.kv_heads, value);
}

struct size maxtext_capacity(const struct maxtext_layer *layer)
{
    struct sizes *z = layer->z;
    struct size chosen =
        size_mul(z, size_slot(z, SLOT_SEQUENCE_FULL), size_slot(z, SLOT_TOP_K));
    struct size mean = size_ceil_div(z, chosen, size_slot(z, SLOT_EXPERTS));
    return size_scale(z, mean, REAL_CAPACITY_FACTOR);
}

/* Rows of the ragged buffer: T K min(R, E/K) in the worst case, T K factor otherwise. */
static struct size ragged_rows(const struct plan *plan, struct maxtext_layer *layer)
{
    struct sizes *z = layer->z;
    struct size top_k = size_slot(z, SLOT_TOP_K);
    struct size routed = size_mul(z, layer->tokens, top_k);
    if (plan->moe.buffer == SIZING_FACTOR) {
        struct work_room *room = &layer->work->room;
        room->set = true;
        layer->rows_rule = RULE_FACTOR;
        room->rows = size_scale(z, routed, REAL_BUFFER_FACTOR);
        return room->rows;
    }
    if (plan->moe.buffer == SIZING_BALANCED) {
        layer->rows_rule = RULE_FIXED;
        return routed;
    }
    struct size copies = size_min(z, top_k, size_slot(z, SLOT_LOCAL_EXPERTS));
    return size_product(z, 3, (struct size[]){size_slot(z, SLOT_EP), layer->tokens, copies});
}

void maxtext_layer_init(const struct plan *plan, struct work *work,
                        const struct path_system *path, struct maxtext_layer *layer)
{
    struct sizes *z = &work->sizes;
    *layer = (struct maxtext_layer){
        .plan = plan, .work = work, .z = z, .dtype = plan->precision.activations};
    layer->tokens = size_slot(z, SLOT_TOKENS);
    layer->hidden = size_slot(z, SLOT_HIDDEN);
    layer->between = rank_part(layer, layer->hidden);
    layer->inter = rank_part(layer, size_slot(z, SLOT_INTER));
    layer->dense_inter = rank_part(layer, size_slot(z, SLOT_DENSE_INTER));
    maxtext_take(plan, layer, MIXER_FULL);
    segments_kinds(plan, layer->kinds);
    layer->n_rows = 1;
    layer->rows_rule = RULE_WORST;
    if (path->exchange == EXCHANGE_CAPACITY) {
        layer->n_rows = 2;
        layer->rows[0] =
            size_mul(z, size_slot(z, SLOT_EXPERTS), size_slot(z, SLOT_MICRO_BATCH));
        layer->rows[1] = maxtext_capacity(layer);
    } else if (path->computes == COMPUTES_ALL) {
        layer->n_rows = 2;
        layer->rows[0] = size_slot(z, SLOT_EXPERTS);
        layer->rows[1] = layer->tokens;
    } else {
        layer->rows[0] = ragged_rows(plan, layer);
    }
}

struct buffer *maxtext_declare(const struct maxtext_layer *layer, enum segment segment,
                               const char *name, enum category category, uint32_t schedules,
                               unsigned n_dims, const struct size *dims)
{
    bool routed = category == CATEGORY_DISPATCH || category == CATEGORY_EXPERT;
    struct buffer buffer = {.name = name,
                            .category = category,
                            .segment = segment,
                            .dtype = layer->dtype,
                            .n_dims = n_dims,
                            .rule = routed ? layer->rows_rule : RULE_FIXED,
                            .life = LIFE_TRANSIENT,
                            .last = WORK_NONE,
                            .schedules = schedules};
    for (unsigned i = 0; i < n_dims; i++)
        buffer.dims[i] = dims[i];
    uint16_t number = work_buffer(layer->work, buffer); /* may move the array */
    return &layer->work->buffers[number];
}
