/* Rules between keys of architectures of 2026: which layers have windows, which no experts.
 * Sources: configuration and modelling classes of github.com/huggingface/transformers 5.23.0,
 * src/transformers/models/{afmoe,exaone_moe,laguna,mellum,granitemoe_swa,flint,kolibri1}. */
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* Every n-th layer is full, the others have windows. */
static enum layer_type every_nth(uint64_t i, uint64_t n)
{
    return n && (i + 1) % n == 0 ? LAYER_FULL : LAYER_WINDOW;
}

static enum layer_type afmoe(const struct node *config, uint64_t i)
{
    return every_nth(i, import_count(config, "global_attn_every_n_layers", 4));
}

enum status import_finish_afmoe(const struct node *config, struct model *model, struct err *err)
{
    return import_layers(config, model, afmoe, err);
}

/* is_moe_layer of the published file says what mlp_layer_types does; its older name of
 * first_k_dense_replace is read where neither stands. */
enum status import_finish_exaone_moe(const struct node *config, struct model *model,
                                     struct err *err)
{
    if (!import_value(config, "first_k_dense_replace", NODE_SCALAR))
        model->dense_layers =
            import_count(config, "first_last_k_dense_replace", model->dense_layers);
    TRY(import_dense_first(config, "is_moe_layer", "false", model, err));
    return import_finish_exaone4_windows(config, model, err);
}

static enum layer_type all_full(const struct node *config, uint64_t i)
{
    (void)config;
    (void)i;
    return LAYER_FULL;
}

/* Full layers but for those that layer_types names; without one there is no window. */
enum status import_finish_windowed(const struct node *config, struct model *model,
                                   struct err *err)
{
    TRY(import_layers(config, model, all_full, err));
    if (!model->layer_types.n)
        model->attention.window = 0;
    return STATUS_OK;
}

static enum layer_type fourth_from_first(const struct node *config, uint64_t i)
{
    (void)config;
    return i % 4 == 0 ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_granite_swa(const struct node *config, struct model *model,
                                      struct err *err)
{
    if (model->moe.shared_intermediate)
        model->moe.shared_experts = 1;
    return import_layers(config, model, fourth_from_first, err);
}

static enum layer_type flint(const struct node *config, uint64_t i)
{
    bool last = i + 1 == import_count(config, "num_hidden_layers", 0);
    return i < 2 || i % 4 == 1 || last ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_granite_dense_swa(const struct node *config, struct model *model,
                                            struct err *err)
{
    model->dense_layers = model->layers;
    return import_layers(config, model, fourth_from_first, err);
}

enum status import_finish_flint(const struct node *config, struct model *model, struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    return import_layers(config, model, flint, err);
}

static enum layer_type kolibri(const struct node *config, uint64_t i)
{
    (void)config;
    return every_nth(i, 5);
}

enum status import_finish_kolibri(const struct node *config, struct model *model,
                                  struct err *err)
{
    return import_layers(config, model, kolibri, err);
}

/* ---- Laguna ---- */

/* One number of heads for the layers of each type: num_attention_heads_per_layer. */
static enum status read_heads(const struct node *config, struct model *model, struct err *err)
{
    const struct enum_list types = model->layer_types;
    const struct node *list =
        import_value(config, "num_attention_heads_per_layer", NODE_SEQUENCE);
    uint64_t of[2] = {0}, i = 0; /* full, window */
    for (const struct node *item = list ? list->first : NULL; item && i < model->layers;
         item = item->next, i++) {
        bool window = types.n && types.value[i % types.n] == LAYER_WINDOW;
        uint64_t heads;
        if (item->kind != NODE_SCALAR || !number_count(item->text, &heads) || !heads ||
            (of[window] && of[window] != heads))
            return err_at(err, item->mark,
                          "'num_attention_heads_per_layer' must have one number of heads for "
                          "full layers and one for those with windows");
        of[window] = heads;
    }
    model->attention.heads = of[0] ? of[0] : model->attention.heads;
    model->window.heads = of[1];
    return STATUS_OK;
}

/* gating: true or "per-head", a gate a head; "per-element", one a value. */
enum status import_finish_laguna(const struct node *config, struct model *model,
                                 struct err *err)
{
    const struct node *gating = import_value(config, "gating", NODE_SCALAR);
    bool element = gating && text_equal(gating->text, "per-element");
    model->attention.output_gate = element;
    model->attention.head_gate = !element && !(gating && text_equal(gating->text, "false"));
    TRY(import_finish_interleaved(config, model, err));
    TRY(import_finish_windowed(config, model, err));
    return read_heads(config, model, err);
}
