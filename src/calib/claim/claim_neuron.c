/* Quantities of serving on Neuron (seed 002): router, intensity, decode. */
#include <math.h>

#include "base/unit.h"
#include "calib/claim/claim_quantity.h"
#include "sim/moe/decode.h"
#include "sim/moe/intensity.h"

/* ---- router ---- */

static double router_bytes(struct claim_call *call)
{
    return claim_number(call, "hidden") * claim_number(call, "experts") * 2 *
           claim_number_or(call, "layers", 1);
}

static struct claim_answer router_weight(struct claim_call *call)
{
    double bytes = router_bytes(call);
    struct claim_answer answer = claim_is(bytes);
    answer.note = arena_printf(call->arena, "%.0f B", bytes);
    return answer;
}

/* Copies of all router weights over memory: one per rank over a rank's, or over a device's, or
 * one over the whole instance. */
static struct claim_answer router_share(struct claim_call *call)
{
    struct plan plan;
    double bytes = router_bytes(call), copies = claim_number_or(call, "copies", 1);
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double memory = claim_number(call, "devices") * (double)plan.cluster.device.memory_bytes /
                    claim_number_or(call, "ranks_per_device", 1);
    struct claim_answer answer = claim_is(bytes * copies / memory);
    answer.note = arena_printf(call->arena, "%.0f x %.1f MB of %.0f GiB", copies, bytes / 1e6,
                               memory / GIB);
    return answer;
}

/* Bytes gathered per token when all logits are, over those of the K chosen and their indices.
 */
static struct claim_answer gather_ratio(struct claim_call *call)
{
    double value = claim_number_or(call, "value_bytes", 2);
    double naive = claim_number(call, "experts") * value;
    double delayed = claim_number(call, "top_k") * (value + claim_number(call, "index_bytes"));
    struct claim_answer answer = claim_is(naive / delayed);
    answer.note = arena_printf(call->arena, "%.0f B of logits, %.0f B of choices per token",
                               naive, delayed);
    return answer;
}

/* ---- intensity ---- */

static struct claim_answer gemm_intensity(struct claim_call *call)
{
    double m = claim_number(call, "m"), k = claim_number(call, "k");
    return claim_is(intensity_gemm(m, k, claim_number(call, "n"), 2));
}

/* FLOP per byte at which a machine stops waiting for memory. */
static struct claim_answer ridge(struct claim_call *call)
{
    struct plan plan;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    const struct device *device = &plan.cluster.device;
    double peak = intensity_peak(&plan);
    struct claim_answer answer = claim_is(peak / device->memory_bandwidth);
    answer.note = arena_printf(call->arena, "%.0f TFLOP/s over %.2f TB/s", peak / 1e12,
                               device->memory_bandwidth / 1e12);
    return answer;
}

/* ---- decode ---- */

static uint64_t most_experts(struct claim_call *call)
{
    uint64_t experts = claim_count(call, "experts");
    uint64_t choices = claim_count(call, "batch") * claim_count(call, "top_k");
    return choices < experts ? choices : experts;
}

static struct claim_answer most_distinct(struct claim_call *call)
{
    return claim_is((double)most_experts(call));
}

static struct claim_answer most_share(struct claim_call *call)
{
    struct claim_answer answer =
        claim_is((double)most_experts(call) / claim_number(call, "experts"));
    answer.note = arena_printf(call->arena, "%d of %.0f", (int)most_experts(call),
                               claim_number(call, "experts"));
    return answer;
}

static struct claim_answer distinct(struct claim_call *call)
{
    uint64_t experts = claim_count(call, "experts"), top_k = claim_count(call, "top_k");
    double batch = claim_number(call, "batch");
    double sd = sqrt(decode_distinct_variance(experts, top_k, batch));
    struct claim_answer answer = claim_is(decode_distinct(experts, top_k, batch));
    answer.note = arena_printf(call->arena, "expected, +- %.2f", sd);
    return answer;
}

static struct claim_answer saving(struct claim_call *call)
{
    struct claim_answer loaded = distinct(call);
    struct claim_answer answer = claim_is(1 - loaded.number / claim_number(call, "experts"));
    answer.note = arena_printf(call->arena, "%.2f of %.0f experts expected", loaded.number,
                               claim_number(call, "experts"));
    return answer;
}

static struct claim_answer switch_batch(struct claim_call *call)
{
    uint64_t experts = claim_count(call, "experts"), top_k = claim_count(call, "top_k");
    return claim_is(
        (double)decode_switch_batch(experts, top_k, claim_number(call, "threshold")));
}

static struct claim_answer break_even(struct claim_call *call)
{
    uint64_t experts = claim_count(call, "experts"), top_k = claim_count(call, "top_k");
    return claim_is(decode_break_even(experts, top_k, claim_number(call, "efficiency")));
}

/* Largest batch whose choices could touch at most half of the experts, by the bound. */
static struct claim_answer half_batch(struct claim_call *call)
{
    uint64_t experts = claim_count(call, "experts"), top_k = claim_count(call, "top_k");
    return claim_is(top_k ? floor((double)experts / 2 / (double)top_k) : 0);
}

const struct claim_quantity claim_neuron[] = {
    {"router.weight_bytes", router_weight, CLAIM_PREDICTED},
    {"router.share", router_share, CLAIM_PREDICTED},
    {"router.gather_ratio", gather_ratio, CLAIM_PREDICTED},
    {"intensity.gemm", gemm_intensity, CLAIM_PREDICTED},
    {"intensity.ridge", ridge, CLAIM_PREDICTED},
    {"decode.most_distinct", most_distinct, CLAIM_PREDICTED},
    {"decode.most_share", most_share, CLAIM_PREDICTED},
    {"decode.distinct", distinct, CLAIM_PREDICTED},
    {"decode.saving", saving, CLAIM_PREDICTED},
    {"decode.switch_batch", switch_batch, CLAIM_PREDICTED},
    {"decode.break_even", break_even, CLAIM_PREDICTED},
    {"decode.half_batch", half_batch, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};
