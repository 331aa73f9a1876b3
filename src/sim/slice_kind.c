/* The two kinds of slices; see slice.h. */
#include "plan/derive.h"
#include "plan/schema.h"
#include "sim/slice.h"
#include "work/piece/layer.h"
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
    if (plan_moe_layers(plan) == 0) {
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

static enum status layer_list(struct slice *c, const struct routing_data *data, bool backward,
                              struct arena *arena, struct err *err)
{
    TRY(layer_build(c->plan, backward, arena, &c->work, err));
    TRY(route_init(c->plan, data, arena, &c->routing, err));
    c->sample = &c->routing.sample;
    return STATUS_OK;
}

static void layer_slots(struct slice *c, uint64_t step)
{
    route_step(&c->routing, step);
    for (uint64_t i = 0; i < c->n; i++)
        layer_sample_plan_slots(c->plan, c->sample, c->first + i, c->workers, &c->slots[i]);
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

static enum status matmul_list(struct slice *c, const struct routing_data *data, bool backward,
                               struct arena *arena, struct err *err)
{
    (void)data;
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

const struct slice_kind *slice_kind_of(const struct plan *plan)
{
    static const struct slice_kind layer = {
        "ep", true, layer_ranks, layer_tokens, layer_resolve, layer_list, layer_slots};
    static const struct slice_kind matmul = {
        "tp", false, matmul_ranks, plan_tokens, matmul_resolve, matmul_list, matmul_slots};
    return plan->block.kind == BLOCK_MOE ? &layer : &matmul;
}
