/* plan/data/trace: recorded counts, expert indices, placement tables, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/data/trace.h"

static enum status read_csv(const char *text, struct arena *arena, struct trace *trace,
                            struct err *err)
{
    *err = (struct err){0};
    return trace_read_csv("t.csv", text, strlen(text), arena, trace, err);
}

static void counts_in_all_shapes(void **state)
{
    (void)state;
    static const char *const texts[] = {"10,20,30\n",
                                        "10\n20\n30\n",
                                        "# made by hand\nexpert,tokens\n0,10\n2,30\n1,20\n",
                                        "tokens, expert\n30,2\n10,0\n20,1\n",
                                        "tokens\n10\n20\n30\n",
                                        "expert,tokens\n0,4\n1,20\n2,30\n0,6\n",
                                        "10.0, 20.0, 30.0",
                                        "\n10 20 30\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct err err;
        struct trace trace;
        if (read_csv(texts[i], &arena, &trace, &err) != STATUS_OK)
            fail_msg("%zu: %s %s", i, err.where, err.text);
        static const uint64_t want[3] = {10, 20, 30};
        assert_int_equal(trace.layers, 1);
        assert_int_equal(trace.experts, 3);
        assert_memory_equal(trace.counts, want, sizeof want);
        arena_release(&arena);
    }
}

static void layers(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err;
    struct trace trace;
    assert_int_equal(
        read_csv("layer,expert,tokens\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n", &arena, &trace, &err),
        STATUS_OK);
    static const uint64_t want[4] = {1, 2, 3, 4};
    assert_int_equal(trace.layers, 2);
    assert_memory_equal(trace.counts, want, sizeof want);
    assert_int_equal(read_csv("1,2\n3,4\n", &arena, &trace, &err), STATUS_OK);
    assert_int_equal(trace.layers, 2);
    assert_memory_equal(trace.counts, want, sizeof want);
    arena_release(&arena);
}

static void bad_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } cases[] = {
        {"", "t.csv:1:1", "no numbers in the file"},
        {"expert,tokens\n", "t.csv:1:1", "no numbers in the file"},
        {"1,2\n3\n", "t.csv:2:1", "row has 1 numbers, others have 2"},
        {"1,-2\n", "t.csv:1:3", "'-2' is not a whole number of at most 18 digits"},
        {"1,2.5\n", "t.csv:1:3", "'2.5' is not a whole number of at most 18 digits"},
        {"1\n9999999999999999999\n", "t.csv:2:1",
         "'9999999999999999999' is not a whole number of at most 18 digits"},
        {"expert,tok\n0,1\n1,2\n", "t.csv:1:1", "column 'tok' is not known"},
        {"tokens,rank\n1,0\n", "t.csv:1:1", "column 'rank' is not known"},
        {"e0,e1,e2,e3,e4\n1,2,3,4,5\n", "t.csv:1:1", "column 'e0' is not known"},
        {"# x\ntoken,expert\n0,1\n", "t.csv:2:1", "column 'token' is not known"},
        {"expert,expert\n0,1\n", "t.csv:1:1", "column 'expert' is named twice"},
        {"layer,tokens\n0,1\n", "t.csv:1:1", "column 'expert' is missing"},
        {"layer,expert\n0,1\n", "t.csv:1:1", "column 'tokens' is missing"},
        {"expert,tokens\n0,1,2\n", "t.csv:1:1", "the header names 2 columns, rows have 3"},
        {"999999999999999999,2\n", "t.csv", "more than the limit of 10^18 tokens"},
        {"expert,tokens\n70000,1\n", "t.csv:2:1",
         "layer 0 or expert 70000 is out of range (limits 1023 and 65535)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err;
        struct trace trace;
        assert_int_equal(read_csv(cases[i].text, &arena, &trace, &err), STATUS_INPUT);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].message);
        arena_release(&arena);
    }
}

/* A version 1 array of the given header and data. */
static size_t make_npy(unsigned char *out, const char *header, const void *data, size_t bytes)
{
    size_t length = strlen(header);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)length;
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, header, length);
    memcpy(out + 10 + length, data, bytes);
    return 10 + length + bytes;
}

static void npy_arrays(void **state)
{
    (void)state;
    static const int32_t ids[6] = {0, 1, 5, 2, 3, 0};
    static const int64_t wide[6] = {0, 1, 5, 2, 3, 0};
    static const char *const headers[2] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }\n",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }\n"};
    for (int i = 0; i < 2; i++) {
        unsigned char bytes[256];
        size_t length = i ? make_npy(bytes, headers[1], wide, sizeof wide)
                          : make_npy(bytes, headers[0], ids, sizeof ids);
        struct arena arena = {0};
        struct err err = {0};
        struct trace trace;
        if (trace_read_npy("t.npy", bytes, length, &arena, &trace, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(trace.tokens, 3);
        assert_int_equal(trace.top_k, 2);
        assert_int_equal(trace.experts, 6);
        assert_memory_equal(trace.ids, ids, sizeof ids);
        for (size_t cut = 0; cut < length; cut++) {
            err = (struct err){0};
            assert_int_equal(trace_read_npy("t.npy", bytes, cut, &arena, &trace, &err),
                             STATUS_INPUT);
        }
        arena_release(&arena);
    }
}

static void bad_npy(void **state)
{
    (void)state;
    static const int32_t ids[4] = {0, 1, 2, 2}, negative[4] = {0, 1, 2, -1};
    static const struct {
        const char *header, *message;
        const int32_t *ids;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n",
         "the array's numbers are not little-endian int32 or int64", ids},
        {"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }\n",
         "the array is in Fortran order", ids},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }\n",
         "the array is not of shape [tokens, top_k]", ids},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2, 2), }\n",
         "the array is not of shape [tokens, top_k]", ids},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (9999999999999, 2), }\n",
         "the array's data is shorter than its shape says", ids},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n",
         "token 1 has expert 2 twice", ids},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n",
         "expert -1 of token 1 is out of range (0 to 65535)", negative},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[256];
        size_t length = make_npy(bytes, cases[i].header, cases[i].ids, 4 * sizeof(int32_t));
        struct arena arena = {0};
        struct err err = {0};
        struct trace trace;
        assert_int_equal(trace_read_npy("t.npy", bytes, length, &arena, &trace, &err),
                         STATUS_INPUT);
        assert_string_equal(err.text, cases[i].message);
        arena_release(&arena);
    }
}

/* As wide as a trace may be: linear in its numbers, or this test takes minutes. */
static void wide_arrays_are_read_once(void **state)
{
    (void)state;
    enum { TOKENS = 200, WIDE = 60000 };
    struct arena arena = {0};
    struct err err = {0};
    struct trace trace;
    int32_t *ids = arena_alloc(&arena, (size_t)TOKENS * WIDE, sizeof *ids);
    unsigned char *bytes = arena_alloc(&arena, sizeof *ids * TOKENS * WIDE + 256, 1);
    for (int32_t i = 0; i < TOKENS * WIDE; i++)
        ids[i] = i % WIDE;
    size_t length =
        make_npy(bytes, "{'descr': '<i4', 'fortran_order': False, 'shape': (200, 60000), }\n",
                 ids, sizeof *ids * TOKENS * WIDE);
    assert_int_equal(trace_read_npy("t.npy", bytes, length, &arena, &trace, &err), STATUS_OK);
    assert_int_equal(trace.top_k, WIDE);
    int32_t *last = (int32_t *)(void *)(bytes + length) - 1;
    memcpy(last, &(int32_t){0}, sizeof *last);
    assert_int_equal(trace_read_npy("t.npy", bytes, length, &arena, &trace, &err),
                     STATUS_INPUT);
    assert_string_equal(err.text, "token 199 has expert 0 twice");
    arena_release(&arena);
}

static void broken_placements_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } cases[] = {
        {"expert,rank\n0,1\n0,2\n", "p.csv:3:1", "expert 0 has a rank already"},
        {"expert,rank\n0,1\n2,1\n", "p.csv", "expert 1 has no rank"},
        {"expert,tokens\n0,1\n", "p.csv:1:1", "column 'tokens' is not known"},
        {"1,0\n0,1\n", "p.csv:1:1", "a placement is one rank per expert, the file has 2 rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        const uint32_t *owner = NULL;
        uint64_t n = 77;
        assert_int_equal(placement_read_csv("p.csv", cases[i].text, strlen(cases[i].text),
                                            &arena, &owner, &n, &err),
                         STATUS_INPUT);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(n, 77);
        arena_release(&arena);
    }
}

static void placement_tables(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    const uint32_t *owner;
    uint64_t n;
    static const char table[] = "expert,rank\n0,1\n1,0\n2,1\n";
    static const uint32_t want[3] = {1, 0, 1};
    assert_int_equal(
        placement_read_csv("p.csv", table, sizeof table - 1, &arena, &owner, &n, &err),
        STATUS_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(owner, want, sizeof want);
    arena_release(&arena);
}

static void files_are_named(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct routing_data data;
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    plan->moe.routing.distribution = DISTRIBUTION_TRACE;
    assert_int_equal(routing_data_load(plan, &arena, &data, &err), STATUS_INPUT);
    assert_string_equal(err.text, "moe.routing.distribution 'trace' needs moe.routing.file");
    err = (struct err){0};
    snprintf(plan->moe.routing.file, PLAN_PATH, "no/such/trace.csv");
    assert_int_equal(routing_data_load(plan, &arena, &data, &err), STATUS_INPUT);
    assert_string_equal(err.where, "no/such/trace.csv");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_in_all_shapes),
        cmocka_unit_test(layers),
        cmocka_unit_test(bad_csv),
        cmocka_unit_test(npy_arrays),
        cmocka_unit_test(bad_npy),
        cmocka_unit_test(wide_arrays_are_read_once),
        cmocka_unit_test(broken_placements_say_where),
        cmocka_unit_test(placement_tables),
        cmocka_unit_test(files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
