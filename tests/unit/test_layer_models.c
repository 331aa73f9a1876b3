/* Every model of the catalogue: the parameters of its layer as the host's list declares them
 * and as the simulator counts them, and the layer performed in small, forward and backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/moe/route.h"
#include "plan/read/catalog.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "support/catalogue.h"
#include "support/layer_case.h"
#include "support/plans.h"
#include "work/layer/layer.h"
#include "plan/params.h"

typedef void plan_fn(struct plan *plan, size_t number);

static void each_model(plan_fn *look)
{
    struct arena arena = {0};
    struct catalog_item *items;
    size_t n;
    catalog_list(CATALOG_MODEL, &arena, &items, &n);
    assert_true(n > 30);
    for (size_t i = 0; i < n; i++) {
        struct plan plan;
        catalogue_plan(items[i].name, "host", "host", &arena, &plan);
        look(&plan, i);
    }
    arena_release(&arena);
}

/* A matrix or bias of an expert stands on one rank of the group, everything else on all. */
static bool is_of_experts(const char *name)
{
    static const char *const names[] = {"w13", "w2", "b13", "b2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static uint64_t declared_parameters(const struct plan *plan)
{
    struct arena arena = {0};
    struct work work;
    struct err err = {0};
    uint64_t sum = 0;
    if (layer_build(plan, false, &arena, &work, &err) != STATUS_OK)
        fail_msg("%s: %s", plan->model_name, err.text);
    const uint64_t *values = plan_evaluate(plan, &arena, &work);
    for (size_t b = 0; b < work.n_buffers; b++) {
        const struct buffer *buffer = &work.buffers[b];
        uint64_t elements = is_of_experts(buffer->name) ? plan->parallel.ep : 1;
        for (unsigned d = 0; d < buffer->n_dims; d++)
            elements *= values[buffer->dims[d].node];
        if (buffer->category == CATEGORY_WEIGHTS && buffer->dtype != DTYPE_I32)
            sum += elements;
    }
    arena_release(&arena);
    return sum;
}

static uint64_t counted_parameters(const struct plan *plan)
{
    struct params p;
    params_count(&plan->model, &p);
    return params_part_total(p.router) + params_part_total(p.shared) +
           params_part_total(p.residual) + params_part_total(p.latent) +
           plan->model.moe.experts * params_part_total(p.expert);
}

static void compare_parameters(struct plan *plan, size_t number)
{
    (void)number;
    plan->cluster.node.devices = plan->parallel.ep = 2;
    uint64_t declared = declared_parameters(plan), counted = counted_parameters(plan);
    if (declared != counted)
        fail_msg("%s: the host's list holds %llu parameters, the simulator counts %llu",
                 plan->model_name, (unsigned long long)declared, (unsigned long long)counted);
}

static void parameters_are_those_counted(void **state)
{
    (void)state;
    each_model(compare_parameters);
}

/* Of what no model of the catalogue has, and of everything at once. */
static void parameters_of_all_features(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan("gpt-oss-20b", "host", "host", &arena, &plan);
    plan.model.moe.shared_intermediate = 100;
    plan.model.moe.shared_gate = true;
    plan.model.moe.router.bias = true;
    plan.model.residual_intermediate = 60;
    compare_parameters(&plan, 0);
    plan.model.moe.latent_size = 96;
    compare_parameters(&plan, 0);
    plan.model.moe.latent_size = 0;
    plan.model.moe.glu = false;
    compare_parameters(&plan, 0);
    /* worked: E 32, H 2880, I 2880: router 32 x 2880 + 2 x 32, an expert 2 x 2880^2 + 2 x 2880,
     * shared 2 x 2880 x 100 + 2880, beside 2 x 2880 x 60 */
    assert_int_equal(counted_parameters(&plan), 92224 + 32 * 16594560 + 578880 + 345600);
    arena_release(&arena);
}

static void shrink(struct plan *plan, size_t number)
{
    static const enum moe_path paths[] = {PATH_RAGGED_A2A, PATH_DEEPEP,    PATH_CAPACITY,
                                          PATH_MASKED,     PATH_BLOCKWISE, PATH_RDEP};
    struct model *model = &plan->model;
    plan->cluster.node.devices = plan->parallel.ep = 2;
    plan->moe.path = paths[number % (sizeof paths / sizeof *paths)];
    plan->moe.block_size = 4;
    plan->workload.sequence_length = 24;
    plan->workload.micro_batch = 1;
    model->hidden = 32;
    model->moe.experts /= model->moe.experts > 512 ? 2 : 1; /* about as many as the others */
    model->moe.intermediate = 24;
    model->moe.latent_size = model->moe.latent_size ? 16 : 0;
    model->moe.shared_intermediate = model->moe.shared_intermediate ? 20 : 0;
    model->residual_intermediate = model->residual_intermediate ? 28 : 0;
}

static void perform(struct plan *plan, size_t number)
{
    struct arena arena = {0};
    struct route routing;
    struct case_result result;
    struct err err = {0};
    struct case_options options = {.backward = true, .workers = 1};
    if (plan_moe_layers(plan) == 0)
        return; /* a dense model: `run` performs the MoE layer */
    shrink(plan, number);
    if (route_init(plan, NULL, NULL, &arena, &routing, &err) != STATUS_OK)
        fail_msg("%s: %s", plan->model_name, err.text);
    route_step(&routing, 0);
    if (case_run(plan, &routing.sample, &options, &result, &err) != STATUS_OK)
        fail_msg("%s: %s", plan->model_name, err.text);
    for (unsigned i = 0; i < result.checks.n; i++)
        if (!result.checks.check[i].passed)
            fail_msg("%s, %s: %s: error %g, tolerance %g: %s", plan->model_name,
                     words_path[plan->moe.path], result.checks.check[i].name,
                     result.checks.check[i].error, result.checks.check[i].tolerance,
                     result.checks.check[i].detail);
    assert_true(result.counts_equal);
    assert_int_equal(result.metered_bytes, result.predicted_bytes);
    arena_release(&arena);
}

static void every_model_is_performed(void **state)
{
    (void)state;
    each_model(perform);
}

/* Replicas of hot experts (EPLB) beside each of what a layer can have more. */
static void replicas_are_performed(void **state)
{
    (void)state;
    static const char *const models[] = {"llama4-scout", "gpt-oss-20b", "arctic",
                                         "gemma-4-26b-a4b"};
    enum { MODELS = sizeof models / sizeof *models };
    for (size_t i = 0; i < MODELS * 6; i++) {
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan(models[i % MODELS], "host", "host", &arena, &plan);
        plan.moe.redundant_experts = 4;
        plan.moe.routing.placement = PLACEMENT_EPLB;
        plan.moe.routing.distribution = DISTRIBUTION_ZIPF;
        plan.moe.routing.alpha = 1;
        perform(&plan, i / MODELS);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_counted),
        cmocka_unit_test(parameters_of_all_features),
        cmocka_unit_test(every_model_is_performed),
        cmocka_unit_test(replicas_are_performed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
