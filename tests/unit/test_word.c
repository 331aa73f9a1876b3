/* plan/schema/word: every word has a meaning, what people type is understood, and the names
 * that help lists for a stack are those that the stack takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/catalog.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "plan/schema/word.h"
#include "work/list/work.h"

static void every_word_has_a_meaning(void **state)
{
    (void)state;
    size_t n, words = 0;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++)
        for (const char *const *word = fields[i].words ? schema_words(&fields[i]) : NULL;
             word && *word; word++, words++) {
            print_message("%s: %s\n", fields[i].key, *word);
            assert_non_null(word_help(fields[i].words, *word));
        }
    assert_true(words > 100);
}

static void offered_words_are_words(void **state)
{
    (void)state;
    size_t n, offered = 0;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++)
        for (const char *const *word = fields[i].offered; word && *word; word++, offered++) {
            size_t j = 0;
            while (fields[i].words[j] && !text_equal(fields[i].words[j], *word))
                j++;
            assert_non_null(fields[i].words[j]);
        }
    assert_true(offered > 0);
}

static void what_people_type_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *const *words;
        const char *text, *word;
        bool same;
    } cases[] = {
        {words_dtype, "bfloat16", "bf16", true},
        {words_dtype, "BF16", "bf16", true},
        {words_dtype, "torch.bfloat16", "bf16", true},
        {words_dtype, "torch.int3", NULL, false},
        {words_dtype, "i8", "int8", true},
        {words_path, "hybridep", "deepep", false},
        {words_path, "fused_moe", "fused", true},
        {words_path, "grouped_gemm", "ragged_a2a", false},
        {words_path, "einsum", "capacity", false},
        {words_path, "for_loop", "expert_loop", false},
        {words_mode, "serving", "serve", true},
        {words_mode, "benchmark", "serve", false},
        {words_mode, "sft", "train", false},
        {words_recompute, "layer", "full", false},
        {words_recompute, "moe", "selective", false},
        {words_distribution, "zipfian", "zipf", true},
        {words_placement, "load_balanced", "eplb", false},
        {words_dtype, "float16", "f16", true},
        {words_path, "alltoall", "ragged_a2a", true},
        {words_path, "block-sparse", "block_sparse", true},
        {words_path, "DeepEP", "deepep", true},
        {words_path, "megablocks", "block_sparse", false},
        {words_recompute, "gradient-checkpointing", "full", false},
        {words_recompute, "minimal", "selective", false},
        {words_mode, "training", "train", true},
        {words_path, "capacity_but_much_longer_than_any_alias_that_is_known", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool same = false;
        const char *word = word_meant(cases[i].words, cases[i].text, &same);
        print_message("%s\n", cases[i].text);
        if (!cases[i].word) {
            assert_null(word);
            continue;
        }
        assert_string_equal(word, cases[i].word);
        assert_int_equal(same, cases[i].same);
    }
}

/* Names of flags and fields of frameworks lead to keys, which are no names of others. */
static void names_of_frameworks_lead_to_keys(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"seq_length", "workload.sequence_length"},
        {"tensor-model-parallel-size", "parallel.tp"},
        {"GPU_MEMORY_UTILIZATION", "memory.fraction"},
        {"num_experts_per_tok", "model.moe.top_k"},
        {"framework", "stack"},
        {"seq", NULL}, /* no beginning of one is one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *key = word_key(cases[i][0]);
        if (!cases[i][1]) {
            assert_null(key);
            continue;
        }
        assert_non_null(key);
        assert_string_equal(key, cases[i][1]);
        assert_non_null(schema_find(key));
    }
}

static void names_are_answered_with_the_right_one(void **state)
{
    (void)state;
    static const struct {
        enum catalog_kind kind;
        const char *typed, *hint;
    } cases[] = {
        {CATALOG_CLUSTER, "h100x8", "h100-8x1"},
        {CATALOG_CLUSTER, "8xh100", "h100-8x1"},
        {CATALOG_CLUSTER, "H100x64", "h100-8x8"},
        {CATALOG_CLUSTER, "2x8xh100", "h100-8x2"},
        {CATALOG_CLUSTER, "h100:4", "h100-4x1"},
        {CATALOG_CLUSTER, "16*b200", "b200-8x2"},
        {CATALOG_CLUSTER, "h100-80gb", "h100"},
        {CATALOG_CLUSTER, "8x_h100_80gb", "h100-8x1"},
        {CATALOG_CLUSTER, "mi300x-64", "mi300x-8x8"},
        {CATALOG_CLUSTER, "gb200x144", "gb200-72x2"},
        {CATALOG_CLUSTER, "dgx-h100", "h100-8x1"},
        {CATALOG_CLUSTER, "p5.48xlarge", "h100-8x1"},
        {CATALOG_CLUSTER, "p4d.24xlarge", "a100-40gb-8x1"},
        {CATALOG_CLUSTER, "ND96isr_H100_v5", "h100-8x1"},
        {CATALOG_CLUSTER, "RTX-5090", "rtx5090"},
        {CATALOG_CLUSTER, "H100-SXM5-80GB", "h100"},
        {CATALOG_CLUSTER, "a100-sxm4-80gb", "a100"},
        {CATALOG_CLUSTER, "a100-80", "a100"},
        {CATALOG_CLUSTER, "h100-8x1x1", "h100-8x1"},
        {CATALOG_CLUSTER, "p6-b200", "b200-8x1"},
        {CATALOG_CLUSTER, "trn1.32xlarge", "trn1-16x1"},
        {CATALOG_CLUSTER, "v5p-64", "tpu-v5p-2x4x4"}, /* cores, two a chip */
        {CATALOG_CLUSTER, "tpu-v6e-256", "tpu-v6e-16x16"},
        {CATALOG_CLUSTER, "v5litepod-16", "tpu-v5e-4x4"},
        {CATALOG_CLUSTER, "2x4090", "rtx4090-2x1"},
        {CATALOG_CLUSTER, "3090", "rtx3090"},
        {CATALOG_CLUSTER, "DGX-Spark", "gb10"},
        {CATALOG_CLUSTER, "g5.48xlarge", "a10-8x1"},
        {CATALOG_MODEL, "deepseek-v3.1", "deepseek-v3"},
        {CATALOG_MODEL, "deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3"},
        {CATALOG_MODEL, "deepseek-coder-v2", "deepseek-v2"},
        {CATALOG_MODEL, "Qwen3-Next", "qwen3-next-80b-a3b"},
        {CATALOG_MODEL, "qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
        {CATALOG_MODEL, "qwen3-30b", "qwen3-30b-a3b"},
        {CATALOG_MODEL, "GLM-4.7", "glm-4.6"},
        {CATALOG_MODEL, "gptoss20b", "gpt-oss-20b"},
        {CATALOG_MODEL, "minimax-01", "minimax-text-01"},
        {CATALOG_STACK, "megatron-bridge", "megatron"},
        {CATALOG_STACK, "vllm-v1", "vllm"},
        {CATALOG_STACK, "zero3", "deepspeed"},
        {CATALOG_MODEL, "qwen3-moe", "qwen3-30b-a3b"},
        {CATALOG_MODEL, "Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
        {CATALOG_MODEL, "deepseek-ai/DeepSeek-V3", "deepseek-v3"},
        {CATALOG_MODEL, "DeepSeek-V3.2-Exp", "deepseek-v3.2"},
        {CATALOG_MODEL, "moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"},
        {CATALOG_MODEL, "mixtral", "mixtral-8x7b"},
        {CATALOG_MODEL, "Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
        {CATALOG_MODEL, "openai/gpt-oss", "gpt-oss-120b"},
        {CATALOG_MODEL, "llama4", "llama4-maverick"},
        {CATALOG_STACK, "mcore", "megatron"},
        {CATALOG_STACK, "Megatron_LM", "megatron"},
        {CATALOG_STACK, "nxdi", "nxd"},
        {CATALOG_STACK, "jax", "maxtext"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct catalog_cluster cluster;
        char *path = NULL;
        enum status status =
            cases[i].kind == CATALOG_CLUSTER
                ? catalog_find_cluster(cases[i].typed, NULL, &arena, &cluster, &err)
                : catalog_find(cases[i].kind, cases[i].typed, NULL, &arena, &path, &err);
        print_message("%s\n", cases[i].typed);
        assert_int_equal(status, STATUS_INPUT);
        assert_string_equal(err.hint,
                            arena_printf(&arena, "did you mean '%s'?", cases[i].hint));
        err_clear(&err);
        status = cases[i].kind == CATALOG_CLUSTER /* the answer is one */
                     ? catalog_find_cluster(cases[i].hint, NULL, &arena, &cluster, &err)
                     : catalog_find(cases[i].kind, cases[i].hint, NULL, &arena, &path, &err);
        assert_int_equal(status, STATUS_OK);
        arena_release(&arena);
    }
}

/* Another device, size or distillation is not what was meant; of several, all are. */
static void other_things_are_not_suggested(void **state)
{
    (void)state;
    static const struct {
        enum catalog_kind kind;
        const char *typed, *hint;
    } cases[] = {
        {CATALOG_MODEL, "opt-6.7b", "`moeplan list models`"},
        {CATALOG_MODEL, "deepseek-r1-distill-qwen-32b", "`moeplan list models`"},
        {CATALOG_MODEL, "command-r",
         "did you mean one of 'command-r-08-2024', 'command-r-plus', 'command-r-v01', "
         "'command-r7b'?"},
        {CATALOG_MODEL, "jamba", "did you mean one of 'jamba-1.5-large', 'jamba-v0.1'?"},
        {CATALOG_MODEL, "ernie-4.5",
         "did you mean one of 'ernie-4.5-0.3b', 'ernie-4.5-21b-a3b', 'ernie-4.5-300b-a47b', "
         "'ernie-4.5-vl-28b-a3b', ...?"},
        {CATALOG_CLUSTER, "k80", "`moeplan list clusters`"},
        {CATALOG_CLUSTER, "p40", "`moeplan list clusters`"},
        {CATALOG_CLUSTER, "910b", "`moeplan list clusters`"},
        {CATALOG_STACK, "ollama", "`moeplan list stacks`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct catalog_cluster cluster;
        char *path = NULL;
        print_message("%s\n", cases[i].typed);
        if (cases[i].kind == CATALOG_CLUSTER)
            catalog_find_cluster(cases[i].typed, NULL, &arena, &cluster, &err);
        else
            catalog_find(cases[i].kind, cases[i].typed, NULL, &arena, &path, &err);
        assert_int_equal(err.status, STATUS_INPUT);
        assert_ptr_equal(strstr(err.hint, cases[i].hint), err.hint);
        arena_release(&arena);
    }
}

/* Builds the work list with one name of one stack. */
static enum status build(const char *stack, const char *key, const char *name, struct err *err)
{
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    bool save = text_equal(key, "recompute.save"), last = text_equal(name, "attn_proj");
    const char *text = arena_printf(
        &arena,
        "model: deepseek-v3\ncluster: h100-8x8\nstack: %s\nparallel: {ep: 8, zero: 1}\n"
        "recompute: {kind: %s, %s: [\"%s\"%s]}\n",
        stack, save ? "save" : "selective", strrchr(key, '.') + 1, name,
        last ? ", core_attn" : ""); /* which Megatron wants beside it */
    enum status status =
        plan_load_text("p.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, err);
    if (status == STATUS_OK)
        status = work_build(&plan, &arena, &work, err);
    arena_release(&arena);
    return status;
}

static void stacks_take_the_names_that_help_lists(void **state)
{
    (void)state;
    const struct word_name *name;
    size_t n = 0;
    for (; (name = word_name_at(n)) != NULL; n++) {
        char stacks[64], *rest = stacks;
        snprintf(stacks, sizeof stacks, "%s", name->stacks);
        for (const char *stack; (stack = strtok_r(rest, ", ", &rest)) != NULL;) {
            struct err err = {0};
            print_message("%s: %s %s\n", stack, name->key, name->name);
            build(stack, name->key, name->name, &err);
            assert_string_equal(err.text, "");
            build(stack, name->key, "no_such_name", &err);
            assert_int_equal(err.status, STATUS_INPUT);
        }
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_has_a_meaning),
        cmocka_unit_test(offered_words_are_words),
        cmocka_unit_test(what_people_type_is_understood),
        cmocka_unit_test(names_of_frameworks_lead_to_keys),
        cmocka_unit_test(names_are_answered_with_the_right_one),
        cmocka_unit_test(other_things_are_not_suggested),
        cmocka_unit_test(stacks_take_the_names_that_help_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
