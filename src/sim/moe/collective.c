/* Costs of collectives; see collective.h. */
#include "sim/moe/collective.h"

#include <math.h>

#include "plan/derive.h"
#include "sim/moe/intensity.h"
#include "work/list/dtype.h"
#include "work/piece/reduce.h"

/* Bytes a rank sends in a reduce-scatter or all-gather, by any of the algorithms. */
static double bytes_sent(uint64_t ranks, double bytes)
{
    return bytes * (double)(ranks - 1) / (double)ranks;
}

/* Hops of the longest way. */
static double hops(const struct fabric *f)
{
    return f->shape == FABRIC_RING ? (double)(f->ranks / 2) : (double)(f->ranks - 1);
}

double collective_all_gather(const struct fabric *f, double bytes)
{
    double links = f->shape == FABRIC_RING ? 2 : 1;
    if (f->ranks < 2 || !(bytes > 0))
        return 0;
    return hops(f) * f->latency_s + bytes_sent(f->ranks, bytes) / (links * f->bytes_per_s);
}

double collective_reduce_scatter(const struct fabric *f, double bytes)
{
    return collective_all_gather(f, bytes);
}

double collective_all_reduce(const struct fabric *f, double bytes)
{
    return collective_reduce_scatter(f, bytes) + collective_all_gather(f, bytes);
}

double collective_all_to_all_cut(uint64_t ranks, double buffer, uint64_t links,
                                 double link_bytes_per_s)
{
    return (double)ranks / 2 * buffer / 2 / ((double)links * link_bytes_per_s);
}

double collective_halving(const struct fabric *f, double bytes)
{
    double p = (double)f->ranks, wire = bytes / f->bytes_per_s;
    if (f->ranks < 2)
        return 0;
    if (f->shape == FABRIC_LINE)
        return (p - 1) * f->latency_s + wire * (p * p - 1) / (3 * p);
    return (double)reduce_halving_steps(f->ranks) * f->latency_s + wire * (p - 1) / p;
}

double collective_tiled(double matmul_s, double exchange_s, uint64_t tiles)
{
    double n = (double)tiles;
    return matmul_s / n + (n - 1) * fmax(matmul_s, exchange_s) / n + exchange_s / n;
}

double collective_gather_matmul(double matmul_s, double gather_s, uint64_t ranks)
{
    double p = (double)ranks, part = matmul_s / p;
    return ranks < 2 ? matmul_s : part + (p - 1) * fmax(part, gather_s / (p - 1));
}

/* ---- blocks ---- */

static struct fabric fabric_of(const struct cluster *cluster, uint64_t ranks)
{
    struct fabric fabric = {.shape = FABRIC_CROSSBAR,
                            .ranks = ranks,
                            .bytes_per_s = cluster->node.link_bandwidth,
                            .latency_s = cluster->node.link_latency};
    if (cluster->mesh.n && ranks > 1)
        fabric.shape = cluster->wrap ? FABRIC_RING : FABRIC_LINE;
    return fabric;
}

static double reduce_scatter(const struct plan *plan, const struct fabric *fabric, double bytes)
{
    struct fabric one_way = *fabric;
    if (plan->block.collective == COLLECTIVE_HALVING)
        return collective_halving(fabric, bytes);
    if (plan->block.collective == COLLECTIVE_RING && fabric->shape == FABRIC_RING)
        one_way.shape = FABRIC_ONE_WAY;
    return collective_reduce_scatter(&one_way, bytes);
}

/* Elements of the gathered input [T, H], of the reduced output, and FLOPs, by kind. */
static void shapes(const struct plan *plan, struct collective_block *b)
{
    double t = (double)plan_tokens(plan), h = (double)plan->model.hidden,
           f = (double)plan->model.dense_intermediate, p = (double)b->ranks,
           element = dtype_bits(plan->precision.activations) / 8.0;
    bool gather = b->kind == BLOCK_ALLGATHER_MATMUL || b->kind == BLOCK_MLP;
    bool scatter = b->kind == BLOCK_REDUCE_SCATTER_MATMUL || b->kind == BLOCK_MLP;
    b->flop = 2 * t * h * f / p * (b->kind == BLOCK_MLP ? 2 : 1);
    b->gather_bytes = gather ? t * h * element : 0;
    b->reduce_bytes = scatter ? t * h * element : gather ? 0 : t * f * element;
}

static void overlap(struct collective_block *b, uint64_t tiles)
{
    b->serial_s = b->matmul_s + b->gather_s + b->reduce_s;
    b->overlapped_s = b->serial_s;
    if (b->kind == BLOCK_ALLREDUCE_MATMUL || b->kind == BLOCK_REDUCE_SCATTER_MATMUL)
        b->overlapped_s = collective_tiled(b->matmul_s, b->reduce_s, tiles);
    if (b->kind == BLOCK_ALLGATHER_MATMUL)
        b->overlapped_s = collective_gather_matmul(b->matmul_s, b->gather_s, b->ranks);
}

bool collective_block_of(const struct plan *plan, uint64_t tiles, struct collective_block *out)
{
    struct collective_block b = {.kind = plan->block.kind, .ranks = plan->parallel.tp};
    double peak = intensity_peak(plan) / (double)plan->cluster.device.logical_cores;
    if (b.kind == BLOCK_MOE)
        return false;
    struct fabric fabric = fabric_of(&plan->cluster, b.ranks);
    shapes(plan, &b);
    b.matmul_s = peak > 0 ? b.flop / peak : 0;
    b.gather_s = collective_all_gather(&fabric, b.gather_bytes);
    b.reduce_s = b.kind == BLOCK_ALLREDUCE_MATMUL
                     ? collective_all_reduce(&fabric, b.reduce_bytes)
                     : reduce_scatter(plan, &fabric, b.reduce_bytes);
    b.bytes_sent = bytes_sent(b.ranks, b.gather_bytes + b.reduce_bytes) +
                   (b.kind == BLOCK_ALLREDUCE_MATMUL ? bytes_sent(b.ranks, b.reduce_bytes) : 0);
    overlap(&b, tiles);
    *out = b;
    return true;
}
