/* What the host cannot perform, refused by name before anything is built: a layer that computed
 * something else than the plan says would be worse than none. */
#include <stddef.h>

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
