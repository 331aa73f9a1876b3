/* What must hold of a model's mixers, whatever runs it: kinds of attention and their heads,
 * windows, entries, indexers and recurrences. */
#include "plan/rule/rule_parts.h"

#include "plan/derive.h"
#include "plan/layers.h"

static bool has_rank(const struct plan *plan)
{
    const struct linear *l = &plan->model.linear;
    return plan_has_linear(plan) &&
           ((l->kind == LINEAR_KIMI_DELTA && !l->full_rank_decay) || l->kind == LINEAR_MAMBA1);
}

static bool has_full_decay(const struct plan *plan)
{
    const struct linear *l = &plan->model.linear;
    return plan_has_linear(plan) && l->kind == LINEAR_KIMI_DELTA && l->full_rank_decay;
}

static bool has_low_gate(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "full_rank_decay: a decay of full rank stands beside a gate of full rank");
    rule_say(hint, "set model.linear.full_rank_gate to true");
    return !plan->model.linear.full_rank_gate;
}

static bool has_reuse(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_REUSE);
}

static bool has_indexer(const struct plan *plan)
{
    return plan->model.indexer.heads > 0;
}

static bool needs_mla(const struct plan *plan, char *text, char *hint)
{
    const struct attention *a = &plan->model.attention;
    if (a->kind == ATTENTION_GQA ? plan_has_blocks(plan) : a->q_lora_rank > 0)
        return false;
    rule_say(text,
             "an indexer reads the low rank of q: kind mla or shared_kv with q_lora_rank");
    rule_say(hint, "leave model.indexer out; kind gqa has one in layers of type blocks");
    return true;
}

static bool has_values(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_GQA && plan->model.attention.v_head_dim > 0;
}

static bool keeps_values(const struct plan *plan)
{
    return plan->model.attention.kind != ATTENTION_SHARED_KV;
}

static bool has_two_gates(const struct plan *plan, char *text, char *hint)
{
    const struct attention *a = &plan->model.attention;
    rule_say(text, "output_gate and head_gate: attention has one gate or the other");
    rule_say(hint, "leave one of them out");
    return a->output_gate && a->head_gate;
}

/* Keys that are values are as wide. */
static bool shares_values(const struct plan *plan)
{
    return has_values(plan) && plan->model.attention.k_eq_v;
}

/* What heads a window's attention has only layers of that type say. */
static bool module_window_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "mtp_window without layers of type window");
    rule_say(hint, "name some in model.layer_types, or leave mtp_window out");
    return plan->model.mtp_window && !plan_has_window(plan);
}

static bool has_block(const struct plan *plan)
{
    return plan_has_blocks(plan) && plan->model.indexer.block > 0;
}

static bool has_pool(const struct plan *plan)
{
    return model_index_pool(&plan->model) > 1;
}

static bool chooses_pooled(const struct plan *plan)
{
    return plan_has_blocks(plan) && plan->model.indexer.pooled;
}

static bool chooses_by_groups(const struct plan *plan)
{
    return plan_has_blocks(plan) && !plan->model.indexer.pooled;
}

static bool has_pooled_block(const struct plan *plan)
{
    return chooses_pooled(plan) && has_block(plan);
}

static uint64_t window_kv_heads(const struct plan *plan)
{
    return model_attention(&plan->model, MIXER_WINDOW).kv_heads;
}

static bool is_mla(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_MLA;
}

static bool is_gqa(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_GQA;
}

/* Types of layers and the kind of attention that name each other: windows of one head that is
 * key and value, and entries made of it. */
static bool types_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *m = &plan->model;
    bool entries = plan_has_entries(plan), shared = plan_shares_kv(plan);
    bool blocks = plan_has_blocks(plan) && m->attention.kind != ATTENTION_GQA;
    bool others = model_has_mixer(m, MIXER_FULL) || model_has_mixer(m, MIXER_CHUNK) ||
                  model_has_mixer(m, MIXER_REUSE) || model_has_mixer(m, MIXER_LINEAR);
    bool reuse = has_reuse(plan) && has_indexer(plan) && m->attention.kind == ATTENTION_GQA;
    if (blocks) {
        rule_say(text, "layers of type blocks have model.attention.kind gqa");
        rule_say(hint, "set model.attention.kind to gqa");
        return true;
    }
    if (reuse) {
        rule_say(text, "layers of type reuse have model.attention.kind mla");
        rule_say(hint, "name no layers of type reuse in model.layer_types");
        return true;
    }
    if (entries && !shared) {
        rule_say(text, "layers of type csa and hca have model.attention.kind shared_kv");
        rule_say(hint, "set model.attention.kind to shared_kv");
        return true;
    }
    if (!shared || !others)
        return false;
    rule_say(text, "model.attention.kind shared_kv is of layers of type window, csa and hca");
    rule_say(hint, "name them in model.layer_types");
    return true;
}

static bool chooses_entries(const struct plan *plan)
{
    return plan_has_csa(plan) || plan_has_tsa(plan);
}

static uint64_t rotary_and_plain(const struct plan *plan)
{
    return plan->model.attention.qk_nope_head_dim + plan->model.attention.qk_rope_head_dim;
}

static const struct rule rules[] = {
    {.name = "window-there",
     .key = "model.attention.window",
     .shape = RULE_POSITIVE,
     .applies = plan_has_window,
     .a = MEMBER("window", model.attention.window),
     .hint = "layer_types names window layers",
     .also = {"model.layer_types"}},
    {.name = "chunk-there",
     .key = "model.attention.chunk",
     .shape = RULE_POSITIVE,
     .applies = plan_has_chunk,
     .a = MEMBER("chunk", model.attention.chunk),
     .hint = "layer_types names chunk layers",
     .also = {"model.layer_types"}},
    {.name = "shared-kv-types",
     .key = "model.layer_types",
     .shape = RULE_OTHER,
     .broken = types_broken,
     .also = {"model.attention.kind"}},
    {.name = "shared-kv-window",
     .key = "model.attention.window",
     .shape = RULE_POSITIVE,
     .applies = plan_shares_kv,
     .a = MEMBER("window", model.attention.window),
     .hint = "every layer of kind shared_kv has a window"},
    {.name = "shared-kv-head-size",
     .key = "model.attention.head_dim",
     .shape = RULE_POSITIVE,
     .applies = plan_shares_kv,
     .a = MEMBER("head_dim", model.attention.head_dim),
     .hint = "kind shared_kv needs it"},
    {.name = "shared-kv-rotary-within-head",
     .key = "model.attention.qk_rope_head_dim",
     .shape = RULE_AT_MOST,
     .applies = plan_shares_kv,
     .a = MEMBER("qk_rope_head_dim", model.attention.qk_rope_head_dim),
     .b = MEMBER("head_dim", model.attention.head_dim),
     .hint = "the rotary part is some of a head",
     .also = {"model.attention.head_dim"}},
    {.name = "shared-kv-q-rank",
     .key = "model.attention.q_lora_rank",
     .shape = RULE_POSITIVE,
     .applies = plan_shares_kv,
     .a = MEMBER("q_lora_rank", model.attention.q_lora_rank),
     .hint = "kind shared_kv needs it"},
    {.name = "shared-kv-o-rank",
     .key = "model.attention.o_lora_rank",
     .shape = RULE_POSITIVE,
     .applies = plan_shares_kv,
     .a = MEMBER("o_lora_rank", model.attention.o_lora_rank),
     .hint = "kind shared_kv needs it"},
    {.name = "o-groups-divide-heads",
     .key = "model.attention.o_groups",
     .shape = RULE_DIVIDES,
     .applies = plan_shares_kv,
     .a = MEMBER("heads", model.attention.heads),
     .b = MEMBER("o_groups", model.attention.o_groups),
     .hint = "kind shared_kv projects groups of heads down",
     .also = {"model.attention.heads"}},
    {.name = "mtp-window-there",
     .key = "model.mtp_window",
     .shape = RULE_OTHER,
     .applies = plan_has_modules,
     .broken = module_window_broken,
     .also = {"model.layer_types"}},
    {.name = "csa-ratio",
     .key = "model.attention.csa_ratio",
     .shape = RULE_POSITIVE,
     .applies = plan_has_csa,
     .a = MEMBER("csa_ratio", model.attention.csa_ratio),
     .hint = "layer_types names csa layers",
     .also = {"model.layer_types"}},
    {.name = "hca-ratio",
     .key = "model.attention.hca_ratio",
     .shape = RULE_POSITIVE,
     .applies = plan_has_hca,
     .a = MEMBER("hca_ratio", model.attention.hca_ratio),
     .hint = "layer_types names hca layers",
     .also = {"model.layer_types"}},
    {.name = "csa-needs-indexer",
     .key = "model.indexer.heads",
     .shape = RULE_POSITIVE,
     .applies = chooses_entries,
     .a = MEMBER("indexer heads", model.indexer.heads),
     .hint = "layer_types names csa layers",
     .also = {"model.layer_types"}},
    {.name = "blocks-need-indexer",
     .key = "model.indexer.heads",
     .shape = RULE_EQUAL,
     .applies = chooses_by_groups,
     .a = MEMBER("indexer heads", model.indexer.heads),
     .b = MEMBER("kv_heads", model.attention.kv_heads),
     .hint = "in layers of type blocks every group of queries has its own choice",
     .also = {"model.layer_types", "model.attention.kv_heads"}},
    {.name = "pooled-blocks-need-indexer",
     .key = "model.indexer.heads",
     .shape = RULE_POSITIVE,
     .applies = chooses_pooled,
     .a = MEMBER("indexer heads", model.indexer.heads),
     .hint = "layer_types names blocks layers",
     .also = {"model.layer_types", "model.indexer.pooled"}},
    {.name = "pooled-keys-share-a-block",
     .key = "model.indexer.head_dim",
     .shape = RULE_DIVIDES,
     .applies = has_pooled_block,
     .a = MEMBER("indexer head_dim", model.indexer.head_dim),
     .b = MEMBER("indexer block", model.indexer.block),
     .hint = "a block has one key",
     .also = {"model.indexer.block", "model.indexer.pooled"}},
    {.name = "blocks-size",
     .key = "model.indexer.block",
     .shape = RULE_POSITIVE,
     .applies = plan_has_blocks,
     .a = MEMBER("indexer block", model.indexer.block),
     .hint = "layer_types names blocks layers",
     .also = {"model.layer_types"}},
    {.name = "blocks-are-whole",
     .key = "model.indexer.top_k",
     .shape = RULE_DIVIDES,
     .applies = has_block,
     .a = MEMBER("indexer top_k", model.indexer.top_k),
     .b = MEMBER("indexer block", model.indexer.block),
     .hint = "layers of type blocks choose whole blocks",
     .also = {"model.indexer.block"}},
    {.name = "pools-are-whole",
     .key = "model.indexer.top_k",
     .shape = RULE_DIVIDES,
     .applies = has_pool,
     .a = MEMBER("indexer top_k", model.indexer.top_k),
     .b = MEMBER("indexer pool", model.indexer.pool),
     .hint = "an indexer of pooled keys chooses whole pools",
     .also = {"model.indexer.pool"}},
    {.name = "linear-heads",
     .key = "model.linear.heads",
     .shape = RULE_POSITIVE,
     .applies = plan_has_linear,
     .a = MEMBER("linear heads", model.linear.heads),
     .hint = "layer_types names linear layers",
     .also = {"model.layer_types"}},
    {.name = "linear-head-size",
     .key = "model.linear.head_dim",
     .shape = RULE_POSITIVE,
     .applies = plan_has_linear,
     .a = MEMBER("linear head_dim", model.linear.head_dim),
     .hint = "layer_types names linear layers",
     .also = {"model.layer_types"}},
    {.name = "linear-rank",
     .key = "model.linear.rank",
     .shape = RULE_POSITIVE,
     .applies = has_rank,
     .a = MEMBER("linear rank", model.linear.rank),
     .hint = "kimi_delta and mamba1 need it"},
    {.name = "linear-gates-of-full-rank",
     .key = "model.linear.full_rank_decay",
     .shape = RULE_OTHER,
     .applies = has_full_decay,
     .broken = has_low_gate,
     .also = {"model.linear.full_rank_gate"}},
    {.name = "linear-key-heads-divide-heads",
     .key = "model.linear.key_heads",
     .shape = RULE_DIVIDES,
     .applies = plan_has_linear,
     .a = MEMBER("linear heads", model.linear.heads),
     .b = MEMBER("key_heads", model.linear.key_heads),
     .also = {"model.linear.heads"}},
    {.name = "linear-on-one-cp-rank",
     .key = "parallel.cp",
     .shape = RULE_EQUAL,
     .applies = plan_has_linear,
     .a = MEMBER("cp", parallel.cp),
     .b = DERIVED("", rule_one),
     .hint = "the state of linear layers over context-parallel ranks is not modelled",
     .also = {"model.layer_types"}},
    {.name = "indexer-reads-mla",
     .key = "model.indexer.heads",
     .shape = RULE_OTHER,
     .applies = has_indexer,
     .broken = needs_mla},
    {.name = "indexer-size",
     .key = "model.indexer.head_dim",
     .shape = RULE_POSITIVE,
     .applies = has_indexer,
     .a = MEMBER("indexer head_dim", model.indexer.head_dim),
     .hint = "the model has an indexer"},
    {.name = "indexer-top-k",
     .key = "model.indexer.top_k",
     .shape = RULE_POSITIVE,
     .applies = has_indexer,
     .a = MEMBER("indexer top_k", model.indexer.top_k),
     .hint = "the model has an indexer"},
    {.name = "reuse-needs-indexer",
     .key = "model.indexer.heads",
     .shape = RULE_POSITIVE,
     .applies = has_reuse,
     .a = MEMBER("indexer heads", model.indexer.heads),
     .hint = "layer_types names reuse layers",
     .also = {"model.layer_types"}},
    {.name = "gqa-head-size",
     .key = "model.attention.head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_gqa,
     .a = MEMBER("head_dim", model.attention.head_dim),
     .hint = "hidden / heads is not even 1: state head_dim"},
    {.name = "kv-heads-divide-heads",
     .key = "model.attention.kv_heads",
     .shape = RULE_DIVIDES,
     .applies = is_gqa,
     .a = MEMBER("heads", model.attention.heads),
     .b = MEMBER("kv_heads", model.attention.kv_heads),
     .also = {"model.attention.heads"}},
    {.name = "window-kv-heads-divide-heads",
     .key = "model.window.kv_heads",
     .shape = RULE_DIVIDES,
     .applies = plan_has_own_window,
     .a = DERIVED("heads of window layers,", plan_window_heads),
     .b = DERIVED("kv_heads of window layers,", window_kv_heads),
     .also = {"model.window.heads", "model.attention.kv_heads"}},
    {.name = "shared-kv-of-one-size",
     .key = "model.attention.v_head_dim",
     .shape = RULE_EQUAL,
     .applies = shares_values,
     .a = MEMBER("v_head_dim", model.attention.v_head_dim),
     .b = MEMBER("head_dim", model.attention.head_dim),
     .hint = "with k_eq_v keys are values: leave v_head_dim out",
     .also = {"model.attention.k_eq_v", "model.attention.head_dim"}},
    {.name = "one-gate",
     .key = "model.attention.head_gate",
     .shape = RULE_OTHER,
     .applies = keeps_values,
     .broken = has_two_gates,
     .also = {"model.attention.output_gate"}},
    {.name = "mla-kv-rank",
     .key = "model.attention.kv_lora_rank",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = MEMBER("kv_lora_rank", model.attention.kv_lora_rank),
     .hint = "kind mla needs it"},
    {.name = "mla-qk-size",
     .key = "model.attention.qk_nope_head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = DERIVED("qk_nope_head_dim + qk_rope_head_dim", rotary_and_plain),
     .hint = "kind mla needs them"},
    {.name = "mla-v-size",
     .key = "model.attention.v_head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = MEMBER("v_head_dim", model.attention.v_head_dim),
     .hint = "kind mla needs it"},
};

const struct rule_set rule_set_mixer = {rules, sizeof rules / sizeof *rules};
