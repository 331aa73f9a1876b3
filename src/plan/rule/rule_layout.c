/* What must hold between a model, a cluster and a layout: the splits of the frameworks, and the
 * design's rules of reading. */
#include "plan/rule/rule_parts.h"

#include <inttypes.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/layout.h"

/* vLLM's ranks may hold one expert more than others (plan_spreads_remainder). */
static bool has_even_experts(const struct plan *plan)
{
    return plan_has_experts(plan) && !plan_spreads_remainder(plan);
}

/* Copies of experts, as many as make every rank hold as many, where engines place them. */
static void add_copies(const struct plan *plan, uint64_t ranks, const char *between, char *hint)
{
    uint64_t left = plan_experts_total(plan) % ranks;
    if (plan_is_engine(plan) && left > 0)
        rule_add(hint, "%smoe.redundant_experts: %" PRIu64, between,
                 plan->moe.redundant_experts + ranks - left);
}

static void copies_help(const struct plan *plan, char *hint)
{
    add_copies(plan, plan->parallel.ep, "; or ", hint);
}

/* An engine splits experts over all ranks where no ep is said. */
static void whole_experts_help(const struct plan *plan, char *hint)
{
    uint64_t ranks = plan->parallel.tp * plan_dp(plan);
    if (!plan_is_engine(plan) || plan->parallel.ep > 1 || plan->parallel.etp != ranks)
        return;
    rule_add(hint, "; or experts whole on their ranks: parallel.ep: %" PRIu64, ranks);
    add_copies(plan, ranks, ", ", hint);
}

/* A collective matmul has the dense layers' matrices. */
static bool has_dense(const struct plan *plan)
{
    return plan->model.dense_layers > 0 || plan->block.kind != BLOCK_MOE;
}

static bool is_matmul(const struct plan *plan)
{
    return plan->block.kind != BLOCK_MOE;
}

static bool has_residual(const struct plan *plan)
{
    return plan_has_experts(plan) && plan->model.residual_intermediate > 0;
}

static bool is_gqa(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_GQA;
}

static bool shared_over_tp(const struct plan *plan)
{
    return plan->moe.shared == SHARED_TP && plan->model.moe.shared_experts > 0;
}

static bool has_dp(const struct plan *plan)
{
    return plan->parallel.dp > 0;
}

static bool has_shard(const struct plan *plan)
{
    return plan->parallel.dp_shard > 0;
}

static bool has_stages(const struct plan *plan)
{
    return plan->parallel.stages.n > 0;
}

static bool has_layout(const struct plan *plan)
{
    return plan->parallel.layout[0] != '\0';
}

/* A layout may have chunks without layers. */
static bool splits_layers(const struct plan *plan)
{
    return !has_layout(plan);
}

static bool is_dualpipe(const struct plan *plan)
{
    return plan->parallel.pp > 1 && plan->parallel.schedule == PIPELINE_DUALPIPE;
}

static bool has_mesh(const struct plan *plan)
{
    return plan->cluster.mesh.n > 0;
}

static bool has_links(const struct plan *plan)
{
    return plan->cluster.node.devices > 1;
}

static bool has_network(const struct plan *plan)
{
    return plan->cluster.nodes > 1;
}

static bool has_pods_of_leaves(const struct plan *plan)
{
    const struct network_tier *tier = plan->cluster.network.tier;
    return tier[NETWORK_LEAF].nodes && tier[NETWORK_POD].nodes;
}

static uint64_t dense_ranks(const struct plan *plan)
{
    return rule_product(plan->parallel.tp, plan->parallel.pp, plan->parallel.cp);
}

static uint64_t expert_ranks(const struct plan *plan)
{
    return rule_product(plan->parallel.ep, plan->parallel.etp, plan->parallel.pp);
}

static uint64_t chunks(const struct plan *plan)
{
    return rule_product(plan->parallel.pp, plan->parallel.vpp, 1);
}

static uint64_t stage_layers(const struct plan *plan)
{
    const struct number_list *stages = &plan->parallel.stages;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < stages->n; i++)
        sum += stages->value[i];
    return sum;
}

static uint64_t mesh_devices(const struct plan *plan)
{
    uint64_t devices = 1;
    for (uint64_t i = 0; i < plan->cluster.mesh.n; i++)
        devices = rule_product(devices, plan->cluster.mesh.value[i], 1);
    return devices;
}

static uint64_t all_devices(const struct plan *plan)
{
    return rule_product(plan->cluster.nodes, plan->cluster.node.devices, 1);
}

static bool vpp_broken(const struct plan *plan, char *text, char *hint)
{
    if (plan->parallel.vpp == 1 || plan->parallel.pp > 1)
        return false;
    rule_say(text, "vpp %" PRIu64 " without a pipeline: pp is 1", plan->parallel.vpp);
    rule_say(hint, "vpp splits the stages of a pipeline: raise pp, or leave out vpp");
    return true;
}

static bool kv_heads_split_badly(const struct plan *plan, const char *of, uint64_t kv_heads,
                                 char *text, char *hint)
{
    uint64_t tp = plan->parallel.tp;
    if (kv_heads % tp == 0 || tp % kv_heads == 0)
        return false;
    rule_say(text,
             "kv_heads %" PRIu64 "%s and tp %" PRIu64 ": neither is a multiple of the other",
             kv_heads, of, tp);
    rule_say(hint, "tp splits the key and value heads, or repeats them");
    return true;
}

static bool kv_heads_broken(const struct plan *plan, char *text, char *hint)
{
    return kv_heads_split_badly(plan, "", plan->model.attention.kv_heads, text, hint);
}

static bool window_kv_heads_broken(const struct plan *plan, char *text, char *hint)
{
    return kv_heads_split_badly(plan, " of window layers",
                                model_attention(&plan->model, MIXER_WINDOW).kv_heads, text,
                                hint);
}

static bool halving_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t tp = plan->parallel.tp;
    if (plan->block.collective != COLLECTIVE_HALVING || (tp & (tp - 1)) == 0)
        return false;
    rule_say(text, "recursive halving over tp %" PRIu64 ": not a power of two", tp);
    rule_say(hint, "every step splits the ranks in two: block.collective ring takes "
                   "any number of them");
    return true;
}

static bool is_axis(const char *word)
{
    static const char *const axes[] = {"tp", "cp", "ep", "dp", "pp"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (text_equal(axes[i], word))
            return true;
    }
    return false;
}

static bool order_broken(const struct plan *plan, char *text, char *hint)
{
    const struct word_list *order = &plan->parallel.order;
    rule_say(hint, "each of tp, cp, ep, dp, pp at most once, innermost first");
    for (uint64_t i = 0; i < order->n; i++) {
        if (!is_axis(order->word[i])) {
            rule_say(text, "order names '%s', which is no axis", order->word[i]);
            return true;
        }
        for (uint64_t j = 0; j < i; j++) {
            if (!text_equal(order->word[i], order->word[j]))
                continue;
            rule_say(text, "order names '%s' twice", order->word[i]);
            return true;
        }
    }
    return false;
}

static bool stages_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t n = plan->parallel.stages.n;
    if (n == plan->parallel.pp || n == chunks(plan))
        return false;
    rule_say(text, "stages has %" PRIu64 " entries for %" PRIu64 " stages", n,
             plan->parallel.pp);
    rule_say(hint, "one number of layers for each of the pp stages%s",
             plan->parallel.vpp > 1 ? ", or for each of the pp x vpp chunks" : "");
    return true;
}

/* What a layout holds against the plan; a text that is none has nothing. */
static bool layout_broken(const struct plan *plan, char *text, char *hint)
{
    struct layout layout;
    struct layout_chunk sum = {0};
    uint64_t modules = plan->model.mtp_enabled ? plan->model.mtp_layers : 0, ends = 0;
    bool read = layout_read(plan->parallel.layout, &layout);
    for (uint64_t i = 0; read && i < layout.n; i++) {
        sum.layers += layout.chunk[i].layers;
        sum.modules += layout.chunk[i].modules;
        ends += layout.chunk[i].embedding + layout.chunk[i].loss;
    }
    bool placed = read && layout.chunk[0].embedding && layout.chunk[layout.n - 1].loss;
    rule_say(hint,
             "E first, L last, a t for each layer and, with model.mtp_enabled, an m for each "
             "module, in pp x vpp chunks");
    if (plan->parallel.stages.n)
        rule_say(text, "stages and layout both say which layers a chunk has");
    else if (!read || !placed || ends != 2)
        rule_say(text, "layout '%.60s' is none of one E, t, m and one L",
                 plan->parallel.layout);
    else if (layout.n != chunks(plan))
        rule_say(text, "layout has %" PRIu64 " chunks for pp x vpp %" PRIu64, layout.n,
                 chunks(plan));
    else if (sum.layers != plan->model.layers || sum.modules != modules)
        rule_say(text,
                 "layout has %" PRIu64 " layers and %" PRIu64 " modules, the model %" PRIu64
                 " and %" PRIu64,
                 sum.layers, sum.modules, plan->model.layers, modules);
    else
        return false;
    return true;
}

static const struct rule rules[] = {
    {.name = "mesh-holds-devices",
     .key = "cluster.mesh",
     .shape = RULE_EQUAL,
     .applies = has_mesh,
     .a = DERIVED("the mesh's product", mesh_devices),
     .b = DERIVED("nodes x devices", all_devices),
     .hint = "the mesh has one place for each device",
     .also = {"cluster.nodes", "cluster.node.devices"}},
    {.name = "link-known",
     .key = "cluster.node.link_bandwidth",
     .shape = RULE_POSITIVE,
     .applies = has_links,
     .a = REAL("cluster.node.link_bandwidth", cluster.node.link_bandwidth),
     .hint = "nodes of several devices need it, as in '450 GB/s'",
     .also = {"cluster.node.devices"}},
    {.name = "network-known",
     .key = "cluster.network.bandwidth",
     .shape = RULE_POSITIVE,
     .applies = has_network,
     .a = REAL("cluster.network.bandwidth", cluster.network.bandwidth),
     .hint = "clusters of several nodes need it: --set cluster.network.bandwidth='50 GB/s'; "
             "slices of TPUs are named by their sides, as in tpu-v5p-4x4x8",
     .also = {"cluster.nodes"}},
    {.name = "pod-of-leaves",
     .key = "cluster.network.pod.nodes",
     .shape = RULE_DIVIDES,
     .applies = has_pods_of_leaves,
     .a = MEMBER("cluster.network.pod.nodes", cluster.network.tier[NETWORK_POD].nodes),
     .b = MEMBER("cluster.network.leaf.nodes", cluster.network.tier[NETWORK_LEAF].nodes),
     .hint = "a pod joins whole leaves; without leaves: cluster.network.leaf.nodes=0",
     .also = {"cluster.network.leaf.nodes"}},
    {.name = "layout-fills-cluster",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .a = DERIVED("world size", plan_world),
     .b = DERIVED("tp x pp x cp", dense_ranks),
     .part = MEMBER("tp", parallel.tp),
     .also = {"parallel.pp", "parallel.cp"}},
    {.name = "expert-layout-fills-cluster",
     .key = "parallel.ep",
     .shape = RULE_DIVIDES,
     .a = DERIVED("world size", plan_world),
     .b = DERIVED("ep x etp x pp", expert_ranks),
     .part = MEMBER("ep", parallel.ep),
     .other = MEMBER("etp", parallel.etp),
     .also = {"parallel.etp", "parallel.pp"}},
    {.name = "dp-as-derived",
     .key = "parallel.dp",
     .shape = RULE_EQUAL,
     .applies = has_dp,
     .a = MEMBER("dp", parallel.dp),
     .b = DERIVED("world size / (tp x pp x cp) =", plan_dp),
     .hint = "dp follows from the cluster: leave it out, or change the cluster's size"},
    {.name = "dp-shard-divides-dp",
     .key = "parallel.dp_shard",
     .shape = RULE_DIVIDES,
     .applies = has_shard,
     .a = DERIVED("dp", plan_dp),
     .b = MEMBER("dp_shard", parallel.dp_shard),
     .hint = "dp / dp_shard groups hold a copy each"},
    {.name = "ep-within-experts",
     .key = "parallel.ep",
     .shape = RULE_AT_MOST,
     .applies = plan_has_experts,
     .a = MEMBER("ep", parallel.ep),
     .b = DERIVED("experts", plan_experts_total),
     .hint = "a rank holds at least one expert; redundant experts count",
     .also = {"model.moe.experts"}},
    {.name = "ep-divides-experts",
     .key = "parallel.ep",
     .shape = RULE_DIVIDES,
     .applies = has_even_experts,
     .a = DERIVED("experts", plan_experts_total),
     .b = MEMBER("ep", parallel.ep),
     .also_helps = copies_help,
     .also = {"model.moe.experts", "moe.redundant_experts"}},
    {.name = "etp-divides-width",
     .key = "parallel.etp",
     .shape = RULE_DIVIDES,
     .applies = plan_has_experts,
     .a = MEMBER("intermediate", model.moe.intermediate),
     .b = MEMBER("etp", parallel.etp),
     .also_helps = whole_experts_help,
     .also = {"model.moe.intermediate"}},
    {.name = "tp-divides-heads",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .a = MEMBER("heads", model.attention.heads),
     .b = MEMBER("tp", parallel.tp),
     .also = {"model.attention.heads"}},
    {.name = "tp-fits-kv-heads",
     .key = "parallel.tp",
     .shape = RULE_OTHER,
     .applies = is_gqa,
     .broken = kv_heads_broken,
     .also = {"model.attention.kv_heads"}},
    {.name = "tp-divides-output-groups",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = plan_shares_kv,
     .a = MEMBER("o_groups", model.attention.o_groups),
     .b = MEMBER("tp", parallel.tp),
     .also = {"model.attention.o_groups"}},
    {.name = "tp-divides-window-heads",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = plan_has_own_window,
     .a = DERIVED("heads of window layers,", plan_window_heads),
     .b = MEMBER("tp", parallel.tp),
     .also = {"model.window.heads"}},
    {.name = "tp-fits-window-kv-heads",
     .key = "parallel.tp",
     .shape = RULE_OTHER,
     .applies = plan_has_own_window,
     .broken = window_kv_heads_broken,
     .also = {"model.window.kv_heads"}},
    {.name = "tp-divides-hidden",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .a = MEMBER("hidden", model.hidden),
     .b = MEMBER("tp", parallel.tp),
     .also = {"model.hidden"}},
    {.name = "tp-divides-dense-width",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = has_dense,
     .a = MEMBER("dense_intermediate", model.dense_intermediate),
     .b = MEMBER("tp", parallel.tp)},
    {.name = "tp-divides-residual-width",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = has_residual,
     .a = MEMBER("residual_intermediate", model.residual_intermediate),
     .b = MEMBER("tp", parallel.tp)},
    {.name = "tp-divides-shared-width",
     .key = "parallel.tp",
     .shape = RULE_DIVIDES,
     .applies = shared_over_tp,
     .a = MEMBER("shared_intermediate", model.moe.shared_intermediate),
     .b = MEMBER("tp", parallel.tp)},
    {.name = "vpp-needs-pp",
     .key = "parallel.vpp",
     .shape = RULE_OTHER,
     .broken = vpp_broken,
     .also = {"parallel.pp"}},
    {.name = "pipeline-within-layers",
     .key = "parallel.pp",
     .shape = RULE_AT_MOST,
     .applies = splits_layers,
     .a = DERIVED("pp x vpp", chunks),
     .b = MEMBER("layers", model.layers),
     .hint = "each stage holds at least one layer",
     .also = {"parallel.vpp", "model.layers"}},
    {.name = "stages-match-pp",
     .key = "parallel.stages",
     .shape = RULE_OTHER,
     .applies = has_stages,
     .broken = stages_broken,
     .also = {"parallel.pp"}},
    {.name = "stages-sum-to-layers",
     .key = "parallel.stages",
     .shape = RULE_EQUAL,
     .applies = has_stages,
     .a = DERIVED("the sum of stages", stage_layers),
     .b = MEMBER("layers", model.layers),
     .hint = "stages lists the layers of each stage, dense and MoE",
     .also = {"model.layers"}},
    {.name = "layout-matches-model",
     .key = "parallel.layout",
     .shape = RULE_OTHER,
     .applies = has_layout,
     .broken = layout_broken,
     .also = {"parallel.stages", "model.layers"}},
    {.name = "stage-within-pp",
     .key = "parallel.stage",
     .shape = RULE_AT_MOST,
     .a = MEMBER("stage", parallel.stage),
     .b = MEMBER("pp", parallel.pp),
     .hint = "stages are numbered from 1",
     .also = {"parallel.pp"}},
    {.name = "dualpipe-is-even",
     .key = "parallel.pp",
     .shape = RULE_DIVIDES,
     .applies = is_dualpipe,
     .a = MEMBER("pp", parallel.pp),
     .b = DERIVED("", rule_two),
     .hint = "dualpipe runs two pipelines from both ends"},
    {.name = "halving-splits-ranks",
     .key = "block.collective",
     .shape = RULE_OTHER,
     .applies = is_matmul,
     .broken = halving_broken,
     .also = {"parallel.tp"}},
    {.name = "order-of-axes",
     .key = "parallel.order",
     .shape = RULE_OTHER,
     .broken = order_broken},
};

const struct rule_set rule_set_layout = {rules, sizeof rules / sizeof *rules};
