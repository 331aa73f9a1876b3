/* Decode's weight loads; see decode.h. */
#include "sim/moe/decode.h"

#include <math.h>

#include "work/list/dtype.h"

/* Indirect loads reach 0.8 to 1 of the streaming rate (seed 002's alpha); the lower end where
 * the plan's own threshold is 1 and gives no break-even. */
static const double indirect_efficiency = 0.8;

double decode_distinct(uint64_t experts, uint64_t top_k, double tokens)
{
    double e = (double)experts, k = (double)top_k;
    return e * (1 - pow(1 - k / e, tokens));
}

double decode_distinct_variance(uint64_t experts, uint64_t top_k, double tokens)
{
    double e = (double)experts, k = (double)top_k;
    double miss = pow(1 - k / e, tokens);
    double both = experts > 1 ? pow((e - k) * (e - k - 1) / (e * (e - 1)), tokens) : 0;
    return fmax(0, e * miss * (1 - miss) + e * (e - 1) * (both - miss * miss));
}

double decode_distinct_of(const double *pi, uint64_t experts, double tokens)
{
    double sum = 0;
    for (uint64_t e = 0; e < experts; e++)
        sum += 1 - pow(1 - fmin(pi[e], 1), tokens);
    return sum;
}

uint64_t decode_switch_batch(uint64_t experts, uint64_t top_k, double threshold)
{
    double batch = ceil(threshold * (double)experts / (double)top_k - 1e-9);
    return batch > 1 ? (uint64_t)batch : 1;
}

double decode_break_even(uint64_t experts, uint64_t top_k, double efficiency)
{
    if (top_k >= experts)
        return 0;
    return log(1 - efficiency) / log(1 - (double)top_k / (double)experts);
}

double decode_break_even_plain(uint64_t experts, uint64_t top_k, double efficiency)
{
    return efficiency * (double)experts / (double)top_k;
}

uint64_t decode_expert_bytes(enum dtype dtype, uint64_t hidden, uint64_t inter, bool glu)
{
    return (glu ? 2u : 1u) * dtype_matrix_bytes(dtype, hidden, inter) +
           dtype_matrix_bytes(dtype, inter, hidden);
}

void decode_of(const struct decode_ask *ask, struct decode *out)
{
    double batch = (double)ask->batch, share = (double)ask->local / (double)ask->experts;
    double distinct = ask->pi ? decode_distinct_of(ask->pi, ask->experts, batch)
                              : decode_distinct(ask->experts, ask->top_k, batch);
    *out = (struct decode){.expected_experts_loaded = distinct * share};
    out->sd = sqrt(decode_distinct_variance(ask->experts, ask->top_k, batch)) * share;
    out->fraction_loaded = distinct / (double)ask->experts;
    double loads = ask->dedup ? distinct : batch * (double)ask->top_k;
    out->bytes_selective = (uint64_t)(loads * share * (double)ask->expert_bytes + 0.5);
    out->bytes_all = ask->local * ask->expert_bytes;
    out->switch_batch = decode_switch_batch(ask->experts, ask->top_k, ask->threshold);
    double efficiency = ask->threshold < 1 ? ask->threshold : indirect_efficiency;
    out->break_even_batch = ask->dedup
                                ? decode_break_even(ask->experts, ask->top_k, efficiency)
                                : decode_break_even_plain(ask->experts, ask->top_k, efficiency);
    bool all = ask->batch >= out->switch_batch;
    out->algorithm = all ? "all_experts" : "selective";
    out->bytes_loaded = all ? out->bytes_all : out->bytes_selective;
}
