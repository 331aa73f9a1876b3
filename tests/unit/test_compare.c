/* Comparisons: rows sum to totals exactly, in both directions, and rows are matched by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "plan/data/trace.h"
#include "sim/answer/compare.h"

struct side {
    struct plan plan;
    struct prediction prediction;
};

static struct side *side_of(const char *file, const char *key, const char *value,
                            struct arena *arena)
{
    struct side *side = arena_alloc(arena, 1, sizeof *side);
    struct err err = {0};
    struct origins origins = {0};
    struct routing_data data = {0};
    const struct override set = {key, value, "--set"};
    const struct ops_ask ops = {.data = &data};
    const struct predict_options options = {
        .routing = &data, .memory_only = true, .ops = &ops, .workers = 1};
    assert_int_equal(plan_load(file, &set, key != NULL, arena, &side->plan, &origins, &err),
                     STATUS_OK);
    assert_int_equal(predict(&side->plan, &options, arena, &side->prediction, &err), STATUS_OK);
    return side;
}

static void assert_count(const struct compare_count *sum, const struct compare_count *total)
{
    assert_int_equal(sum->a, total->a);
    assert_int_equal(sum->b, total->b);
    assert_int_equal(sum->difference, total->difference);
}

static void assert_sums(const struct compare_rows *rows)
{
    struct compare_row sum = {0};
    for (size_t i = 0; i < rows->n; i++) {
        compare_add(&sum, &rows->rows[i]);
        assert_true(rows->rows[i].bytes.difference ==
                    (int64_t)(rows->rows[i].bytes.b - rows->rows[i].bytes.a));
    }
    assert_count(&sum.bytes, &rows->total.bytes);
    assert_count(&sum.flop, &rows->total.flop);
    assert_count(&sum.sent, &rows->total.sent);
    assert_true(sum.seconds.difference == rows->total.seconds.difference);
}

static const struct {
    const char *a, *b, *key, *value;
} pairs[] = {
    {"examples/seed000-primus-turbo.yaml", "examples/vllm-deepseek-v3-h200.yaml", NULL, NULL},
    {"examples/megatron-qwen3-30b-h100.yaml", "examples/megatron-qwen3-30b-h100.yaml",
     "moe.path", "capacity"},
    {"examples/torchtitan-deepseek-16b-b200.yaml", "examples/maxtext-mixtral-8x7b-v5p.yaml",
     NULL, NULL},
    {"examples/host-small.yaml", "examples/seed003-tpu-v5e.yaml", NULL, NULL},
    {"examples/seed002-neuron-decode.yaml", "examples/seed002-neuron-prefill.yaml", NULL, NULL},
};

static void rows_sum_to_totals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct comparison out;
        const struct side *a = side_of(pairs[i].a, NULL, NULL, &arena);
        const struct side *b = side_of(pairs[i].b, pairs[i].key, pairs[i].value, &arena);
        print_message("%s, %s\n", pairs[i].a, pairs[i].b);
        assert_int_equal(compare(&(struct compare_side){&a->plan, &a->prediction},
                                 &(struct compare_side){&b->plan, &b->prediction}, &arena, &out,
                                 &err),
                         STATUS_OK);
        assert_true(out.has_ops && out.n_keys > 0);
        assert_int_equal(out.buffers.total.bytes.a, a->prediction.memory.total_bytes);
        assert_int_equal(out.buffers.total.bytes.b, b->prediction.memory.total_bytes);
        assert_sums(&out.categories);
        assert_sums(&out.buffers);
        assert_sums(&out.ops);
        for (size_t j = 1; j < out.buffers.n; j++)
            assert_true(llabs(out.buffers.rows[j - 1].bytes.difference) >=
                        llabs(out.buffers.rows[j].bytes.difference));
        arena_release(&arena);
    }
}

/* A plan beside itself: no key, no difference, and FLOPs that are those of its list. */
static void a_plan_is_as_itself(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct comparison out;
    const struct side *a = side_of("examples/seed000-primus-turbo.yaml", NULL, NULL, &arena);
    const struct compare_side side = {&a->plan, &a->prediction};
    assert_int_equal(compare(&side, &side, &arena, &out, &err), STATUS_OK);
    assert_int_equal(out.n_keys, 0);
    for (size_t i = 0; i < out.ops.n; i++)
        assert_true(compare_same(&out.ops.rows[i]));
    uint64_t flop = 0;
    for (size_t i = 0; i < a->prediction.ops.n; i++)
        flop += a->prediction.ops.ops[i].flop * a->prediction.ops.ops[i].layers;
    assert_true(flop > 0);
    assert_int_equal(out.ops.total.flop.a, flop);
    assert_int_equal(out.ops.total.flop.difference, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_sum_to_totals),
        cmocka_unit_test(a_plan_is_as_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
