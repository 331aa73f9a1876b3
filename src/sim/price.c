/* See price.h. */
#include "sim/price.h"

#include <math.h>

#include "sim/comm.h"
#include "sim/intensity.h"
#include "work/list/kernel.h"

double price_peak(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    double peak = intensity_peak(plan);
    return (peak > 0 ? peak : device->peak_bf16) / (double)device->logical_cores;
}

double price_bandwidth(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    return device->memory_bandwidth / (double)device->logical_cores;
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
    double trips = op->loop ? (double)values[op->trips.node] : 1;
    return trips - (enters ? 1 : 0);
}

struct price price_of(const struct plan *plan, const struct work *work, const struct op *op,
                      const uint64_t *values)
{
    double bytes = (double)values[op->bytes_read.node] + (double)values[op->bytes_written.node];
    double sent = (double)values[op->bytes_sent.node];
    double received = (double)values[op->bytes_received.node];
    struct price price = {
        .compute_s = over((double)values[op->flop.node], price_peak(plan)),
        .memory_s = over(bytes, price_bandwidth(plan)),
        .link_s = comm_s(plan, op->group, op->kind == OP_EXCHANGE, fmax(sent, received),
                         messages(work, op, values)),
    };
    price.s = fmax(price.link_s, fmax(price.compute_s, price.memory_s));
    return price;
}
