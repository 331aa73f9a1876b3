/* Quantisation-aware training (precision.fake_weights, precision.fake_inputs): what linear
 * layers keep of the rounding of their weights and inputs, by hand. Qwen3-8B: 4096 wide, 32
 * heads of 128 and 8 of keys and values, networks of 12288. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/plans.h"

static const char base[] = "model: qwen3-8b\ncluster: h200-8x1\n"
                           "parallel: {zero: 3}\n"
                           "workload: {sequence_length: 4096, micro_batch: 1}\n"
                           "stack: {base: fsdp, cross_entropy: torch}\n";

/* Bytes of the copies of one layer, or of the head, whose names begin so. */
static uint64_t kept(const char *set, enum segment segment, const char *begins, enum life life)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if (buffer->segment == segment && buffer->life == life &&
            text_starts(buffer->name, begins))
            sum += b.values[buffer->all.node];
    }
    arena_release(&b.arena);
    return sum;
}

/* q, k and v, o, gate and up, down; each projection has an input of its own. */
#define WEIGHTS_IN "precision.fake_weights="
#define INPUTS_IN "precision.fake_inputs="
#define WEIGHTS (UINT64_C(4096) * (6144 + 4096 + 2 * 12288 + 12288))
#define INPUTS (UINT64_C(4096) * (4096 * (3 + 1 + 2) + 12288))
#define HEAD (UINT64_C(151936) * 4096)

static void copies_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t weight_f32, weight_half, input_f32, input_half;
    } rows[] = {{WEIGHTS_IN "int", 1, 1, 0, 0},
                {WEIGHTS_IN "int " INPUTS_IN "int8", 1, 1, 1, 1},
                {WEIGHTS_IN "int_16 " INPUTS_IN "int8_16", 0, 2, 0, 2},
                {WEIGHTS_IN "int4 " INPUTS_IN "int8", 4, 1, 1, 1},
                {WEIGHTS_IN "fp8 " INPUTS_IN "fp8", 3, 2, 3, 2},
                {WEIGHTS_IN "fp8_int4 " INPUTS_IN "fp8", 3, 6, 3, 2},
                {INPUTS_IN "fp8", 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *set = rows[i].set;
        print_message("%s\n", set);
        uint64_t input = kept(set, SEGMENT_DENSE, "input_rounding_f32_", LIFE_SAVED);
        uint64_t halves = kept(set, SEGMENT_DENSE, "rounded_", LIFE_SAVED);
        assert_int_equal(kept(set, SEGMENT_DENSE, "rounding_f32_", LIFE_SAVED),
                         4 * rows[i].weight_f32 * WEIGHTS);
        assert_int_equal(input, 4 * rows[i].input_f32 * INPUTS);
        assert_int_equal(halves,
                         2 * (rows[i].weight_half * WEIGHTS + rows[i].input_half * INPUTS));
        assert_int_equal(kept(set, SEGMENT_HEAD, "head_rounding_f32", LIFE_SAVED),
                         4 * rows[i].weight_f32 * HEAD);
        assert_int_equal(
            kept(set, SEGMENT_HEAD, "rounded_head", LIFE_SAVED),
            2 * (rows[i].weight_half * HEAD + rows[i].input_half * UINT64_C(4096) * 4096));
    }
    assert_int_equal(kept("", SEGMENT_DENSE, "rounded_", LIFE_SAVED), 0);
}

/* A product of rounded inputs keeps no others; fp8's magnitudes are of them as they are. */
static void inputs_are_read_rounded(void **state)
{
    (void)state;
    static const char name[] = "attention_norm_out";
    uint64_t plain = kept("", SEGMENT_DENSE, name, LIFE_SAVED);
    assert_int_equal(plain, 2 * UINT64_C(4096) * 4096);
    assert_int_equal(kept(WEIGHTS_IN "int4", SEGMENT_DENSE, name, LIFE_SAVED), plain);
    assert_int_equal(kept(WEIGHTS_IN "fp8 " INPUTS_IN "fp8", SEGMENT_DENSE, name, LIFE_SAVED),
                     plain);
    assert_int_equal(kept(WEIGHTS_IN "int4 " INPUTS_IN "int8", SEGMENT_DENSE, name, LIFE_SAVED),
                     0);
}

/* Beside adapters the base's rounded weights alone are kept, and of inputs what their gradient
 * passes; layers that run again keep nothing; fused losses read the head as it is. */
static void what_is_frozen_keeps_less(void **state)
{
    (void)state;
#define LORA WEIGHTS_IN "int " INPUTS_IN "int8 lora.rank=8 "
    assert_int_equal(kept(LORA, SEGMENT_DENSE, "rounding_f32_", LIFE_SAVED), 0);
    assert_int_equal(kept(LORA, SEGMENT_DENSE, "rounded_", LIFE_SAVED), 2 * WEIGHTS);
    assert_int_equal(kept(LORA, SEGMENT_DENSE, "input_rounding_f32_", LIFE_SAVED), 4 * INPUTS);
#define AGAIN WEIGHTS_IN "int " INPUTS_IN "int8 recompute=full "
    assert_int_equal(kept(AGAIN, SEGMENT_DENSE, "rounded_", LIFE_SAVED), 0);
    assert_int_equal(kept(AGAIN, SEGMENT_DENSE, "rounding_f32_", LIFE_TRANSIENT), 4 * WEIGHTS);
#define FUSED WEIGHTS_IN "int " INPUTS_IN "int8 stack.cross_entropy=fused "
    assert_int_equal(kept(FUSED, SEGMENT_HEAD, "rounded_head", LIFE_SAVED), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_hand),
        cmocka_unit_test(inputs_are_read_rounded),
        cmocka_unit_test(what_is_frozen_keeps_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
