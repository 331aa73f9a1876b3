/* plan/hf/import_hf_window: dialects, what is named as not modelled and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/layers.h"
#include "plan/params.h"
#include "support/configs.h"

#define STEP                                                                                   \
    "{\"model_type\": \"step3p5\", \"num_hidden_layers\": 6, \"hidden_size\": 64, "            \
    "\"vocab_size\": 100, \"num_attention_heads\": 4, \"head_dim\": 16, "                      \
    "\"intermediate_size\": 96, \"moe_intermediate_size\": 32, \"share_expert_dim\": 32, "     \
    "\"sliding_window\": 8, \"layer_types\": [\"full_attention\", \"sliding_attention\", "     \
    "\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\"], "

#define OWN                                                                                    \
    "\"num_attention_groups\": 2, \"moe_num_experts\": 8, \"moe_top_k\": 2, "                  \
    "\"moe_router_activation\": \"sigmoid\", \"attention_other_setting\": "                    \
    "{\"num_attention_heads\": 6, \"num_attention_groups\": 2, \"head_dim\": 16}, "

/* The checkpoint's names and those that transformers writes say the same model. */
static void step_reads_both_dialects(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    struct model a = {0}, b = {0};
    assert_int_equal(config_read_text(STEP OWN "\"moe_layers_enum\": \"2,3,4,5\"}", &arena, &a,
                                      &notes, &err),
                     STATUS_OK);
    assert_int_equal(
        config_read_text(STEP "\"num_key_value_heads\": 2, \"n_routed_experts\": 8, "
                              "\"num_experts_per_tok\": 2, \"scoring_func\": \"sigmoid\", "
                              "\"num_sliding_attention_heads\": 6, \"mlp_layer_types\": "
                              "[\"dense\", \"dense\", \"sparse\", \"sparse\", \"sparse\", "
                              "\"sparse\"]}",
                         &arena, &b, &notes, &err),
        STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.dense_layers, 2);
    assert_int_equal(a.window.heads, 6);
    assert_int_equal(a.window.kv_heads + a.window.head_dim, 0); /* as in the others */
    assert_int_equal(a.moe.shared_experts, 1);
    arena_release(&arena);
}

#define GEMMA                                                                                  \
    "{\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 12, \"hidden_size\": 64, "       \
    "\"intermediate_size\": 96, \"vocab_size\": 100, \"num_attention_heads\": 4, "             \
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"global_head_dim\": 32, "                  \
    "\"num_global_key_value_heads\": 1, "

#define SIX                                                                                    \
    "\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\", "   \
    "\"full_attention\", \"sliding_attention\""

/* Items of layer_types behind the model's layers are the modules'. */
static void step_reads_its_modules(void **state)
{
    (void)state;
    static const struct {
        const char *types;
        enum layer_kind kind;
    } rows[] = {{", \"sliding_attention\"]", KIND_WINDOW_DENSE}, {"]", KIND_DENSE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        struct model model = {0};
        const char *text = arena_printf(
            &arena,
            "{\"model_type\": \"step3p5\", \"num_hidden_layers\": 6, "
            "\"hidden_size\": 64, \"vocab_size\": 100, \"num_attention_heads\": 4, "
            "\"head_dim\": 16, \"intermediate_size\": 96, "
            "\"moe_intermediate_size\": 32, \"sliding_window\": 8, " OWN
            "\"num_nextn_predict_layers\": 1, \"layer_types\": [" SIX "%s}",
            rows[i].types);
        assert_int_equal(config_read_text(text, &arena, &model, &notes, &err), STATUS_OK);
        assert_int_equal(model.mtp_layers, 1);
        assert_int_equal(model_mtp_kind(&model), rows[i].kind);
        assert_string_equal(text_string(&notes),
                            "'num_nextn_predict_layers' (line 1): an output layer of each "
                            "prediction module's own is not counted: vLLM puts the model's in "
                            "its place\n");
        arena_release(&arena);
    }
}

/* Step-3: the first layer is dense unless experts are named, and dense ones behind them are
 * said. Its encoder: layers with biases and two norms, a class token, positions of 52 x 52
 * patches; two convolutions and a product. */
static void step3_reads_its_layers(void **state)
{
    (void)state;
    static const struct {
        const char *layers;
        uint64_t dense;
        const char *notes;
    } rows[] = {
        {"", 1, ""},
        {"\"moe_layers_enum\": \"2,3,4,5\", ", 2, ""},
        {"\"moe_layers_enum\": \"1, 2,3\", ", 3,
         "'moe_layers_enum' (line 1): dense layers behind those with experts are counted among "
         "the first\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        struct model model = {0};
        const char *text = arena_printf(
            &arena,
            "{\"model_type\": \"step3_vl\", \"understand_projector_stride\": 2, "
            "\"projector_bias\": false, \"vision_config\": {"
            "\"model_type\": \"step3_vision_encoder\", \"hidden_size\": 1792, "
            "\"intermediate_size\": 3072, \"output_hidden_size\": 4096, "
            "\"num_hidden_layers\": 63, \"num_attention_heads\": 16, \"image_size\": 728, "
            "\"patch_size\": 14}, \"text_config\": {\"model_type\": \"step3_text\", %s"
            "\"num_hidden_layers\": 6, \"hidden_size\": 64, \"vocab_size\": 100, "
            "\"num_attention_heads\": 4, \"head_dim\": 16, \"intermediate_size\": 96, "
            "\"moe_intermediate_size\": 32, \"moe_num_experts\": 8, \"moe_top_k\": 2, "
            "\"share_expert_dim\": 32, \"share_q_dim\": 24}}",
            rows[i].layers);
        if (config_read_text(text, &arena, &model, &notes, &err))
            fail_msg("%s", err.text);
        assert_int_equal(model.dense_layers, rows[i].dense);
        assert_int_equal(model.attention.q_lora_rank, 24);
        assert_int_equal(model.attention.kv_heads, 1);
        assert_string_equal(text_string(&notes), rows[i].notes);
        assert_int_equal(model.encoder.layers, 63);
        assert_int_equal(model.encoder.embedding, 588 * 1792 + 1792 + (52 * 52 + 2) * 1792);
        assert_int_equal(model.encoder.projector,
                         4 * 1792 * 4096 + 4096 + 9 * 4096 * 8192 + 8192 + 8192 * 64);
        assert_int_equal(model.encoder.merge, 16);
        arena_release(&arena);
    }
}

/* Global heads of keys count where keys are values; without a list every sixth layer is full.
 */
static void gemma_reads_its_global_heads(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    struct model shared = {0}, apart = {0};
    assert_int_equal(
        config_read_text(GEMMA "\"attention_k_eq_v\": true}", &arena, &shared, &notes, &err),
        STATUS_OK);
    assert_int_equal(
        config_read_text(GEMMA "\"attention_k_eq_v\": false}", &arena, &apart, &notes, &err),
        STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(model_attention(&shared, MIXER_FULL).kv_heads, 1);
    assert_int_equal(model_attention(&apart, MIXER_FULL).kv_heads, 2);
    assert_int_equal(model_attention(&shared, MIXER_FULL).head_dim, 32);
    assert_int_equal(model_attention(&shared, MIXER_WINDOW).head_dim, 16);
    assert_int_equal(model_attention(&shared, MIXER_WINDOW).kv_heads, 2);
    assert_false(model_attention(&shared, MIXER_WINDOW).k_eq_v);
    assert_int_equal(model_mixers(&shared, MIXER_FULL), 2);
    arena_release(&arena);
}

/* Of E2B and E4B: the last layers borrow keys, with networks twice as wide; every layer has
 * embeddings, of Gemma4TextConfig's width where the configuration does not say it. */
static void smaller_gemmas_borrow_keys(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    struct model model = {0}, plain = {0};
    assert_int_equal(
        config_read_text(GEMMA "\"hidden_size_per_layer_input\": 8, "
                               "\"num_kv_shared_layers\": 4, \"use_double_wide_mlp\": true, "
                               "\"vocab_size_per_layer_input\": 90}",
                         &arena, &model, &notes, &err),
        STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(model.layer_embedding.width, 8);
    assert_int_equal(model.layer_embedding.vocab, 90);
    assert_int_equal(model.borrow_intermediate, 2 * model.dense_intermediate);
    assert_int_equal(model_mixers(&model, MIXER_BORROW), 1);
    assert_int_equal(model_mixers(&model, MIXER_WINDOW_BORROW), 3);
    assert_int_equal(model_mixers(&model, MIXER_FULL), 1);
    assert_int_equal(model_mixers(&model, MIXER_WINDOW), 7);
    assert_int_equal(
        config_read_text(GEMMA "\"use_double_wide_mlp\": true}", &arena, &plain, &notes, &err),
        STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(plain.borrow_intermediate, 0);
    assert_int_equal(plain.layer_embedding.width, 256);
    arena_release(&arena);
}

#define MIMO                                                                                   \
    "{\"model_type\": \"mimo_v2\", \"num_hidden_layers\": 4, \"hidden_size\": 64, "            \
    "\"intermediate_size\": 96, \"vocab_size\": 100, \"num_attention_heads\": 4, "             \
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"v_head_dim\": 8, "                        \
    "\"swa_num_attention_heads\": 4, \"swa_num_key_value_heads\": 4, \"swa_head_dim\": 16, "   \
    "\"swa_v_head_dim\": 8, \"sliding_window_size\": 8, "                                      \
    "\"hybrid_layer_pattern\": [0, 1, 1, 0], \"n_routed_experts\": 8, "                        \
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, "

static void mimo_reads_its_window_heads(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    struct model model = {0};
    assert_int_equal(config_read_text(MIMO "\"moe_layer_freq\": [0, 1, 1, 1], "
                                           "\"add_swa_attention_sink_bias\": true, "
                                           "\"num_nextn_predict_layers\": 3}",
                                      &arena, &model, &notes, &err),
                     STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(model.window.kv_heads, 4);
    assert_int_equal(model.window.heads + model.window.head_dim + model.window.v_head_dim, 0);
    assert_true(model.window.sinks);
    assert_false(model.attention.sinks);
    assert_int_equal(model.attention.window, 8);
    assert_int_equal(model.dense_layers, 1);
    assert_int_equal(model.mtp_layers, 3);
    assert_int_equal(model_mtp_kind(&model), KIND_WINDOW_DENSE);
    arena_release(&arena);
}

/* Six heads of 16: what rotates of full layers' heads (0: all), and a table beside that of
 * window layers. */
static void a_second_base_is_a_second_table(void **state)
{
    (void)state;
#define KINDS(full, window)                                                                    \
    "\"rope_parameters\": {\"full_attention\": {" full "}, \"sliding_attention\": {" window    \
    "}}}"
#define LAYERS "\"moe_layers_enum\": \"2,3,4,5\", "
    static const struct {
        const char *config;
        uint64_t columns, beside;
    } rows[] = {
        {MIMO "\"moe_layer_freq\": [0, 1, 1, 1]}", 0, 0},
        {MIMO "\"moe_layer_freq\": [0, 1, 1, 1], \"rope_theta\": 5000000, "
              "\"swa_rope_theta\": 10000, \"partial_rotary_factor\": 0.25}",
         4, 4},
        {MIMO "\"moe_layer_freq\": [0, 1, 1, 1], \"rope_theta\": 10000, "
              "\"swa_rope_theta\": 10000}",
         0, 0},
        {STEP OWN LAYERS "\"rope_theta\": [5000000, 10000, 5000000, 10000, 5000000, 10000], "
                         "\"partial_rotary_factors\": [0.5, 1.0, 0.5, 1.0, 0.5, 1.0]}",
         8, 16},
        {STEP OWN LAYERS "\"rope_theta\": 10000}", 0, 0},
        {STEP OWN LAYERS KINDS("\"rope_theta\": 500000, \"partial_rotary_factor\": 0.5",
                               "\"rope_theta\": 10000"),
         8, 16},
        {STEP OWN LAYERS KINDS("\"rope_theta\": 10000, \"rope_type\": \"yarn\"",
                               "\"rope_theta\": 10000"),
         0, 16},
        {STEP OWN LAYERS KINDS("\"rope_theta\": 10000", "\"rope_theta\": 10000"), 0, 0},
        {GEMMA KINDS("\"rope_theta\": 1000000, \"rope_type\": \"proportional\", "
                     "\"partial_rotary_factor\": 0.25",
                     "\"rope_theta\": 10000"),
         0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        struct model model = {0};
        print_message("%s\n", rows[i].config);
        enum status status = config_read_text(rows[i].config, &arena, &model, &notes, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(status, STATUS_OK);
        assert_true(model.rotary);
        assert_int_equal(model.attention.qk_rope_head_dim, rows[i].columns);
        assert_int_equal(model.rotary_beside, rows[i].beside);
        arena_release(&arena);
    }
}

static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config, *said;
    } cases[] = {
        {MIMO "\"moe_layer_freq\": [0, 1, 0, 1]}",
         "'moe_layer_freq' must begin with the layers without experts and have no others"},
        {STEP OWN "\"moe_layers_enum\": \"2,3,5\"}",
         "'moe_layers_enum' must name every layer from its first to the last of 6"},
        {STEP OWN "\"moe_layers_enum\": \"2,3,4\"}",
         "'moe_layers_enum' must name every layer from its first to the last of 6"},
        {STEP "\"moe_top_k\": 2}", "configuration has no 'moe_num_experts'"},
        {GEMMA "\"num_kv_shared_layers\": 13}",
         "'num_kv_shared_layers' is more than the 12 layers"},
        {GEMMA "\"num_kv_shared_layers\": 8}",
         "of the 4 layers before those that share keys none is of the type of layer 6"},
        {GEMMA "\"enable_moe_block\": true}",
         "'enable_moe_block' needs 'num_experts', 'top_k_experts' and "
         "'moe_intermediate_size'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        struct model model = {0};
        print_message("%s\n", cases[i].said);
        assert_int_equal(config_read_text(cases[i].config, &arena, &model, &notes, &err),
                         STATUS_INPUT);
        assert_string_equal(err.text, cases[i].said);
        assert_int_equal(strncmp(err.where, "config.json:1:", 14), 0);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_reads_both_dialects),
        cmocka_unit_test(step_reads_its_modules),
        cmocka_unit_test(step3_reads_its_layers),
        cmocka_unit_test(gemma_reads_its_global_heads),
        cmocka_unit_test(smaller_gemmas_borrow_keys),
        cmocka_unit_test(mimo_reads_its_window_heads),
        cmocka_unit_test(a_second_base_is_a_second_table),
        cmocka_unit_test(what_cannot_be_said_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
