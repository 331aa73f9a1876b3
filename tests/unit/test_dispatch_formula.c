/* Sizes of every dispatcher against tests/data/dispatch_sizes.csv: bytes and rows to the unit,
 * printed figures to their digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/csv.h"
#include "sim/memory/memory.h"
#include "work/dispatch/dispatch_deepep.h"
#include "support/dispatch_formula.h"
#include "support/plans.h"
#include "work/rows/rows.h"
#include "work/dispatch/dispatch.h"
#include "work/stack/stack.h"

static const struct {
    const char *column;
    enum slot slot;
} letters_of[] = {
    {"T", SLOT_TOKENS}, {"K", SLOT_TOP_K},    {"E", SLOT_EXPERTS},      {"R", SLOT_EP},
    {"H", SLOT_HIDDEN}, {"I", SLOT_INTER},    {"sms", SLOT_SMS},        {"n_node", SLOT_NODE},
    {"B", SLOT_BLOCK},  {"S", SLOT_SEQUENCE}, {"mb", SLOT_MICRO_BATCH}, {"n", SLOT_RECEIVED},
};

static uint64_t count(const struct csv *csv, size_t row, const char *column)
{
    return strtoull(csv_cell(csv, row, column), NULL, 10);
}

static void fill(const struct csv *csv, size_t row, struct slots *slots)
{
    memset(slots, 0, sizeof *slots);
    for (size_t i = 0; i < sizeof letters_of / sizeof *letters_of; i++)
        slots->value[letters_of[i].slot] = count(csv, row, letters_of[i].column);
    slots->real[REAL_CAPACITY_FACTOR] = strtod(csv_cell(csv, row, "cf"), NULL);
    if (slots->value[SLOT_EP])
        slots->value[SLOT_LOCAL_EXPERTS] =
            ceil_div(slots->value[SLOT_EXPERTS], slots->value[SLOT_EP]);
}

static uint64_t evaluate(const struct dispatch_formula *formula, const struct slots *slots)
{
    struct arena arena = {0};
    struct sizes sizes;
    sizes_init(&sizes, &arena);
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    plan->parallel.ep = slots->value[SLOT_EP];
    struct letters x = letters_over(&sizes, plan);
    struct size size = dispatch_formula_size(formula, &x);
    uint64_t *values = arena_alloc(&arena, sizes.n, sizeof *values);
    bool exact = sizes_eval(&sizes, slots, values);
    uint64_t value = values[size.node];
    arena_release(&arena);
    assert_true(exact);
    return value;
}

/* The value in the unit, with as many decimals as the source printed. */
static void as_printed(char text[64], uint64_t value, const char *unit, const char *printed)
{
    double scale = !strcmp(unit, "GiB") ? 1073741824.0 : !strcmp(unit, "MiB") ? 1048576.0 : 1.0;
    const char *point = strchr(printed, '.');
    int decimals = point ? (int)strlen(point + 1) : 0;
    snprintf(text, 64, "%.*f", decimals, (double)value / scale);
}

/* Expected figures of de-duplicated dispatch under uniform routing: tokens times the groups
 * they touch, times bytes; in GiB when bytes are asked for. nodes: RDMA once per distinct
 * remote node of eight; limited: experts within four of eight nodes. */
static const struct expected {
    const char *name;
    uint64_t row; /* bytes of one; 0: rows are counted */
    bool remote, nodes, limited;
} expectations[] = {
    /* between nodes: hidden, 8 bytes of source, scales, 8 a choice, up to 16 */
    {"expected_received", 0, false, false, false},
    {"expected_recv_x_bf16", 7168 * 2, false, false, false},
    {"expected_sent_bf16", 7168 * 2, true, false, false},
    {"expected_sent_fp8", 7168 + 56 * 4, true, false, false},
    {"expected_rdma_bf16", 14416, true, true, false},
    {"expected_rdma_bf16_limited", 14416, true, true, true},
    {"expected_rdma_fp8", 7472, true, true, false},
    {"expected_rdma_fp8_limited", 7472, true, true, true},
};

/* How many of the groups a token's K distinct uniform experts touch (buffers.md 1.1). */
static double touched_groups(uint64_t experts, uint64_t top_k, uint64_t groups)
{
    return (double)groups * rows_touch_uniform(experts, top_k, experts / groups);
}

static double expected_value(const struct expected *e, const struct slots *slots)
{
    const uint64_t *v = slots->value;
    uint64_t experts = e->limited ? v[SLOT_EXPERTS] / 2 : v[SLOT_EXPERTS];
    uint64_t groups = e->nodes ? v[SLOT_EP] / 8 : v[SLOT_EP];
    double touched = touched_groups(experts, v[SLOT_TOP_K], e->limited ? groups / 2 : groups);
    double rows = (double)v[SLOT_TOKENS] * touched;
    if (e->remote)
        rows *= 1 - 1 / (double)groups;
    return e->row ? rows * (double)e->row / 1073741824.0 : rows;
}

/* Compares an expected row's printed figure; false when the row is none of those. */
static bool expected_row(const struct csv *csv, size_t row)
{
    const char *name = csv_cell(csv, row, "quantity");
    const char *printed = csv_cell(csv, row, "printed");
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        if (strcmp(expectations[i].name, name))
            continue;
        struct slots slots;
        fill(csv, row, &slots);
        char text[64];
        snprintf(text, sizeof text, "%.*f", (int)strlen(strchr(printed, '.') + 1),
                 expected_value(&expectations[i], &slots));
        assert_string_equal(text, printed);
        return true;
    }
    return false;
}

/* Figures that are buffers of a layer: what a path holds in inference or training. */
static const struct listed {
    const char *name;
    enum moe_path path;
    enum expert_kernel kernel;
    enum buffer_sizing sizing;
    enum dtype dispatch;
    const char *buffers[2];
    uint64_t element_bytes; /* the figure counts elements of this; 0: bytes */
    bool alone;             /* on one rank */
} listed[] = {
#define HELD(name, path, kernel, sizing, dispatch, ...)                                        \
    {                                                                                          \
        name, PATH_##path, EXPERT_KERNEL_##kernel, SIZING_##sizing, DTYPE_##dispatch,          \
            __VA_ARGS__                                                                        \
    }
    HELD("low_latency_rows", DEEPEP_LL, PLAIN, WORST, BF16, {"packed_src_info"}, 4, false),
    HELD("low_latency_packed_bf16", DEEPEP_LL, PLAIN, WORST, BF16, {"packed_recv_x"}, 0, false),
    HELD("low_latency_packed_fp8", DEEPEP_LL, PLAIN, WORST, FP8, {"packed_recv_x"}, 0, false),
    HELD("low_latency_scales", DEEPEP_LL, PLAIN, WORST, FP8, {"packed_recv_scales"}, 0, false),
    HELD("masked_workspace13", DEEPEP_LL, MASKED, WORST, BF16, {"workspace13"}, 0, false),
    HELD("masked_workspace2", DEEPEP_LL, MASKED, WORST, BF16, {"workspace2"}, 0, false),
    HELD("masked_output", DEEPEP_LL, MASKED, WORST, BF16, {"fused_out"}, 0, false),
    HELD("ragged_dot_worst_hidden", RAGGED_DOT, PLAIN, WORST, BF16, {"expanded_x"}, 0, false),
    HELD("ragged_dot_worst_inter", RAGGED_DOT, PLAIN, WORST, BF16, {"expanded_activated"}, 0,
         false),
    HELD("ragged_dot_even_hidden", RAGGED_DOT, PLAIN, BALANCED, BF16, {"expanded_x"}, 0, false),
    HELD("ragged_dot_even_inter", RAGGED_DOT, PLAIN, BALANCED, BF16, {"expanded_activated"}, 0,
         false),
    HELD("triton_cache13", RAGGED_A2A, TRITON, WORST, BF16, {"intermediate_cache13"}, 0, true),
    HELD("triton_cache2", RAGGED_A2A, TRITON, WORST, BF16, {"intermediate_cache2"}, 0, true),
    HELD("deepgemm_workspaces_even", DEEPEP, DEEPGEMM, BALANCED, BF16,
         {"workspace13", "workspace2"}, 0, false),
    HELD("deepgemm_workspaces_worst", DEEPEP, DEEPGEMM, WORST, BF16,
         {"workspace13", "workspace2"}, 0, false),
    HELD("neuron_saved", BLOCKWISE, PLAIN, WORST, BF16, {"expert_gate_up", "expert_out"}, 0,
         false),
    HELD("primus_row_map", DEEPEP, PLAIN, WORST, BF16, {"row_id_map"}, 0, false),
#undef HELD
};

static uint64_t listed_value(const struct listed *l, const struct slots *slots)
{
    struct arena arena = {0};
    struct err err = {0};
    struct work work;
    struct plan plan = plan_small(l->alone ? 1 : slots->value[SLOT_EP]);
    plan.precision.dispatch = l->dispatch;
    struct dispatch_style style = dispatch_style_of(&plan);
    style.kernel = l->kernel;
    style.sizing = l->sizing;
    style.low_latency_tokens = 1;
    style.expert_chunk = 16384; /* of the release the figures are of */
    work_init(&work, &arena);
    struct buffer x = {.name = "x",
                       .segment = SEGMENT_MOE,
                       .dtype = DTYPE_BF16,
                       .n_dims = 1,
                       .dims = {size_slot(&work.sizes, SLOT_TOKENS)},
                       .last = WORK_NONE};
    uint16_t output, input = work_buffer(&work, x);
    if (dispatch_layer(&plan, &work, l->path, &style, input, &output, &err) != STATUS_OK)
        fail_msg("%s: %s", l->name, err.text);
    work_index(&work);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values), bytes = 0;
    assert_true(sizes_eval(&work.sizes, slots, values));
    for (unsigned i = 0; i < 2 && l->buffers[i]; i++)
        bytes += memory_buffer_bytes(&work, values, plan_buffer(&work, l->buffers[i]));
    arena_release(&arena);
    return l->element_bytes ? bytes / l->element_bytes : bytes;
}

static const struct listed *listed_find(const char *name)
{
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (!strcmp(listed[i].name, name))
            return &listed[i];
    return NULL;
}

/* Compares one row; true when it has a printed figure. */
static bool check_row(const struct csv *csv, size_t row)
{
    const char *name = csv_cell(csv, row, "quantity");
    const char *printed = csv_cell(csv, row, "printed");
    if (expected_row(csv, row))
        return true;
    const struct dispatch_formula *formula = dispatch_formula_find(name);
    const struct listed *buffer = listed_find(name);
    if (!formula == !buffer)
        fail_msg("line %u: '%s' is no formula or buffer, or both", csv->lines[row], name);
    struct slots slots;
    fill(csv, row, &slots);
    uint64_t value = formula ? evaluate(formula, &slots) : listed_value(buffer, &slots);
    char text[64];
    as_printed(text, value, csv_cell(csv, row, "unit"), printed);
    if (value != count(csv, row, "value") || (*printed && strcmp(text, printed)))
        fail_msg("line %u: %s is %llu, expected %s, printed %s", csv->lines[row], name,
                 (unsigned long long)value, csv_cell(csv, row, "value"), printed);
    return *printed != '\0';
}

static void sizes_match_the_fixture(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_read("tests/data/dispatch_sizes.csv", &arena, &csv, &err), STATUS_OK);
    size_t printed = 0;
    for (size_t row = 0; row < csv.n_rows; row++)
        printed += check_row(&csv, row);
    assert_true(csv.n_rows >= 335 && printed >= 250);
    arena_release(&arena);
}

static void every_formula_is_in_the_fixture(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_read("tests/data/dispatch_sizes.csv", &arena, &csv, &err), STATUS_OK);
    size_t n;
    const struct dispatch_formula *formulas = dispatch_formulas(&n);
    for (size_t i = 0; i < n; i++) {
        size_t rows = 0;
        for (size_t row = 0; row < csv.n_rows; row++)
            rows += !strcmp(csv_cell(&csv, row, "quantity"), formulas[i].name);
        if (!rows)
            fail_msg("%s is nowhere in the fixture", formulas[i].name);
        assert_ptr_equal(dispatch_formula_find(formulas[i].name), &formulas[i]);
        assert_true((formulas[i].plain != NULL) != (formulas[i].chosen != NULL));
    }
    assert_null(dispatch_formula_find("low_latencies"));
    arena_release(&arena);
}

/* buffers.md 1.1, and node-limited routing as a choice among 128 experts of four nodes. */
static void expected_groups_match(void **state)
{
    (void)state;
    static const struct {
        uint64_t groups;
        const char *printed;
    } cases[] = {{2, "1.993020"},  {4, "3.614214"},  {8, "5.294652"},   {16, "6.523280"},
                 {32, "7.266800"}, {64, "7.675750"}, {128, "7.890196"}, {256, "8.000000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.6f", touched_groups(256, 8, cases[i].groups));
        assert_string_equal(text, cases[i].printed);
    }
    char text[32];
    snprintf(text, sizeof text, "%.6f", touched_groups(128, 8, 4));
    assert_string_equal(text, "3.629011");
    snprintf(text, sizeof text, "%.6f", touched_groups(128, 8, 32));
    assert_string_equal(text, "7.359370");
}

/* DeepGEMM's reserve over balanced rows (buffers.md 13), and public reports of waste: about
 * 20 % of 8192 tokens over 8 ranks of DeepSeek (DeepGEMM 98), 94 % of a decode batch of 256
 * over 256 experts (vLLM 39331). */
static void padding_matches_reports(void **state)
{
    (void)state;
    static const struct {
        uint64_t tokens, local;
        const char *printed;
    } cases[] = {
        {4096, 32, "12.50"}, {4096, 4, "1.56"}, {32768, 32, "1.56"}, {32768, 4, "0.20"}};
    const struct dispatch_formula *rows = dispatch_formula_find("deepgemm_rows");
    struct slots slots = {.value[SLOT_TOP_K] = 8};
    char text[32];
    for (unsigned i = 0; i < 4; i++) {
        slots.value[SLOT_TOKENS] = cases[i].tokens;
        slots.value[SLOT_LOCAL_EXPERTS] = cases[i].local;
        double useful = (double)(cases[i].tokens * 8);
        snprintf(text, sizeof text, "%.2f",
                 100 * ((double)evaluate(rows, &slots) / useful - 1));
        assert_string_equal(text, cases[i].printed);
    }
    slots.value[SLOT_TOKENS] = 256;
    slots.value[SLOT_LOCAL_EXPERTS] = 256;
    snprintf(text, sizeof text, "%.0f", 100 * (1 - 2048.0 / (double)evaluate(rows, &slots)));
    assert_string_equal(text, "94");
    /* 256 rows an expert on average: each ends in a block that is half full */
    double even = 8192.0 * 8 / 256, pad = 127.0 / 2;
    snprintf(text, sizeof text, "%.0f", 100 * pad / (even + pad));
    assert_string_equal(text, "20");
}

/* V1 asserts on other rank counts; the rows differ between the two ports. */
static void rank_tables_are_closed(void **state)
{
    (void)state;
    static const uint64_t absent[] = {1, 3, 12, 40, 56, 80, 192};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(deepep_config(DEEPEP_UPSTREAM, DEEPEP_DISPATCH, absent[i]));
    assert_non_null(deepep_config(DEEPEP_UPSTREAM, DEEPEP_COMBINE, 96));
    assert_null(deepep_config(DEEPEP_PRIMUS, DEEPEP_COMBINE, 96));
    assert_null(deepep_config(DEEPEP_PRIMUS, DEEPEP_DISPATCH, 48));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_match_the_fixture),
        cmocka_unit_test(every_formula_is_in_the_fixture),
        cmocka_unit_test(expected_groups_match),
        cmocka_unit_test(padding_matches_reports),
        cmocka_unit_test(rank_tables_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
