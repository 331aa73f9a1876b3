/* generic: what an eager, PyTorch-like stack keeps, without any one library's extras.
 *
 * Saved tensors are those the autograd rules of the layer need (buffers.md 1.4): the inputs of
 * every product, the inputs of the activation, router scores. Attention and dense networks are
 * rows of a table; recompute decides whether a tensor lives from forward to backward, or only
 * while its layer runs backward. The experts are the ops of the plan's path. */
#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "work/dispatch/dispatch.h"
#include "work/piece/dims.h"
#include "work/piece/segments.h"
#include "work/piece/state.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

enum width {
    WIDTH_HIDDEN,
    WIDTH_STREAMS, /* of all copies of the residual */
    WIDTH_Q,
    WIDTH_K,
    WIDTH_V,
    WIDTH_CONTEXT,
    WIDTH_DENSE,
    WIDTH_LAYER_EMBEDDING,  /* of one layer */
    WIDTH_LAYER_EMBEDDINGS, /* of all */
    WIDTH_LENT,             /* keys and values that later layers read too */
    WIDTH_LINEAR_IN,        /* of linear layers */
    WIDTH_LINEAR_QKV,
    WIDTH_LINEAR_SCORES,
    WIDTH_LINEAR_VALUES,
    WIDTH_COUNT
};

enum { OWN_WIDTHS = WIDTH_DENSE + 1 - WIDTH_Q }; /* of each mixer its own */

/* keep: what becomes of the tensor between forward and backward */
enum keep {
    KEEP_ALWAYS,    /* saved even under full recomputation */
    KEEP_SELECTIVE, /* recomputed by full only */
    KEEP_NONE,      /* recomputed by selective and full: cheap element-wise results */
    KEEP_BACKWARD,  /* a gradient: alive in the layer's backward only */
    KEEP_PASSING    /* alive while the layer runs, and nothing reads it in backward */
};

static const struct tensor {
    const char *name;
    enum category category;
    unsigned networks, mixers; /* IN_..., MIX_... */
    enum width width;
    enum keep keep;
    fact_set when; /* FACT_... */
} tensors[] = {
    {"layer_input", CATEGORY_CHECKPOINT, IN_ALL, MIX_ALL, WIDTH_STREAMS, KEEP_ALWAYS, 0},
    {"attention_norm_out", CATEGORY_ACTIVATION, IN_ALL, MIX_ANY, WIDTH_HIDDEN, KEEP_NONE, 0},
    {"q", CATEGORY_ATTENTION, IN_ALL, MIX_SOFTMAX, WIDTH_Q, KEEP_SELECTIVE, 0},
    {"k", CATEGORY_ATTENTION, IN_ALL, MIX_SOFTMAX, WIDTH_K, KEEP_SELECTIVE, FACT_OWN_KV},
    {"v", CATEGORY_ATTENTION, IN_ALL, MIX_SOFTMAX, WIDTH_V, KEEP_SELECTIVE, FACT_OWN_KV},
    {"attention_context", CATEGORY_ATTENTION, IN_ALL, MIX_SOFTMAX, WIDTH_CONTEXT,
     KEEP_SELECTIVE, 0},
    {"linear_in", CATEGORY_ATTENTION, IN_ALL, MIX_LINEAR, WIDTH_LINEAR_IN, KEEP_SELECTIVE, 0},
    {"convolved", CATEGORY_ATTENTION, IN_ALL, MIX_LINEAR, WIDTH_LINEAR_QKV, KEEP_SELECTIVE, 0},
    {"chunk_scores", CATEGORY_ATTENTION, IN_ALL, MIX_DELTA, WIDTH_LINEAR_SCORES, KEEP_SELECTIVE,
     0},
    {"linear_context", CATEGORY_ATTENTION, IN_ALL, MIX_LINEAR, WIDTH_LINEAR_VALUES,
     KEEP_SELECTIVE, 0},
    {"gated_context", CATEGORY_ATTENTION, IN_ALL, MIX_LINEAR, WIDTH_LINEAR_VALUES,
     KEEP_SELECTIVE, 0},
    {"mlp_input", CATEGORY_ACTIVATION, IN_BOTH, MIX_ANY, WIDTH_STREAMS, KEEP_SELECTIVE,
     FACT_IN_TURN},
    {"attention_result", CATEGORY_ACTIVATION, IN_BOTH, MIX_ANY, WIDTH_HIDDEN, KEEP_PASSING,
     FACT_BESIDE},
    {"mlp_norm_out", CATEGORY_ACTIVATION, IN_BOTH, MIX_ALL, WIDTH_HIDDEN, KEEP_NONE,
     FACT_NETWORK_NORM},
    {"mlp_gate", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_SELECTIVE, FACT_GLU},
    {"mlp_up", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_SELECTIVE, 0},
    {"mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_NONE, 0},
    {"d_mlp_gate", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_BACKWARD,
     FACT_GLU},
    {"d_mlp_up", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_BACKWARD, 0},
    {"d_mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, MIX_ALL, WIDTH_DENSE, KEEP_BACKWARD, 0},
    {"d_layer_output", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_STREAMS, KEEP_BACKWARD, 0},
    {"d_residual", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_STREAMS, KEEP_BACKWARD, 0},
    {"layer_gate_in", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_HIDDEN, KEEP_SELECTIVE,
     FACT_LAYER_EMBEDDING},
    {"layer_gate", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_LAYER_EMBEDDING, KEEP_SELECTIVE,
     FACT_LAYER_EMBEDDING},
    {"layer_gate_activated", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_LAYER_EMBEDDING,
     KEEP_NONE, FACT_LAYER_EMBEDDING},
    {"layer_gated", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_LAYER_EMBEDDING, KEEP_NONE,
     FACT_LAYER_EMBEDDING},
    {"layer_projected", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_HIDDEN, KEEP_SELECTIVE,
     FACT_LAYER_EMBEDDING},
    {"d_layer_embeddings", CATEGORY_ACTIVATION, IN_ALL, MIX_ALL, WIDTH_LAYER_EMBEDDINGS,
     KEEP_BACKWARD, FACT_LAYER_EMBEDDING},
    {"d_lent_keys", CATEGORY_ATTENTION, IN_ALL, MIX_ALL, WIDTH_LENT, KEEP_BACKWARD, FACT_LENDS},
};

/* Of the ends: embeddings of all layers and what their norm reads; keys and values that later
 * layers read, where their own layer keeps none. */
static const struct end {
    enum { END_ALWAYS, END_TRAINING, END_AGAIN } kept; /* AGAIN: where layers run again */
    struct tensor tensor;
} ends[] = {
    {END_ALWAYS,
     {"layer_embeddings", CATEGORY_ACTIVATION, 0, 0, WIDTH_LAYER_EMBEDDINGS, KEEP_ALWAYS,
      FACT_LAYER_EMBEDDING}},
    {END_TRAINING,
     {"layer_embeddings_norm_in", CATEGORY_ACTIVATION, 0, 0, WIDTH_LAYER_EMBEDDINGS,
      KEEP_ALWAYS, FACT_LAYER_EMBEDDING}},
    {END_AGAIN, {"lent_keys", CATEGORY_ATTENTION, 0, 0, WIDTH_LENT, KEEP_ALWAYS, FACT_LENDS}},
};

struct generic {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    enum moe_path path;
    struct dims d;
    bool kinds[KIND_COUNT];
    struct size tokens, width[WIDTH_COUNT];
    bool known[MIXER_COUNT]; /* of its layers: */
    struct size own[MIXER_COUNT][OWN_WIDTHS];
    uint16_t moe_input[KIND_COUNT]; /* the norm's output before the experts */
};

static struct size attention_width(const struct plan *plan, struct sizes *z, enum mixer mixer,
                                   enum width which)
{
    const struct head_slots slots = slots_of_heads(&plan->model, mixer);
    bool mla = plan->model.attention.kind == ATTENTION_MLA;
    bool value = which == WIDTH_V || which == WIDTH_CONTEXT;
    bool kv = !mla && (which == WIDTH_K || which == WIDTH_V);
    struct size heads = size_slot(z, kv ? slots.kv_heads : slots.heads);
    struct size each = size_slot(z, value ? slots.v_dim : slots.head_dim);
    if (kv && plan_shares_kv(plan)) /* one head, whole on every rank */
        return which == WIDTH_K ? each : size_const(z, 0);
    if (mla && !value)
        each = size_add(z, size_slot(z, SLOT_NOPE_DIM), size_slot(z, SLOT_ROPE_DIM));
    return size_ceil_div(z, size_mul(z, heads, each), size_slot(z, SLOT_TP));
}

static void fill_layer_widths(struct generic *g, enum mixer mixer)
{
    struct size *own = g->own[mixer];
    if (!g->known[mixer]) {
        own[WIDTH_DENSE - WIDTH_Q] = dims_dense_width(g->z, g->plan, mixer);
        for (unsigned i = WIDTH_Q; i <= WIDTH_CONTEXT; i++)
            own[i - WIDTH_Q] = attention_width(g->plan, g->z, mixer, (enum width)i);
        g->known[mixer] = true;
    }
    memcpy(&g->width[WIDTH_Q], own, sizeof g->own[mixer]);
}

static void fill_widths(struct generic *g)
{
    g->width[WIDTH_HIDDEN] = size_slot(g->z, SLOT_HIDDEN);
    g->width[WIDTH_STREAMS] = g->d.width[COL_STREAMS];
    fill_layer_widths(g, MIXER_FULL);
    g->width[WIDTH_LAYER_EMBEDDING] = g->d.width[COL_LAYER_EMBEDDING];
    g->width[WIDTH_LAYER_EMBEDDINGS] = g->d.width[COL_LAYER_EMBEDDINGS];
    g->width[WIDTH_LENT] = g->d.width[COL_LENT];
    g->width[WIDTH_LINEAR_IN] = g->d.width[COL_LINEAR_IN];
    g->width[WIDTH_LINEAR_QKV] = g->d.width[COL_LINEAR_QKV];
    g->width[WIDTH_LINEAR_SCORES] = g->d.width[COL_LINEAR_SCORES];
    g->width[WIDTH_LINEAR_VALUES] = g->d.width[COL_LINEAR_VALUES];
}

static uint16_t add(struct generic *g, enum segment segment, const struct tensor *t,
                    enum life life)
{
    return work_buffer(g->work, (struct buffer){.name = t->name,
                                                .category = t->category,
                                                .segment = segment,
                                                .dtype = g->plan->precision.activations,
                                                .n_dims = 2,
                                                .dims = {g->tokens, g->width[t->width]},
                                                .life = life,
                                                .last = WORK_NONE});
}

/* none: keeps all but gradients; selective: all but element-wise results; full: layer inputs;
 * {save: [...]}: layer inputs and what is named. */
static enum life life_of(const struct plan *plan, const struct tensor *t)
{
    const enum keep least[] = {
        [RECOMPUTE_NONE] = KEEP_NONE,
        [RECOMPUTE_SELECTIVE] = KEEP_SELECTIVE,
        [RECOMPUTE_FULL] = KEEP_ALWAYS,
        [RECOMPUTE_SAVE] = KEEP_ALWAYS,
    };
    bool saved = t->keep <= least[plan->recompute.kind] ||
                 (plan->recompute.kind == RECOMPUTE_SAVE && t->keep < KEEP_BACKWARD &&
                  plan_lists(&plan->recompute.save, t->name));
    return saved ? LIFE_SAVED : LIFE_TRANSIENT;
}

/* A name in recompute.save that the layers do not have is a mistake, not a wish. */
static enum status check_saved(const struct generic *g, struct err *err)
{
    const struct word_list *list = &g->plan->recompute.save;
    for (uint64_t i = 0; i < list->n && g->plan->recompute.kind == RECOMPUTE_SAVE; i++) {
        bool found = false;
        for (size_t j = 0; j < g->work->n_buffers && !found; j++)
            found = text_equal(g->work->buffers[j].name, list->word[i]);
        if (found)
            continue;
        err_set(err, STATUS_INPUT, "recompute.save names '%s', which no layer has",
                list->word[i]);
        return err_hint(err, "the names are those of `moeplan predict --buffers`");
    }
    return STATUS_OK;
}

/* Whether a layer of this kind has a tensor. */
static bool applies(struct generic *g, const struct tensor *t, enum layer_kind kind)
{
    if (!g->kinds[kind] || !(t->networks & in_ffn(kind_ffn(kind))))
        return false;
    dims_mixer(&g->d, kind_mixer(kind));
    return t->mixers & g->d.mix && (t->when & g->d.facts) == t->when;
}

static void add_layers(struct generic *g, bool training)
{
    const char *inputs =
        model_has_network_norm(&g->plan->model) ? "mlp_norm_out" : "attention_norm_out";
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const struct tensor *t = &tensors[i];
        if (!training && t->keep == KEEP_BACKWARD)
            continue;
        enum life life = training ? life_of(g->plan, t) : LIFE_TRANSIENT;
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            enum layer_kind kind = (enum layer_kind)k;
            if (!applies(g, t, kind))
                continue;
            fill_layer_widths(g, kind_mixer(kind));
            uint16_t number = add(g, segment_of_kind(kind), t, life);
            if (text_equal(t->name, inputs))
                g->moe_input[kind] = number;
        }
    }
}

static void add_ends(struct generic *g, bool training)
{
    enum recompute kind = g->plan->recompute.kind;
    bool again = kind == RECOMPUTE_FULL || kind == RECOMPUTE_SAVE;
    int most = !training ? END_ALWAYS : again ? END_AGAIN : END_TRAINING;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct tensor *t = &ends[i].tensor;
        if ((t->when & g->d.facts) == t->when && (int)ends[i].kept <= most)
            add(g, training ? SEGMENT_EMBED : SEGMENT_STEP, t,
                training ? LIFE_SAVED : LIFE_PERSISTENT);
    }
}

/* Router, dispatch, experts and combine by the path's ops. Selective recomputation drops the
 * activations; {save: [...]} keeps the named tensors and recomputes the rest. */
static enum status add_experts(struct generic *g, struct dispatch_style style, struct err *err)
{
    static const char *const cheap[] = {"expert_activated", "shared_activated", NULL};
    const struct recompute_plan *recompute = &g->plan->recompute;
    const char *kept[PLAN_NAMES + 1] = {NULL};
    if (style.flow.backward && recompute->kind == RECOMPUTE_SELECTIVE)
        style.flow.dropped = cheap;
    if (style.flow.backward && recompute->kind == RECOMPUTE_SAVE) {
        for (uint64_t i = 0; i < recompute->save.n; i++)
            kept[i] = recompute->save.word[i];
        style.flow.recompute = true;
        style.flow.keep = kept;
    }
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        uint16_t output;
        if (g->kinds[k] && segment_has_experts(segment_of_kind((enum layer_kind)k)))
            TRY(dispatch_layer(g->plan, g->work, g->path, &style, g->moe_input[k], &output,
                               err));
    }
    return STATUS_OK;
}

/* Logits in f32 and, in training, their gradient; serving keeps one row per sequence. */
static void add_logits(struct generic *g, bool training)
{
    struct sizes *z = g->z;
    struct size vocab = size_ceil_div(z, size_slot(z, SLOT_VOCAB), size_slot(z, SLOT_TP));
    struct size rows = training ? size_slot(z, SLOT_TOKENS) : size_slot(z, SLOT_MICRO_BATCH);
    const char *const names[] = {"logits", "d_logits"};
    for (unsigned i = 0; i < (training ? 2u : 1u); i++)
        work_buffer(g->work, (struct buffer){.name = names[i],
                                             .category = CATEGORY_LOGITS,
                                             .segment = SEGMENT_HEAD,
                                             .dtype = DTYPE_F32,
                                             .n_dims = 2,
                                             .dims = {rows, vocab},
                                             .life = LIFE_TRANSIENT,
                                             .last = WORK_NONE});
}

void stack_generic_state(const struct plan *plan, struct work *work)
{
    bool training = plan->workload.mode == MODE_TRAIN;
    step_state(plan, work, training);
    if (!training)
        serve_cache(plan, work, 1);
}

enum status generic_build(const struct plan *plan, struct work *work, enum moe_path path,
                          const struct dispatch_style *style, struct err *err)
{
    bool training = plan->workload.mode == MODE_TRAIN;
    struct generic g = {.plan = plan, .work = work, .z = &work->sizes, .path = path};
    g.tokens = size_slot(g.z, SLOT_TOKENS);
    dims_fill(&g.d, plan, g.z);
    fill_widths(&g);
    segments_kinds(plan, g.kinds);
    segments_use(plan, work);
    work->alternating |= plan->model.layer_types.n > 0;
    stack_generic_state(plan, work);
    add_layers(&g, training);
    add_ends(&g, training);
    TRY(add_experts(&g, *style, err));
    add_logits(&g, training);
    if (training)
        step_optimizer(plan, work);
    return check_saved(&g, err);
}

enum status stack_generic_build(const struct plan *plan, struct work *work, struct err *err)
{
    struct dispatch_style style = dispatch_style_of(plan);
    return generic_build(plan, work, stack_path(plan, NULL), &style, err);
}

/* ---- what runs again ---- */

static const struct again_name saved_names[] = {
    {"attention_norm_out", MODULE_BIT(ATTENTION_NORM), MODULE_BIT(ATTENTION_NORM)},
    {"q", MODULE_BIT(UP) | MODULE_BIT(DOWN) | MODULE_BIT(ROPE),
     MODULE_BIT(UP) | MODULE_BIT(DOWN) | MODULE_BIT(ROPE)},
    {"attention_context", MODULE_BIT(ATTENTION), MODULE_BIT(ATTENTION)},
    {"mlp_input", MODULE_BIT(PROJECTION), MODULE_BIT(PROJECTION)},
    {"mlp_norm_out", MODULE_BIT(MLP_NORM), MODULE_BIT(MLP_NORM)},
    {"mlp_gate", MODULE_BIT(GATE_UP), 0},
    {"mlp_activated", MODULE_BIT(ACTIVATE), 0},
    {"expert_gate_up", 0, MODULE_BIT(GATE_UP)},
    {"expert_activated", 0, MODULE_BIT(ACTIVATE)},
    {NULL, 0, 0},
};

enum status stack_check_saved_ops(const struct plan *plan, struct err *err)
{
    const struct recompute_plan *recompute = &plan->recompute;
    const char *unknown =
        recompute->kind == RECOMPUTE_SAVE ? again_unknown(&recompute->save, saved_names) : NULL;
    if (!unknown)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "recompute.save names '%s', which no layer has", unknown);
    return err_hint(err, "known: attention_norm_out, q, attention_context, mlp_input, "
                         "mlp_norm_out, mlp_gate, mlp_activated, expert_gate_up, "
                         "expert_activated");
}

/* selective: what is cheap to make again; full: all; {save: [...]}: all but what is named. */
void stack_generic_again(const struct plan *plan, struct again *again)
{
    const struct recompute_plan *recompute = &plan->recompute;
    if (recompute->kind == RECOMPUTE_SELECTIVE)
        again_all(again,
                  MODULE_BIT(ATTENTION_NORM) | MODULE_BIT(MLP_NORM) | MODULE_BIT(ACTIVATE));
    if (recompute->kind == RECOMPUTE_FULL || recompute->kind == RECOMPUTE_SAVE)
        again_all(again, MODULES_ALL);
    if (recompute->kind == RECOMPUTE_SAVE)
        again_words(again, &recompute->save, saved_names, true);
}
