/* Quantities of time: what `predict` says of plans, by the profile of their stack. */

#include "base/text.h"
#include "calib/claim/claim_quantity.h"
#include "calib/table/quantity.h"
#include "sim/moe/collective.h"
#include "sim/answer/predict.h"
#include "sim/step/interval.h"
#include "sim/time/rates.h"

static struct profile *profile_of(struct claim_call *call, const struct plan *plan)
{
    struct profile *profile = arena_alloc(call->arena, 1, sizeof *profile);
    return profile_load(plan, call->arena, profile, call->err) == STATUS_OK ? profile : NULL;
}

/* Agrees within the interval of its profile. A profile that was calibrated on such runs answers
 * by what it was fitted to. */
static struct claim_answer within(struct claim_call *call, double value,
                                  const struct profile *profile, double error, bool outside)
{
    struct claim_answer answer = claim_is(value);
    answer.spread = value * error;
    answer.fitted = profile->calibrated && !outside;
    answer.note =
        arena_printf(call->arena, "by profile %s, %s, give or take %.1f %%", profile->name,
                     answer.fitted         ? "fitted to such runs"
                     : profile->calibrated ? "of other runs"
                                           : "uncalibrated",
                     100 * error);
    return answer;
}

/* A number of predict's record, which "value" names. */
static struct claim_answer time_value(struct claim_call *call)
{
    struct plan plan;
    struct prediction p;
    const char *name = claim_word(call, "value");
    const struct quantity *quantity = quantity_find(name);
    if (!claim_plan(call, &plan))
        return claim_is(0);
    const struct profile *profile = profile_of(call, &plan);
    const struct time_ask ask = {.profile = profile, .spread = true};
    const struct predict_options options = {.memory_only = true, .time = &ask};
    if (!profile || predict(&plan, &options, call->arena, &p, call->err) != STATUS_OK)
        return claim_is(0);
    if (!quantity) {
        err_set(call->err, STATUS_INPUT, "no number \"%s\" in a prediction", name);
        return claim_is(0);
    }
    bool outside;
    double error = time_error(profile, &plan, &outside);
    return within(call, quantity_of(quantity, &p), profile, error, outside);
}

/* A collective matmul or MLP, its parts one after the other, on chips each wired to all of its
 * group: products and links at the profile's shares of their peaks. "links": of a chip that the
 * algorithm keeps busy. */
static struct claim_answer block_time(struct claim_call *call)
{
    struct plan plan;
    struct collective_block b;
    struct rates rates;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    plan.cluster.mesh.n = 0;
    plan.cluster.node.link_bandwidth *= claim_number_or(call, "links", 1);
    const struct profile *profile = profile_of(call, &plan);
    if (!profile || !collective_block_of(&plan, 1, &b)) {
        err_set(call->err, STATUS_INPUT, "block.kind is missing");
        return claim_is(0);
    }
    rates_init(&rates, &plan, plan.moe.path, profile, NULL);
    double products = b.matmul_s / rates.kernel[PROFILE_GEMM].efficiency.value,
           wire = (b.gather_s + b.reduce_s) /
                  rates.link[PROFILE_REDUCE_SCATTER][PROFILE_SCALE_UP].efficiency.value;
    double error = time_error(profile, &plan, NULL);
    struct claim_answer answer = within(call, products + wire, profile, error, true);
    answer.note =
        arena_printf(call->arena, "%.3f ms of products and %.3f ms on %g links at peak, %s",
                     b.matmul_s * 1e3, (b.gather_s + b.reduce_s) * 1e3,
                     claim_number_or(call, "links", 1), answer.note);
    return answer;
}

const struct claim_quantity claim_time[] = {
    {"time.value", time_value, CLAIM_PREDICTED},
    {"block.time", block_time, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};
