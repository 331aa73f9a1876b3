/* What SGLang 0.5.23 makes of an encoder: the part of its fraction, graphs of prompts, what it
 * keeps for images out of its pool, whether it loads the encoder at all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/unit.h"
#include "plan/engine.h"
#include "plan/hf/import_hf.h"
#include "plan/source.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/piece/encoder.h"

static const char *text_of(struct arena *arena, const char *model, const char *cluster)
{
    return arena_printf(arena,
                        "model: %s\ncluster: %s\nstack: sglang\n"
                        "workload: {mode: decode, context_length: 8192}\n",
                        model, cluster);
}

/* 0.95 x (1 - 0.1 x (layers x hidden^2 / (24 x 1024^2) - 1)), the latter 0.8 at least: 24
 * layers where vision_config says depth, hidden_size what it says, 1 where there is none. */
static void an_encoder_is_weighed_as_its_configuration_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double part;
    } rows[] = {
        {"qwen3.5-35b-a3b", 0.95 * 0.9734375}, /* 24 x 1,152^2: 1.265625 */
        {"qwen3-vl-30b-a3b", 0.95 * 0.9734375},
        {"qwen3.5-4b", 0.95},              /* 24 layers of 1,024, by either name */
        {"qwen3.5-0.8b", 0.95 * 1.04375},  /* 24 x 768^2: 0.5625, not 12 of them */
        {"qwen2.5-vl-7b", 0.95 * 0.94375}, /* 24 x 1,280^2: 1.5625 */
        {"ernie-4.5-vl-28b-a3b", 0.95 * 0.94375},
        {"qwen2-vl-2b", 0.95 * 0.875},      /* 24 x 1,536^2: 2.25 */
        {"qwen2-vl-7b", 0.95 * 0.8},        /* 24 x 3,584^2: 12.25 */
        {"glm-4.5v", 0.95 * 0.875},         /* 24 x 1,536^2 */
        {"kimi-k2.5", 0.95 * 0.9576171875}, /* 27 x 1,152^2, as a log has it */
        {"kimi-k3", 0.95 * 0.9875},         /* 27 x 1,024^2: 1.125 */
        {"step-3.7-flash", 0.95},           /* keys that it does not look for: 24 x 1,024^2 */
        {"qwen3-omni-30b-a3b", 1},          /* behind thinker_config */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan with, without;
        plan_set(text_of(&arena, rows[i].model, "h200-8x1"), "stack.prompt_graphs=none", &arena,
                 &with);
        without = with;
        without.model.encoder.layers = 0;
        double part = engine_sglang_fraction(&with) / engine_sglang_fraction(&without);
        print_message("%s: %.9f\n", rows[i].model, part);
        assert_true(fabs(part - rows[i].part) < 1e-12);
        arena_release(&arena);
    }
}

/* configs/model_config.py, multimodal_breakable_cuda_graph_supported_model_archs. */
static void listed_models_have_graphs_of_prompts(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum graphs graphs;
    } rows[] = {
        {"qwen3.5-35b-a3b", GRAPHS_PARTIAL},
        {"qwen3.8-flash-next", GRAPHS_PARTIAL},
        {"kimi-k2.5", GRAPHS_PARTIAL},
        {"minimax-m3", GRAPHS_PARTIAL},
        {"glm-5.3-flash", GRAPHS_PARTIAL},
        {"qwen3-vl-30b-a3b", GRAPHS_NONE},
        {"glm-4.5v", GRAPHS_NONE},
        {"kimi-vl-a3b", GRAPHS_NONE},
        {"kimi-linear-48b-a3b", GRAPHS_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set(text_of(&arena, rows[i].model, "h200-8x1"), "", &arena, &plan);
        print_message("%s\n", rows[i].model);
        assert_int_equal(engine_sglang_prompt_graphs(&plan), rows[i].graphs);
        arena_release(&arena);
    }
}

/* mm_runtime_reservation_gb: 100 MiB of embeddings; Qwen3-VL's on Hopper 1 GiB of pixels. */
static void images_keep_room_out_of_the_pool(void **state)
{
    (void)state;
    static const struct {
        const char *model, *cluster, *set;
        uint64_t mib;
    } rows[] = {
        {"qwen3.5-35b-a3b", "h100-8x1", "", 100},
        {"qwen3-vl-30b-a3b", "h100-8x1", "", 1024},
        {"qwen3-vl-30b-a3b", "h100-8x1", "workload.max_num_seqs=512", 3072},
        {"qwen3-vl-30b-a3b", "b200-8x1", "", 100},
        {"qwen3-omni-30b-a3b", "h100-8x1", "", 100},
        {"gemma-3-27b", "h100-8x1", "", 0},
        {"gemma-3-27b", "h100-8x1", "workload.encoder.requested=true", 100},
        {"qwen3-30b-a3b", "h100-8x1", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set(text_of(&arena, rows[i].model, rows[i].cluster), rows[i].set, &arena, &plan);
        print_message("%s %s %s\n", rows[i].model, rows[i].cluster, rows[i].set);
        assert_int_equal(engine_sglang_image_bytes(&plan), rows[i].mib * MIB);
        arena_release(&arena);
    }
}

/* models/mllama4.py has no vision_model unless told to. */
static void a_configuration_says_what_is_weighed_and_loaded(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        uint64_t layers, hidden;
        bool captured, loaded_on_request;
    } rows[] = {
        {"{\"model_type\": \"qwen2_vl\", \"num_hidden_layers\": 28, \"hidden_size\": 3584, "
         "\"vocab_size\": 152064, \"num_attention_heads\": 28, \"num_key_value_heads\": 4, "
         "\"intermediate_size\": 18944, \"tie_word_embeddings\": false, \"vision_config\": "
         "{\"depth\": 32, \"embed_dim\": 1280, \"mlp_ratio\": 4, \"num_heads\": 16, "
         "\"hidden_size\": 3584, \"patch_size\": 14}}",
         24, 3584, false, false},
        {"{\"text_config\": {\"model_type\": \"llama4_text\", \"num_hidden_layers\": 48, "
         "\"hidden_size\": 5120, \"vocab_size\": 202048, \"num_attention_heads\": 40, "
         "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8192, "
         "\"intermediate_size_mlp\": 16384, \"num_local_experts\": 16, "
         "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 1}, "
         "\"tie_word_embeddings\": false, \"vision_config\": {\"model_type\": "
         "\"llama4_vision_model\", \"hidden_size\": 1408, \"num_hidden_layers\": 34, "
         "\"num_attention_heads\": 16, \"intermediate_size\": 5632, \"image_size\": 336, "
         "\"patch_size\": 14}}",
         0, 0, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct plan plan = {.stack.kind = STACK_SGLANG,
                            .workload = {.mode = MODE_DECODE, .encoder.limit = 999}};
        const char *config = rows[i].config;
        assert_int_equal(
            source_read_text("config.json", config, strlen(config), &arena, &root, &err), 0);
        assert_int_equal(import_hf_model(root, &plan.model, &err), STATUS_OK);
        assert_int_equal(plan.model.encoder.said_layers, rows[i].layers);
        assert_int_equal(plan.model.encoder.said_hidden, rows[i].hidden);
        assert_int_equal(plan.model.encoder.captured, rows[i].captured);
        assert_int_equal(encoder_is_there(&plan), !rows[i].loaded_on_request);
        plan.workload.encoder.requested = true;
        assert_true(encoder_is_there(&plan));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_encoder_is_weighed_as_its_configuration_says),
        cmocka_unit_test(listed_models_have_graphs_of_prompts),
        cmocka_unit_test(images_keep_room_out_of_the_pool),
        cmocka_unit_test(a_configuration_says_what_is_weighed_and_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
