/* Exact per-token sampling: draws from the alias table, duplicates rejected.
 *
 * A token that rejects too often (K near E, extreme skew) gets the rest of its experts by a
 * Gumbel race over those left: the same law, whatever the weights, in bounded time. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/rng.h"
#include "work/rows/rows_parts.h"

enum { REJECTIONS_PER_EXPERT = 4, REJECTIONS_MORE = 8 };

/* Up to so many fours of draws are compared, each with each; of more the stamps of experts tell
 * sooner which repeat, as some mostly do. */
enum { FOURS_COMPARED = 3 };

/* Vose's construction in index order, so that tables are the same everywhere. */
static void alias_group(const double *p, uint32_t n, double *scaled, uint32_t *small,
                        uint32_t *large, uint32_t *threshold, uint32_t *other)
{
    double sum = 0;
    uint32_t n_small = 0, n_large = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += p[i];
    for (uint32_t i = 0; i < n; i++) {
        scaled[i] = sum > 0 ? p[i] * n / sum : 1;
        other[i] = i;
        threshold[i] = UINT32_MAX;
        if (scaled[i] < 1)
            small[n_small++] = i;
        else
            large[n_large++] = i;
    }
    while (n_small && n_large) {
        uint32_t low = small[--n_small], high = large[n_large - 1];
        threshold[low] = (uint32_t)(scaled[low] * 0x1p32);
        other[low] = high;
        scaled[high] -= 1 - scaled[low];
        if (scaled[high] < 1) {
            n_large--;
            small[n_small++] = high;
        }
    }
}

void rows_alias_make(const double *p, uint64_t groups, uint64_t n, struct arena *arena,
                     struct rows_alias *out)
{
    double *scaled = arena_alloc(arena, n, sizeof *scaled);
    uint32_t *small = arena_alloc(arena, n, sizeof *small);
    uint32_t *large = arena_alloc(arena, n, sizeof *large);
    out->n = (uint32_t)n;
    out->threshold = arena_alloc(arena, groups * n, sizeof *out->threshold);
    out->other = arena_alloc(arena, groups * n, sizeof *out->other);
    for (uint64_t g = 0; g < groups; g++)
        alias_group(p + g * n, (uint32_t)n, scaled, small, large, out->threshold + g * n,
                    out->other + g * n);
}

/* Uniform draws from a power of two of experts are exact with 16 bits: two to a word. */
static bool draws_halves(const struct rows *rows)
{
    uint64_t e = rows->spec.experts;
    return rows->kind == ROWS_FLAT && !rows->alias && e <= 65536 && (e & (e - 1)) == 0;
}

unsigned rows_blocks(const struct rows *rows)
{
    uint64_t draws = rows->spec.top_k;
    if (rows->kind == ROWS_GROUPED) /* experts of groups that are not kept, a few rejections */
        draws += (rows->alias ? rows->groups : 0) + 4;
    return (unsigned)ceil_div(draws, draws_halves(rows) ? 8 : 4);
}

/* The best `missing` of the experts not yet stamped, by log weight plus Gumbel noise. */
static void race_for_rest(const struct rows *rows, unsigned law, struct rng *rng,
                          struct rows_scratch *scratch, uint64_t missing, int32_t *ids)
{
    uint64_t n = rows->spec.experts;
    const double *weight = rows->log_weight + law * n;
    for (uint64_t e = 0; e < n; e++)
        scratch->keys[e] = scratch->stamp[e] == scratch->clock
                               ? -HUGE_VAL
                               : weight[e] - rng_log(rng_exponential(rng));
    for (uint64_t i = 0; i < missing; i++) {
        uint64_t best = 0;
        for (uint64_t e = 1; e < n; e++)
            if (scratch->keys[e] > scratch->keys[best])
                best = e;
        scratch->keys[best] = -HUGE_VAL;
        ids[i] = (int32_t)best;
    }
}

/* Goes on with a token whose first blocks of random words gave `k` experts. */
static void finish_flat(const struct rows *rows, unsigned law, struct rng *rng,
                        struct rows_scratch *scratch, uint64_t k, int32_t *ids)
{
    uint64_t want = rows->spec.top_k, misses = 0;
    while (k < want) {
        uint32_t word = rng_u32(rng);
        uint32_t e = rows->alias ? rows_alias_draw(&rows->alias[law], 0, word)
                                 : (uint32_t)((uint64_t)word * rows->spec.experts >> 32);
        if (scratch->stamp[e] != scratch->clock) {
            scratch->stamp[e] = scratch->clock;
            ids[k++] = (int32_t)e;
        } else if (++misses > REJECTIONS_PER_EXPERT * want + REJECTIONS_MORE) {
            race_for_rest(rows, law, rng, scratch, want - k, ids + k);
            return;
        }
    }
}

/* Where a token's random numbers come from. */
struct token_place {
    uint32_t step, rank, token;
    unsigned law;
};

/* Four draws of a token side by side. */
typedef uint32_t four __attribute__((vector_size(16)));

static inline four turned(four v, int by)
{
    four once = __builtin_shufflevector(v, v, 1, 2, 3, 0);
    four twice = __builtin_shufflevector(v, v, 2, 3, 0, 1);
    four thrice = __builtin_shufflevector(v, v, 3, 0, 1, 2);
    return by == 1 ? once : by == 2 ? twice : thrice;
}

/* Whether any two of 4 n draws are equal: each four against itself turned, and against every
 * turn of those after it. */
static inline bool any_equal(const uint32_t *draws, unsigned n)
{
    four found = {0};
    for (unsigned i = 0; i < n; i++) {
        four left;
        memcpy(&left, draws + 4 * i, sizeof left);
        found |= (four)(left == turned(left, 1)) | (four)(left == turned(left, 2));
        for (unsigned j = i + 1; j < n; j++) {
            four right;
            memcpy(&right, draws + 4 * j, sizeof right);
            found |= (four)(left == right) | (four)(left == turned(right, 1));
            found |= (four)(left == turned(right, 2)) | (four)(left == turned(right, 3));
        }
    }
    return found[0] | found[1] | found[2] | found[3];
}

/* n words become draws: one each, or two each of halved words, which are spread from the end.
 */
static void draw_words(const struct rows *rows, unsigned law, uint32_t n, uint32_t *words)
{
    uint64_t experts = rows->spec.experts;
    if (draws_halves(rows)) {
        uint32_t shift = 16 - (uint32_t)__builtin_ctzll(experts);
        for (uint32_t i = n; i-- > 0;) {
            uint32_t word = words[i];
            words[2 * i] = (word & 0xffff) >> shift;
            words[2 * i + 1] = word >> 16 >> shift;
        }
        return;
    }
    if (!rows->alias) {
        for (uint32_t i = 0; i < n; i++)
            words[i] = (uint32_t)((uint64_t)words[i] * experts >> 32);
        return;
    }
    const struct rows_alias alias = rows->alias[law];
    for (uint32_t i = 0; i < n; i++)
        words[i] = rows_alias_draw(&alias, 0, words[i]);
}

/* A token whose first K draws may repeat an expert: keeps the first of each, draws on. */
static void redraw(const struct rows *rows, struct token_place at, const uint32_t *draws,
                   struct rows_scratch *scratch, int32_t *ids)
{
    uint64_t k = 0, want = rows->spec.top_k;
    uint32_t clock = rows_tick(&scratch->clock, scratch->stamp, rows->spec.experts);
    for (uint64_t i = 0; i < want; i++) {
        uint32_t e = draws[i];
        if (scratch->stamp[e] == clock)
            continue;
        scratch->stamp[e] = clock;
        ids[k++] = (int32_t)e;
    }
    if (k == want)
        return;
    struct rng rng;
    rng_init(&rng, rows->spec.routing.seed, ROWS_RNG_TOKENS, at.step, at.rank, at.token);
    rng.counter[3] += rows_blocks(rows);
    finish_flat(rows, at.law, &rng, scratch, k, ids);
}

/* The first K draws are distinct for most tokens when popularity is even and K small; only the
 * others go through the stamps. Draws beyond K fill a block and are not used. */
static void sample_flat_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                              struct rows_scratch *scratch, int32_t *ids)
{
    uint64_t want = rows->spec.top_k;
    unsigned blocks = rows_blocks(rows), fours = draws_halves(rows) ? 2 * blocks : blocks;
    uint64_t stride = 4 * fours;
    uint32_t *draws = scratch->words;
    rng_fill(rows->spec.routing.seed, ROWS_RNG_TOKENS, at.step, at.rank, at.token, n, 0, blocks,
             draws);
    draw_words(rows, at.law, n * 4 * blocks, draws);
    for (uint32_t t = 0; t < n; t++, at.token++, draws += stride, ids += want) {
        for (uint64_t i = want; i < stride; i++)
            draws[i] = UINT32_MAX - (uint32_t)i;
        if (fours > FOURS_COMPARED || any_equal(draws, fours)) {
            redraw(rows, at, draws, scratch, ids);
            continue;
        }
        uint64_t i = 0;
        for (; i + 4 <= want; i += 4)
            memcpy(ids + i, draws + i, 4 * sizeof *ids);
        for (; i < want; i++)
            ids[i] = (int32_t)draws[i];
    }
}

static void sample_grouped_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                                 struct rows_scratch *scratch, int32_t *ids)
{
    rows_grouped_tokens(rows, at.law, ROWS_RNG_TOKENS, at.step, at.rank, at.token, n, scratch,
                        ids);
}

/* The place of number `at` of those that are left where `taken` [n], ascending, are not; it is
 * taken then. */
static uint32_t take_place(uint32_t at, int32_t *taken, uint64_t n)
{
    uint64_t before = 0;
    while (before < n && (uint32_t)taken[before] <= at + before)
        before++;
    memmove(taken + before + 1, taken + before, (n - before) * sizeof *taken);
    taken[before] = (int32_t)(at + before);
    return at + (uint32_t)before;
}

/* k distinct of `n` listed experts, uniformly; places that are taken go where replicas will. */
static void pick_listed(const int32_t *list, uint64_t n, uint64_t k, struct rng *rng,
                        struct rows_scratch *scratch, int32_t *ids)
{
    for (uint64_t i = 0; i < k; i++) {
        uint32_t left = (uint32_t)rng_below(rng, n - i);
        ids[i] = list[take_place(left, scratch->replicas, i)];
    }
}

static void sample_hot_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                             struct rows_scratch *scratch, int32_t *ids)
{
    uint64_t k = rows->spec.top_k, experts = rows->spec.experts;
    uint64_t inside = k < rows->n_hot ? k : rows->n_hot;
    for (uint32_t t = 0; t < n; t++, ids += k) {
        struct rng rng;
        rng_init(&rng, rows->spec.routing.seed, ROWS_RNG_TOKENS, at.step, at.rank,
                 at.token + t);
        rows_tick(&scratch->clock, scratch->stamp, experts);
        if (rng_uniform(&rng) < rows->hot_share) {
            pick_listed(rows->hot, rows->n_hot, inside, &rng, scratch, ids);
            pick_listed(rows->hot + rows->n_hot, experts - rows->n_hot, k - inside, &rng,
                        scratch, ids + inside);
        } else {
            finish_flat(rows, at.law, &rng, scratch, 0, ids);
        }
    }
}

static void sample_fixed_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                               struct rows_scratch *scratch, int32_t *ids)
{
    (void)at;
    (void)scratch;
    uint64_t k = rows->spec.top_k;
    for (uint32_t t = 0; t < n; t++)
        memcpy(ids + t * k, rows->hot, k * sizeof *ids);
}

/* Token j of the group takes experts j, j + E/K, j + 2 E/K, ...: distinct, spread over the
 * ranks, and every expert as often as the others. */
static void sample_balanced_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                                  struct rows_scratch *scratch, int32_t *ids)
{
    (void)scratch;
    uint64_t k = rows->spec.top_k, experts = rows->spec.experts, stride = experts / k;
    uint64_t first = at.rank * rows->spec.tokens + at.token;
    for (uint32_t t = 0; t < n; t++)
        for (uint64_t i = 0; i < k; i++)
            ids[t * k + i] = (int32_t)((first + t + i * stride) % experts);
}

static void sample_recorded_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                                  struct rows_scratch *scratch, int32_t *ids)
{
    (void)scratch;
    const struct trace *trace = rows->spec.data.trace;
    uint64_t k = rows->spec.top_k;
    uint64_t first = ((uint64_t)at.step * rows->spec.ranks + at.rank) % trace->tokens;
    first = (first * rows->spec.tokens + at.token) % trace->tokens;
    for (uint32_t t = 0; t < n; t++)
        memcpy(ids + t * k, trace->ids + (first + t) % trace->tokens * k, k * sizeof *ids);
}

typedef void sample_chunk(const struct rows *rows, struct token_place at, uint32_t n,
                          struct rows_scratch *scratch, int32_t *ids);

static sample_chunk *const samplers[ROWS_KIND_COUNT] = {
    [ROWS_FLAT] = sample_flat_chunk,         [ROWS_GROUPED] = sample_grouped_chunk,
    [ROWS_HOT] = sample_hot_chunk,           [ROWS_FIXED] = sample_fixed_chunk,
    [ROWS_RECORDED] = sample_recorded_chunk, [ROWS_BALANCED] = sample_balanced_chunk,
};

/* Tokens in runs share the choice of the run's first token. */
static void repeat_runs(const struct rows *rows, struct token_place at, uint32_t n,
                        struct rows_scratch *scratch, int32_t *ids)
{
    uint64_t k = rows->spec.top_k;
    uint32_t run = (uint32_t)rows->run;
    for (uint32_t t = 0; t < n; t++) {
        uint32_t token = at.token + t;
        if (t > 0 && token % run != 0) {
            memcpy(ids + t * k, ids + (t - 1) * k, k * sizeof *ids);
            continue;
        }
        struct token_place first = at;
        first.token = token - token % run;
        samplers[rows->kind](rows, first, 1, scratch, ids + t * k);
    }
}

void rows_sample_tokens(const struct rows *rows, uint64_t step, uint64_t rank, uint64_t first,
                        uint64_t n, struct rows_scratch *scratch, int32_t *ids)
{
    struct token_place at = {(uint32_t)step, (uint32_t)rank, (uint32_t)first,
                             (unsigned)(step % rows->n_laws)};
    sample_chunk *sample = rows->run > 1 ? repeat_runs : samplers[rows->kind];
    while (n > 0) {
        uint32_t now = n < ROWS_CHUNK ? (uint32_t)n : ROWS_CHUNK;
        sample(rows, at, now, scratch, ids);
        at.token += now;
        ids += now * rows->spec.top_k;
        n -= now;
    }
}

void rows_assign_replicas(const struct rows *rows, const int32_t *ids, uint64_t n,
                          uint64_t *seen, int32_t *replicas)
{
    const struct expert_map *map = &rows->map;
    for (uint64_t i = 0; i < n * rows->spec.top_k; i++) {
        uint32_t e = (uint32_t)ids[i];
        uint32_t which = map->count[e] == 1 ? 0 : (uint32_t)(seen[e]++ % map->count[e]);
        replicas[i] = (int32_t)map->replica[map->first[e] + which];
    }
}

/* ---- a step of the whole group ---- */

/* Tokens of a source: the experts of n of them, each of which stands for so many alike. */
struct chunk {
    uint64_t source, n, alike;
};

/* Destinations of a chunk of tokens, each counted once per token. */
static void count_tokens(const struct rows *rows, const struct chunk *of,
                         struct rows_scratch *scratch, struct rows_step *out)
{
    const struct expert_map *map = &rows->map;
    uint64_t k = rows->spec.top_k, ranks = rows->spec.ranks, alike = of->alike;
    uint64_t distinct = 0, nodes = 0;
    struct crossing *crossing = out->crossing;
    for (uint64_t t = 0; t < of->n; t++) {
        if (scratch->rank_clock == UINT32_MAX)
            memset(scratch->node_stamp, 0, ranks * sizeof *scratch->node_stamp);
        uint32_t clock = rows_tick(&scratch->rank_clock, scratch->rank_stamp, ranks);
        for (uint64_t i = 0; i < k; i++) {
            uint32_t rank = map->rank[scratch->replicas[t * k + i]];
            if (scratch->rank_stamp[rank] == clock)
                continue;
            scratch->rank_stamp[rank] = clock;
            distinct++;
            if (out->received)
                out->received[rank] += alike;
            if (out->pairs)
                out->pairs[of->source * ranks + rank] += alike;
            uint32_t node = rows->node[rank];
            bool first = scratch->node_stamp[node] != clock;
            nodes += first;
            scratch->node_stamp[node] = clock;
            if (out->node && first)
                out->node[node] += alike;
            if (crossing && !crossing->map.rows)
                crossing->sent[rank] += alike;
            if (crossing && first)
                crossing->reached[node] += alike;
        }
    }
    out->distinct_ranks += (double)(distinct * alike);
    out->distinct_nodes += (double)(nodes * alike);
}

static void count_chunk(const struct rows *rows, const struct chunk *of,
                        struct rows_scratch *scratch, struct rows_step *out)
{
    uint64_t p = rows->map.replicas, n = of->n * rows->spec.top_k;
    rows_assign_replicas(rows, scratch->ids, of->n, scratch->seen, scratch->replicas);
    for (uint64_t i = 0; i < n; i++)
        out->replica[scratch->replicas[i]] += of->alike;
    if (out->matrix)
        for (uint64_t i = 0; i < n; i++)
            out->matrix[of->source * p + (uint64_t)scratch->replicas[i]] += of->alike;
    if (out->crossing && out->crossing->map.rows)
        for (uint64_t i = 0; i < n; i++)
            out->crossing->sent[rows->map.rank[scratch->replicas[i]]] += of->alike;
    if (out->received || out->pairs || out->node || out->crossing)
        count_tokens(rows, of, scratch, out);
}

/* A source's tokens. A run of them begins with a chunk, and an expert that has one replica
 * takes them all: the first stands for it. */
static void count_source(const struct rows *rows, uint64_t step, uint64_t source,
                         struct rows_scratch *scratch, struct rows_step *out)
{
    uint64_t tokens = rows_tokens_of(&rows->spec, source);
    bool runs = rows->run == ROWS_CHUNK && rows->map.replicas == rows->map.experts;
    memset(scratch->seen, 0, rows->spec.experts * sizeof *scratch->seen);
    for (uint64_t first = 0; first < tokens; first += ROWS_CHUNK) {
        uint64_t n = lesser(tokens - first, ROWS_CHUNK);
        const struct chunk chunk = {source, runs ? 1 : n, runs ? n : 1};
        rows_sample_tokens(rows, step, source, first, chunk.n, scratch, scratch->ids);
        count_chunk(rows, &chunk, scratch, out);
    }
    if (out->crossing)
        crossing_add(out->crossing, source);
}

static void clear_step(const struct rows *rows, struct rows_step *out)
{
    uint64_t p = rows->map.replicas, r = rows->spec.ranks;
    memset(out->expert, 0, rows->spec.experts * sizeof *out->expert);
    memset(out->replica, 0, p * sizeof *out->replica);
    memset(out->rank, 0, r * sizeof *out->rank);
    if (out->received)
        memset(out->received, 0, r * sizeof *out->received);
    if (out->node)
        memset(out->node, 0, rows_nodes(rows) * sizeof *out->node);
    if (out->crossing)
        crossing_clear(out->crossing);
    if (out->matrix)
        memset(out->matrix, 0, r * p * sizeof *out->matrix);
    if (out->pairs)
        memset(out->pairs, 0, r * r * sizeof *out->pairs);
    out->distinct_ranks = out->distinct_nodes = 0;
}

/* Only counts per expert are asked, and every expert has one replica. */
static void count_experts(const struct rows *rows, uint64_t step, struct rows_scratch *scratch,
                          struct rows_step *out)
{
    uint64_t k = rows->spec.top_k;
    memset(scratch->counts, 0, rows->spec.experts * sizeof *scratch->counts);
    for (uint64_t source = 0; source < rows->spec.ranks; source++) {
        uint64_t tokens = rows_tokens_of(&rows->spec, source);
        for (uint64_t first = 0; first < tokens; first += ROWS_CHUNK) {
            uint64_t n = tokens - first < ROWS_CHUNK ? tokens - first : ROWS_CHUNK;
            rows_sample_tokens(rows, step, source, first, n, scratch, scratch->ids);
            for (uint64_t i = 0; i < n * k; i++)
                scratch->counts[scratch->ids[i]]++;
        }
        for (uint64_t e = 0; e < rows->spec.experts; e++) {
            out->replica[rows->map.replica[e]] += scratch->counts[e];
            scratch->counts[e] = 0;
        }
    }
}

void rows_sample_step(const struct rows *rows, uint64_t step, struct rows_scratch *scratch,
                      struct rows_step *out)
{
    const struct expert_map *map = &rows->map;
    uint64_t experts = rows->spec.experts;
    clear_step(rows, out);
    bool plain = map->replicas == experts && !out->received && !out->matrix && !out->pairs &&
                 !out->node && !out->crossing;
    if (plain)
        count_experts(rows, step, scratch, out);
    for (uint64_t source = 0; !plain && source < rows->spec.ranks; source++)
        count_source(rows, step, source, scratch, out);
    for (uint64_t i = 0; i < map->replicas; i++) {
        out->expert[map->expert[i]] += out->replica[i];
        out->rank[map->rank[i]] += out->replica[i];
    }
    double all = (double)rows_tokens(&rows->spec);
    if (all > 0) {
        out->distinct_ranks /= all;
        out->distinct_nodes /= all;
    }
}
