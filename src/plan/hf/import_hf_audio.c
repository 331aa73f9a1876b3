/* audio_config: encoders of sounds beside that of images. Sources: configuration and modelling
 * classes of github.com/huggingface/transformers, src/transformers/models/{gemma4,
 * qwen3_omni_moe}. */
#include "base/number.h"
#include "plan/hf/import_hf_table.h"

#define LIMIT UINT64_C(1000000000)

static uint64_t count_of(const struct node *config, const char *key, uint64_t otherwise)
{
    uint64_t count = import_count(config, key, otherwise);
    return count <= LIMIT ? count : otherwise;
}

static uint64_t item_of(const struct node *config, const char *key, uint64_t at,
                        uint64_t otherwise)
{
    const struct node *item = import_item(config, key, at);
    uint64_t count;
    bool is = item && item->kind == NODE_SCALAR && number_count(item->text, &count);
    return is && count <= LIMIT ? count : otherwise;
}

/* Gemma 4's audio encoder: a conformer's layers (two networks, attention with relative
 * positions, a convolution by channel, nine norms and a factor a value of a head), two
 * convolutions of 3 x 3 before them, each with a norm, a product behind them with a bias, and
 * one to the tokens' width (transformers gemma4/modular_gemma4.py; bounds of clipped products
 * left out). 0: not known, or incomplete. */
static uint64_t gemma4_audio(const struct node *config, uint64_t text_hidden)
{
    uint64_t layers = count_of(config, "num_hidden_layers", 12);
    uint64_t h = count_of(config, "hidden_size", 1024),
             out = count_of(config, "output_proj_dims", 1536);
    uint64_t heads = count_of(config, "num_attention_heads", 8);
    uint64_t reach = count_of(config, "conv_kernel_size", 5);
    uint64_t first = item_of(config, "subsampling_conv_channels", 0, 128);
    uint64_t second = item_of(config, "subsampling_conv_channels", 1, 32);
    uint64_t layer = import_sum(import_mul(24, import_mul(h, h)), import_mul(9 + reach, h),
                                heads ? h / heads : 0);
    uint64_t before = import_sum(import_mul(9 + 1, first),
                                 import_sum(import_mul(9 * first, second), second, 0),
                                 import_linear(import_mul(second, first / 4), h, false));
    return import_sum(
        import_mul(layers, layer), before,
        import_sum(import_linear(h, out, true), import_linear(out, text_hidden, false), 0));
}

/* Qwen3-Omni's: three convolutions of 3 x 3 that halve time and pitch each and a product
 * without a bias before Whisper's layers, which have biases but for keys' (here they have one);
 * a norm and two products behind them. */
static uint64_t qwen3_omni_audio(const struct node *config, uint64_t text_hidden)
{
    (void)text_hidden;
    uint64_t layers =
        count_of(config, "encoder_layers", count_of(config, "num_hidden_layers", 32));
    uint64_t d = count_of(config, "d_model", 1280),
             wide = count_of(config, "encoder_ffn_dim", 5120);
    uint64_t between = count_of(config, "downsample_hidden_size", 480);
    uint64_t pitch = count_of(config, "num_mel_bins", 128);
    uint64_t out = count_of(config, "output_dim", 3584);
    for (unsigned i = 0; i < 3; i++)
        pitch = (pitch + 1) / 2;
    uint64_t layer =
        import_sum(import_mul(4, import_linear(d, d, true)), 4 * d,
                   import_sum(import_linear(d, wide, true), import_linear(wide, d, true), 0));
    uint64_t before = import_sum(import_linear(9, between, true),
                                 import_mul(2, import_linear(9 * between, between, true)),
                                 import_linear(import_mul(between, pitch), d, false));
    return import_sum(
        import_mul(layers, layer), before,
        import_sum(2 * d, import_linear(d, d, true), import_linear(d, out, true)));
}

static const struct {
    const char *name;
    uint64_t (*count)(const struct node *config, uint64_t text_hidden);
} audios[] = {
    {"gemma4_audio", gemma4_audio},
    {"qwen3_omni_moe_audio_encoder", qwen3_omni_audio},
};

void import_hf_audio(const struct node *config, struct model *model)
{
    const struct node *audio = import_value(config, "audio_config", NODE_MAPPING);
    for (size_t i = 0; audio && model->encoder.layers && i < sizeof audios / sizeof *audios;
         i++)
        if (node_says(audio, "model_type", audios[i].name))
            model->encoder.audio = audios[i].count(audio, model->hidden);
}
