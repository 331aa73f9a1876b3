/* The networks of a layer as ops: dense, or the experts of the plan's path. */
#include "plan/derive.h"
#include "work/list/kernel.h"
#include "work/step/step.h"

/* The dense network of what its norm gives, [T, H] -> [T, H]. */
static uint16_t dense(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    bool joins = plan_dense_replicas(s->plan) > 1, apart = s->plan->parallel.dense_apart;
    const struct dims kept = s->d;
    uint16_t normed = step_gathered(s, "mlp_in", apart ? step_prompt_in(s, x) : x);
    if (joins)
        normed = layer_join(l, "mlp_in", normed);
    uint16_t h = step_product(s, "mlp_gate_up", normed, "mlp_gate_up_out", CATEGORY_ACTIVATION);
    l->module = MODULE_ACTIVATE;
    uint16_t a = step_rows(s, "mlp_activated", CATEGORY_ACTIVATION, s->d.rows[ROW_NETWORK],
                           s->d.width[COL_DENSE]);
    layer_activation(l, "mlp_activation", h, a, layer_no_groups(), s->d.rows[ROW_NETWORK]);
    uint16_t out = step_product(s, "mlp_down", a, "mlp_down_out", CATEGORY_ACTIVATION);
    if (joins)
        out = layer_own(l, "mlp", out, s->d.rows[ROW_FULL]);
    s->d = kept;
    return apart ? step_prompt_out(s, "mlp_sum", out) : step_reduced(s, "mlp_sum", out);
}

/* ---- which module an op of a path belongs to ---- */

/* What has been met of the forward so far, and the copies of matrices that a path loads before
 * it multiplies by them. */
struct met {
    bool experts, down, sent, returned;
    uint16_t loaded13, loaded2;
};

static bool is_payload(const struct work *work, const struct op *op)
{
    return op->kind == OP_EXCHANGE &&
           work->buffers[op_buffer(work, op, ROLE_SRC)].category != CATEGORY_METADATA;
}

static bool reads(const struct layer *l, const struct op *op, uint16_t buffer)
{
    if (buffer == WORK_NONE)
        return false;
    uint16_t weight = op_buffer(l->work, op, ROLE_WEIGHT);
    bool copy = weight != WORK_NONE && l->work->buffers[weight].of == buffer + 1;
    return copy || op_reads(l->work, op, buffer);
}

/* Whether an op only fetches an expert's matrices: the products read what it wrote. */
static bool loads(const struct layer *l, const struct op *op, struct met *met)
{
    bool first = reads(l, op, l->w13), fetches = op->kind == OP_GATHER || op->kind == OP_PACK;
    if (!fetches || !(first || reads(l, op, l->w2)))
        return false;
    *(first ? &met->loaded13 : &met->loaded2) = op_buffer(l->work, op, ROLE_DST);
    return true;
}

/* By order: to the router's choice, rows are permuted, dispatched, sorted again, multiplied,
 * activated, multiplied, unsorted, returned and combined. */
static enum module module_of(const struct layer *l, const struct op *op, struct met *met)
{
    bool beside = reads(l, op, l->shared13) || reads(l, op, l->shared2) ||
                  reads(l, op, l->residual13) || reads(l, op, l->residual2);
    if (beside)
        return MODULE_SHARED;
    if (reads(l, op, l->latent_down) || reads(l, op, l->latent_up))
        return reads(l, op, l->latent_down) ? MODULE_PERMUTE : MODULE_UNPERMUTE;
    if (loads(l, op, met))
        return met->sent ? MODULE_SORT : MODULE_PERMUTE;
    if (reads(l, op, l->w13) || reads(l, op, met->loaded13)) {
        met->experts = true;
        return MODULE_GATE_UP;
    }
    if (reads(l, op, l->w2) || reads(l, op, met->loaded2)) {
        met->down = true;
        return MODULE_EXPERT_DOWN;
    }
    if (op->kernel == KERNEL_TOPK || op->kernel == KERNEL_PLACE || reads(l, op, l->router))
        return MODULE_ROUTER;
    if (is_payload(l->work, op)) {
        *(met->down ? &met->returned : &met->sent) = true;
        return met->down ? MODULE_COMBINE : MODULE_DISPATCH;
    }
    if (met->experts && !met->down)
        return MODULE_ACTIVATE;
    if (!met->down)
        return met->sent ? MODULE_SORT : MODULE_PERMUTE;
    return met->returned || !met->sent ? MODULE_UNPERMUTE : MODULE_UNSORT;
}

/* The experts likewise. */
static uint16_t experts(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    struct met met = {.loaded13 = WORK_NONE, .loaded2 = WORK_NONE};
    l->module = MODULE_MLP_NORM;
    l->x = x;
    size_t first = l->work->n_ops;
    uint16_t out = layer_forward(l);
    for (size_t i = first; i < l->work->n_ops; i++)
        if (l->work->ops[i].module == MODULE_MLP_NORM) /* adapters know theirs */
            l->work->ops[i].module = module_of(l, &l->work->ops[i], &met);
    return out;
}

static uint16_t network(struct step *s, uint16_t normed)
{
    return s->in == IN_MOE ? experts(s, normed) : dense(s, normed);
}

uint16_t step_network(struct step *s, uint16_t x)
{
    s->l.module = MODULE_MLP_NORM;
    struct streams streams = step_streams(s, "mlp", x);
    uint16_t out = network(s, step_norm_in(s, "mlp_norm", streams.row));
    s->l.module = MODULE_RESIDUAL;
    return step_into(s, "layer_output", &streams, out);
}

/* Both results are added before the sum is (transformers models/{phi,falcon,gptj,cohere}). */
uint16_t step_side_by_side(struct step *s, uint16_t x)
{
    s->l.module = MODULE_ATTENTION_NORM;
    uint16_t normed = step_norm_in(s, "attention_norm", x), mixed = step_mixer(s, normed);
    s->l.module = MODULE_MLP_NORM;
    if (model_has_network_norm(&s->plan->model))
        normed = step_norm_in(s, "mlp_norm", x);
    uint16_t out = network(s, normed);
    s->l.module = MODULE_RESIDUAL;
    return step_add(s, "layer_output", x, step_add(s, "both_results", mixed, out));
}
