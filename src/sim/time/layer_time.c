/* See layer_time.h. */
#include "sim/time/layer_time.h"

#include "plan/derive.h"
#include "plan/layers.h"
#include "sim/time/overlap.h"
#include "sim/time/step_halves.h"

/* The experts' products of a segment's layer, forward. */
static double grouped_s(const struct stepper *s, unsigned segment)
{
    double sum = 0;
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        bool product = op->module == MODULE_GATE_UP || op->module == MODULE_EXPERT_DOWN;
        if ((unsigned)op->segment == segment && op->phase == PHASE_FORWARD && product &&
            op->group == GROUP_NONE)
            sum += stretch_share(s, op) * s->op_s[i];
    }
    return sum;
}

/* Forward FLOP of a rank's rows, padding left out. */
static double useful_flop(const struct plan *plan, double rows)
{
    const struct model *model = &plan->model;
    double matrices = model->moe.glu ? 3 : 2;
    return 2 * matrices * (double)model_row_width(model) * (double)model->moe.intermediate *
           rows / (double)plan->parallel.etp;
}

static double over(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

/* The first kind of layer that has experts. */
void layer_time_of(const struct stepper *s, double rows, struct layer_time *out)
{
    struct stretches all;
    unsigned segment = 0;
    *out = (struct layer_time){0};
    if (!plan_has_experts(&s->plan)) /* the list has ops of such a layer, none of them used */
        return;
    stretches_routed(&all, s);
    while (segment < SEGMENT_COUNT &&
           !(stretches_at(&all, segment, PASS_FORWARD)->serial_s > 0))
        segment++;
    if (segment == SEGMENT_COUNT)
        return;
    struct stretch *pass = all.layer[segment];
    double layers = (double)s->values[s->work.use[segment].repeat.node];
    if (layers > 0)
        pass[PASS_FORWARD].part_s[TIME_EXCHANGE] -=
            step_halves_hidden_s(s, (enum segment)segment, layers) / layers;
    overlap_passes(&s->pricing, pass);
    double forward = stretch_s(&pass[PASS_FORWARD]), grouped = grouped_s(s, segment),
           both = forward + stretch_s(&pass[PASS_BACKWARD]), tokens = step_tokens(&s->plan),
           rate = over(useful_flop(&s->plan, rows), grouped);
    *out = (struct layer_time){
        .forward_s = forward,
        .forward_backward_s = both,
        .forward_serial_s = pass[PASS_FORWARD].serial_s,
        .grouped_gemm_s = grouped,
        .useful_flop_per_s = rate,
        .mfu_useful = over(rate, s->pricing.rates.peak_flop_per_s),
        .forward_tokens_per_s = over(tokens, forward),
        .forward_backward_tokens_per_s = over(tokens, both),
    };
}
