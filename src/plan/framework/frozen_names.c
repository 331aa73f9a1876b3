/* See frozen_names.h. Names: transformers' models of Qwen, Llama, DeepSeek, Mixtral, GPT-OSS
 * and Qwen3-Next; Megatron-LM core/transformer and core/models/gpt. */
#include "plan/framework/frozen_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "plan/layers.h"
#include "plan/schema/schema.h"

enum { NAMES = 24 };

/* When a layer has a parameter. */
enum when { ALWAYS, IF_GQA, IF_LATENT, IF_LOW_RANK, IF_FULL_RANK, IF_RECURRENT, IF_SHARED };

struct row {
    enum frozen_part part;
    enum when when;
    const char *names; /* behind the layer's own, '|' between those of versions */
};

static const struct row transformers[] = {
    {FROZEN_NORMS, ALWAYS, "input_layernorm.weight"},
    {FROZEN_NORMS, ALWAYS, "post_attention_layernorm.weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attn.q_proj.weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attn.k_proj.weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attn.v_proj.weight"},
    {FROZEN_ATTENTION, IF_LOW_RANK, "self_attn.q_a_proj.weight"},
    {FROZEN_ATTENTION, IF_LOW_RANK, "self_attn.q_b_proj.weight"},
    {FROZEN_ATTENTION, IF_FULL_RANK, "self_attn.q_proj.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attn.kv_a_proj_with_mqa.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attn.kv_b_proj.weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attn.o_proj.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attn.o_proj.weight"},
    {FROZEN_ATTENTION, IF_RECURRENT,
     "linear_attn.in_proj_qkvz.weight|linear_attn.in_proj_qkv.weight|mixer.in_proj.weight|"
     "mamba.in_proj.weight|self_attn.qkv_proj.weight"},
    {FROZEN_ATTENTION, IF_RECURRENT,
     "linear_attn.out_proj.weight|mixer.out_proj.weight|mamba.out_proj.weight|"
     "self_attn.out_proj.weight"},
    {FROZEN_ROUTER, ALWAYS,
     "mlp.gate.weight|mlp.router.weight|block_sparse_moe.gate.weight|feed_forward.router."
     "weight"},
    {FROZEN_EXPERTS, ALWAYS,
     "mlp.experts.gate_up_proj|mlp.experts.0.gate_proj.weight|block_sparse_moe.experts.0.w1."
     "weight|feed_forward.experts.gate_up_proj"},
    {FROZEN_EXPERTS, ALWAYS,
     "mlp.experts.down_proj|mlp.experts.0.down_proj.weight|block_sparse_moe.experts.0.w2."
     "weight|feed_forward.experts.down_proj"},
    {FROZEN_SHARED_EXPERTS, IF_SHARED,
     "mlp.shared_experts.gate_proj.weight|mlp.shared_expert.gate_proj.weight|feed_forward."
     "shared_expert.gate_proj.weight"},
    {FROZEN_SHARED_EXPERTS, IF_SHARED,
     "mlp.shared_experts.down_proj.weight|mlp.shared_expert.down_proj.weight|feed_forward."
     "shared_expert.down_proj.weight"},
    {FROZEN_DENSE_MLP, ALWAYS, "mlp.gate_proj.weight"},
    {FROZEN_DENSE_MLP, ALWAYS, "mlp.up_proj.weight"},
    {FROZEN_DENSE_MLP, ALWAYS, "mlp.down_proj.weight"},
};

static const struct row megatron[] = {
    {FROZEN_NORMS, ALWAYS,
     "input_layernorm.weight|self_attention.linear_qkv.layer_norm_weight"},
    {FROZEN_NORMS, ALWAYS, "pre_mlp_layernorm.weight|mlp.linear_fc1.layer_norm_weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attention.linear_qkv.weight"},
    {FROZEN_ATTENTION, IF_LOW_RANK, "self_attention.linear_q_down_proj.weight"},
    {FROZEN_ATTENTION, IF_LOW_RANK, "self_attention.linear_q_up_proj.weight"},
    {FROZEN_ATTENTION, IF_FULL_RANK, "self_attention.linear_q_proj.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attention.linear_kv_down_proj.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attention.linear_kv_up_proj.weight"},
    {FROZEN_ATTENTION, IF_GQA, "self_attention.linear_proj.weight"},
    {FROZEN_ATTENTION, IF_LATENT, "self_attention.linear_proj.weight"},
    {FROZEN_ATTENTION, IF_RECURRENT,
     "self_attention.in_proj.weight|mixer.in_proj.weight|self_attention.linear_attn.in_proj_"
     "qkvz.weight"},
    {FROZEN_ATTENTION, IF_RECURRENT,
     "self_attention.out_proj.weight|mixer.out_proj.weight|self_attention.linear_attn.out_proj."
     "weight"},
    {FROZEN_ROUTER, ALWAYS, "mlp.router.weight"},
    {FROZEN_EXPERTS, ALWAYS,
     "mlp.experts.linear_fc1.weight0|mlp.experts.local_experts.0.linear_fc1.weight"},
    {FROZEN_EXPERTS, ALWAYS,
     "mlp.experts.linear_fc2.weight0|mlp.experts.local_experts.0.linear_fc2.weight"},
    {FROZEN_SHARED_EXPERTS, IF_SHARED, "mlp.shared_experts.linear_fc1.weight"},
    {FROZEN_SHARED_EXPERTS, IF_SHARED, "mlp.shared_experts.linear_fc2.weight"},
    {FROZEN_DENSE_MLP, ALWAYS, "mlp.linear_fc1.weight"},
    {FROZEN_DENSE_MLP, ALWAYS, "mlp.linear_fc2.weight"},
};

/* What a layer's names begin with, '|' between models of language alone and others. */
static const struct library {
    const struct row *rows;
    size_t n;
    const char *layers, *embedding, *head;
} libraries[FROZEN_STYLES] = {
    [FROZEN_TRANSFORMERS] =
        {transformers, sizeof transformers / sizeof *transformers,
         "model.layers.|model.language_model.layers.",
         "model.embed_tokens.weight|model.language_model.embed_tokens.weight",
         "lm_head.weight"},
    [FROZEN_MEGATRON] =
        {megatron, sizeof megatron / sizeof *megatron,
         "decoder.layers.|language_model.decoder.layers.",
         "embedding.word_embeddings.weight|language_model.embedding.word_embeddings.weight",
         "output_layer.weight|language_model.output_layer.weight"},
};

/* ---- whether names are met ---- */

static bool searches(const char *expression, const char *name)
{
    for (const char *at = name; *at; at++)
        if (pattern_begins(expression, at) == PATTERN_YES)
            return true;
        else if (expression[0] == '^')
            return false;
    return false;
}

static bool meets(enum frozen_meet meet, const char *word, const char *name)
{
    switch (meet) {
    case MEET_BEGINS:
        return text_starts(name, word);
    case MEET_HOLDS:
        return strstr(name, word) != NULL;
    case MEET_MATCHES:
        return pattern_begins(word, name) == PATTERN_YES;
    case MEET_SEARCHES:
        return searches(word, name);
    }
    return false;
}

bool frozen_meets(const struct frozen_words *words, const struct frozen_name *name)
{
    for (size_t i = 0; i < words->n; i++)
        for (unsigned k = 0; k < name->n; k++)
            if (words->words[i] && meets(words->meet, words->words[i], name->names[k]))
                return true;
    return false;
}

struct frozen_words frozen_words_of(struct job *job, const char *flag, enum frozen_meet meet)
{
    const struct setting *s = job_setting(job, flag);
    return (struct frozen_words){s ? s->values : NULL, s ? s->n : 0, meet};
}

/* ---- every parameter of the model ---- */

/* What is asked, and the answers: of a part of a layer how many are trained, how many are not.
 */
struct part_count {
    uint8_t trained, frozen;
};

struct survey {
    struct job *job;
    const struct library *library;
    const struct model *model;
    frozen_trains *trains;
    const void *with;
    struct part_count (*layers)[FROZEN_PARTS];
    bool embedding, head; /* trained */
};

/* "a|b" before "c|d": ac, ad, bc, bd. */
static unsigned spell(struct arena *arena, const char *before, uint64_t layer,
                      const char *names, const char *out[NAMES])
{
    unsigned n = 0;
    for (const char *b = before; b; b = strchr(b, '|') ? strchr(b, '|') + 1 : NULL)
        for (const char *w = names; w && n < NAMES;
             w = strchr(w, '|') ? strchr(w, '|') + 1 : NULL) {
            int first = (int)strcspn(b, "|"), rest = (int)strcspn(w, "|");
            out[n++] = layer == FROZEN_NO_LAYER ? arena_printf(arena, "%.*s", rest, w)
                                                : arena_printf(arena, "%.*s%" PRIu64 ".%.*s",
                                                               first, b, layer, rest, w);
        }
    return n;
}

static bool ask(const struct survey *s, const char *before, uint64_t layer, const char *names)
{
    const char *spelt[NAMES];
    struct frozen_name name = {.layer = layer, .names = spelt};
    name.n = spell(s->job->arena, before, layer, names, spelt);
    return s->trains(s->with, &name);
}

static bool has(const struct survey *s, enum layer_kind kind, const struct row *row)
{
    const enum ffn ffn = s->model->moe.experts ? kind_ffn(kind) : FFN_DENSE;
    const struct attention *a = &s->model->attention;
    const bool recurrent = kind_mixer(kind) == MIXER_LINEAR,
               recurs = mixer_has(kind_mixer(kind), MIXER_LINEAR);
    const bool latent = a->kind == ATTENTION_MLA, mixes = kind_mixer(kind) != MIXER_NONE;
    const bool parts[FROZEN_PARTS] = {
        [FROZEN_NORMS] = true,
        [FROZEN_ATTENTION] = mixes,
        [FROZEN_ROUTER] = ffn == FFN_MOE,
        [FROZEN_EXPERTS] = ffn == FFN_MOE,
        [FROZEN_SHARED_EXPERTS] = ffn == FFN_MOE,
        [FROZEN_DENSE_MLP] = ffn == FFN_DENSE,
    };
    const bool holds[] = {
        [ALWAYS] = true,
        [IF_GQA] = !latent && !recurrent,
        [IF_LATENT] = latent && !recurrent,
        [IF_LOW_RANK] = latent && !recurrent && a->q_lora_rank > 0,
        [IF_FULL_RANK] = latent && !recurrent && a->q_lora_rank == 0,
        [IF_RECURRENT] = recurs,
        [IF_SHARED] = s->model->moe.shared_intermediate > 0,
    };
    return parts[row->part] && holds[row->when];
}

static void ask_layer(struct survey *s, uint64_t layer)
{
    uint64_t count[KIND_COUNT] = {0};
    enum layer_kind kind = KIND_DENSE;
    model_layers(s->model, layer, layer + 1, count);
    while (kind + 1 < KIND_COUNT && !count[kind])
        kind = (enum layer_kind)(kind + 1);
    for (size_t i = 0; i < s->library->n; i++) {
        const struct row *row = &s->library->rows[i];
        struct part_count *at = &s->layers[layer][row->part];
        if (!has(s, kind, row))
            continue;
        if (ask(s, s->library->layers, layer, row->names))
            at->trained++;
        else
            at->frozen++;
    }
}

static void ask_all(struct survey *s)
{
    s->layers = arena_alloc(s->job->arena, s->model->layers, sizeof *s->layers);
    memset(s->layers, 0, s->model->layers * sizeof *s->layers);
    for (uint64_t i = 0; i < s->model->layers; i++)
        ask_layer(s, i);
    s->embedding = ask(s, "", FROZEN_NO_LAYER, s->library->embedding);
    s->head = s->model->tied_embeddings ? s->embedding
                                        : ask(s, "", FROZEN_NO_LAYER, s->library->head);
}

/* ---- what comes of it ---- */

static bool layer_is_trained(const struct survey *s, uint64_t layer)
{
    for (unsigned p = 0; p < FROZEN_PARTS; p++)
        if (s->layers[layer][p].trained)
            return true;
    return false;
}

/* Layers below the first that has something to train; one is left, whose parts say the rest. */
static uint64_t leading(const struct survey *s)
{
    uint64_t n = 0;
    while (n + 1 < s->model->layers && !layer_is_trained(s, n))
        n++;
    return n;
}

static struct part_count over_layers(const struct survey *s, uint64_t first,
                                     enum frozen_part part)
{
    struct part_count sum = {0, 0};
    for (uint64_t i = first; i < s->model->layers; i++) {
        sum.trained |= s->layers[i][part].trained > 0;
        sum.frozen |= s->layers[i][part].frozen > 0;
    }
    return sum;
}

static struct mark mark_of(struct job *job, const char *flags)
{
    char name[64];
    size_t n = strcspn(flags, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, flags);
    const struct setting *s = job_setting(job, name);
    return s ? s->mark : flags[n] == ' ' ? mark_of(job, flags + n + 1) : job_place(job);
}

/* Parts whose parameters are told apart. */
static void warn_of_some(const struct survey *s, const char *flags, const char *parts)
{
    if (parts[0])
        job_warn(s->job, mark_of(s->job, flags),
                 "of %s some weights are trained and others are not, which matters to memory: "
                 "all of them are planned as trained",
                 parts);
}

/* Something of the model's encoder is trained, whose gradients pass all layers. */
static bool trains_encoder(const struct survey *s)
{
    const struct draft_item *train = draft_find(&s->job->draft, "workload.encoder.train");
    return s->model->encoder.layers && !(train && text_equal(train->words[0], "none"));
}

static enum status set(const struct survey *s, const char *flags, const char *format)
{
    const char *modules[FROZEN_PARTS];
    size_t n = 0;
    const bool encoder = trains_encoder(s);
    const uint64_t below = encoder ? 0 : leading(s), first = s->embedding ? 0 : below;
    bool some = s->embedding || s->head || encoder;
    const char *parts = "";
    if (!s->embedding && !first)
        modules[n++] = words_frozen[FROZEN_EMBED_TOKENS];
    if (!s->head && !s->model->tied_embeddings)
        modules[n++] = words_frozen[FROZEN_LM_HEAD];
    for (unsigned p = FROZEN_NORMS; p < FROZEN_PARTS; p++) {
        const struct part_count of = over_layers(s, first, (enum frozen_part)p);
        some = some || of.trained;
        if (of.trained && of.frozen)
            parts = arena_printf(s->job->arena, "%s%s%s", parts, parts[0] ? ", " : "",
                                 words_frozen[p]);
        else if (of.frozen)
            modules[n++] = words_frozen[p];
    }
    warn_of_some(s, flags, parts);
    if (!some)
        return job_fail(s->job, flags, "no weight of the model is trained");
    if (first)
        job_set_count(s->job, "frozen.layers", first, flags);
    if (n)
        job_set_list(s->job, "frozen.modules", modules, n, flags);
    if ((first || n) && format)
        job_set(s->job, "frozen.format", format, flags);
    return STATUS_OK;
}

/* Asks of every parameter; not known: the model, and nothing was asked. */
static enum status survey(struct job *job, enum frozen_style style, frozen_trains *trains,
                          const void *with, struct survey *s, bool *known)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    TRY(job_model(job, plan, known));
    *known = *known && plan->model.layers > 0;
    *s = (struct survey){.job = job,
                         .library = &libraries[style],
                         .model = &plan->model,
                         .trains = trains,
                         .with = with};
    if (*known)
        ask_all(s);
    return STATUS_OK;
}

enum status frozen_set(struct job *job, enum frozen_style style, frozen_trains *trains,
                       const void *with, const char *flags, const char *format)
{
    struct survey s;
    bool known;
    TRY(survey(job, style, trains, with, &s, &known));
    if (known)
        return set(&s, flags, format);
    job_warn(job, mark_of(job, flags),
             "which weights are trained matters to memory and is not known without the "
             "model: all are planned as trained");
    return STATUS_OK;
}

enum status frozen_finds(struct job *job, enum frozen_style style, frozen_trains *finds,
                         const void *with, enum frozen_found found[FROZEN_PARTS])
{
    struct survey s;
    bool known;
    TRY(survey(job, style, finds, with, &s, &known));
    for (unsigned p = 0; p < FROZEN_PARTS; p++) {
        const struct part_count of =
            known ? over_layers(&s, 0, (enum frozen_part)p) : (struct part_count){0, 0};
        found[p] = !of.trained ? FROZEN_NONE : of.frozen ? FROZEN_SOME : FROZEN_ALL;
    }
    return STATUS_OK;
}

enum status frozen_set_part(struct job *job, const char *part, const char *flag)
{
    bool frozen = false;
    TRY(job_switch(job, flag, &frozen));
    if (frozen && !draft_find(&job->draft, "lora.rank"))
        job_set_list(job, "frozen.modules", &part, 1, flag);
    return STATUS_OK;
}
