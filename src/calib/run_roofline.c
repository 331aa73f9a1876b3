/* See run_roofline.h. */
#include "calib/run_roofline.h"

#include <math.h>

#include "calib/run_block.h"
#include "work/list/kernel.h"

static double peak_of(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    const double peaks[] = {[COMPUTE_F32] = device->peak_f32,
                            [COMPUTE_F32X3] = device->peak_bf16 / 3,
                            [COMPUTE_BF16] = device->peak_bf16,
                            [COMPUTE_FP8] = device->peak_fp8};
    double peak = peaks[plan->precision.compute];
    return peak > 0 ? peak : device->peak_bf16;
}

static double over(double amount, double rate)
{
    return rate > 0 ? amount / rate : 0;
}

/* An exchange in a loop waits for the link in every trip that sends: all, or all but the one in
 * which a hop's own chunk takes its place. */
static double messages(const struct work *work, const struct op *op, const uint64_t *values)
{
    bool enters = op->kernel == KERNEL_HOP && op_buffer(work, op, ROLE_OWN) != WORK_NONE;
    return (double)values[op->trips.node] - (enters ? 1 : 0);
}

static double link_s(const struct plan *plan, double sent, double received, double n)
{
    const struct cluster *c = &plan->cluster;
    bool inside = run_block_of(plan)->ranks(plan) <= c->node.devices * c->device.logical_cores;
    double rate = inside ? c->node.link_bandwidth : c->network.bandwidth;
    double latency = inside ? c->node.link_latency : c->network.latency;
    double bytes = fmax(sent, received);
    return bytes > 0 ? n * latency + over(bytes, rate) : 0;
}

double run_roofline_s(const struct plan *plan, const struct work *work, const struct op *op,
                      const uint64_t *values)
{
    double bytes = (double)values[op->bytes_read.node] + (double)values[op->bytes_written.node];
    double compute_s = over((double)values[op->flop.node], peak_of(plan));
    double memory_s = over(bytes, plan->cluster.device.memory_bandwidth);
    return fmax(compute_s, memory_s) + link_s(plan, (double)values[op->bytes_sent.node],
                                              (double)values[op->bytes_received.node],
                                              messages(work, op, values));
}
