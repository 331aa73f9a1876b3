/* The engine of sm_90a with plain C in the place of TMA and wgmma: tiles by its schedule and of
 * its sizes, operands through the maps that the host made for its loader, what is outside of a
 * map zero. So all is tested but the instructions. Included by kernels.c alone. */
#ifndef MOEPLAN_TESTS_EMUL_WGMMA_H
#define MOEPLAN_TESTS_EMUL_WGMMA_H

#include "support/emul/map.h"

/* What the loader brings of operand 0 or 1. */
static float plain_at(const struct gpu_maps *maps, int operand, uint64_t column, uint64_t row,
                      uint64_t matrix)
{
    const struct emul_map *map = (const void *)maps->of[operand];
    uint16_t bits;
    if (column >= map->sizes[0] || row >= map->sizes[1] || matrix >= map->sizes[2])
        return 0;
    memcpy(&bits,
           (const char *)(uintptr_t)map->memory + column * 2 + row * map->strides[0] +
               matrix * map->strides[1],
           sizeof bits);
    return bf16_decode(bits);
}

/* One sum: row r of the tile by the weight's column, or the row of the other operand. */
static float plain_sum(const struct gpu_maps *maps, const struct peak_operands *of,
                       const struct peak_tile *tile, int kind, uint64_t r, uint64_t column)
{
    uint64_t matrix = of->b.n_dims > 2 ? tile->matrix : 0;
    float sum = 0;
    for (uint64_t k = 0; k < tile->depth; k++) {
        uint64_t row = tile->depth_from + k;
        float a = kind == PEAK_WGRAD ? plain_at(maps, 0, tile->row + r, row, 0)
                                     : plain_at(maps, 0, k, tile->from + tile->row + r, 0);
        float b = kind == PEAK_WGRAD ? plain_at(maps, 1, column, row + tile->to - tile->from, 0)
                  : kind == PEAK_TURNED ? plain_at(maps, 1, k, column, matrix)
                                        : plain_at(maps, 1, column, k, matrix);
        sum += a * b;
    }
    return sum;
}

static void plain_tile(const struct gpu_maps *maps, const struct peak_job *job,
                       const struct peak_operands *of, const struct peak_tile *tile, int kind)
{
    for (uint64_t r = 0; r < tile->rows; r++)
        for (uint64_t c = 0; c < tile->columns; c++) {
            float sum = plain_sum(maps, of, tile, kind, r, tile->column + c);
            if (kind == PEAK_GATED)
                peak_store_gated(
                    job, of, tile, r, c, sum,
                    plain_sum(maps, of, tile, kind, r, job->columns + tile->column + c));
            else
                peak_store(job, of, tile, kind, r, c, sum);
        }
}

/* The first item of those that multiply does it all. */
static void plain_product(const struct gpu_maps *maps, const struct gpu_call *call,
                          const struct memory *memory, int kind)
{
    enum { ROWS = 128, COLUMNS = 256 };
    struct peak_operands of;
    struct peak_job job = peak_job_of(call, memory, kind, &of);
    job.tile_rows = ROWS;
    job.tile_columns = kind == PEAK_GATED ? COLUMNS / 2 : COLUMNS;
    struct peak_walk walk = peak_begin(&job);
    struct peak_tile tile;
    for (uint64_t i = GROUP; peak_take(&job, &walk, i, &tile); i += GROUPS)
        if (ITEM == 128)
            plain_tile(maps, &job, &of, &tile, kind);
}

PEAK_KERNEL(s90_gemm, 384)
{
    plain_product(maps, call, memory, PEAK_GEMM);
}

PEAK_KERNEL(s90_turned, 384)
{
    plain_product(maps, call, memory, PEAK_TURNED);
}

PEAK_KERNEL(s90_wgrad, 384)
{
    plain_product(maps, call, memory, PEAK_WGRAD);
}

PEAK_KERNEL(s90_gated, 384)
{
    plain_product(maps, call, memory, PEAK_GATED);
}

#endif
