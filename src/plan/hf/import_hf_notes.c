/* Fields of config.json that change memory and are not part of the model; see import_hf.h. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf.h"
#include "plan/hf/import_hf_format.h"
#include "plan/hf/import_hf_table.h"
#include "plan/layers.h"

static const struct unmodelled {
    const char *key, *what;
} fields[] = {
    {"vision_config", "the vision encoder is of no known kind or incomplete: it is not counted "
                      "(model.encoder.* says it)"},
    {"moe_latent_size", "experts on a latent width: they are counted on the hidden size"},
    {"num_nextn_predict_layers", "prediction modules are not counted"},
    {"routed_expert_hidden_size",
     "experts on a latent width: they are counted on the hidden size"},
    {"audio_config", "the audio encoder is of no known kind or incomplete: it is not counted "
                     "(model.encoder.audio says it)"},
    {"hidden_size_per_layer_input", "embeddings of every layer are not counted"},
    {"num_kv_shared_layers", "layers without keys and values of their own keep a cache here"},
    {"use_double_wide_mlp", "wider networks of layers that share keys and values are not read"},
    {"attn_res_block_size",
     "attention residuals are not modelled: neither their vectors nor the "
     "sums of blocks that stay in memory are counted"},
    {"hc_mult", "hyper-connections are not counted"},
    {"compress_ratios", "compressed attention is taken for plain"},
    {"sparse_attention_config", "block-sparse attention is taken for plain"},
    {"activation_situ_beta",
     "SiTU is taken for SiLU: fused it keeps and moves as much (eager autograd keeps more)"},
    {"mlp_bias", "biases of dense and shared networks are not counted"},
    {"mamba_proj_bias", "biases of a recurrence's projections are not counted"},
    {"use_bias", "biases of projections are not counted"},
    {"projectors_bias", "biases of projections are not counted"},
    {"block_configs",
     "networks of several widths are taken for as many of their mean: parameters "
     "and FLOPs are those of all together, what one layer holds for a while "
     "is not"},
    {"talker_config", "the model that speaks is not counted"},
    {"code2wav_config", "what makes sounds of its codes is not counted"},
};

/* A field that this model was read with. */
static bool is_taken(const struct model *model, const char *key)
{
    const struct {
        const char *key;
        bool taken;
    } rows[] = {
        {"vision_config", model->encoder.layers > 0},
        {"audio_config", model->encoder.audio > 0},
        {"hidden_size_per_layer_input", model->layer_embedding.width > 0},
        {"num_kv_shared_layers", model_borrows(model)},
        {"use_double_wide_mlp", model->borrow_intermediate > 0 || !model_borrows(model)},
        {"moe_latent_size", model->moe.latent_size > 0},
        {"routed_expert_hidden_size", model->moe.latent_size > 0},
        {"num_nextn_predict_layers", model->mtp_layers > 0},
        {"attn_res_block_size", model->residual_block > 0},
        {"hc_mult", model->residual_streams > 1},
        {"compress_ratios", model->attention.kind == ATTENTION_SHARED_KV},
        {"sparse_attention_config", model->indexer.block > 0},
        {"mlp_bias", model->mlp_bias},
        {"use_bias", model->attention.bias},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_equal(key, rows[i].key))
            return rows[i].taken;
    return false;
}

/* Neither absent, null, false, 0 nor empty. */
static bool is_set(const struct node *value)
{
    if (!value || node_is_null(value))
        return false;
    if (value->kind != NODE_SCALAR)
        return value->first != NULL;
    return !text_equal(value->text, "false") && !text_equal(value->text, "0");
}

static void note(struct text *out, const struct node *value, const char *what)
{
    text_printf(out, "'%s' (line %u): %s\n", value->key, value->mark.line, what);
}

/* A prediction module that is not the one layer counted: other sublayers than attention and
 * experts, or several layers. */
static void note_modules(const struct node *config, const struct model *model, struct text *out)
{
    const struct node *pattern = node_get(config, "mtp_hybrid_override_pattern");
    const struct node *types = node_get(config, "mtp_layers_block_type");
    const struct node *layers = node_get(config, "mtp_transformer_layers");
    const struct node *first = types ? types->first : NULL;
    bool two = first && first->next && !first->next->next &&
               text_equal(first->text, "attention") && text_equal(first->next->text, "moe");
    if (!model->mtp_layers)
        return;
    if (is_set(pattern) && !text_equal(pattern->text, "*E"))
        note(out, pattern, "prediction modules are counted as attention and experts");
    if (is_set(types) && !two)
        note(out, types, "prediction modules are counted as attention and experts");
    if (is_set(layers) && !text_equal(layers->text, "1"))
        note(out, layers, "prediction modules are counted as one layer each");
}

/* What is counted by a guess, and what of it is not. */
static void note_assumed(const struct node *config, const struct model *model, struct text *out)
{
    const struct node *experts = node_get(config, "expert_dtype");
    const struct node *streams = node_get(config, "hc_mult");
    if (is_set(experts) && text_equal(experts->text, "fp4"))
        note(out, experts,
             "experts are counted as mxfp4: that fp4 has a byte of scale per 32 is assumed");
    else if (is_set(experts) && !text_equal(experts->text, "fp8"))
        note(out, experts,
             "a format of experts that is not known; they are taken for the rest's");
    const struct node *act = node_get(config, "hidden_act");
    if (is_set(act) && text_equal(act->text, "xielu"))
        note(out, act,
             "xIELU is taken for GELU; its two learned numbers a layer are not counted");
    const struct node *formula = is_set(act) ? act : node_get(config, "activation_function");
    if (is_set(formula) && text_equal(formula->text, "gelu_new"))
        note(out, formula,
             "transformers computes it by a formula of several ops: in training it keeps three "
             "tensors of a network's width that are not counted");
    const struct node *other = node_get(config, "attention_other_setting");
    const struct node *modules = node_get(config, "num_nextn_predict_layers");
    if (model->mtp_layers && is_set(other) && is_set(modules))
        note(out, modules,
             "an output layer of each prediction module's own is not counted: vLLM puts the "
             "model's in its place");
    if (model->residual_streams > 1 && is_set(streams))
        note(out, streams,
             "copies of the residual are counted in the activations' format, which eager code "
             "has in f32");
}

/* Dense layers behind those with experts, which stand in front of them here: it is another
 * stage of a pipeline that holds them. */
static void note_last_dense(const struct node *config, const struct model *model,
                            struct text *out)
{
    const struct node *said = import_value(config, "moe_layers_enum", NODE_SCALAR);
    const char *last = said ? strrchr(said->text, ',') : NULL;
    uint64_t number;
    if (last && number_count(last + 1 + strspn(last + 1, " "), &number) &&
        number + 1 < model->layers)
        note(out, said, "dense layers behind those with experts are counted among the first");
}

/* What this model does not take up although other families do. */
static void note_unread(const struct node *config, const struct model *model, struct text *out)
{
    const struct node *window = node_get(config, "sliding_window");
    const struct node *used = node_get(config, "use_sliding_window");
    const struct node *types = node_get(config, "layer_types");
    const struct node *modules = node_get(config, "num_nextn_predict_layers");
    uint64_t behind = 0; /* items of prediction modules */
    bool off = used && text_equal(used->text, "false");
    if (modules && modules->kind == NODE_SCALAR)
        number_count(modules->text, &behind);
    if (is_set(window) && !off && !model->attention.window)
        note(out, window, "not read for this architecture, all attention is full");
    if (is_set(types) && types->n != model->layers && types->n != model->layers + behind &&
        types->kind == NODE_SEQUENCE)
        note(out, types, "has not as many items as there are layers");
}

static bool is_noted(const char *key)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (text_equal(fields[i].key, key))
            return true;
    return false;
}

/* Keys that no rule here reads. */
static void note_unknown(const struct node *config, const struct import_family *family,
                         struct text *out)
{
    for (const struct node *value = config->first; family && value; value = value->next)
        if (value->key && is_set(value) && !is_noted(value->key) &&
            !import_key_is_read(family, value->key))
            note(out, value, "not read for this architecture, and not known to change nothing");
}

void import_hf_notes(const struct node *config, const struct model *model, struct text *out)
{
    const struct import_family *family = import_hf_family(config);
    const struct node *outer;
    const struct node *inner = import_text_config(config, &outer);
    const struct node *how = node_get(config, "quantization_config");
    const struct node *const places[] = {config, outer != config ? outer : NULL,
                                         inner != outer ? inner : NULL};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (size_t j = 0; places[i] && j < sizeof fields / sizeof *fields; j++) {
            const struct node *value = node_get(places[i], fields[j].key);
            if (is_set(value) && !is_taken(model, fields[j].key))
                note(out, value, fields[j].what);
        }
        if (!places[i])
            continue;
        note_unread(places[i], model, out);
        note_assumed(places[i], model, out);
        note_last_dense(places[i], model, out);
        note_modules(places[i], model, out);
        note_unknown(places[i], family, out);
    }
    struct model again = *model; /* whose layers are known: what of the formats is not taken */
    import_hf_format(how, &again, out);
    const struct node *cache = node_get(how, "kv_cache_scheme");
    if (is_set(cache))
        note(out, cache,
             "a cache in a format of the checkpoint's own is for "
             "precision.kv_cache to say");
    if (is_set(how) && model->checkpoint == DTYPE_NONE)
        note(out, how, "a format that is not known; the matrices are taken for 16 bits");
}
