/* What the host cannot perform, refused by name before anything is built: a layer that computed
 * something else than the plan says would be worse than none. */
#include <stddef.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "work/layer.h"

/* A product's index tables and the router's scores stand in a worker's scratch. */
enum { MOST_EXPERTS = 65536, MOST_TOP_K = 128, MOST_RANKS = 512 };

static bool weighs_in_integers(const struct plan *plan)
{
    enum dtype dtype = plan->precision.weights;
    return dtype == DTYPE_INT8 || dtype == DTYPE_I32 || dtype == DTYPE_I64 ||
           dtype == DTYPE_F64 || dtype == DTYPE_BOOL || dtype == DTYPE_NONE;
}

static bool many_experts(const struct plan *plan)
{
    return plan_experts_total(plan) > MOST_EXPERTS;
}

static bool many_per_token(const struct plan *plan)
{
    return plan->model.moe.top_k > MOST_TOP_K;
}

static bool many_ranks(const struct plan *plan)
{
    return plan->parallel.ep > MOST_RANKS;
}

static bool large_blocks(const struct plan *plan)
{
    return plan->moe.path == PATH_BLOCK_SPARSE && layer_alignment(plan) > KERNEL_TILE_ROWS;
}

/* Blocks shared by two cores. */
static bool has_pair(const struct plan *plan)
{
    return plan->moe.path == PATH_BLOCKWISE && plan_cores(plan) == 2;
}

static bool halves_odd_hidden(const struct plan *plan)
{
    bool whole = plan->moe.shard == SHARD_BLOCK && plan->model.moe.top_k == 1;
    return has_pair(plan) && !whole && plan->model.hidden % 2;
}

static bool halves_odd_inter(const struct plan *plan)
{
    uint64_t inter = ceil_div(plan->model.moe.intermediate, plan->parallel.etp);
    return has_pair(plan) && plan->moe.shard == SHARD_I && inter % 2;
}

static bool skips_on_i(const struct plan *plan)
{
    return has_pair(plan) && plan->moe.shard == SHARD_I &&
           plan->moe.skip_weight != WEIGHT_SKIP_NONE;
}

static const struct refusal {
    bool (*broken)(const struct plan *plan);
    const char *text, *hint;
} refusals[] = {
    {weighs_in_integers, "weights of this format are not performed on the host",
     "precision.weights: f32, bf16, f16, fp8, fp8_channel, fp8_block, mxfp8, mxfp4 or nvfp4"},
    {many_experts, "the host performs at most 65536 experts", "--shrink N divides the plan"},
    {many_per_token, "the host performs at most 128 experts per token",
     "--set model.moe.top_k=128"},
    {many_ranks, "the host performs at most 512 ranks of a group", "--set parallel.ep=512"},
    {large_blocks, "block_sparse on the host takes blocks of at most 256 rows",
     "--set moe.alignment=128"},
    {halves_odd_hidden, "two cores share the hidden size in halves: it must be even",
     "--set moe.cores=1"},
    {halves_odd_inter,
     "two cores share the experts' intermediate size in halves: it must be even",
     "--set moe.shard=h"},
    {skips_on_i, "moe.shard i fetches the weights of every block, as its kernel does",
     "--set moe.skip.weight=none"},
};

enum status layer_check(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (!refusals[i].broken(plan))
            continue;
        err_set(err, STATUS_INPUT, "%s", refusals[i].text);
        return err_hint(err, "%s", refusals[i].hint);
    }
    return STATUS_OK;
}
