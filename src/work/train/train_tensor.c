/* Tensors of a training layer as buffers: where each lives from forward to backward, on the
 * device, in host memory, in pages, cut over ranks, or nowhere. See train.h. */
#include "base/text.h"
#include "plan/derive.h"
#include "work/list/dtype.h"
#include "work/piece/recipe.h"
#include "work/stack/megatron.h"
#include "work/train/train.h"

static enum sizing_rule rule_of(const struct train *t, enum row rows)
{
    if (rows == ROW_RECEIVED_TOKENS)
        return t->received_rule;
    return rows == ROW_RECEIVED || rows == ROW_COMPUTED ? t->routed : RULE_FIXED;
}

/* Saved as the copy that a recipe's product makes of its input. */
static bool by_recipe(const struct train *t, const struct train_tensor *tensor)
{
    bool one =
        tensor->product_input == PRODUCT_INPUT ||
        (tensor->product_input == PRODUCT_INPUT_GQA && t->d.facts & FACT_GQA) ||
        (tensor->product_input == PRODUCT_INPUT_PROJECTION && t->d.facts & FACT_DELAYED) ||
        (tensor->product_input == PRODUCT_INPUT_UP && !(t->drops & TRAIN_MLA_UP));
    return one && t->d.facts & FACT_RECIPE;
}

static const struct dims *dims_of(const struct train *t, enum segment segment)
{
    return &t->mixer[kind_mixer(segment_kind(segment))];
}

/* Of copies saved in layers with a recipe and in layers without, the mean; of one layer's alone
 * the larger. A copy that the recipe itself makes is missing in the others. */
static struct size over_layers(struct train *t, const struct train_tensor *tensor,
                               enum segment segment, enum life life, struct size copy)
{
    struct sizes *z = t->z;
    const struct segment_use *use = &t->work->use[segment];
    struct size rows = t->d.rows[tensor->rows], one = size_const(z, 1);
    struct size elements = size_mul(z, rows, dims_of(t, segment)->width[tensor->width]);
    struct size wide = size_times(z, elements, dtype_bits(t->plan->precision.activations) / 8);
    if (tensor->when & FACT_RECIPE)
        wide = size_const(z, 0);
    if (life == LIFE_TRANSIENT)
        return size_max(z, copy, size_mul(z, wide, size_min(z, use->plain, one)));
    struct size all = size_mul(z, use->back, use->in_flight);
    struct size plain = size_min(z, all, size_mul(z, use->plain, use->plain_in_flight));
    struct size sum =
        size_add(z, size_mul(z, copy, size_sub(z, all, plain)), size_mul(z, wide, plain));
    return size_ceil_div(z, sum, size_max(z, all, one));
}

static void add_life(struct train *t, const struct train_tensor *tensor, const char *name,
                     enum segment segment, enum life life, unsigned first, unsigned last)
{
    struct size rows = t->d.rows[tensor->rows];
    struct size width = dims_of(t, segment)->width[tensor->width];
    enum dtype dtype =
        tensor->dtype == DTYPE_NONE ? t->plan->precision.activations : tensor->dtype;
    struct size bytes = size_const(t->z, 0); /* by shape */
    if (by_recipe(t, tensor)) {
        dtype = recipe_format(t->plan);
        bytes = recipe_input_bytes(t->plan, t->z, rows, width);
        if (recipe_skips(t->plan))
            bytes = over_layers(t, tensor, segment, life, bytes);
    } else if (tensor->product_input == PRODUCT_INPUT &&
               t->plan->precision.compute == COMPUTE_FP8 && !plan_casts_products(t->plan)) {
        dtype = DTYPE_FP8;
    }
    work_buffer(t->work, (struct buffer){
                             .name = name,
                             .category = tensor->category,
                             .segment = segment,
                             .dtype = dtype,
                             .n_dims = tensor->width == COL_ONE ? 1 : 2,
                             .dims = {rows, width},
                             .bytes = bytes,
                             .rule = rule_of(t, tensor->rows),
                             .life = life,
                             .first = (uint16_t)(t->base[segment] + first),
                             .last = (uint16_t)(t->base[segment] + last),
                             .source = tensor->source,
                         });
}

/* The buffer that add_life just added. */
static struct buffer *latest(struct train *t)
{
    return &t->work->buffers[t->work->n_buffers - 1];
}

/* What waits in host memory of a layer is on its way back while the layer before it runs
 * backward (one layer is reloaded ahead). */
static void add_reloaded(struct train *t, const struct train_tensor *tensor,
                         enum segment segment)
{
    const char *reloaded = arena_join(t->work->arena, "reloaded_", tensor->name);
    add_life(t, tensor, reloaded, segment, LIFE_TRANSIENT, MODULES, 2 * MODULES - 1);
}

/* Waits in host memory: here while its layer runs; of layers that do not run again it stays
 * (transformers modeling_utils.py, activation_checkpointing_enable: their input is nobody's).
 */
static void add_offloaded(struct train *t, const struct train_tensor *tensor,
                          enum segment segment)
{
    add_life(t, tensor, tensor->name, segment, LIFE_TRANSIENT, tensor->first, tensor->last);
    add_reloaded(t, tensor, segment);
    const struct segment_use *use = &t->work->use[segment];
    struct size layers = use->back;
    if (t->some && plan_is_huggingface(t->plan)) {
        add_life(t, tensor, tensor->name, segment, LIFE_SAVED, tensor->first, tensor->last);
        latest(t)->some = true;
        layers = size_sub(t->z, layers, use->kept);
    }
    struct size copies = size_mul(t->z, layers, use->in_flight);
    work_host(
        t->work, tensor->name,
        size_ceil_div(t->z, size_mul(t->z, latest(t)->bytes, copies), size_const(t->z, 1000)),
        tensor->source);
}

/* ---- whole layers in host memory (Megatron cpu_offloading_num_layers) ---- */

/* Saved on the device in the layers behind them. Where no layer of the kind is, the layer at
 * hand has its copy all the same. */
static void add_away(struct train *t, const struct train_tensor *tensor, enum segment segment)
{
    enum layer_kind kind = segment_kind(segment);
    uint64_t count[KIND_COUNT] = {0};
    uint16_t away = t->away[kind];
    model_layers(&t->plan->model, 0, t->plan->model.layers, count);
    add_life(t, tensor, tensor->name, segment, count[kind] > away ? LIFE_SAVED : LIFE_TRANSIENT,
             tensor->first, tensor->last);
    latest(t)->away = away;
    add_reloaded(t, tensor, segment);
    latest(t)->away = away;
    work_host(t->work, tensor->name, size_times(t->z, latest(t)->bytes, away),
              "TransformerEngine cpu_offload.py: all that a layer saves");
}

/* ---- inputs that tp ranks share out ---- */

/* Of what full recomputation keeps, a part each; the whole while its layer runs
 * (Megatron tensor_parallel/random.py, CheckpointFunction; DeepSpeed
 * activation_checkpointing/checkpointing.py, partition_activations). */
static void add_distributed(struct train *t, const struct train_tensor *tensor,
                            enum segment segment)
{
    struct train part = *t;
    add_life(t, tensor, arena_join(t->work->arena, "whole_", tensor->name), segment,
             LIFE_TRANSIENT, tensor->first, tensor->last);
    part.d.rows[tensor->rows] = /* its rows are cut, as good as its elements */
        size_ceil_div(t->z, t->d.rows[tensor->rows], size_slot(t->z, SLOT_TP));
    if (tensor->offload & t->offloads)
        add_offloaded(&part, tensor, segment);
    else
        add_life(&part, tensor, tensor->name, segment, LIFE_SAVED, tensor->first, tensor->last);
}

/* Whether recomputation drops a saved tensor in every layer. */
static bool is_dropped(const struct train *t, const struct train_tensor *tensor)
{
    if (!tensor->saved || tensor->dropped_by & TRAIN_KEPT)
        return false;
    if (t->drops & TRAIN_OPS)
        return !(tensor->dropped_by & TRAIN_OP_KEPT);
    return t->drops & (TRAIN_FULL_LAYER | tensor->dropped_by);
}

/* With two micro-batches at once, what the forward of one holds where its exchange comes back
 * stands beside the backward of the other. */
static bool is_beside(const struct train *t, const struct train_tensor *tensor,
                      enum segment segment)
{
    return plan_overlaps_experts(t->plan) && segment_has_experts(segment) &&
           tensor->first <= MODULE_UNPERMUTE && tensor->last >= MODULE_UNPERMUTE &&
           tensor->last < MODULES;
}

static bool is_stashed(const struct train *t, const struct train_tensor *tensor)
{
    return plan_is_megatron(t->plan) && t->plan->moe.paged_stash &&
           tensor->rows == ROW_COMPUTED && tensor->width != COL_ONE;
}

/* In pages between forward and backward; two layers' own copies: one is packed, one in use. */
static void add_stashed(struct train *t, const struct train_tensor *tensor,
                        enum segment segment)
{
    add_life(t, tensor, tensor->name, segment, LIFE_TRANSIENT, tensor->first, tensor->last);
    enum dtype dtype = latest(t)->dtype;
    latest(t)->count = size_const(t->z, 2);
    megatron_stash(t, tensor->name, dtype, t->d.width[tensor->width]);
}

/* Adds a saved tensor that is not, or not whole, on the device from forward to backward. */
static bool waits_elsewhere(struct train *t, const struct train_tensor *tensor,
                            enum segment segment)
{
    if (tensor->dropped_by & TRAIN_KEPT && plan_distributes_inputs(t->plan))
        add_distributed(t, tensor, segment);
    else if (t->away[segment_kind(segment)])
        add_away(t, tensor, segment);
    else if (tensor->offload & t->offloads)
        add_offloaded(t, tensor, segment);
    else
        return false;
    return true;
}

/* The layer at hand has its copy where every layer of the stage runs again; where one behind
 * them does not, it holds as much, and those that run again come after it in backward. */
static void add_remade(struct train *t, const struct train_tensor *tensor, enum segment segment)
{
    struct size one = size_const(t->z, 1), kept = t->work->use[segment].kept;
    add_life(t, tensor, arena_join(t->work->arena, "recomputed_", tensor->name), segment,
             LIFE_TRANSIENT, tensor->first, tensor->last);
    latest(t)->count = size_sub(t->z, one, size_min(t->z, kept, one));
}

/* Layers that run again together stand there together while their backward runs: those before
 * the layer at hand have what it has, and their inputs. */
static void add_together(struct train *t, const struct train_tensor *tensor,
                         enum segment segment)
{
    uint64_t together = plan_recomputes_together(t->plan);
    struct size one = size_const(t->z, 1), layers = t->work->use[segment].back;
    if (together <= 1)
        return;
    add_life(t, tensor, arena_join(t->work->arena, "together_", tensor->name), segment,
             LIFE_TRANSIENT, MODULES, 2 * MODULES - 1);
    latest(t)->count = size_sub(t->z, size_min(t->z, layers, size_const(t->z, together)),
                                size_min(t->z, layers, one));
}

/* What mla_up_proj is made again of stays, whatever its products keep. */
static bool is_made_again_of(const struct train *t, const struct train_tensor *tensor)
{
    bool row = tensor->product_input == PRODUCT_INPUT_GQA && t->d.facts & FACT_SHARED_KV;
    return t->drops & TRAIN_MLA_UP && (row || tensor->product_input == PRODUCT_INPUT_UP);
}

/* A dropped tensor lives twice: while forward reads it, and from its remaking to its last use.
 * Where whole modules run again, remaking and backward follow each other, so it lives once,
 * throughout; the first forward of that module holds less and never is the peak. */
static void add_tensor(struct train *t, const struct train_tensor *tensor, enum segment segment)
{
    bool dropped = is_dropped(t, tensor), kept = tensor->dropped_by & TRAIN_KEPT;
    bool whole = t->drops & (TRAIN_FULL_LAYER | TRAIN_OPS);
    bool sometimes = tensor->saved && !dropped && !kept && t->drop_every;
    const char *name = tensor->name;
    bool some = false;
    unsigned frozen = tensor->saved && !dropped && !is_made_again_of(t, tensor)
                          ? train_frozen_until(t, name, segment_kind(segment), &some)
                          : 0;
    if (tensor->saved && t->drops & tensor->dropped_by & TRAIN_STREAMS)
        return; /* with all others of a chunk: train_residual */
    if (frozen) {
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->first, frozen);
        if (some)
            add_life(t, tensor, name, segment, LIFE_SAVED, tensor->first, tensor->last);
        latest(t)->some = some;
        return;
    }
    if (dropped && tensor->until && !whole) {
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->first, tensor->until);
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->again, tensor->last);
        return;
    }
    if (!tensor->saved && is_beside(t, tensor, segment))
        add_life(t, tensor, arena_join(t->work->arena, "beside_", name), segment,
                 LIFE_TRANSIENT, MODULES, 2 * MODULES - 1);
    if (tensor->saved && !dropped && is_stashed(t, tensor)) {
        add_stashed(t, tensor, segment);
        return;
    }
    bool saved = tensor->saved && !dropped;
    if (saved && waits_elsewhere(t, tensor, segment))
        return;
    if (sometimes)
        add_life(t, tensor, arena_join(t->work->arena, "recomputed_", name), segment,
                 LIFE_TRANSIENT, tensor->first, tensor->last);
    if (saved && !kept && t->some)
        add_remade(t, tensor, segment);
    if (tensor->saved && (dropped || kept))
        add_together(t, tensor, segment);
    add_life(t, tensor, name, segment, saved ? LIFE_SAVED : LIFE_TRANSIENT, tensor->first,
             tensor->last);
    if (sometimes)
        latest(t)->drop_every = t->drop_every;
    latest(t)->some = saved && (kept ? plan_recomputes_together(t->plan) > 1 : t->some);
}

/* A kind of layer that the stage holds, and what the rows of a table ask of it. */
struct asked {
    enum layer_kind kind;
    unsigned segments, mix; /* IN_..., MIX_... */
    fact_set facts;
};

static unsigned ask_kinds(const struct train *t, unsigned mixers,
                          struct asked asked[KIND_COUNT])
{
    const fact_set mask = FACTS_OF_MIXER;
    unsigned n = 0;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        const struct dims *d = &t->mixer[kind_mixer(kind)];
        if (t->kinds[k] && d->mix & mixers)
            asked[n++] = (struct asked){kind, in_ffn(kind_ffn(kind)), d->mix,
                                        (t->d.facts & ~mask) | (d->facts & mask)};
    }
    return n;
}

static bool applies(const struct train_tensor *tensor, const struct asked *to)
{
    return tensor->segments & to->segments && (tensor->when & to->facts) == tensor->when &&
           (!tensor->mixers || tensor->mixers & to->mix);
}

void train_mixer(struct train *t, unsigned mixers, const struct train_tensor *tensors, size_t n)
{
    struct asked asked[KIND_COUNT];
    unsigned n_kinds = ask_kinds(t, mixers, asked);
    for (size_t i = 0; i < n; i++) {
        bool empty = size_is_zero(t->z, t->d.rows[tensors[i].rows]);
        for (unsigned k = 0; k < n_kinds && !empty; k++)
            if (applies(&tensors[i], &asked[k]))
                add_tensor(t, &tensors[i], segment_of_kind(asked[k].kind));
    }
}

void train_tensors(struct train *t, const struct train_tensor *tensors, size_t n)
{
    train_mixer(t, MIX_ALL, tensors, n);
}
