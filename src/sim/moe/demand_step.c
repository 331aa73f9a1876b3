/* Steps made of layers; see demand_step.h. */
#include "sim/moe/demand_step.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/rng.h"
#include "base/stat.h"
#include "work/piece/stage.h"

enum { PURPOSE = 6 }; /* of random numbers: which layers are drawn */

/* ---- stages ---- */

/* Keeps the numbers sorted; false when there is no room for another. */
static bool insert(struct demand_stages *stages, uint64_t layers)
{
    unsigned at = 0;
    while (at < stages->n && stages->layers[at].least < layers)
        at++;
    if (at < stages->n && stages->layers[at].least == layers)
        return true;
    if (stages->n == SLOTS_STAGES)
        return false;
    for (unsigned i = stages->n++; i > at; i--)
        stages->layers[i] = stages->layers[i - 1];
    stages->layers[at].least = stages->layers[at].most = layers;
    return true;
}

void demand_stages_of(const struct plan *plan, struct demand_stages *stages)
{
    struct stage stage;
    uint64_t least = UINT64_MAX, most = 1;
    bool room = true;
    memset(stages, 0, sizeof *stages);
    for (uint64_t i = 0; i < plan->parallel.pp; i++) {
        stage_layers(plan, i, &stage);
        if (!stage.moe_layers)
            continue;
        least = lesser(least, stage.moe_layers);
        most = stage.moe_layers > most ? stage.moe_layers : most;
        room = insert(stages, stage.moe_layers) && room;
    }
    if (room && stages->n)
        return;
    stages->n = 1;
    stages->layers[0].least = lesser(least, most);
    stages->layers[0].most = most;
}

/* ---- one step ---- */

/* Ranks side by side. */
typedef float lanes __attribute__((vector_size(4 * DEMAND_LANES), may_alias, aligned(4)));
typedef int32_t masks __attribute__((vector_size(4 * DEMAND_LANES)));

static lanes larger(lanes a, lanes b)
{
    masks which = a > b;
    return (lanes)((which & (masks)a) | (~which & (masks)b));
}

static float largest(const float *values, size_t n)
{
    lanes most = {0};
    for (size_t i = 0; i < n; i += DEMAND_LANES)
        most = larger(*(const lanes *)&values[i], most);
    float found = 0;
    for (size_t i = 0; i < DEMAND_LANES; i++)
        found = most[i] > found ? most[i] : found;
    return found;
}

/* Layers of a step so far: how many, and what they ask of each rank together. */
struct together {
    const struct demand_source *source;
    struct rng rng;
    uint64_t step, n;
    double hot;    /* experts are not told apart: the fullest of each layer, whichever it is */
    float *sum;    /* [width] */
    size_t width;  /* DEMAND_PER_RANK of each rank */
    size_t sample; /* of the layer that was added last */
};

static void begin(struct together *t, uint64_t step)
{
    t->step = step;
    t->n = 0;
    t->hot = 0;
    memset(t->sum, 0, t->width * sizeof *t->sum);
    rng_init(&t->rng, t->source->rows.spec.routing.seed, PURPOSE, (uint32_t)step, 0, 0);
}

static struct together together_of(const struct demand_source *source, struct arena *arena)
{
    struct together t = {.source = source, .width = DEMAND_PER_RANK * (size_t)source->stride};
    t.sum = arena_alloc(arena, t.width, sizeof *t.sum);
    return t;
}

/* The first layer of step s is sample s. */
static void add_layer(struct together *t)
{
    uint64_t n = t->source->n_ranks;
    t->sample = (size_t)(t->n ? rng_below(&t->rng, n) : t->step % n);
    const float *ranks = t->source->ranks + t->sample * t->width;
    for (size_t i = 0; i < t->width; i += DEMAND_LANES)
        *(lanes *)&t->sum[i] += *(const lanes *)&ranks[i];
    t->hot += (double)t->source->samples[t->sample].hot;
    t->n++;
}

/* Means over the layers so far, of the rank with most. */
static void take_means(const struct together *t, double mean[SLOTS_ROUTED])
{
    size_t stride = t->width / DEMAND_PER_RANK;
    bool padded = t->source->alignment > 1 || t->source->allocated;
    for (size_t i = 0; i < DEMAND_PER_RANK; i++)
        mean[i] = i == 2 && !padded
                      ? mean[0]
                      : (double)largest(t->sum + i * stride, stride) / (double)t->n;
    mean[DEMAND_PER_RANK] = t->hot / (double)t->n;
}

static void raise_fullest(const struct together *t, uint64_t fullest[SLOTS_ROUTED])
{
    const uint64_t *sizes = t->source->samples[t->sample].sizes;
    for (unsigned i = 0; i < SLOTS_ROUTED; i++)
        fullest[i] = greater(sizes[i], fullest[i]);
}

void demand_step_to_slots(const struct demand_source *source,
                          const struct demand_stages *stages, uint64_t s, struct slots *slots)
{
    struct arena scratch = {0};
    struct together t = together_of(source, &scratch);
    uint64_t fullest[SLOTS_ROUTED] = {0};
    double mean[SLOTS_ROUTED];
    begin(&t, s);
    slots->n_routed = stages->n;
    for (unsigned i = 0; i < stages->n; i++) {
        struct slots_routed *at = &slots->routed[i];
        at->layers = stages->layers[i].least;
        for (; t.n < stages->layers[i].least; raise_fullest(&t, fullest))
            add_layer(&t);
        take_means(&t, mean);
        for (unsigned j = 0; j < SLOTS_ROUTED; j++)
            at->mean[j] = (uint64_t)ceil(mean[j]);
        for (; t.n < stages->layers[i].most; raise_fullest(&t, fullest))
            add_layer(&t);
        memcpy(at->fullest, fullest, sizeof at->fullest);
    }
    arena_release(&scratch);
}

/* ---- over steps ---- */

static const uint16_t grid[DEMAND_GRID] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 12,
                                           14, 16, 20, 24, 28, 32, 40, 48, 56, 64};

static struct demand_range range_of(double *values, uint64_t n, double *sd)
{
    const double q = 0.99;
    struct stat stat = {0};
    for (uint64_t i = 0; i < n; i++)
        stat_add(&stat, values[i]);
    stat_sort(values, n);
    double p99 = stat_percentile(values, n, q);
    *sd = stat_sd(&stat);
    return (struct demand_range){stat.mean, p99, p99 + stat_percentile_error(values, n, q)};
}

/* Of a mean over layers: the samples that layers are drawn from are few as well. */
static struct demand_range range_of_means(double *values, uint64_t n, uint64_t layers)
{
    double sd;
    struct demand_range range = range_of(values, n, &sd);
    double pool = 2 * sd * sqrt((double)layers / (double)n);
    double above = range.high - range.p99;
    range.high = range.p99 + sqrt(above * above + pool * pool);
    return range;
}

/* One layer, and what the samples cannot say better than the certified worst does. */
static void one_layer(const struct demand_source *source, const struct demand_spread *spread,
                      double *values, struct demand_layers *out)
{
    out->n = spread->n;
    memcpy(out->worst, spread->worst.sizes, sizeof out->worst);
    for (unsigned i = 0; i < SLOTS_ROUTED; i++) {
        for (uint64_t s = 0; s < spread->n; s++)
            values[s] = (double)source->samples[s].sizes[i];
        out->one[i] = range_of(values, spread->n, &out->sd[i]);
    }
}

void demand_layers_of(const struct demand_source *source, const struct demand_spread *spread,
                      uint64_t most, struct demand_layers *out)
{
    struct arena scratch = {0};
    struct together t = together_of(source, &scratch);
    uint64_t n = spread->n;
    double mean[SLOTS_ROUTED];
    memset(out, 0, sizeof *out);
    while (out->n_mean < DEMAND_GRID && grid[out->n_mean] <= most)
        out->n_mean++;
    double *values = arena_take(&scratch, n * (1 + out->n_mean * SLOTS_ROUTED), sizeof *values);
    double *kept = values + n; /* [grid][member][step] */
    one_layer(source, spread, values, out);
    for (uint64_t s = 0; s < n; s++) {
        begin(&t, s);
        for (unsigned g = 0; g < out->n_mean; g++) {
            while (t.n < grid[g])
                add_layer(&t);
            take_means(&t, mean);
            for (unsigned i = 0; i < SLOTS_ROUTED; i++)
                kept[(g * SLOTS_ROUTED + i) * n + s] = mean[i];
        }
    }
    for (unsigned g = 0; g < out->n_mean; g++)
        for (unsigned i = 0; i < SLOTS_ROUTED; i++)
            out->mean[g][i] =
                grid[g] == 1 ? out->one[i]
                             : range_of_means(kept + (g * SLOTS_ROUTED + i) * n, n, grid[g]);
    arena_release(&scratch);
}

/* ---- into slots ---- */

/* Gumbel's law by moments (Gumbel 1958): quantile F lies K standard deviations above the mean,
 * K = sqrt(6) / pi (-log(-log F) - gamma), with a variance of (1 + 1.1396 K + 1.1 K^2) / n
 * (Kite 1977, Frequency and Risk Analyses in Hydrology); the largest of L has the same law,
 * sqrt(6) / pi log L further up. */
static struct demand_range fullest_of(const struct demand_layers *from, unsigned member,
                                      uint64_t layers)
{
    static const double euler = 0.57721566490153286, scale = 0.77969680123368;
    struct demand_range one = from->one[member];
    double up = log((double)layers), sd = from->sd[member];
    if (layers == 1)
        return one;
    double k = scale * (up - log(-log(0.99)) - euler);
    double error = sd * sqrt((1 + 1.1396 * k + 1.1 * k * k) / (double)from->n);
    double p99 = fmax(one.p99, one.expected + k * sd);
    return (struct demand_range){one.expected + scale * up * sd, p99, p99 + 2 * error};
}

static uint64_t rows_of(const struct demand_range *range, enum demand_level level,
                        uint64_t most)
{
    double rows = level == DEMAND_EXPECTED ? range->expected
                  : level == DEMAND_P99    ? range->p99
                                           : range->high;
    return rows < (double)most ? (uint64_t)ceil(rows) : most;
}

void demand_layers_to_slots(const struct demand_layers *layers,
                            const struct demand_stages *stages, enum demand_level level,
                            struct slots *slots)
{
    slots->n_routed = stages->n;
    for (unsigned stage = 0; stage < stages->n; stage++) {
        struct slots_routed *at = &slots->routed[stage];
        unsigned g = 0;
        at->layers = stages->layers[stage].least;
        while (g + 1 < layers->n_mean && grid[g + 1] <= at->layers)
            g++;
        for (unsigned i = 0; i < SLOTS_ROUTED; i++) {
            struct demand_range fullest = fullest_of(layers, i, stages->layers[stage].most);
            at->fullest[i] = rows_of(&fullest, level, layers->worst[i]);
            at->mean[i] = rows_of(&layers->mean[g][i], level, layers->worst[i]);
        }
    }
}
