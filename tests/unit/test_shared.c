/* sim/moe/shared: the example of seed-systems.md B5, and what the choice turns on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/moe/shared.h"

/* Llama 4 Maverick: H 5120, I 8192, 24 MoE layers, on cores of 24 GiB. */
static struct shared_ask maverick(uint64_t tp, uint64_t tokens)
{
    return (struct shared_ask){.tokens = tokens,
                               .tp = tp,
                               .hidden = 5120,
                               .inter = 8192,
                               .glu = true,
                               .weights = DTYPE_BF16,
                               .activations = DTYPE_BF16,
                               .layers = 24,
                               .free_bytes = (uint64_t)24 << 30,
                               .flop_per_s = 166.75e12,
                               .bytes_per_s = 725e9,
                               .link_bytes_per_s = 160e9};
}

static void published_bytes(void **state)
{
    (void)state;
    struct shared_ask ask = maverick(64, 8192);
    struct shared s;
    shared_of(&ask, &s);
    assert_int_equal(s.sp.weight_bytes, 251658240);
    assert_int_equal(s.sp.all_weight_bytes, 6039797760);
    assert_int_equal(s.tp.all_weight_bytes, 94371840);
    assert_true(fabs(s.sp.flop / s.tp.flop - 1) < 1e-15);
    assert_true(fabs(s.sp.flop_per_byte - 8192.0 / 64) < 1e-9); /* T / tp */
    assert_true(fabs(s.tp.flop_per_byte - 8192.0) < 1e-9);      /* T */
    assert_int_equal(s.sp.sent_bytes, 0);
    assert_int_equal(s.tp.sent_bytes, 2 * 8192ull * 5120 * 2 * 63 / 64);
}

static enum shared_mode choice_of(const struct shared_ask *ask, const char *why)
{
    struct shared s;
    shared_of(ask, &s);
    if (!strstr(s.why, why))
        fail_msg("\"%s\" does not say \"%s\"", s.why, why);
    return s.choice;
}

static void what_decides(void **state)
{
    (void)state;
    struct shared_ask ask = maverick(8, 65536);
    assert_int_equal(choice_of(&ask, "costs less"), SHARED_SP);
    ask.gathered = true; /* nothing saved; a long prompt is compute-bound either way */
    assert_int_equal(choice_of(&ask, "costs less"), SHARED_SP);
    ask.tokens = 512; /* 64 tokens a core read all the weights */
    assert_int_equal(choice_of(&ask, "costs more"), SHARED_TP);
    ask.tokens = 65536;
    ask.free_bytes = 6039797759;
    assert_int_equal(choice_of(&ask, "do not fit"), SHARED_TP);
    ask.free_bytes++;
    assert_int_equal(choice_of(&ask, "fit"), SHARED_SP);
    ask.decode = true;
    assert_int_equal(choice_of(&ask, "slice"), SHARED_TP);
    ask.tp = 1;
    assert_int_equal(choice_of(&ask, "one rank"), SHARED_SP);
}

/* In decode, replicated weights cost memory, not reads. */
static void decode_reads_slices(void **state)
{
    (void)state;
    struct shared_ask ask = maverick(64, 32);
    struct shared s;
    ask.decode = true;
    shared_of(&ask, &s);
    assert_int_equal(s.sp.read_bytes, s.tp.read_bytes);
    assert_int_equal(s.sp.weight_bytes, 64 * s.tp.weight_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_bytes),
        cmocka_unit_test(what_decides),
        cmocka_unit_test(decode_reads_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
