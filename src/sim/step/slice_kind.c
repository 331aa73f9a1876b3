/* The two kinds of slices; see slice.h. */
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "sim/step/slice.h"
#include "work/layer/layer.h"
#include "work/piece/matmul.h"
#include "work/stack/stack.h"

/* ---- an MoE layer ---- */

static uint64_t layer_ranks(const struct plan *plan)
{
    return plan->parallel.ep;
}

static uint64_t layer_tokens(const struct plan *plan)
{
    return plan_tokens(plan) * plan->parallel.ep;
}

static enum status layer_resolve(struct plan *plan, struct err *err)
{
    if (!plan_has_experts(plan)) {
        err_set(err, STATUS_INPUT, "model \"%s\" has no MoE layer to run", plan->model.name);
        return err_hint(err, "dense_layers is %llu of %llu layers",
                        (unsigned long long)plan->model.dense_layers,
                        (unsigned long long)plan->model.layers);
    }
    plan->moe.path = stack_path(plan, NULL);
    if (plan->stack.kind != STACK_HOST)
        plan->moe.buffer = stack_sizing(plan);
    plan->moe.cores = plan_cores(plan);
    return STATUS_OK;
}

static enum status layer_list(struct slice *c, bool backward, struct arena *arena,
                              struct err *err)
{
    return layer_build(c->plan, backward, arena, &c->work, err);
}

static enum status layer_route(struct slice *c, const struct routing_data *data,
                               struct arena *arena, struct err *err)
{
    TRY(route_init(c->plan, data, NULL, arena, &c->routing, err));
    c->sample = &c->routing.sample;
    return STATUS_OK;
}

static void layer_slots(struct slice *c, uint64_t step)
{
    route_step(&c->routing, step);
    for (uint64_t i = 0; i < c->n; i++)
        layer_sample_plan_slots(c->plan, c->sample, c->first + i, c->workers, &c->slots[i]);
}

static void layer_least(const struct slice *c, struct slots *slots)
{
    layer_sample_least_slots(c->plan, c->workers, slots);
}

/* ---- a collective matmul ---- */

static uint64_t matmul_ranks(const struct plan *plan)
{
    return plan->parallel.tp;
}

static enum status matmul_resolve(struct plan *plan, struct err *err)
{
    return matmul_check(plan, err);
}

static enum status matmul_list(struct slice *c, bool backward, struct arena *arena,
                               struct err *err)
{
    if (backward) {
        err_set(err, STATUS_INPUT, "block \"%s\" has no backward on the host",
                words_block[c->plan->block.kind]);
        return err_hint(err, "leave out --backward");
    }
    return matmul_build(c->plan, arena, &c->work, err);
}

static void matmul_slots(struct slice *c, uint64_t step)
{
    (void)step;
    for (uint64_t i = 0; i < c->n; i++)
        matmul_plan_slots(c->plan, c->workers, &c->slots[i]);
}

static void matmul_least(const struct slice *c, struct slots *slots)
{
    matmul_plan_slots(c->plan, c->workers, slots);
}

const struct slice_kind *slice_kind_of(const struct plan *plan)
{
    static const struct slice_kind layer = {.axis = "ep",
                                            .routed = true,
                                            .ranks = layer_ranks,
                                            .tokens = layer_tokens,
                                            .resolve = layer_resolve,
                                            .build = layer_list,
                                            .route = layer_route,
                                            .route_bytes = route_bytes,
                                            .fill_least = layer_least,
                                            .fill_slots = layer_slots};
    static const struct slice_kind matmul = {.axis = "tp",
                                             .ranks = matmul_ranks,
                                             .tokens = plan_tokens,
                                             .resolve = matmul_resolve,
                                             .build = matmul_list,
                                             .fill_least = matmul_least,
                                             .fill_slots = matmul_slots};
    return plan->block.kind == BLOCK_MOE ? &layer : &matmul;
}
