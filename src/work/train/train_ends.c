/* The first end of the model and what lives through the whole step: embedding, workspaces,
 * placeholders, copies of weights. Sources beside each. */
#include "plan/frozen.h"
#include "work/train/train.h"

#include "base/arena.h"
#include "plan/derive.h"
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/piece/recipe.h"

/* The embedding's gradient is one dense tensor before it is added to the main gradient. */
static void add_embedding(struct train *t)
{
    t->base[SEGMENT_EMBED] = work_tick(
        t->work,
        (struct tick){.name = "embedding", .kind = OP_EMBED, .segment = SEGMENT_EMBED});
    uint16_t back = work_tick(t->work, (struct tick){.name = "d_embedding",
                                                     .kind = OP_EMBED,
                                                     .segment = SEGMENT_EMBED,
                                                     .phase = PHASE_BACKWARD});
    bool rows = lora_trains_rows(t->plan), adapters = lora_is_on(t->plan);
    if (plan_freezes_part(t->plan, FROZEN_EMBED_TOKENS) ||
        (adapters && !rows && !lora_saves(t->plan, SAVED_EMBED_TOKENS)))
        return;
    struct buffer table = {
        .name = "d_embedding_weight",
        .category = CATEGORY_GRADIENTS,
        .segment = SEGMENT_EMBED,
        .dtype = rows ? lora_saved_format(t->plan) : t->plan->precision.weights,
        .n_dims = 2,
        .dims = {t->d.width[COL_VOCAB], t->d.width[COL_HIDDEN]},
        .life = LIFE_TRANSIENT,
        .first = back,
        .last = back,
    };
    work_buffer(t->work, table);
    if (!rows)
        return;
    table.name = "merged_embedding";
    table.category = CATEGORY_WEIGHTS;
    table.first = table.last = t->base[SEGMENT_EMBED];
    work_buffer(t->work, table);
}

/* In the embedding's segment: from its forward to its backward, or in one of its ticks. */
static void embedded(struct train *t, const char *name, enum category category,
                     enum dtype dtype, enum col width, enum life life, unsigned first,
                     unsigned last)
{
    uint16_t base = t->base[SEGMENT_EMBED];
    work_buffer(t->work, (struct buffer){.name = name,
                                         .category = category,
                                         .segment = SEGMENT_EMBED,
                                         .dtype = dtype,
                                         .n_dims = 2,
                                         .dims = {t->d.rows[ROW_LOCAL], t->d.width[width]},
                                         .life = life,
                                         .first = (uint16_t)(base + first),
                                         .last = (uint16_t)(base + last)});
}

/* Where a context is split a rank embeds the whole of it and takes its part (AutoModel
 * gemma4_moe/model.py, _cp_sunk_prepare_inputs); backward fills the whole with zeros. */
static void add_whole_context(struct train *t)
{
    static const struct {
        const char *name;
        enum col width;
        unsigned tick;
    } rows[] = {{"whole_embedded", COL_HIDDEN, 0},
                {"whole_layer_embedding_rows", COL_LAYER_EMBEDDINGS, 0},
                {"d_whole_embedded", COL_HIDDEN, 1},
                {"d_whole_layer_embedding_rows", COL_LAYER_EMBEDDINGS, 1}};
    for (unsigned i = 0; i < 4 && t->d.facts & FACT_CP; i++) {
        if (rows[i].tick && lora_is_on(t->plan))
            continue;
        embedded(t, rows[i].name, CATEGORY_ACTIVATION, t->plan->precision.activations,
                 rows[i].width, LIFE_TRANSIENT, rows[i].tick, rows[i].tick);
        t->work->buffers[t->work->n_buffers - 1].count = size_slot(t->z, SLOT_CP);
    }
}

/* Embeddings of all layers: what the layers read, and what the norm of the projected tokens
 * saves, of transformers the f32 cast of its input (what the projection reads is the first
 * layer's input); while they are made, the table's rows and the projection. The table's
 * gradient is dense like the embedding's. */
static void add_layer_embeddings(struct train *t)
{
    enum dtype rows = t->plan->precision.activations;
    bool trained = !lora_is_on(t->plan), casts = plan_is_huggingface(t->plan);
    if (!plan_embeds_layers(t->plan))
        return;
    add_whole_context(t);
    embedded(t, "layer_embeddings", CATEGORY_ACTIVATION, rows, COL_LAYER_EMBEDDINGS, LIFE_SAVED,
             0, 1);
    if (trained)
        embedded(t, "layer_embeddings_norm_in", CATEGORY_ACTIVATION, casts ? DTYPE_F32 : rows,
                 COL_LAYER_EMBEDDINGS, LIFE_SAVED, 0, 1);
    embedded(t, "layer_embedding_rows", CATEGORY_ACTIVATION, rows, COL_LAYER_EMBEDDINGS,
             LIFE_TRANSIENT, 0, 0);
    embedded(t, "layer_embeddings_projected", CATEGORY_ACTIVATION, rows, COL_LAYER_EMBEDDINGS,
             LIFE_TRANSIENT, 0, 0);
    embedded(t, "d_layer_embeddings", CATEGORY_ACTIVATION, rows, COL_LAYER_EMBEDDINGS,
             LIFE_TRANSIENT, 1, 1);
    if (!trained)
        return;
    embedded(t, "d_layer_embedding_table", CATEGORY_GRADIENTS, t->plan->precision.weights,
             COL_LAYER_EMBEDDINGS, LIFE_TRANSIENT, 1, 1);
    t->work->buffers[t->work->n_buffers - 1].dims[0] = size_slot(t->z, SLOT_LAYER_VOCAB);
}

/* Keys and values that later layers read are there until their backward, though their own layer
 * runs again. */
static void add_lent(struct train *t)
{
    if (t->d.facts & FACT_LENDS && t->drops & TRAIN_FULL_LAYER)
        embedded(t, "lent_keys", CATEGORY_ATTENTION, t->plan->precision.activations, COL_LENT,
                 LIFE_SAVED, 0, 1);
}

void train_ends(struct train *train)
{
    train_adapters(train);
    add_embedding(train);
    add_layer_embeddings(train);
    add_lent(train);
    train_encoder(train);
    train_head(train);
}

/* ---- what lives through the step ---- */

static void persistent(struct train *t, const char *name, enum category category,
                       enum dtype dtype, struct size rows, struct size columns,
                       struct size count, const char *source)
{
    work_buffer(t->work, (struct buffer){.name = name,
                                         .category = category,
                                         .segment = SEGMENT_STEP,
                                         .dtype = dtype,
                                         .n_dims = 2,
                                         .dims = {rows, columns},
                                         .count = count,
                                         .life = LIFE_PERSISTENT,
                                         .source = source});
}

/* Shapes seen so far, as numbers: the same shape shares one placeholder. */
struct shapes {
    uint64_t out[32], in[32];
    unsigned n;
};

static bool seen(struct shapes *shapes, uint64_t out, uint64_t in)
{
    for (unsigned i = 0; i < shapes->n; i++)
        if (shapes->out[i] == out && shapes->in[i] == in)
            return true;
    shapes->out[shapes->n] = out;
    shapes->in[shapes->n++] = in;
    return false;
}

/* Whether this rank has such a matrix at all: 1 or 0. */
static struct size present(struct train *t, unsigned segments)
{
    struct size one = size_const(t->z, 1);
    if (segments == IN_ALL)
        return one;
    enum slot layers = segments == IN_MOE ? SLOT_STAGE_MOE_LAYERS : SLOT_STAGE_DENSE_LAYERS;
    return size_min(t->z, size_slot(t->z, layers), one);
}

static void add_placeholder(struct train *t, const uint64_t *values, struct shapes *shapes,
                            const char *name, struct size out, struct size in,
                            struct size count)
{
    if (seen(shapes, values[out.node], values[in.node]))
        return;
    persistent(t, arena_join(t->work->arena, "wgrad_placeholder_", name), CATEGORY_GRADIENTS,
               t->plan->precision.weights, out, in, count, "TransformerEngine get_dummy_wgrad");
}

/* With gradients accumulated into main gradients by the product itself, autograd still gets a
 * tensor of the weight's shape: TransformerEngine keeps one per shape for good
 * (get_dummy_wgrad), and Megatron takes it for the head too. The router's product does not
 * fuse. */
static void add_placeholders(struct train *t)
{
    struct matrix_walk walk = {0};
    struct size hidden = t->d.width[COL_HIDDEN];
    struct dims d = t->d;
    struct projection mtp = train_mtp_projection(t);
    struct size vocab = t->d.width[COL_VOCAB], head = size_slot(t->z, SLOT_STAGE_HEAD);
    struct slots slots;
    struct shapes shapes = {.n = 0};
    uint64_t *values = arena_alloc(t->work->arena, t->z->n, sizeof *values);
    slots_from_plan(t->plan, &slots);
    sizes_eval(t->z, &slots, values);
    while (matrix_next(&walk, &d)) {
        const struct layer_matrix *m = walk.matrix;
        enum ffn ffn = m->segments == IN_MOE ? FFN_MOE : FFN_DENSE;
        if (m->op != MODULE_ROUTER && !frozen_matrix(t->plan, m, ffn))
            add_placeholder(t, values, &shapes, m->name, d.width[m->out], d.width[m->in],
                            present(t, m->segments));
    }
    add_placeholder(t, values, &shapes, "mtp_projection", mtp.out, mtp.in, mtp.count);
    if (!plan_freezes_part(t->plan, FROZEN_LM_HEAD))
        add_placeholder(t, values, &shapes, "head", vocab, hidden, head);
}

/* Weights of the layers' products in 8 bits, by rows and by columns, kept for all micro-batches
 * of a step (TransformerEngine weight workspaces); weights that are 8 bits themselves are the
 * rows already. Router, embedding and head stay in 16 bits. */
static void add_fp8_weights(struct train *t)
{
    struct matrix_walk walk = {0};
    struct size sum = size_const(t->z, 0);
    struct dims d = t->d;
    while (matrix_next(&walk, &d)) {
        const struct layer_matrix *m = walk.matrix;
        if (m->op == MODULE_ROUTER)
            continue;
        struct size layers = walk.layers;
        struct size copies = m->expert ? size_mul(t->z, layers, t->d.letters.local) : layers;
        sum = size_add(t->z, sum,
                       size_product(t->z, SIZES(d.width[m->out], d.width[m->in], copies)));
    }
    uint64_t copies_kept = t->plan->precision.weights == DTYPE_FP8 ? 1 : 2;
    persistent(t, "fp8_weights", CATEGORY_WEIGHTS, DTYPE_FP8, sum,
               size_const(t->z, copies_kept), size_const(t->z, 1),
               "TransformerEngine weight workspaces, rows and columns");
}

/* The copies that a recipe's products read, kept over the micro-batches of a step beside 16-bit
 * weights; where the copies are the weights, step_state holds them. */
static void add_recipe_weights(struct train *t)
{
    if (recipe_is_primary(t->plan))
        return;
    struct recipe_sum sum = recipe_matrices(t->plan, t->z);
    static const char *const names[] = {"quantized_weights", "expert_quantized_weights"};
    for (unsigned i = 0; i < 2; i++)
        work_buffer(t->work, (struct buffer){.name = names[i],
                                             .category = CATEGORY_WEIGHTS,
                                             .segment = SEGMENT_STEP,
                                             .dtype = recipe_format(t->plan),
                                             .n_dims = 1,
                                             .dims = {sum.elements[i]},
                                             .bytes = sum.bytes[i],
                                             .life = LIFE_PERSISTENT,
                                             .source = "training-stacks.md 6"});
}

/* Where packed sequences begin; nothing else is added to memory (training-stacks.md 5). */
static void add_offsets(struct train *t)
{
    const struct workload *w = &t->plan->workload;
    if (!w->packing.length)
        return;
    struct size sequences =
        size_ceil_by(t->z, size_slot(t->z, SLOT_SEQUENCE_FULL), w->packing.length);
    persistent(t, "cu_seqlens", CATEGORY_METADATA, DTYPE_I32, size_plus(t->z, sequences, 1),
               size_const(t->z, 1), size_slot(t->z, SLOT_MICRO_BATCH),
               "Megatron packed_seq_params.py");
}

void train_extras(struct train *t)
{
    const struct stack *stack = &t->plan->stack;
    struct size one = size_const(t->z, 1), hidden = t->d.width[COL_HIDDEN];
    enum dtype dtype = t->plan->precision.activations;
    if (stack->workspace_bytes)
        persistent(t, "gemm_workspaces", CATEGORY_WORKSPACE, DTYPE_INT8,
                   size_const(t->z, stack->workspace_bytes), one, one, "stack profile");
    if (t->d.facts & FACT_GATHER)
        persistent(t, "gathered_sequence", CATEGORY_COMMUNICATION, dtype, t->d.rows[ROW_FULL],
                   hidden, one, "Megatron GlobalMemoryBuffer \"mpu\"");
    if (t->plan->parallel.pp > 1)
        persistent(t, "pipeline_gradient", CATEGORY_COMMUNICATION, dtype, t->d.rows[ROW_LOCAL],
                   t->d.width[plan_has_block_sums(t->plan) ? COL_BLOCK_VALUES : COL_STREAMS],
                   one, "gradient of the last micro-batch, held by the schedule");
    add_offsets(t);
    if (t->d.facts & FACT_RECIPE)
        add_recipe_weights(t);
    else if (t->plan->precision.compute == COMPUTE_FP8 && !plan_casts_products(t->plan))
        add_fp8_weights(t);
    if (stack->wgrad_placeholders && !lora_is_on(t->plan))
        add_placeholders(t);
}
