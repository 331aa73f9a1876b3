/* Rows of the measured rank in the kernel tables; see curve.h.
 *
 * The publisher's laws. Balanced: choice i of token t is expert t + i s (or t s / T + i s where
 * T < s), with s = ceil(E / K), and rank 0 is measured. Power law: an expert's load is drawn
 * from a truncated power law on [1, 0.8 T] ([0.01, 2] where T K <= E) and scaled to T K rows in
 * all; rounding by largest remainder, as a token has K distinct experts; the rank with most
 * rows is measured. With EPLB experts are packed heaviest first. Other tools' draws are not
 * ours: a mean over samples stands for theirs.
 *
 * The laws make scores of 1 for a token's experts and 0 for the others. An engine whose router
 * keeps groups of experts chooses among those scores once more: of the groups with a score of 1
 * the first, and in them, where fewer than K are left, the first experts (ties fall to the
 * lowest index): every token reaches the same few experts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "base/text.h"
#include "calib/table/curve.h"
#include "work/rows/eplb.h"

enum { SAMPLES = 16, TOKEN_SAMPLES = 4, PURPOSE = 77, MOST_CHOICES = 32, MOST_GROUPS = 64 };
enum { MOST_TOKENS = 1 << 22, MOST_EXPERTS = 1 << 16, MOST_ALPHA = 100 };

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
    struct curve_call call;
    bool packed;
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
            rank[e] = (uint32_t)(e / (experts / a->call.ranks));
        return;
    }
    double *weight = arena_alloc(scratch, experts, sizeof *weight);
    uint32_t *slot = arena_alloc(scratch, experts, sizeof *slot);
    for (uint64_t e = 0; e < experts; e++)
        weight[e] = loads[e];
    eplb_pack(weight, experts, a->call.ranks, scratch, rank, slot);
}

static void add_sample(const uint32_t *loads, struct answer *a, uint32_t *rank,
                       uint64_t *of_rank)
{
    uint64_t experts = a->law.experts, fullest = 0;
    memset(of_rank, 0, a->call.ranks * sizeof *of_rank);
    for (uint64_t e = 0; e < experts; e++)
        of_rank[rank[e]] += loads[e];
    for (uint64_t r = 1; r < a->call.ranks && a->law.alpha > 0; r++)
        fullest = of_rank[r] > of_rank[fullest] ? r : fullest;
    for (uint64_t e = 0; e < experts; e++)
        if (rank[e] == fullest)
            add_expert(&a->rows, loads[e]);
}

static void count_loads(const struct drawn *d, struct answer *a, struct arena *scratch)
{
    uint32_t *rank = arena_alloc(scratch, a->law.experts, sizeof *rank);
    uint64_t *of_rank = arena_alloc(scratch, a->call.ranks, sizeof *of_rank);
    for (size_t s = 0; s < d->n_samples; s++) {
        const uint32_t *loads = d->loads + s * a->law.experts;
        place(loads, a, scratch, rank);
        add_sample(loads, a, rank, of_rank);
        a->rows.tokens += (double)a->law.tokens;
    }
}

/* ---- token by token ---- */

struct tokens {
    const struct answer *a;
    uint32_t *list;  /* [T K] experts of a power law's tokens: choice i of token t at i T + t */
    uint32_t *loads; /* [E / ranks] of the measured rank */
    uint64_t reached;
};

/* The heaviest rank's experts change places with the first rank's, then the list is dealt out
 * heaviest expert first. */
static void deal(const uint32_t *loads, struct tokens *t, struct remainder *order)
{
    uint64_t experts = t->a->law.experts, each = experts / t->a->call.ranks, heaviest = 0,
             most = 0, at = 0;
    for (uint64_t r = 0; r < t->a->call.ranks; r++) {
        uint64_t sum = 0;
        for (uint64_t e = 0; e < each; e++)
            sum += loads[r * each + e];
        heaviest = sum > most ? r : heaviest;
        most = sum > most ? sum : most;
    }
    for (uint64_t e = 0; e < experts; e++) {
        uint64_t rank = e / each, to = rank == 0 ? heaviest : rank == heaviest ? 0 : rank;
        order[e] = (struct remainder){loads[e], (uint32_t)(to * each + e % each)};
    }
    qsort(order, experts, sizeof *order, by_remainder);
    for (uint64_t e = 0; e < experts; e++)
        for (double i = 0; i < order[e].left; i++)
            t->list[at++] = order[e].expert;
}

static bool has(const uint32_t *list, uint64_t n, uint32_t expert)
{
    for (uint64_t i = 0; i < n; i++)
        if (list[i] == expert)
            return true;
    return false;
}

/* Chooses again among `n` experts of score 1, group by group. */
static uint64_t regroup(const struct answer *a, uint32_t *chosen, uint64_t n)
{
    bool kept[MOST_GROUPS] = {false};
    uint32_t out[MOST_CHOICES];
    uint64_t each = a->law.experts / a->call.groups, left = a->call.kept, have = 0;
    uint64_t scored = 0; /* a bit for each of MOST_GROUPS */
    for (uint64_t i = 0; i < n; i++)
        scored |= UINT64_C(1) << chosen[i] / each;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint64_t g = 0; g < a->call.groups && left; g++) {
            if (kept[g] || (pass == 0 && !(scored >> g & 1)))
                continue;
            kept[g] = true;
            left--;
        }
    for (uint64_t i = 0; i < n; i++)
        if (kept[chosen[i] / each])
            out[have++] = chosen[i];
    for (uint64_t e = 0; e < a->law.experts && have < a->law.top_k; e++)
        if (kept[e / each] && !has(out, have, (uint32_t)e))
            out[have++] = (uint32_t)e;
    memcpy(chosen, out, have * sizeof *out);
    return have;
}

static void add_token(struct tokens *t, const uint32_t *chosen, uint64_t n)
{
    uint64_t each = t->a->law.experts / t->a->call.ranks, local = 0;
    for (uint64_t i = 0; i < n; i++)
        if (chosen[i] < each) {
            t->loads[chosen[i]]++;
            local++;
        }
    bool reached = local > 0 || !t->a->call.remote_first;
    t->reached += reached;
    if (reached && t->a->call.remote_first)
        t->loads[0] += (uint32_t)(t->a->law.top_k - local);
}

static void choose_all(struct tokens *t)
{
    const struct law *law = &t->a->law;
    uint64_t stride = (law->experts + law->top_k - 1) / law->top_k;
    for (uint64_t token = 0; token < law->tokens; token++) {
        uint64_t first = law->tokens >= stride ? token : token * stride / law->tokens, n = 0;
        uint32_t chosen[MOST_CHOICES];
        for (uint64_t i = 0; i < law->top_k; i++) {
            uint32_t expert = law->alpha > 0 ? t->list[i * law->tokens + token]
                                             : (uint32_t)((first + i * stride) % law->experts);
            if (!has(chosen, n, expert))
                chosen[n++] = expert;
        }
        if (t->a->call.groups > 1)
            n = regroup(t->a, chosen, n);
        add_token(t, chosen, n);
    }
}

static void count_tokens(const struct drawn *d, struct answer *a, struct arena *scratch)
{
    uint64_t each = a->law.experts / a->call.ranks;
    struct tokens t = {.a = a};
    struct remainder *order = arena_alloc(scratch, a->law.experts, sizeof *order);
    t.list = arena_alloc(scratch, a->law.tokens * a->law.top_k, sizeof *t.list);
    t.loads = arena_alloc(scratch, each, sizeof *t.loads);
    for (size_t s = 0; s < d->n_samples; s++) {
        memset(t.loads, 0, each * sizeof *t.loads);
        t.reached = 0;
        if (a->law.alpha > 0)
            deal(d->loads + s * a->law.experts, &t, order);
        choose_all(&t);
        a->rows.tokens += (double)t.reached;
        for (uint64_t e = 0; e < each; e++)
            add_expert(&a->rows, t.loads[e]);
    }
}

/* ---- all of it ---- */

static void count(const struct drawn *drawn, struct answer *a)
{
    struct arena scratch = {0};
    struct drawn d = *drawn;
    if (a->call.groups > 1 || a->call.remote_first) {
        d.n_samples = d.n_samples < TOKEN_SAMPLES ? d.n_samples : TOKEN_SAMPLES;
        count_tokens(&d, a, &scratch);
    } else {
        count_loads(&d, a, &scratch);
    }
    double n = (double)d.n_samples;
    a->rows.tokens /= n;
    a->rows.rows /= n;
    a->rows.hit /= n;
    for (size_t k = 0; k < CURVE_TILES; k++)
        a->rows.padded[k] /= n;
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
    return number_real(number, alpha) && *alpha > 0 && *alpha <= MOST_ALPHA;
}

bool curve_routing_is(const char *word)
{
    double alpha;
    bool packed;
    return read_word(word, &alpha, &packed);
}

static bool is_possible(const struct curve_call *c)
{
    bool grouped = c->groups > 1;
    return c->tokens && c->tokens <= MOST_TOKENS && c->ranks && c->experts <= MOST_EXPERTS &&
           c->experts % c->ranks == 0 && c->top_k && c->top_k <= MOST_CHOICES &&
           c->top_k <= c->experts &&
           (!grouped || (c->groups <= MOST_GROUPS && c->experts % c->groups == 0 &&
                         c->kept <= c->groups && c->experts / c->groups * c->kept >= c->top_k));
}

static bool same_call(const struct curve_call *a, const struct curve_call *b)
{
    return a->ranks == b->ranks && a->groups == b->groups && a->kept == b->kept &&
           a->remote_first == b->remote_first;
}

bool curve_routing_rows(struct curve_routing *routing, const char *word,
                        const struct curve_call *call, struct curve_rows *rows)
{
    struct answer a = {.law = {call->tokens, call->experts, call->top_k, 0}, .call = *call};
    if (!read_word(word, &a.law.alpha, &a.packed) || !is_possible(call))
        return false;
    size_t bucket =
        (call->tokens * 31 + call->experts * 7 + call->top_k * 3 + call->ranks * 131) % BUCKETS;
    for (struct answer *old = routing->answers[bucket]; old; old = old->next)
        if (same_law(&old->law, &a.law) && old->packed == a.packed &&
            same_call(&old->call, call)) {
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
