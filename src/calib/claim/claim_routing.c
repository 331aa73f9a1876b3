/* Quantities of pooled experts (seed 001): rows per expert, padding, rates, skew. */
#include <math.h>

#include "calib/claim/claim_quantity.h"
#include "sim/moe/capacity.h"
#include "sim/moe/intensity.h"
#include "sim/moe/load.h"
#include "work/rows/align.h"
#include "plan/params.h"

/* Tokens per rank, top_k, experts and ranks of the call; a Zipf law when its exponent, the
 * argument of that name, is given. */
static bool group(struct claim_call *call, const char *alpha, struct rows *rows)
{
    struct rows_spec spec = {
        .tokens = claim_count(call, "tokens"),
        .top_k = claim_count(call, "top_k"),
        .experts = claim_count(call, "experts"),
        .ranks = claim_count(call, "ranks"),
        .routing = {.distribution = DISTRIBUTION_ZIPF,
                    .placement = PLACEMENT_STRIDED,
                    .alpha = claim_number_or(call, alpha, 0),
                    .seed = 1},
    };
    if (!(spec.routing.alpha > 0))
        spec.routing.distribution = DISTRIBUTION_UNIFORM;
    return call->err->status == STATUS_OK &&
           rows_prepare(&spec, call->arena, rows, call->err) == STATUS_OK;
}

static struct claim_answer mean_rows(struct claim_call *call)
{
    struct rows rows;
    if (!group(call, "alpha", &rows))
        return claim_is(0);
    double sum = 0;
    for (uint64_t e = 0; e < rows.spec.experts; e++)
        sum += rows.laws[0].pi[e];
    return claim_is(sum * (double)(rows.spec.tokens * rows.spec.ranks) /
                    (double)rows.spec.experts);
}

/* Spread of an expert's rows around their mean: one standard deviation, relative. */
static struct claim_answer load_cv(struct claim_call *call)
{
    struct rows rows;
    if (!group(call, "alpha", &rows))
        return claim_is(0);
    double pi = rows.laws[0].pi[0], n = (double)(rows.spec.tokens * rows.spec.ranks);
    return claim_is(sqrt(n * pi * (1 - pi)) / (n * pi));
}

static bool sampled(struct claim_call *call, const char *alpha, struct load *load)
{
    struct rows rows;
    const struct load_ask ask = {.method = LOAD_EXACT,
                                 .samples = (uint64_t)claim_number_or(call, "samples", 12)};
    if (!group(call, alpha, &rows))
        return false;
    load_of(&rows, &ask, call->arena, load);
    return true;
}

/* 10th percentile over experts, mean of sampled steps. */
static struct claim_answer p10_rows(struct claim_call *call)
{
    struct load load;
    if (!sampled(call, "alpha", &load))
        return claim_is(0);
    struct claim_answer answer = claim_is(load.p10);
    answer.note =
        arena_printf(call->arena, "mean of %d sampled steps, busiest rank %.2f x mean",
                     (int)load.samples, load.rank_imbalance);
    return answer;
}

/* Whether the busiest rank has less to do at `alpha` than at `than`: "faster" or "slower". */
static struct claim_answer faster(struct claim_call *call)
{
    struct load here, there;
    if (!sampled(call, "alpha", &here) || !sampled(call, "than", &there))
        return claim_says("");
    bool less = here.rank_imbalance < there.rank_imbalance;
    struct claim_answer answer = claim_says(less ? "faster" : "slower");
    answer.note = arena_printf(call->arena, "busiest rank %.2f x mean, against %.2f x",
                               here.rank_imbalance, there.rank_imbalance);
    return answer;
}

/* ---- padding and rates ---- */

static struct claim_answer rdep_padding(struct claim_call *call, uint64_t ranks)
{
    uint64_t experts = claim_count(call, "experts");
    struct align_ask ask = {.tokens = claim_count(call, "tokens"),
                            .top_k = claim_count(call, "top_k"),
                            .ranks = ranks,
                            .experts = experts / (ranks ? ranks : 1)};
    ask.rows = ask.tokens * ask.top_k;
    double allocated = (double)align_allocated(ALIGN_RDEP, &ask);
    struct claim_answer answer = claim_is(allocated / (double)ask.rows);
    answer.note =
        arena_printf(call->arena, "%.0f rows allocated for %.0f", allocated, (double)ask.rows);
    return answer;
}

static struct claim_answer rdep_factor(struct claim_call *call)
{
    return rdep_padding(call, claim_count(call, "ranks"));
}

static struct claim_answer capacity_rows(struct claim_call *call)
{
    uint64_t tokens = claim_count(call, "tokens"), top_k = claim_count(call, "top_k");
    return claim_is((double)capacity_slots(CAPACITY_RULE_MAXTEXT, tokens, top_k,
                                           claim_count(call, "experts"),
                                           claim_number(call, "factor")));
}

/* What most of a gain in the useful rate comes from, of one rank against `ranks`: the padding
 * that is left out, or products that run faster. Shares of logarithms. */
static struct claim_answer gain_cause(struct claim_call *call)
{
    double gain = claim_number(call, "after") / claim_number(call, "before");
    double padding =
        rdep_padding(call, 1).number / rdep_padding(call, claim_count(call, "ranks")).number;
    double share = log(padding) / log(gain);
    struct claim_answer answer = claim_says(share > 0.5 ? "less padding" : "hotter products");
    answer.note = arena_printf(call->arena, "%.1f %% of the gain of %.3f x is less padding",
                               100 * share, gain);
    return answer;
}

/* Forward FLOPs of an owner's rows, padding left out. */
static double useful_flop(struct claim_call *call)
{
    struct intensity intensity;
    const struct intensity_ask ask = {
        .rows = claim_number(call, "tokens") * claim_number(call, "top_k"),
        .loads = 1,
        .hidden = claim_count(call, "hidden"),
        .inter = claim_count(call, "inter"),
        .glu = true,
        .expert_bytes = 1,
    };
    intensity_of(&ask, 0, 0, &intensity);
    return intensity.flop;
}

static struct claim_answer useful_rate(struct claim_call *call)
{
    double flop = useful_flop(call), seconds = claim_number(call, "seconds");
    struct claim_answer answer = claim_is(flop / seconds);
    answer.note = arena_printf(call->arena, "%.0f FLOP", flop);
    return answer;
}

/* A rate as a share of the machine's peak. */
static struct claim_answer share_of_peak(struct claim_call *call)
{
    struct plan plan;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double peak = intensity_peak(&plan);
    struct claim_answer answer = claim_is(claim_number(call, "tflop_per_s") * 1e12 / peak);
    answer.note = arena_printf(call->arena, "of %.0f TFLOP/s dense bf16", peak / 1e12);
    return answer;
}

/* No layer is faster than its products at peak, or than its rows over the links. */
static struct claim_answer layer_floor(struct claim_call *call)
{
    struct plan plan;
    double flop = useful_flop(call), ranks = claim_number(call, "ranks");
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double rows = claim_number(call, "tokens") * claim_number(call, "top_k");
    double wire = rows * (ranks - 1) / ranks * (2 * claim_number(call, "hidden") + 16) /
                  plan.cluster.node.link_bandwidth;
    double passes = claim_number_or(call, "passes", 1);
    struct claim_answer answer =
        claim_at_least(fmax(passes * flop / intensity_peak(&plan), wire));
    answer.note = "products at peak or one dispatch, whichever is longer";
    return answer;
}

/* Where a larger machine is slower, per rank and at the same load: beyond 1.2 x. */
static struct claim_answer pressure(struct claim_call *call)
{
    double p50 = claim_number(call, "p50") / claim_number(call, "small_p50");
    double p99 = claim_number(call, "p99") / claim_number(call, "small_p99");
    struct claim_answer answer = claim_says(p50 > 1.2   ? "median and tail"
                                            : p99 > 1.2 ? "tail latency"
                                                        : "nothing");
    answer.note = arena_printf(call->arena, "p50 %.2f x, p99 %.2f x", p50, p99);
    return answer;
}

/* Rate per device that a throughput means for a model. */
static struct claim_answer training_rate(struct claim_call *call)
{
    struct plan plan;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double flop = (double)params_flop_per_token(
        &plan.model, (uint64_t)claim_number_or(call, "sequence", 4096));
    struct claim_answer answer =
        claim_is(flop * claim_number(call, "tokens_per_s") / claim_number(call, "devices"));
    answer.note = arena_printf(call->arena, "%.2f GFLOP per token", flop / 1e9);
    return answer;
}

const struct claim_quantity claim_routing[] = {
    {"rows.mean", mean_rows, CLAIM_PREDICTED},
    {"rows.cv", load_cv, CLAIM_PREDICTED},
    {"rows.p10", p10_rows, CLAIM_PREDICTED},
    {"rows.faster", faster, CLAIM_PREDICTED},
    {"padding.rdep", rdep_factor, CLAIM_PREDICTED},
    {"capacity.slots", capacity_rows, CLAIM_PREDICTED},
    {"gemm.useful_rate", useful_rate, CLAIM_PREDICTED},
    {"gemm.share_of_peak", share_of_peak, CLAIM_PREDICTED},
    {"gain.cause", gain_cause, CLAIM_PREDICTED},
    {"layer.floor", layer_floor, CLAIM_PREDICTED},
    {"layer.pressure", pressure, CLAIM_PREDICTED},
    {"model.training_rate", training_rate, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};
