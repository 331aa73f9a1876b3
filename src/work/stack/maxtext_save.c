/* MaxText's saved tensors: what rematerialisation policies keep from forward to backward.
 *
 * Published totals of other policies differ from `full` by exactly these tensors
 * (training-model.md section 2: 1421.0 GiB for mlpwo, 870.8 for mlpwi + context + dense MLP).
 */
#include <stdio.h>

#include "base/text.h"
#include "work/stack/maxtext.h"
#include "work/stack/stacks.h"

/* Where a tensor waits between its layer's passes. */
enum place { ON_DEVICE, ON_DEVICE_PINNED, ON_HOST };

/* In host memory: all layers' there, and on the device the one at hand, on its way out or back
 * (jax.checkpoint save_and_offload_only_these_names; base.yml: offload). */
static void offload(const struct maxtext_layer *layer, enum segment segment, const char *name,
                    unsigned n_dims, const struct size *dims)
{
    const struct buffer *buffer =
        maxtext_declare(layer, segment, arena_printf(layer->work->arena, "reloaded_%s", name),
                        CATEGORY_CHECKPOINT, 0, n_dims, dims);
    const struct segment_use *use = &layer->work->use[segment];
    struct size copies = size_mul(layer->z, use->repeat, use->in_flight);
    work_host(layer->work, name,
              size_ceil_div(layer->z, size_mul(layer->z, buffer->bytes, copies),
                            size_const(layer->z, 1000)),
              "MaxText base.yml: offload");
}

static void save(const struct maxtext_layer *layer, enum segment segment, const char *name,
                 enum place place, unsigned n_dims, const struct size *dims)
{
    if (place == ON_HOST) {
        offload(layer, segment, name, n_dims, dims);
        return;
    }
    struct buffer *buffer =
        maxtext_declare(layer, segment, name, CATEGORY_CHECKPOINT, 0, n_dims, dims);
    buffer->life = LIFE_SAVED;
    buffer->pinned = place == ON_DEVICE_PINNED;
}

/* The residual stream at the start of every layer, whatever else is recomputed. */
static void save_residual(const struct maxtext_layer *layer, enum place place)
{
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (layer->kinds[k])
            save(layer, segment_of_kind((enum layer_kind)k), "layer_input", place, 2,
                 (struct size[]){layer->tokens, layer->between});
}

/* Names MaxText's remat policies know. `moe` tensors have routed rows; the output of the dense
 * MLP carries no name (published totals grow by the MoE layers' outputs alone). */
enum saved_width { SAVED_Q, SAVED_K, SAVED_V, SAVED_CONTEXT, SAVED_DENSE, SAVED_I, SAVED_H };

static const struct saved_name {
    const char *name;
    bool routed;
    enum saved_width width;
    const char *tensor;
} saved_names[] = {
    {"query_proj", false, SAVED_Q, "saved_q"},
    {"key_proj", false, SAVED_K, "saved_k"},
    {"value_proj", false, SAVED_V, "saved_v"},
    {"qkv_proj", false, SAVED_Q, "saved_q"},
    {"qkv_proj", false, SAVED_K, "saved_k"},
    {"qkv_proj", false, SAVED_V, "saved_v"},
    {"context", false, SAVED_CONTEXT, "saved_context"},
    {"out_proj", false, SAVED_H, "saved_attention_out"},
    {"mlpwi", false, SAVED_DENSE, "saved_mlp_gate"},
    {"mlpwi", false, SAVED_DENSE, "saved_mlp_up"},
    {"mlpwi", true, SAVED_I, "saved_expert_gate"},
    {"mlpwi", true, SAVED_I, "saved_expert_up"},
    {"mlpwi_0", false, SAVED_DENSE, "saved_mlp_gate"},
    {"mlpwi_0", true, SAVED_I, "saved_expert_gate"},
    {"mlpwi_1", false, SAVED_DENSE, "saved_mlp_up"},
    {"mlpwi_1", true, SAVED_I, "saved_expert_up"},
    {"mlpwo", true, SAVED_H, "saved_expert_out"},
    {"moe_mlpwi_0", true, SAVED_I, "saved_expert_gate"},
    {"moe_mlpwi_1", true, SAVED_I, "saved_expert_up"},
    {"moe_mlpwi", true, SAVED_I, "saved_expert_gate"},
    {"moe_mlpwi", true, SAVED_I, "saved_expert_up"},
    {"moe_mlpwo", true, SAVED_H, "saved_expert_out"},
};

/* Whether a layer of this kind has the tensor. */
static bool has_saved(enum layer_kind kind, const struct saved_name *saved)
{
    if (saved->routed)
        return kind_ffn(kind) == FFN_MOE;
    return saved->width == SAVED_DENSE ? kind_ffn(kind) == FFN_DENSE
                                       : kind_mixer(kind) != MIXER_NONE;
}

static struct size saved_width(const struct maxtext_layer *layer, enum layer_kind kind,
                               const struct saved_name *saved)
{
    struct maxtext_layer own = *layer;
    maxtext_take(layer->plan, &own, kind_mixer(kind));
    const struct size widths[] = {own.q,           own.k,     own.v,      own.context,
                                  own.dense_inter, own.inter, own.between};
    return widths[saved->width];
}

static void save_named(const struct maxtext_layer *layer, const struct saved_name *saved,
                       enum place place)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!layer->kinds[k] || !has_saved(kind, saved))
            continue;
        struct size width = saved_width(layer, kind, saved);
        struct size dims[3] = {layer->tokens, width};
        if (saved->routed) {
            dims[0] = layer->rows[0];
            dims[1] = dims[2] = layer->rows[1];
            dims[layer->n_rows] = width;
        }
        save(layer, segment_of_kind(kind), saved->tensor, place,
             saved->routed ? layer->n_rows + 1 : 2, dims);
    }
}

/* The residual stream by MaxText's name for it, which may wait in host memory. */
static const char residual[] = "decoder_layer_input";

static enum status save_user_names(const struct word_list *list, const char *key,
                                   const struct maxtext_layer *layer, enum place place,
                                   struct err *err)
{
    for (uint64_t i = 0; i < list->n; i++) {
        bool known = place == ON_HOST && text_equal(list->word[i], residual);
        for (size_t j = 0; j < sizeof saved_names / sizeof *saved_names; j++) {
            if (!text_equal(saved_names[j].name, list->word[i]))
                continue;
            known = true;
            save_named(layer, &saved_names[j], place);
        }
        if (!known) {
            err_set(err, STATUS_INPUT, "%s: stack maxtext knows no tensor \"%s\"", key,
                    list->word[i]);
            return err_hint(err,
                            "known: query_proj, key_proj, value_proj, qkv_proj, context, "
                            "out_proj, mlpwi, mlpwi_0, mlpwi_1, mlpwo, moe_mlpwi, moe_mlpwi_0, "
                            "moe_mlpwi_1, moe_mlpwo");
        }
    }
    return STATUS_OK;
}

/* Modules whose results a policy's name keeps, so that they do not run again. */
#define QKV (MODULE_BIT(DOWN) | MODULE_BIT(UP) | MODULE_BIT(ROPE))
static const struct again_name kept_modules[] = {
    {"query_proj", 0, 0}, /* keys and values run again, and with them the latents of both */
    {"qkv_proj", QKV, QKV},
    {"context", MODULE_BIT(ATTENTION), MODULE_BIT(ATTENTION)},
    {"out_proj", MODULE_BIT(PROJECTION), MODULE_BIT(PROJECTION)},
    {"mlpwi", MODULE_BIT(GATE_UP), MODULE_BIT(GATE_UP)},
    {"mlpwo", 0, MODULE_BIT(EXPERT_DOWN)},
    {"moe_mlpwi", 0, MODULE_BIT(GATE_UP)},
    {"moe_mlpwo", 0, MODULE_BIT(EXPERT_DOWN)},
    {NULL, 0, 0},
};

/* Names that recompute none and selective keep, by kind. */
static unsigned names_kept(const struct plan *plan)
{
    return plan->recompute.kind == RECOMPUTE_NONE        ? 4
           : plan->recompute.kind == RECOMPUTE_SELECTIVE ? 3
                                                         : 0;
}

static const char *const kept[] = {"qkv_proj", "context", "mlpwi", "mlpwo"};

/* Policies that keep nothing else, or what they name. */
static bool reads_offload(const struct plan *plan)
{
    return plan->recompute.kind == RECOMPUTE_FULL || plan->recompute.kind == RECOMPUTE_SAVE;
}

/* A rematerialised layer runs again but for what its policy keeps. */
void stack_maxtext_again(const struct plan *plan, struct again *again)
{
    struct word_list words = {.n = names_kept(plan)};
    for (unsigned i = 0; i < words.n; i++)
        snprintf(words.word[i], sizeof words.word[i], "%s", kept[i]);
    again_all(again, MODULES_ALL);
    again_words(again, &words, kept_modules, true);
    if (plan->recompute.kind == RECOMPUTE_SAVE)
        again_words(again, &plan->recompute.save, kept_modules, true);
    if (reads_offload(plan))
        again_words(again, &plan->recompute.offload, kept_modules, true);
}

/* recompute: none keeps every named tensor; selective keeps what is cheap to keep and dear to
 * recompute: attention's projections and output, the gate and up outputs. */
enum status maxtext_save(const struct plan *plan, const struct maxtext_layer *layer,
                         struct err *err)
{
    unsigned n = names_kept(plan);
    const struct word_list *away = &plan->recompute.offload;
    bool moved = false;
    for (uint64_t i = 0; i < away->n && reads_offload(plan); i++)
        moved = moved || text_equal(away->word[i], residual);
    save_residual(layer, moved ? ON_HOST : ON_DEVICE);
    for (unsigned i = 0; i < n; i++)
        for (size_t j = 0; j < sizeof saved_names / sizeof *saved_names; j++)
            if (text_equal(saved_names[j].name, kept[i]))
                save_named(layer, &saved_names[j], ON_DEVICE_PINNED);
    if (reads_offload(plan))
        TRY(save_user_names(away, "recompute.offload", layer, ON_HOST, err));
    return plan->recompute.kind == RECOMPUTE_SAVE
               ? save_user_names(&plan->recompute.save, "recompute.save", layer,
                                 ON_DEVICE_PINNED, err)
               : STATUS_OK;
}
