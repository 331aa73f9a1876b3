/* Closed forms of successive sampling: Rosen, Hajek, uniform choice; ceilings. */
#include <math.h>

#include "base/checked.h"
#include "work/rows/rows.h"

double rows_rosen(const double *p, uint64_t n, uint64_t k, double *pi)
{
    enum { NEWTON = 200 };
    uint64_t possible = 0;
    for (uint64_t e = 0; e < n; e++)
        possible += p[e] > 0;
    /* The sum is concave in t, so Newton's steps from the left never pass the root. */
    double t = (double)k;
    for (int i = 0; i < NEWTON && possible > k; i++) {
        double sum = 0, slope = 0;
        for (uint64_t e = 0; e < n; e++) {
            double stay = exp(-p[e] * t);
            sum += 1 - stay;
            slope += p[e] * stay;
        }
        double step = ((double)k - sum) / slope;
        t += step;
        if (!(step > 1e-13 * t))
            break;
    }
    for (uint64_t e = 0; pi && e < n; e++)
        pi[e] = possible > k ? -expm1(-p[e] * t) : (p[e] > 0 ? 1 : 0);
    return t;
}

double rows_hajek(const double *pi, uint64_t n, double *d)
{
    enum { ROUNDS = 50 };
    double sum = 0;
    for (uint64_t e = 0; e < n; e++) {
        d[e] = pi[e] * (1 - pi[e]);
        sum += d[e];
    }
    for (int i = 0; i < ROUNDS; i++) {
        double next = 0;
        for (uint64_t e = 0; e < n; e++) {
            double rest = 1 - (sum > 0 ? d[e] / sum : 0);
            d[e] = pi[e] * (1 - pi[e]) / (rest > 0.5 ? rest : 0.5);
        }
        for (uint64_t e = 0; e < n; e++) /* in this order, whatever stands side by side above */
            next += d[e];
        bool settled = fabs(next - sum) <= 1e-12 * sum;
        sum = next;
        if (settled)
            break;
    }
    return sum;
}

double rows_touch_uniform(uint64_t experts, uint64_t k, uint64_t size)
{
    if (size == 0)
        return 0;
    if (size + k > experts)
        return 1;
    double none = 1;
    for (uint64_t i = 0; i < k; i++)
        none *= (double)(experts - size - i) / (double)(experts - i);
    return 1 - none;
}

struct rows_ceilings rows_ceilings(uint64_t tokens, uint64_t ranks, uint64_t top_k,
                                   uint64_t local)
{
    bool overflow = false;
    uint64_t all = checked_mul(tokens, ranks, &overflow);
    return (struct rows_ceilings){
        .tokens = all,
        .rows = checked_mul(all, top_k < local ? top_k : local, &overflow),
        .loose = checked_mul(all, top_k, &overflow),
    };
}
