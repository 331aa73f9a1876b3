/* vision_config: encoders of a multimodal model; see import_hf.h.
 *
 * Sources: configuration and modelling classes of github.com/huggingface/transformers
 * (src/transformers/models/{qwen2_vl,
 * qwen2_5_vl,qwen3_vl,qwen3_vl_moe,llama4,siglip,gemma3,pixtral,
 * mistral3,glm4v_moe,kimi_k25,qwen3_omni_moe}), and Kimi-VL's MoonViT
 * (vllm/model_executor/models/{moonvit,kimi_vl}.py). A
 * configuration that lacks one of the numbers without a default leaves the encoder out. */
#include "base/checked.h"
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

#define LIMIT UINT64_C(1000000000)

enum { KEY = 64 };

struct vision {
    const struct node *config, *outer; /* vision_config, and what it stands in */
    uint64_t text_hidden;
    bool missing;
};

static uint64_t number_in(struct vision *v, const struct node *config, const char *key,
                          const char *other, uint64_t fallback)
{
    const char *const names[] = {key, other};
    for (unsigned i = 0; i < 2; i++) {
        const struct node *value = names[i] ? node_get(config, names[i]) : NULL;
        uint64_t count;
        if (value && value->kind == NODE_SCALAR && number_count(value->text, &count) &&
            count <= LIMIT)
            return count;
    }
    v->missing |= !fallback;
    return fallback;
}

/* A number by either of two names; one without a fallback must be there. */
static uint64_t number(struct vision *v, const char *key, const char *other, uint64_t fallback)
{
    return number_in(v, v->config, key, other, fallback);
}

/* Items of a list, `fallback` where it is not there. */
static uint64_t items(const struct vision *v, const char *key, uint64_t fallback)
{
    const struct node *list = node_get(v->config, key);
    return list && list->kind == NODE_SEQUENCE ? list->n : fallback;
}

uint64_t import_mul(uint64_t a, uint64_t b)
{
    bool overflow = false;
    return checked_mul(a, b, &overflow);
}

uint64_t import_sum(uint64_t a, uint64_t b, uint64_t c)
{
    bool overflow = false;
    return checked_add(checked_add(a, b, &overflow), c, &overflow);
}

uint64_t import_linear(uint64_t in, uint64_t out, bool bias)
{
    return import_sum(import_mul(in, out), bias ? out : 0, 0);
}

/* A number whose key some families begin with letters of their own. */
static uint64_t prefixed(struct vision *v, const char *prefix, const char *key,
                         const char *other)
{
    char name[KEY];
    snprintf(name, sizeof name, "%s%s", prefix, key);
    return number(v, name, other, 0);
}

static void read_layers(struct vision *v, const char *prefix, struct encoder *e)
{
    enum { SGLANG_LAYERS = 24 }; /* of an encoder whose layers it does not know */
    e->layers = prefixed(v, prefix, "num_hidden_layers", "depth");
    e->hidden = prefixed(v, prefix, "hidden_size", NULL);
    e->heads = prefixed(v, prefix, "num_attention_heads", "num_heads");
    if (!*prefix && !node_get(v->config, "num_hidden_layers") && e->layers != SGLANG_LAYERS)
        e->said_layers = SGLANG_LAYERS;
    if (node_get(v->config, "embed_dim") && node_get(v->config, "mlp_ratio")) {
        uint64_t given = number(v, "hidden_size", NULL, 1024);
        e->hidden = number(v, "embed_dim", NULL, 0); /* hidden_size may be what it gives out */
        e->said_hidden = given == e->hidden ? 0 : given;
        e->intermediate = import_mul(e->hidden, number(v, "mlp_ratio", NULL, 0));
    } else {
        e->intermediate = prefixed(v, prefix, "intermediate_size", NULL);
    }
    e->bias = e->norm_bias = true;
    e->outputs = 1;
}

/* Step-3.7's as published: keys of its own, which SGLang's fraction does not look for (its
 * configs/step3p7.py, Step3p7VisionEncoderConfig; 24 layers of 1,024 in their place). */
static void read_perception(struct vision *v, struct encoder *e)
{
    const struct node *ratio = node_get(v->config, "mlp_ratio");
    double times = 8960 / 1536.0;
    if (ratio && ratio->kind == NODE_SCALAR)
        v->missing |= !number_real(ratio->text, &times) || !(times > 0 && times < 1000);
    e->layers = number(v, "layers", NULL, 47);
    e->hidden = number(v, "width", NULL, 1536);
    e->heads = number(v, "heads", NULL, 16);
    e->intermediate = v->missing ? 0 : (uint64_t)(times * (double)e->hidden + 0.5);
    v->missing |= node_says(v->config, "use_cls_token", "true") ||
                  node_says(v->config, "use_ln_post", "true");
    e->said_layers = 24;
    e->said_hidden = 1024;
    e->bias = e->norm_bias = true;
    e->outputs = 1;
}

static void read_patches(struct vision *v, struct encoder *e, uint64_t side, uint64_t frames,
                         uint64_t merge)
{
    uint64_t patch = number(v, "patch_size", NULL, side);
    uint64_t channels = number(v, "in_channels", "in_chans", 3);
    e->inputs = import_mul(import_mul(channels, frames), import_mul(patch, patch));
    e->merge = import_mul(merge, merge);
}

/* A merger: a norm before or behind the merge, two products with biases. */
static uint64_t merger(const struct encoder *e, uint64_t norm, uint64_t out)
{
    uint64_t merged = import_mul(e->hidden, e->merge);
    return import_sum(norm, import_linear(merged, merged, true),
                      import_linear(merged, out, true));
}

static void qwen3_vl(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 16, number(v, "temporal_patch_size", NULL, 2),
                 number(v, "spatial_merge_size", NULL, 2));
    uint64_t out = number(v, "out_hidden_size", NULL, v->text_hidden);
    uint64_t deep = items(v, "deepstack_visual_indexes", 0);
    uint64_t positions = number(v, "num_position_embeddings", NULL, 2304);
    e->outputs = 1 + deep;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(positions, e->hidden), 0);
    e->projector = import_sum(
        merger(e, 2 * e->hidden, out),
        import_mul(deep, merger(e, import_mul(2, import_mul(e->hidden, e->merge)), out)), 0);
}

static void qwen2_5_vl(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 14, number(v, "temporal_patch_size", NULL, 2),
                 number(v, "spatial_merge_size", NULL, 2));
    e->glu = true;
    e->norm_bias = false;
    e->embedding = import_linear(e->inputs, e->hidden, false);
    e->projector = merger(e, e->hidden, number(v, "out_hidden_size", NULL, v->text_hidden));
}

/* Plain networks, and norms with biases; hidden_size is the width of what it gives out. */
static void qwen2_vl(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 14, number(v, "temporal_patch_size", NULL, 2),
                 number(v, "spatial_merge_size", NULL, 2));
    e->embedding = import_linear(e->inputs, e->hidden, false);
    e->projector = merger(e, 2 * e->hidden, v->text_hidden);
}

/* InternViT of 300M: a class token, two factors of every channel a layer; a shuffle of 2 x 2
 * patches before a norm and two products (OpenGVLab modeling_intern_vit.py,
 * modeling_internvl_chat.py). */
static void intern_vit(struct vision *v, struct encoder *e)
{
    const struct node *ratio = node_get(v->outer, "downsample_ratio");
    const struct node *norms = node_get(v->config, "norm_type"),
                      *bias = node_get(v->config, "qkv_bias");
    uint64_t patch = number(v, "patch_size", NULL, 14);
    uint64_t edge = number(v, "image_size", NULL, 448) / (patch ? patch : 1);
    v->missing |= !ratio || !text_equal(ratio->text, "0.5") || !norms ||
                  !text_equal(norms->text, "layer_norm") || !bias ||
                  !text_equal(bias->text, "true");
    read_patches(v, e, 14, 1, 2);
    uint64_t merged = import_mul(e->hidden, e->merge);
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(import_mul(edge, edge) + 2, e->hidden),
                              import_mul(2 * e->layers, e->hidden));
    e->projector = import_sum(2 * merged, import_linear(merged, v->text_hidden, true),
                              import_linear(v->text_hidden, v->text_hidden, true));
}

/* Square images of one size, a class token, norms around the layers; pixel shuffle by a half
 * turns 4 patches into one of the network's width. */
static void llama4(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 14, 1, 2);
    e->loaded_on_request = true;
    uint64_t patch = number(v, "patch_size", NULL, 14);
    uint64_t side = number(v, "image_size", NULL, 0) / (patch ? patch : 1);
    uint64_t in = number(v, "projector_input_dim", NULL, 4096);
    uint64_t out = number(v, "projector_output_dim", NULL, 4096);
    uint64_t given = number(v, "vision_output_dim", NULL, 4096);
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false),
                              import_mul(import_sum(2, import_mul(side, side), 0), e->hidden),
                              4 * e->hidden);
    e->projector =
        import_sum(import_linear(e->intermediate, in, false), import_linear(out, out, false),
                   import_linear(given, v->text_hidden, false));
}

static void moonvit(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 14, 1, 2);
    uint64_t height = number(v, "init_pos_emb_height", NULL, 64);
    uint64_t width = number(v, "init_pos_emb_width", NULL, 64);
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(import_mul(height, width), e->hidden), 2 * e->hidden);
    e->projector = merger(e, 2 * e->hidden, v->text_hidden);
}

static bool is_false(const struct vision *v, const char *key)
{
    return node_says(v->config, key, "false");
}

/* Kimi-K3's MoonViT: heads of another width together than its hidden size, RMS norms, nothing
 * with a bias; a norm behind the projector (aiconfigurator's build_kimi_k3_encoder_ops, and its
 * configuration). */
static void kimi_k3(struct vision *v, struct encoder *e)
{
    uint64_t height = number(v, "init_pos_emb_height", NULL, 64);
    uint64_t width = number(v, "init_pos_emb_width", NULL, 64);
    read_patches(v, e, 14, 1, 2);
    uint64_t merged = import_mul(e->hidden, e->merge);
    v->missing |= !is_false(v, "attn_bias") || !is_false(v, "linear_bias") ||
                  !is_false(v, "patch_embed_proj_bias") ||
                  !node_says(v->config, "norm_type", "rmsnorm") ||
                  !node_says(v->config, "mlp_type", "mlp2") ||
                  !node_says(v->config, "mm_projector_type", "patchmergerv2") ||
                  number(v, "mm_hidden_size", NULL, e->hidden) != e->hidden;
    e->attention = number(v, "qkv_hidden_size", NULL, 0);
    e->bias = e->norm_bias = false;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false),
                              import_mul(import_mul(height, width), e->hidden), e->hidden);
    e->projector = import_sum(import_linear(merged, merged, false),
                              import_linear(merged, v->text_hidden, false), v->text_hidden);
}

/* MoonViT over several frames: the positions in time are no parameters. */
static void kimi_k25(struct vision *v, struct encoder *e)
{
    if (node_get(v->config, "qkv_hidden_size"))
        kimi_k3(v, e);
    else
        moonvit(v, e);
}

/* GLM-4.1V's, 4.5V's and 4.6V's: networks as wide as the projector's output, no biases in the
 * layers; positions of square images; patches merged by a convolution, then a product, a norm
 * and a gated network. */
static void glm4v(struct vision *v, struct encoder *e)
{
    uint64_t side = number(v, "image_size", NULL, 336),
             patch = number(v, "patch_size", NULL, 14);
    uint64_t out = number(v, "out_hidden_size", NULL, v->text_hidden), wide = e->intermediate;
    uint64_t edge = side / (patch ? patch : 1);
    const struct node *biased = node_get(v->config, "attention_bias");
    read_patches(v, e, 14, number(v, "temporal_patch_size", NULL, 2),
                 number(v, "spatial_merge_size", NULL, 2));
    v->missing |= biased && text_equal(biased->text, "true");
    e->glu = true;
    e->bias = e->norm_bias = false;
    e->intermediate = out;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(import_mul(edge, edge), e->hidden), 2 * e->hidden);
    e->projector = import_sum(import_linear(import_mul(e->hidden, e->merge), out, true),
                              import_sum(import_linear(out, out, false), 2 * out, 0),
                              import_mul(3 * out, wide));
}

/* GLM-5.3-Flash's: biases in the layers, and a norm of queries and one of keys, which stand
 * among what is outside them here; no positions; patches merged as GLM-4.1V's, before a network
 * of its own width (transformers glm5_next/modular_glm5_next.py, Glm5NextVisionModel). */
static void glm5_next(struct vision *v, struct encoder *e)
{
    const struct node *biased = node_get(v->config, "attention_bias");
    uint64_t out = number(v, "out_hidden_size", NULL, 1536);
    uint64_t wide = number(v, "projection_intermediate_size", NULL, 10240);
    read_patches(v, e, 14, number(v, "temporal_patch_size", NULL, 2),
                 number(v, "spatial_merge_size", NULL, 2));
    e->glu = true;
    e->bias = !biased || !text_equal(biased->text, "false");
    e->norm_bias = false;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true), e->hidden,
                              e->heads ? import_mul(2 * e->layers, e->hidden / e->heads) : 0);
    e->projector = import_sum(import_linear(import_mul(e->hidden, e->merge), out, true),
                              import_sum(import_linear(out, out, false), 2 * out, 0),
                              import_mul(3 * out, wide));
}

/* DeepSeek's: gated networks without biases, those of attention stand among what is outside the
 * layers here, with a norm behind them; positions rotate. Patches are merged into one row
 * before two products; an image has a vector before it, behind it and behind its lines (vLLM
 * models/deepseek_v4/common/vision.py; 266 tensors of 0.971 GB in DeepSeek-V4.1-Flash). */
static void deepseek_tower(struct encoder *e, uint64_t out)
{
    e->glu = true;
    e->bias = e->norm_bias = false;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true), e->hidden,
                              import_mul(4 * e->layers, e->hidden));
    e->projector = import_sum(import_linear(import_mul(e->hidden, e->merge), out, true),
                              import_linear(out, out, true), 3 * out);
}

static void deepseek_v41(struct vision *v, struct encoder *e)
{
    read_patches(v, e, 14, 1, number(v, "downsample_ratio", NULL, 3));
    deepseek_tower(e, v->text_hidden);
}

/* DeepSeek-V4-Flash-Vision-Exp's stands beside the rest of the configuration. */
static void read_beside(const struct node *config, struct model *model)
{
    uint64_t patch = import_count(config, "vision_patch_size", 14);
    uint64_t side = import_count(config, "vision_downsample_ratio", 3);
    struct encoder e = {.layers = import_count(config, "vision_n_layers", 0),
                        .hidden = import_count(config, "vision_dim", 1024),
                        .heads = import_count(config, "vision_n_heads", 16),
                        .intermediate = import_count(config, "vision_inter_dim", 2816),
                        .inputs = import_mul(3, import_mul(patch, patch)),
                        .merge = import_mul(side, side),
                        .outputs = 1};
    if (!e.layers || !e.hidden || !e.heads || e.hidden % e.heads)
        return;
    deepseek_tower(&e, model->hidden);
    model->encoder = e;
}

/* ERNIE-4.5-VL's: patches of one frame without a bias; behind a norm those of a square, and the
 * squares of two frames, go through two products and a norm each before the one to the tokens'
 * width (transformers ernie4_5_vl_moe/modular_ernie4_5_vl_moe.py, ..._ResamplerModel). */
static void ernie_vl(struct vision *v, struct encoder *e)
{
    uint64_t frames = number(v, "temporal_merge_size", NULL, 2);
    read_patches(v, e, 14, 1, number(v, "spatial_merge_size", NULL, 2));
    uint64_t merged = import_mul(e->hidden, e->merge);
    uint64_t behind = import_sum(import_linear(merged, merged, true), 2 * merged, 0);
    uint64_t space = import_sum(import_linear(merged, merged, true), behind, 0);
    uint64_t time =
        import_sum(import_linear(import_mul(frames, merged), merged, true), behind, 0);
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false), 2 * e->hidden, 0);
    e->projector =
        import_sum(space, time,
                   import_sum(import_linear(merged, v->text_hidden, true), v->text_hidden, 0));
}

static bool is_within(const struct vision *v, const char *family)
{
    return node_says(v->outer, "model_type", family);
}

/* SigLIP without its pooling head, as Gemma 3 has it: a norm behind the layers, patches pooled
 * by the mean to so many tokens an image, a norm and a product without bias. */
static void siglip(struct vision *v, struct encoder *e)
{
    const struct node *head = node_get(v->config, "vision_use_head");
    uint64_t patch = number(v, "patch_size", NULL, 16);
    uint64_t side = number(v, "image_size", NULL, 224) / (patch ? patch : 1);
    uint64_t tokens = number_in(v, v->outer, "mm_tokens_per_image", NULL, 256);
    uint64_t patches = import_mul(side, side);
    read_patches(v, e, 16, 1, 1);
    v->missing |= !is_within(v, "gemma3") || !head || !text_equal(head->text, "false");
    v->missing |= !tokens || patches < tokens || patches % tokens;
    e->merge = v->missing ? 1 : patches / tokens;
    e->on_request = true; /* SGLang's mm_disabled_models, here and below */
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(patches, e->hidden), 2 * e->hidden);
    e->projector = import_sum(e->hidden, import_linear(e->hidden, v->text_hidden, false), 0);
}

/* Of Mistral 3: rotary positions, RMS norms, nothing with a bias; patches merged by a product
 * between a norm and the two of the projector. */
static void pixtral(struct vision *v, struct encoder *e)
{
    uint64_t merge = number_in(v, v->outer, "spatial_merge_size", NULL, 2);
    bool bias = node_says(v->outer, "multimodal_projector_bias", "true");
    v->missing |= !is_within(v, "mistral3") ||
                  items(&(struct vision){.config = v->outer}, "vision_feature_layer", 0) > 0;
    read_patches(v, e, 16, 1, merge);
    e->glu = true;
    e->bias = e->norm_bias = false;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false), e->hidden, 0);
    e->projector =
        import_sum(e->hidden, import_linear(import_mul(e->hidden, e->merge), e->hidden, false),
                   import_sum(import_linear(e->hidden, v->text_hidden, bias),
                              import_linear(v->text_hidden, v->text_hidden, bias), 0));
}

/* MiniMax-M3's: CLIP's layers behind a norm, rotary positions; two products a patch and two of
 * the merged ones, all with biases (transformers minimax_m3_vl/modular_minimax_m3_vl.py). */
static void minimax_m3(struct vision *v, struct encoder *e)
{
    const struct node *how = node_get(v->config, "img_token_compression_config");
    how = how && how->kind == NODE_MAPPING ? how : v->config;
    uint64_t wide = number_in(v, v->outer, "projector_hidden_size", NULL, v->text_hidden);
    read_patches(v, e, 14, number_in(v, how, "temporal_patch_size", NULL, 2),
                 number_in(v, how, "spatial_merge_size", NULL, 2));
    v->missing |= !is_within(v, "minimax_m3_vl");
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false), 2 * e->hidden, 0);
    e->projector = import_sum(
        import_linear(e->hidden, wide, true), import_linear(wide, v->text_hidden, true),
        import_sum(import_linear(import_mul(e->merge, v->text_hidden), wide, true),
                   import_linear(wide, v->text_hidden, true), 0));
}

/* Gemma 4's: four norms a layer and two of queries and keys, which stand among what is outside
 * the layers here; positions by row and by column; patches pooled to tokens, and a product
 * whose norm has no weight (transformers gemma4/modular_gemma4.py; bounds of clipped products
 * left out). */
static void gemma4(struct vision *v, struct encoder *e)
{
    uint64_t positions = number(v, "position_embedding_size", NULL, 10240);
    uint64_t head = number(v, "head_dim", NULL, 64);
    bool standard = node_says(v->config, "standardize", "true");
    read_patches(v, e, 16, 1, number(v, "pooling_kernel_size", NULL, 3));
    v->missing |= number(v, "num_key_value_heads", NULL, e->heads) != e->heads ||
                  import_mul(e->heads, head) != e->hidden;
    e->glu = true;
    e->bias = e->norm_bias = false;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false),
                              import_mul(2 * positions, e->hidden),
                              import_mul(e->layers, 2 * (e->hidden + head)));
    e->embedding = import_sum(e->embedding, standard ? 2 * e->hidden : 0, 0);
    e->projector = import_linear(e->hidden, v->text_hidden, false);
}

/* Step-3's: a class token and positions of square images, norms behind attention and network;
 * two convolutions, of 2 x 2 and of 3 x 3 at every second place, and a product. With the stride
 * of published configurations, 2, sixteen patches become a token (vLLM models/step3_vl.py). */
static void step3(struct vision *v, struct encoder *e)
{
    const struct node *bias = node_get(v->outer, "projector_bias");
    uint64_t patch = number(v, "patch_size", NULL, 14),
             out = number(v, "output_hidden_size", NULL, 4096);
    uint64_t side = number(v, "image_size", NULL, 728) / (patch ? patch : 1);
    read_patches(v, e, 14, 1, 4);
    e->on_request = true;
    v->missing |= number_in(v, v->outer, "understand_projector_stride", NULL, 1) != 2;
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, true),
                              import_mul(import_mul(side, side) + 2, e->hidden), 0);
    e->projector = import_sum(import_linear(import_mul(e->hidden, 4), out, true),
                              import_linear(import_mul(out, 9), import_mul(out, 2), true),
                              import_linear(import_mul(out, 2), v->text_hidden,
                                            bias && text_equal(bias->text, "true")));
}

/* Step-3.7's as transformers writes it: patches without a bias, positions of square images, a
 * norm before the layers and two factors a channel in each; two convolutions of 3 x 3 at every
 * second place, each doubling the width, and a product (step3p7/modeling_step3p7.py). */
static void step3p7(struct vision *v, struct encoder *e)
{
    uint64_t patch = number(v, "patch_size", NULL, 14);
    uint64_t side = number(v, "image_size", NULL, 728) / (patch ? patch : 1);
    read_patches(v, e, 14, 1, 4);
    e->embedding = import_sum(import_linear(e->inputs, e->hidden, false),
                              import_mul(import_mul(side, side), e->hidden),
                              2 * e->hidden + import_mul(2 * e->layers, e->hidden));
    e->projector = import_sum(import_linear(import_mul(9, e->hidden), 2 * e->hidden, true),
                              import_linear(import_mul(18, e->hidden), 4 * e->hidden, true),
                              import_linear(4 * e->hidden, v->text_hidden,
                                            node_says(v->outer, "projector_bias", "true")));
}

static const struct {
    const char *names[12];
    void (*read)(struct vision *v, struct encoder *e);
    const char *prefix; /* of the keys of its layers; NULL: read_perception */
} encoders[] = {
    {{"qwen3_vl", "qwen3_vl_moe", "qwen3_vl_vision", "qwen3_vl_moe_vision", "qwen3_5",
      "qwen3_5_moe", "qwen3_5_vision", "qwen3_5_moe_vision", "qwen3_omni_moe_vision_encoder",
      "qwen4_exp", "qwen4_exp_vision", NULL},
     qwen3_vl,
     ""},
    {{"qwen2_5_vl", "qwen2_5_vl_vision", NULL}, qwen2_5_vl, ""},
    {{"qwen2_vl", "qwen2_vl_vision", NULL}, qwen2_vl, ""},
    {{"intern_vit_6b", NULL}, intern_vit, ""},
    {{"ernie4_5_vl_moe", "ernie4_5_vl_moe_vision", "DFNRope_vision_transformer", NULL},
     ernie_vl,
     ""},
    {{"llama4_vision_model", NULL}, llama4, ""},
    {{"moonvit", NULL}, moonvit, ""},
    {{"kimi_k25", "kimi_k25_vision", "kimi_k3", "kimi_k3_vision", NULL}, kimi_k25, "vt_"},
    {{"glm4v_moe", "glm4v_moe_vision", "glm4v", "glm4v_vision", "glm46v", NULL}, glm4v, ""},
    {{"glm5_next", "glm5_next_vision", NULL}, glm5_next, ""},
    {{"deepseek_v41", "deepseek_v41_vision", NULL}, deepseek_v41, ""},
    {{"siglip_vision_model", NULL}, siglip, ""},
    {{"pixtral", NULL}, pixtral, ""},
    {{"gemma4_vision", NULL}, gemma4, ""},
    {{"step3_vision_encoder", NULL}, step3, ""},
    {{"step3p5_vision", "step3p7_vision", NULL}, step3p7, ""},
    {{"perception_encoder", NULL}, step3p7, NULL},
    {{"clip_vision_model", "minimax_m3_vl", "minimax_m3_vl_vision", NULL}, minimax_m3, ""},
};

/* SGLang's multimodal_breakable_cuda_graph_supported_model_archs. */
static bool is_captured(const char *type)
{
    static const char *const families[] = {"qwen3_5",   "qwen4_exp",         "kimi_k25",
                                           "glm5_next", "clip_vision_model", "minimax_m3_vl"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (text_starts(type, families[i]))
            return true;
    return false;
}

static void read_vision(const struct node *config, struct model *model)
{
    const struct node *vision = node_get(config, "vision_config");
    if (!vision || vision->kind != NODE_MAPPING)
        return;
    const struct node *type = node_get(vision, "model_type");
    if (!type || type->kind != NODE_SCALAR || text_equal(type->text, "")) /* Kimi-K2.5's */
        type = node_get(config, "model_type");
    for (size_t i = 0;
         type && type->kind == NODE_SCALAR && i < sizeof encoders / sizeof *encoders; i++)
        for (const char *const *name = encoders[i].names; *name; name++) {
            struct vision v = {.config = vision, .outer = config, .text_hidden = model->hidden};
            struct encoder e = {0};
            if (!text_equal(*name, type->text))
                continue;
            if (encoders[i].prefix)
                read_layers(&v, encoders[i].prefix, &e);
            else
                read_perception(&v, &e);
            if (!v.missing)
                encoders[i].read(&v, &e);
            e.captured = is_captured(type->text);
            e.nested = text_equal(type->text, "qwen3_omni_moe_vision_encoder");
            e.said_layers = e.nested ? 0 : e.said_layers;
            uint64_t width = e.attention ? e.attention : e.hidden;
            if (!v.missing && e.layers && e.hidden && e.heads && width % e.heads == 0)
                model->encoder = e;
        }
}

void import_hf_vision(const struct node *config, struct model *model)
{
    read_vision(config, model);
    read_beside(config, model);
    import_hf_audio(config, model);
}
