/* Products and activations of a layer's list in one op: what is left of it, and what it costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/layer_case.h"
#include "work/layer/layer.h"

struct list {
    struct arena arena;
    struct plan plan;
    struct work work;
};

static void build(struct list *list, enum moe_path path, bool fused, bool backward)
{
    struct err err = {0};
    *list = (struct list){0};
    case_plan(&list->plan, path, 2);
    list->plan.moe.fuse_activation = fused;
    if (layer_build(&list->plan, backward, &list->arena, &list->work, &err) != STATUS_OK)
        fail_msg("path %d: %s", (int)path, err.text);
}

static const struct op *find(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (strcmp(work->ops[i].name, name) == 0)
            return &work->ops[i];
    return NULL;
}

static bool has_buffer(const struct work *work, const char *name)
{
    for (size_t b = 0; b < work->n_buffers; b++)
        if (strcmp(work->buffers[b].name, name) == 0)
            return true;
    return false;
}

static uint64_t value(struct list *list, struct size size)
{
    struct slots slots = {0};
    uint64_t *values = arena_alloc(&list->arena, list->work.sizes.n, sizeof *values);
    for (unsigned s = 0; s < SLOT_COUNT; s++)
        slots.value[s] = 2 + s;
    sizes_eval(&list->work.sizes, &slots, values);
    return values[size.node];
}

/* Forward: the product's rows are nowhere, and the op writes what the activation wrote. */
static void a_forward_keeps_no_rows(void **state)
{
    (void)state;
    struct list apart, one;
    build(&apart, PATH_RAGGED_A2A, false, false);
    build(&one, PATH_RAGGED_A2A, true, false);
    const struct op *fused = find(&one.work, "gate_up_activation"),
                    *product = find(&apart.work, "gate_up"),
                    *activation = find(&apart.work, "activation");
    assert_non_null(fused);
    assert_null(find(&one.work, "gate_up"));
    assert_null(find(&one.work, "activation"));
    assert_true(has_buffer(&apart.work, "h"));
    assert_false(has_buffer(&one.work, "h"));
    assert_int_equal(op_buffer(&one.work, fused, ROLE_OTHER), WORK_NONE);
    assert_int_equal(one.work.n_ops, apart.work.n_ops - 1);
    assert_int_equal(value(&one, fused->flop), value(&apart, product->flop));
    assert_int_equal(value(&one, fused->bytes_read), value(&apart, product->bytes_read));
    assert_int_equal(value(&one, fused->bytes_written),
                     value(&apart, activation->bytes_written));
    arena_release(&apart.arena);
    arena_release(&one.arena);
}

/* A backward reads them: they are written beside, and not read by an activation. */
static void a_backward_has_its_rows(void **state)
{
    (void)state;
    struct list apart, one;
    build(&apart, PATH_RAGGED_A2A, false, true);
    build(&one, PATH_RAGGED_A2A, true, true);
    const struct op *fused = find(&one.work, "gate_up_activation"),
                    *product = find(&apart.work, "gate_up"),
                    *activation = find(&apart.work, "activation");
    assert_non_null(fused);
    uint16_t rows = op_buffer(&one.work, fused, ROLE_OTHER);
    assert_int_not_equal(rows, WORK_NONE);
    assert_string_equal(one.work.buffers[rows].name, "h");
    assert_int_equal(value(&one, fused->bytes_written),
                     value(&apart, product->bytes_written) +
                         value(&apart, activation->bytes_written));
    assert_int_equal(value(&one, fused->bytes_read), value(&apart, product->bytes_read));
    arena_release(&apart.arena);
    arena_release(&one.arena);
}

/* Every path that has an activation of a product's rows has none left; those of sparse blocks
 * and of expanded copies, which are no products of rows of groups, stay. */
static void every_path_is_fused(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        struct list one;
        build(&one, case_paths[p], true, false);
        bool left = false, fused = false;
        for (size_t i = 0; i < one.work.n_ops; i++) {
            left |= one.work.ops[i].kernel == KERNEL_ACTIVATION;
            fused |= one.work.ops[i].kernel == KERNEL_GATED_GEMM;
        }
        bool other = case_paths[p] == PATH_BLOCK_SPARSE || case_paths[p] == PATH_RAGGED_DOT;
        if (left != other || fused == other)
            fail_msg("path %d: %d left, %d fused", (int)case_paths[p], left, fused);
        arena_release(&one.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forward_keeps_no_rows),
        cmocka_unit_test(a_backward_has_its_rows),
        cmocka_unit_test(every_path_is_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
