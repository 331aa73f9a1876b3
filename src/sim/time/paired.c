/* See paired.h. */
#include "sim/time/paired.h"

#include <math.h>

#include "plan/derive.h"
#include "work/list/kernel.h"

/* When both streams are free. */
struct streams {
    double compute_s, comm_s;
};

/* A layer's nodes as they are issued, each no earlier than what it needs. */
static struct streams run(const struct pair_layer *l, struct streams at)
{
    const double *f = l->forward_s, *b = l->backward_s, *w = l->weight_s;
    double combine_back = at.comm_s + b[NODE_COMBINE];
    double attention = at.compute_s + f[NODE_ATTENTION];
    double begun = fmax(attention, combine_back); /* streams and rows alike */
    double experts_back = begun + b[NODE_EXPERTS], dispatch = begun + f[NODE_DISPATCH];
    double dispatch_back = fmax(dispatch, experts_back) + b[NODE_DISPATCH];
    double experts = fmax(experts_back + w[NODE_EXPERTS], dispatch) + f[NODE_EXPERTS];
    double both = fmax(experts, dispatch_back);
    double combine = both + f[NODE_COMBINE], attention_back = both + b[NODE_ATTENTION];
    return (struct streams){fmax(attention_back + w[NODE_ATTENTION], combine),
                            fmax(attention_back, combine)};
}

double paired_period_s(const struct pair_layer *l)
{
    struct streams by_compute = run(l, (struct streams){0, -HUGE_VAL});
    struct streams by_comm = run(l, (struct streams){-HUGE_VAL, 0});
    double turn = (by_compute.comm_s + by_comm.compute_s) / 2;
    return fmax(fmax(by_compute.compute_s, by_comm.comm_s), turn);
}

/* All nodes in turn. */
static double serial_s(const struct pair_layer *l)
{
    double s = 0;
    for (unsigned i = 0; i < PAIR_NODES; i++)
        s += l->forward_s[i] + l->backward_s[i] + l->weight_s[i];
    return s;
}

double paired_saved_s(const struct pair_layer *l, double share)
{
    double most = share * (l->exchange_s[PASS_FORWARD] + l->exchange_s[PASS_BACKWARD]);
    return fmin(fmax(serial_s(l) - paired_period_s(l), 0), most);
}

double paired_alone_s(const struct pair_layer *l, double share)
{
    return share * fmin(l->backward_s[NODE_DISPATCH], l->weight_s[NODE_EXPERTS]);
}

double paired_rows_s(const struct pair_layer *l)
{
    double attention = l->backward_s[NODE_ATTENTION] + l->weight_s[NODE_ATTENTION];
    return fmax(attention - l->forward_s[NODE_COMBINE], 0);
}

double paired_gradients_s(const struct pair_layer *l)
{
    return fmax(l->weight_s[NODE_ATTENTION],
                l->forward_s[NODE_COMBINE] - l->backward_s[NODE_ATTENTION]);
}

/* combined_1f1b.py is called without stages and with interleaved ones; DualPipe pairs the
 * chunks of both ends (dualpipe.py, _forward_backward_chunk; which ops of theirs run beside
 * each other it leaves to the model: as Megatron's here, DeepSeek's own is no public code).
 * Other orders pair nothing, and hide exchanges in their own pass (overlap.h). */
bool paired_is_on(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool ordered =
        p->pp == 1 || p->schedule == PIPELINE_1F1B || p->schedule == PIPELINE_INTERLEAVED;
    bool dual = p->schedule == PIPELINE_DUALPIPE && p->pp > 1 && plan->stack.overlap_ep;
    bool pairs = (plan_overlaps_experts(plan) && ordered) || (dual && p->ep > 1);
    return plan->workload.mode == MODE_TRAIN && pairs &&
           !plan->moe.overlap; /* rounds of a loop hide their own */
}

static enum pair_node node_of(const struct op *op, bool link)
{
    if (op->module < MODULE_DISPATCH)
        return NODE_ATTENTION;
    if (op->module == MODULE_DISPATCH)
        return link ? NODE_DISPATCH : NODE_ATTENTION;
    return op->module < MODULE_COMBINE ? NODE_EXPERTS : NODE_COMBINE;
}

/* Copies and what data parallelism gathers are on streams of their own; sends are the
 * pipeline's. */
static bool is_of(const struct op *op, enum segment segment, enum profile_item item)
{
    return op->segment == segment && op->phase != PHASE_UPDATE && op->group != GROUP_PP &&
           !process_group_is_data(op->group) && profile_item_class(item) != PROFILE_OFFLOAD;
}

void paired_layer_of(const struct stepper *s, enum segment segment, struct pair_layer *out)
{
    /* tasks of their own then (sim/time/pipeline) */
    const struct parallel *p = &s->plan.parallel;
    const bool apart = p->schedule == PIPELINE_DUALPIPE && p->pp > 1;
    *out = (struct pair_layer){.exchange_s = {0}};
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        enum profile_item item = (enum profile_item)s->item[i];
        if (!is_of(op, segment, item))
            continue;
        double seconds = stretch_share(s, op) * s->op_s[i];
        bool link = profile_item_class(item) == PROFILE_COLLECTIVE && op->group == GROUP_EP;
        enum pair_node node = node_of(op, link);
        bool back = op->phase != PHASE_FORWARD, carries = node == NODE_DISPATCH;
        carries |= node == NODE_COMBINE && link;
        bool weight = op->kernel == KERNEL_WGRAD, later = weight && s->plan.stack.delay_wgrad;
        if (weight && apart)
            continue;
        double *sum = !back ? out->forward_s : later ? out->weight_s : out->backward_s;
        sum[node] += seconds;
        out->exchange_s[back ? PASS_BACKWARD : PASS_FORWARD] += carries ? seconds : 0;
    }
}
