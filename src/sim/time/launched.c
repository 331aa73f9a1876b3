/* See launched.h. */
#include "sim/time/launched.h"

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/dtype.h"
#include "work/path/path.h"

/* Modules that Megatron's scopes of a graph capture (transformer/cuda_graphs.py). */
static bool in_scope(const char *scope, const struct op *op)
{
    bool experts = segment_has_experts(op->segment);
    enum module m = op->module;
    if (text_equal(scope, "attn"))
        return m <= MODULE_PROJECTION;
    if (text_equal(scope, "moe_router"))
        return experts && (m == MODULE_MLP_NORM || m == MODULE_SHARED || m == MODULE_ROUTER);
    if (text_equal(scope, "moe_preprocess"))
        return experts && m == MODULE_PERMUTE && op->kind != OP_GATHER;
    if (text_equal(scope, "moe"))
        return experts && m > MODULE_PROJECTION;
    return text_equal(scope, "mlp") && !experts && m > MODULE_PROJECTION;
}

/* Work on routed rows, whose shapes a graph does not know. */
static bool is_routed(const struct op *op, enum profile_item item)
{
    return segment_has_experts(op->segment) &&
           (item == PROFILE_INDEX || item == PROFILE_MOVE || item == PROFILE_GROUPED ||
            item == PROFILE_ALL_TO_ALL);
}

/* vLLM splits its graph at whatever mixes tokens through the cache, and, with DeepEP's normal
 * kernels, at the experts (config/compilation.py, splitting_ops; docs/design/cuda_graphs.md).
 */
static bool in_piece(const struct stepper *s, const struct op *op, enum profile_item item)
{
    bool mixes = item == PROFILE_ATTENTION || op->kind == OP_CACHE;
    bool counts = path_system_of(s->plan.moe.path)->exchange == EXCHANGE_TOKENS;
    return !mixes && !(counts && is_routed(op, item));
}

/* A captured graph launches all of it; `partial` leaves to the host what splits an engine's
 * graphs, elsewhere routed work or what stack.graph_modules does not name. */
static bool is_captured(const struct stepper *s, enum graphs graphs, const struct op *op,
                        enum profile_item item)
{
    const struct word_list *scopes = &s->plan.stack.graph_modules;
    bool reads = s->plan.workload.mode == MODE_TRAIN && plan_is_megatron(&s->plan);
    if (graphs != GRAPHS_PARTIAL)
        return graphs == GRAPHS_FULL;
    if (plan_is_engine(&s->plan))
        return in_piece(s, op, item);
    if (!reads || !scopes->n)
        return !is_routed(op, item);
    for (uint64_t i = 0; i < scopes->n; i++)
        if (in_scope(scopes->word[i], op))
            return true;
    return false;
}

bool launched_by_python(const struct plan *plan, enum graphs graphs)
{
    bool compiled = plan->stack.kind == STACK_VLLM && graphs == GRAPHS_NONE &&
                    plan->stack.graphs != GRAPHS_NONE;
    return plan_is_engine(plan) && !compiled;
}

/* Kernels that an engine's Python launches: none of what the list has beyond them, which takes
 * no time; of an engine's call for all experts those of the call. */
static double kernels(const struct stepper *s, const struct op *op, enum profile_item item)
{
    const struct rates *r = &s->pricing.rates;
    uint16_t weights = op_buffer(&s->work, op, ROLE_WEIGHT);
    bool narrow = weights != WORK_NONE && dtype_bits(s->work.buffers[weights].dtype) <= 8;
    if (s->op_s[op - s->work.ops] <= 0 || price_is_along(&s->pricing, op))
        return 0;
    if (price_is_call(&s->pricing, op))
        item = PROFILE_EXPERTS;
    return narrow ? r->launches[item] : r->wide_launches[item];
}

/* Kernels that a HuggingFace model's Python launches, and autograd, from C++, on the way back.
 */
static double modules_s(const struct stepper *s, const struct op *op)
{
    const struct rates *r = &s->pricing.rates;
    bool python = op->phase == PHASE_FORWARD || op->phase == PHASE_RECOMPUTE;
    if (s->op_s[op - s->work.ops] <= 0)
        return 0;
    return (op->launches ? op->launches : 1) * (python ? r->eager_s : r->launch_s);
}

double launched_s(const struct stepper *s, enum graphs graphs, const struct op *op,
                  enum profile_item item)
{
    const struct rates *r = &s->pricing.rates;
    double trips = op->loop ? (double)s->values[op->trips.node] : 1;
    if (is_captured(s, graphs, op, item))
        return 0;
    if (plan_is_huggingface(&s->plan))
        return trips * modules_s(s, op);
    if (op->done & DONE_CALLED && s->op_s[op - s->work.ops] > 0)
        return trips * r->launch_s;
    return trips * (launched_by_python(&s->plan, graphs) ? kernels(s, op, item) * r->eager_s
                                                         : r->launch_s);
}

double launched_piece_s(const struct stepper *s, enum graphs graphs, enum segment segment)
{
    bool pieces = graphs == GRAPHS_PARTIAL && plan_is_engine(&s->plan);
    bool layer = segment != SEGMENT_EMBED && segment != SEGMENT_HEAD;
    return pieces && layer ? s->pricing.rates.graph_s : 0;
}
