/* Forms of the measured tables: which constants of a profile each reads, and its baseline. See
 * curve.h; the bounds are physical (no share above one) or wide. */
#include <math.h>

#include "calib/table/curve.h"

/* A roofline at 70 % of every peak, the control that stands beside every error. */
static const double CONTROL = 0.7;

#define VALUE(item, quantity, from, least, most)                                               \
    {                                                                                          \
        PROFILE_##item, PROFILE_##quantity, PROFILE_ANY, 0, from, least, most                  \
    }
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- experts ---- */

enum {
    E_OVERHEAD,
    E_EFFICIENCY,
    E_BANDWIDTH,
    E_NORM,
    E_ROWS,
    E_TOKENS,
    E_TILE,
    E_FEW,
    E_FEW_TILE
};

static const struct curve_constant experts_constants[] = {
    [E_OVERHEAD] = VALUE(EXPERTS, OVERHEAD, 3e-5, 1e-6, 1e-3),
    [E_EFFICIENCY] = VALUE(EXPERTS, EFFICIENCY, 0.5, 0.02, 1),
    [E_BANDWIDTH] = VALUE(EXPERTS, BANDWIDTH, 0.7, 0.05, 1),
    [E_NORM] = VALUE(EXPERTS, NORM, 2, 1, 20),
    [E_ROWS] = VALUE(EXPERTS, ROW_PASSES, 1, 0.01, 100),
    [E_TOKENS] = VALUE(EXPERTS, TOKEN_PASSES, 1, 0.01, 100),
    [E_TILE] = VALUE(EXPERTS, TILE_ROWS, 64, 16, 256),
    [E_FEW] = VALUE(EXPERTS, FEW_BANDWIDTH, 0.7, 0.05, 1),
    [E_FEW_TILE] = VALUE(EXPERTS, FEW_TILE, 16, 16, 256),
};

static double experts_seconds(const double *c, const struct curve_point *point)
{
    const struct form_experts k = {
        .product = {c[E_OVERHEAD], c[E_EFFICIENCY], c[E_BANDWIDTH], c[E_NORM], 0, 0},
        .few_bandwidth = c[E_FEW],
        .row_passes = c[E_ROWS],
        .token_passes = c[E_TOKENS]};
    struct form_experts_call call = point->experts;
    double rows = form_experts_few(&call) ? c[E_FEW_TILE] : c[E_TILE];
    size_t tile = 0;
    while (tile + 1 < CURVE_TILES && curve_tiles[tile] < rows * 0.99)
        tile++;
    call.padded_rows = point->padded[tile];
    return form_experts_s(&k, &call, &point->device);
}

static double experts_roofline(const struct curve_point *point)
{
    const struct form_experts_call *call = &point->experts;
    double matrices = 3 * call->hidden * call->inter;
    return fmax(2 * call->rows * matrices / (point->device.peak * CONTROL),
                call->hit * matrices * call->weight_bytes /
                    (point->device.bandwidth * CONTROL));
}

const struct curve_form curve_experts = {
    "experts",
    "tokens",
    "one call for all experts of a rank: permutation, products, activation and weighted sum, "
    "so move and elementwise ops of the experts are folded into it",
    experts_constants,
    COUNT(experts_constants),
    experts_seconds,
    experts_roofline};

/* ---- plain and grouped products ---- */

enum { G_OVERHEAD, G_EFFICIENCY, G_BANDWIDTH, G_NORM, G_DEPTH, G_TILES };

static const struct curve_constant gemm_constants[] = {
    [G_OVERHEAD] = VALUE(GEMM, OVERHEAD, 3e-6, 1e-7, 1e-4),
    [G_EFFICIENCY] = VALUE(GEMM, EFFICIENCY, 0.7, 0.1, 1),
    [G_BANDWIDTH] = VALUE(GEMM, BANDWIDTH, 0.8, 0.1, 1),
    [G_NORM] = VALUE(GEMM, NORM, 2, 1, 20),
    [G_DEPTH] = VALUE(GEMM, HALF_DEPTH, 256, 1, 4096),
    [G_TILES] = VALUE(GEMM, TILE_CHOICE, 1, 1, 1),
};

static double gemm_seconds(const double *c, const struct curve_point *point)
{
    const struct form_product k = {c[G_OVERHEAD], c[G_EFFICIENCY], c[G_BANDWIDTH], c[G_NORM], 1,
                                   c[G_DEPTH]};
    return form_gemm_s(&k, &point->gemm, &point->device);
}

static double gemm_roofline(const struct curve_point *point)
{
    const struct form_gemm *g = &point->gemm;
    return fmax(2 * g->groups * g->rows * g->columns * g->depth / point->device.peak,
                g->bytes / point->device.bandwidth) /
           CONTROL;
}

const struct curve_form curve_gemm = {"product",
                                      "rows",
                                      "one product, dense or grouped; its launch is in it",
                                      gemm_constants,
                                      COUNT(gemm_constants),
                                      gemm_seconds,
                                      gemm_roofline};

/* ---- collectives ---- */

enum { C_OVERHEAD, C_HOP, C_CHUNKING, C_TWO, C_FOUR, C_EIGHT, C_SMALL, C_LARGE };

/* Measured inside a node: nothing of it says what a network does. */
#define INSIDE(quantity, place, from, least, most)                                             \
    {                                                                                          \
        PROFILE_COLLECTIVE, PROFILE_##quantity, PROFILE_SCALE_UP, place, from, least, most     \
    }

/* Around rings the first six; to every peer at once all. */
static const struct curve_constant collective_constants[] = {
    [C_OVERHEAD] = VALUE(COLLECTIVE, OVERHEAD, 5e-6, 1e-6, 1e-4),
    [C_HOP] = INSIDE(HOP, 0, 1e-6, 1e-8, 1e-4),
    [C_CHUNKING] = INSIDE(CHUNKING, 0, 0.5, 0.01, 2),
    [C_TWO] = INSIDE(EFFICIENCY, 2, 0.6, 0.1, 1),
    [C_FOUR] = INSIDE(EFFICIENCY, 4, 0.7, 0.1, 1),
    [C_EIGHT] = INSIDE(EFFICIENCY, 8, 0.75, 0.1, 1),
    [C_SMALL] = INSIDE(SMALL, 0, 0.02, 1e-4, 1),
    [C_LARGE] = INSIDE(LARGE, 0, 5e-6, 1e-8, 1e-3),
};

/* Between measured sizes by the logarithm, as profile_value does. */
static double efficiency_at(const double *c, double ranks)
{
    double at = fmin(fmax(log2(ranks), 1), 3) - 1;
    size_t i = at >= 1 ? C_FOUR : C_TWO;
    double share = at >= 1 ? at - 1 : at;
    return c[i] + share * (c[i + 1] - c[i]);
}

static double collective_seconds(const double *c, const struct curve_point *point)
{
    const struct form_collective k = {c[C_OVERHEAD], c[C_HOP], efficiency_at(c, point->ranks),
                                      c[C_CHUNKING]};
    return form_collective_s(&k, point->messages, point->bytes, point->link);
}

static double collective_roofline(const struct curve_point *point)
{
    return point->bytes / (point->link * CONTROL);
}

const struct curve_form curve_collective = {
    "collective",         "bytes", "one collective inside a node; its launch is in it",
    collective_constants, C_SMALL, collective_seconds,
    collective_roofline};

/* A message to each of the other ranks, all under way at once. */
static double peers_seconds(const double *c, const struct curve_point *point)
{
    const struct form_protocols k = {c[C_SMALL], c[C_LARGE]};
    return form_protocols_s(&k, c[C_OVERHEAD] + point->messages * c[C_HOP],
                            point->bytes / point->messages / point->link,
                            point->bytes / (point->link * efficiency_at(c, point->ranks)),
                            c[C_CHUNKING]);
}

const struct curve_form curve_peers = {"peers",
                                       "bytes",
                                       "one exchange inside a node; its launch is in it",
                                       collective_constants,
                                       COUNT(collective_constants),
                                       peers_seconds,
                                       collective_roofline};

/* ---- exchange of rows ---- */

#define EXCHANGE(quantity, level, place, from, least, most)                                    \
    {                                                                                          \
        PROFILE_ALL_TO_ALL, PROFILE_##quantity, level, place, from, least, most                \
    }

enum { S_INSIDE, S_FORWARD, S_BETWEEN };

/* Inside one node the kernel writes to its peers; across nodes every rank forwards besides. */
static const struct curve_constant staged_constants[] = {
    [S_INSIDE] = EXCHANGE(EFFICIENCY, PROFILE_SCALE_UP, 8, 0.75, 0.1, 1),
    [S_FORWARD] = EXCHANGE(EFFICIENCY, PROFILE_SCALE_UP, 16, 0.6, 0.1, 1),
    [S_BETWEEN] = EXCHANGE(EFFICIENCY, PROFILE_SCALE_OUT, 0, 0.8, 0.1, 1),
};

static double staged_seconds(const double *c, const struct curve_point *point)
{
    const struct form_exchange k = {0, c[point->nodes ? S_FORWARD : S_INSIDE], c[S_BETWEEN]};
    return form_exchange_staged_s(&k, &point->exchange);
}

static double exchange_roofline(const struct curve_point *point)
{
    const struct form_exchange_bytes *b = &point->exchange;
    return fmax(b->inside / b->inside_link, b->between / b->between_link) / CONTROL;
}

const struct curve_form curve_staged = {"exchange",
                                        "ranks",
                                        "dispatch or combine of a group, layout apart",
                                        staged_constants,
                                        COUNT(staged_constants),
                                        staged_seconds,
                                        exchange_roofline};

enum { D_OVERHEAD, D_INSIDE, D_BETWEEN };

static const struct curve_constant direct_constants[] = {
    [D_OVERHEAD] = EXCHANGE(OVERHEAD, PROFILE_ANY, 0, 3e-5, 1e-6, 1e-3),
    [D_INSIDE] = EXCHANGE(EFFICIENCY, PROFILE_SCALE_UP, 0, 0.8, 0.1, 1),
    [D_BETWEEN] = EXCHANGE(EFFICIENCY, PROFILE_SCALE_OUT, 0, 0.8, 0.1, 1),
};

static double direct_seconds(const double *c, const struct curve_point *point)
{
    const struct form_exchange k = {c[D_OVERHEAD], c[D_INSIDE], c[D_BETWEEN]};
    return form_exchange_direct_s(&k, &point->exchange);
}

const struct curve_form curve_direct = {"exchange",
                                        "ranks",
                                        "dispatch or combine of a group, one message a row",
                                        direct_constants,
                                        COUNT(direct_constants),
                                        direct_seconds,
                                        exchange_roofline};
