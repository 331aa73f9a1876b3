/* Layouts that a serving engine cannot be asked for, or that its list does not model; see
 * serve.h. */
#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "work/path/path.h"
#include "work/serve/serve.h"
#include "work/stack/stack.h"

/* Layouts that the engine's own flags cannot ask for. */
static enum status refuse_degrees(const struct plan *plan, const struct serve_style *style,
                                  const char *name, struct err *err)
{
    const struct parallel *p = &plan->parallel;
    uint64_t dp = plan_dp(plan);
    if (p->cp > 1 && plan->stack.kind != STACK_VLLM) {
        err_set(err, STATUS_INPUT,
                "stack %s splits no sequence over ranks: parallel.cp is %llu", name,
                (unsigned long long)p->cp);
        return err_hint(err, plan->stack.kind == STACK_SGLANG
                                 ? "set parallel.cp to 1; sglang's --attn-cp-size is "
                                   "parallel.attention_cp"
                                 : "set parallel.cp to 1");
    }
    if (style->whole_or_split && p->ep > 1 && p->etp > 1) {
        err_set(
            err, STATUS_INPUT,
            "stack %s with %s spreads whole experts over all ranks or splits each over all: "
            "not ep %llu with etp %llu",
            name, words_path[stack_path(plan, NULL)], (unsigned long long)p->ep,
            (unsigned long long)p->etp);
        return err_hint(
            err, "set parallel.etp to 1 (vLLM's --enable-expert-parallel), or parallel.ep");
    }
    if (style->all_or_one && p->tp > 1 && dp > 1) {
        err_set(err, STATUS_INPUT,
                "stack %s splits attention over all ranks or over none (enable_attention_dp): "
                "not tp %llu with dp %llu",
                name, (unsigned long long)p->tp, (unsigned long long)dp);
        return err_hint(err, "set parallel.tp to 1 or %llu", (unsigned long long)(p->tp * dp));
    }
    return STATUS_OK;
}

/* Replicas that join their tokens before experts which all of their ranks share. */
static enum status refuse_joined(const struct plan *plan, const char *name, struct err *err)
{
    const struct parallel *p = &plan->parallel;
    enum moe_path path = stack_path(plan, NULL);
    if (path_system_of(path)->exchange != EXCHANGE_EVERYONE) {
        err_set(err, STATUS_INPUT,
                "moe.path %s has nothing to exchange: stack %s joins the tokens of all %llu "
                "replicas before experts that are split over %llu ranks",
                words_path[path], name, (unsigned long long)plan_dp(plan),
                (unsigned long long)p->etp);
        return err_hint(err,
                        "set moe.path to fused, or parallel.ep to %llu and parallel.etp "
                        "to 1 (whole experts)",
                        (unsigned long long)p->etp);
    }
    if (p->sp && p->tp > 1) {
        err_set(err, STATUS_INPUT,
                "stack %s joins whole replicas' tokens before experts that are split over %llu "
                "ranks: parallel.sp gives each of %llu tp ranks a part",
                name, (unsigned long long)p->etp, (unsigned long long)p->tp);
        return err_hint(err, "set parallel.sp to false");
    }
    if (plan_joins_networks(plan) && plan->moe.shared == SHARED_SP) {
        err_set(err, STATUS_INPUT,
                "stack %s splits shared experts over the same %llu ranks as routed ones: "
                "moe.shared is sp",
                name, (unsigned long long)p->etp);
        return err_hint(err, "set moe.shared to tp");
    }
    return STATUS_OK;
}

/* Values of all heads behind attention. */
static uint64_t head_values(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    return a->heads * (a->v_head_dim ? a->v_head_dim : a->head_dim);
}

/* fp8 with scales of 128 x 128: both engines refuse a rank's part of a network that ends inside
 * a block (vLLM and SGLang layers/quantization/fp8.py: "not divisible by weight quantization
 * block_n", "block_k"; vllm issue 17569, sglang issue 3345). */
static enum status refuse_blocks(const struct plan *plan, const char *name, struct err *err)
{
    const struct model *model = &plan->model;
    const uint64_t dense = plan->parallel.dense_apart
                               ? engine_attention_ranks(plan)
                               : plan->parallel.tp * plan_dense_replicas(plan);
    const struct {
        const char *network, *hint;
        uint64_t width, part;
        enum weight_part format;
        bool there;
    } networks[] = {
        {"experts",
         "whole experts (parallel.ep, with parallel.etp 1), or a smaller parallel.tp",
         model->moe.intermediate, plan_expert_width(plan), PART_AUTO, plan_has_experts(plan)},
        {"shared experts", "a smaller parallel.tp, or moe.shared sp",
         model->moe.shared_intermediate, plan_shared_width(plan), PART_SHARED,
         model->moe.shared_intermediate > 0},
        {"dense networks",
         "a smaller parallel.tp, or under sglang's dp attention parallel.dense_apart "
         "(--moe-dense-tp-size 1)",
         model->dense_intermediate, ceil_div(model->dense_intermediate, dense), PART_DENSE,
         model_ffns(model, FFN_DENSE) > 0},
        {"attention's output", "a smaller parallel.tp", head_values(plan),
         ceil_div(head_values(plan), engine_attention_ranks(plan)), PART_ATTENTION_OUT,
         model->attention.kind != ATTENTION_SHARED_KV},
    };
    if (plan->stack.kind != STACK_VLLM && plan->stack.kind != STACK_SGLANG)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        enum dtype format = networks[i].format == PART_AUTO
                                ? plan->precision.weights
                                : plan_part_format(plan, networks[i].format);
        if (!networks[i].there || format != DTYPE_FP8_BLOCK ||
            networks[i].part == networks[i].width || networks[i].part % 128 == 0)
            continue;
        err_set(
            err, STATUS_INPUT,
            "stack %s does not load blocks of 128 in parts: %s of width %llu, %llu on a rank",
            name, networks[i].network, (unsigned long long)networks[i].width,
            (unsigned long long)networks[i].part);
        return err_hint(err, "%s", networks[i].hint);
    }
    return STATUS_OK;
}

enum status serve_refuse(const struct plan *plan, const struct serve_style *style,
                         struct err *err)
{
    const char *name = stack_system(plan->stack.kind)->name;
    if (plan->workload.mode == MODE_TRAIN) {
        err_set(err, STATUS_INPUT, "stack %s serves: it has no workload.mode train", name);
        return err_hint(err, "set workload.mode to prefill or decode");
    }
    const struct parallel *p = &plan->parallel;
    uint64_t experts = p->ep * p->etp, ranks = p->tp * p->cp * plan_dp(plan);
    TRY(refuse_blocks(plan, name, err));
    if (!style->spread || (!plan_has_moe(plan) && p->cp == 1)) /* dp counts engines */
        return STATUS_OK;
    TRY(refuse_degrees(plan, style, name, err));
    if (style->alone && experts == p->tp)
        return STATUS_OK;
    if (p->ep > 1 && p->tp > 1 && !p->sp && ranks != p->tp) {
        err_set(err, STATUS_INPUT,
                "stack %s gives each of the %llu tp ranks its own part of the tokens before "
                "experts over %llu ranks",
                name, (unsigned long long)p->tp, (unsigned long long)ranks);
        return err_hint(err, "set parallel.sp to true");
    }
    if (experts == ranks)
        return plan_joined_replicas(plan) > 1 ? refuse_joined(plan, name, err) : STATUS_OK;
    err_set(err, STATUS_INPUT,
            "stack %s spreads the experts over all %llu ranks of tp and dp, not over %llu",
            name, (unsigned long long)ranks, (unsigned long long)experts);
    return err_hint(err,
                    "set parallel.ep to %llu (expert parallel), or parallel.etp (experts "
                    "sharded like dense networks)",
                    (unsigned long long)ranks);
}
