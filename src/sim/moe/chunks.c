/* Chunked all-to-all; see chunks.h. */
#include "sim/moe/chunks.h"

#include <math.h>

#include "base/checked.h"

uint64_t chunks_rule_of_thumb(const struct chunks_ask *ask)
{
    /* S K / (E N) with S = S_x N */
    uint64_t bound = 2 * (ask->tokens * ask->top_k / ask->experts);
    return bound > 1 ? bound : 1;
}

uint64_t chunks_static_rounds(const struct chunks_ask *ask)
{
    return ceil_div(chunks_rule_of_thumb(ask), ask->chunk);
}

uint64_t chunks_worst_rounds(const struct chunks_ask *ask)
{
    return ceil_div(ask->tokens, ask->chunk);
}

/* P(Bin(n, p) <= m), by summing the shorter tail from its largest term. */
static double binomial_below(uint64_t n, double p, uint64_t m)
{
    if (m >= n)
        return 1;
    double log_odds = log(p / (1 - p)), mean = (double)n * p;
    uint64_t from = (double)m < mean ? m : m + 1;
    double log_term = lgamma((double)n + 1) - lgamma((double)from + 1) -
                      lgamma((double)(n - from) + 1) + (double)from * log(p) +
                      (double)(n - from) * log1p(-p);
    double term = exp(log_term), sum = 0;
    if (from == m) {
        for (uint64_t i = m;; i--) {
            sum += term;
            if (i == 0 || term < 1e-18 * sum)
                return sum;
            term *= (double)i / (double)(n - i + 1) * exp(-log_odds);
        }
    }
    for (uint64_t i = from; i <= n && !(sum > 0 && term < 1e-18 * sum); i++) {
        sum += term;
        term *= (double)(n - i) / (double)(i + 1) * exp(log_odds);
    }
    return 1 - sum;
}

double chunks_expected_rounds(const struct chunks_ask *ask)
{
    uint64_t rows = ask->tokens * ask->top_k, pairs = ask->experts * ask->devices;
    double sum = 0;
    if (ask->experts == 1)
        return (double)ceil_div(rows, ask->chunk);
    for (uint64_t below = 0; below < rows; below += ask->chunk) {
        double one = binomial_below(rows, 1 / (double)ask->experts, below);
        double more = one > 0 ? -expm1((double)pairs * log(one)) : 1;
        sum += more;
        if (more < 1e-15)
            break;
    }
    return sum;
}

double chunks_padding(const struct chunks_ask *ask, double rounds)
{
    return rounds * (double)ask->chunk * (double)ask->experts /
           ((double)ask->tokens * (double)ask->top_k);
}
