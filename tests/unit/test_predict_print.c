/* report/predict: a made-up prediction as text, JSON and CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/unit.h"
#include "report/predict/print.h"
#include "plan/schema/schema.h"
#include "support/sink.h"

struct scene {
    struct plan plan;
    struct prediction prediction;
    struct buffer_report buffers[3];
    struct fix fixes[2];
    struct stage_memory stages[2];
    struct term term;
    struct arena arena;
    struct sink sink;
    struct predict_view view;
};

static void make_buffers(struct scene *scene)
{
    const struct buffer_report buffers[] = {
        {.name = "weights",
         .rule = "fixed",
         .category = CATEGORY_WEIGHTS,
         .segment = SEGMENT_STEP,
         .dtype = DTYPE_BF16,
         .n_dims = 1,
         .dims = {16 * GIB},
         .copies = 1,
         .one_bytes = 32 * GIB,
         .bytes = 32 * GIB,
         .expected_bytes = 32 * GIB,
         .worst_bytes = 32 * GIB,
         .at_peak = true,
         .formula = "P*2 = 17179869184*2"},
        {.name = "received_x",
         .rule = "routing",
         .category = CATEGORY_DISPATCH,
         .segment = SEGMENT_MOE,
         .dtype = DTYPE_BF16,
         .n_dims = 2,
         .dims = {8388608, 4096},
         .copies = 1,
         .one_bytes = 64 * GIB,
         .bytes = 64 * GIB,
         .expected_bytes = 48 * GIB,
         .worst_bytes = 128 * GIB,
         .at_peak = true,
         .formula = "M*H*2 = 8388608*4096*2",
         .source = "made up"},
        {.name = "logits",
         .rule = "fixed",
         .category = CATEGORY_LOGITS,
         .segment = SEGMENT_HEAD,
         .dtype = DTYPE_F32,
         .copies = 2,
         .bytes = GIB,
         .expected_bytes = GIB,
         .worst_bytes = GIB},
    };
    memcpy(scene->buffers, buffers, sizeof buffers);
}

static void make_memory(struct scene *scene)
{
    scene->fixes[0] = (struct fix){.set = "workload.micro_batch=4",
                                   .kind = FIX_THROUGHPUT,
                                   .total_bytes = 64 * GIB,
                                   .verdict = VERDICT_FITS,
                                   .tokens_per_s_per_device = 1000,
                                   .note = "more micro-steps"};
    scene->fixes[1] = (struct fix){.set = "moe.path=deepep moe.buffer=2",
                                   .kind = FIX_NUMERICS,
                                   .total_bytes = 79 * GIB,
                                   .verdict = VERDICT_MARGINAL,
                                   .tokens_per_s_per_device = 2000,
                                   .drop_fraction = 0.25,
                                   .note = "drops 25 % of the routed rows"};
    scene->stages[0] = (struct stage_memory){1, 32 * GIB, 64 * GIB, 96 * GIB};
    scene->stages[1] = (struct stage_memory){2, 32 * GIB, 8 * GIB, 40 * GIB};
    scene->prediction.memory = (struct memory_report){
        .capacity_bytes = 80 * GIB,
        .limit_bytes = 72 * GIB,
        .state_bytes = 32 * GIB,
        .temp_bytes = 64 * GIB,
        .total_bytes = 96 * GIB,
        .margin_bytes = -(int64_t)(24 * GIB),
        .verdict = VERDICT_OOM,
        .sizing = "p99",
        .schedule = "",
        .has_distribution = true,
        .expected_bytes = 80 * GIB,
        .p99_bytes = 96 * GIB,
        .worst_bytes = 160 * GIB,
        .samples = 200,
        .oom_probability = 0.015,
        .categories = {{CATEGORY_WEIGHTS, 32 * GIB}, {CATEGORY_DISPATCH, 64 * GIB}},
        .n_categories = 2,
        .buffers = scene->buffers,
        .n_buffers = 3,
        .peak = {1, "moe layer", "dispatch", "forward"},
        .stages = scene->stages,
        .n_stages = 2,
        .largest = &scene->buffers[1],
        .wall = &scene->buffers[1],
        .fixes = scene->fixes,
        .n_fixes = 2,
    };
}

static int set_up(void **state)
{
    static const char *const assumptions[] = {"routing is uniform"};
    struct scene *scene = calloc(1, sizeof *scene);
    schema_defaults(&scene->plan);
    make_buffers(scene);
    make_memory(scene);
    scene->plan.moe.path = PATH_DEEPEP;
    scene->plan.cluster.device.memory_bytes = 80 * GIB;
    snprintf(scene->plan.stack.name, sizeof scene->plan.stack.name, "generic");
    scene->prediction.model =
        (struct model_report){12000000000, 3000000000, 16 * GIB, 18000000000};
    scene->prediction.assumptions = arena_alloc(&scene->arena, 1, sizeof(char *));
    scene->prediction.assumptions[0] = assumptions[0];
    scene->prediction.n_assumptions = 1;
    scene->term.width = 96;
    scene->view = (struct predict_view){
        .plan = &scene->plan,
        .prediction = &scene->prediction,
        .provenance = {7, "a", "b", "c", "generic", "generic"},
        .out = sink_open(&scene->sink),
        .term = &scene->term,
        .arena = &scene->arena,
    };
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    arena_release(&scene->arena);
    free(scene);
    return 0;
}

static void text_says_verdict_wall_and_fixes(void **state)
{
    struct scene *scene = *state;
    predict_print_text(&scene->view);
    sink_expect(
        &scene->sink,
        "oom: 96.00 GiB = state 32.00 + temp 64.00; limit 72.00, margin -24.00 (p99, "
        "modelled)\n"
        "OOM probability < 0.015 per step; expected 80.00, p99 96.00, worst 160.00 GiB\n"
        "model     12 B parameters, 3 B active per token, 17.18 B on a device\n"
        "software  generic, dynamic shapes; recompute none\n"
        "layout    tp 1, cp 1, pp 1, dp 1, zero 0; sequence 4096, micro-batch 1 x 1; 1 x "
        "1 devices\n"
        "memory              GiB % limit\n"
        "  p99             96.00   133.3  #############################\n"
        "  worst          160.00   222.2  ################################################\n"
        "  limit           72.00   100.0  ######################\n"
        "holds     dispatch 64.00, weights 32.00\n"
        "peak      moe layer, op dispatch, forward, pipeline stage 1 of 1; stages 96.00 40.00\n"
        "largest   received_x 64.00 GiB (66.7 %), dispatch, 8388608 x 4096 bf16: M*H*2 = "
        "8388608*4096*2\n"
        "          first to cross the limit: received_x, 64.00 GiB\n"
        "what makes it fit        GiB\n"
        "  costs throughput     64.00  fits      --set workload.micro_batch=4\n"
        "  changes the result   79.00  marginal  --set moe.path=deepep --set moe.buffer=2  "
        "drops "
        "25 %\n"
        "assumed   limit 72.00 GiB = 0.9 x 80.00; not calibrated on measured runs; marginal "
        "within 5 % of\n"
        "          temp\n"
        "also      routing is uniform\n"
        "moeplan " MOEPLAN_VERSION
        ", seed 7, plan a, model b, cluster c, stack generic, profile generic\n");
}

/* Of 8 tp ranks 4 share out prompts in attention, and 2 a sequence's cache; by other stacks
 * neither is. */
static void the_layout_says_what_tp_ranks_share(void **state)
{
    static const struct {
        enum stack_kind stack;
        const char *said;
    } rows[] = {
        {STACK_SGLANG, "layout    tp 8, attention cp 4, dcp 2, cp 1, pp 1, "},
        {STACK_VLLM, "layout    tp 8, dcp 2, cp 1, pp 1, "},
        {STACK_TRTLLM, "layout    tp 8, dcp 2, cp 1, pp 1, "},
        {STACK_GENERIC, "layout    tp 8, cp 1, pp 1, "},
    };
    struct scene *scene = *state;
    scene->plan.workload.mode = MODE_DECODE;
    scene->plan.parallel.tp = 8;
    scene->plan.parallel.attention_cp = 4;
    scene->plan.parallel.dcp = 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene->plan.stack.kind = rows[i].stack;
        if (i) /* the first is open */
            scene->view.out = sink_open(&scene->sink);
        predict_print_text(&scene->view);
        char *printed = sink_close(&scene->sink);
        bool said = strstr(printed, rows[i].said) != NULL;
        free(printed);
        assert_true(said);
    }
}

static void text_names_the_largest_buffers_when_it_fits(void **state)
{
    struct scene *scene = *state;
    scene->prediction.memory.verdict = VERDICT_FITS;
    scene->prediction.memory.wall = NULL;
    scene->prediction.memory.n_fixes = 0;
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    const char *largest = strstr(text, "\nlargest   received_x 64.00 GiB (66.7 %), dispatch, ");
    assert_non_null(largest);
    assert_null(strstr(largest, "logits")); /* not alive at the peak */
    assert_null(strstr(text, "makes it fit"));
    assert_null(strstr(text, "first to cross"));
    free(text);
}

static void text_names_what_cannot_be_addressed(void **state)
{
    struct scene *scene = *state;
    scene->prediction.memory.address_wall = &scene->buffers[1];
    scene->prediction.memory.int_wall = &scene->buffers[1];
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    assert_non_null(strstr(text, "          first to cross the limit: received_x, 64.00 GiB\n"
                                 "          more than its library can address, whatever "));
    free(text);
}

/* Nothing crosses a limit that the sum is within, and the first line says what is wrong. */
static void text_says_what_is_wrong_beside_the_sum(void **state)
{
    struct scene *scene = *state;
    struct memory_report *memory = &scene->prediction.memory;
    memory->limit_bytes = 2 * memory->total_bytes;
    memory->address_wall = &scene->buffers[1];
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    assert_non_null(strstr(text, "(its library cannot address received_x)\n"));
    assert_non_null(
        strstr(text, "\n          larger than its library can address: received_x"));
    assert_null(strstr(text, "first to cross"));
    free(text);
    memory->address_wall = NULL;
    memory->host_limit_bytes = 1;
    memory->host_bytes = 2;
    scene->view.out = sink_open(&scene->sink);
    predict_print_text(&scene->view);
    text = sink_close(&scene->sink);
    assert_non_null(strstr(text, "(host memory is too small)\n"));
    free(text);
}

static void text_shows_the_largest_beside_a_small_wall(void **state)
{
    struct scene *scene = *state;
    scene->prediction.memory.wall = &scene->buffers[0];
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    const char *largest = strstr(text, "\nlargest   received_x 64.00 GiB");
    assert_non_null(largest);
    assert_non_null(strstr(largest, "\n          first to cross the limit: weights"));
    free(text);
}

static void text_leaves_long_formulas_to_the_table(void **state)
{
    static const char formula[] =
        "ceil(aaaaaaaaaaaaaaaaaaaaaaaa/128)*ceil(bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/128)*"
        "ceil(cccccccccccccccccccccccccccc/128)*4 = ceil(1/128)*ceil(2/128)*ceil(3/128)*4";
    struct scene *scene = *state;
    scene->buffers[1].formula = formula;
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    assert_non_null(strstr(text, ": formula in --buffers\n"));
    assert_null(strstr(text, "ceil("));
    free(text);
}

static void text_colours_only_where_allowed(void **state)
{
    struct scene *scene = *state;
    scene->term.colour = true;
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    assert_memory_equal(text, "\033[1;31moom\033[0m: ", 16);
    free(text);
}

static void json_has_the_keys_of_the_contract(void **state)
{
    struct scene *scene = *state;
    static const char *const expected[] = {
        "\"schema_version\": 1,\n",
        "\"seed\": 7,\n",
        "\"names\": {\n    \"plan\": \"a\",",
        "\"plan\": {\n",
        "\"memory\": {\n    \"capacity_bytes\": 85899345920,\n",
        "\"margin_bytes\": -25769803776,\n    \"verdict\": \"oom\",\n",
        "\"expected_bytes\": 85899345920,\n    \"p99_bytes\": 103079215104,\n",
        "\"oom_probability\": 0.015,\n",
        "\"categories\": [\n      {\n        \"name\": \"weights\",\n        \"bytes\": ",
        "\"buffers\": [\n      {\n        \"name\": \"weights\",\n",
        "\"shape\": [8388608, 4096],\n        \"dtype\": \"bf16\",\n",
        "\"rule\": \"routing\"",
        "\"peak\": {\n      \"stage\": 1,\n      \"segment\": \"moe layer\",\n",
        "\"op\": \"dispatch\",\n      \"phase\": \"forward\"\n    },\n",
        "\"stages\": [\n      {\n        \"stage\": 1,\n        \"state_bytes\": 34359738368,",
        "\"wall\": {\n      \"buffer\": \"received_x\",\n      \"bytes\": 68719476736,\n",
        "\"largest\": {\n      \"buffer\": \"received_x\",\n",
        "\"fixes\": [\n      {\n        \"set\": \"workload.micro_batch=4\",\n",
        "\"kind\": \"throughput\",\n        \"total_bytes\": 68719476736,\n",
        "\"tokens_per_s_per_device\": 1000,\n        \"drop_fraction\": 0,\n        \"note\": ",
        "\"kind\": \"numerics\",\n",
        "\"drop_fraction\": 0.25,\n",
        "\"model\": {\n    \"parameters\": 12000000000,\n",
    };
    predict_print_json(&scene->view);
    char *text = sink_close(&scene->sink);
    const char *at = text;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *found = strstr(at, expected[i]);
        if (!found)
            print_error("missing, or out of order: %s\n", expected[i]);
        assert_non_null(found);
        at = found;
    }
    free(text);
}

static void a_narrow_terminal_gets_the_verdict_on_two_lines(void **state)
{
    struct scene *scene = *state;
    scene->term.width = 80;
    predict_print_text(&scene->view);
    char *text = sink_close(&scene->sink);
    const char *first = "oom: 96.00 GiB = state 32.00 + temp 64.00;\n"
                        "  limit 72.00, margin -24.00 (p99, modelled)\n"
                        "OOM probability < 0.015 per step; expected 80.00, p99 96.00, worst "
                        "160.00 GiB\n";
    assert_int_equal(strncmp(text, first, strlen(first)), 0);
    free(text);
}

static void json_leaves_out_what_does_not_apply(void **state)
{
    struct scene *scene = *state;
    scene->prediction.memory.verdict = VERDICT_FITS;
    scene->prediction.memory.has_distribution = false;
    scene->prediction.memory.wall = NULL;
    scene->prediction.memory.n_fixes = 0;
    predict_print_json(&scene->view);
    char *text = sink_close(&scene->sink);
    static const char *const absent[] = {"oom_samples", "oom_probability", "\"schedule\": \"\"",
                                         "\"wall\"",    "\"fixes\"",       "null",
                                         "nan"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(strstr(text, absent[i]));
    free(text);
}

static void csv_has_a_row_per_buffer(void **state)
{
    struct scene *scene = *state;
    predict_print_csv(&scene->view);
    sink_expect(
        &scene->sink,
        "name,category,segment,shape,dtype,bytes,expected_bytes,worst_bytes,rule,copies,"
        "at_peak,formula,source\n"
        "weights,weights,step,17179869184,bf16,34359738368,34359738368,34359738368,"
        "fixed,1,true,P*2 = 17179869184*2,\n"
        "received_x,dispatch,moe layer,8388608x4096,bf16,68719476736,51539607552,"
        "137438953472,routing,1,true,M*H*2 = 8388608*4096*2,made up\n"
        "logits,logits,head,,f32,1073741824,1073741824,1073741824,fixed,2,false,,\n");
}

static void buffers_are_grouped_by_the_peak(void **state)
{
    struct scene *scene = *state;
    predict_print_buffers(&scene->view);
    char *text = sink_close(&scene->sink);
    const char *at_peak = strstr(text, "buffers alive at the peak");
    const char *others = strstr(text, "buffers not alive at the peak");
    assert_true(at_peak && others && at_peak < others);
    assert_true(strstr(at_peak, "received_x") < others);
    assert_true(strstr(at_peak, "M*H*2 = 8388608*4096*2") < others);
    assert_true(strstr(text, "logits") > others);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_says_verdict_wall_and_fixes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_names_the_largest_buffers_when_it_fits, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_names_what_cannot_be_addressed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_says_what_is_wrong_beside_the_sum, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_shows_the_largest_beside_a_small_wall, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_leaves_long_formulas_to_the_table, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_colours_only_where_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_has_the_keys_of_the_contract, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_narrow_terminal_gets_the_verdict_on_two_lines, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_layout_says_what_tp_ranks_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_leaves_out_what_does_not_apply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(csv_has_a_row_per_buffer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(buffers_are_grouped_by_the_peak, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
