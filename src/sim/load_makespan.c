/* Makespan of an expert-parallel group in one step; see load.h. */
#include <math.h>

#include "base/checked.h"
#include "sim/load.h"

/* Rows that leave and arrive at a rank, itself excluded. */
static void remote_rows(const struct rows *rows, const struct rows_step *step, uint64_t rank,
                        double *out, double *in)
{
    const struct expert_map *map = &rows->map;
    *out = *in = 0;
    for (uint64_t i = 0; i < map->replicas; i++) {
        if (map->rank[i] != rank)
            *out += (double)step->matrix[rank * map->replicas + i];
        for (uint64_t s = 0; map->rank[i] == rank && s < rows->spec.ranks; s++)
            *in += s == rank ? 0 : (double)step->matrix[s * map->replicas + i];
    }
}

void load_makespan(const struct rows *rows, const struct rows_step *step,
                   const struct makespan_ask *ask, struct makespan *out)
{
    const struct expert_map *map = &rows->map;
    double flop_per_row = (ask->glu ? 6.0 : 4.0) * (double)ask->hidden * (double)ask->inter;
    double per_row_s = flop_per_row / ask->flop_per_s, slowest = 0, link = 0;
    uint64_t all = rows->spec.tokens * rows->spec.ranks * rows->spec.top_k;
    for (uint64_t r = 0; r < rows->spec.ranks; r++) {
        double padded = 0, sent, got;
        for (uint64_t i = 0; i < map->replicas; i++)
            if (map->rank[i] == r)
                padded += (double)round_up(step->replica[i], ask->block);
        slowest = fmax(slowest, padded * per_row_s);
        remote_rows(rows, step, r, &sent, &got);
        /* What a rank sends out comes back to it, and the other way round. */
        double egress = sent * ask->row_bytes_out + got * ask->row_bytes_back;
        double ingress = got * ask->row_bytes_out + sent * ask->row_bytes_back;
        link = fmax(link, fmax(egress, ingress));
    }
    *out = (struct makespan){.gemm_s = slowest, .fixed_s = ask->fixed_s};
    if (rows->spec.ranks > 1 && ask->link_bytes_per_s > 0)
        out->comm_s = link / ask->link_bytes_per_s + 2 * ask->latency_s;
    out->total_s = out->gemm_s + out->comm_s + out->fixed_s;
    double mean = (double)all / (double)map->replicas;
    double even = ceil(mean / (double)ask->block) * (double)ask->block;
    out->balanced_s = even * (double)map->replicas / (double)rows->spec.ranks * per_row_s;
}
