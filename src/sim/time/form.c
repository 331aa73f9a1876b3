/* Forms of time; see form.h. */
#include "sim/time/form.h"

#include <math.h>

double form_beside(double a_s, double b_s, double norm)
{
    double longer = fmax(a_s, b_s), shorter = fmin(a_s, b_s);
    if (!(shorter > 0))
        return longer;
    if (norm <= 1) /* the least there is: one after the other */
        return longer + shorter;
    return longer * pow(1 + pow(shorter / longer, norm), 1 / norm);
}

double form_pipelined(double start_s, double wire_s, double chunking)
{
    return start_s + wire_s + 2 * chunking * sqrt(start_s * wire_s);
}

static double product_s(const struct form_product *k, double flop, double bytes,
                        const struct form_device *device)
{
    return form_beside(flop / (device->peak * k->efficiency),
                       bytes / (device->bandwidth * k->bandwidth), k->norm);
}

double form_depth_share(double depth, double half_depth)
{
    return half_depth > 0 && depth > 0 ? depth / (depth + half_depth) : 1;
}

static double tiles_of(const struct form_gemm *g)
{
    return g->groups * ceil(g->rows / g->tile_rows) * ceil(g->columns / g->tile_columns);
}

double form_generated_rows(double rows, double mean)
{
    double tile = 8;
    while (tile < mean && tile < 64)
        tile *= 2;
    return tile * fmax(1, rows / tile + 0.5);
}

void form_choose_tiles(struct form_gemm *g, double units)
{
    double fewest = HUGE_VAL, fullest = 0, best = 0;
    g->tile_rows = g->rows <= 64 ? 64 : 128;
    for (double columns = 16; columns <= 128; columns += 8) {
        g->tile_columns = columns;
        double tiles = tiles_of(g), waves = ceil(tiles / units),
               last = tiles - (waves - 1) * units;
        if (waves > fewest || (waves == fewest && last < fullest))
            continue;
        fewest = waves;
        fullest = last;
        best = columns;
    }
    g->tile_columns = best;
}

double form_gemm_flop(const struct form_gemm *gemm, double wave, double units)
{
    struct form_gemm g = *gemm;
    double share = wave, columns = g.tile_columns;
    if (g.tile_rows <= 0) {
        form_choose_tiles(&g, units);
        columns = fmax(g.tile_columns, 32 + g.tile_columns / 2);
        share = 1;
    }
    double waves = tiles_of(&g) / units;
    return 2 * g.tile_rows * columns * g.depth * units *
           (waves + share * (ceil(waves) - waves));
}

double form_gemm_s(const struct form_product *k, const struct form_gemm *g,
                   const struct form_device *device)
{
    double flop = form_gemm_flop(g, k->wave, device->units);
    return k->overhead_s +
           product_s(k, flop / form_depth_share(g->depth, k->half_depth), g->bytes, device);
}

bool form_experts_few(const struct form_experts_call *call)
{
    return call->tokens <= call->experts;
}

double form_experts_s(const struct form_experts *k, const struct form_experts_call *c,
                      const struct form_device *device)
{
    struct form_product product = k->product;
    if (form_experts_few(c) && k->few_bandwidth > 0)
        product.bandwidth = k->few_bandwidth;
    double matrices = 3 * c->hidden * c->inter;
    double products = product_s(&product, 2 * c->padded_rows * matrices,
                                c->hit * matrices * c->weight_bytes, device);
    double activations = 2 * c->rows * (2 * c->hidden + 3 * c->inter) * k->row_passes;
    double tokens = 2 * c->tokens * c->hidden * k->token_passes;
    return k->product.overhead_s + products + (activations + tokens) / device->bandwidth;
}

/* E[ceil(X / t)] = sum over j >= 0 of P(X > j t): exact for j = 0, by the normal law behind;
 * from a few tiles on half a tile above the mean. */
double form_padded_rows(double mean, double tile)
{
    if (tile <= 1 || mean <= 0)
        return mean;
    double sd = sqrt(mean), sum = -expm1(-mean);
    if (mean > 4 * tile && sd > tile / 4)
        return mean + (tile - 1) / 2;
    for (double j = 1; j * tile < mean + 5 * sd; j++)
        sum += 0.5 * erfc((j * tile + 0.5 - mean) / sd * 0.70710678118654752);
    return tile * sum;
}

double form_collective_s(const struct form_collective *k, double messages, double bytes,
                         double link)
{
    return form_pipelined(k->overhead_s + messages * k->latency_s,
                          bytes / (link * k->efficiency), k->chunking);
}

double form_protocols_s(const struct form_protocols *k, double start_s, double message_s,
                        double wire_s, double chunking)
{
    double large = form_pipelined(start_s + k->large_s, wire_s, chunking);
    return k->small > 0 ? fmin(start_s + message_s / k->small, large) : large;
}

double form_exchange_staged_s(const struct form_exchange *k,
                              const struct form_exchange_bytes *b)
{
    return k->overhead_s + fmax(b->inside / (b->inside_link * k->inside),
                                b->between / (b->between_link * k->between));
}

double form_exchange_direct_s(const struct form_exchange *k,
                              const struct form_exchange_bytes *b)
{
    return k->overhead_s + b->inside / (b->inside_link * k->inside) +
           b->between / (b->between_link * k->between);
}
