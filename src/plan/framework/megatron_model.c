/* Megatron-LM and Megatron-Bridge: the model that their flags describe. */
#include <inttypes.h>
#include <string.h>

#include "plan/framework/megatron.h"

static enum status set_attention(struct job *job)
{
    bool grouped, latent;
    TRY(megatron_is_on(job, "group-query-attention", &grouped));
    TRY(megatron_is_on(job, "multi-latent-attention", &latent));
    if (grouped && latent)
        return job_fail(job, "multi-latent-attention",
                        "multi-latent-attention and group-query-attention exclude each other");
    if (!latent) {
        if (grouped || (megatron_is_bridge(job) && job_given(job, "num-query-groups")))
            TRY(megatron_set_count_or(job, "model.attention.kv_heads", "num-query-groups", 1));
        if (job_given(job, "kv-channels"))
            TRY(megatron_set_count_or(job, "model.attention.head_dim", "kv-channels", 0));
        return STATUS_OK;
    }
    job_set(job, "model.attention.kind", "mla", "multi-latent-attention");
    TRY(megatron_set_count_or(job, "model.attention.q_lora_rank", "q-lora-rank", 0));
    TRY(megatron_set_count_or(job, "model.attention.kv_lora_rank", "kv-lora-rank", 32));
    TRY(megatron_set_count_or(job, "model.attention.qk_nope_head_dim", "qk-head-dim", 128));
    TRY(megatron_set_count_or(job, "model.attention.qk_rope_head_dim", "qk-pos-emb-head-dim",
                              64));
    return megatron_set_count_or(job, "model.attention.v_head_dim", "v-head-dim", 128);
}

static enum status set_biases(struct job *job)
{
    bool none, qkv, added = true;
    TRY(megatron_is_on(job, "disable-bias-linear", &none));
    TRY(megatron_is_on(job, "add-qkv-bias", &qkv));
    TRY(job_switch(job, "add-bias-linear", &added));
    const char *all = added && !none ? "true" : "false";
    job_set(job, "model.attention.bias", qkv ? "true" : all,
            qkv ? "add-qkv-bias" : "disable-bias-linear add-bias-linear");
    job_set(job, "model.attention.output_bias", all, "disable-bias-linear add-bias-linear");
    job_set(job, "model.moe.bias", all, "disable-bias-linear add-bias-linear");
    return STATUS_OK;
}

/* Bridge: activation_func (torch.nn.functional.silu, quick_gelu) and gated_linear_unit. */
static enum status set_function(struct job *job)
{
    static const char *const names[][2] = {
        {"silu", "silu"}, {"quick_gelu", "swiglu_oai"}, {"relu", "relu"}, {"gelu", "gelu"}};
    const char *name = "gelu";
    bool gated;
    TRY(job_word(job, "activation_func", &name));
    TRY(megatron_is_on(job, "gated_linear_unit", &gated));
    size_t i = 0;
    while (i < 4 && !strstr(name, names[i][0]))
        i++;
    if (i == 4)
        return job_fail(job, "activation_func", "activation '%s' is none a plan has", name);
    job_set(job, "model.moe.activation", names[i][1], "activation_func");
    job_set(job, "model.moe.glu", gated ? "true" : "false", "gated_linear_unit");
    return STATUS_OK;
}

/* Which of the activations, gated or not; *gated is what ffn-hidden-size depends on. */
static enum status set_activation(struct job *job, bool *swiglu)
{
    static const struct {
        const char *flag, *activation, *glu;
    } kinds[] = {{"swiglu", "silu", "true"},
                 {"quick-geglu", "swiglu_oai", "true"},
                 {"squared-relu", "relu", "false"}};
    TRY(megatron_is_on(job, "swiglu", swiglu));
    for (size_t i = 0; i < 3; i++) {
        bool on;
        TRY(megatron_is_on(job, kinds[i].flag, &on));
        if (!on)
            continue;
        job_set(job, "model.moe.activation", kinds[i].activation, kinds[i].flag);
        job_set(job, "model.moe.glu", kinds[i].glu, kinds[i].flag);
        return STATUS_OK;
    }
    return set_function(job);
}

enum status megatron_set_layers(struct job *job)
{
    const char *text = "1";
    uint64_t layers = job_drafted(job, "model.layers", 0), every = 1;
    const struct setting *s = job_setting(job, "moe-layer-freq");
    if (s && s->n > 1 && !s->trouble) { /* a list of YAML */
        struct text list = {.arena = job->arena};
        for (size_t i = 0; i < s->n; i++)
            text_printf(&list, "%s%s", i ? "," : "[", s->values[i]);
        text_append(&list, "]");
        return megatron_set_pattern(job, text_string(&list), layers);
    }
    TRY(job_word(job, "moe-layer-freq", &text));
    if (s && s->n == 1 && strchr("([", text[0]))
        return megatron_set_pattern(job, text, layers);
    TRY(job_count(job, "moe-layer-freq", &every));
    if (every == 0 || layers == 0)
        return job_fail(job, "moe-layer-freq", "moe-layer-freq is 0");
    if (every > 1 && layers % every != 0)
        return job_fail(job, "moe-layer-freq",
                        "moe-layer-freq %" PRIu64 " does not divide the %" PRIu64 " layers",
                        every, layers);
    if (every > 1)
        job_set_count(job, "model.moe_every", every, "moe-layer-freq");
    job_set_count(job, "model.dense_layers", layers - layers / every, "moe-layer-freq");
    return STATUS_OK;
}

static enum status set_router(struct job *job)
{
    const char *score = "softmax";
    bool first;
    TRY(job_word(job, "moe-router-score-function", &score));
    TRY(megatron_is_on(job, "moe-router-pre-softmax", &first));
    bool apart = !text_equal(score, "softmax"); /* sigmoid, sqrtsoftplus: experts each */
    job_set(job, "model.moe.router.score", score, "moe-router-score-function");
    job_set(job, "model.moe.router.order",
            first || apart ? "score_then_topk" : "topk_then_score", "moe-router-pre-softmax");
    job_set(job, "model.moe.router.normalize", apart ? "true" : "false",
            "moe-router-score-function");
    return STATUS_OK;
}

static enum status set_experts(struct job *job, uint64_t ffn)
{
    uint64_t experts, shared;
    TRY(megatron_count_or(job, "num-experts", 0, &experts));
    TRY(megatron_count_or(job, "moe-shared-expert-intermediate-size", 0, &shared));
    if (!experts) {
        job_set_count(job, "model.dense_layers", job_drafted(job, "model.layers", 0),
                      "num-experts");
        return STATUS_OK;
    }
    job_set_count(job, "model.moe.experts", experts, "num-experts");
    TRY(megatron_set_count_or(job, "model.moe.top_k", "moe-router-topk", 2));
    TRY(megatron_set_count_or(job, "model.moe.intermediate", "moe-ffn-hidden-size", ffn));
    if (shared) {
        job_set_count(job, "model.moe.shared_experts", 1,
                      "moe-shared-expert-intermediate-size");
        job_set_count(job, "model.moe.shared_intermediate", shared,
                      "moe-shared-expert-intermediate-size");
    }
    TRY(set_router(job));
    return job_given(job, "hybrid-layer-pattern") ? STATUS_OK : megatron_set_layers(job);
}

/* The tokenizer's own, where its kind or the model it is named after says it. */
static enum status set_tokenizer(struct job *job, bool *known)
{
    const char *type = "", *name = "";
    TRY(job_word(job, "tokenizer-type", &type));
    const struct setting *s = job_setting(job, "tokenizer-model");
    if (s && s->n == 1 && !s->trouble)
        name = s->values[0];
    const char *size = job_convert(job, "Llama2Tokenizer=32000 GPT2BPETokenizer=50257", type);
    const char *model = model_name_from(NAMES_HUB, name, job->arena);
    *known = size || (text_equal(type, "HuggingFaceTokenizer") && model);
    if (!*known)
        return STATUS_OK;
    if (!size) {
        struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
        TRY(job_part_named(job, "model", model, s->mark, plan));
        size = arena_printf(job->arena, "%" PRIu64, plan->model.vocab);
    }
    job_set(job, "model.vocab", size, "tokenizer-type");
    job_warn(job, job_setting(job, "tokenizer-type")->mark,
             "the tokenizer is not read: %s words are assumed of it", size);
    return STATUS_OK;
}

static enum status set_vocabulary(struct job *job)
{
    bool known;
    if (job_given(job, "padded-vocab-size")) {
        TRY(megatron_set_count_or(job, "model.vocab", "padded-vocab-size", 0));
        job_set_count(job, "stack.vocab_multiple", 1, "padded-vocab-size");
        return STATUS_OK;
    }
    if (job_given(job, "make-vocab-size-divisible-by"))
        TRY(megatron_set_count_or(job, "stack.vocab_multiple", "make-vocab-size-divisible-by",
                                  128));
    if (job_given(job, "vocab-size"))
        return megatron_set_count_or(job, "model.vocab", "vocab-size", 0);
    if (job_requested(job, "model.vocab"))
        return STATUS_OK;
    TRY(set_tokenizer(job, &known));
    if (known)
        return STATUS_OK;
    job_refuse(job, "the size of the vocabulary is the tokenizer's, which is not read");
    return err_hint(job->err, "give it, as in --set model.vocab=32000, or as "
                              "'#moeplan model.vocab=32000' in the job");
}

void megatron_keep_vocabulary(struct job *job)
{
    job_set(job, "stack.vocab_multiple", "1", "");
}

enum status megatron_set_model(struct job *job)
{
    static const char *const needed[] = {"num-layers", "hidden-size", "num-attention-heads"};
    bool hybrid = job_given(job, "hybrid-layer-pattern");
    uint64_t ffn, hidden = job_drafted(job, "model.hidden", 0);
    bool swiglu, untied, tied = true;
    for (size_t i = hybrid; i < 3; i++) /* a pattern says how many layers there are */
        if (!job_given(job, needed[i]))
            return job_refuse(job, "'%s' is missing: the size of the model", needed[i]);
    TRY(set_activation(job, &swiglu));
    TRY(megatron_count_or(job, "ffn-hidden-size",
                          swiglu ? 8 * hidden / 3 / 64 * 64 : 4 * hidden, &ffn));
    TRY(set_experts(job, ffn));
    if (hybrid || job_drafted(job, "model.dense_layers", 0) > 0 ||
        job_given(job, "ffn-hidden-size"))
        job_set_count(job, "model.dense_intermediate", ffn, "ffn-hidden-size");
    TRY(megatron_is_on(job, "untie-embeddings-and-output-weights", &untied));
    tied = !untied;
    TRY(job_switch(job, "share_embeddings_and_output_weights", &tied));
    job_set(job, "model.tied_embeddings", tied ? "true" : "false",
            "untie-embeddings-and-output-weights share_embeddings_and_output_weights");
    TRY(set_attention(job));
    TRY(set_biases(job));
    TRY(megatron_set_mixers(job));
    return set_vocabulary(job);
}
