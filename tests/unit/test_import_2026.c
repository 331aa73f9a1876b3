/* Architectures of 2026 that no model file stands for, and lists that transformers 5 writes in
 * place of older keys: parameters worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/hf/import_hf.h"
#include "plan/layers.h"
#include "plan/source.h"
#include "support/plans.h"
#include "plan/params.h"
#include "work/stack/stack.h"

static enum status read(const char *text, struct arena *arena, struct model *model,
                        struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_text("config.json", text, strlen(text), arena, &root, err));
    return import_hf_model(root, model, err);
}

/* Hidden size 64, 8 heads of 8 over 2 pairs of keys and values, 4 experts of 32, untied. */
#define BASE                                                                                   \
    "\"num_hidden_layers\": 4, \"hidden_size\": 64, \"vocab_size\": 100,"                      \
    " \"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"head_dim\": 8,"                \
    " \"num_experts_per_tok\": 2"
enum {
    H = 64,
    ENDS = 2 * 100 * H + H, /* embedding, head, last norm */
    ATTENTION = 2 * H * H + 2 * 16 * H,
    EXPERTS = 4 * 3 * H * 32,
    SHARED = 3 * H * 32,
    ROUTER = 4 * H
};

static void layers_have_their_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t parameters, windows; /* layers with a window, of 4 */
    } cases[] = {
        /* a gate as wide as the heads, norms of 8 on queries and keys, four of 64, a bias of
         * selection; one dense layer of 128 */
        {"{\"model_type\": \"afmoe\", " BASE ", \"num_experts\": 4, \"intermediate_size\": 128,"
         " \"moe_intermediate_size\": 32, \"num_shared_experts\": 1}",
         ENDS + 4 * (ATTENTION + H * H + 16 + 4 * H) + 3 * (EXPERTS + SHARED + ROUTER + 4) +
             3 * H * 128,
         3},
        /* dense as the older name says; the last layer is full whatever letters say */
        {"{\"model_type\": \"exaone_moe\", " BASE ", \"num_experts\": 4,"
         " \"intermediate_size\": 128, \"moe_intermediate_size\": 32, \"sliding_window\": 16,"
         " \"first_last_k_dense_replace\": 2, \"sliding_window_pattern\": \"LLLL\"}",
         ENDS + 4 * (ATTENTION + 16 + 2 * H) + 2 * (EXPERTS + SHARED + ROUTER + 4) +
             2 * 3 * H * 128,
         3},
        {"{\"model_type\": \"hy_v3\", " BASE ", \"num_experts\": 4, \"intermediate_size\": 128,"
         " \"moe_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 16 + 2 * H) + 3 * (EXPERTS + SHARED + ROUTER + 4) +
             3 * H * 128,
         0},
        {"{\"model_type\": \"solar_open\", " BASE ", \"n_routed_experts\": 4,"
         " \"n_shared_experts\": 1, \"intermediate_size\": 128, \"moe_intermediate_size\": 32,"
         " \"first_k_dense_replace\": 1}",
         ENDS + 4 * (ATTENTION + 2 * H + EXPERTS + SHARED + ROUTER + 4), 0},
        /* layers with windows have 16 heads; a gate per head */
        {"{\"model_type\": \"laguna\", " BASE ", \"num_experts\": 4,"
         " \"intermediate_size\": 128, \"moe_intermediate_size\": 32,"
         " \"shared_expert_intermediate_size\": 32, \"gating\": \"per-head\","
         " \"num_attention_heads_per_layer\": [8, 16, 16, 8], \"layer_types\":"
         " [\"full_attention\", \"sliding_attention\", \"sliding_attention\","
         " \"full_attention\"]}",
         ENDS + 4 * (ATTENTION + 16 + 2 * H + 8 * H) + 2 * (2 * H * 64 + 8 * H) +
             3 * (EXPERTS + SHARED + ROUTER + 4) + 3 * H * 128,
         2},
        {"{\"model_type\": \"mellum\", " BASE ", \"num_experts\": 4,"
         " \"moe_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 16 + 2 * H + EXPERTS + ROUTER), 0},
        /* a sink a head; two dense layers; full are the first two, and the last */
        {"{\"model_type\": \"flint\", " BASE ", \"num_experts\": 4, \"intermediate_size\": 128,"
         " \"moe_intermediate_size\": 32, \"shared_expert_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 16 + 2 * H + 8) + 2 * (EXPERTS + SHARED + ROUTER) +
             2 * 3 * H * 128,
         1},
        {"{\"model_type\": \"kolibri1\", " BASE ", \"num_experts\": 4,"
         " \"moe_intermediate_size\": 32, \"shared_expert_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 16 + 4 * H + EXPERTS + SHARED + ROUTER + 4), 4},
        /* norms over all heads, of 64 and 16 */
        {"{\"model_type\": \"flex_olmo\", " BASE ", \"num_experts\": 4,"
         " \"intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 64 + 16 + 2 * H + EXPERTS + ROUTER), 0},
        {"{\"model_type\": \"aria_text\", " BASE ", \"moe_num_experts\": 4, \"moe_topk\": 2,"
         " \"intermediate_size\": 32, \"moe_num_shared_experts\": 2}",
         ENDS + 4 * (ATTENTION + 2 * H + EXPERTS + 2 * SHARED + ROUTER), 0},
        {"{\"model_type\": \"granitemoeshared\", " BASE ", \"num_local_experts\": 4,"
         " \"intermediate_size\": 32, \"shared_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 2 * H + EXPERTS + SHARED + ROUTER), 0},
        {"{\"model_type\": \"granitemoe_swa\", " BASE ", \"num_local_experts\": 4,"
         " \"intermediate_size\": 32, \"shared_intermediate_size\": 32}",
         ENDS + 4 * (ATTENTION + 8 + 2 * H + EXPERTS + SHARED + ROUTER), 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct err err = {0};
        struct params p;
        if (read(cases[i].text, &arena, &model, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        params_count(&model, &p);
        uint64_t windows = model_mixers(&model, MIXER_WINDOW);
        if (p.parameters != cases[i].parameters || windows != cases[i].windows)
            fail_msg("%s: %ju parameters and %ju windows, by hand %ju and %ju", cases[i].text,
                     (uintmax_t)p.parameters, (uintmax_t)windows,
                     (uintmax_t)cases[i].parameters, (uintmax_t)cases[i].windows);
        arena_release(&arena);
    }
}

/* transformers 5 writes mlp_layer_types in place of first_k_dense_replace for GLM's, DeepSeek's
 * and others: it wins, and what it says in the middle is refused. */
static void the_list_of_networks_says_which_are_dense(void **state)
{
    (void)state;
#define LITE                                                                                   \
    "{\"model_type\": \"glm4_moe_lite\", \"num_hidden_layers\": 3, \"hidden_size\": 64,"       \
    " \"vocab_size\": 100, \"num_attention_heads\": 8, \"num_experts_per_tok\": 2,"            \
    " \"intermediate_size\": 128, \"n_routed_experts\": 4, \"moe_intermediate_size\": 32,"     \
    " \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8, \"qk_rope_head_dim\": 4,"                 \
    " \"v_head_dim\": 8"
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    static const char two[] = LITE ", \"mlp_layer_types\": [\"dense\", \"dense\", \"sparse\"]}";
    static const char last[] =
        LITE ", \"mlp_layer_types\": [\"sparse\", \"sparse\", \"dense\"]}";
    assert_int_equal(read(LITE "}", &arena, &model, &err), STATUS_OK);
    assert_int_equal(model.dense_layers, 1);
    assert_int_equal(read(two, &arena, &model, &err), STATUS_OK);
    assert_int_equal(model.dense_layers, 2);
    assert_int_equal(model.dense_intermediate, 128);
    assert_int_equal(read(last, &arena, &model, &err), STATUS_INPUT);
    assert_string_equal(err.text,
                        "'mlp_layer_types' must begin with the layers without experts "
                        "and have no others");
    arena_release(&arena);
}

/* Of a Qwen3-MoE that transformers 5 has saved num_experts is num_local_experts, of a
 * Kimi-Linear what linear_attn_config held stands beside the rest. */
static void renamed_keys_are_read(void **state)
{
    (void)state;
    static const char qwen[] =
        "{\"model_type\": \"qwen3_moe\", " BASE ", \"num_local_experts\": 4,"
        " \"moe_intermediate_size\": 32}";
    static const char kimi[] =
        "{\"model_type\": \"kimi_linear\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
        " \"vocab_size\": 100, \"num_attention_heads\": 8, \"num_experts_per_token\": 2,"
        " \"num_experts\": 4, \"intermediate_size\": 128, \"moe_intermediate_size\": 32,"
        " \"num_shared_experts\": 1, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8,"
        " \"qk_rope_head_dim\": 4, \"v_head_dim\": 8, \"linear_num_heads\": 4,"
        " \"linear_head_dim\": 16, \"linear_conv_kernel_dim\": 3, \"layer_types\":"
        " [\"linear_attention\", \"full_attention\"],"
        " \"mlp_layer_types\": [\"dense\", \"sparse\"]}";
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    if (read(qwen, &arena, &model, &err))
        fail_msg("%s", err.text);
    assert_int_equal(model.moe.experts, 4);
    if (read(kimi, &arena, &model, &err))
        fail_msg("%s", err.text);
    assert_int_equal(model.linear.heads, 4);
    assert_int_equal(model.linear.head_dim, 16);
    assert_int_equal(model.linear.conv, 3);
    assert_int_equal(model.dense_layers, 1);
    assert_int_equal(model_mixers(&model, MIXER_FULL), 1);
    arena_release(&arena);
}

/* ERNIE-4.5-VL: as many experts of 16 for images as of 32 for text, with a router and a bias of
 * selection of their own; shared experts as those of text. A vision layer of 32 and 64 has four
 * products of 32 with biases, two of the network, two norms with biases; four patches of 3 x 2
 * x 2 values are a row of 128, two of these of 256. */
static void images_have_experts_of_their_own(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model_type\": \"ernie4_5_moe_vl\", " BASE ", \"moe_num_experts\": [4, 4],"
        " \"moe_k\": 2, \"moe_num_shared_experts\": 1, \"intermediate_size\": 128,"
        " \"moe_intermediate_size\": [32, 16], \"moe_layer_start_index\": [1, 1],"
        " \"moe_layer_end_index\": [4, 3], \"tie_word_embeddings\": false,"
        " \"vision_config\": {\"model_type\": \"DFNRope_vision_transformer\", \"depth\": 2,"
        " \"embed_dim\": 32, \"mlp_ratio\": 2, \"hidden_size\": 64, \"num_heads\": 4,"
        " \"patch_size\": 2}}";
    const uint64_t vision = 4 * (32 * 32 + 32) + 2 * 32 * 64 + 64 + 32 + 4 * 32;
    const uint64_t merger = 2 * (128 * 128 + 128) + (256 * 128 + 128) + (128 * 128 + 128) +
                            2 * 2 * 128 + 128 * H + H + H;
    const uint64_t outside = 12 * 32 + 2 * 32;
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    struct params p;
    if (read(text, &arena, &model, &err))
        fail_msg("%s", err.text);
    params_count(&model, &p);
    assert_int_equal(model.moe.image_intermediate, 16);
    assert_int_equal(p.images.matrices, EXPERTS / 2 + ROUTER);
    assert_int_equal(params_encoder(&p), 2 * vision + outside + merger);
    assert_int_equal(p.parameters - params_encoder(&p),
                     ENDS + 4 * (ATTENTION + 2 * H) + 3 * H * 128 +
                         3 * (EXPERTS + SHARED + ROUTER + 4 + EXPERTS / 2 + ROUTER + 4));
    arena_release(&arena);
}

/* Of the 28B on eight ranks of vLLM: 27 layers of 8 experts of 512 beside as many of 1,536,
 * both with a router; adapters or training of them are refused, as are stacks without any. */
static void image_experts_are_held_by_engines(void **state)
{
    (void)state;
    static const char text[] =
        "model: ernie-4.5-vl-28b-a3b\ncluster: h200-8x1\nstack: vllm\n"
        "workload: {mode: decode, micro_batch: 8, context_length: 4096}\n"
        "parallel: {tp: 1, ep: 8}\n";
    static const struct {
        const char *name;
        uint64_t bytes;
    } buffers[] = {
        {"expert_weights", UINT64_C(27) * 8 * 3 * 2560 * 1536 * 2},
        {"image_expert_weights", UINT64_C(27) * 8 * 3 * 2560 * 512 * 2},
        {"image_router_weights", UINT64_C(27) * 64 * 2560 * 2},
    };
    struct plan_built b;
    plan_build(text, "", false, &b);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        const struct buffer *buffer = plan_buffer(&b.work, buffers[i].name);
        assert_int_equal(b.values[buffer->bytes.node] * b.values[buffer->count.node],
                         buffers[i].bytes);
    }
    arena_release(&b.arena);
    static const char *const refused[] = {"stack=trtllm", "stack=megatron workload.mode=train "
                                                          "workload.sequence_length=4096"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        plan_set(text, refused[i], &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, "experts that images choose"));
        arena_release(&arena);
    }
}

/* Blocks without attention or without a network; 8 heads in groups of 4 are 2 pairs. Of a
 * hidden size of 768 a factor of 1.5 is 768 wide, one of 0.4 204 and so 256, whose mean is 512.
 */
static void searched_blocks_are_layers_of_one_part(void **state)
{
    (void)state;
#define NAS(second)                                                                            \
    "{\"model_type\": \"nemotron-nas\", \"num_hidden_layers\": 3, \"hidden_size\": 768,"       \
    " \"vocab_size\": 100, \"num_attention_heads\": 8, \"intermediate_size\": null,"           \
    " \"block_configs\": [{\"attention\": {\"n_heads_in_group\": 4, \"no_op\": false},"        \
    " \"ffn\": {\"ffn_mult\": 1.5, \"no_op\": false}}, " second                                \
    ", {\"attention\": {\"n_heads_in_group\": 4, \"no_op\": false},"                           \
    " \"ffn\": {\"ffn_mult\": null, \"no_op\": true}}]}"
    static const enum layer_type types[] = {LAYER_FULL, LAYER_DENSE, LAYER_DENSE, LAYER_FULL};
    static const char good[] =
        NAS("{\"attention\": {\"n_heads_in_group\": null, \"no_op\": true},"
            " \"ffn\": {\"ffn_mult\": 0.4, \"no_op\": false}}");
    static const char bad[] = NAS("{\"attention\": {\"n_heads_in_group\": 8, \"no_op\": false},"
                                  " \"ffn\": {\"ffn_mult\": 0.4, \"no_op\": false}}");
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    struct params p;
    if (read(good, &arena, &model, &err))
        fail_msg("%s", err.text);
    assert_int_equal(model.layers, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(model.layer_types.value[i], types[i]);
    assert_int_equal(model.attention.kv_heads, 2);
    assert_int_equal(model.dense_intermediate, 512);
    params_count(&model, &p);
    assert_int_equal(p.parameters, 2 * 100 * 768 + 5 * 768 + 2 * 3 * 768 * 512 +
                                       2 * (2 * 768 * 768 + 2 * 768 * 2 * 96));
    assert_int_equal(read(bad, &arena, &model, &err), STATUS_INPUT);
    assert_string_equal(err.text,
                        "'block_configs': all layers must have groups of as many heads");
    arena_release(&arena);
}

/* Heads that differ among layers of one type are no two numbers. */
static void uneven_heads_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct err err = {0};
    static const char text[] =
        "{\"model_type\": \"laguna\", " BASE ", \"num_experts\": 4, \"intermediate_size\": 128,"
        " \"moe_intermediate_size\": 32, \"num_attention_heads_per_layer\": [8, 16, 8, 8]}";
    assert_int_equal(read(text, &arena, &model, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "one number of heads for full layers"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_their_parameters),
        cmocka_unit_test(the_list_of_networks_says_which_are_dense),
        cmocka_unit_test(uneven_heads_are_refused),
        cmocka_unit_test(renamed_keys_are_read),
        cmocka_unit_test(searched_blocks_are_layers_of_one_part),
        cmocka_unit_test(images_have_experts_of_their_own),
        cmocka_unit_test(image_experts_are_held_by_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
