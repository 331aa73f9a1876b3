/* Exact chances that a token's experts touch sets of them, by quadrature; see rows.h.
 *
 * Arrivals in the exponential race: expert e arrives at rate p_e, a token takes the first k. A
 * set is touched unless k others arrive before its first: the chance is the integral of P_s
 * exp(-P_s x) P(fewer than k others by x) over x. Polynomials hold the chances of 0 .. k-1
 * arrivals; a set's complement is its prefix product times its suffix product.
 *
 * Points of the integral stand side by side in the lanes of a vector, each with the numbers it
 * would have alone; every partition of the experts takes its arrivals from one table. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "work/rows/rows.h"

enum { LANES = 4 };
typedef double lanes __attribute__((vector_size(8 * LANES)));

struct experts {
    const double *p;
    uint64_t n, k;
};

/* One partition of the experts. */
struct race {
    uint64_t n_sets;
    bool settled; /* every set is touched by nobody or by all: nothing is left to integrate */
    const uint32_t *order, *start; /* experts by set; first of each set, [n_sets + 1] */
    double *mass;                  /* [n_sets] */
    double *touch;                 /* [n_sets] of the caller */
};

/* Polynomials, of one partition after the other. */
struct products {
    lanes *leaf;   /* [n experts + n_sets]: of set s from start[s] + s on */
    lanes *suffix; /* [n_sets + 1][k] */
    lanes *prefix; /* [2][k] of the sets before the one at hand, and with it */
};

/* Points of the integral, with what every partition has of them. */
struct points {
    unsigned n; /* at most LANES */
    double x[LANES], weight[LANES];
    lanes *missing, *arrived; /* [n experts] chances by x */
};

static void group_by_set(const struct experts *experts, const uint32_t *set_of,
                         struct arena *arena, struct race *race)
{
    uint32_t *order = arena_alloc(arena, experts->n, sizeof *order);
    uint32_t *start = arena_alloc(arena, race->n_sets + 2, sizeof *start);
    for (uint64_t e = 0; e < experts->n; e++) {
        start[set_of[e] + 2]++;
        race->mass[set_of[e]] += experts->p[e];
    }
    for (uint64_t s = 0; s < race->n_sets; s++)
        start[s + 2] += start[s + 1];
    for (uint64_t e = 0; e < experts->n; e++)
        order[start[set_of[e] + 1]++] = (uint32_t)e;
    race->order = order;
    race->start = start;
}

static void race_init(const struct experts *experts, const struct rows_sets *sets,
                      struct arena *arena, struct race *race)
{
    *race = (struct race){.n_sets = sets->n, .touch = sets->touch};
    race->mass = arena_alloc(arena, sets->n, sizeof *race->mass);
    group_by_set(experts, sets->set_of, arena, race);
}

#define INLINE static inline __attribute__((always_inline))

/* c = a b for a set of one expert, first k coefficients: most of a law's time goes here and
 * into step_over. */
INLINE void multiply_one(const lanes *a, const lanes *b, uint64_t k, lanes *c)
{
    lanes b0 = b[0], b1 = b[1], less = a[0];
    c[0] = less * b0;
    for (uint64_t i = 1; i < k; i++) {
        lanes here = a[i];
        c[i] = less * b1 + here * b0;
        less = here;
    }
}

/* c = a b, first k coefficients; b has none above its degree. */
INLINE void multiply(const lanes *a, const lanes *b, uint64_t degree, uint64_t k, lanes *c)
{
    if (degree == 1) {
        multiply_one(a, b, k, c);
        return;
    }
    for (uint64_t i = 0; i < k; i++) {
        lanes sum = {0};
        for (uint64_t j = i > degree ? i - degree : 0; j <= i; j++)
            sum += a[j] * b[i - j];
        c[i] = sum;
    }
}

INLINE void add_one(lanes *leaf, uint64_t degree, const lanes *chance)
{
    for (uint64_t j = degree; j > 0; j--)
        leaf[j] += *chance * (leaf[j - 1] - leaf[j]);
    leaf[0] -= *chance * leaf[0];
}

/* Two experts in one pass, from a degree of at least 1 on. */
INLINE void add_two(lanes *leaf, uint64_t degree, const lanes *first, const lanes *second)
{
    lanes a = *first, b = *second, less = leaf[degree - 1];
    lanes with_one = leaf[degree] + a * (less - leaf[degree]);
    for (uint64_t j = degree; j > 1; j--) {
        lanes here = less;
        less = leaf[j - 2];
        lanes below = here + a * (less - here);
        leaf[j] = with_one + b * (below - with_one);
        with_one = below;
    }
    lanes none = less - a * less;
    leaf[1] = with_one + b * (none - with_one);
    leaf[0] = none - b * none;
}

/* Of i experts no more than i arrive: above that degree stand zeros. */
INLINE void fill_leaves(const struct race *race, uint64_t k, const lanes *arrived,
                        lanes *leaves)
{
    for (uint64_t s = 0; s < race->n_sets; s++) {
        uint32_t first = race->start[s], n = race->start[s + 1] - first, i = 0;
        const uint32_t *expert = race->order + first;
        lanes *leaf = leaves + first + s;
        memset(leaf, 0, (n + 1) * sizeof *leaf);
        leaf[0] += 1;
        for (; k > 1 && i + 2 <= n; i += 2)
            add_two(leaf, lesser(i + 2, k - 1), &arrived[expert[i]], &arrived[expert[i + 1]]);
        for (; i < n; i++)
            add_one(leaf, lesser(i + 1, k - 1), &arrived[expert[i]]);
    }
}

/* The polynomial 1. */
INLINE void one(lanes *out, uint64_t k)
{
    memset(out, 0, k * sizeof *out);
    out[0] += 1;
}

INLINE void fill_suffixes(const struct race *race, uint64_t k, const struct products *of)
{
    one(of->suffix + race->n_sets * k, k);
    for (uint64_t s = race->n_sets; s-- > 0;)
        multiply(of->suffix + (s + 1) * k, of->leaf + race->start[s] + s,
                 race->start[s + 1] - race->start[s], k, of->suffix + s * k);
}

/* Chance that fewer than k arrivals came from outside a set: before it and behind it. */
INLINE void few_others(const lanes *before, const lanes *behind, uint64_t k, lanes *out)
{
    lanes below = {0}, sum = {0};
    for (uint64_t i = k; i-- > 0;) {
        below += behind[k - 1 - i];
        sum += before[i] * below;
    }
    *out = sum;
}

/* few_others of a set of one expert, and what stands before the next set, in its place. */
INLINE void step_over(lanes *before, const lanes *behind, const lanes *leaf, uint64_t k,
                      lanes *out)
{
    lanes below = {0}, sum = {0}, b0 = leaf[0], b1 = leaf[1], here = before[k - 1];
    for (uint64_t i = k - 1; i > 0; i--) {
        lanes less = before[i - 1];
        below += behind[k - 1 - i];
        sum += here * below;
        before[i] = less * b1 + here * b0;
        here = less;
    }
    below += behind[k - 1];
    *out = sum + here * below;
    before[0] = here * b0;
}

/* What the points add to a set. A set of one expert is missed as that is. */
INLINE void add_points(const struct race *race, const struct points *at, uint64_t set,
                       const lanes *few)
{
    uint32_t first = race->start[set];
    bool alone = race->start[set + 1] == first + 1;
    for (unsigned i = 0; i < at->n; i++) {
        double rate = race->mass[set] * at->x[i];
        double missing = alone ? at->missing[race->order[first]][i] : exp(-rate);
        race->touch[set] += at->weight[i] * rate * missing * (*few)[i];
    }
}

INLINE void integrate_points(const struct race *race, uint64_t k, const struct points *at,
                             const struct products *of)
{
    lanes few, *before = of->prefix, *next = of->prefix + k;
    fill_leaves(race, k, at->arrived, of->leaf);
    fill_suffixes(race, k, of);
    one(before, k);
    for (uint64_t s = 0; s < race->n_sets; s++) {
        const lanes *behind = of->suffix + (s + 1) * k, *leaf = of->leaf + race->start[s] + s;
        uint32_t inside = race->start[s + 1] - race->start[s];
        if (inside == 1) {
            step_over(before, behind, leaf, k, &few);
        } else {
            few_others(before, behind, k, &few);
            multiply(before, leaf, inside, k, next);
            lanes *kept = before;
            before = next;
            next = kept;
        }
        add_points(race, at, s, &few);
    }
}

typedef void integrate_function(const struct race *race, uint64_t k, const struct points *at,
                                const struct products *of);

static void integrate_plain(const struct race *race, uint64_t k, const struct points *at,
                            const struct products *of)
{
    integrate_points(race, k, at, of);
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void integrate_avx2(const struct race *race, uint64_t k,
                                                           const struct points *at,
                                                           const struct products *of)
{
    integrate_points(race, k, at, of);
}
#endif

static integrate_function *best_integrate(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return integrate_avx2;
#endif
    return integrate_plain;
}

static void fill_arrived(const struct experts *experts, struct points *at)
{
    for (uint64_t e = 0; e < experts->n; e++)
        for (unsigned i = 0; i < LANES; i++) {
            double missing = exp(-experts->p[e] * at->x[i < at->n ? i : 0]);
            at->missing[e][i] = missing;
            at->arrived[e][i] = 1 - missing;
        }
}

/* Of sets that anyone is in, the least that a chance already is; chances only grow. */
static double least_touch(const struct race *races, size_t n_races)
{
    double least = 1;
    for (size_t r = 0; r < n_races; r++)
        for (uint64_t s = 0; s < races[r].n_sets; s++)
            if (races[r].mass[s] > 0)
                least = fmin(least, races[r].touch[s]);
    return least;
}

/* Whether all that a point adds to any set is less than half its last bit. It adds weight x
 * rate x the chance that fewer than k of all experts arrived, at most: that is no more than
 * exp(a - m) (m / a)^a for a = k - 1 below the mean m of arrivals (Chernoff 1952). Late points
 * are so, and would be worked out in numbers too small to be normal; behind one that is so all
 * are: the k-th arrival's hazard is increasing on average (Birnbaum, Esary and Marshall 1966),
 * so x times its chance falls from there on. */
static bool is_lost(const struct experts *experts, const struct points *at, unsigned point,
                    double least)
{
    static const double bits = 56;
    double mean = 0, a = (double)experts->k - 1;
    for (uint64_t e = 0; e < experts->n; e++)
        mean += at->arrived[e][point];
    if (mean <= a)
        return false;
    double chance = a - mean + (a > 0 ? a * log(mean / a) : 0);
    return log(at->weight[point] * at->x[point]) + chance < log(least) - bits * log(2);
}

static bool are_lost(const struct experts *experts, const struct points *at, double least)
{
    bool lost = true;
    for (unsigned i = 0; lost && i < at->n; i++)
        lost = is_lost(experts, at, i, least);
    return lost;
}

static void init_products(const struct experts *experts, const struct race *races,
                          size_t n_races, struct arena *arena, struct products *of)
{
    uint64_t most = 0;
    for (size_t r = 0; r < n_races; r++)
        most = greater(most, races[r].n_sets);
    of->leaf = arena_take(arena, experts->n + most, sizeof(lanes));
    of->suffix = arena_take(arena, (most + 1) * experts->k, sizeof(lanes));
    of->prefix = arena_take(arena, 2 * experts->k, sizeof(lanes));
}

/* Simpson's rule over log x, from e^-7 to e^4.5 of where k are expected to have arrived:
 * before, no k others have, and behind, they have. The k-th arrival's law narrows as 1 /
 * sqrt(k), and the points grow as sqrt(k): enough for the 1e-5 that rows.h says. */
static void integrate(const struct experts *experts, const struct race *races, size_t n_races,
                      struct arena *arena)
{
    double middle = rows_rosen(experts->p, experts->n, experts->k, NULL);
    double from = middle * exp(-7), range = 11.5;
    unsigned n = 2 * (unsigned)ceil(17 * sqrt((double)experts->k));
    double h = range / n;
    struct points at = {.missing = arena_take(arena, experts->n, sizeof(lanes)),
                        .arrived = arena_take(arena, experts->n, sizeof(lanes))};
    struct products products;
    integrate_function *add = best_integrate();
    init_products(experts, races, n_races, arena, &products);
    for (size_t r = 0; r < n_races; r++)
        for (uint64_t s = 0; s < races[r].n_sets; s++)
            races[r].touch[s] = -expm1(-races[r].mass[s] * from);
    double least = least_touch(races, n_races);
    for (unsigned first = 0; first <= n; first += LANES) {
        at.n = n + 1 - first < LANES ? n + 1 - first : LANES;
        for (unsigned i = 0; i < at.n; i++) {
            unsigned point = first + i;
            at.x[i] = from * exp(h * point);
            at.weight[i] = h / 3 * (point == 0 || point == n ? 1 : point % 2 ? 4 : 2);
        }
        fill_arrived(experts, &at);
        if (are_lost(experts, &at, least))
            break;
        for (size_t r = 0; r < n_races; r++)
            if (!races[r].settled)
                add(&races[r], experts->k, &at, &products);
    }
}

/* Of a set's experts those that can arrive. */
static uint64_t possible_inside(const struct experts *experts, const struct race *race,
                                uint64_t set)
{
    uint64_t inside = 0;
    for (uint32_t i = race->start[set]; i < race->start[set + 1]; i++)
        inside += experts->p[race->order[i]] > 0;
    return inside;
}

/* Sets that none, or any k, of the possible experts are in: of a group of ranks in one node the
 * node. */
static bool is_settled(const struct experts *experts, uint64_t possible,
                       const struct race *race)
{
    bool settled = true;
    for (uint64_t s = 0; settled && s < race->n_sets; s++) {
        uint64_t inside = possible_inside(experts, race, s);
        settled = inside == 0 || possible - inside < experts->k;
    }
    return settled;
}

static void settle(const struct experts *experts, uint64_t possible, const struct race *race)
{
    for (uint64_t s = 0; s < race->n_sets; s++) {
        uint64_t inside = possible_inside(experts, race, s);
        if (inside == 0)
            race->touch[s] = 0;
        else if (possible - inside < experts->k)
            race->touch[s] = 1;
        else
            race->touch[s] = fmin(race->touch[s], 1);
    }
}

void rows_touch_all(const double *p, uint64_t n, uint64_t k, const struct rows_sets *sets,
                    size_t n_sets)
{
    const struct experts experts = {p, n, k};
    struct arena arena = {0};
    struct race *races = arena_alloc(&arena, n_sets, sizeof *races);
    uint64_t possible = 0;
    for (uint64_t e = 0; e < n; e++)
        possible += p[e] > 0;
    for (size_t i = 0; i < n_sets; i++) {
        race_init(&experts, &sets[i], &arena, &races[i]);
        races[i].settled = is_settled(&experts, possible, &races[i]);
    }
    if (possible > k)
        integrate(&experts, races, n_sets, &arena);
    for (size_t i = 0; i < n_sets; i++)
        settle(&experts, possible, &races[i]);
    arena_release(&arena);
}

void rows_touch(const double *p, uint64_t n, uint64_t k, const uint32_t *set_of,
                uint64_t n_sets, double *touch)
{
    const struct rows_sets sets = {set_of, n_sets, touch};
    rows_touch_all(p, n, k, &sets, 1);
}
