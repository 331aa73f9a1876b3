/* Bytes of products in loops: matrices that a path meets again in every trip are read in each,
 * and sums of gradients read and written in each. Experts of 16 x 12 in f32, with gate. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_reads_all_experts),
        cmocka_unit_test(every_slot_reads_its_copy),
        cmocka_unit_test(hit_experts_are_read),
        cmocka_unit_test(every_block_reads_its_expert),
        cmocka_unit_test(turns_read_all_experts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
