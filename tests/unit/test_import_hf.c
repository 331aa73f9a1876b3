/* plan/hf/import_hf: a configuration of each family equals the shipped model, field by field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/hf/import_hf.h"
#include "plan/schema/schema.h"
#include "support/catalogue.h"
#include "plan/params.h"

static enum status import_text(const char *text, struct arena *arena, struct model *model,
                               struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_text("config.json", text, strlen(text), arena, &root, err));
    return import_hf_model(root, model, err);
}

static void import_file(const char *name, struct arena *arena, struct model *model)
{
    struct err err = {0};
    struct node *root = NULL;
    const char *path = arena_printf(arena, "tests/configs/%s.json", name);
    assert_int_equal(source_read_file(path, arena, &root, &err), STATUS_OK);
    assert_true(import_hf_is_config(root));
    if (import_hf_model(root, model, &err) != STATUS_OK)
        fail_msg("%s: %s: %s (%s)", name, err.where, err.text, err.hint);
}

static void expect_equal(const char *name, const struct plan *imported,
                         const struct plan *shipped, struct arena *arena)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(fields[i].key, "model.", 6) != 0 ||
            strcmp(fields[i].key, "model.name") == 0)
            continue;
        if (!imported->model.checkpoint && (!strcmp(fields[i].key, "model.checkpoint") ||
                                            !strcmp(fields[i].key, "model.plain")))
            continue; /* the kept part of a configuration may lack quantization_config */
        struct text a = {.arena = arena}, b = {.arena = arena};
        schema_print(&fields[i], imported, &a);
        schema_print(&fields[i], shipped, &b);
        if (strcmp(text_string(&a), text_string(&b)) != 0)
            fail_msg("%s: %s is %s imported, %s shipped", name, fields[i].key, text_string(&a),
                     text_string(&b));
    }
}

/* Configurations beside model files of their names. */
static const char *const families[] = {
    "arctic",
    "dbrx",
    "deepseek-v2",
    "deepseek-v2-lite",
    "deepseek-v3",
    "deepseek-v3.2",
    "deepseek-v4-flash",
    "deepseek-v4-flash-vision-exp",
    "deepseek-v4.1-flash",
    "deepseek-v4-pro",
    "gemma-4-26b-a4b",
    "gemma-4-31b",
    "gemma-4-e2b",
    "gemma-4-e4b",
    "glm-4.5",
    "glm-4.5-air",
    "glm-4.6",
    "glm-5",
    "glm-5.2",
    "glm-5.3-flash",
    "gpt-oss-120b",
    "granite-3.1-3b-a800m",
    "granite-4.0-h-small",
    "grok-1",
    "jamba-v0.1",
    "kimi-k2",
    "kimi-k2.5",
    "kimi-k3",
    "kimi-linear-48b-a3b",
    "llama-3.1-405b",
    "llama-3.1-70b",
    "llama-3.1-8b",
    "llama4-maverick",
    "llama4-scout",
    "minimax-m2.5",
    "mimo-v2-flash",
    "minimax-text-01",
    "mixtral-8x7b",
    "nemotron-3-nano",
    "nemotron-3-super",
    "olmoe-1b-7b",
    "phi-3.5-moe",
    "qwen1.5-moe-a2.7b",
    "qwen3-235b-a22b",
    "qwen3-30b-a3b",
    "qwen3-32b",
    "qwen3-next-80b-a3b",
    "qwen3.5-397b-a17b",
    "step-3.7-flash",
    "longcat-flash",
    "longcat-flash-lite",
    "step3",
    "phi-2",
    "gpt-j-6b",
    "falcon-7b",
    "falcon-h1-0.5b",
    "falcon-mamba-7b",
    "mamba-codestral-7b",
    "falcon-40b",
    "sarvam-30b",
    "sarvam-105b",
    "command-r7b",
    "command-r-v01",
    "command-r-08-2024",
    "command-r-plus",
    "aya-expanse-8b",
    "a.x-k1",
    "hy3",
    "hy4-preview",
    "ernie-4.5-vl-28b-a3b",
    "ernie-4.5-vl-424b-a47b",
    "k-exaone-236b-a23b",
    "laguna-s-2.1",
    "laguna-xs.2",
    "llama-3.3-nemotron-super-49b",
    "mistral-small-4-119b",
    "solar-open-100b",
    "trinity-large",
    "trinity-mini",
    "trinity-nano",
    "devstral-2-123b",
    "devstral-small-2-24b",
    "dots.llm1",
    "exaone-4.0-32b",
    "glm-4.5v",
    "granite-4.0-h-tiny",
    "lfm2-8b-a1b",
    "ling-1t",
    "ling-3.0-flash",
    "mimo-v2.5-pro",
    "muse-glimmer-30b",
    "alice-ai-80b-a3b",
    "solar-open2-250b",
    "ling-3.0-tiny",
    "ring-2.5-1t",
    "ring-mini-linear-2.0",
    "ling-flash-2.0",
    "ling-mini-2.0",
    "mistral-small-24b",
    "mistral-small-3.1-24b",
    "nemotron-nano-9b-v2",
    "phi-4",
    "phi-4-mini",
    "qwen2.5-vl-32b",
    "qwen2.5-vl-3b",
    "qwen2.5-vl-72b",
    "qwen2.5-vl-7b",
    "qwen3-omni-30b-a3b",
    "qwen3-vl-2b",
    "qwen3-vl-32b",
    "qwen3-vl-4b",
    "qwen3-vl-8b",
};

static void every_family_equals_the_shipped_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct arena arena = {0};
        struct plan imported = {0}, shipped = {0};
        import_file(families[i], &arena, &imported.model);
        catalogue_plan(families[i], NULL, NULL, &arena, &shipped);
        expect_equal(families[i], &imported, &shipped, &arena);
        struct params a, b;
        params_count(&imported.model, &a);
        params_count(&shipped.model, &b);
        assert_int_equal(a.parameters, b.parameters);
        arena_release(&arena);
    }
}

/* Published as 14.3 G parameters of which 2.7 G are active; the shared expert has a gate. */
static void qwen2_moe_has_a_gated_shared_expert(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    import_file("qwen1.5-moe-a2.7b", &arena, &model);
    assert_true(model.moe.shared_gate);
    assert_true(model.attention.bias);
    assert_false(model.attention.output_bias);
    assert_int_equal(model.moe.shared_intermediate, 5632);
    struct params p;
    params_count(&model, &p);
    assert_int_equal(p.parameters, 14315784192);
    assert_int_equal(p.active_matrices / 100000000, 26);
    arena_release(&arena);
}

static const char mixtral[] = "{\"model_type\": \"mixtral\", \"num_hidden_layers\": 2,"
                              " \"hidden_size\": 64, \"vocab_size\": 100,"
                              " \"num_attention_heads\": 4, \"num_experts_per_tok\": 2,"
                              " \"num_local_experts\": 4, \"intermediate_size\": 32";

#define V4                                                                                     \
    "{\"model_type\": \"deepseek_v4\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"         \
    " \"vocab_size\": 100, \"num_attention_heads\": 8, \"num_experts_per_tok\": 2,"            \
    " \"n_routed_experts\": 4, \"moe_intermediate_size\": 32,"

static void absent_keys_take_the_class_default(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    const char *text = arena_printf(&arena, "%s}", mixtral);
    assert_int_equal(import_text(text, &arena, &model, &err), STATUS_OK);
    assert_int_equal(model.attention.kv_heads, 4);
    assert_int_equal(model.attention.head_dim, 16);
    assert_int_equal(model.moe_every, 1);
    assert_int_equal(model.moe.router.groups, 1);
    assert_false(model.tied_embeddings);
    assert_string_equal(model.name, "mixtral");
    arena_release(&arena);
}

static void dense_layers_follow_from_the_step(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    import_file("llama4-maverick", &arena, &model);
    assert_int_equal(model.dense_layers, 24);
    assert_int_equal(model.moe_every, 2);
    arena_release(&arena);
}

static void broken_configurations_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message, *hint;
    } cases[] = {
        {"[1]", "config.json:1:1", "configuration must be a mapping", ""},
        {"{\"hidden_size\": 4}", "config.json:1:1",
         "configuration names no architecture: 'model_type' is missing", ""},
        {"{\"model_type\": \"xlnot\"}", "config.json:1:16", "architecture 'xlnot' is not known",
         "write the model's own keys, as models/*.yaml do"},
        {"{\"model_type\": \"qwen3_mo\"}", "config.json:1:16",
         "architecture 'qwen3_mo' is not known",
         "did you mean 'qwen3_moe'? Else write the model's own keys, as models/*.yaml do"},
        {"{\"model_type\": \"gemma3n\"}", "config.json:1:16",
         "architecture 'gemma3n' is not supported: it has layers of different shapes",
         "write the model's own keys where its layers are of known types, as models/*.yaml do"},
        {"{\"model_type\": \"mistral_large4\"}", "config.json:1:16",
         "architecture 'mistral_large4' is not supported: it has latent attention that reads "
         "entries of earlier layers",
         "write the model's own keys where its layers are of known types, as models/*.yaml do"},
        {V4 " \"compress_ratios\": [4, 64]}", "config.json:1:220",
         "'compress_ratios' has '64': known are 0, 4 and 128", ""},
        {V4 " \"compress_ratios\": [4]}", "config.json:1:216",
         "'compress_ratios' has 1 items for 2 layers", ""},
        {V4 " \"mlp_layer_types\": [\"moe\", \"hash_moe\"]}", "config.json:1:224",
         "'mlp_layer_types': hash_moe must be the first layers", ""},
        {"{\n \"model_type\": \"mixtral\"}", "config.json:1:1",
         "configuration has no 'num_hidden_layers'", "architecture 'mixtral' needs it"},
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": \"2\"}", "config.json:1:48",
         "'num_hidden_layers' must be a whole number up to 1000000000, not '2'",
         "it must be at least 1"},
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": 0}", "config.json:1:48",
         "'num_hidden_layers' must be a whole number up to 1000000000, not '0'",
         "it must be at least 1"},
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": 1.5}", "config.json:1:48",
         "'num_hidden_layers' must be a whole number up to 1000000000, not '1.5'",
         "it must be at least 1"},
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": [1]}", "config.json:1:48",
         "'num_hidden_layers' must be a whole number up to 1000000000, not 'a list'",
         "it must be at least 1"},
        {"{\"model_type\": \"mixtral\", \"num_hidden_layers\": null}", "config.json:1:1",
         "configuration has no 'num_hidden_layers'", "architecture 'mixtral' needs it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct model model = {.layers = 77};
        assert_int_equal(import_text(cases[i].text, &arena, &model, &err), STATUS_INPUT);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].message);
        assert_string_equal(err.hint, cases[i].hint);
        assert_int_equal(model.layers, 77);
        arena_release(&arena);
    }
}

/* Appended to a valid mixtral configuration, or another family's key in it. */
static void broken_values_say_what_is_meant(void **state)
{
    (void)state;
    static const struct {
        const char *more, *message;
    } cases[] = {
        {"\"tie_word_embeddings\": 1", "'tie_word_embeddings' must be true or false, not '1'"},
        {"\"hidden_act\": \"relu6\"",
         "'hidden_act' must be one of the known words, not 'relu6'"},
        {"\"num_key_value_heads\": -1",
         "'num_key_value_heads' must be a whole number up to 1000000000, not '-1'"},
        {"\"max_position_embeddings\": 99999999999",
         "'max_position_embeddings' must be a whole number up to 1000000000, not "
         "'99999999999'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct model model = {0};
        const char *text = arena_printf(&arena, "%s, %s}", mixtral, cases[i].more);
        assert_int_equal(import_text(text, &arena, &model, &err), STATUS_INPUT);
        assert_string_equal(err.text, cases[i].message);
        arena_release(&arena);
    }
}

static const char qwen3[] =
    "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 64,"
    " \"vocab_size\": 100, \"num_attention_heads\": 4, \"num_experts_per_tok\": 2,"
    " \"num_experts\": 4, \"moe_intermediate_size\": 32, \"intermediate_size\": 99";

static void dense_layers_must_be_the_first_ones(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    const char *good = arena_printf(&arena, "%s, \"mlp_only_layers\": [0, 1]}", qwen3);
    assert_int_equal(import_text(good, &arena, &model, &err), STATUS_OK);
    assert_int_equal(model.dense_layers, 2);
    assert_int_equal(model.dense_intermediate, 99);
    const char *bad = arena_printf(&arena, "%s, \"mlp_only_layers\": [0, 3]}", qwen3);
    assert_int_equal(import_text(bad, &arena, &model, &err), STATUS_INPUT);
    assert_string_equal(err.text, "'mlp_only_layers' must name the first layers and no others");
    arena_release(&arena);
}

static void heads_must_split_the_hidden_state(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    const char *text = "{\"model_type\": \"mixtral\", \"num_hidden_layers\": 2,"
                       " \"hidden_size\": 64, \"vocab_size\": 100, \"num_attention_heads\": 3,"
                       " \"num_experts_per_tok\": 2, \"num_local_experts\": 4,"
                       " \"intermediate_size\": 32}";
    assert_int_equal(import_text(text, &arena, &model, &err), STATUS_INPUT);
    assert_string_equal(err.text, "hidden size 64 is not a multiple of the 3 attention heads");
    arena_release(&arena);
}

/* Families that no shipped model is of, by their published parameters. Gemma: to the last one
 * (google's model cards and safetensors indices); the others: computed by hand from the
 * configuration, the owner prints 142 B, 21 B, 80 B and 16 B. */
static void families_count_what_was_published(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        uint64_t parameters;
        unsigned windows; /* layers of a period that have one */
    } cases[] = {
        {"\"model_type\": \"gemma\", \"hidden_size\": 3072, \"intermediate_size\": 24576,"
         "\"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"vocab_size\": 256000,"
         "\"num_hidden_layers\": 28",
         8537680896, 0},
        {"\"model_type\": \"gemma2\", \"hidden_size\": 4608, \"intermediate_size\": 36864,"
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 16, \"vocab_size\": 256000,"
         "\"num_hidden_layers\": 46, \"head_dim\": 128",
         27227128320, 1},
        {"\"model_type\": \"gemma3_text\", \"hidden_size\": 5376, \"head_dim\": 128,"
         "\"intermediate_size\": 21504, \"num_attention_heads\": 32,"
         "\"num_key_value_heads\": 16, \"vocab_size\": 262208, \"num_hidden_layers\": 62,"
         "\"sliding_window\": 1024",
         27009346304, 5},
        /* as gemma-3-4b-it says it: the rest is Gemma3TextConfig's */
        {"\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, \"intermediate_size\": 10240,"
         "\"num_hidden_layers\": 34, \"sliding_window\": 1024",
         3880263168, 5},
        {"\"model_type\": \"phi3\", \"hidden_size\": 5120, \"intermediate_size\": 17920,"
         "\"num_attention_heads\": 40, \"num_key_value_heads\": 10, \"vocab_size\": 100352,"
         "\"num_hidden_layers\": 40",
         14659507200, 0},
        {"\"model_type\": \"olmo2\", \"hidden_size\": 5120, \"intermediate_size\": 27648,"
         "\"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"vocab_size\": 100352,"
         "\"num_hidden_layers\": 64",
         32234279936, 0},
        {"\"model_type\": \"seed_oss\", \"hidden_size\": 5120, \"intermediate_size\": 27648,"
         "\"num_attention_heads\": 80, \"num_key_value_heads\": 8, \"vocab_size\": 155136,"
         "\"num_hidden_layers\": 64, \"head_dim\": 128, \"attention_bias\": true,"
         "\"attention_out_bias\": false",
         36151104512, 0},
        {"\"model_type\": \"smollm3\", \"hidden_size\": 2048, \"intermediate_size\": 11008,"
         "\"num_attention_heads\": 16, \"num_key_value_heads\": 4, \"vocab_size\": 128256,"
         "\"num_hidden_layers\": 36",
         3075098624, 0},
        {"\"model_type\": \"dots1\", \"hidden_size\": 4096, \"intermediate_size\": 10944,"
         "\"first_k_dense_replace\": 1, \"n_routed_experts\": 128, \"n_shared_experts\": 2,"
         "\"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, \"head_dim\": 128,"
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 32,"
         "\"num_hidden_layers\": 62, \"vocab_size\": 152064",
         142774381696, 0},
        {"\"model_type\": \"ernie4_5_moe\", \"hidden_size\": 2560, \"moe_num_experts\": 64,"
         "\"intermediate_size\": 12288, \"moe_k\": 6, \"moe_intermediate_size\": 1536,"
         "\"moe_num_shared_experts\": 2, \"num_attention_heads\": 20, \"vocab_size\": 103424,"
         "\"num_key_value_heads\": 4, \"num_hidden_layers\": 28",
         21825437888, 0},
        {"\"model_type\": \"hunyuan_v1_moe\", \"hidden_size\": 4096, \"num_experts\": 64,"
         "\"intermediate_size\": 3072, \"moe_topk\": [8, 8, 8], \"num_shared_expert\": [1, 1],"
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 128167,"
         "\"num_hidden_layers\": 32, \"tie_word_embeddings\": true",
         80393183232, 0},
        {"\"model_type\": \"bailing_moe\", \"hidden_size\": 2048, \"num_experts\": 256,"
         "\"intermediate_size\": 5120, \"first_k_dense_replace\": 1, \"head_dim\": 128,"
         "\"num_experts_per_tok\": 8, \"num_shared_experts\": 1, \"use_qk_norm\": true,"
         "\"moe_intermediate_size\": 512, \"num_attention_heads\": 16, \"vocab_size\": 157184,"
         "\"num_key_value_heads\": 4, \"num_hidden_layers\": 20, \"score_function\":"
         "\"sigmoid\", \"moe_router_enable_expert_bias\": true",
         16255643392, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct model model;
        struct params params;
        struct err err = {0};
        const char *text = arena_printf(&arena, "{%s}", cases[i].config);
        if (import_text(text, &arena, &model, &err) != STATUS_OK)
            fail_msg("%s: %s", err.where, err.text);
        unsigned windows = 0;
        for (uint64_t at = 0; at < model.layer_types.n; at++)
            windows += model.layer_types.value[at] == LAYER_WINDOW;
        params_count(&model, &params);
        print_message("%s\n", model.name);
        assert_int_equal(params.parameters, cases[i].parameters);
        assert_int_equal(windows, cases[i].windows);
        arena_release(&arena);
    }
}

/* quantization_config: the format that serving keeps. */
static void checkpoints_have_their_format(void **state)
{
    (void)state;
    static const struct {
        const char *how;
        enum dtype format;
    } cases[] = {
        {"\"quant_method\": \"mxfp4\"", DTYPE_MXFP4},
        {"\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]", DTYPE_FP8_BLOCK},
        {"\"quant_method\": \"fp8\"", DTYPE_FP8},
        {"\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128", DTYPE_INT4},
        {"\"quant_method\": \"gptq\", \"bits\": 8", DTYPE_INT8},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true", DTYPE_NF4},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, "
         "\"bnb_4bit_use_double_quant\": true",
         DTYPE_NF4_DOUBLE},
        {"\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\"", DTYPE_NVFP4},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": "
         "{\"weights\": {\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16}}}",
         DTYPE_NVFP4},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": "
         "{\"weights\": {\"num_bits\": 4, \"type\": \"int\", \"group_size\": 32}}}",
         DTYPE_INT4_32},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": "
         "{\"weights\": {\"num_bits\": 8, \"type\": \"float\"}}}",
         DTYPE_FP8_CHANNEL},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": []}",
         DTYPE_NONE},
        {"\"quant_method\": \"aqlm\"", DTYPE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct model model = {0};
        const char *text =
            arena_printf(&arena, "%s, \"quantization_config\": {%s}}", mixtral, cases[i].how);
        print_message("%s\n", cases[i].how);
        assert_int_equal(import_text(text, &arena, &model, &err), STATUS_OK);
        assert_int_equal(model.checkpoint, cases[i].format);
        arena_release(&arena);
    }
}

/* Never silence: what changes memory and is not modelled is said. */
static void what_is_not_modelled_is_noted(void **state)
{
    (void)state;
    static const struct {
        const char *more, *notes;
    } cases[] = {
        {"", ""},
        {", \"sliding_window\": null, \"vision_config\": {}, \"hc_mult\": 0", ""},
        {", \"hc_mult\": 4", "'hc_mult' (line 1): hyper-connections are not counted\n"},
        {", \"vision_config\": {\"depth\": 2}", "'vision_config' (line 1): the vision encoder "
                                                "is of no known kind or incomplete: it is not "
                                                "counted (model.encoder.* says it)\n"},
        {", \"quantization_config\": {\"quant_method\": \"awq\"}",
         "'quantization_config' (line 1): a format that is not known; the matrices are taken "
         "for "
         "16 bits\n"},
        {", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, "
         "\"modules_to_not_convert\": [\"lm_head\", \"model.layers.0.mlp.gate\"]}",
         ""},
        {", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, "
         "\"modules_to_not_convert\": [\"lm_head\", \"self_attn\"]}",
         ""}, /* model.plain */
        {", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, "
         "\"kv_cache_scheme\": {\"num_bits\": 8}}",
         "'kv_cache_scheme' (line 1): a cache in a format of the checkpoint's own is for "
         "precision.kv_cache to say\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct model model = {0};
        struct node *root = NULL;
        struct text notes = {.arena = &arena};
        const char *text = arena_printf(&arena, "%s%s}", mixtral, cases[i].more);
        assert_int_equal(
            source_read_text("config.json", text, strlen(text), &arena, &root, &err),
            STATUS_OK);
        assert_int_equal(import_hf_model(root, &model, &err), STATUS_OK);
        import_hf_notes(root, &model, &notes);
        assert_string_equal(text_string(&notes), cases[i].notes);
        arena_release(&arena);
    }
}

static void linear_attention_layers_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    const char *text = "{\"model_type\": \"minimax_m2\", \"num_hidden_layers\": 2,"
                       " \"hidden_size\": 64, \"vocab_size\": 100, \"num_attention_heads\": 4,"
                       " \"num_experts_per_tok\": 2, \"num_local_experts\": 4,"
                       " \"intermediate_size\": 32, \"attn_type_list\": [0, 1]}";
    assert_int_equal(import_text(text, &arena, &model, &err), STATUS_INPUT);
    assert_string_equal(
        err.text, "not supported: hybrid attention (linear and softmax attention layers)");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_equals_the_shipped_model),
        cmocka_unit_test(qwen2_moe_has_a_gated_shared_expert),
        cmocka_unit_test(absent_keys_take_the_class_default),
        cmocka_unit_test(dense_layers_follow_from_the_step),
        cmocka_unit_test(families_count_what_was_published),
        cmocka_unit_test(broken_configurations_say_where),
        cmocka_unit_test(broken_values_say_what_is_meant),
        cmocka_unit_test(dense_layers_must_be_the_first_ones),
        cmocka_unit_test(heads_must_split_the_hidden_state),
        cmocka_unit_test(checkpoints_have_their_format),
        cmocka_unit_test(what_is_not_modelled_is_noted),
        cmocka_unit_test(linear_attention_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
