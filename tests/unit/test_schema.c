/* plan/schema/schema: the table itself, reading of every type with its refusals, printing that
 * reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/schema/schema.h"

static void table_is_well_formed(void **state)
{
    (void)state;
    static const size_t sizes[] = {[FIELD_COUNT] = sizeof(uint64_t),
                                   [FIELD_REAL] = sizeof(double),
                                   [FIELD_AMOUNT] = sizeof(uint64_t),
                                   [FIELD_RATE] = sizeof(double),
                                   [FIELD_BOOL] = sizeof(bool),
                                   [FIELD_WORD] = sizeof(enum mode),
                                   [FIELD_COUNTS] = sizeof(struct number_list),
                                   [FIELD_WORDS] = sizeof(struct word_list),
                                   [FIELD_ENUMS] = sizeof(struct enum_list)};
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        const struct field *field = &fields[i];
        print_message("%s\n", field->key);
        assert_ptr_equal(schema_find(field->key), field); /* so keys are unique */
        if (field->type != FIELD_TEXT)
            assert_int_equal(field->size, sizes[field->type]);
        assert_int_equal(field->words != NULL,
                         field->type == FIELD_WORD || field->type == FIELD_ENUMS);
        assert_true(strlen(field->help) > 4);
        assert_true(field->help[strlen(field->help) - 1] != '.');
        assert_true(!field->number || schema_find(field->number) != NULL);
    }
    assert_null(schema_find("moe"));
    assert_null(schema_find("moe.routing.alph"));
    assert_null(schema_find(""));
}

/* Bytes that belong to no field are padding in front of an eight-byte member, or behind; but
 * for the plan of what prefills, which has the fields of its own. */
static void table_covers_the_plan(void **state)
{
    (void)state;
    static char covered[sizeof(struct plan) + 8];
    size_t n;
    const struct field *fields = schema_fields(&n);
    memset(covered, 0, sizeof(struct plan));
    memset(covered + offsetof(struct plan, prefill), 1, sizeof(struct plan *));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < fields[i].size; j++) {
            print_message("%s", j ? "" : fields[i].key);
            assert_int_equal(covered[fields[i].offset + j], 0);
            covered[fields[i].offset + j] = 1;
        }
        print_message("\n");
    }
    for (size_t at = 0; at < sizeof(struct plan);) {
        size_t hole = 0;
        while (at + hole < sizeof(struct plan) && !covered[at + hole])
            hole++;
        if (hole)
            print_message("hole of %zu at %zu\n", hole, at);
        assert_true(hole < 8);
        assert_true(hole == 0 || (at + hole) % 8 == 0 || (hole < 4 && (at + hole) % 4 == 0));
        at += hole ? hole : 1;
    }
}

static size_t count_words(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

static void words_match_their_enums(void **state)
{
    (void)state;
    const struct {
        const char *const *words;
        size_t last;
    } lists[] = {
        {words_attention, ATTENTION_SHARED_KV},
        {words_mode, MODE_SERVE},
        {words_dtype, DTYPE_COUNT - 1},
        {words_compute, COMPUTE_FP8},
        {words_path, PATH_COUNT - 1},
        {words_matmul, MATMUL_MEGABLOX},
        {words_sizing, SIZING_FACTOR},
        {words_distribution, DISTRIBUTION_TRACE},
        {words_placement, PLACEMENT_EPLB},
        {words_scenario, SCENARIO_PROFILE_RUN},
        {words_recompute, RECOMPUTE_SAVE},
        {words_backend, BACKEND_UNFUSED},
        {words_loss, LOSS_SMOOTHED_F32},
        {words_stack, STACK_COUNT - 1},
        {words_score, SCORE_SQRTSOFTPLUS},
        {words_reshard, RESHARD_NEVER},
        {words_fake_weights, FAKE_FP8_INT4},
        {words_fake_inputs, INPUTS_FP8},
        {words_encoder_again, ENCODER_AGAIN_FULL},
        {words_recipe, RECIPE_NVFP4},
        {words_optimizer, OPTIMIZER_ADALOMO},
        {words_frozen, FROZEN_DENSE_MLP},
        {words_aware, AWARE_COPIED},
        {words_step, STEP_FOREACH},
        {words_order, ORDER_SCORE_THEN_TOPK},
        {words_activation, ACTIVATION_SWIGLU_OAI},
        {words_gate_scale, GATE_PRE},
        {words_shard, SHARD_BLOCK},
        {words_weight_skip, WEIGHT_SKIP_HI_LO},
        {words_shared, SHARED_TP},
        {words_pipeline, PIPELINE_GPIPE},
        {words_block, BLOCK_MLP},
        {words_collective, COLLECTIVE_HALVING},
        {words_data, DATA_REAL},
        {words_drop, DROP_PROBS},
        {words_capacity_scope, CAPACITY_BATCH},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_int_equal(count_words(lists[i].words), lists[i].last + 1);
    assert_string_equal(words_path[PATH_DEEPEP_LL], "deepep_ll");
    assert_string_equal(words_path[PATH_ALLGATHER], "allgather");
    assert_string_equal(words_dtype[DTYPE_MXFP4], "mxfp4");
    assert_string_equal(words_stack[STACK_PRIMUS], "primus");
}

static void defaults_are_those_of_the_design(void **state)
{
    (void)state;
    struct plan plan;
    memset(&plan, 0xff, sizeof plan);
    schema_defaults(&plan);
    assert_true(plan.moe.capacity_factor == 1.25);
    assert_int_equal(plan.moe.block_size, 512);
    assert_int_equal(plan.workload.mode, MODE_TRAIN);
    assert_int_equal(plan.workload.sequence_length, 4096);
    assert_int_equal(plan.parallel.tp, 1);
    assert_int_equal(plan.precision.weights, DTYPE_BF16);
    assert_int_equal(plan.precision.master, DTYPE_NONE);
    assert_int_equal(plan.parallel.order.n, 5);
    assert_string_equal(plan.parallel.order.word[0], "tp");
    assert_string_equal(plan.parallel.order.word[4], "pp");
    assert_int_equal(plan.cluster.mesh.n, 0);
    assert_true(plan.cluster.network.latency == 5e-6);
    assert_string_equal(plan.stack_name, "generic");
    assert_int_equal(plan.model.layers, 0);
}

/* Every default reads, prints, and the print reads back to the same bytes. */
static void defaults_print_and_read_back(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    schema_defaults(&plan);
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        struct plan copy = plan;
        struct text text = {.arena = &arena};
        if (!fields[i].fallback)
            continue;
        schema_print(&fields[i], &plan, &text);
        print_message("%s: %s\n", fields[i].key, text_string(&text));
        bool quoted = text_string(&text)[0] == '"';
        assert_int_equal(schema_set(&fields[i], &copy, quoted ? "" : text_string(&text), quoted,
                                    (struct mark){0}, &err),
                         STATUS_OK);
        assert_memory_equal(&copy, &plan, sizeof plan);
    }
    arena_release(&arena);
}

static void values_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text, *printed;
        double number;
    } cases[] = {
        {"workload.sequence_length", "8192", "8192", 8192},
        {"workload.micro_batch", "007", "7", 7},
        {"moe.routing.seed", "18446744073709551615", "18446744073709551615", 0x1p64},
        {"moe.routing.alpha", "5e-1", "0.5", 0.5},
        {"moe.routing.alpha", "-0", "0", 0},
        {"cluster.device.memory", "287.98 GiB", "309216170476 B", 309216170476},
        {"cluster.device.memory_bandwidth", "8 TB/s", "8 TB/s", 8e12},
        {"cluster.node.link_latency", "1 us", "1 us", 1e-6},
        {"parallel.sp", "True", "true", 1},
        {"moe.path", "deepep", "deepep", PATH_DEEPEP},
        {"moe.buffer", "1.5", "1.5", SIZING_FACTOR},
        {"moe.buffer", "exact", "exact", SIZING_EXACT},
        {"cluster.mesh", "[4, 2]", "[4, 2]", 0},
        {"cluster.mesh", "16", "[16]", 0},
        {"cluster.mesh", "[]", "[]", 0},
        {"cluster.mesh", "[4,\n     2]", "[4, 2]", 0},
        {"recompute.save", "moe_mlpwo, out_proj", "[moe_mlpwo, out_proj]", 0},
        {"name", "8x7b", "\"8x7b\"", 0},
        {"name", "a \"b\" \\c", "\"a \\\"b\\\" \\\\c\"", 0},
        {"name", "Null", "\"Null\"", 0},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct err err = {0};
        struct text text = {.arena = &arena};
        const struct field *field = schema_find(cases[i].key);
        schema_defaults(&plan);
        print_message("%s: %s\n", cases[i].key, cases[i].text);
        assert_int_equal(schema_set(field, &plan, cases[i].text, false, (struct mark){0}, &err),
                         STATUS_OK);
        schema_print(field, &plan, &text);
        assert_string_equal(text_string(&text), cases[i].printed);
        assert_true(schema_number(field, &plan) == cases[i].number);
    }
    arena_release(&arena);
}

/* A double holds 53 bits of a number of bytes, the field 64. */
static void bytes_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"9007199254740993 B", UINT64_C(9007199254740993)},
                 {"9007199254740993", UINT64_C(9007199254740993)},
                 {"999999999999999999B", UINT64_C(999999999999999999)},
                 {"1.5 KiB", 1536},
                 {"287.98 GiB", UINT64_C(309216170476)}};
    const struct field *field = schema_find("memory.reserve");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan = {0};
        struct err err = {0};
        struct mark file = {"p.yaml", 1, 1};
        assert_int_equal(schema_set(field, &plan, cases[i].text, false, file, &err), STATUS_OK);
        assert_int_equal(plan.memory.reserve_bytes, cases[i].bytes);
    }
}

/* In a file a number without a unit is in bytes, as the unit's reader says; on the command line
 * it is a mistake. */
static void options_give_bytes_a_unit(void **state)
{
    (void)state;
    const struct field *field = schema_find("memory.reserve");
    struct mark option = {"--set memory.reserve=10", 0, 0};
    struct plan plan = {0};
    struct err err = {0};
    assert_int_equal(schema_set(field, &plan, "10", false, option, &err), STATUS_INPUT);
    assert_string_equal(err.text, "'memory.reserve' is 10 without a unit");
    assert_string_equal(err.hint, "write 10GiB, or 10B for bytes");
    err_clear(&err);
    assert_int_equal(schema_set(field, &plan, "10B", false, option, &err), STATUS_OK);
    assert_int_equal(plan.memory.reserve_bytes, 10);
    assert_int_equal(schema_set(field, &plan, "0", false, option, &err), STATUS_OK);
    assert_int_equal(plan.memory.reserve_bytes, 0);
    const struct field *limit = schema_find("workload.limit.tpot"); /* 50 seconds? */
    assert_int_equal(schema_set(limit, &plan, "50", false, option, &err), STATUS_INPUT);
    assert_string_equal(err.hint, "write 50ms, or 50s");
    err_clear(&err);
    assert_int_equal(schema_set(limit, &plan, "50ms", false, option, &err), STATUS_OK);
}

/* An example is one that the key takes. */
static void examples_are_values(void **state)
{
    (void)state;
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        const char *example = schema_example(&fields[i]);
        struct plan plan = {0};
        struct err err = {0};
        struct mark option = {"--set", 0, 0};
        print_message("%s: %s\n", fields[i].key, example ? example : "none");
        if (!example)
            continue;
        assert_string_not_equal(example, "[]");
        assert_int_equal(schema_set(&fields[i], &plan, example, false, option, &err),
                         STATUS_OK);
    }
}

static void values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text;
        bool quoted;
        const char *message, *hint;
    } cases[] = {
        {"moe.block_size", "x", false, "'moe.block_size' takes a whole number, not 'x'",
         "for example 512"},
        {"moe.block_size", "512", true, "'moe.block_size' takes a whole number, not \"512\"",
         "remove the quotes: what stands in quotes is a text"},
        {"moe.block_size", "1.5", false, "'moe.block_size' takes a whole number, not '1.5'",
         "for example 512"},
        {"moe.block_size", "0x10", false, "'moe.block_size' takes a whole number, not '0x10'",
         "for example 512"},
        {"moe.block_size", "-1", false, "'moe.block_size' is -1, below the limit 0", ""},
        {"workload.micro_batch", "0", false, "'workload.micro_batch' is 0, below the limit 1",
         ""},
        {"parallel.zero", "4", false, "'parallel.zero' is 4, above the limit 3", ""},
        {"moe.routing.seed", "18446744073709551616", false,
         "'moe.routing.seed' is 18446744073709551616, above the limit 18446744073709551615",
         ""},
        {"memory.fraction", "1.01", false, "'memory.fraction' is 1.01, above the limit 1", ""},
        {"moe.routing.alpha", "-0.5", false, "'moe.routing.alpha' is -0.5, below the limit 0",
         ""},
        {"moe.routing.alpha", "nan", false, "'moe.routing.alpha' takes a number, not 'nan'",
         "for example 0.5"},
        {"cluster.device.memory", "288 Gb", false,
         "'cluster.device.memory' takes a quantity, not '288 Gb'",
         "a number and one of the units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"},
        {"cluster.device.memory", "8 TB/s", false,
         "'cluster.device.memory' takes a quantity, not '8 TB/s'",
         "a number and one of the units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"},
        {"cluster.device.memory", "5", true,
         "'cluster.device.memory' takes a quantity, not \"5\"",
         "a number and one of the units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"},
        {"cluster.device.memory", "0 GiB", false,
         "'cluster.device.memory' is 0 GiB, below the limit 1 B", ""},
        {"cluster.node.link_latency", "20 s", false,
         "'cluster.node.link_latency' is 20 s, above the limit 10 s", ""},
        {"parallel.sp", "yes", false, "'parallel.sp' takes true or false, not 'yes'",
         "for example false"},
        {"parallel.sp", "true", true, "'parallel.sp' takes true or false, not \"true\"",
         "remove the quotes: what stands in quotes is a text"},
        {"workload.mode", "trian", false, "'trian' is not a value of 'workload.mode'",
         "did you mean 'train'? one of: train, prefill, decode, serve"},
        {"moe.buffer", "huge", false, "'huge' is not a value of 'moe.buffer'",
         "one of: auto, worst, exact, balanced, factor, or a number"},
        {"moe.buffer", "-1", false, "'moe.buffer_factor' is -1, below the limit 0", ""},
        {"cluster.mesh", "[4, x]", false,
         "'cluster.mesh' takes a list of whole numbers, not 'x'", "for example [1, 2]"},
        {"cluster.mesh", "[4, 2", false,
         "'cluster.mesh' takes a list of whole numbers, not '[4, 2'", "for example [1, 2]"},
        {"workload.micro_batch", "1e3", false,
         "'workload.micro_batch' takes a whole number, not '1e3'", "did you mean 1000?"},
        {"workload.sequence_length", "4,096", false,
         "'workload.sequence_length' takes a whole number, not '4,096'", "did you mean 4096?"},
        {"cluster.mesh", "[0]", false, "'cluster.mesh' is 0, below the limit 1", ""},
        {"recompute.save", "[a b]", false, "'recompute.save' lists names, not 'a b'",
         "letters, digits and _-.*/, at most 31"},
        {"name", "a\nb", true, "'name' holds a line break or a character that is not printable",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct err err = {0};
        schema_defaults(&plan);
        print_message("%s: %s\n", cases[i].key, cases[i].text);
        enum status status = schema_set(schema_find(cases[i].key), &plan, cases[i].text,
                                        cases[i].quoted, (struct mark){"f", 3, 7}, &err);
        assert_string_equal(err.text, cases[i].message);
        assert_string_equal(err.hint, cases[i].hint);
        assert_string_equal(err.where, "f:3:7");
        assert_int_equal(status, STATUS_INPUT);
    }
}

static void lists_and_texts_have_limits(void **state)
{
    (void)state;
    struct plan plan;
    struct err err = {0};
    char many[4 * PLAN_LIST] = "1", name[PLAN_NAME + 1] = "";
    schema_defaults(&plan);
    for (size_t i = 0; i < PLAN_LIST; i++)
        memcpy(many + 1 + 2 * i, ",1", 3);
    schema_set(schema_find("cluster.mesh"), &plan, many, false, (struct mark){0}, &err);
    assert_string_equal(err.text, "'cluster.mesh' has more than the limit of 128 items");
    err_clear(&err);
    schema_set(schema_find("parallel.order"), &plan, "a,a,a,a,a,a,a,a,a,a,a,a,a", false,
               (struct mark){0}, &err);
    assert_string_equal(err.text, "'parallel.order' has more than the limit of 12 items");
    err_clear(&err);
    memset(name, 'a', PLAN_NAME);
    schema_set(schema_find("model"), &plan, name, false, (struct mark){0}, &err);
    assert_string_equal(err.text, "'model' has 96 bytes, above the limit 95");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_well_formed),
        cmocka_unit_test(table_covers_the_plan),
        cmocka_unit_test(words_match_their_enums),
        cmocka_unit_test(defaults_are_those_of_the_design),
        cmocka_unit_test(defaults_print_and_read_back),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(bytes_are_exact),
        cmocka_unit_test(options_give_bytes_a_unit),
        cmocka_unit_test(examples_are_values),
        cmocka_unit_test(values_are_refused),
        cmocka_unit_test(lists_and_texts_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
