/* See block_loop.h. */
#include "work/piece/block_loop.h"

#include "base/arena.h"
#include "base/checked.h"
#include "plan/derive.h"
#include "plan/layers.h"

/* Partial products and partial sums are f32. */
enum { PARTIAL_BYTES = 4 };

bool block_loop_split(const struct plan *plan)
{
    return plan_cores(plan) == 2 && plan->moe.shard != SHARD_BLOCK;
}

uint64_t block_loop_step(const struct plan *plan)
{
    return block_loop_split(plan) ? 1 : plan_cores(plan);
}

enum block_order block_loop_order(const struct plan *plan)
{
    if (block_loop_step(plan) == 1)
        return BLOCKS_ONE_CORE;
    return plan->moe.skip_weight == WEIGHT_SKIP_HI_LO ? BLOCKS_HI_LO : BLOCKS_PING_PONG;
}

uint64_t block_loop_fixed(const struct plan *plan, uint64_t rows, uint64_t experts, uint64_t N)
{
    if (plan->moe.static_blocks == STATIC_BLOCKS_KERNEL)
        return blocks_fixed_kernel(N, experts);
    return blocks_fixed_nxd(rows, plan->parallel.ep, plan->moe.block_size);
}

static uint64_t crossed_bytes(const struct plan *plan, const struct layer_sample *s,
                              uint64_t executed)
{
    uint64_t inter = ceil_div(plan->model.moe.intermediate, plan->parallel.etp);
    struct block_cost cost =
        blocks_shard_cost(plan->moe.shard, s->R * s->T, s->K, model_row_width(&plan->model),
                          inter, plan->moe.block_size, false);
    uint64_t sent = executed * cost.sent + cost.sent_once;
    if (plan->moe.shard == SHARD_H && !plan->model.moe.glu)
        sent /= 2; /* the cost is that of gate and up */
    return plan_cores(plan) == 2 ? 2 * sent * PARTIAL_BYTES : 0;
}

/* Rows for each of the rank's experts, from all sources. */
static uint64_t count_rows(const struct layer_sample *s, uint64_t rank, uint64_t *counts)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < s->R * s->local; i++) {
        uint64_t source = i / s->local, e = i % s->local;
        uint64_t rows = s->rows[source * s->R * s->local + rank * s->local + e];
        counts[e] += rows;
        sum += rows;
    }
    return sum;
}

void block_loop_of(const struct plan *plan, const struct layer_sample *s, uint64_t rank,
                   struct block_loop *out)
{
    uint64_t all = s->R * s->T * s->K, B = plan->moe.block_size;
    uint64_t N = blocks_tight(all, s->local, B), step = block_loop_step(plan);
    *out = (struct block_loop){.cores = plan_cores(plan), .provisioned = N};
    struct arena arena = {0};
    uint64_t *counts = arena_alloc(&arena, s->local, sizeof *counts);
    int32_t *expert = arena_alloc(&arena, N + 1, sizeof *expert);
    uint64_t rows = count_rows(s, rank, counts);
    uint64_t fixed = block_loop_fixed(plan, all, s->local, N);
    out->valid = blocks_experts(counts, s->local, B, N, expert);
    out->executed = plan->moe.skip_dynamic ? blocks_executed(fixed, out->valid, N, step) : N;
    out->weight_loads =
        blocks_weight_loads(expert, out->executed, plan->moe.skip_weight != WEIGHT_SKIP_NONE,
                            block_loop_order(plan));
    out->token_rows = plan->moe.skip_token ? rows : out->executed * B;
    out->crossed_bytes = crossed_bytes(plan, s, out->executed);
    arena_release(&arena);
}
