/* Rules between the keys of dense models that no table of fields can say. Sources: the
 * configuration and modelling classes of github.com/huggingface/transformers
 * (src/transformers/models/{falcon,hyperclovax,lfm2,mpt,phi,stablelm}). */
#include "base/checked.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* A switch, or `otherwise` where it is not there. */
static bool is_on(const struct node *config, const char *key, bool otherwise)
{
    return import_value(config, key, NODE_SCALAR) ? import_is_true(config, key) : otherwise;
}

enum status import_finish_phi(const struct node *config, struct model *model, struct err *err)
{
    const struct node *norms = import_value(config, "qk_layernorm", NODE_SCALAR);
    if (norms && import_is_true(config, "qk_layernorm"))
        return err_at(err, norms->mark,
                      "'qk_layernorm' must be false: norms of heads with biases are not "
                      "modelled");
    return import_finish_llama(config, model, err);
}

/* Old layers have one head of keys (multi_query) and one norm where attention and network stand
 * side by side; new ones as many as num_kv_heads says, and two norms unless told one
 * (FalconAttention, FalconDecoderLayer). */
enum status import_finish_falcon(const struct node *config, struct model *model,
                                 struct err *err)
{
    struct attention *a = &model->attention;
    bool overflow = false, fresh = is_on(config, "new_decoder_architecture", false);
    bool beside = is_on(config, "parallel_attn", true);
    if (!fresh)
        a->kv_heads = is_on(config, "multi_query", true) ? 1 : a->heads;
    if (fresh)
        model->norms_per_layer = import_count(config, "num_ln_in_parallel_attn", 2);
    else
        model->norms_per_layer = beside ? 1 : 2;
    model->side_by_side = fresh || beside;
    if (!model->dense_intermediate)
        model->dense_intermediate = checked_mul(4, model->hidden, &overflow);
    return import_finish_llama(config, model, err);
}

enum status import_finish_gptj(const struct node *config, struct model *model, struct err *err)
{
    bool overflow = false;
    if (!model->dense_intermediate)
        model->dense_intermediate = checked_mul(4, model->hidden, &overflow);
    return import_finish_llama(config, model, err);
}

/* Dense layers come first, with a period of their own; each period's last layer is full. */
static enum layer_type cohere2_moe(const struct node *config, uint64_t i)
{
    uint64_t dense = import_count(config, "first_k_dense_replace", 0), every;
    if (i < dense)
        every = import_count(config, "prefix_dense_sliding_window_pattern", 1);
    else
        every = import_count(config, "sliding_window_pattern", 4);
    return every && ((i < dense ? i : i - dense) + 1) % every == 0 ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_cohere2_moe(const struct node *config, struct model *model,
                                      struct err *err)
{
    if (!model->dense_intermediate)
        model->dense_intermediate = model->moe.intermediate;
    return import_layers(config, model, cohere2_moe, err);
}

enum status import_finish_stablelm(const struct node *config, struct model *model,
                                   struct err *err)
{
    if (model->side_by_side)
        model->norms_per_layer = 1;
    return import_finish_llama(config, model, err);
}

/* Two thirds of what is said, times a factor, up to a multiple (Lfm2MLP). block_ff_dim is the
 * older name of intermediate_size. */
static enum status adjusted_width(const struct node *config, struct model *model,
                                  struct err *err)
{
    const struct node *factor = import_value(config, "block_ffn_dim_multiplier", NODE_SCALAR);
    uint64_t multiple = import_count(config, "block_multiple_of", 256);
    uint64_t width = import_count(config, "block_ff_dim", model->dense_intermediate);
    model->dense_intermediate = width;
    if (!is_on(config, "block_auto_adjust_ff_dim", true))
        return STATUS_OK;
    if (factor && !text_equal(factor->text, "1.0") && !text_equal(factor->text, "1"))
        return err_at(err, factor->mark,
                      "'block_ffn_dim_multiplier' must be 1: other widths are not read");
    width = 2 * width / 3;
    model->dense_intermediate = multiple ? round_up(width, multiple) : width;
    return STATUS_OK;
}

enum status import_finish_lfm2_dense(const struct node *config, struct model *model,
                                     struct err *err)
{
    model->dense_layers = model->layers;
    TRY(adjusted_width(config, model, err));
    return import_finish_lfm2(config, model, err);
}

/* Norms behind attention and network, too (transformers hyperclovax/modeling_hyperclovax.py).
 */
enum status import_finish_hyperclovax(const struct node *config, struct model *model,
                                      struct err *err)
{
    model->norms_per_layer = is_on(config, "use_post_norm", true) ? 4 : 2;
    return import_finish_llama(config, model, err);
}

enum status import_finish_qwen(const struct node *config, struct model *model, struct err *err)
{
    model->dense_intermediate /= 2;
    return import_finish_llama(config, model, err);
}

/* What was read as the network's width is its ratio to the hidden size. */
enum status import_finish_mpt(const struct node *config, struct model *model, struct err *err)
{
    const struct node *bare = import_value(config, "no_bias", NODE_SCALAR);
    bool overflow = false;
    if (bare && !import_is_true(config, "no_bias"))
        return err_at(err, bare->mark, "'no_bias' must be true: MPT's biases are not modelled");
    model->dense_intermediate =
        checked_mul(model->dense_intermediate, model->hidden, &overflow);
    return import_finish_llama(config, model, err);
}
