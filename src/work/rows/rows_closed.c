/* Closed forms of successive sampling: Rosen, Hajek, and exact chances by quadrature. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "work/rows/rows_parts.h"

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
            d[e] = pi[e] * (1 - pi[e]) / fmax(rest, 0.5);
            next += d[e];
        }
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

/* Arrivals in the exponential race: expert e arrives at rate p_e, a token takes the first k. A
 * set is touched unless k others arrive before its first: the chance is the integral of P_s
 * exp(-P_s x) P(fewer than k others by x) over x. Polynomials hold the chances of 0 .. k-1
 * arrivals; a set's complement is its prefix product times its suffix product. */
struct race {
    const double *p;
    uint64_t n, k, n_sets;
    const uint32_t *order, *start;  /* experts by set; first of each set, [n_sets + 1] */
    double *mass;                   /* [n_sets] */
    double *leaf, *prefix, *suffix; /* [n_sets + 1][k] */
};

static void group_by_set(struct race *race, const uint32_t *set_of, struct arena *arena)
{
    uint32_t *order = arena_alloc(arena, race->n, sizeof *order);
    uint32_t *start = arena_alloc(arena, race->n_sets + 2, sizeof *start);
    for (uint64_t e = 0; e < race->n; e++) {
        start[set_of[e] + 2]++;
        race->mass[set_of[e]] += race->p[e];
    }
    for (uint64_t s = 0; s < race->n_sets; s++)
        start[s + 2] += start[s + 1];
    for (uint64_t e = 0; e < race->n; e++)
        order[start[set_of[e] + 1]++] = (uint32_t)e;
    race->order = order;
    race->start = start;
}

/* c = a b, first k coefficients; b has none above its degree. */
static void multiply(const double *a, const double *b, uint64_t degree, uint64_t k, double *c)
{
    if (degree == 1) { /* a set of one expert: most of a law's time goes here */
        c[0] = a[0] * b[0];
        for (uint64_t i = 1; i < k; i++)
            c[i] = a[i - 1] * b[1] + a[i] * b[0];
        return;
    }
    for (uint64_t i = 0; i < k; i++) {
        double sum = 0;
        for (uint64_t j = i > degree ? i - degree : 0; j <= i; j++)
            sum += a[j] * b[i - j];
        c[i] = sum;
    }
}

static void fill_leaves(const struct race *race, double x)
{
    uint64_t k = race->k;
    for (uint64_t s = 0; s < race->n_sets; s++) {
        double *leaf = race->leaf + s * k;
        memset(leaf, 0, k * sizeof *leaf);
        leaf[0] = 1;
        for (uint32_t i = race->start[s]; i < race->start[s + 1]; i++) {
            double arrived = 1 - exp(-race->p[race->order[i]] * x);
            uint64_t arrivals =
                i - race->start[s] + 1; /* of those above none are possible yet */
            for (uint64_t j = arrivals < k ? arrivals + 1 : k; j-- > 1;)
                leaf[j] += arrived * (leaf[j - 1] - leaf[j]);
            leaf[0] -= arrived * leaf[0];
        }
    }
}

static void fill_products(const struct race *race)
{
    uint64_t k = race->k, n = race->n_sets;
    memset(race->prefix, 0, k * sizeof *race->prefix);
    memset(race->suffix + n * k, 0, k * sizeof *race->suffix);
    race->prefix[0] = race->suffix[n * k] = 1;
    const uint32_t *start = race->start;
    for (uint64_t s = 0; s < n; s++)
        multiply(race->prefix + s * k, race->leaf + s * k, start[s + 1] - start[s], k,
                 race->prefix + (s + 1) * k);
    for (uint64_t s = n; s-- > 0;)
        multiply(race->suffix + (s + 1) * k, race->leaf + s * k, start[s + 1] - start[s], k,
                 race->suffix + s * k);
}

/* Chance that fewer than k arrivals came from outside set s. */
static double few_others(const struct race *race, uint64_t s)
{
    const double *a = race->prefix + s * race->k, *b = race->suffix + (s + 1) * race->k;
    double below = 0, sum = 0;
    for (uint64_t i = race->k; i-- > 0;) {
        below += b[race->k - 1 - i];
        sum += a[i] * below;
    }
    return sum;
}

/* Simpson's rule over log x, from well before to well after the k-th arrival. Before `from` no
 * k others have arrived. */
static void integrate(const struct race *race, double *touch)
{
    double middle = rows_rosen(race->p, race->n, race->k, NULL);
    double from = middle * exp(-7), range = 11.5;
    unsigned n = 2 * (unsigned)ceil(17 * sqrt((double)race->k));
    double h = range / n;
    for (uint64_t s = 0; s < race->n_sets; s++)
        touch[s] = -expm1(-race->mass[s] * from);
    for (unsigned i = 0; i <= n; i++) {
        double x = from * exp(h * i);
        double weight = h / 3 * (i == 0 || i == n ? 1 : i % 2 ? 4 : 2);
        fill_leaves(race, x);
        fill_products(race);
        for (uint64_t s = 0; s < race->n_sets; s++) {
            double rate = race->mass[s] * x;
            touch[s] += weight * rate * exp(-rate) * few_others(race, s);
        }
    }
}

void rows_touch(const double *p, uint64_t n, uint64_t k, const uint32_t *set_of,
                uint64_t n_sets, struct arena *arena, double *touch)
{
    struct race race = {.p = p, .n = n, .k = k, .n_sets = n_sets};
    race.mass = arena_alloc(arena, n_sets, sizeof *race.mass);
    race.leaf = arena_alloc(arena, (n_sets + 1) * k, sizeof *race.leaf);
    race.prefix = arena_alloc(arena, (n_sets + 1) * k, sizeof *race.prefix);
    race.suffix = arena_alloc(arena, (n_sets + 1) * k, sizeof *race.suffix);
    group_by_set(&race, set_of, arena);
    uint64_t possible = 0;
    for (uint64_t e = 0; e < n; e++)
        possible += p[e] > 0;
    if (possible > k)
        integrate(&race, touch);
    for (uint64_t s = 0; s < n_sets; s++) {
        uint64_t inside = 0;
        for (uint32_t i = race.start[s]; i < race.start[s + 1]; i++)
            inside += p[race.order[i]] > 0;
        if (inside == 0)
            touch[s] = 0;
        else if (possible - inside < k)
            touch[s] = 1;
        else
            touch[s] = fmin(touch[s], 1);
    }
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
