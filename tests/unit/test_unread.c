/* plan/read/unread: the table's keys, reasons and help, and whose keys are noted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/unread.h"
#include "plan/read/unread_table.h"
#include "support/random_plan.h"

/* ---- the table ---- */

static void rows_name_fields_and_stand_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < unread_rows_n; i++) {
        const struct unread_row *row = &unread_rows[i];
        if (!schema_find(row->key))
            fail_msg("'%s' is no key", row->key);
        bool conditions = row->when[0].kind != CONDITION_END;
        assert_int_equal(conditions, row->never == NULL);
        for (size_t j = 0; j + 1 < i; j++)
            if (text_equal(unread_rows[j].key, row->key) &&
                !text_equal(unread_rows[i - 1].key, row->key))
                fail_msg("rows of '%s' stand apart", row->key);
    }
}

static void conditions_ask_fields_they_can(void **state)
{
    (void)state;
    for (size_t i = 0; i < unread_rows_n * UNREAD_CONDITIONS; i++) {
        const struct condition *c =
            &unread_rows[i / UNREAD_CONDITIONS].when[i % UNREAD_CONDITIONS];
        const struct field *field = c->kind ? schema_find(c->key) : NULL;
        if (!c->kind)
            continue;
        if (!field)
            fail_msg("a condition names '%s', which is no key", c->key);
        bool word = field->type == FIELD_WORD || field->type == FIELD_BOOL;
        if (c->kind == CONDITION_WORD && (!word || !c->words))
            fail_msg("a condition asks '%s' for words", c->key);
        if (c->kind == CONDITION_OTHER)
            assert_true(c->holds && c->text && c->otherwise);
    }
}

/* ---- reasons ---- */

static const char *reason(const struct plan *plan, enum moe_path path, const char *key,
                          struct arena *arena)
{
    const struct unread_plan of = {plan, path};
    const char *text = unread_reason(schema_find(key), &of, arena);
    return text ? text : "read";
}

static void reasons_give_what_decides(void **state)
{
    (void)state;
    struct arena arena = {0};
    static struct plan plan;
    plan_tiny(&plan);
    const struct {
        const char *key, *text;
    } cases[] = {
        {"workload.micro_batch", "read"},
        {"recompute.modules",
         "not read, recompute.kind is none"}, /* the first condition that fails */
        {"moe.chunk", "not read, moe.path is auto, here deepep"},
        {"moe.shard", "not read, moe.path is auto, here deepep"},
        {"moe.dedup", "not read, workload.mode is train, moe.path is auto, here deepep"},
        {"parallel.schedule", "not read, parallel.pp is 1"},
        {"model.max_position", "not read, stack.kind is generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(reason(&plan, PATH_DEEPEP, cases[i].key, &arena), cases[i].text);
    plan.moe.path = PATH_CHUNKED_A2A;
    assert_string_equal(reason(&plan, PATH_CHUNKED_A2A, "moe.chunk", &arena), "read");
    plan.moe.path = PATH_BLOCKWISE;
    assert_string_equal(reason(&plan, PATH_BLOCKWISE, "moe.chunk", &arena),
                        "not read, moe.path is blockwise");
    assert_string_equal(reason(&plan, PATH_BLOCKWISE, "moe.shard", &arena),
                        "not read, moe.cores is 1");
    plan.stack.kind = STACK_NXD; /* two cores unless the plan says otherwise */
    assert_string_equal(reason(&plan, PATH_BLOCKWISE, "moe.shard", &arena), "read");
    plan.workload.scenario = SCENARIO_COLD; /* the key itself is no reason */
    assert_string_equal(reason(&plan, PATH_BLOCKWISE, "moe.routing.distribution", &arena),
                        "not read, workload.scenario is cold");
    plan.model.dense_layers = plan.model.layers;
    assert_string_equal(reason(&plan, PATH_BLOCKWISE, "model.moe.router.linear_bias", &arena),
                        "not read, the model has no MoE layers, workload.mode is train");
    arena_release(&arena);
}

static void help_says_when(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct {
        const char *key, *text;
    } cases[] = {
        {"moe.chunk", "when moe.path is chunked_a2a"},
        {"moe.alignment",
         "when moe.path is not capacity or chunked_a2a, the block or the model has experts"},
        {"moe.dedup", "when workload.mode is decode or serve; or moe.path is selective"},
        {"cluster.wrap", "when block.kind is not moe, parallel.tp is above 1, cluster.mesh is "
                         "not empty"},
        {"stack.fraction", "when memory.fraction is 0, stack.kind is not maxtext; or "
                           "memory.fraction is 0, cluster.device.usable is 0"},
        {"moe.skip.static", "when moe.path is blockwise, moe.skip.dynamic is true"},
        {"workload.data", "when workload.mode is train"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(unread_when(schema_find(cases[i].key), &arena), cases[i].text);
    assert_null(unread_when(schema_find("moe.path"), &arena));
    assert_true(unread_depends(schema_find("moe.chunk"), "moe.path"));
    assert_false(unread_depends(schema_find("moe.chunk"), "moe.buffer"));
    arena_release(&arena);
}

/* ---- notes ---- */

/* "a, b": the keys noted for a plan's text with one --set. */
static const char *noted(const char *yaml, const struct override *set, struct arena *arena)
{
    static struct plan plan;
    struct origins origins;
    struct err err = {0};
    struct text keys = {.arena = arena};
    if (plan_load_text("plan.yaml", yaml, strlen(yaml), set, set ? 1 : 0, arena, &plan,
                       &origins, &err))
        fail_msg("%s: %s", err.where, err.text);
    const struct unread_plan of = {&plan, PATH_RAGGED_A2A};
    size_t n;
    const struct note *notes = unread_notes(&of, &origins, arena, &n);
    for (size_t i = 0; i < n; i++)
        text_printf(&keys, "%s%s", i ? ", " : "", notes[i].key);
    return text_string(&keys);
}

static void keys_of_text_and_options_are_noted(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct override set = {"moe.overlap", "true", "--set moe.overlap=true"};
    /* the model's file states max_position, the cluster's units and l2: not the user */
    const char *plain = "{model: deepseek-v3, cluster: h200-8x1, moe: {path: ragged_a2a}}";
    assert_string_equal(noted(plain, NULL, &arena), "");
    assert_string_equal(noted(plain, &set, &arena), "moe.overlap");
    assert_string_equal(noted("model: {base: deepseek-v3, max_position: 4096}\n"
                              "cluster: {base: h200-8x1, device: {units: 100}}\n"
                              "moe: {path: ragged_a2a, chunk: 64, buffer: exact}\n"
                              "recompute: full\n",
                              NULL, &arena),
                        "model.max_position, moe.chunk");
    arena_release(&arena);
}

/* A config.json in place is a model like one that is named: nobody chose its keys one by one.
 */
static void a_config_in_place_is_not_noted(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *yaml =
        "cluster: h200-8x1\n"
        "model: {architectures: [Qwen3MoeForCausalLM], model_type: qwen3_moe,\n"
        "  hidden_size: 2048, intermediate_size: 6144, max_position_embeddings: 40960,\n"
        "  moe_intermediate_size: 768, norm_topk_prob: true, num_attention_heads: 32,\n"
        "  num_experts: 128, num_experts_per_tok: 8, num_hidden_layers: 48,\n"
        "  num_key_value_heads: 4, head_dim: 128, vocab_size: 151936,\n"
        "  decoder_sparse_step: 1, mlp_only_layers: [], tie_word_embeddings: false,\n"
        "  hidden_act: silu, attention_bias: false}\n";
    const struct override set = {"model.max_position", "4096", "--set model.max_position=4096"};
    assert_string_equal(noted(yaml, NULL, &arena), "");
    assert_string_equal(noted(yaml, &set, &arena), "model.max_position");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_name_fields_and_stand_together),
        cmocka_unit_test(conditions_ask_fields_they_can),
        cmocka_unit_test(reasons_give_what_decides),
        cmocka_unit_test(help_says_when),
        cmocka_unit_test(keys_of_text_and_options_are_noted),
        cmocka_unit_test(a_config_in_place_is_not_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
