/* work/list/size: evaluation against hand arithmetic, sharing of equal nodes, overflow,
 * formulas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "work/list/dtype.h"
#include "work/list/letters.h"
#include "work/list/size.h"

struct bench {
    struct arena arena;
    struct sizes sizes;
    struct slots slots;
};

static int setup(void **state)
{
    static struct bench bench;
    bench = (struct bench){0};
    sizes_init(&bench.sizes, &bench.arena);
    bench.slots.value[SLOT_EP] = 8;
    bench.slots.value[SLOT_TOKENS] = 32768;
    bench.slots.value[SLOT_TOP_K] = 8;
    bench.slots.value[SLOT_LOCAL_EXPERTS] = 32;
    bench.slots.value[SLOT_HIDDEN] = 7168;
    bench.slots.real[REAL_CAPACITY_FACTOR] = 1.25;
    *state = &bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    arena_release(&bench->arena);
    return 0;
}

static uint64_t eval(struct bench *b, struct size size, bool *fine)
{
    uint64_t values[256];
    *fine = sizes_eval(&b->sizes, &b->slots, values);
    return values[size.node];
}

static struct size receive_buffer(struct sizes *z)
{
    struct size copies =
        size_min(z, size_slot(z, SLOT_TOP_K), size_slot(z, SLOT_LOCAL_EXPERTS));
    struct size factors[] = {size_slot(z, SLOT_EP), size_slot(z, SLOT_TOKENS), copies,
                             size_slot(z, SLOT_HIDDEN), size_const(z, 2)};
    return size_product(z, 5, factors);
}

static void evaluates_a_buffer(void **state)
{
    struct bench *b = *state;
    bool fine;
    assert_int_equal(eval(b, receive_buffer(&b->sizes), &fine),
                     UINT64_C(8) * 32768 * 8 * 7168 * 2);
    assert_true(fine);
}

static void prints_symbols_and_numbers(void **state)
{
    struct bench *b = *state;
    struct size size = receive_buffer(&b->sizes);
    struct text text = {.arena = &b->arena};
    size_formula(&b->sizes, size, &text);
    text_append(&text, " = ");
    size_numbers(&b->sizes, size, &b->slots, &text);
    assert_string_equal(text_string(&text), "R*T*min(K, e)*H*2 = 8*32768*min(8, 32)*7168*2");
}

static void equal_expressions_are_one_node(void **state)
{
    struct bench *b = *state;
    uint32_t before, first = receive_buffer(&b->sizes).node;
    before = b->sizes.n;
    assert_int_equal(receive_buffer(&b->sizes).node, first);
    assert_int_equal(b->sizes.n, before);
}

static void roundings_by_name(void **state)
{
    struct bench *b = *state;
    struct sizes *z = &b->sizes;
    struct size seven = size_const(z, 7), t = size_slot(z, SLOT_TOKENS);
    bool fine;
    assert_int_equal(eval(b, size_div(z, t, seven), &fine), 4681);
    assert_int_equal(eval(b, size_ceil_div(z, t, seven), &fine), 4682);
    assert_int_equal(eval(b, size_round_up(z, t, seven), &fine), 4682 * 7);
    assert_int_equal(eval(b, size_sub(z, seven, t), &fine), 0);
    assert_int_equal(eval(b, size_scale(z, seven, REAL_CAPACITY_FACTOR), &fine), 8);
    assert_true(fine);
}

static void overflow_is_noticed(void **state)
{
    struct bench *b = *state;
    struct size huge = size_slot(&b->sizes, SLOT_HIDDEN);
    bool fine;
    b->slots.value[SLOT_HIDDEN] = UINT64_C(1) << 40;
    eval(b, size_mul(&b->sizes, huge, huge), &fine);
    assert_false(fine);
}

static void sums_are_bracketed_in_products(void **state)
{
    struct bench *b = *state;
    struct sizes *z = &b->sizes;
    struct size sum = size_add(z, size_slot(z, SLOT_EP), size_const(z, 1));
    struct text text = {.arena = &b->arena};
    size_formula(z, size_mul(z, sum, size_slot(z, SLOT_TOKENS)), &text);
    assert_string_equal(text_string(&text), "(R + 1)*T");

    struct size product = size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP));
    struct text quotient = {.arena = z->arena};
    size_formula(z, size_ceil_div(z, size_mul(z, sum, product), product), &quotient);
    assert_string_equal(text_string(&quotient), "ceil((R + 1)*dp*cp/(dp*cp))");

    struct text difference = {.arena = z->arena};
    size_formula(z, size_sub(z, product, sum), &difference);
    assert_string_equal(text_string(&difference), "max(0, dp*cp - (R + 1))");
}

/* A matrix with its scales takes the same bytes as a size and as a number. */
static void matrices_have_their_scales(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DTYPE_COUNT; i++) {
        struct arena arena = {0};
        struct sizes z;
        struct slots slots;
        enum dtype dtype = (enum dtype)i;
        sizes_init(&z, &arena);
        struct size rows = size_slot(&z, SLOT_HIDDEN), columns = size_slot(&z, SLOT_INTER);
        struct size bytes = size_matrix_bytes(&z, dtype, rows, columns);
        memset(&slots, 0, sizeof slots);
        slots.value[SLOT_HIDDEN] = 7168 + 33;
        slots.value[SLOT_INTER] = 2048 + 5;
        uint64_t *values = arena_alloc(&arena, z.n, sizeof *values);
        assert_true(sizes_eval(&z, &slots, values));
        assert_int_equal(values[bytes.node], dtype_matrix_bytes(dtype, 7168 + 33, 2048 + 5));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(evaluates_a_buffer, setup, teardown),
        cmocka_unit_test_setup_teardown(prints_symbols_and_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_expressions_are_one_node, setup, teardown),
        cmocka_unit_test_setup_teardown(roundings_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(overflow_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_are_bracketed_in_products, setup, teardown),
        cmocka_unit_test(matrices_have_their_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
