/* What training software refuses in its own checks, of the ways it splits a model, what it runs
 * again, moves away, captures and exchanges. A check that only some versions have is no rule:
 * those stand in work/stack/lacks.c, where predict says them and a search passes by. */
#include <inttypes.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "plan/layout.h"
#include "plan/rule/rule_parts.h"
#include "base/text.h"

static bool is_training(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool is_megatron(const struct plan *plan)
{
    return is_training(plan) && plan_is_megatron(plan);
}

static bool is_maxtext(const struct plan *plan)
{
    return is_training(plan) && plan->stack.kind == STACK_MAXTEXT;
}

static bool is_torchtitan(const struct plan *plan)
{
    return is_training(plan) && plan->stack.kind == STACK_TORCHTITAN;
}

/* ---- how a model is split ---- */

/* Megatron training/arguments.py, Bridge training/config.py: a rank has a part of either half
 * of a sequence. torchtitan distributed/parallel_dims.py, seq_len_divisor: tp splits those. */
static bool splits_context(const struct plan *plan)
{
    return (is_megatron(plan) || is_torchtitan(plan)) && plan->parallel.cp > 1;
}

static uint64_t context_parts(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return rule_product(2, p->cp, is_torchtitan(plan) ? p->tp : 1);
}

/* Megatron core/transformer/moe/moe_layer.py, forward. */
static bool splits_moe(const struct plan *plan)
{
    return is_megatron(plan) && plan_is_routed(plan) && plan->parallel.tp > 1;
}

static bool tokens_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text,
             "Megatron trains experts beside tp %" PRIu64 " with sequence parallelism alone",
             plan->parallel.tp);
    rule_say(hint, "parallel.sp: true, or parallel.tp: 1");
    return !plan->parallel.sp;
}

/* Megatron core/transformer/transformer_config.py, __post_init__. */
static bool biases_experts(const struct plan *plan)
{
    return is_megatron(plan) && plan_is_routed(plan) && plan->model.moe.bias;
}

static bool splits_delta(const struct plan *plan)
{
    return is_megatron(plan) && plan_has_linear(plan) &&
           plan->model.linear.kind == LINEAR_GATED_DELTA_NET;
}

static bool gates_heads(const struct plan *plan)
{
    return is_megatron(plan) && plan->model.attention.kind == ATTENTION_GQA &&
           plan->model.attention.head_gate;
}

/* torchtitan models/common/decoder.py, update_from_config, of both. */
static bool splits_keys(const struct plan *plan)
{
    return is_torchtitan(plan) && plan->model.attention.kind == ATTENTION_GQA;
}

static bool ties_stages(const struct plan *plan)
{
    return is_torchtitan(plan) && plan->model.tied_embeddings;
}

/* torchtitan distributed/parallel_dims.py: expert-parallel ranks are those that share weights
 * out, and context- and, where experts are whole, tensor-parallel ones. */
static bool spreads_experts(const struct plan *plan)
{
    return is_torchtitan(plan) && plan_is_routed(plan) && plan->parallel.ep > 1;
}

static uint64_t sharing_ranks(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    uint64_t shard = p->zero == 0 ? 1 : p->dp_shard ? p->dp_shard : plan_dp(plan);
    return rule_product(shard, p->cp, p->tp);
}

static uint64_t expert_ranks(const struct plan *plan)
{
    return rule_product(plan->parallel.ep, plan->parallel.etp, 1);
}

/* Layers that route by a table are where its ids are (Megatron transformer_config.py). */
static bool hashes_stages(const struct plan *plan)
{
    return is_megatron(plan) && plan->parallel.pp > 1 && plan->model.moe.hash_layers > 0;
}

static uint64_t first_layers(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    struct layout layout;
    uint64_t chunks = rule_product(p->pp, p->vpp, 1);
    if (p->layout[0] != '\0')
        return layout_read(p->layout, &layout) ? layout.chunk[0].layers : 0;
    if (p->stages.n)
        return ceil_div(p->stages.value[0], p->stages.n == chunks ? 1 : p->vpp);
    return ceil_div(plan->model.layers, chunks);
}

/* ---- exchanges ---- */

static bool takes_deepep(const struct plan *plan)
{
    bool trains = is_megatron(plan) || is_torchtitan(plan) || is_maxtext(plan);
    return trains && plan_is_routed(plan) && path_reads(plan->moe.path, READS_DEEPEP) &&
           !path_reads(plan->moe.path, READS_DISPATCH_TOKENS); /* an engine's, low latency */
}

/* Megatron token_dispatcher.py, MoEFlexTokenDispatcher, and Primus' own; torchtitan
 * models/.../parallelize.py. ROCm/maxtext layers/moe.py takes DeepEP where there are several
 * shards of experts, and Primus-Turbo's jax/lax/moe has kernels for no group of one. */
static bool peers_broken(const struct plan *plan, char *text, char *hint)
{
    const struct parallel *p = &plan->parallel;
    bool titan = is_torchtitan(plan), maxtext = is_maxtext(plan);
    rule_say(hint, "moe.path: ragged_a2a, or parallel.ep above 1%s",
             titan ? " with etp 1" : "");
    if (titan && p->etp > 1)
        rule_say(text, "torchtitan takes DeepEP with whole experts, etp is %" PRIu64, p->etp);
    else
        rule_say(text, "DeepEP among ep %" PRIu64 " x etp %" PRIu64 " ranks: %s", p->ep, p->etp,
                 titan     ? "torchtitan asks for ep above 1"
                 : maxtext ? "MaxText runs its own permutation where ep is 1"
                           : "Megatron asks for more than one");
    if (maxtext)
        return p->ep == 1;
    return titan ? p->ep == 1 || p->etp > 1 : p->ep * p->etp == 1;
}

/* MaxText configs/types.py, use_ring_of_experts. */
static bool rings(const struct plan *plan)
{
    return is_maxtext(plan) && plan_is_routed(plan) &&
           path_reads(plan->moe.path, GATHERS_TOKENS);
}

static bool overlaps(const struct plan *plan)
{
    return is_training(plan) && plan_overlaps_experts(plan);
}

/* Megatron transformer_config.py, of overlap_moe_expert_parallel_comm. */
static bool overlapped_broken(const struct plan *plan, char *text, char *hint)
{
    bool gathers = path_reads(plan->moe.path, GATHERS_TOKENS);
    rule_say(text, "Megatron's overlap.ep %s",
             gathers ? "is of dispatchers alltoall and flex"
                     : "has no layers that hash tokens");
    rule_say(hint, "%sstack.overlap.ep: false",
             gathers ? "moe.path: ragged_a2a or deepep, or " : "");
    return gathers || plan->model.moe.hash_layers > 0;
}

/* ---- what runs again, waits on the host, is captured (transformer_config.py) ---- */

static bool selects(const struct plan *plan)
{
    return is_megatron(plan) && plan->recompute.kind == RECOMPUTE_SELECTIVE;
}

static bool modules_broken(const struct plan *plan, char *text, char *hint)
{
    const struct word_list *modules = &plan->recompute.modules;
    bool latent =
        plan->model.attention.kind == ATTENTION_GQA && plan_lists(modules, "mla_up_proj");
    bool twice = plan->precision.recipe == RECIPE_FP8_DELAYED &&
                 (plan_lists(modules, "moe_act") || plan_lists(modules, "layernorm"));
    rule_say(text, "%s",
             latent ? "recompute.modules mla_up_proj is of kind mla"
                    : "delayed scaling runs moe_act and layernorm once");
    rule_say(hint, "name recompute.modules without %s",
             latent ? "it" : "them, or precision.recipe: fp8_current");
    return latent || twice;
}

static bool offloads(const struct plan *plan)
{
    return is_megatron(plan) && plan->recompute.offload.n > 0;
}

static bool offload_broken(const struct plan *plan, char *text, char *hint)
{
    const struct recompute_plan *r = &plan->recompute;
    const struct word_list *away = &r->offload;
    bool parts = plan_lists(away, "moe_act") || plan_lists(away, "expert_fc1"),
         fused = plan_lists(away, "fused_group_mlp"), inside = parts || fused,
         norms = plan_lists(away, "attn_norm") || plan_lists(away, "mlp_norm"),
         again = r->kind == RECOMPUTE_SELECTIVE;
    rule_say(hint, "name recompute.offload without what is said twice");
    if (plan_lists(away, "attn_proj") && !plan_lists(away, "core_attn")) {
        rule_say(text, "Megatron moves attn_proj's input with core_attn, which made "
                       "it and needs it too");
        rule_say(hint, "recompute.offload: core_attn too");
    } else if (parts && fused) {
        rule_say(text, "fused_group_mlp moves what expert_fc1 and moe_act do");
    } else if (inside && again && plan_lists(&r->modules, "moe")) {
        rule_say(text, "expert_fc1, moe_act and fused_group_mlp to host memory beside module "
                       "moe, which runs again");
    } else if (inside && plan->moe.paged_stash) {
        rule_say(text, "expert_fc1, moe_act and fused_group_mlp to host memory beside "
                       "moe.paged_stash");
    } else if (norms && again && plan_lists(&r->modules, "mhc")) {
        rule_say(text, "attn_norm and mlp_norm to host memory beside module mhc, "
                       "which runs again");
    } else {
        return false;
    }
    return true;
}

static bool captures(const struct plan *plan)
{
    return is_megatron(plan) && plan->stack.graphs == GRAPHS_PARTIAL;
}

static bool again_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "Megatron captures no layers that run again whole");
    rule_say(hint, "recompute.kind: selective, or stack.graphs: none");
    return plan->recompute.kind == RECOMPUTE_FULL;
}

static bool modules_of_graphs_broken(const struct plan *plan, char *text, char *hint)
{
    const struct word_list *modules = &plan->stack.graph_modules;
    bool moe = plan_lists(modules, "moe"), router = plan_lists(modules, "moe_router"),
         before = plan_lists(modules, "moe_preprocess"), routed = plan_is_routed(plan);
    bool dense = model_ffns(&plan->model, FFN_DENSE) > 0;
    const char *why = NULL;
    if (moe && router)
        why = "moe and moe_router: one is in the other";
    else if (before && !router)
        why = "moe_preprocess without moe_router";
    else if ((moe || router) && !routed)
        why = "moe of a model without experts";
    else if (plan_lists(modules, "mlp") && !dense)
        why = "mlp of a model without dense layers";
    else if (moe && !path_reads(plan->moe.path, READS_CAPACITY_FACTOR))
        why = "moe, which is of drop and pad (moe.path: capacity)";
    if (why)
        rule_say(text, "Megatron does not capture %s", why);
    rule_say(hint, "stack.graph_modules: attn, and moe_router with moe_preprocess");
    return why != NULL;
}

/* ---- micro-batches of other pipelines ---- */

/* torch distributed/pipelining/schedules.py, ScheduleDualPipeV. */
static bool is_dual(const struct plan *plan)
{
    return is_torchtitan(plan) && plan_states_batch(plan) && plan->parallel.pp > 1 &&
           plan->parallel.schedule == PIPELINE_DUALPIPE;
}

static uint64_t both_chunks(const struct plan *plan)
{
    return 2 * plan->parallel.pp;
}

/* MaxText configs/types.py, num_pipeline_microbatches. */
static bool is_circular(const struct plan *plan)
{
    return is_training(plan) && plan->stack.kind == STACK_MAXTEXT && plan_states_batch(plan) &&
           plan->parallel.pp > 1;
}

static const struct rule rules[] = {
    {.name = "context-in-halves",
     .key = "workload.sequence_length",
     .shape = RULE_DIVIDES,
     .applies = splits_context,
     .a = MEMBER("sequence_length", workload.sequence_length),
     .b = DERIVED("2 x cp (x tp of torchtitan),", context_parts),
     .also = {"parallel.cp", "parallel.tp"}},
    {.name = "experts-share-tokens",
     .key = "parallel.sp",
     .shape = RULE_OTHER,
     .applies = splits_moe,
     .broken = tokens_broken,
     .also = {"parallel.tp"}},
    {.name = "biased-experts-whole",
     .key = "parallel.etp",
     .shape = RULE_EQUAL,
     .applies = biases_experts,
     .a = MEMBER("etp", parallel.etp),
     .b = DERIVED("", rule_one),
     .hint = "Megatron splits no experts with biases: parallel.etp: 1, or model.moe.bias: "
             "false (--disable-bias-linear)",
     .also = {"model.moe.bias", "parallel.tp"}},
    {.name = "tp-divides-delta-heads",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = splits_delta,
     .a = MEMBER("linear key_heads", model.linear.key_heads),
     .b = MEMBER("tp", parallel.tp),
     .also = {"model.linear.key_heads"}},
    {.name = "gated-heads-have-keys",
     .key = "parallel.tp",
     .shape = RULE_AT_MOST,
     .applies = gates_heads,
     .a = MEMBER("tp", parallel.tp),
     .b = MEMBER("kv_heads", model.attention.kv_heads),
     .hint = "Megatron repeats no keys beside a gate of heads",
     .also = {"model.attention.head_gate"}},
    {.name = "tp-divides-keys",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = splits_keys,
     .a = MEMBER("kv_heads", model.attention.kv_heads),
     .b = MEMBER("tp", parallel.tp),
     .hint = "torchtitan repeats no keys",
     .also = {"model.attention.kv_heads"}},
    {.name = "tied-on-one-stage",
     .key = "parallel.pp",
     .shape = RULE_EQUAL,
     .applies = ties_stages,
     .a = MEMBER("pp", parallel.pp),
     .b = DERIVED("", rule_one),
     .hint = "torchtitan splits no model whose head is its embedding into stages",
     .also = {"model.tied_embeddings"}},
    {.name = "ep-of-sharing-ranks",
     .key = "parallel.ep",
     .shape = RULE_DIVIDES,
     .applies = spreads_experts,
     .a = DERIVED("ranks that share weights out (dp_shard x cp x tp)", sharing_ranks),
     .b = DERIVED("ep x etp", expert_ranks),
     .part = MEMBER("ep", parallel.ep),
     .hint = "parallel.zero: 3 with more of them in parallel.dp_shard, or a smaller ep",
     .also = {"parallel.zero", "parallel.dp_shard"}},
    {.name = "hashing-stays-first",
     .key = "parallel.pp",
     .shape = RULE_AT_MOST,
     .applies = hashes_stages,
     .a = MEMBER("hash_layers", model.moe.hash_layers),
     .b = DERIVED("the layers of the first chunk,", first_layers),
     .hint = "Megatron has them beside the embedding: fewer stages, or parallel.layout",
     .also = {"parallel.vpp", "parallel.layout"}},
    {.name = "deepep-has-peers",
     .key = "moe.path",
     .shape = RULE_OTHER,
     .applies = takes_deepep,
     .broken = peers_broken,
     .also = {"parallel.ep", "parallel.etp"}},
    {.name = "ring-has-peers",
     .key = "moe.path",
     .shape = RULE_AT_MOST,
     .applies = rings,
     .a = DERIVED("the least ring of experts,", rule_two),
     .b = MEMBER("ep", parallel.ep),
     .hint = "MaxText asks for ep above 1: parallel.ep: 2, or another moe.path",
     .also = {"parallel.ep"}},
    {.name = "overlap-exchanges",
     .key = "stack.overlap.ep",
     .shape = RULE_OTHER,
     .applies = overlaps,
     .broken = overlapped_broken,
     .also = {"moe.path", "model.moe.hash_layers"}},
    {.name = "modules-run-again",
     .key = "recompute.modules",
     .shape = RULE_OTHER,
     .applies = selects,
     .broken = modules_broken,
     .also = {"recompute.kind", "precision.recipe"}},
    {.name = "offload-once",
     .key = "recompute.offload",
     .shape = RULE_OTHER,
     .applies = offloads,
     .broken = offload_broken,
     .also = {"recompute.kind", "recompute.modules"}},
    {.name = "graphs-run-once",
     .key = "stack.graphs",
     .shape = RULE_OTHER,
     .applies = captures,
     .broken = again_broken,
     .also = {"recompute.kind"}},
    {.name = "graphs-have-modules",
     .key = "stack.graph_modules",
     .shape = RULE_OTHER,
     .applies = captures,
     .broken = modules_of_graphs_broken,
     .also = {"moe.path"}},
    {.name = "dualpipe-is-fed",
     .key = "workload.global_batch",
     .shape = RULE_AT_MOST,
     .applies = is_dual,
     .a = DERIVED("chunks (2 x pp),", both_chunks),
     .b = DERIVED("the micro-batches of a step,", plan_micro_batches),
     .hint = "torch's DualPipeV asks for one a chunk: a larger workload.global_batch",
     .also = {"workload.micro_batch", "parallel.pp"}},
    {.name = "stages-share-batch",
     .key = "workload.global_batch",
     .shape = RULE_DIVIDES,
     .applies = is_circular,
     .a = DERIVED("micro-batches of a step,", plan_micro_batches),
     .b = MEMBER("pp", parallel.pp),
     .hint = "MaxText's num_pipeline_microbatches is a multiple of its stages",
     .also = {"workload.micro_batch", "parallel.pp"}},
};

const struct rule_set rule_set_refused = {rules, sizeof rules / sizeof *rules};
