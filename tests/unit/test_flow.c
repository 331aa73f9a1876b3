/* work/pass/flow: lifetimes, saved tensors, recomputation and backward of a three-op layer:
 * x -> permute -> rows -> product -> up -> activation -> out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/plans.h"
#include "work/pass/flow.h"
#include "work/stack/stack.h"

struct layer {
    struct arena arena;
    struct work work;
    struct flow flow;
};

static uint16_t tensor(struct layer *l, const char *name, enum dtype dtype, bool gradient)
{
    struct sizes *s = &l->work.sizes;
    return flow_tensor(&l->flow,
                       (struct buffer){.name = name,
                                       .dtype = dtype,
                                       .n_dims = 2,
                                       .dims = {size_const(s, 10), size_const(s, 4)}},
                       gradient);
}

static void build(struct layer *l, enum dtype rows_dtype, const struct flow_style *style)
{
    *l = (struct layer){0};
    work_init(&l->work, &l->arena);
    struct sizes *s = &l->work.sizes;
    struct buffer given = {.name = "x",
                           .segment = SEGMENT_MOE,
                           .dtype = DTYPE_BF16,
                           .n_dims = 1,
                           .dims = {size_const(s, 40)},
                           .life = LIFE_SAVED};
    uint16_t x = work_buffer(&l->work, given);
    flow_init(&l->flow, &l->work, SEGMENT_MOE);
    flow_given(&l->flow, x, true);
    uint16_t index = tensor(l, "index", DTYPE_I32, false);
    uint16_t rows = tensor(l, "rows", rows_dtype, true), up = tensor(l, "up", DTYPE_BF16, true);
    uint16_t out = tensor(l, "out", DTYPE_BF16, true);
    struct tick tick = {.name = "permute", .kind = OP_PERMUTE};
    flow_op(&l->flow, tick, FLOW(x, WORK_NONE), FLOW(index, rows));
    tick = (struct tick){.name = "product", .kind = OP_GEMM};
    flow_op(&l->flow, tick, FLOW(rows, index), FLOW(up));
    flow_scratch(
        &l->flow,
        (struct buffer){
            .name = "scratch", .dtype = DTYPE_INT8, .n_dims = 1, .dims = {size_const(s, 7)}},
        FLOW_FORWARD | FLOW_BACKWARD);
    tick = (struct tick){.name = "activation", .kind = OP_ACTIVATION};
    flow_op(&l->flow, tick, FLOW(up), FLOW(out));
    flow_close(&l->flow, style);
}

static void assert_life(const struct layer *l, const char *name, enum life life, uint16_t first,
                        uint16_t last)
{
    const struct buffer *buffer = plan_buffer(&l->work, name);
    if (buffer->life != life || buffer->first != first || buffer->last != last)
        fail_msg("%s: life %d from %u to %u, expected %d from %u to %u", name,
                 (int)buffer->life, buffer->first, buffer->last, (int)life, first, last);
}

/* Inference: every tensor from the tick that makes it to the last that reads it; the result to
 * the end. */
static void forward_only(void **state)
{
    (void)state;
    struct layer l;
    build(&l, DTYPE_BF16, &(struct flow_style){0});
    assert_int_equal(l.work.n_ticks, 3);
    assert_life(&l, "rows", LIFE_TRANSIENT, 0, 1);
    assert_life(&l, "up", LIFE_TRANSIENT, 1, 2);
    assert_life(&l, "out", LIFE_TRANSIENT, 2, 2);
    assert_life(&l, "scratch", LIFE_TRANSIENT, 1, 1);
    assert_null(plan_find(&l.work, "d_rows"));
    arena_release(&l.arena);
}

/* Training: ticks 3, 4, 5 are the backward of 2, 1, 0. */
static void backward_saves_what_it_reads(void **state)
{
    (void)state;
    struct layer l;
    build(&l, DTYPE_BF16, &(struct flow_style){.backward = true});
    assert_int_equal(l.work.n_ticks, 6);
    assert_string_equal(l.work.ticks[4].name, "product_backward");
    assert_life(&l, "rows", LIFE_SAVED, 0, 4);
    assert_life(&l, "index", LIFE_SAVED, 0, 4); /* a table an op read */
    assert_life(&l, "up", LIFE_SAVED, 1, 3);
    assert_life(&l, "out", LIFE_TRANSIENT, 2, 2);
    assert_life(&l, "d_out", LIFE_TRANSIENT, 3, 3);
    assert_life(&l, "d_up", LIFE_TRANSIENT, 3, 4);
    assert_life(&l, "d_rows", LIFE_TRANSIENT, 4, 5);
    assert_life(&l, "d_x", LIFE_TRANSIENT, 5, 5);
    assert_life(&l, "scratch_backward", LIFE_TRANSIENT, 4, 4);
    arena_release(&l.arena);
}

/* Recomputed: ticks 3 and 4 run the forward again as far as backward needs, 5, 6, 7 backward.
 */
static void recomputation_saves_nothing_but_what_is_kept(void **state)
{
    (void)state;
    static const char *const keep[] = {"index", NULL};
    struct layer l;
    build(&l, DTYPE_BF16,
          &(struct flow_style){.backward = true, .recompute = true, .keep = keep});
    assert_int_equal(l.work.n_ticks, 8);
    assert_int_equal(l.work.ticks[3].phase, PHASE_RECOMPUTE);
    assert_life(&l, "rows", LIFE_TRANSIENT, 3, 6);
    assert_life(&l, "up", LIFE_TRANSIENT, 4, 5);
    assert_life(&l, "index", LIFE_SAVED, 0, 6);
    assert_life(&l, "d_out", LIFE_TRANSIENT, 3, 5); /* given before the recomputation */
    arena_release(&l.arena);
}

/* Dropped: its own op runs again just before its reader's backward. */
static void dropped_tensors_are_remade(void **state)
{
    (void)state;
    static const char *const dropped[] = {"up", NULL};
    struct layer l;
    build(&l, DTYPE_BF16, &(struct flow_style){.backward = true, .dropped = dropped});
    assert_int_equal(l.work.n_ticks, 7);
    assert_string_equal(l.work.ticks[3].name, "product");
    assert_int_equal(l.work.ticks[3].phase, PHASE_RECOMPUTE);
    assert_life(&l, "up", LIFE_TRANSIENT, 3, 4);
    assert_life(&l, "rows", LIFE_SAVED, 0, 5);
    arena_release(&l.arena);
}

static void gradients_of_quantised_rows_are_bf16(void **state)
{
    (void)state;
    struct layer l;
    build(&l, DTYPE_FP8_BLOCK, &(struct flow_style){.backward = true});
    struct plan plan = plan_small(1);
    const uint64_t *values = plan_evaluate(&plan, &l.arena, &l.work);
    assert_int_equal(values[plan_buffer(&l.work, "rows")->bytes.node], 40);
    assert_int_equal(plan_buffer(&l.work, "d_rows")->dtype, DTYPE_BF16);
    assert_int_equal(values[plan_buffer(&l.work, "d_rows")->bytes.node], 80);
    arena_release(&l.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_only),
        cmocka_unit_test(backward_saves_what_it_reads),
        cmocka_unit_test(recomputation_saves_nothing_but_what_is_kept),
        cmocka_unit_test(dropped_tensors_are_remade),
        cmocka_unit_test(gradients_of_quantised_rows_are_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
