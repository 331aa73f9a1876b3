/* calib/validate/torch_trace and base/json_read: what is placed where, what is refused where.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calib/validate/torch_trace.h"

static enum status read_text(const char *text, struct arena *arena, struct torch_trace *out,
                             struct err *err)
{
    static const char table[] = "pattern,family\nnccl*sendrecv*,all_to_all\n*gemm*,gemm\n";
    struct csv patterns;
    assert_int_equal(csv_parse("k.csv", table, strlen(table), arena, &patterns, err),
                     STATUS_OK);
    return torch_trace_read("t.json", text, strlen(text), &patterns, 0, arena, out, err);
}

static void kernels_are_placed(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"ts\":0,"
        "\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#4\",\"ts\":9,"
        "\"dur\":9},"
        "{\"cat\":\"cpu_op\",\"name\":\"aten::gemm\",\"ts\":0,\"dur\":1000},"
        "{\"cat\":\"kernel\",\"name\":\"BF16_GEMM_x\",\"ts\":10,\"dur\":6,\"args\":{\"g\":[1,{}"
        "]}},"
        "{\"cat\":\"kernel\",\"name\":\"ncclDevKernel_SendRecv\",\"ts\":12,\"dur\":4.5},"
        "{\"cat\":\"kernel\",\"name\":\"odd \\\"one\\u0041\",\"ts\":20,\"dur\":2}\n]}";
    struct arena arena = {0};
    struct err err = {0};
    struct torch_trace trace;
    assert_int_equal(read_text(text, &arena, &trace, &err), STATUS_OK);
    assert_int_equal(trace.steps, 2);
    assert_int_equal(trace.kernels, 3);
    assert_true(fabs(trace.families[PROFILE_GEMM].measured_s - 3e-6) < 1e-15);
    assert_true(fabs(trace.families[PROFILE_ALL_TO_ALL].measured_s - 2.25e-6) < 1e-15);
    assert_true(fabs(trace.not_placed_s - 1e-6) < 1e-15);
    assert_true(fabs(trace.step_s - 6e-6) < 1e-15); /* 10 to 22 */
    assert_int_equal(trace.n_longest, 1);
    arena_release(&arena);
}

static void bad_traces_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said, *where;
    } cases[] = {
        {"{\"traceEvents\": [", "the file ends", "t.json:1:18"},
        {"[{\"ts\": \"x\"}]", "numbers", "t.json:1:12"},
        {"[\n  1,,2]", "no value", "t.json:2:5"},
        {"[{\"cat\":\"kernel\",\"name\":\"a\\q\"}]", "escape", "t.json:1:28"},
        {"[1] 2", "after the end", "t.json:1:5"},
        {"{\"a\" 1}", "colon", "t.json:1:6"},
        {"{a: 1}", "double quotes", "t.json:1:2"},
        {"[1 2]", "comma", "t.json:1:4"},
        {"7", "an object or a list", "t.json:1:2"},
        {"{\"traceEvents\": 7}", "is a list", "t.json:1:18"},
        {"[]", "no kernels", "t.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct torch_trace trace = {.steps = 77};
        assert_int_equal(read_text(cases[i].text, &arena, &trace, &err), STATUS_INPUT);
        if (!strstr(err.text, cases[i].said) || strcmp(err.where, cases[i].where) != 0)
            fail_msg("case %d: %s: %s", (int)i, err.where, err.text);
        assert_int_equal(trace.steps, 77);
        arena_release(&arena);
    }
}

/* A table of names of the user's own may misspell a family: its kernels would be lost. */
static void families_are_checked(void **state)
{
    (void)state;
    static const char table[] = "pattern,family\n*gemm*,gemm\nnccl*,alltoall\n";
    struct arena arena = {0};
    struct err err = {0};
    struct csv patterns;
    struct torch_trace trace;
    assert_int_equal(csv_parse("k.csv", table, strlen(table), &arena, &patterns, &err),
                     STATUS_OK);
    assert_int_equal(torch_trace_read("t.json", "[]", 2, &patterns, 0, &arena, &trace, &err),
                     STATUS_INPUT);
    assert_string_equal(err.where, "k.csv:3:1");
    assert_non_null(strstr(err.text, "alltoall"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_placed),
                                       cmocka_unit_test(families_are_checked),
                                       cmocka_unit_test(bad_traces_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
