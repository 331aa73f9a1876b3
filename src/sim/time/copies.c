/* See copies.h. */
#include "sim/time/copies.h"

#include <math.h>

#include "base/text.h"
#include "plan/engine.h"
#include "sim/time/timeline.h"

/* vLLM model_executor/offloader: prefetch.py copies groups ahead, uva.py maps the host's
 * memory. SGLang utils/offloader.py, OffloaderV1: to(device) on the stream that then computes.
 * axolotl core/trainers/mixins/layer_offloading.py: a transfer stream for what comes
 * (_prefetch_layer), none for what goes (_offload_layer). Shards come on the stream of their
 * gather, which is one layer ahead (FSDP2 _fsdp_collectives.py, foreach_all_gather; DeepSpeed
 * runtime/zero/ partitioned_param_coordinator.py). */
static const struct {
    const char *name;
    enum stack_kind stack;
    bool groups; /* vLLM's */
    enum copy_way way;
} ways[] = {
    {"read_offloaded_weights", STACK_VLLM, true, COPY_AHEAD},
    {"read_offloaded_weights", STACK_VLLM, false, COPY_READS},
    {"read_offloaded_weights", STACK_SGLANG, false, COPY_TURNS},
    {"load_layer", STACK_FSDP, false, COPY_AHEAD},
    {"store_layer", STACK_FSDP, false, COPY_TURNS},
    {"load_shard", STACK_FSDP, false, COPY_AHEAD},
    {"load_shard", STACK_TORCHTITAN, false, COPY_AHEAD},
    {"load_shard", STACK_DEEPSPEED, false, COPY_AHEAD},
};

enum copy_way copies_way(const struct plan *plan, const struct op *op)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].stack == plan->stack.kind && ways[i].groups == engine_groups_layers(plan) &&
            text_equal(ways[i].name, op->name))
            return ways[i].way;
    return COPY_BESIDE;
}

/* A trainer's layers are issued as the one before begins, and there is none in front of the
 * first. vLLM joins its copy stream at the end of a step (join_after_forward), when those of
 * the next step's first layers are on their way. */
static double ahead_s(const struct plan *plan, const struct stretch *b, double device)
{
    if (b->copy_s[COPY_AHEAD] <= 0 || b->layers < 0.5)
        return 0;
    struct layers_ahead l = {.layers = (uint64_t)llround(b->layers),
                             .group = 1,
                             .in_group = 1,
                             .ahead = 1,
                             .early = true};
    if (engine_groups_layers(plan)) {
        l.group = plan->memory.offload_group;
        l.in_group = plan->memory.offload_in_group;
        l.ahead = plan->memory.offload_ahead;
        l.early = false;
    }
    uint64_t coming = timeline_coming(&l);
    if (!coming)
        return 0;
    l.layer_s = device / (double)l.layers;
    l.copy_s = b->copy_s[COPY_AHEAD] / (double)coming;
    return timeline_layers(&l) - device;
}

double copies_left_s(const struct plan *plan, const struct stretch *b, double device)
{
    double reads = fmax(0, b->copy_s[COPY_READS] - b->products_s);
    return reads + ahead_s(plan, b, device) + fmax(0, b->copy_s[COPY_BESIDE] - device);
}
