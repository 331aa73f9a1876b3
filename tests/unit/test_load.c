/* plan/read/load, plan/read/apply, plan/read/part: plans from files, --set, where values came
 * from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "support/settings.h"

#define SEED "tests/plans/seed000.yaml"

enum { SETS = 4 };

struct fixture {
    struct arena arena;
    struct err err;
    struct plan plan;
    struct origins origins;
    struct override overrides[SETS];
    size_t n;
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static enum status load(struct fixture *fixture, const char *file, const char *const *sets)
{
    err_clear(&fixture->err);
    fixture->n = 0;
    for (size_t i = 0; sets && i < SETS && sets[i]; i++)
        fixture->overrides[fixture->n++] = setting_of(sets[i], &fixture->arena);
    return plan_load(file, fixture->overrides, fixture->n, &fixture->arena, &fixture->plan,
                     &fixture->origins, &fixture->err);
}

static enum status load_text(struct fixture *fixture, const char *text)
{
    err_clear(&fixture->err);
    return plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &fixture->arena,
                          &fixture->plan, &fixture->origins, &fixture->err);
}

static void the_example_of_the_design_loads(void **state)
{
    struct fixture *fixture = *state;
    const struct plan *plan = &fixture->plan;
    load(fixture, SEED, NULL);
    assert_string_equal(fixture->err.text, "");
    assert_string_equal(plan->name, "seed000");
    assert_string_equal(plan->model_name, "deepseek-v3");
    assert_string_equal(plan->model.name, "deepseek-v3");
    assert_string_equal(plan->cluster_name, "mi355x-8x8");
    assert_string_equal(plan->stack_name, "maxtext");
    assert_int_equal(plan->stack.kind, STACK_MAXTEXT);
    assert_int_equal(plan->model.layers, 61);
    assert_int_equal(plan->model.moe.experts, 256);
    assert_int_equal(plan->cluster.device.memory_bytes, 309216170476);
    assert_int_equal(plan_world(plan), 64);
    assert_int_equal(plan_dp(plan), 64);
    assert_int_equal(plan_expert_dp(plan), 8);
    assert_int_equal(plan_tokens(plan), 32768);
    assert_int_equal(plan->moe.path, PATH_DEEPEP);
    assert_int_equal(plan->moe.buffer, SIZING_WORST);
    assert_int_equal(plan->moe.routing.distribution, DISTRIBUTION_ZIPF);
    assert_int_equal(plan->moe.routing.placement, PLACEMENT_STRIDED);
    assert_int_equal(plan->recompute.kind, RECOMPUTE_FULL);
    assert_true(plan->memory.fraction == 0.93);
}

static void json_is_yaml(void **state)
{
    struct fixture *fixture = *state;
    load_text(fixture, "{\"model\": \"mixtral-8x7b\", \"cluster\": \"h100-8x2\",\n"
                       " \"parallel\": {\"ep\": 8}, \"name\": \"x\\ud83d\\ude00\"}");
    assert_string_equal(fixture->err.text, "");
    assert_int_equal(fixture->plan.parallel.ep, 8);
    assert_string_equal(fixture->plan.name, "x\xf0\x9f\x98\x80");
    assert_string_equal(fixture->plan.stack_name, "generic");
}

/* An inline part, its base, and what follows from the shape. */
static void parts_stand_in_place(void **state)
{
    struct fixture *fixture = *state;
    const struct plan *plan = &fixture->plan;
    load_text(fixture, "model: {layers: 4, hidden: 64, dense_intermediate: 128, vocab: 100,\n"
                       "  attention: {heads: 4},\n"
                       "  moe: {experts: 8, top_k: 2, intermediate: 32, shared_experts: 2}}\n"
                       "cluster: {base: h100, nodes: 4, node: {devices: 2}}\n"
                       "stack: {kind: megatron, fraction: 0.8}\n"
                       "block: mlp\ncollective: ring\nmoe:\n");
    assert_string_equal(fixture->err.text, "");
    assert_string_equal(plan->model_name, "inline");
    assert_string_equal(plan->cluster_name, "h100 (changed)");
    assert_string_equal(plan->stack_name, "megatron (changed)");
    assert_true(plan->stack.wgrad_placeholders); /* as the file of its kind says */
    assert_true(plan->stack.fraction < 0.81);
    assert_int_equal(plan->precision.gradients, DTYPE_F32);
    assert_int_equal(plan->model.attention.kv_heads, 4);
    assert_int_equal(plan->model.attention.head_dim, 16);
    assert_int_equal(plan->model.moe.shared_intermediate, 64);
    assert_true(plan->cluster.device.memory_bandwidth > 1e12);
    assert_int_equal(plan_world(plan), 8);
    assert_int_equal(plan->stack.kind, STACK_MEGATRON);
    assert_int_equal(plan->block.kind, BLOCK_MLP);
    assert_int_equal(plan->block.collective, COLLECTIVE_RING);
}

static void a_dense_model_needs_no_experts(void **state)
{
    struct fixture *fixture = *state;
    load_text(fixture,
              "model: {layers: 2, dense_layers: 2, dense_intermediate: 16, hidden: 8,\n"
              "  vocab: 100, attention: {heads: 2}}\ncluster: h200\n");
    assert_string_equal(fixture->err.text, "");
    assert_int_equal(plan_moe_layers(&fixture->plan), 0);
}

/* What the chosen path does not read is never an error. */
static void unread_keys_are_no_errors(void **state)
{
    struct fixture *fixture = *state;
    static const char *const sets[][SETS] = {
        {"moe.capacity_factor=0", "moe.block_size=0", "moe.chunk=0"},
        {"moe.routing.concentration=0", "moe.routing.file=nowhere.csv",
         "moe.routing.placement_file=nowhere.csv"},
        {"workload.context_length=0", "precision.kv_cache=int8", "moe.buffer_factor=0"},
        {"workload.mode=decode", "workload.sequence_length=17", "parallel.cp=2"},
        {"workload.mode=prefill", "workload.global_batch=7", "precision.master=f64"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        load(fixture, SEED, sets[i]);
        assert_string_equal(fixture->err.text, "");
    }
}

static void sets_change_the_plan(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *sets[SETS];
        const char *key, *value;
    } cases[] = {
        {{"moe.path=capacity", "moe.capacity_factor=2"}, "moe.capacity_factor", "2"},
        {{"moe.path=capacity", "moe.capacity_factor=2"}, "moe.path", "capacity"},
        {{"memory.fraction=0.9", "memory.fraction=0.96"}, "memory.fraction", "0.96"},
        {{"model=mixtral-8x7b"}, "model.moe.experts", "8"},
        {{"model.moe.top_k=1", "model=mixtral-8x7b"}, "model.moe.top_k", "1"},
        {{"model={base: mixtral-8x7b, layers: 2}"}, "model.layers", "2"},
        {{"cluster=h100-8x4"}, "cluster.nodes", "4"},
        {{"cluster.nodes=2"}, "cluster.nodes", "2"},
        {{"stack=generic"}, "stack.kind", "generic"},
        {{"recompute=none"}, "recompute.kind", "none"},
        {{"recompute.save=[moe_mlpwo]"}, "recompute.kind", "save"},
        {{"recompute.save=[moe_mlpwo]"}, "recompute.save", "[moe_mlpwo]"},
        {{"recompute={save: [a, b]}"}, "recompute.kind", "save"},
        {{"recompute={save: [a, b]}", "recompute=full"}, "recompute.save", "[]"},
        {{"moe={path: rdep, skip: {token: true}}"}, "moe.skip.token", "true"},
        {{"moe.skip={weight: hi_lo, dynamic: true}"}, "moe.skip.weight", "hi_lo"},
        {{"moe.skip={token: true, weight: true, dynamic: true}"}, "moe.skip.weight", "hi_lo"},
        {{"moe.skip.weight=ping_pong", "moe.skip.weight=false"}, "moe.skip.weight", "none"},
        {{"moe.buffer=1.5"}, "moe.buffer", "1.5"},
        {{"moe.buffer=exact"}, "moe.buffer", "exact"},
        {{"moe.switch=2"}, "moe.switch", "2"},
        {{"parallel.order=[ep, tp]"}, "parallel.order", "[ep, tp]"},
        {{"parallel.order=ep"}, "parallel.order", "[ep]"},
        {{"block=mlp", "collective=halving"}, "block.collective", "halving"},
        {{"memory.reserve=4 GiB"}, "memory.reserve", "4 GiB"},
        {{"cluster.network.bandwidth=400 Gbit/s"}, "cluster.network.bandwidth", "50 GB/s"},
        {{"name=8x7b"}, "name", "\"8x7b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {.arena = &fixture->arena};
        load(fixture, SEED, cases[i].sets);
        print_message("%s\n", cases[i].sets[0]);
        assert_string_equal(fixture->err.text, "");
        schema_print(schema_find(cases[i].key), &fixture->plan, &text);
        assert_string_equal(text_string(&text), cases[i].value);
    }
}

static void sets_are_refused_by_name(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *set, *text, *hint;
    } cases[] = {
        {"moe.block_size=x", "'moe.block_size' takes a whole number, not 'x'",
         "for example 512"},
        {"moe.blocksize=7", "unknown key 'moe.blocksize'", "did you mean 'moe.block_size'?"},
        {"mo.block_size=7", "unknown key 'mo.block_size'", "did you mean 'moe.block_size'?"},
        {"block_size=7", "unknown key 'block_size'", "did you mean 'moe.block_size'?"},
        {"=7", "unknown key ''",
         "keys here are: name, model, cluster, stack, workload, parallel, moe, precision, "
         "optimizer, lora, frozen, recompute, memory, block"},
        {"moe.routing..seed=7", "unknown key 'moe.routing..seed'",
         "did you mean 'moe.routing.seed'?"},
        {"moe.=7", "unknown key 'moe.'",
         "keys of 'moe' are: path, capacity_factor, capacity_scope, drop, block_size, buffer, "
         "buffer_factor, matmul, chunk, cores, shard, skip, sync_free, dispatch_sms, library, "
         "dispatch_tokens, expert_tokens, "
         "redundant_experts, shared, switch, dedup, reuse_handle, overlap, overlap_decode, "
         "overlap_prefill, overlap_balance, overlap_single, paged_stash, "
         "fuse_activation, "
         "alignment, routing"},
        {"workload.micro_batch=", "'workload.micro_batch' has no value",
         "leave the key out for its default, 1"},
        {"workload.micro_batch=[1", "did not find expected ',' or ']'",
         "items are separated by ',' and end with ']'"},
        {"workload.micro_batch=[1, 2]",
         "'workload.micro_batch' takes a whole number, not a list", "for example 1"},
        {"parallel.ep=7", "world size 64 is not divisible by ep x etp x pp 7",
         "ep 4 or 8 fits, or take devices in multiples of 7"},
        {"model.moe.experts=100", "experts 100 is not divisible by router groups 8",
         "divisors of 100 near it: 5, 10"},
        {"model=deepseek-v33", "no model is called 'deepseek-v33'",
         "did you mean 'deepseek-v3'?"},
        {"model=", "'model' has no value",
         "it takes a name or a path; `moeplan list` shows names"},
        {"model={layers: 3, top: 1}", "unknown key 'model.top'",
         "keys of 'model' are: name, layers, dense_layers, moe_every, layer_types, hidden, "
         "side_by_side, dense_intermediate, residual_intermediate, vocab, "
         "tied_embeddings, labels, mtp_layers, "
         "mtp_enabled, mtp_window, mtp_dense, mtp_first, mtp_plain, norms_per_layer, "
         "residual_block, "
         "residual_streams, residual_identity, residual_mean, residual_rank, norm_bias, "
         "mlp_bias, "
         "layer_scale, head_bias, max_position, rotary, rotary_beside, rotary_table, "
         "checkpoint, "
         "plain, plain_format, borrow_intermediate, attention, "
         "window, linear, indexer, layer_embedding, ngram, dspark, encoder, moe"},
        {"model={layers: 3}", "missing in the model: 'hidden', 'vocab', 'attention.heads'", ""},
        {"memory.fraction=&a 0.9", "anchor 'a' is not supported",
         "write the value out wherever it is used"},
        {"name=\x01", "control character 0x01 in the text", "this looks like a binary file"},
        {"moe={path: deepep, path: rdep}", "key 'path' is given twice", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *sets[SETS] = {cases[i].set};
        enum status status = load(fixture, SEED, sets);
        print_message("%s\n", cases[i].set);
        assert_string_equal(fixture->err.text, cases[i].text);
        assert_string_equal(fixture->err.hint, cases[i].hint);
        assert_string_equal(fixture->err.where, fixture->overrides[0].option);
        assert_int_equal(status, STATUS_INPUT);
    }
}

static void assert_origin(const struct fixture *fixture, const char *key, const char *file,
                          unsigned line, unsigned column)
{
    size_t n;
    struct mark mark = fixture->origins.mark[schema_find(key) - schema_fields(&n)];
    print_message("%s\n", key);
    if (!file) {
        assert_null(mark.file);
        return;
    }
    assert_non_null(mark.file);
    assert_true(text_ends(mark.file, file));
    assert_int_equal(mark.line, line);
    assert_int_equal(mark.column, column);
}

static void origins_say_where(void **state)
{
    struct fixture *fixture = *state;
    const char *sets[SETS] = {"moe.path=rdep", "recompute=none"};
    load(fixture, SEED, sets);
    assert_string_equal(fixture->err.text, "");
    assert_origin(fixture, "parallel.ep", SEED, 9, 41);
    assert_origin(fixture, "moe.routing.alpha", SEED, 16, 33);
    assert_origin(fixture, "moe.path", "--set moe.path=rdep", 0, 0);
    assert_origin(fixture, "recompute.kind", "--set recompute=none", 0, 0);
    assert_origin(fixture, "moe.chunk", NULL, 0, 0);
    assert_origin(fixture, "model", SEED, 2, 8);
    size_t n;
    const struct mark *marks = fixture->origins.mark;
    struct mark layers = marks[schema_find("model.layers") - schema_fields(&n)];
    assert_true(text_ends(layers.file, "models/deepseek-v3.yaml") && layers.line > 1);
}

/* A rule that depends on a --set points at it, even when its own key stands in the file. */
static void rules_point_at_sets_first(void **state)
{
    struct fixture *fixture = *state;
    const char *sets[SETS] = {"parallel.cp=3"};
    load(fixture, SEED, sets);
    assert_string_equal(fixture->err.where, "--set parallel.cp=3");
    assert_string_equal(fixture->err.text, "world size 64 is not divisible by tp x pp x cp 3");
}

static void files_beside_the_plan_are_found(void **state)
{
    struct fixture *fixture = *state;
    load(fixture, "tests/plans/traced/plan.yaml", NULL);
    assert_string_equal(fixture->err.text, "");
    assert_string_equal(fixture->plan.moe.routing.file, "tests/plans/traced/routing.csv");
    const char *sets[SETS] = {"moe.routing.file=tests/plans/traced/routing.csv"};
    load(fixture, "tests/plans/traced/plan.yaml", sets);
    assert_string_equal(fixture->err.text, "");
    assert_string_equal(fixture->plan.moe.routing.file, "tests/plans/traced/routing.csv");
}

static void names_come_from_files(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = "model: mixtral-8x7b\ncluster: h200\n";
    static const char *const cases[][2] = {{"-", "stdin"},
                                           {"a/b.c.yaml", "b.c"},
                                           {".yaml", ".yaml"},
                                           {"a/x", "x"},
                                           {"a\x01"
                                            "b.yaml",
                                            "a_b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan_load_text(cases[i][0], text, strlen(text), NULL, 0, &fixture->arena,
                       &fixture->plan, NULL, &fixture->err);
        assert_string_equal(fixture->err.text, "");
        assert_string_equal(fixture->plan.name, cases[i][1]);
    }
}

static void files_that_are_none(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(load(fixture, "tests", NULL), STATUS_INPUT);
    assert_string_equal(fixture->err.where, "tests");
    assert_string_equal(fixture->err.text, "is a directory, not a file");
    assert_int_equal(load(fixture, "tests/none.yaml", NULL), STATUS_INPUT);
    assert_string_equal(fixture->err.where, "tests/none.yaml");
    assert_string_equal(fixture->err.text, "cannot be opened: No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_example_of_the_design_loads),
        TEST(json_is_yaml),
        TEST(parts_stand_in_place),
        TEST(a_dense_model_needs_no_experts),
        TEST(unread_keys_are_no_errors),
        TEST(sets_change_the_plan),
        TEST(sets_are_refused_by_name),
        TEST(origins_say_where),
        TEST(rules_point_at_sets_first),
        TEST(files_beside_the_plan_are_found),
        TEST(names_come_from_files),
        TEST(files_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
