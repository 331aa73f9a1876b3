/* Rows of the fullest rank in the kernel tables; see curve.h.
 *
 * The publisher's laws. Balanced: choice i of token t is expert t + i s (or t s / T + i s where
 * T < s), with s = ceil(E / K), and rank 0 is measured. Power law: an expert's load is drawn
 * from a truncated power law on [1, 0.8 T] ([0.01, 2] where T K <= E) and scaled to T K rows in
 * all; rounding by largest remainder, as a token has K distinct experts; the rank with most
 * rows is measured. With EPLB experts are packed heaviest first. Other tools' draws are not
 * ours: a mean over samples stands for theirs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "base/text.h"
#include "calib/curve.h"
#include "work/rows/eplb.h"

enum { SAMPLES = 16, PURPOSE = 77 };

const double curve_tiles[CURVE_TILES] = {16, 32, 64, 128, 256};

struct law {
    uint64_t tokens, experts, top_k;
    double alpha; /* 0: balanced */
};

/* Loads of all experts, drawn once for a law. */
struct drawn {
    struct law law;
    uint32_t *loads; /* [n_samples][E] */
    size_t n_samples;
    struct drawn *next;
};

struct answer {
    struct law law;
    bool packed;
    uint64_t ranks;
    struct curve_rows rows;
    struct answer *next;
};

enum { BUCKETS = 512 };

struct curve_routing {
    struct arena *arena;
    struct drawn *drawn;
    struct answer *answers[BUCKETS];
};

struct curve_routing *curve_routing_create(struct arena *arena)
{
    struct curve_routing *routing = arena_alloc(arena, 1, sizeof *routing);
    routing->arena = arena;
    return routing;
}

/* ---- laws ---- */

static void draw_balanced(const struct law *law, uint32_t *loads)
{
    uint64_t stride = (law->experts + law->top_k - 1) / law->top_k;
    for (uint64_t t = 0; t < law->tokens; t++) {
        uint64_t first = law->tokens >= stride ? t : t * stride / law->tokens;
        for (uint64_t i = 0; i < law->top_k; i++)
            loads[(first + i * stride) % law->experts]++;
    }
}

struct remainder {
    double left;
    uint32_t expert;
};

static int by_remainder(const void *a, const void *b)
{
    const struct remainder *x = a, *y = b;
    if (x->left > y->left || x->left < y->left)
        return x->left > y->left ? -1 : 1;
    return x->expert < y->expert ? -1 : 1;
}

/* x in [low, high] with density x^-alpha, by its inverse. */
static double power_law(double u, double low, double high, double alpha)
{
    double p = 1 - alpha;
    if (fabs(p) < 1e-9)
        return low * pow(high / low, u);
    return pow((pow(high, p) - pow(low, p)) * u + pow(low, p), 1 / p);
}

static void draw_power_law(const struct law *law, uint32_t sample, double *x,
                           struct remainder *remainders, uint32_t *loads)
{
    uint64_t rows = law->tokens * law->top_k, given = 0;
    bool many = rows > law->experts;
    double sum = 0;
    struct rng rng;
    rng_init(&rng, 1, PURPOSE, sample, 0, 0);
    for (uint64_t e = 0; e < law->experts; e++) {
        x[e] = power_law(rng_uniform(&rng), many ? 1 : 0.01,
                         many ? 0.8 * (double)law->tokens : 2, law->alpha);
        sum += x[e];
    }
    for (uint64_t e = 0; e < law->experts; e++) {
        double share = x[e] / sum * (double)rows;
        loads[e] = (uint32_t)share;
        given += loads[e];
        remainders[e] = (struct remainder){share - loads[e], (uint32_t)e};
    }
    qsort(remainders, law->experts, sizeof *remainders, by_remainder);
    for (uint64_t i = 0; given < rows; i++, given++)
        loads[remainders[i % law->experts].expert]++;
}

static bool same_law(const struct law *a, const struct law *b)
{
    return a->tokens == b->tokens && a->experts == b->experts && a->top_k == b->top_k &&
           fabs(a->alpha - b->alpha) < 1e-9;
}

static const struct drawn *draw(struct curve_routing *routing, const struct law *law)
{
    struct arena *arena = routing->arena;
    for (const struct drawn *d = routing->drawn; d; d = d->next)
        if (same_law(&d->law, law))
            return d;
    struct drawn *d = arena_alloc(arena, 1, sizeof *d);
    *d = (struct drawn){.law = *law, .n_samples = law->alpha > 0 ? SAMPLES : 1};
    d->loads = arena_alloc(arena, d->n_samples * law->experts, sizeof *d->loads);
    double *x = arena_alloc(arena, law->experts, sizeof *x);
    struct remainder *remainders = arena_alloc(arena, law->experts, sizeof *remainders);
    for (uint32_t s = 0; s < d->n_samples; s++)
        if (law->alpha > 0)
            draw_power_law(law, s, x, remainders, d->loads + s * law->experts);
        else
            draw_balanced(law, d->loads);
    d->next = routing->drawn;
    routing->drawn = d;
    return d;
}

/* ---- the fullest rank ---- */

static void add_expert(struct curve_rows *rows, uint32_t load)
{
    rows->rows += load;
    rows->hit += load > 0;
    for (size_t k = 0; k < CURVE_TILES; k++)
        rows->padded[k] += ceil(load / curve_tiles[k]) * curve_tiles[k];
}

/* Rank of each expert: neighbours, or packed by load. */
static void place(const uint32_t *loads, const struct answer *a, struct arena *scratch,
                  uint32_t *rank)
{
    uint64_t experts = a->law.experts;
    if (!a->packed) {
        for (uint64_t e = 0; e < experts; e++)
            rank[e] = (uint32_t)(e / (experts / a->ranks));
        return;
    }
    double *weight = arena_alloc(scratch, experts, sizeof *weight);
    uint32_t *slot = arena_alloc(scratch, experts, sizeof *slot);
    for (uint64_t e = 0; e < experts; e++)
        weight[e] = loads[e];
    eplb_pack(weight, experts, a->ranks, scratch, rank, slot);
}

static void add_sample(const uint32_t *loads, struct answer *a, uint32_t *rank,
                       uint64_t *of_rank)
{
    uint64_t experts = a->law.experts, fullest = 0;
    memset(of_rank, 0, a->ranks * sizeof *of_rank);
    for (uint64_t e = 0; e < experts; e++)
        of_rank[rank[e]] += loads[e];
    for (uint64_t r = 1; r < a->ranks && a->law.alpha > 0; r++)
        fullest = of_rank[r] > of_rank[fullest] ? r : fullest;
    for (uint64_t e = 0; e < experts; e++)
        if (rank[e] == fullest)
            add_expert(&a->rows, loads[e]);
}

static void count(const struct drawn *d, struct answer *a)
{
    struct arena scratch = {0};
    uint32_t *rank = arena_alloc(&scratch, a->law.experts, sizeof *rank);
    uint64_t *of_rank = arena_alloc(&scratch, a->ranks, sizeof *of_rank);
    for (size_t s = 0; s < d->n_samples; s++) {
        const uint32_t *loads = d->loads + s * a->law.experts;
        place(loads, a, &scratch, rank);
        add_sample(loads, a, rank, of_rank);
    }
    a->rows.rows /= (double)d->n_samples;
    a->rows.hit /= (double)d->n_samples;
    for (size_t k = 0; k < CURVE_TILES; k++)
        a->rows.padded[k] /= (double)d->n_samples;
    arena_release(&scratch);
}

static bool read_word(const char *word, double *alpha, bool *packed)
{
    static const char power[] = "power_law_", eplb[] = "_eplb";
    char number[32];
    *alpha = 0;
    *packed = false;
    if (text_equal(word, "balanced") || text_equal(word, "uniform"))
        return true;
    if (!text_starts(word, power) || strlen(word) >= sizeof number)
        return false;
    size_t length = strlen(word + sizeof power - 1);
    *packed = text_ends(word, eplb);
    length -= *packed ? sizeof eplb - 1 : 0;
    memcpy(number, word + sizeof power - 1, length);
    number[length] = '\0';
    return number_real(number, alpha) && *alpha > 0;
}

bool curve_routing_rows(struct curve_routing *routing, const char *word, uint64_t tokens,
                        uint64_t experts, uint64_t top_k, uint64_t ranks,
                        struct curve_rows *rows)
{
    struct answer a = {.law = {tokens, experts, top_k, 0}, .ranks = ranks};
    if (!read_word(word, &a.law.alpha, &a.packed) || !tokens || !ranks || experts % ranks)
        return false;
    size_t bucket = (tokens * 31 + experts * 7 + top_k * 3 + ranks * 131) % BUCKETS;
    for (struct answer *old = routing->answers[bucket]; old; old = old->next)
        if (same_law(&old->law, &a.law) && old->packed == a.packed && old->ranks == ranks) {
            *rows = old->rows;
            return true;
        }
    count(draw(routing, &a.law), &a);
    a.next = routing->answers[bucket];
    routing->answers[bucket] = arena_alloc(routing->arena, 1, sizeof a);
    *routing->answers[bucket] = a;
    *rows = a.rows;
    return true;
}
