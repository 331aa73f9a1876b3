/* Configurations of current models as their repositories have them, which no model file stands
 * beside: hybrids, latent experts, MoE, dense, multimodal. Their parameters are the published
 * ones, or what is left out is named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plan/params.h"
#include "support/configs.h"

/* Published: to the last one where the shared page counts them (layer-kinds.md 3; Gemma's with
 * the 64 rows that config.json has more than its vocabulary and its encoder: 27,432,406,640 in
 * all), or the checkpoint has them, encoder included (Mistral's), else as model cards round. */
static void parameters_are_published_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double published, within;
        const char *noted; /* the one field that is named; "": none */
    } rows[] = {
        {"granite-4.0-h-small", 32207337984, 0, ""},
        {"nemotron-3-ultra", 549308993536, 0, ""},
        /* SigLIP: 416,866,032, and 6,194,304 of the projector */
        {"gemma-3-27b-it", 27009002240 + 64 * 5376 + 416866032 + 6194304, 0, ""},
        {"mistral-small-3.1-24b", 24011361280, 0, ""},
        {"ling-flash-2.0", 103e9, 0.01, ""},
        {"olmo-3-32b", 32.2e9, 0.01, ""},
        {"nemotron-nano-9b-v2", 8.89e9, 0.01, ""},
        {"phi-4-mini", 3.84e9, 0.01, ""},
        {"qwen3.5-35b-a3b", 35e9, 0.01, ""},
        {"kimi-vl-a3b", 16.4e9, 0.01, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct params p;
        struct text notes = {.arena = &arena};
        config_read(rows[i].name, &arena, &model, &notes);
        params_count(&model, &p);
        print_message("%s: %llu parameters\n", rows[i].name, (unsigned long long)p.parameters);
        assert_true(fabs((double)p.parameters / rows[i].published - 1) <= rows[i].within);
        const char *said = text_string(&notes);
        if (rows[i].noted[0])
            assert_int_equal(strncmp(said + 1, rows[i].noted, strlen(rows[i].noted)), 0);
        else
            assert_string_equal(said, "");
        arena_release(&arena);
    }
}

#define LLAMA                                                                                  \
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"               \
    " \"vocab_size\": 100, \"num_attention_heads\": 4, \"intermediate_size\": 128,"
#define MAMBA                                                                                  \
    "{\"model_type\": \"nemotron_h\", \"hidden_size\": 64, \"vocab_size\": 100,"               \
    " \"num_attention_heads\": 4, \"mamba_num_heads\": 8, \"mamba_head_dim\": 16,"             \
    " \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32,"

/* A key that nothing reads is said, unless it is null, off, or known to change nothing. */
static void every_key_is_read_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *noted;
    } rows[] = {
        {LLAMA " \"rope_theta\": 1e6, \"attention_dropout\": 0.1, \"pad_token_id\": 3}", ""},
        {LLAMA " \"memory_tokens\": 8}",
         "'memory_tokens' (line 1): not read for this architecture, and not known to change "
         "nothing\n"},
        {LLAMA " \"memory_tokens\": null, \"extra\": false, \"more\": [], \"none\": 0}", ""},
        {LLAMA " \"num_nextn_predict_layers\": 1}",
         "'num_nextn_predict_layers' (line 1): prediction modules are not counted\n"},
        /* of another architecture */
        {LLAMA " \"n_shared_experts\": 2}",
         "'n_shared_experts' (line 1): not read for this architecture, and not known to change "
         "nothing\n"},
        {MAMBA " \"layers_block_type\": [\"mamba\", \"moe\"], \"num_nextn_predict_layers\": 1,"
               " \"mtp_layers_block_type\": [\"attention\", \"moe\"]}",
         ""},
        {MAMBA " \"layers_block_type\": [\"mamba\", \"moe\"], \"num_nextn_predict_layers\": 1,"
               " \"mtp_layers_block_type\": [\"mamba\", \"moe\"]}",
         "'mtp_layers_block_type' (line 1): prediction modules are counted as attention and "
         "experts\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        if (config_read_text(rows[i].text, &arena, &model, &notes, &err))
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_string_equal(text_string(&notes), rows[i].noted);
        arena_release(&arena);
    }
}

/* As many layers as the list names where their number is not said, and an error without both;
 * "null" is no block of scales; letters of windows repeat, and the last layer is full. */
static void what_is_left_out_is_what_the_software_takes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    assert_int_equal(
        config_read_text(MAMBA " \"layers_block_type\": [\"mamba\", \"moe\", \"mamba\"]}",
                         &arena, &model, &notes, &err),
        STATUS_OK);
    assert_int_equal(model.layers, 3);
    assert_int_equal(
        config_read_text(MAMBA " \"chunk_size\": 64}", &arena, &model, &notes, &err),
        STATUS_INPUT);
    assert_string_equal(err.text, "configuration has neither 'layers_block_type' nor "
                                  "'num_hidden_layers'");
    assert_int_equal(config_read_text(LLAMA
                                      " \"quantization_config\": {\"quant_method\": \"fp8\","
                                      " \"weight_block_size\": null}}",
                                      &arena, &model, &notes, &err),
                     STATUS_OK);
    assert_int_equal(model.checkpoint, DTYPE_FP8);
    assert_int_equal(
        config_read_text(
            "{\"model_type\": \"exaone4\", \"num_hidden_layers\": 6, \"hidden_size\": 64,"
            " \"vocab_size\": 100, \"num_attention_heads\": 4,"
            " \"intermediate_size\": 128, \"sliding_window\": 16,"
            " \"sliding_window_pattern\": \"LLLG\"}",
            &arena, &model, &notes, &err),
        STATUS_OK);
    static const enum layer_type types[] = {LAYER_WINDOW, LAYER_WINDOW, LAYER_WINDOW,
                                            LAYER_FULL,   LAYER_WINDOW, LAYER_FULL};
    assert_int_equal(model.layer_types.n, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(model.layer_types.value[i], types[i]);
    arena_release(&arena);
}

/* The part of an omni model that thinks, with both encoders; the rest is named. */
static void an_omni_model_thinks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    config_read("qwen3-omni-30b-a3b", &arena, &model, &notes);
    assert_int_equal(model.moe.experts, 128);
    assert_int_equal(model.encoder.layers, 27);
    /* 32 layers of 1,280 and 5,120, three convolutions by 480, 16 pitches of them to 1,280 */
    const uint64_t layer = 4 * (1280 * 1280 + 1280) + 4 * 1280 + 2 * 1280 * 5120 + 5120 + 1280;
    assert_int_equal(model.encoder.audio,
                     32 * layer + 9 * 480 + 480 + 2 * (9 * 480 * 480 + 480) + 480 * 16 * 1280 +
                         2 * 1280 + 1280 * 1280 + 1280 + 1280 * 2048 + 2048);
    assert_non_null(strstr(text_string(&notes), "'talker_config'"));
    assert_non_null(strstr(text_string(&notes), "'code2wav_config'"));
    arena_release(&arena);
}

/* Kimi-K3's keys, its formats, and what of it is not modelled. */
static void kimi_k3_says_what_is_left_out(void **state)
{
    (void)state;
    static const enum weight_part plain[] = {PART_ATTENTION, PART_LINEAR, PART_DENSE,
                                             PART_SHARED, PART_LATENT};
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    config_read("kimi-k3", &arena, &model, &notes);
    assert_true(model.attention.output_gate && model.linear.full_rank_gate);
    assert_true(model.moe.latent_norm);
    assert_int_equal(model.moe.latent_size, 3584);
    assert_int_equal(model.checkpoint, DTYPE_MXFP4);
    assert_int_equal(model.plain.n, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(model.plain.value[i], plain[i]);
    const char *said = text_string(&notes);
    assert_int_equal(model.residual_block, 12);
    assert_non_null(strstr(said, "'activation_situ_beta' (line 13): SiTU is taken for SiLU"));
    unsigned lines = 0;
    for (; *said; said++)
        lines += *said == '\n';
    assert_int_equal(lines, 1);
    arena_release(&arena);
}

/* Ling-3.0 in its published formats: experts in mxfp4 beside the rest in blocks of fp8, or all
 * in fp8; what would change its layers is said, what they need asked for. */
static void ling_has_its_gates_and_formats(void **state)
{
    (void)state;
#define LING(more)                                                                             \
    "{\"architectures\": [\"BailingMoeV3ForCausalLM\"], \"model_type\": \"bailing_hybrid\","   \
    " \"num_hidden_layers\": 8, \"hidden_size\": 64, \"vocab_size\": 100,"                     \
    " \"num_attention_heads\": 4, \"num_experts\": 8, \"num_experts_per_tok\": 2,"             \
    " \"intermediate_size\": 128, \"moe_intermediate_size\": 32, \"num_shared_experts\": 1,"   \
    " \"first_k_dense_replace\": 1, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8,"            \
    " \"qk_rope_head_dim\": 4, \"v_head_dim\": 8, \"head_dim\": 8, \"layer_group_size\": "     \
    "3" more "}"
#define CONV ", \"short_conv_kernel_size\": 4"
#define FP8                                                                                    \
    ", \"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"
    static const struct {
        const char *text;
        bool wide, head, low;
        enum dtype checkpoint, plain;
        const char *note; /* ""; NULL: refused */
    } cases[] = {
        {LING(CONV ", \"gated_attention_proj_granularity_type\": \"head_wise\""), false, true,
         false, DTYPE_NONE, DTYPE_BF16, ""},
        {LING(CONV ", \"gated_attention_proj_granularity_type\": \"element_wise\""), true,
         false, false, DTYPE_NONE, DTYPE_BF16, ""},
        {LING(CONV ", \"no_kda_lora\": false"), false, false, true, DTYPE_NONE, DTYPE_BF16, ""},
        {LING(CONV FP8 "}"), false, false, false, DTYPE_FP8_BLOCK, DTYPE_BF16, ""},
        {LING(CONV FP8 ", \"routed_experts_quant_method\": \"mxfp4\"}"), false, false, false,
         DTYPE_MXFP4, DTYPE_FP8_BLOCK, ""},
        {LING(CONV FP8 ", \"store_dtype\": \"mxfp4\"}"), false, false, false, DTYPE_MXFP4,
         DTYPE_FP8_BLOCK, ""},
        {LING(CONV ", \"mtp_use_kda\": true"), false, false, false, DTYPE_NONE, DTYPE_BF16,
         "'mtp_use_kda'"},
        {LING(""), .note = NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct model m = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        enum status status = config_read_text(cases[i].text, &arena, &m, &notes, &err);
        print_message("%s\n", cases[i].text);
        if (!cases[i].note) {
            assert_int_equal(status, STATUS_INPUT);
            assert_string_equal(err.text, "configuration has no 'short_conv_kernel_size'");
            arena_release(&arena);
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(m.attention.output_gate, cases[i].wide);
        assert_int_equal(m.attention.head_gate, cases[i].head);
        assert_int_equal(m.linear.full_rank_gate, !cases[i].low);
        assert_int_equal(m.linear.full_rank_decay, !cases[i].low);
        assert_int_equal(m.linear.rank, cases[i].low ? 8 : 0);
        assert_int_equal(m.checkpoint, cases[i].checkpoint);
        assert_int_equal(m.plain_format, cases[i].plain);
        assert_non_null(strstr(text_string(&notes), cases[i].note));
        assert_int_equal(text_string(&notes)[0] != 0, cases[i].note[0] != 0);
        /* two groups of three, and two layers behind them */
        assert_int_equal(model_mixers(&m, MIXER_FULL), 4);
        assert_int_equal(m.dense_layers, 1);
        arena_release(&arena);
    }
}

static void granite_has_experts_behind_every_mixer(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct params p;
    struct text notes = {.arena = &arena};
    config_read("granite-4.0-h-small", &arena, &model, &notes);
    params_count(&model, &p);
    assert_int_equal(p.layers[KIND_LINEAR_MOE], 36);
    assert_int_equal(p.layers[KIND_MOE], 4);
    assert_int_equal(model.moe.shared_intermediate, 1536);
    /* layer-kinds.md 3, without norms and vectors */
    assert_int_equal(p.active / 10000000, 880);
    arena_release(&arena);
}

/* What a checkpoint is quantised to may stand beside its config.json alone. */
static void the_file_beside_says_the_format(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    config_read("quantised/config", &arena, &model, &notes);
    assert_int_equal(model.checkpoint, DTYPE_NVFP4);
    assert_int_equal(model.plain.n, 1);
    assert_int_equal(model.plain.value[0], PART_ATTENTION_OUT);
    assert_non_null(strstr(text_string(&notes), "'kv_cache_quant_algo' (hf_quant_config.json"));
    arena_release(&arena);
}

/* Bamba-9B lists the layers that have attention; its card: 9.78B. */
static void bamba_numbers_its_attention(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model_type\": \"bamba\", \"vocab_size\": 128256, \"hidden_size\": 4096,"
        " \"intermediate_size\": 14336, \"num_hidden_layers\": 32,"
        " \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"mamba_d_state\": 128,"
        " \"attn_layer_indices\": [9, 18, 27], \"mamba_d_head\": \"auto\"}";
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    struct params p;
    struct text notes = {.arena = &arena};
    if (config_read_text(text, &arena, &model, &notes, &err))
        fail_msg("%s", err.text);
    params_count(&model, &p);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(model.linear.head_dim, 64);
    for (uint64_t i = 0; i < 32; i++)
        assert_int_equal(model.layer_types.value[i % model.layer_types.n],
                         i == 9 || i == 18 || i == 27 ? LAYER_FULL : LAYER_LINEAR);
    assert_int_equal((p.parameters + 5000000) / 10000000, 978);
    arena_release(&arena);
}

#define COHERE                                                                                 \
    "{\"model_type\": \"cohere2_moe\", \"num_hidden_layers\": 6, \"hidden_size\": 64,"         \
    " \"vocab_size\": 100, \"num_attention_heads\": 4, \"head_dim\": 16,"                      \
    " \"num_key_value_heads\": 2, \"intermediate_size\": 32, \"num_experts\": 4,"              \
    " \"num_shared_experts\": 1, \"expert_selection_fn\": \"sigmoid\""

/* Command A+: one norm a layer, no head, experts as wide as intermediate_size, and dense layers
 * first, each of full attention unless a period of theirs says otherwise. */
static void cohere_has_experts_beside_attention(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        uint64_t dense, dense_width;
        enum layer_type types[6];
    } rows[] = {
        {"}",
         0,
         32,
         {LAYER_WINDOW, LAYER_WINDOW, LAYER_WINDOW, LAYER_FULL, LAYER_WINDOW, LAYER_WINDOW}},
        {", \"first_k_dense_replace\": 1, \"prefix_dense_intermediate_size\": 128,"
         " \"sliding_window_pattern\": 2}",
         1,
         128,
         {LAYER_FULL, LAYER_WINDOW, LAYER_FULL, LAYER_WINDOW, LAYER_FULL, LAYER_WINDOW}},
        {", \"first_k_dense_replace\": 2, \"prefix_dense_sliding_window_pattern\": 2}",
         2,
         32,
         {LAYER_WINDOW, LAYER_FULL, LAYER_WINDOW, LAYER_WINDOW, LAYER_WINDOW, LAYER_FULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct err err = {0};
        struct params p;
        struct text notes = {.arena = &arena};
        char text[600];
        snprintf(text, sizeof text, "%s%s", COHERE, rows[i].more);
        if (config_read_text(text, &arena, &model, &notes, &err))
            fail_msg("%s", err.text);
        params_count(&model, &p);
        assert_string_equal(text_string(&notes), "");
        assert_true(model.side_by_side && model.tied_embeddings);
        assert_int_equal(model.moe.router.score, SCORE_SIGMOID);
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(model.layer_types.value[j % model.layer_types.n],
                             rows[i].types[j]);
        /* queries and outputs of 64, keys and values of 32; three matrices of 32 an expert */
        assert_int_equal(p.parameters, 100 * 64 + 64 + 6 * (64 + 2 * 64 * 64 + 2 * 64 * 32) +
                                           rows[i].dense * 3 * 64 * rows[i].dense_width +
                                           (6 - rows[i].dense) * (4 * 64 + 5 * 3 * 64 * 32));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_published_or_named),
        cmocka_unit_test(every_key_is_read_or_named),
        cmocka_unit_test(what_is_left_out_is_what_the_software_takes),
        cmocka_unit_test(an_omni_model_thinks),
        cmocka_unit_test(kimi_k3_says_what_is_left_out),
        cmocka_unit_test(ling_has_its_gates_and_formats),
        cmocka_unit_test(granite_has_experts_behind_every_mixer),
        cmocka_unit_test(the_file_beside_says_the_format),
        cmocka_unit_test(bamba_numbers_its_attention),
        cmocka_unit_test(cohere_has_experts_beside_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
