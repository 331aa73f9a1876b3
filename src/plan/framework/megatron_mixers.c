/* Megatron-LM and Megatron-Bridge: layers of several kinds. Windows, recurrences, an indexer,
 * and patterns of layers that are one part each.
 *
 * Read at NVIDIA/Megatron-LM d98e8a64ddf3: core/transformer/transformer_config.py
 * (window_attn_skip_freq, linear_attention_freq, dsa_indexer_*), core/ssm/mamba_mixer.py and
 * core/models/hybrid (mamba_*, hybrid_layer_pattern). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/framework/megatron.h"

static const char full[] = "full";

static void set_types(struct job *job, const char *const *types, size_t n, const char *flag)
{
    const struct setting *s = job_setting(job, flag);
    draft_set_list(&job->draft, "model.layer_types", types, n, s ? s->mark : job->mark,
                   s ? s->said : flag);
}

/* "N": every N-th layer is full; "[1]*3+[0]": 1 is `type`. No frequency: every layer is. */
static enum status set_frequency(struct job *job, const char *flag, const char *type)
{
    uint64_t layers = job_drafted(job, "model.layers", 0), every = 0;
    const char *text = "";
    const char **types = arena_alloc(job->arena, PLAN_LAYERS + 1, sizeof *types);
    TRY(job_word(job, flag, &text));
    if (layers > PLAN_LAYERS)
        return job_fail(job, flag, "%" PRIu64 " layers of several kinds, above the limit %d",
                        layers, PLAN_LAYERS);
    if (strchr("([", text[0]) && text[0]) {
        char *pattern = arena_alloc(job->arena, MEGATRON_PATTERN, 1);
        TRY(megatron_read_pattern(job, flag, text, layers, pattern));
        for (uint64_t i = 0; i < layers; i++)
            types[i] = pattern[i] == '1' ? type : full;
        set_types(job, types, layers, flag);
        return STATUS_OK;
    }
    TRY(job_count(job, flag, &every));
    if (every > PLAN_LAYERS)
        return job_fail(job, flag, "'%s' is above the number of layers", flag);
    for (uint64_t i = 0; i < (every ? every : 1); i++)
        types[i] = every && i + 1 == every ? full : type;
    set_types(job, types, every ? every : 1, flag);
    return STATUS_OK;
}

/* "127,0": 127 tokens to the left and the token itself; -1 is no end. */
static enum status set_window(struct job *job)
{
    static const char flag[] = "window-size";
    const struct setting *s = job_setting(job, flag);
    if (!s)
        return STATUS_OK;
    if (s->trouble || !s->n)
        return job_fail(job, flag, "'%s' is not known: %s", flag,
                        s->trouble ? s->trouble : "no value");
    char *end;
    const char *text = s->values[0] + strspn(s->values[0], "([ ");
    long left = strtol(text, &end, 10);
    if (end == text || left < -1 || left > 1000000000 || !strchr(",)] ", *end))
        return job_fail(job, flag, "'%s' is no window of two numbers", s->values[0]);
    if (left < 0)
        return STATUS_OK;
    job_set_count(job, "model.attention.window", (uint64_t)left + 1, flag);
    return set_frequency(job, "window-attn-skip-freq", "window");
}

struct size {
    const char *flag, *key;
    uint64_t fallback; /* 0: none */
};

static enum status set_sizes(struct job *job, const struct size *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = sizes[i].fallback;
        TRY(job_count(job, sizes[i].flag, &value));
        if (value)
            job_set_count(job, sizes[i].key, value, sizes[i].flag);
    }
    return STATUS_OK;
}

/* DeepSeek-V4: one head that is key and value, by layer a window (0), entries of 4 tokens or of
 * 128 beside it; every head has a sink. */
static enum status set_compressed(struct job *job)
{
    static const struct size sizes[] = {
        {"q-lora-rank", "model.attention.q_lora_rank", 0},
        {"v-head-dim", "model.attention.head_dim", 128},
        {"qk-pos-emb-head-dim", "model.attention.qk_rope_head_dim", 64},
        {"o-groups", "model.attention.o_groups", 8},
        {"o-lora-rank", "model.attention.o_lora_rank", 1024},
        {"csa-window-size", "model.attention.window", 128},
    };
    static const char flag[] = "csa-compress-ratios";
    static const char *const types[] = {"window", "csa", "hca"};
    uint64_t layers = job_drafted(job, "model.layers", 0);
    const char *text = NULL, **list = arena_alloc(job->arena, PLAN_LAYERS + 1, sizeof *list);
    char *ratios = arena_alloc(job->arena, MEGATRON_PATTERN, 1);
    TRY(job_word(job, flag, &text));
    if (!text || layers > PLAN_LAYERS)
        return job_fail(job, "experimental-attention-variant",
                        text ? "%" PRIu64 " layers of several kinds are too many"
                             : "variant dsv4_hybrid without csa-compress-ratios, which say the "
                               "kinds of its %" PRIu64 " layers",
                        layers);
    TRY(megatron_read_ratios(job, flag, text, layers, ratios));
    for (uint64_t i = 0; i < layers; i++)
        list[i] = types[ratios[i] - '0'];
    draft_drop(&job->draft, "model.attention");
    set_types(job, list, layers, flag);
    job_set(job, "model.attention.kind", "shared_kv", "experimental-attention-variant");
    job_set_count(job, "model.attention.csa_ratio", 4, flag);
    job_set_count(job, "model.attention.hca_ratio", 128, flag);
    job_set(job, "model.attention.sinks", "true", "experimental-attention-variant");
    TRY(megatron_set_count_or(job, "model.attention.heads", "num-attention-heads", 0));
    return set_sizes(job, sizes, 6);
}

/* The kernels whose tensors are modelled are no defaults of Megatron (transformer_config.py).
 */
static enum status set_streams(struct job *job)
{
    static const char copies[] = "enable-hyper-connections",
                      group[] = "mhc-recompute-layer-num";
    bool fused;
    TRY(megatron_is_on(job, "use-fused-mhc", &fused));
    if (!fused)
        job_warn(job, job_setting(job, copies)->mark,
                 "hyper-connections without use-fused-mhc keep more, which is not modelled: "
                 "the fused ones stand for them");
    if (job_given(job, group))
        job_warn(job, job_setting(job, group)->mark,
                 "%s matters to memory and is not modelled: all layers of a chunk are "
                 "recomputed at once",
                 group);
    return megatron_set_count_or(job, "model.residual_streams", "num-residual-streams", 4);
}

/* Copies of the residual, or sums of blocks of layers. */
static enum status set_residual(struct job *job)
{
    static const char blocks[] = "attn-res-block-layers";
    bool several, sums;
    TRY(megatron_is_on(job, "enable-hyper-connections", &several));
    TRY(megatron_is_on(job, "enable-attention-residuals", &sums));
    if (several)
        TRY(set_streams(job));
    if (sums && !job_given(job, blocks))
        return job_fail(job, "enable-attention-residuals",
                        "attention residuals without attn-res-block-layers");
    if (sums)
        TRY(megatron_set_count_or(job, "model.residual_block", blocks, 0));
    return STATUS_OK;
}

static enum status set_variant(struct job *job)
{
    static const struct size linear[] = {
        {"linear-num-value-heads", "model.linear.heads", 32},
        {"linear-value-head-dim", "model.linear.head_dim", 128},
        {"linear-num-key-heads", "model.linear.key_heads", 16},
        {"linear-key-head-dim", "model.linear.key_dim", 128},
        {"linear-conv-kernel-dim", "model.linear.conv", 4},
    };
    static const struct size indexer[] = {
        {"dsa-indexer-n-heads", "model.indexer.heads", 64},
        {"dsa-indexer-head-dim", "model.indexer.head_dim", 128},
        {"dsa-indexer-topk", "model.indexer.top_k", 2048},
    };
    static const char flag[] = "experimental-attention-variant";
    const char *variant = "";
    TRY(job_word(job, flag, &variant));
    if (text_equal(variant, "gated_delta_net")) {
        TRY(set_sizes(job, linear, 5));
        job_set(job, "model.linear.kind", "gated_delta_net", flag);
        return set_frequency(job, "linear-attention-freq", "linear");
    }
    const char *kernels = "none";
    TRY(job_word(job, "dsa-kernel-backend", &kernels));
    if (text_equal(variant, "dsa")) {
        if (text_equal(kernels, "none")) /* dsa.py, unfused_dsa_fn */
            job_warn(
                job, job_setting(job, flag)->mark,
                "attention 'dsa' with dsa-kernel-backend 'none' keeps the keys and values "
                "that every head of every query chose for backward, which is not modelled: "
                "fused kernels stand for it");
        return set_sizes(job, indexer, 3);
    }
    if (text_equal(variant, "dsv4_hybrid")) {
        if (!text_equal(kernels, "cudnn"))
            job_warn(
                job, job_setting(job, flag)->mark,
                "attention 'dsv4_hybrid' with dsa-kernel-backend '%s' keeps more, which is "
                "not modelled: cudnn stands for it",
                kernels);
        TRY(set_compressed(job));
        return set_sizes(job, indexer, 3);
    }
    if (variant[0])
        job_warn(job, job_setting(job, flag)->mark,
                 "attention '%s' matters to memory and is not modelled: full attention stands "
                 "in",
                 variant);
    return STATUS_OK;
}

/* M mamba, * attention, E experts, - a dense network; '|' between pipeline stages. */
static enum status set_hybrid(struct job *job)
{
    static const char flag[] = "hybrid-layer-pattern", letters[] = "M*E-";
    static const char *const parts[] = {"linear", "full", "moe", "dense"};
    static const struct size mamba[] = {
        {"mamba-head-dim", "model.linear.head_dim", 64},
        {"mamba-num-groups", "model.linear.key_heads", 8},
        {"mamba-state-dim", "model.linear.key_dim", 128},
    };
    const char *pattern = NULL;
    const char **types = arena_alloc(job->arena, PLAN_LAYERS + 1, sizeof *types);
    size_t n = 0;
    TRY(job_word(job, flag, &pattern));
    if (!pattern)
        return STATUS_OK;
    for (const char *at = pattern; *at; at++) {
        const char *letter = strchr(letters, *at);
        if (*at == '|')
            continue;
        if (!letter)
            return job_fail(job, flag, "layer '%c' of the pattern: a plan's are M, *, E and -",
                            *at);
        if (n == PLAN_LAYERS)
            return job_fail(job, flag, "more than the limit of %d layers", PLAN_LAYERS);
        types[n++] = parts[letter - letters];
    }
    set_types(job, types, n, flag);
    job_set_count(job, "model.layers", n, flag);
    job_set_count(job, "model.norms_per_layer", 1, flag);
    draft_drop(&job->draft, "model.dense_layers");
    TRY(set_sizes(job, mamba, 3));
    job_set(job, "model.linear.kind", "mamba2", flag);
    job_set_count(job, "model.linear.conv", 4, flag);
    job_set_count(job, "model.linear.chunk", 128, flag);
    uint64_t heads =
        2 * job_drafted(job, "model.hidden", 0) / job_drafted(job, "model.linear.head_dim", 64);
    TRY(job_count(job, "mamba-num-heads", &heads));
    job_set_count(job, "model.linear.heads", heads, "mamba-num-heads");
    return STATUS_OK;
}

enum status megatron_set_mixers(struct job *job)
{
    const char *softmax = "vanilla";
    TRY(job_word(job, "softmax-type", &softmax));
    if (text_equal(softmax, "learnable"))
        job_set(job, "model.attention.sinks", "true", "softmax-type");
    TRY(set_window(job));
    TRY(set_variant(job));
    TRY(set_residual(job));
    return set_hybrid(job);
}
