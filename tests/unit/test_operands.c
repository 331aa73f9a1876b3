/* Every op of every host list has the operands its kernel's row of kernel.h says, each read or
 * written as said there, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/layer_case.h"
#include "work/layer/layer.h"
#include "work/piece/matmul.h"

static enum role role_of(const char *name, size_t length)
{
    unsigned r = 0;
    while (r < ROLE_COUNT && (strlen(role_name((enum role)r)) != length ||
                              strncmp(role_name((enum role)r), name, length) != 0))
        r++;
    return (enum role)r;
}

enum need { NEED_NONE, NEED_MAY, NEED_MUST };

/* One side of a row, "(src[M,k], bias?)"; returns its end. */
static const char *parse_side(const char *at, enum need need[ROLE_COUNT])
{
    memset(need, 0, ROLE_COUNT * sizeof *need);
    for (at = strchr(at, '('); *at != ')';) {
        at += 1 + strspn(at + 1, " ");
        enum role role = role_of(at, strspn(at, "abcdefghijklmnopqrstuvwxyz_"));
        for (bool inside = false; inside || !strchr(",)", *at); at++)
            inside = *at == '[' || (inside && *at != ']');
        if (role != ROLE_COUNT)
            need[role] = strchr("?.", at[-1]) ? NEED_MAY : NEED_MUST;
    }
    return at;
}

/* The role in which an op is not as its kernel's row, or ROLE_COUNT. */
static enum role wrong_role(const struct work *work, const struct op *op)
{
    enum need read[ROLE_COUNT], written[ROLE_COUNT];
    const struct operand *operands = op_operands(work, op);
    parse_side(parse_side(kernel_operands((enum kernel)op->kernel), read), written);
    for (unsigned i = 0; i < op->n_operands; i++)
        if ((operands[i].read && !read[operands[i].role]) ||
            (operands[i].written && !written[operands[i].role]))
            return (enum role)operands[i].role;
    for (unsigned r = 0; r < ROLE_COUNT; r++)
        if ((read[r] == NEED_MUST || written[r] == NEED_MUST) &&
            op_buffer(work, op, (enum role)r) == WORK_NONE)
            return (enum role)r;
    return ROLE_COUNT;
}

static void check_list(const struct work *work, const char *name)
{
    assert_true(work->n_ops > 0);
    for (size_t i = 0; i < work->n_ops; i++) {
        enum role wrong = wrong_role(work, &work->ops[i]);
        if (wrong != ROLE_COUNT)
            fail_msg("%s: op \"%s\", kernel %s, operand %s", name, work->ops[i].name,
                     kernel_name((enum kernel)work->ops[i].kernel), role_name(wrong));
    }
}

/* ---- lists ---- */

static void plain(struct plan *plan)
{
    (void)plan;
}

static void everything_beside(struct plan *plan)
{
    plan->model.moe.bias = plan->model.moe.router.bias = true;
    plan->model.moe.router.linear_bias = plan->model.moe.shared_gate = true;
    plan->model.moe.shared_experts = 1;
    plan->model.moe.shared_intermediate = plan->model.residual_intermediate = 8;
    plan->model.moe.latent_size = 8;
    plan->model.moe.latent_norm = plan->model.moe.router.learned_scale = true;
}

static void scaled_input(struct plan *plan)
{
    plan->model.moe.scale = GATE_PRE;
    plan->precision.dispatch = DTYPE_MXFP8;
}

static void two_cores(struct plan *plan)
{
    plan->cluster.device.logical_cores = 2;
    plan->moe.shard = SHARD_H;
    plan->moe.skip_dynamic = true;
}

static void apart(struct plan *plan)
{
    plan->moe.dedup = false;
    plan->moe.overlap = true;
    plan->moe.buffer = SIZING_EXACT;
}

static void layers_have_their_operands(void **state)
{
    (void)state;
    static void (*const changes[])(struct plan * plan) = {plain, everything_beside,
                                                          scaled_input, two_cores, apart};
    for (size_t p = 0; p < CASE_PATHS; p++)
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
            struct arena arena = {0};
            struct plan plan;
            struct work work;
            struct err err = {0};
            bool backward = case_paths[p] != PATH_DEEPEP_LL;
            case_plan(&plan, case_paths[p], 2);
            changes[c](&plan);
            if (layer_build(&plan, backward, &arena, &work, &err) == STATUS_OK)
                check_list(&work, words_path[case_paths[p]]);
            else
                fail_msg("%s, change %zu: %s", words_path[case_paths[p]], c, err.text);
            arena_release(&arena);
        }
}

static void matmuls_have_their_operands(void **state)
{
    (void)state;
    for (int block = BLOCK_ALLREDUCE_MATMUL; block <= BLOCK_MLP; block++)
        for (int collective = COLLECTIVE_BUILTIN; collective <= COLLECTIVE_HALVING;
             collective++) {
            struct arena arena = {0};
            struct plan plan;
            struct work work;
            struct err err = {0};
            case_matmul(&plan, (enum block_kind)block, (enum collective)collective, 4);
            assert_int_equal(matmul_build(&plan, &arena, &work, &err), STATUS_OK);
            check_list(&work, "matmul");
            arena_release(&arena);
        }
}

static void a_wrong_operand_is_found(void **state)
{
    (void)state;
    static const struct operand lists[][4] = {
        {IN(SRC, 1), OUT(DST, 2), {.role = ROLE_COUNT}},
        {IN(SRC, 1), IN(OTHER, WORK_NONE), OUT(DST, 2), {.role = ROLE_COUNT}},
        {IN(SRC, 1), IN(OTHER, 3), INOUT(DST, 2), {.role = ROLE_COUNT}},
        {IN(SRC, 1), IN(OTHER, 3), OUT(DST, 2), {.role = ROLE_COUNT}},
    };
    static const enum role wrong[] = {ROLE_OTHER, ROLE_OTHER, ROLE_DST, ROLE_COUNT};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct arena arena = {0};
        struct work work = {.arena = &arena};
        struct op op = {.kernel = KERNEL_ADD};
        work_operands(&work, &op, lists[i]);
        assert_int_equal(wrong_role(&work, &op), wrong[i]);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_their_operands),
        cmocka_unit_test(matmuls_have_their_operands),
        cmocka_unit_test(a_wrong_operand_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
