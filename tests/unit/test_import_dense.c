/* Dense families, and what stands beside them: configurations as published, and how many
 * elements their checkpoints have as the hub counts them (safetensors.total), or as tools print
 * them of the loaded model, found in public repositories where not said otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/params.h"
#include "support/configs.h"

#define FORMULA "in training it keeps three tensors of a network's width that are not counted\n"

/* Falcon's head is its embedding (the hub counts it twice: 7,217,189,760). */
static void parameters_are_those_of_the_checkpoints(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t parameters, left_out;
        const char *noted; /* ends so; "": nothing is noted */
    } rows[] = {
        {"granite-3.3-8b", 8170864640, 0, ""},
        {"ernie-4.5-0.3b", 360748032, 0, ""},
        /* two numbers of xIELU a layer */
        {"apertus-8b", 8053338176, 2 * 32, "two learned numbers a layer are not counted\n"},
        {"phi-2", 2779683840, 0, FORMULA},
        {"pythia-6.9b", 6857302016, 0, ""},
        {"falcon-7b", 7217189760 - UINT64_C(65024) * 4544, 0, ""},
        {"aya-expanse-8b", 8028033024, 0, ""},
        {"stablelm-2-1.6b", 1644515328, 0, ""},
        {"glm-4-9b-0414", 9400279040, 0, ""},
        {"glm-4-9b-chat", 9399951360, 0, ""},
        {"internlm2-7b", 7737708544, 0, ""},
        {"minicpm-2b", 2724880896, 0, ""},
        {"lfm2-1.2b", 1170340608, 0, ""},
        {"deepseek-moe-16b", 16375728128, 0, ""},
        {"grok-2", 269515497472, 0, ""},
        {"qwen2-vl-7b", 8291375616, 0, ""},
        {"qwen3.5-2b", 2213241664, 0, ""},
        {"qwen3.5-9b", 9409813744, 0, ""},
        /* what the shapes give: no copy of the checkpoints' own counts was found */
        {"gpt-j-6b", 6050882784, 0, FORMULA},
        {"falcon-40b", 41303293952, 0, ""},
        {"command-r-plus", 103810674688, 0, ""},
        {"command-r7b", 8028033024, 0, ""},
        {"starcoder2-15b", 15957889024, 0, ""},
        {"exaone-3.5-7.8b", 7818448896, 0, ""},
        {"internlm3-8b", 8804241408, 0, ""},
        {"baichuan2-7b", 7505973248, 0, ""},
        {"glm-4.1v-9b", 10292777472, 0, ""},
        {"internvl3-1b", 938193024, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct params p;
        struct text notes = {.arena = &arena};
        config_read(rows[i].name, &arena, &model, &notes);
        params_count(&model, &p);
        print_message("%s\n", rows[i].name);
        assert_int_equal(p.parameters, rows[i].parameters - rows[i].left_out);
        const char *said = text_string(&notes);
        if (!rows[i].noted[0])
            assert_string_equal(said, "");
        else if (strlen(said) < strlen(rows[i].noted))
            fail_msg("%s: noted '%s'", rows[i].name, said);
        else
            assert_string_equal(said + strlen(said) - strlen(rows[i].noted), rows[i].noted);
        arena_release(&arena);
    }
}

/* With the module that predicts a token further the hub has 2,274,069,824 and 9,653,104,368
 * (text index id 71142266638). */
static void small_qwen_models_predict_a_token_further(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t parameters;
    } rows[] = {{"qwen3.5-2b", 2274069824}, {"qwen3.5-9b", 9653104368}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct params p;
        struct text notes = {.arena = &arena};
        config_read(rows[i].name, &arena, &model, &notes);
        model.mtp_enabled = true;
        params_count(&model, &p);
        assert_int_equal(p.parameters, rows[i].parameters);
        arena_release(&arena);
    }
}

#define OF(type)                                                                               \
    "{\"model_type\": \"" type "\", \"num_hidden_layers\": 4, \"hidden_size\": 64,"            \
    " \"vocab_size\": 100, \"num_attention_heads\": 4, \"intermediate_size\": 96,"

/* What the keys of a family change. */
static void keys_say_what_a_layer_has(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t norms, kv_heads, width;
        bool glu, mlp_bias, bias;
    } rows[] = {
        {OF("llama") " \"mlp_bias\": true}", 2, 4, 96, true, true, false},
        {OF("starcoder2") " \"use_bias\": false}", 2, 4, 96, false, false, false},
        {OF("stablelm") " \"use_parallel_residual\": true}", 1, 4, 96, true, false, false},
        {OF("falcon") " \"new_decoder_architecture\": true, \"num_kv_heads\": 2}", 2, 2, 256,
         false, false, false},
        {OF("falcon") " \"new_decoder_architecture\": true, \"num_kv_heads\": 2,"
                      " \"num_ln_in_parallel_attn\": 1}",
         1, 2, 256, false, false, false},
        {OF("falcon") " \"multi_query\": false, \"parallel_attn\": false, \"bias\": true,"
                      " \"ffn_hidden_size\": 80}",
         2, 4, 80, false, true, true},
        {OF("lfm2") " \"block_ff_dim\": 1000, \"block_multiple_of\": 64}", 2, 4, 704, true,
         false, false},
        {OF("lfm2") " \"block_ff_dim\": 1000, \"block_auto_adjust_ff_dim\": false}", 2, 4, 1000,
         true, false, false},
        {OF("arcee") " \"num_key_value_heads\": 1}", 2, 1, 96, false, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        print_message("%s\n", rows[i].text);
        if (config_read_text(rows[i].text, &arena, &model, &notes, &err))
            fail_msg("%s", err.text);
        assert_int_equal(model.norms_per_layer, rows[i].norms);
        assert_int_equal(model.attention.kv_heads, rows[i].kv_heads);
        assert_int_equal(model.dense_intermediate, rows[i].width);
        assert_int_equal(model.moe.glu, rows[i].glu);
        assert_int_equal(model.mlp_bias, rows[i].mlp_bias);
        assert_int_equal(model.attention.bias, rows[i].bias);
        assert_int_equal(model.dense_layers, 4);
        arena_release(&arena);
    }
}

static void what_is_not_modelled_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {OF("phi") " \"qk_layernorm\": true}",
         "'qk_layernorm' must be false: norms of heads with biases are not modelled"},
        {OF("lfm2") " \"block_ffn_dim_multiplier\": 1.5}",
         "'block_ffn_dim_multiplier' must be 1: other widths are not read"},
        {OF("opt") " \"x\": 1}",
         "architecture 'opt' is not supported: it has learned positions"},
        {OF("bloom") " \"x\": 1}",
         "architecture 'bloom' is not supported: it has a norm behind the embedding"},
        {OF("zamba2") " \"x\": 1}", "architecture 'zamba2' is not supported: it has attention "
                                    "whose weights several layers share"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct err err = {0};
        struct text notes = {.arena = &arena};
        assert_int_equal(config_read_text(rows[i].text, &arena, &model, &notes, &err),
                         STATUS_INPUT);
        assert_string_equal(err.text, rows[i].message);
        arena_release(&arena);
    }
}

/* Windows in three of four layers. */
static void command_r7b_has_windows(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    config_read("command-r7b", &arena, &model, &notes);
    assert_int_equal(model.layer_types.n, 4);
    assert_int_equal(model.layer_types.value[2], LAYER_WINDOW);
    assert_int_equal(model.layer_types.value[3], LAYER_FULL);
    assert_int_equal(model.attention.window, 4096);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_checkpoints),
        cmocka_unit_test(small_qwen_models_predict_a_token_further),
        cmocka_unit_test(keys_say_what_a_layer_has),
        cmocka_unit_test(what_is_not_modelled_is_refused),
        cmocka_unit_test(command_r7b_has_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
