/* Intensities; see intensity.h. */
#include "sim/moe/intensity.h"

#include <math.h>

#include "base/stat.h"
#include "plan/engine.h"
#include "plan/recipe.h"
#include "work/rows/blocks.h"

double intensity_gemm(double m, double k, double n, double bytes)
{
    return 2 * m * k * n / (bytes * (m * k + k * n + m * n));
}

void intensity_of(const struct intensity_ask *ask, double peak_flop_per_s,
                  double memory_bytes_per_s, struct intensity *out)
{
    double h = (double)ask->hidden, i = (double)ask->inter, ups = ask->glu ? 2 : 1;
    /* Rows in and out; unless fused also gate and up written and read, and the activation. */
    double elements = 2 * h + (ask->fused ? 0 : 2 * ups * i + 2 * i);
    *out = (struct intensity){
        .flop = ask->rows * (ups + 1) * 2 * h * i,
        .weight_bytes = ask->loads * (double)ask->expert_bytes,
        .activation_bytes = ask->rows * elements * ask->row_bytes,
    };
    double bytes = out->weight_bytes + out->activation_bytes;
    out->aif = out->weight_bytes > 0 ? out->flop / out->weight_bytes : 0;
    out->flop_per_byte = bytes > 0 ? out->flop / bytes : 0;
    if (peak_flop_per_s > 0 && memory_bytes_per_s > 0)
        out->ridge = peak_flop_per_s / memory_bytes_per_s;
    out->compute_bound = out->ridge > 0 && out->flop_per_byte >= out->ridge;
}

bool intensity_is_four_bit(const struct plan *plan)
{
    bool train = plan->workload.mode == MODE_TRAIN;
    enum dtype format = train                  ? recipe_format(plan)
                        : plan_is_engine(plan) ? plan->precision.weights
                                               : DTYPE_NONE;
    return plan->precision.compute == COMPUTE_FP8 && format == DTYPE_NVFP4 &&
           plan->cluster.device.peak_fp4 > 0;
}

double intensity_peak(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    if (intensity_is_four_bit(plan))
        return device->peak_fp4;
    switch (plan->precision.compute) {
    case COMPUTE_F32:
        return device->peak_f32;
    case COMPUTE_F32X3: /* three bf16 passes */
        return device->peak_bf16 / 3;
    case COMPUTE_FP8:
        return device->peak_fp8;
    case COMPUTE_BF16:
        break;
    }
    return device->peak_bf16;
}

/* Mean of a normal count rounded up to a multiple of `block`: a block for every multiple j that
 * the count exceeds. */
static double rounded_up(double mean, double sd, double block)
{
    if (!(sd > 0))
        return ceil(mean / block - 1e-9) * block;
    double sure = fmax(0, floor((mean - 8 * sd) / block)), blocks = sure;
    for (double j = sure; j * block < mean + 8 * sd; j++)
        blocks += stat_normal_cdf((mean - j * block - 0.5) / sd);
    return blocks * block;
}

void intensity_blocks(uint64_t rows, uint64_t experts, double sd, bool weight_skip,
                      double weight_element_bytes, double ridge,
                      struct block_choice choices[BLOCK_CHOICES])
{
    double mean = (double)rows / (double)experts;
    for (int i = 0; i < BLOCK_CHOICES; i++) {
        struct block_choice *c = &choices[i];
        c->block = 64ull << i;
        c->blocks = blocks_tight(rows, experts, c->block);
        double reuse = weight_skip ? (double)c->blocks / (double)experts : 1;
        c->aif = 2 * (double)c->block * reuse / weight_element_bytes;
        c->padding = mean > 0 ? rounded_up(mean, sd, (double)c->block) / mean : 1;
        c->compute_bound = ridge > 0 && c->aif >= ridge;
    }
}

uint64_t intensity_smallest_block(const struct block_choice choices[BLOCK_CHOICES])
{
    for (int i = 0; i < BLOCK_CHOICES; i++)
        if (choices[i].compute_bound)
            return choices[i].block;
    return 0;
}
