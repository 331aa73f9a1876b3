/* See import_hf_format.h. Every part of a layer is asked for by the names its matrices have in
 * published checkpoints, layer by layer. Formats: transformers
 * src/transformers/utils/quantization_config.py; lists: compressed-tensors (exact names, or
 * "re:" and an expression that fits the beginning), ModelOpt (globs), the others names of parts
 * of the path. */
#include "plan/hf/import_hf_format.h"

#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "plan/layers.h"

enum { NAME = 160, LEAVES = 4 };

/* ---- formats ---- */

/* Format that ModelOpt calls so; DTYPE_NONE: it is not known. */
static enum dtype format_of_algorithm(const char *name)
{
    static const struct {
        const char *algorithm;
        enum dtype format;
    } formats[] = {
        {"FP8", DTYPE_FP8},
        {"FP8_PB_WO", DTYPE_FP8_BLOCK},
        {"NVFP4", DTYPE_NVFP4},
        {"W4A16_AWQ", DTYPE_INT4},
        {"INT4_AWQ", DTYPE_INT4},
        {"W4A8_AWQ", DTYPE_INT4},
        {"MXFP8", DTYPE_MXFP8},
        {"W4A8_MXFP4_FP8", DTYPE_MXFP4},
        {"MXFP4", DTYPE_MXFP4},
        {"W4A16_NVFP4", DTYPE_NVFP4},
        {"W4A8_NVFP4_FP8", DTYPE_NVFP4},
        {"FP8_PER_CHANNEL_PER_TOKEN", DTYPE_FP8_CHANNEL},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (text_equal(name, formats[i].algorithm))
            return formats[i].format;
    return DTYPE_NONE;
}

/* The weights of a group of compressed-tensors or ModelOpt. */
static enum dtype format_of_group(const struct node *group)
{
    const struct node *weights =
        group && group->kind == NODE_MAPPING ? node_get(group, "weights") : NULL;
    if (!weights || weights->kind != NODE_MAPPING)
        return DTYPE_NONE;
    bool real = node_says(weights, "type", "float"), four = node_says(weights, "num_bits", "4");
    bool eight = node_says(weights, "num_bits", "8"),
         by32 = node_says(weights, "group_size", "32");
    const struct node *blocks = node_get(weights, "block_structure");
    if (real && four)
        return by32 ? DTYPE_MXFP4 : DTYPE_NVFP4;
    if (real && eight && by32)
        return DTYPE_MXFP8;
    if (real && eight && node_says(weights, "strategy", "tensor"))
        return DTYPE_FP8;
    if (real && eight)
        return blocks && !node_is_null(blocks) ? DTYPE_FP8_BLOCK : DTYPE_FP8_CHANNEL;
    if (four)
        return by32 ? DTYPE_INT4_32 : DTYPE_INT4;
    return eight ? DTYPE_INT8 : DTYPE_NONE;
}

/* AMD's Quark: one format for all that is not excluded. */
static enum dtype quark(const struct node *how)
{
    const struct node *all = node_get(how, "global_quant_config");
    const struct node *weight =
        all && all->kind == NODE_MAPPING ? node_get(all, "weight") : NULL;
    if (!weight || weight->kind != NODE_MAPPING)
        return DTYPE_NONE;
    if (node_says(weight, "dtype", "fp4") && node_says(weight, "group_size", "32"))
        return DTYPE_MXFP4;
    if (node_says(weight, "dtype", "fp8_e4m3"))
        return node_says(weight, "qscheme", "per_channel") ? DTYPE_FP8_CHANNEL : DTYPE_FP8;
    return DTYPE_NONE;
}

/* In blocks or not. Those of 32 x 32 have a byte of scale, of which engines give each row its
 * own (vLLM models/deepseek_v41/quant_config.py: kMxfp8Static of scale_block_size). */
static enum dtype eight_bits(const struct node *block)
{
    if (!block || node_is_null(block))
        return DTYPE_FP8;
    bool small = block->kind == NODE_SEQUENCE && block->n == 2 && node_is(block->first, "32");
    return small ? DTYPE_MXFP8 : DTYPE_FP8_BLOCK;
}

/* What the whole is said to be in. */
static enum dtype format_of_all(const struct node *how)
{
    static const struct {
        const char *method, *key, *value;
        enum dtype format;
    } formats[] = {
        {"mxfp4", NULL, NULL, DTYPE_MXFP4},
        {"awq", "bits", "4", DTYPE_INT4},
        {"gptq", "bits", "4", DTYPE_INT4},
        {"gptq", "bits", "8", DTYPE_INT8},
        {"bitsandbytes", "load_in_8bit", "true", DTYPE_INT8},
        {"bitsandbytes", "bnb_4bit_use_double_quant", "true", DTYPE_NF4_DOUBLE},
        {"bitsandbytes", "load_in_4bit", "true", DTYPE_NF4},
        {"fbgemm_fp8", NULL, NULL, DTYPE_FP8_CHANNEL},
    };
    const struct node *algorithm = node_get(how, "quant_algo");
    if (algorithm && algorithm->kind == NODE_SCALAR)
        return format_of_algorithm(algorithm->text);
    if (node_says(how, "quant_method", "quark"))
        return quark(how);
    if (node_says(how, "quant_method", "fp8"))
        return eight_bits(node_get(how, "weight_block_size"));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (node_says(how, "quant_method", formats[i].method) &&
            (!formats[i].key || node_says(how, formats[i].key, formats[i].value)))
            return formats[i].format;
    return DTYPE_NONE;
}

/* ---- names against lists ---- */

struct reader {
    const struct node *how;
    enum dtype all;
    bool kimi;                  /* linear layers are KDA */
    const struct node *strange; /* the first pattern that is not understood */
};

static bool fits(struct reader *r, const struct node *item, const char *pattern,
                 const char *name)
{
    if (!text_starts(pattern, "re:"))
        return pattern_names(pattern, name);
    enum pattern_fit fit = pattern_begins(pattern + 3, name);
    if (fit == PATTERN_UNKNOWN && !r->strange)
        r->strange = item;
    return fit == PATTERN_YES;
}

static bool listed(struct reader *r, const struct node *list, const char *name)
{
    if (list && list->kind == NODE_SEQUENCE)
        for (const struct node *item = list->first; item; item = item->next)
            if (item->kind == NODE_SCALAR && fits(r, item, item->text, name))
                return true;
    return false;
}

/* GPTQModel's "dynamic": "-:expression" leaves modules out. */
static bool left_by_rule(struct reader *r, const char *name)
{
    const struct node *rules = node_get(r->how, "dynamic");
    if (rules && rules->kind == NODE_MAPPING)
        for (const struct node *rule = rules->first; rule; rule = rule->next)
            if (text_starts(rule->key, "-:") &&
                pattern_begins(rule->key + 2, name) == PATTERN_YES)
                return true;
    return false;
}

static bool left_out(struct reader *r, const char *name)
{
    static const char *const lists[] = {"ignore",          "modules_to_not_convert",
                                        "exclude_modules", "ignored_layers",
                                        "exclude",         "llm_int8_skip_modules"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (listed(r, node_get(r->how, lists[i]), name))
            return true;
    return left_by_rule(r, name);
}

/* A group is of all linear layers, or of those that its targets name. */
static bool targets(struct reader *r, const struct node *group, const char *name)
{
    const struct node *list = group->kind == NODE_MAPPING ? node_get(group, "targets") : NULL;
    if (!list || list->kind != NODE_SEQUENCE)
        return true;
    for (const struct node *item = list->first; item; item = item->next)
        if (node_is(item, "Linear"))
            return true;
    return listed(r, list, name);
}

static enum dtype format_in_groups(struct reader *r, const struct node *groups,
                                   const char *name)
{
    const struct node *all = NULL;
    for (const struct node *group = groups->first; group; group = group->next) {
        if (!targets(r, group, name))
            continue;
        const struct node *list =
            group->kind == NODE_MAPPING ? node_get(group, "targets") : NULL;
        if (list && listed(r, list, name)) /* named before what is of all */
            return format_of_group(group);
        all = all ? all : group;
    }
    return all ? format_of_group(all) : DTYPE_BF16;
}

/* ModelOpt's MIXED_PRECISION: every module with its own. */
static enum dtype format_in_layers(const struct node *layers, const char *name)
{
    for (const struct node *layer = layers->first; layer; layer = layer->next)
        if (pattern_names(layer->key, name) && layer->kind == NODE_MAPPING) {
            const struct node *algorithm = node_get(layer, "quant_algo");
            return algorithm && algorithm->kind == NODE_SCALAR
                       ? format_of_algorithm(algorithm->text)
                       : DTYPE_NONE;
        }
    return DTYPE_BF16;
}

static bool is_filled(const struct node *node)
{
    return node && node->kind == NODE_MAPPING && node->first;
}

static enum dtype format_named(struct reader *r, const char *name)
{
    const struct node *groups = node_get(r->how, "config_groups");
    const struct node *layers = node_get(r->how, "quantized_layers");
    bool experts = strstr(name, ".experts.") != NULL;
    if (left_out(r, name))
        return DTYPE_BF16;
    if (strstr(name, ".routed_expert_")) /* listed nowhere: vLLM vllm/models/kimi_k3 */
        return DTYPE_BF16;
    if (node_says(r->how, "quant_method", "mxfp4") && !experts) /* the engines' own rule */
        return DTYPE_BF16;
    if (is_filled(layers))
        return format_in_layers(layers, name);
    return is_filled(groups) ? format_in_groups(r, groups, name) : r->all;
}

/* ---- parts ---- */

/* Names of a part's matrices behind "layers.N.", in one or more of the ways that checkpoints
 * spell them; all of one way exist together. */
static const struct spelling {
    enum weight_part part; /* PART_AUTO: routed experts */
    const char *leaf[LEAVES];
} spellings[] = {
    {PART_ATTENTION_IN, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
    {PART_ATTENTION_IN,
     {"self_attn.q_a_proj", "self_attn.q_b_proj", "self_attn.kv_a_proj_with_mqa",
      "self_attn.kv_b_proj"}},
    {PART_ATTENTION_IN, {"self_attn.qkv_proj"}},
    {PART_ATTENTION_IN, {"mixer.q_proj", "mixer.k_proj", "mixer.v_proj"}},
    {PART_ATTENTION_OUT, {"self_attn.o_proj"}},
    {PART_ATTENTION_OUT, {"mixer.o_proj"}},
    {PART_LINEAR, {"linear_attn.in_proj_qkvz", "linear_attn.out_proj"}},
    {PART_LINEAR, {"linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.out_proj"}},
    {PART_LINEAR, {"mixer.in_proj", "mixer.out_proj"}},
    {PART_LINEAR, {"mamba.in_proj", "mamba.out_proj"}},
    {PART_LINEAR,
     {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"}},
    {PART_INDEXER, {"self_attn.indexer.wq_b", "self_attn.indexer.wk"}},
    {PART_INDEXER, {"self_attn.index_q_proj", "self_attn.index_k_proj"}},
    {PART_DENSE, {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}},
    {PART_DENSE, {"mlp.gate_up_proj", "mlp.down_proj"}},
    {PART_DENSE, {"mixer.up_proj", "mixer.down_proj"}},
    {PART_SHARED,
     {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj",
      "mlp.shared_experts.down_proj"}},
    {PART_SHARED,
     {"mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj",
      "mlp.shared_expert.down_proj"}},
    {PART_SHARED, {"mixer.shared_experts.up_proj", "mixer.shared_experts.down_proj"}},
    {PART_SHARED,
     {"block_sparse_moe.shared_experts.gate_proj", "block_sparse_moe.shared_experts.up_proj",
      "block_sparse_moe.shared_experts.down_proj"}},
    {PART_SHARED,
     {"feed_forward.shared_expert.gate_proj", "feed_forward.shared_expert.up_proj",
      "feed_forward.shared_expert.down_proj"}},
    {PART_LATENT, {"mixer.fc1_latent_proj", "mixer.fc2_latent_proj"}},
    {PART_LATENT,
     {"block_sparse_moe.routed_expert_down_proj", "block_sparse_moe.routed_expert_up_proj"}},
    {PART_AUTO, {"mlp.experts.0.gate_proj", "mlp.experts.0.down_proj"}},
    {PART_AUTO, {"mlp.experts.gate_up_proj", "mlp.experts.down_proj"}},
    {PART_AUTO, {"block_sparse_moe.experts.0.w1", "block_sparse_moe.experts.0.w2"}},
    {PART_AUTO, {"mixer.experts.0.up_proj", "mixer.experts.0.down_proj"}},
    {PART_AUTO, {"feed_forward.experts.gate_up_proj", "feed_forward.experts.down_proj"}},
};

static const char *const prefixes[] = {"model.layers", "language_model.model.layers",
                                       "model.language_model.layers", "backbone.layers"};

enum { SPELLINGS = sizeof spellings / sizeof *spellings };
enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

/* Only Kimi's linear layers are called as attention is. */
static bool is_spelled(const struct reader *r, const struct spelling *spelling,
                       enum weight_part part)
{
    bool attention = text_starts(spelling->leaf[0], "self_attn.");
    return spelling->part == part && (r->kimi || part != PART_LINEAR || !attention);
}

/* Format of a part in a layer as one way spells it: 16 bits only where all its matrices are. */
static enum dtype format_spelled(struct reader *r, const char *prefix, uint64_t layer,
                                 const struct spelling *spelling)
{
    enum dtype format = DTYPE_BF16;
    for (size_t i = 0; i < LEAVES && spelling->leaf[i] && format == DTYPE_BF16; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%s.%llu.%s", prefix, (unsigned long long)layer,
                 spelling->leaf[i]);
        format = format_named(r, name);
    }
    return format;
}

/* Lists name what exists, groups and layers too: a spelling that none of them means tells
 * nothing, so the one that differs from what holds for all is the checkpoint's. */
static enum dtype format_of_part(struct reader *r, enum weight_part part, uint64_t layer)
{
    char nothing[NAME];
    snprintf(nothing, sizeof nothing, "none.%llu.none", (unsigned long long)layer);
    enum dtype silent = format_named(r, nothing), found = silent;
    for (size_t p = 0; p < PREFIXES && found == silent; p++)
        for (size_t i = 0; i < SPELLINGS && found == silent; i++)
            if (is_spelled(r, &spellings[i], part))
                found = format_spelled(r, prefixes[p], layer, &spellings[i]);
    return found;
}

/* Whether layer i has matrices of a part. */
static bool has_part(const struct model *model, enum weight_part part, uint64_t i)
{
    uint64_t n[KIND_COUNT] = {0};
    model_layers(model, i, i + 1, n);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum mixer mixer = kind_mixer((enum layer_kind)k);
        enum ffn ffn = kind_ffn((enum layer_kind)k);
        bool attends = mixer != MIXER_LINEAR && mixer != MIXER_NONE, moe = ffn == FFN_MOE;
        const bool has[WEIGHT_PARTS] = {
            [PART_AUTO] = moe,
            [PART_ATTENTION_IN] = attends,
            [PART_ATTENTION_OUT] = attends,
            [PART_LINEAR] = mixer_has(mixer, MIXER_LINEAR),
            [PART_INDEXER] = model_has_indexer(model, mixer),
            [PART_DENSE] = ffn == FFN_DENSE,
            [PART_SHARED] = moe && model->moe.shared_intermediate,
            [PART_LATENT] = moe && model->moe.latent_size,
        };
        if (n[k] && has[part])
            return true;
    }
    return false;
}

/* The format of most of a part's layers; *mixed: not of all. DTYPE_NONE: there is no part. */
static enum dtype format_of_most(struct reader *r, const struct model *model,
                                 enum weight_part part, bool *mixed)
{
    uint64_t n[DTYPE_COUNT] = {0}, all = 0;
    enum dtype most = DTYPE_NONE;
    for (uint64_t i = 0; i < model->layers && i < PLAN_LAYERS; i++)
        if (has_part(model, part, i)) {
            n[format_of_part(r, part, i)]++;
            all++;
        }
    for (unsigned d = 0; d < DTYPE_COUNT; d++)
        if (n[d] > n[most] || (most == DTYPE_NONE && n[d]))
            most = (enum dtype)d;
    *mixed = n[most] < all;
    return all ? most : DTYPE_NONE;
}

/* ---- what is taken ---- */

static void note(struct text *notes, const struct node *at, const char *what)
{
    if (notes)
        text_printf(notes, "'%s' (line %u): %s\n", at->key ? at->key : "quantization_config",
                    at->mark.line, what);
}

/* Of a part in another format than the checkpoint's: its first such format is plain_format. */
static void take_part(struct model *model, enum weight_part part, enum dtype format,
                      bool *beyond)
{
    struct enum_list *list = &model->plain;
    if (format == DTYPE_NONE || format == model->checkpoint)
        return;
    if (list->n && format != model->plain_format) {
        *beyond = true;
        return;
    }
    model->plain_format = format;
    list->value[list->n++] = (uint8_t)part;
}

/* Both sides of attention as the one word for them. */
static void join_attention(struct enum_list *list)
{
    if (list->n < 2 || list->value[0] != PART_ATTENTION_IN ||
        list->value[1] != PART_ATTENTION_OUT)
        return;
    list->value[0] = PART_ATTENTION;
    for (uint64_t i = 1; i + 1 < list->n; i++)
        list->value[i] = list->value[i + 1];
    list->n--;
}

void import_hf_format(const struct node *how, struct model *model, struct text *notes)
{
    model->checkpoint = DTYPE_NONE;
    model->plain.n = 0;
    model->plain_format = DTYPE_BF16;
    if (!how || how->kind != NODE_MAPPING)
        return;
    struct reader r = {how, format_of_all(how), model->linear.kind == LINEAR_KIMI_DELTA, NULL};
    bool mixed = false, beyond = false, one;
    enum weight_part first = model->moe.experts ? PART_AUTO : PART_DENSE;
    enum dtype format = format_of_most(&r, model, first, &mixed);
    if (format == DTYPE_BF16 && first == PART_AUTO && r.all != DTYPE_BF16 &&
        r.all != DTYPE_NONE) {
        note(notes, how, "experts left in 16 bits are counted in the checkpoint's format");
        format = r.all;
    }
    model->checkpoint = format == DTYPE_BF16 ? DTYPE_NONE : format;
    for (unsigned p = PART_ATTENTION_IN; model->checkpoint && p < WEIGHT_PARTS; p++) {
        take_part(model, (enum weight_part)p,
                  format_of_most(&r, model, (enum weight_part)p, &one), &beyond);
        mixed |= one;
    }
    join_attention(&model->plain);
    if (mixed)
        note(notes, how,
             "parts that are quantised in some of their layers only are counted "
             "as most of these");
    if (beyond)
        note(notes, how, "of more than two formats the others are counted as the experts'");
    if (r.strange)
        note(notes, how, "a pattern is not understood: model.plain says what is left out");
}

/* DeepSeek-V4's experts: E2M1 beside a checkpoint in blocks. The size of their scales no source
 * says; a byte per 32 gives the published 160 GB of the whole (layer-kinds.md section 2). */
void import_hf_experts(const struct node *experts, struct model *model)
{
    const enum dtype rest = model->checkpoint == DTYPE_NONE ? DTYPE_BF16 : model->checkpoint;
    bool fp4 = node_is(experts, "fp4") || node_is(experts, "mxfp4");
    if (!fp4 || model->checkpoint == DTYPE_MXFP4)
        return;
    model->checkpoint = DTYPE_MXFP4;
    model->plain_format = rest;
    model->plain.n = 0;
    for (unsigned p = PART_ATTENTION_IN; p < WEIGHT_PARTS; p++) {
        bool there = false;
        for (uint64_t i = 0; i < model->layers && i < PLAN_LAYERS && !there; i++)
            there = has_part(model, (enum weight_part)p, i);
        if (there)
            model->plain.value[model->plain.n++] = (uint8_t)p;
    }
    join_attention(&model->plain);
}
