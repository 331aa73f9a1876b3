/* Models whose window layers have heads of their own: Gemma 4, MiMo-V2, Step-3.5 and 3.7; and
 * Step-3, whose layers are named likewise.
 * Sources: github.com/huggingface/transformers, src/transformers/models (gemma4 at 008e5743,
 * step3p7); github.com/ml-explore/mlx-lm at d78bf58e, mlx_lm/models/mimo_v2_flash.py. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* ---- families ---- */

static enum layer_type sixth_full(const struct node *config, uint64_t i)
{
    (void)config;
    return (i + 1) % 6 == 0 ? LAYER_FULL : LAYER_WINDOW;
}

/* The last n layers read keys and values of the last layer of their own kind before them. */
static enum status lend_keys(const struct node *said, uint64_t n, struct model *model,
                             struct err *err)
{
    const struct enum_list list = model->layer_types;
    struct enum_list all = {.n = model->layers};
    if (n > all.n || all.n > PLAN_LAYERS)
        return err_at(err, said->mark,
                      n > all.n ? "'num_kv_shared_layers' is more than the %llu layers"
                                : "%llu layers of several types are too many",
                      (unsigned long long)all.n);
    for (uint64_t i = 0; i < all.n; i++) {
        enum layer_type type = list.n ? (enum layer_type)list.value[i % list.n] : LAYER_FULL;
        bool borrows = i >= all.n - n;
        if (borrows && !memchr(all.value, (int)type, all.n - n))
            return err_at(err, said->mark,
                          "of the %llu layers before those that share keys none is of the type "
                          "of layer %llu",
                          (unsigned long long)(all.n - n), (unsigned long long)i + 1);
        all.value[i] = (uint8_t)(!borrows             ? type
                                 : type == LAYER_FULL ? LAYER_BORROW
                                                      : LAYER_WINDOW_BORROW);
    }
    model->layer_types = all;
    return STATUS_OK;
}

/* Some have a network twice as wide. */
static enum status read_borrowers(const struct node *config, struct model *model,
                                  struct err *err)
{
    const struct node *wide = import_value(config, "use_double_wide_mlp", NODE_SCALAR);
    uint64_t n = import_count(config, "num_kv_shared_layers", 0);
    if (!n)
        return STATUS_OK;
    if (wide && text_equal(wide->text, "true"))
        model->borrow_intermediate = 2 * model->dense_intermediate;
    return lend_keys(import_value(config, "num_kv_shared_layers", NODE_SCALAR), n, model, err);
}

/* num_global_key_value_heads counts only where keys are values. The MLP beside the experts is
 * one more expert that every token passes, with three norms more. */
enum status import_finish_gemma4(const struct node *config, struct model *model,
                                 struct err *err)
{
    struct attention *a = &model->attention;
    const struct node *block = import_value(config, "enable_moe_block", NODE_SCALAR);
    if (a->k_eq_v)
        a->kv_heads = import_count(config, "num_global_key_value_heads", a->kv_heads);
    TRY(import_layers(config, model, sixth_full, err));
    TRY(read_borrowers(config, model, err));
    if (!model->layer_embedding.width)
        model->layer_embedding.vocab = 0;
    if (!block || !text_equal(block->text, "true")) {
        model->moe.experts = model->moe.top_k = model->moe.intermediate = 0;
        model->dense_layers = model->layers;
        return STATUS_OK;
    }
    if (!model->moe.experts || !model->moe.top_k || !model->moe.intermediate)
        return err_at(err, block->mark,
                      "'enable_moe_block' needs 'num_experts', 'top_k_experts' and "
                      "'moe_intermediate_size'");
    model->moe.shared_experts = 1;
    model->moe.shared_intermediate = model->dense_intermediate;
    model->moe.router.learned_scale = true;
    model->norms_per_layer = 7;
    return STATUS_OK;
}

static enum layer_type hybrid_layer(const struct node *config, uint64_t i)
{
    return import_item_is(config, "hybrid_layer_pattern", i, "1") ? LAYER_WINDOW : LAYER_FULL;
}

enum status import_finish_mimo(const struct node *config, struct model *model, struct err *err)
{
    if (!model->attention.window)
        model->attention.window = import_count(config, "sliding_window_size", 0);
    /* transformers writes none of that and has it in its code (modeling_mimo_v2_flash.py) */
    if (!import_value(config, "hybrid_layer_pattern", NODE_SEQUENCE) &&
        !model->window.kv_heads) {
        model->window.kv_heads = 2 * model->attention.kv_heads;
        model->window.sinks = true;
    }
    TRY(import_dense_first(config, "moe_layer_freq", "0", model, err));
    return import_layers(config, model, hybrid_layer, err);
}

static enum layer_type all_full(const struct node *config, uint64_t i)
{
    (void)config;
    (void)i;
    return LAYER_FULL;
}

/* moe_layers_enum "3,4,5": the layers with experts, one after the other; the first of them and
 * the one behind the last. False: they are not. */
static bool read_range(const char *text, uint64_t *first, uint64_t *behind)
{
    uint64_t next = *first = strtoull(text, NULL, 10);
    while (*text) {
        char *end;
        if (strtoull(text, &end, 10) != next++ || end == text)
            return false;
        text = end + strspn(end, ", ");
    }
    *behind = next;
    return true;
}

/* From the first of them on. */
static enum status read_enum(const struct node *config, struct model *model, struct err *err)
{
    const struct node *said = import_value(config, "moe_layers_enum", NODE_SCALAR);
    uint64_t first, next;
    if (!said || !*said->text)
        return STATUS_OK;
    if (!read_range(said->text, &first, &next) || next != model->layers)
        return err_at(err, said->mark,
                      "'moe_layers_enum' must name every layer from its first to the last of "
                      "%llu",
                      (unsigned long long)model->layers);
    model->dense_layers = first;
    return STATUS_OK;
}

/* What transformers and others write beside the checkpoint's own names. */
static void read_other_names(const struct node *config, struct model *model)
{
    const struct {
        uint64_t *value;
        const char *names[3];
    } rows[] = {
        {&model->attention.kv_heads, {"num_key_value_heads"}},
        {&model->window.heads, {"num_sliding_attention_heads"}},
        {&model->moe.experts, {"n_routed_experts", "num_experts", "num_local_experts"}},
        {&model->moe.top_k, {"num_experts_per_tok"}},
        {&model->dense_layers, {"first_k_dense_replace"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned j = 0; j < 3 && rows[i].names[j] && !*rows[i].value; j++)
            *rows[i].value = import_count(config, rows[i].names[j], 0);
    const struct node *score = import_value(config, "scoring_func", NODE_SCALAR);
    if (score && text_equal(score->text, "sigmoid"))
        model->moe.router.score = SCORE_SIGMOID;
}

enum status import_finish_step(const struct node *config, struct model *model, struct err *err)
{
    read_other_names(config, model);
    TRY(read_enum(config, model, err));
    if (!model->moe.experts)
        return err_at(err, config->mark, "configuration has no 'moe_num_experts'");
    if (model->moe.shared_intermediate)
        model->moe.shared_experts = 1;
    model->mtp_window =
        import_item_is(config, "layer_types", model->layers, "sliding_attention");
    return import_layers(config, model, all_full, err);
}

/* The first layer is dense where nothing is said; dense ones behind those with experts are
 * counted among the first (noted). */
enum status import_finish_step3(const struct node *config, struct model *model, struct err *err)
{
    struct attention *a = &model->attention;
    const struct node *said = import_value(config, "moe_layers_enum", NODE_SCALAR);
    uint64_t first = 1, behind = model->layers;
    if (said && (!read_range(said->text, &first, &behind) || behind > model->layers))
        return err_at(err, said->mark,
                      "'moe_layers_enum' must name layers one after the other, of %llu",
                      (unsigned long long)model->layers);
    model->dense_layers = model->layers - (behind - first);
    if (!a->q_lora_rank)
        a->q_lora_rank = a->head_dim;
    return STATUS_OK;
}
