/* allgather: every rank gathers all tokens, computes its experts' rows, and partial sums are
 * reduced and scattered (Neuron expert parallelism; Megatron's allgather dispatcher). */
#include "work/path/path.h"
#include "work/stack/dispatch_paths.h"

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t partial = layer_fan_compute(l, all.x, all.gates, all.phys, &fan, all.tokens);
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}

const struct path_system path_allgather = {
    .backward = true,
    .build = build,
    .hold = hold_allgather,
    .align = align_by_stack,
    .exchange = EXCHANGE_GATHER,
};
