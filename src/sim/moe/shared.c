/* Shared experts, SP against TP; see shared.h. */
#include "sim/moe/shared.h"

#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/moe/intensity.h"
#include "work/list/dtype.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

static uint64_t layer_bytes(const struct shared_ask *ask, uint64_t inter)
{
    return (ask->glu ? 2u : 1u) * dtype_matrix_bytes(ask->weights, ask->hidden, inter) +
           dtype_matrix_bytes(ask->weights, inter, ask->hidden);
}

static double seconds(const struct shared_ask *ask, const struct shared_cost *cost)
{
    double compute = ask->flop_per_s > 0 ? cost->flop / ask->flop_per_s : 0;
    double memory = ask->bytes_per_s > 0 ? (double)cost->read_bytes / ask->bytes_per_s : 0;
    double wire =
        ask->link_bytes_per_s > 0 ? (double)cost->sent_bytes / ask->link_bytes_per_s : 0;
    return fmax(compute, memory) + wire;
}

static void finish(const struct shared_ask *ask, struct shared_cost *cost)
{
    double matrices = ask->glu ? 3 : 2;
    cost->flop = 2 * matrices * (double)ask->hidden * (double)ask->inter * (double)ask->tokens /
                 (double)ask->tp;
    cost->flop_per_byte = cost->flop / (double)cost->read_bytes;
    cost->all_weight_bytes = cost->weight_bytes * ask->layers;
    cost->seconds = seconds(ask, cost);
}

static void choose(const struct shared_ask *ask, struct shared *s)
{
    bool fits = s->sp.all_weight_bytes <= ask->free_bytes;
    s->choice = SHARED_TP;
    if (ask->tp == 1) {
        s->choice = SHARED_SP;
        s->why = "one rank holds everything";
    } else if (!fits) {
        s->why = "replicated weights do not fit";
    } else if (ask->decode) {
        s->why = "decode: each rank computes its slice of the weights";
    } else if (s->sp.seconds <= s->tp.seconds) {
        s->choice = SHARED_SP;
        s->why = "replicated weights fit, and reading them costs less than the exchange";
    } else {
        s->why = "reading whole weights for a part of the tokens costs more than the exchange";
    }
}

void shared_of(const struct shared_ask *ask, struct shared *out)
{
    uint64_t whole = layer_bytes(ask, ask->inter);
    uint64_t part = layer_bytes(ask, ceil_div(ask->inter, ask->tp));
    uint64_t moved = ask->tokens * ask->hidden * dtype_bits(ask->activations) / 8;
    *out = (struct shared){0};
    out->sp.weight_bytes = whole;
    out->sp.read_bytes = ask->decode ? part : whole;
    out->tp.weight_bytes = out->tp.read_bytes = part;
    if (!ask->gathered)
        out->tp.sent_bytes = 2 * (moved - moved / ask->tp);
    finish(ask, &out->sp);
    finish(ask, &out->tp);
    choose(ask, out);
}

bool shared_ask_of(const struct plan *plan, uint64_t free_bytes, struct shared_ask *ask)
{
    const struct device *device = &plan->cluster.device;
    double cores = (double)device->logical_cores;
    const struct parallel *p = &plan->parallel;
    const struct path_system *path = path_system_of(stack_path(plan, NULL));
    if (plan->model.moe.shared_intermediate == 0)
        return false;
    bool decode = plan->workload.mode == MODE_DECODE;
    *ask = (struct shared_ask){
        .tokens = plan_tokens(plan) * (p->sp && (!decode || plan_is_engine(plan)) ? p->tp : 1),
        .tp = p->tp,
        .hidden = plan->model.hidden,
        .inter = plan->model.moe.shared_intermediate,
        .glu = plan->model.moe.glu,
        .weights = plan->precision.weights,
        .activations = plan->precision.activations,
        .layers = ceil_div(plan_moe_layers(plan), p->pp),
        .gathered = path->exchange == EXCHANGE_GATHER || !p->sp,
        .decode = decode,
        .free_bytes = free_bytes,
        .flop_per_s = intensity_peak(plan) / cores,
        .bytes_per_s = device->memory_bandwidth / cores,
        .link_bytes_per_s = plan->cluster.node.link_bandwidth / cores,
    };
    return true;
}
