/* Checkpoints that keep some of their matrices in another format: what a configuration says of
 * them, what is held, and what ops read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/pattern.h"
#include "plan/engine.h"
#include "plan/hf/import_hf.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "work/list/work.h"
#include "work/list/shape.h"

/* ---- patterns ---- */

static void expressions_fit_as_python_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *expression, *name;
        enum pattern_fit fit;
    } cases[] = {
        {".*self_attn.*", "model.layers.0.self_attn.q_proj", PATTERN_YES},
        {".*lm_head", "model.layers.0.mlp.gate", PATTERN_NO},
        {".*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.gate_up_proj",
         PATTERN_YES},
        {".*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.1.mlp.experts.0.gate_proj",
         PATTERN_NO},
        {".*mlp.gate$", "model.layers.1.mlp.gate", PATTERN_YES},
        {".*mlp.gate$", "model.layers.1.mlp.gate_proj", PATTERN_NO},
        {"model\\.layers\\.(?:[0-3]|89|9[0-2])\\..*", "model.layers.91.mlp.up_proj",
         PATTERN_YES},
        {"model\\.layers\\.(?:[0-3]|89|9[0-2])\\..*", "model.layers.5.mlp.up_proj", PATTERN_NO},
        {"^model\\.layers\\.\\d+\\.self_attn", "model.layers.12.self_attn.o_proj", PATTERN_YES},
        {"layers", "model.layers.0", PATTERN_NO}, /* the beginning, as re.match */
        {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", PATTERN_NO},
        {"(?!x)model", "model", PATTERN_UNKNOWN},
        {"a{2}", "aa", PATTERN_UNKNOWN},
        {"[^.]+", "model", PATTERN_YES},
        {"colou?r", "color", PATTERN_YES},
        {"*", "x", PATTERN_UNKNOWN},
        {"(", "x", PATTERN_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s %s\n", cases[i].expression, cases[i].name);
        if (!strcmp(cases[i].expression, "(") || !strncmp(cases[i].expression, "(a*)*", 5))
            assert_int_not_equal(pattern_begins(cases[i].expression, cases[i].name),
                                 PATTERN_YES);
        else
            assert_int_equal(pattern_begins(cases[i].expression, cases[i].name), cases[i].fit);
    }
}

static void globs_fit_whole_parts(void **state)
{
    (void)state;
    assert_true(pattern_names("self_attn", "model.layers.0.self_attn.q_proj"));
    assert_true(pattern_names("model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj"));
    assert_true(pattern_names("*self_attn*", "model.layers.0.self_attn.q_proj"));
    assert_true(pattern_names("model.layers.*.self_attn", "model.layers.7.self_attn.o_proj"));
    assert_true(pattern_names("*.shared_experts.*", "layers.3.mlp.shared_experts.up_proj"));
    assert_false(pattern_names("gate", "model.layers.0.mlp.gate_proj"));
    assert_false(pattern_names("layers.1", "model.layers.12.mlp"));
}

/* ---- configurations ---- */

#define MLA_MODEL                                                                              \
    "\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 4, \"hidden_size\": 256, "        \
    "\"intermediate_size\": 512, \"moe_intermediate_size\": 128, \"n_routed_experts\": 8, "    \
    "\"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"first_k_dense_replace\": 1, "      \
    "\"num_attention_heads\": 4, \"q_lora_rank\": 64, \"kv_lora_rank\": 64, "                  \
    "\"qk_nope_head_dim\": 32, \"qk_rope_head_dim\": 16, \"v_head_dim\": 32, "                 \
    "\"vocab_size\": 1024, \"max_position_embeddings\": 4096, \"n_group\": 1, "                \
    "\"topk_group\": 1"
#define GQA_MODEL                                                                              \
    "\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 256, "          \
    "\"intermediate_size\": 512, \"moe_intermediate_size\": 128, \"num_experts\": 8, "         \
    "\"num_experts_per_tok\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "     \
    "\"head_dim\": 64, \"vocab_size\": 1024, \"max_position_embeddings\": 4096"
#define INT4_GROUP(targets)                                                                    \
    "{\"targets\": [" targets "], \"weights\": {\"num_bits\": 4, \"type\": \"int\", "          \
    "\"group_size\": 32}}"

static void lists_say_which_parts_are_wide(void **state)
{
    (void)state;
    static const struct {
        const char *model, *how, *checkpoint, *plain, *format;
    } cases[] = {
        /* Kimi-K2-Thinking, K2.5 */
        {MLA_MODEL,
         "\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": " INT4_GROUP(
             "\"Linear\"") "}, \"ignore\": [\"lm_head\", \"re:.*self_attn.*\", "
                           "\"re:.*shared_experts.*\", "
                           "\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"]",
         "int4_32", "[attention, dense, shared]", "bf16"},
        /* DeepSeek-V3: attention too is in fp8 */
        {MLA_MODEL, "\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]", "fp8_block",
         "[]", "bf16"},
        /* gpt-oss's method: experts, list or not */
        {GQA_MODEL, "\"quant_method\": \"mxfp4\"", "mxfp4", "[attention]", "bf16"},
        {GQA_MODEL,
         "\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": "
         "[\"model.layers.*.self_attn\", \"model.layers.*.mlp.router\", \"lm_head\"]",
         "mxfp4", "[attention]", "bf16"},
        /* ModelOpt: globs; the product behind attention quantised */
        {MLA_MODEL,
         "\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\", \"ignore\": [\"lm_head\", "
         "\"*self_attn.q_*\", \"*self_attn.kv_*\"]",
         "nvfp4", "[attention_in]", "bf16"},
        /* one matrix of several in the list is no part */
        {GQA_MODEL, "\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"q_proj\"]",
         "fp8", "[]", "bf16"},
        {GQA_MODEL,
         "\"quant_method\": \"awq\", \"bits\": 4, \"modules_to_not_convert\": [\"self_attn\"]",
         "int4", "[attention]", "bf16"},
        {GQA_MODEL,
         "\"quant_method\": \"gptq\", \"bits\": 4, \"dynamic\": {\"-:.*attn.*\": {}}", "int4",
         "[attention]", "bf16"},
        /* groups: attention in fp8, experts in nvfp4 */
        {GQA_MODEL,
         "\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": "
         "{\"targets\": [\"re:.*attn.*\"], \"weights\": {\"num_bits\": 8, \"type\": \"float\", "
         "\"block_structure\": [128, 128]}}, \"group_1\": {\"targets\": [\"re:.*experts.*\"], "
         "\"weights\": {\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16}}}",
         "nvfp4", "[attention]", "fp8_block"},
        /* targets that leave attention out by not naming it */
        {GQA_MODEL,
         "\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": " INT4_GROUP("\"re:.*experts.*\"") "}",
         "int4_32", "[attention]", "bf16"},
        {GQA_MODEL,
         "\"quant_method\": \"quark\", \"exclude\": [\"re:.*self_attn.*\"], "
         "\"global_quant_config\": {\"weight\": {\"dtype\": \"fp4\", \"group_size\": 32}}",
         "mxfp4", "[attention]", "bf16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct text plain = {.arena = &arena};
        const char *text = arena_printf(&arena, "{%s, \"quantization_config\": {%s}}",
                                        cases[i].model, cases[i].how);
        print_message("%s\n", cases[i].how);
        assert_int_equal(
            source_read_text("config.json", text, strlen(text), &arena, &root, &err),
            STATUS_OK);
        import_hf_model(root, &plan->model, &err);
        assert_string_equal(err.text, "");
        schema_print(schema_find("model.plain"), plan, &plain);
        assert_string_equal(words_dtype[plan->model.checkpoint], cases[i].checkpoint);
        assert_string_equal(text_string(&plain), cases[i].plain);
        assert_string_equal(words_dtype[plan->model.plain_format], cases[i].format);
        arena_release(&arena);
    }
}

/* What a plan cannot say is said. */
static void what_is_not_taken_is_noted(void **state)
{
    (void)state;
    static const struct {
        const char *how, *note;
    } cases[] = {
        {"\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"layers.0.self_attn\"]",
         "in some of their layers only"},
        {"\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"mlp.experts\"]",
         "experts left in 16 bits"},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": " INT4_GROUP("\"Linear\"") "}, \"ignore\": [\"re:(?!x)model.*\"]",
         "not understood"},
        {"\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"lm_head\", \"self_attn\"]",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct model model;
        struct text notes = {.arena = &arena};
        const char *text = arena_printf(&arena, "{%s, \"quantization_config\": {%s}}",
                                        GQA_MODEL, cases[i].how);
        source_read_text("config.json", text, strlen(text), &arena, &root, &err);
        assert_int_equal(import_hf_model(root, &model, &err), STATUS_OK);
        import_hf_notes(root, &model, &notes);
        print_message("%s: %s\n", cases[i].how, text_string(&notes));
        if (cases[i].note)
            assert_non_null(strstr(text_string(&notes), cases[i].note));
        else
            assert_string_equal(text_string(&notes), "");
        arena_release(&arena);
    }
}

/* ---- what is held and what is read ---- */

struct built {
    struct arena arena;
    struct plan plan;
    struct work work;
    uint64_t *values;
};

static void build(struct built *b, const char *text)
{
    struct err err = {0};
    struct slots slots;
    struct origins origins = {0};
    *b = (struct built){0};
    plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &b->arena, &b->plan, &origins,
                   &err);
    assert_string_equal(err.text, "");
    assert_int_equal(work_build(&b->plan, &b->arena, &b->work, &err), STATUS_OK);
    assert_int_equal(work_ops(&b->plan, &b->work, &err), STATUS_OK);
    slots_from_plan(&b->plan, &slots);
    b->values = arena_alloc(&b->arena, b->work.sizes.n, sizeof *b->values);
    assert_true(sizes_eval(&b->work.sizes, &slots, b->values));
}

static uint64_t bytes_of(const struct built *b, const char *name)
{
    for (size_t i = 0; i < b->work.n_buffers; i++)
        if (!strcmp(b->work.buffers[i].name, name))
            return b->values[b->work.buffers[i].bytes.node];
    fail_msg("no buffer %s", name);
    return 0;
}

/* Of a layer of gpt-oss-120b, by hand: qkv [2880, (64 + 2 x 8) x 64], out [4096, 2880] in 16
 * bits; experts 128 x 3 x 2880 x 2880 x 17/32 bytes (a byte of scale for 32). */
static void attention_is_read_as_it_is_held(void **state)
{
    (void)state;
    static const char *const stacks[] = {"vllm", "sglang", "trtllm"};
    for (size_t i = 0; i < 3; i++) {
        struct built b;
        char text[600];
        snprintf(text, sizeof text,
                 "model: gpt-oss-120b\ncluster: h200\nstack: %s\n"
                 "workload: {mode: decode, micro_batch: 8, context_length: 1024}\n",
                 stacks[i]);
        build(&b, text);
        assert_int_equal(bytes_of(&b, "w_qkv"), 2880 * 80 * 64 * 2);
        assert_int_equal(bytes_of(&b, "w_attention_out"), 4096 * 2880 * 2);
        assert_int_equal(bytes_of(&b, "attention_weights"),
                         bytes_of(&b, "w_qkv") + bytes_of(&b, "w_attention_out"));
        assert_int_equal(bytes_of(&b, "head_weights"), bytes_of(&b, "head_table"));
        assert_int_equal(bytes_of(&b, "router_weights"), bytes_of(&b, "router"));
        assert_int_equal(bytes_of(&b, "w13") + bytes_of(&b, "w2"),
                         UINT64_C(128) * 3 * 2880 * 2880 * 17 / 32);
        arena_release(&b.arena);
    }
}

/* Kimi-K2-Thinking: 595 GB as published (594 GB on the hub): routed experts 60 x 384 x 3 x 7168
 * x 2048 at 4.5 bits, all else in 16. */
static void kimi_is_int4_but_for_what_it_lists(void **state)
{
    (void)state;
    struct built b;
    uint64_t sum = 0;
    build(&b, "model: kimi-k2-thinking\ncluster: h200-8x1\nstack: vllm\n"
              "workload: {mode: decode, micro_batch: 1, context_length: 1024}\n"
              "parallel: {tp: 8, ep: 8}\n");
    for (size_t i = 0; i < b.work.n_buffers; i++)
        if (!strcmp(b.work.buffers[i].name, "expert_weights"))
            sum = b.values[b.work.buffers[i].all.node];
    assert_int_equal(sum, UINT64_C(60) * 384 / 8 * 3 * 7168 * 2048 * 9 / 16);
    /* q_a, q_b, kv_a, kv_b and o of 8 of 64 heads, 2 bytes */
    assert_int_equal(
        bytes_of(&b, "attention_weights"),
        2 * (7168 * 1536 + 1536 * 8 * 192 + 7168 * 576 + 512 * 8 * 256 + 8 * 128 * 7168));
    assert_int_equal(bytes_of(&b, "dense_mlp_weights"), 2 * 3 * 7168 * 18432 / 8);
    assert_int_equal(bytes_of(&b, "shared_expert_weights"), 2 * 3 * 7168 * 2048 / 8);
    arena_release(&b.arena);
}

/* Kimi-K3: the 1,560,860,324,864 bytes of its shards without the 32 heads more that A_log has,
 * and the second half of what it keeps in f32 (sources in test_models.c); and besides what vLLM
 * splits off kv_b after loading. */
static void kimi_k3_is_the_size_of_its_shards(void **state)
{
    (void)state;
    struct built b;
    uint64_t sum = 0, split = 0;
    build(&b, "model: kimi-k3\ncluster: b300-1x1\nstack: vllm\n"
              "workload: {mode: decode, micro_batch: 1, context_length: 1024}\n");
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        uint64_t bytes = b.values[buffer->all.node];
        sum += buffer->category == CATEGORY_WEIGHTS ? bytes : 0;
        split += strcmp(buffer->name, "absorbed_kv_b_copies") ? 0 : bytes;
    }
    const uint64_t padding = 69 * 32, f32 = 11122432 - padding;
    assert_int_equal(split, 24 * 2 * 512 * 96 * 256);
    assert_int_equal(sum - split, UINT64_C(1560860324864) - 4 * padding - 2 * f32);
    arena_release(&b.arena);
}

/* A plan may say otherwise, and another format. */
static void a_plan_says_otherwise(void **state)
{
    (void)state;
    static const struct {
        const char *precision;
        uint64_t attention, shared; /* bits an element, scales aside */
    } cases[] = {
        {"{weights: int8, plain: []}", 8, 8},
        {"{weights: int8, plain: [attention_in]}", 0, 8},
        {"{weights: int8, plain: [attention, shared]}", 16, 16},
        {"{weights: int8, plain: [attention], plain_format: f32}", 32, 8},
        {"{weights: bf16}", 16, 16},
    };
    const uint64_t in = 7168 * 1536 + 1536 * 64 * 192 + 7168 * 576 + 512 * 64 * 256,
                   out = 64 * 128 * 7168, shared = 3 * 7168 * 2048;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct built b;
        char text[400];
        snprintf(text, sizeof text,
                 "model: kimi-k2\ncluster: h200\nstack: sglang\nprecision: %s\n"
                 "workload: {mode: decode, micro_batch: 1, context_length: 1024}\n",
                 cases[i].precision);
        build(&b, text);
        uint64_t expected =
            cases[i].attention ? (in + out) * cases[i].attention / 8 : in * 2 + out;
        assert_int_equal(bytes_of(&b, "attention_weights"), expected);
        assert_int_equal(bytes_of(&b, "shared_expert_weights"), shared * cases[i].shared / 8);
        arena_release(&b.arena);
    }
}

/* NVIDIA's nvfp4 of an MLA model: q and kv in 16 bits, the product behind attention not. */
static void nvfp4_of_mla_leaves_attention(void **state)
{
    (void)state;
    struct built b;
    build(&b, "model: deepseek-r1\ncluster: b200\nstack: trtllm\nprecision: {weights: nvfp4}\n"
              "workload: {mode: decode, micro_batch: 1, context_length: 1024}\n");
    assert_int_equal(bytes_of(&b, "w_q_up"), 1536 * 128 * 192 * 2);
    assert_int_equal(bytes_of(&b, "w_attention_out"), 128 * 128 * 7168 * 9 / 16);
    assert_int_equal(plan_part_format(&b.plan, PART_SHARED), DTYPE_NVFP4);
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_fit_as_python_has_it),
        cmocka_unit_test(globs_fit_whole_parts),
        cmocka_unit_test(lists_say_which_parts_are_wide),
        cmocka_unit_test(what_is_not_taken_is_noted),
        cmocka_unit_test(attention_is_read_as_it_is_held),
        cmocka_unit_test(kimi_is_int4_but_for_what_it_lists),
        cmocka_unit_test(kimi_k3_is_the_size_of_its_shards),
        cmocka_unit_test(a_plan_says_otherwise),
        cmocka_unit_test(nvfp4_of_mla_leaves_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
