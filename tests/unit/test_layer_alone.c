/* One rank of a group alone: every path, checked, and counted as in the full run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "support/layer_case.h"

enum { MOST_OPS = 256 };

typedef void change(struct plan *plan);

static void biases_of_every_kind(struct plan *plan)
{
    plan->model.moe.bias = true;
    plan->model.moe.activation = ACTIVATION_SWIGLU_OAI;
    plan->model.moe.router.order = ORDER_TOPK_THEN_SCORE;
}

static void shared_experts(struct plan *plan)
{
    plan->model.moe.shared_experts = 1;
    plan->model.moe.shared_intermediate = 10;
}

static void exact_buffers(struct plan *plan)
{
    plan->moe.buffer = SIZING_EXACT;
    plan->moe.skip_dynamic = true;
}

static void overlapped_rounds_of_four(struct plan *plan)
{
    plan->moe.overlap = true;
    plan->model.moe.top_k = 4;
}

static void scaled_input(struct plan *plan)
{
    plan->model.moe.scale = GATE_PRE;
}

static void scaled_input_in_fp8(struct plan *plan)
{
    case_fp8_dispatch(plan);
    plan->model.moe.scale = GATE_PRE;
}

static void networks_beside(struct plan *plan)
{
    shared_experts(plan);
    plan->model.moe.shared_gate = true;
    plan->model.residual_intermediate = 8;
    plan->model.moe.router.linear_bias = true;
}

static void learned_scales(struct plan *plan)
{
    plan->model.moe.router.learned_scale = true;
}

static void latent_norm(struct plan *plan)
{
    plan->model.moe.latent_size = 8;
    plan->model.moe.latent_norm = true;
}

static void two_cores_on_h(struct plan *plan)
{
    plan->moe.cores = 2;
}

static void two_cores_on_blocks(struct plan *plan)
{
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_BLOCK;
    plan->moe.skip_weight = WEIGHT_SKIP_HI_LO;
}

static const struct variant {
    const char *name;
    change *change;
} variants[] = {
    {"bf16", case_bf16},
    {"fp8 dispatch", case_fp8_dispatch},
    {"mxfp8 dispatch", case_mxfp8_dispatch},
    {"biases", biases_of_every_kind},
    {"shared experts", shared_experts},
    {"exact buffers", exact_buffers},
    {"overlapped rounds", overlapped_rounds_of_four},
    {"two cores on h", two_cores_on_h},
    {"two cores on blocks", two_cores_on_blocks},
    {"scaled input", scaled_input},
    {"scaled input, fp8 dispatch", scaled_input_in_fp8},
    {"shared gate, MLP beside, router bias", networks_beside},
    {"learned scales", learned_scales},
    {"latent rows normed", latent_norm},
};

struct who {
    const char *variant;
    const struct plan *plan;
    enum case_routing routing;
    uint64_t rank;
};

static void expect_passed(const struct who *who, const struct case_result *result)
{
    char name[160];
    snprintf(name, sizeof name, "%s, %s, %s, rank %llu of %llu",
             words_path[who->plan->moe.path], who->variant, case_routing_name(who->routing),
             (unsigned long long)who->rank, (unsigned long long)who->plan->parallel.ep);
    case_expect(result, name);
}

static void perform(const struct who *who, bool alone, struct op_counts *counts)
{
    struct arena arena = {0};
    struct layer_sample sample;
    struct case_result result;
    struct err err = {0};
    struct case_options options = {.backward = who->plan->moe.path != PATH_DEEPEP_LL,
                                   .alone = alone,
                                   .rank = who->rank,
                                   .counts = counts,
                                   .n_counts = MOST_OPS};
    case_sample(who->plan, who->routing, &arena, &sample);
    memset(counts, 0, MOST_OPS * sizeof *counts);
    if (case_run(who->plan, &sample, &options, &result, &err) != STATUS_OK)
        fail_msg("%s, %s, rank %llu: %s", words_path[who->plan->moe.path], who->variant,
                 (unsigned long long)who->rank, err.text);
    expect_passed(who, &result);
    arena_release(&arena);
}

static void every_path_of_every_routing(void **state)
{
    (void)state;
    static struct op_counts full[MOST_OPS], share[MOST_OPS];
    for (size_t p = 0; p < CASE_PATHS; p++) {
        for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
            for (uint64_t i = 0; i < 6; i++) {
                struct plan plan;
                uint64_t ranks = i < 3 ? 4 : 8, which[] = {0, 1, ranks - 1};
                struct who who = {"f32", &plan, (enum case_routing)routing, which[i % 3]};
                case_plan(&plan, case_paths[p], ranks);
                perform(&who, false, full);
                perform(&who, true, share);
                for (size_t op = 0; op < MOST_OPS; op++)
                    if (memcmp(&full[op], &share[op], sizeof *full) != 0)
                        fail_msg("%s, %s: op %zu of rank %llu of %llu counts otherwise",
                                 words_path[case_paths[p]], case_routing_name(who.routing), op,
                                 (unsigned long long)who.rank, (unsigned long long)ranks);
            }
        }
    }
}

static void every_variant_of_every_path(void **state)
{
    (void)state;
    static struct op_counts counts[MOST_OPS];
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        for (size_t p = 0; p < CASE_PATHS; p++) {
            struct plan plan;
            struct who who = {variants[v].name, &plan, CASE_ZIPF, 1};
            case_plan(&plan, case_paths[p], 4);
            variants[v].change(&plan);
            perform(&who, true, counts);
        }
    }
}

static bool has_check(const struct checks *checks, const char *name)
{
    for (unsigned i = 0; i < checks->n; i++)
        if (strcmp(checks->check[i].name, name) == 0)
            return true;
    return false;
}

/* Beyond its budget the oracle takes every n-th token, and every m-th absent rank. */
static void parts_are_checked_within_a_budget(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        struct arena arena = {0};
        struct plan plan;
        struct layer_sample sample;
        struct case_result result;
        struct err err = {0};
        struct who who = {"budget", &plan, CASE_ZIPF, 0};
        case_plan(&plan, case_paths[p], 4);
        case_sample(&plan, who.routing, &arena, &sample);
        struct case_options options = {.backward = case_paths[p] != PATH_DEEPEP_LL,
                                       .budget_flop = 3 * 6 * 16 * 12,
                                       .alone = true,
                                       .rank = who.rank};
        assert_int_equal(case_run(&plan, &sample, &options, &result, &err), STATUS_OK);
        expect_passed(&who, &result);
        assert_in_range(result.checks.tokens_checked, 1, 5); /* of 6 */
        assert_true(has_check(&result.checks, "random: sent y"));
        arena_release(&arena);
    }
}

/* On integers the oracle adds up every token's part of every n-th row of a gradient. */
static void rows_of_gradients_are_checked_within_a_budget(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++) {
        struct arena arena = {0};
        struct plan plan;
        struct layer_sample sample;
        struct case_result result;
        struct err err = {0};
        struct who who = {"rows of gradients", &plan, CASE_ZIPF, 0};
        if (case_paths[p] == PATH_DEEPEP_LL)
            continue;
        case_plan(&plan, case_paths[p], 2);
        case_sample(&plan, who.routing, &arena, &sample);
        struct case_options options = {.backward = true, .budget_flop = 6 * 16 * 12};
        assert_int_equal(case_run(&plan, &sample, &options, &result, &err), STATUS_OK);
        expect_passed(&who, &result);
        assert_in_range(result.checks.gradient_stride, 2, 32);
        assert_true(has_check(&result.checks, "integers: d_w13"));
        assert_true(has_check(&result.checks, "integers: d_router"));
        arena_release(&arena);
    }
}

/* ---- what is sent is checked as well as what is kept ---- */

/* The last row that an op makes, which here is on its way to the last rank, is lost. */
static enum status lose_last_row(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    struct kernels kernels;
    kernels_cpu(&kernels);
    (void)unit;
    const struct kernel_ops *kernel = &kernels.table[KERNEL_GATHER];
    for (uint64_t i = 0; i < kernel->units(call); i++)
        TRY(kernel->run(call, i, scratch, err));
    const struct tensor *out = &call->of[ROLE_DST];
    if (strcmp(call->op->name, "fan_in") == 0)
        memset(tensor_row(out, out->rows - 1), 0, tensor_row_bytes(out));
    return STATUS_OK;
}

static void rows_of_absent_ranks_are_checked(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct layer_sample sample;
    struct kernels kernels;
    struct case_result result;
    struct err err = {0};
    struct case_options options = {.alone = true, .rank = 1, .kernels = &kernels};
    case_plan(&plan, PATH_RAGGED_A2A, 4);
    plan.moe.buffer = SIZING_EXACT;
    kernels_cpu(&kernels);
    kernels.table[KERNEL_GATHER].run = lose_last_row;
    kernels.table[KERNEL_GATHER].units = NULL;
    case_sample(&plan, CASE_UNIFORM, &arena, &sample);
    assert_int_equal(case_run(&plan, &sample, &options, &result, &err), STATUS_OK);
    for (unsigned i = 0; i < result.checks.n; i++) {
        const struct check *check = &result.checks.check[i];
        if (check->passed != (strstr(check->name, "sent y") == NULL))
            fail_msg("%s: %s", check->name, check->passed ? "passed" : "failed");
    }
    arena_release(&arena);
}

/* A group of one rank has nobody absent. */
static void a_group_of_one_is_alone(void **state)
{
    (void)state;
    static struct op_counts counts[MOST_OPS];
    struct plan plan;
    struct who who = {"f32", &plan, CASE_UNIFORM, 0};
    case_plan(&plan, PATH_DEEPEP, 1);
    perform(&who, true, counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_of_every_routing),
        cmocka_unit_test(every_variant_of_every_path),
        cmocka_unit_test(parts_are_checked_within_a_budget),
        cmocka_unit_test(rows_of_gradients_are_checked_within_a_budget),
        cmocka_unit_test(rows_of_absent_ranks_are_checked),
        cmocka_unit_test(a_group_of_one_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
