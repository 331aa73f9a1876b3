/* What the host cannot perform, refused by name before anything is built: a layer that computed
 * something else than the plan says would be worse than none. */
#include <stddef.h>

#include "plan/derive.h"
#include "work/list/dtype.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/stack/stack.h"

/* A product's index tables and the router's scores stand in a worker's scratch. */
enum { MOST_EXPERTS = 65536, MOST_TOP_K = 128, MOST_RANKS = 512 };

/* A rank computes its share of every expert for tokens that all ranks of the group have. */
bool layer_gathers_over_etp(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return p->etp > 1 && (p->sp || p->tp % p->etp != 0) && plan_joined_replicas(plan) == 1;
}

static bool adds_bias_often(const struct plan *plan)
{
    return plan->parallel.etp > 1 && plan->model.moe.bias;
}

static bool gathers_for_shared(const struct plan *plan)
{
    bool apart = (plan->parallel.sp && plan->parallel.tp > 1) || plan_shared_gathered(plan);
    return apart && !plan_shared_whole(plan) && plan->model.moe.shared_intermediate;
}

static bool gathers_for_residual(const struct plan *plan)
{
    return plan->parallel.sp && plan->parallel.tp > 1 && plan->model.residual_intermediate;
}

static bool activates_packed(const struct plan *plan)
{
    return !dtype_is_plain(plan->precision.activations);
}

static bool combines_packed(const struct plan *plan)
{
    return !dtype_is_plain(plan->precision.combine);
}

static bool packs_gradients(const struct plan *plan)
{
    enum dtype dtype = plan->precision.gradients;
    return dtype != DTYPE_NONE && !dtype_is_plain(dtype);
}

static bool has_no_kernel(enum dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype_is_int4(dtype) || dtype == DTYPE_NF4 ||
           dtype == DTYPE_NF4_DOUBLE || dtype == DTYPE_F64;
}

static bool sends_integers(const struct plan *plan)
{
    enum dtype dtype = plan->precision.dispatch;
    return has_no_kernel(dtype);
}

static bool weighs_in_integers(const struct plan *plan)
{
    enum dtype dtype = plan->precision.weights;
    return has_no_kernel(dtype) || dtype == DTYPE_I32 || dtype == DTYPE_I64 ||
           dtype == DTYPE_BOOL || dtype == DTYPE_NONE;
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

static const struct refusal refusals[] = {
    {layer_gathers_over_etp,
     "experts split by etp over ranks that have different tokens are not performed on the host",
     "--set parallel.etp=1; a rank's share is performed where tp is a multiple of etp, "
     "without sp"},
    {adds_bias_often, "biases of experts split by etp are not performed on the host",
     "--set parallel.etp=1"},
    {gathers_for_shared,
     "shared experts split over ranks that have different tokens are not performed on the "
     "host",
     "--set moe.shared=sp: each rank holds them whole"},
    {gathers_for_residual,
     "an MLP beside the experts, split by tp over ranks that have different tokens (sp), is "
     "not performed on the host",
     "--set parallel.sp=false"},
    {activates_packed, "activations of this format are not performed on the host",
     "precision.activations: f32, bf16 or f16"},
    {combines_packed, "a combine in this format is not performed on the host",
     "precision.combine: f32, bf16 or f16"},
    {packs_gradients, "gradients of this format are not performed on the host",
     "precision.gradients: f32, bf16 or f16"},
    {sends_integers, "a dispatch in this format is not performed on the host",
     "precision.dispatch: f32, bf16, f16, fp8, fp8_channel, fp8_block, mxfp8, mxfp4 or nvfp4"},
    {weighs_in_integers, "weights of this format are not performed on the host",
     "precision.weights: f32, bf16, f16, fp8, fp8_channel, fp8_block, mxfp8, mxfp4 or nvfp4"},
    {plan_routes_by_tables, /* else a layer whose router chooses is performed */
     "experts that a table of the vocabulary names in all layers are not performed on the host",
     "--set model.moe.hash_layers=0"},
    {many_experts, "the host performs at most 65536 experts", "--shrink N divides the plan"},
    {many_per_token, "the host performs at most 128 experts per token",
     "--set model.moe.top_k=128"},
    {many_ranks, "the host performs at most 512 ranks of a group", "--set parallel.ep=512"},
};

enum status layer_refuse(const struct plan *plan, const struct refusal *list, size_t n,
                         struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!list[i].broken(plan))
            continue;
        err_set(err, STATUS_INPUT, "%s", list[i].text);
        return err_hint(err, "%s", list[i].hint);
    }
    return STATUS_OK;
}

enum status layer_check(const struct plan *plan, struct err *err)
{
    const struct path_system *path = path_system_of(stack_path(plan, NULL));
    TRY(layer_refuse(plan, refusals, sizeof refusals / sizeof *refusals, err));
    return layer_refuse(plan, path->refusals, path->n_refusals, err);
}
