/* Bytes of an engine's weights on one device, and what the index of the published checkpoint
 * says of them (metadata.total_size of model.safetensors.index.json; text index ids beside). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/params.h"
#include "support/catalogue.h"
#include "support/configs.h"
#include "support/listed.h"

static void weights_are_what_the_index_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t total;
    } rows[] = {
        {"llama-3.1-8b", 16060522496},   /* 54103795092 */
        {"llama-3.1-70b", 141107412992}, /* 65976726305 */
        {"qwen2.5-7b", 15231233024},     /* 71629836929 */
        {"qwen3-8b", 16381470720},       /* 4560320375 */
        {"qwen3-30b-a3b", 61064245248},  /* 55662526280 */
        {"mixtral-8x7b", 93405585408},   /* 9876739501 */
        {"jamba-v0.1", 103140646656},    /* 54365071727 */
        /* 31112482743: mxfp4 beside 16 bits; SGLang has biases of experts in f32 */
        {"gpt-oss-20b", 13761264768 + UINT64_C(24) * 32 * 3 * 2880 * 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan(rows[i].model, "rtx-pro-6000", "sglang", &arena, &plan);
        print_message("%s\n", rows[i].model);
        assert_int_equal(listed_category(&plan, CATEGORY_WEIGHTS), rows[i].total);
        arena_release(&arena);
    }
}

/* Qwen-7B-Chat in 16 bits (text index id 54872141627): two of its network's matrices are half
 * as wide as intermediate_size. */
static void the_first_qwen_is_half_as_wide(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"qwen\", \"hidden_size\": 4096, \"intermediate_size\": 22016,"
        " \"kv_channels\": 128, \"num_attention_heads\": 32, \"num_hidden_layers\": 32,"
        " \"tie_word_embeddings\": false, \"vocab_size\": 151936}";
    struct arena arena = {0};
    struct model model = {0};
    struct params p;
    struct err err = {0};
    struct text notes = {.arena = &arena};
    assert_int_equal(config_read_text(config, &arena, &model, &notes, &err), STATUS_OK);
    params_count(&model, &p);
    assert_int_equal(2 * p.parameters, 15442649088);
    arena_release(&arena);
}

/* Pangu Pro MoE as its paper has it (48 layers, 64 experts of 1,344, a shared one of 5,376):
 * 2 x 5120^2 + 2 x 5120 x 1024 of attention with biases of 2 x 5120 + 2 x 1024, experts and
 * shared 3 x 5120 x (64 x 1344 + 5376), router 64 x 5121, two norms; the owner prints 72 B. */
static void pangu_pro_counts_by_hand(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"PanguProMoE\", \"hidden_size\": 5120, \"num_hidden_layers\": 48,"
        " \"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"num_experts\": 64,"
        " \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1344,"
        " \"shared_expert_intermediate_size\": 5376, \"vocab_size\": 153376}";
    const uint64_t h = 5120, layer = 2 * h * h + 2 * h * 1024 + 2 * h + 2 * 1024 +
                                     3 * h * (64 * 1344 + 5376) + 64 * (h + 1) + 2 * h;
    struct arena arena = {0};
    struct model model = {0};
    struct params p;
    struct err err = {0};
    struct text notes = {.arena = &arena};
    assert_int_equal(config_read_text(config, &arena, &model, &notes, &err), STATUS_OK);
    params_count(&model, &p);
    assert_int_equal(p.parameters, 48 * layer + 2 * 153376 * h + h);
    arena_release(&arena);
}

/* Of two layers the second has neither keys nor values (Hunyuan-Large). */
static void layers_that_share_keys_have_none(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"hunyuan\", \"hidden_size\": 6400, \"num_hidden_layers\": 64,"
        " \"num_attention_heads\": 80, \"num_key_value_heads\": 8, \"num_experts\": 16,"
        " \"moe_topk\": 1, \"num_shared_expert\": 1, \"intermediate_size\": 18304,"
        " \"use_cla\": true, \"cla_share_factor\": 2, \"vocab_size\": 128512}";
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    struct text notes = {.arena = &arena};
    assert_int_equal(config_read_text(config, &arena, &model, &notes, &err), STATUS_OK);
    assert_int_equal(model_mixers(&model, MIXER_FULL), 32);
    assert_int_equal(model_mixers(&model, MIXER_BORROW), 32);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_what_the_index_says),
        cmocka_unit_test(the_first_qwen_is_half_as_wide),
        cmocka_unit_test(pangu_pro_counts_by_hand),
        cmocka_unit_test(layers_that_share_keys_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
