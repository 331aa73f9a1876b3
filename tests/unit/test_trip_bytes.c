/* Bytes by hand: of products in loops, whose matrices are read again in every trip that meets
 * them and whose sums of gradients are read and written in each, and of what moves rows.
 * Experts of 16 x 12 in f32, with gate; 24 tokens of two experts each: 48 rows of 64 bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"

enum { HIDDEN = 16, INTER = 12, ELEMENT = 4 };

#define GATE_UP (UINT64_C(2) * HIDDEN * INTER * ELEMENT)
#define DOWN (UINT64_C(1) * HIDDEN * INTER * ELEMENT)

struct built {
    struct arena arena;
    struct plan plan;
    struct work work;
    uint64_t *values;
};

static void build(struct built *b, enum moe_path path, uint64_t ranks, bool dedup)
{
    struct layer_sample sample;
    struct slots slots;
    struct err err = {0};
    memset(b, 0, sizeof *b);
    case_plan(&b->plan, path, ranks);
    b->plan.moe.chunk = 2;
    b->plan.moe.dedup = dedup;
    if (layer_build(&b->plan, true, &b->arena, &b->work, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    case_sample(&b->plan, CASE_ZIPF, &b->arena, &sample);
    layer_sample_plan_slots(&b->plan, &sample, 0, 1, &slots);
    b->values = arena_alloc(&b->arena, b->work.sizes.n, sizeof *b->values);
    assert_true(sizes_eval(&b->work.sizes, &slots, b->values));
}

static const struct op *op(const struct built *b, const char *name)
{
    for (size_t i = 0; i < b->work.n_ops; i++)
        if (text_equal(b->work.ops[i].name, name))
            return &b->work.ops[i];
    fail_msg("no op '%s'", name);
    return NULL;
}

static uint64_t at(const struct built *b, struct size size)
{
    return b->values[size.node];
}

/* A product of `rows` rows whose matrices are of `bytes` in all trips. */
static void reads(const struct built *b, const char *name, uint64_t bytes)
{
    const struct op *o = op(b, name);
    print_message("%s\n", name);
    assert_int_equal(at(b, o->bytes_read), at(b, o->m) * at(b, o->k) * ELEMENT + bytes);
}

static void sums(const struct built *b, const char *name, uint64_t bytes)
{
    const struct op *o = op(b, name);
    uint64_t rows = at(b, o->m) * (at(b, o->k) + at(b, o->n)) * ELEMENT;
    print_message("%s\n", name);
    assert_int_equal(at(b, o->bytes_read), rows + bytes);
    assert_int_equal(at(b, o->bytes_written), bytes);
}

/* Seed 003: a round is an einsum of all of a rank's experts over its slots, filled or not. */
static void every_round_reads_all_experts(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_CHUNKED_A2A, 2, true);
    uint64_t rounds = at(&b, op(&b, "gate_up")->trips), met = rounds * 4;
    assert_in_range(rounds, 2, 12);
    reads(&b, "gate_up", met * GATE_UP);
    reads(&b, "down", met * DOWN);
    reads(&b, "gate_up_again", met * GATE_UP);
    reads(&b, "dgrad_down", met * DOWN);
    reads(&b, "dgrad_gate_up", met * GATE_UP);
    sums(&b, "wgrad_down", met * DOWN);
    sums(&b, "wgrad_gate_up", met * GATE_UP);
    arena_release(&b.arena);
}

/* Without dedup a token's products read the matrices that were copied for it, one a slot. */
static void every_slot_reads_its_copy(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_SELECTIVE, 1, false);
    uint64_t rows = at(&b, op(&b, "gate_up")->rows);
    assert_int_equal(rows, 24 * 2);
    assert_int_equal(at(&b, op(&b, "load_w13_hit")->bytes_written), rows * GATE_UP);
    reads(&b, "gate_up", rows * GATE_UP);
    reads(&b, "down", rows * DOWN);
    arena_release(&b.arena);
}

/* With dedup those of the experts that were hit, however many there is room for. */
static void hit_experts_are_read(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_SELECTIVE, 1, true);
    uint64_t loaded = at(&b, op(&b, "load_w13_hit")->bytes_written);
    reads(&b, "gate_up", loaded);
    reads(&b, "down", loaded / 2);
    arena_release(&b.arena);
}

/* A block reads one expert's: in the backward, too, which knows no cores that keep one. */
static void every_block_reads_its_expert(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_BLOCKWISE, 2, true);
    uint64_t blocks = at(&b, op(&b, "gate_up_again")->trips);
    assert_int_not_equal(blocks, 4);
    reads(&b, "gate_up_again", blocks * GATE_UP);
    reads(&b, "dgrad_down", blocks * DOWN);
    sums(&b, "wgrad_gate_up", blocks * GATE_UP);
    arena_release(&b.arena);
}

/* Every trip has an expert of its own: all of them once. */
static void turns_read_all_experts_once(void **state)
{
    (void)state;
    static const enum moe_path paths[] = {PATH_MASKED, PATH_EXPERT_LOOP};
    for (unsigned i = 0; i < 2; i++) {
        struct built b;
        build(&b, paths[i], 2, true);
        assert_int_equal(at(&b, op(&b, "gate_up")->trips), 4);
        reads(&b, "gate_up", 4 * GATE_UP);
        reads(&b, "dgrad_down", 4 * DOWN);
        arena_release(&b.arena);
    }
}

/* ---- rows ---- */

enum { TOKENS = 24, ROW = HIDDEN * ELEMENT, ROWS = 2 * TOKENS, EXPERTS = 8 };

static void moves(const struct built *b, const char *name, uint64_t read, uint64_t written)
{
    const struct op *o = op(b, name);
    print_message("%s\n", name);
    assert_int_equal(at(b, o->bytes_read), read);
    assert_int_equal(at(b, o->bytes_written), written);
}

/* Of every expert's 24 rows those that chose it are added to sums, which are read and written;
 * the others' gradients are written as zeros. */
static void masked_adds_what_was_chosen(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_MASKED, 1, true);
    moves(&b, "accumulate", 2 * ROWS * ROW, ROWS * ROW);
    moves(&b, "accumulate_grad", 2 * ROWS * ROW, EXPERTS * TOKENS * ROW);
    arena_release(&b.arena);
}

/* Padding of a block adds nothing; of all tokens one row is zeros. */
static void blocks_add_to_sums(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_BLOCKWISE, 1, true);
    moves(&b, "add_block", 2 * ROWS * ROW, ROWS * ROW);
    moves(&b, "zero_row", 0, ROW);
    arena_release(&b.arena);
}

/* Rounds put each row into its slot once, and take its gradient out of it once. */
static void rounds_meet_a_row_once(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_CHUNKED_A2A, 1, true);
    uint64_t rounds = at(&b, op(&b, "chunk")->trips), slots = EXPERTS * 2;
    moves(&b, "scatter_chunk", ROWS * ROW, ROWS * ROW);
    moves(&b, "back_to_slots", ROWS * ROW, ROWS * ROW);
    moves(&b, "to_x_expert", rounds * slots * ROW, rounds * slots * ROW);
    arena_release(&b.arena);
}

/* A weight's gradient reads both sides and no weight. */
static void gradients_read_no_weights(void **state)
{
    (void)state;
    struct built b;
    build(&b, PATH_RAGGED_A2A, 1, true);
    moves(&b, "wgrad_gate_up", UINT64_C(1) * ROWS * (HIDDEN + 2 * INTER) * ELEMENT,
          EXPERTS * GATE_UP);
    moves(&b, "wgrad_down", UINT64_C(1) * ROWS * (INTER + HIDDEN) * ELEMENT, EXPERTS * DOWN);
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_reads_all_experts),
        cmocka_unit_test(every_slot_reads_its_copy),
        cmocka_unit_test(hit_experts_are_read),
        cmocka_unit_test(every_block_reads_its_expert),
        cmocka_unit_test(turns_read_all_experts_once),
        cmocka_unit_test(masked_adds_what_was_chosen),
        cmocka_unit_test(blocks_add_to_sums),
        cmocka_unit_test(rounds_meet_a_row_once),
        cmocka_unit_test(gradients_read_no_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
