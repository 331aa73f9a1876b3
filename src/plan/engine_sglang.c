/* SGLang's mem_fraction_static: weights and cache as a share of what is free before the model
 * is loaded, the rest kept for activations and graphs by a formula over the launch.
 *
 * Source: engines.md 2.1 (SGLang 0.5.23, arg_groups/memory_hook.py); all in MiB, as there. */
#include <math.h>

#include "base/checked.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"

enum { GIB_IN_MIB = 1024 };

/* By device memory, in GiB: tokens of a prefill chunk; most sequences of a decode graph under
 * fewer than 4 tensor-parallel ranks, and under more. */
static const struct tier {
    uint64_t below, chunk, batch[2];
} tiers[] = {
    {20, 2048, {8, 8}},      {35, 4096, {48, 160}},           {60, 4096, {32, 160}},
    {160, 8192, {256, 512}}, {UINT64_MAX, 16384, {512, 512}},
};

static uint64_t device_mib(const struct plan *plan)
{
    return plan_rank_memory(plan) / MIB;
}

static const struct tier *tier_of(const struct plan *plan)
{
    const struct tier *tier = tiers;
    while (tier->below != UINT64_MAX && device_mib(plan) >= tier->below * GIB_IN_MIB)
        tier++;
    return tier;
}

/* --tp-size: attention's data-parallel ranks are some of its tensor-parallel ones. */
static uint64_t tensor_ranks(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan->parallel.tp, plan_engine_replicas(plan), &overflow);
}

uint64_t engine_sglang_chunk(const struct plan *plan)
{
    bool overflow = false;
    uint64_t given = plan->workload.max_num_batched_tokens;
    return given ? checked_mul(given, plan_engine_replicas(plan), &overflow)
                 : tier_of(plan)->chunk;
}

uint64_t engine_sglang_graph_batch(const struct plan *plan)
{
    uint64_t given = plan->stack.graph_batch;
    return given ? given : tier_of(plan)->batch[tensor_ranks(plan) >= 4];
}

/* Captured prefill sizes up to the chunk: steps of 4 from 4, 16 from 32, 32 from 256, 64 from
 * 512, 256 from 1,024 and 512 from 4,096 tokens. */
static uint64_t prefill_graphs(uint64_t chunk)
{
    static const uint64_t ends[] = {32, 256, 512, 1024, 4096, UINT64_MAX};
    static const uint64_t steps[] = {4, 16, 32, 64, 256, 512};
    uint64_t n = 0, from = 0;
    for (unsigned i = 0; i < 6 && from < chunk; i++) {
        uint64_t end = chunk < ends[i] ? chunk : ends[i];
        n += (end - from) / steps[i];
        from = end;
    }
    return n;
}

/* Graphs of prefill, in MiB: not with pipeline stages. */
static uint64_t prefill_graphs_mib(const struct plan *plan)
{
    bool mla = plan->model.attention.kind == ATTENTION_MLA;
    if (plan->stack.graphs == GRAPHS_NONE || plan->parallel.pp > 1 || plan->moe.overlap)
        return 0;
    uint64_t chunk = engine_sglang_chunk(plan);
    return mla ? 1536 : 8 * prefill_graphs(chunk);
}

static uint64_t reserved_mib(const struct plan *plan)
{
    uint64_t ranks = tensor_ranks(plan), dp = plan_engine_replicas(plan);
    uint64_t chunk = engine_sglang_chunk(plan), batch = engine_sglang_graph_batch(plan);
    uint64_t graphs = prefill_graphs_mib(plan);
    bool deepep = path_reads(plan->moe.path, READS_DEEPEP);
    uint64_t mib = 512 + (chunk > 2048 ? chunk : 2048) * 3 / 2;
    mib += 1024 * ranks * plan->parallel.pp / 8 + graphs;
    mib += plan->stack.graphs != GRAPHS_NONE ? 2 * batch : 0;
    if (dp > 1)
        mib += 3 * batch * dp + (batch > 300 ? batch * dp * 3 / 2 : 0);
    if (deepep && graphs)
        mib += 1024;
    if (device_mib(plan) > 60 * GIB_IN_MIB && mib < 10240)
        mib = 10240;
    return mib + (deepep && plan->stack.graphs != GRAPHS_NONE ? 2048 : 0);
}

uint64_t engine_sglang_kept(const struct plan *plan)
{
    return reserved_mib(plan) * MIB;
}

/* Models with an encoder: 0.95, less for one heavier than 24 layers of 1,024. */
static double for_encoder(const struct plan *plan)
{
    const struct encoder *e = &plan->model.encoder;
    double weight = (double)e->layers * (double)e->hidden * (double)e->hidden;
    double factor = 1 - 0.1 * (weight / (24.0 * 1024 * 1024) - 1);
    return e->layers ? 0.95 * fmin(fmax(factor, 0.8), 1.05) : 1;
}

double engine_sglang_fraction(const struct plan *plan)
{
    double all = (double)device_mib(plan), kept = (double)reserved_mib(plan);
    double rounded = all > kept ? round((all - kept) / all * 1000) / 1000 : 0;
    return rounded * for_encoder(plan);
}

/* ---- one pool for caches of several kinds ---- */

double engine_window_ratio(const struct plan *plan)
{
    double said = plan->memory.window_ratio;
    return plan->stack.kind != STACK_SGLANG ? 1 : said > 0 ? said : 0.8;
}

double engine_state_share(const struct plan *plan)
{
    double ratio = plan->memory.state_ratio > 0 ? plan->memory.state_ratio : 0.9;
    return plan->stack.kind == STACK_SGLANG ? ratio / (1 + ratio) : 0;
}

uint64_t engine_state_slots(const struct plan *plan)
{
    uint64_t ranks = plan_engine_replicas(plan) ? plan_engine_replicas(plan) : 1;
    return plan->memory.state_slots / ranks;
}

uint64_t engine_state_copies(const struct plan *plan)
{
    uint64_t own = plan->stack.kind == STACK_SGLANG ? 3 : 1;
    return plan->memory.state_copies ? plan->memory.state_copies : own;
}
