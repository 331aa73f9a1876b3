/* Weights of a serving rank, component by component; see serve.h. */
#include <string.h>

#include "base/text.h"
#include "work/list/letters.h"
#include "work/list/dtype.h"
#include "work/list/params.h"
#include "work/piece/cache.h"
#include "work/piece/matrix.h"
#include "plan/derive.h"
#include "plan/speculation.h"
#include "work/stack/serve.h"
#include "work/stack/stack.h"

/* ---- the matrices of one layer ---- */

enum {
    MLA = 1,
    GQA = 2,
    Q_LOW_RANK = 4,
    Q_DIRECT = 8,
    GLU = 16,
    SHARED = 32,
    RESIDUAL = 64,
    LATENT_ROWS = 128,
    OUTPUT_GATE = 1024,
    KV_ALIKE = 2048, /* k and v are matrices of one shape */
    KV_APART = 4096, /* they are not */
    HAS_V = 8192,
    HEAD_GATE = 16384
};

enum width {
    HIDDEN,
    Q_RANK,
    KV_RANK,
    LATENT,
    Q_HEADS,
    Q_WIDE,
    KV_WIDE,
    KV_VALUES,
    HEADS,
    KV_UP,
    V_WIDE,
    DENSE,
    INTER,
    ROUTED, /* of the rows that experts read */
    EXPERT_HIDDEN,
    SHARED_INTER,
    RESIDUAL_INTER,
    EXPERTS,
    WIDTHS
};

/* of no part that a checkpoint quantises */
#define PLAIN_PART WEIGHT_PARTS

enum layers {
    DENSE_LAYERS,
    MOE_LAYERS,
    ALL_LAYERS,
    ATTENTION_LAYERS,
    ALIKE_LAYERS, /* of those: without window layers that have heads of their own */
    WINDOW_LAYERS /* these alone */
};

/* rows: input size; copies: matrices of this shape in a layer */
static const struct matrix {
    const char *component;
    unsigned when;
    enum layers layers;
    enum width rows, columns;
    unsigned copies;
    bool local;            /* per local expert */
    enum weight_part part; /* whose format it has; PART_AUTO: the checkpoint's */
} matrices[] = {
    {"attention_weights", MLA | Q_LOW_RANK, ALIKE_LAYERS, HIDDEN, Q_RANK, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", MLA | Q_LOW_RANK, ALIKE_LAYERS, Q_RANK, Q_WIDE, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", MLA | Q_DIRECT, ALIKE_LAYERS, HIDDEN, Q_WIDE, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", MLA, ALIKE_LAYERS, HIDDEN, LATENT, 1, false, PART_ATTENTION_IN},
    {"attention_weights", MLA, ALIKE_LAYERS, KV_RANK, KV_UP, 1, false, PART_ATTENTION_IN},
    {"attention_weights", MLA | OUTPUT_GATE, ALIKE_LAYERS, HIDDEN, V_WIDE, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", MLA, ALIKE_LAYERS, V_WIDE, HIDDEN, 1, false, PART_ATTENTION_OUT},
    {"attention_weights", GQA, ALIKE_LAYERS, HIDDEN, Q_HEADS, 1, false, PART_ATTENTION_IN},
    {"attention_weights", GQA | OUTPUT_GATE, ALIKE_LAYERS, HIDDEN, V_WIDE, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", GQA | KV_ALIKE, ALIKE_LAYERS, HIDDEN, KV_WIDE, 2, false,
     PART_ATTENTION_IN},
    {"attention_weights", GQA | KV_APART, ALIKE_LAYERS, HIDDEN, KV_WIDE, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", GQA | KV_APART | HAS_V, ALIKE_LAYERS, HIDDEN, KV_VALUES, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", GQA | HEAD_GATE, ALIKE_LAYERS, HIDDEN, HEADS, 1, false,
     PART_ATTENTION_IN},
    {"attention_weights", GQA, ALIKE_LAYERS, V_WIDE, HIDDEN, 1, false, PART_ATTENTION_OUT},
    {"dense_mlp_weights", GLU, DENSE_LAYERS, HIDDEN, DENSE, 1, false, PART_DENSE},
    {"dense_mlp_weights", 0, DENSE_LAYERS, HIDDEN, DENSE, 1, false, PART_DENSE},
    {"dense_mlp_weights", 0, DENSE_LAYERS, DENSE, HIDDEN, 1, false, PART_DENSE},
    {"expert_weights", GLU, MOE_LAYERS, EXPERT_HIDDEN, INTER, 1, true, PART_AUTO},
    {"expert_weights", 0, MOE_LAYERS, EXPERT_HIDDEN, INTER, 1, true, PART_AUTO},
    {"expert_weights", 0, MOE_LAYERS, INTER, EXPERT_HIDDEN, 1, true, PART_AUTO},
    {"latent_weights", LATENT_ROWS, MOE_LAYERS, HIDDEN, ROUTED, 1, false, PART_LATENT},
    {"latent_weights", LATENT_ROWS, MOE_LAYERS, ROUTED, HIDDEN, 1, false, PART_LATENT},
    {"shared_expert_weights", SHARED | GLU, MOE_LAYERS, HIDDEN, SHARED_INTER, 1, false,
     PART_SHARED},
    {"shared_expert_weights", SHARED, MOE_LAYERS, HIDDEN, SHARED_INTER, 1, false, PART_SHARED},
    {"shared_expert_weights", SHARED, MOE_LAYERS, SHARED_INTER, HIDDEN, 1, false, PART_SHARED},
    {"residual_mlp_weights", RESIDUAL | GLU, MOE_LAYERS, HIDDEN, RESIDUAL_INTER, 1, false,
     PART_RESIDUAL},
    {"residual_mlp_weights", RESIDUAL, MOE_LAYERS, HIDDEN, RESIDUAL_INTER, 1, false,
     PART_RESIDUAL},
    {"residual_mlp_weights", RESIDUAL, MOE_LAYERS, RESIDUAL_INTER, HIDDEN, 1, false,
     PART_RESIDUAL},
    {"router_weights", 0, MOE_LAYERS, HIDDEN, EXPERTS, 1, false, PLAIN_PART},
};

static unsigned conditions(const struct plan *plan, enum mixer mixer)
{
    const struct attention a = model_attention(&plan->model, mixer);
    const struct model_moe *moe = &plan->model.moe;
    unsigned holds = a.kind == ATTENTION_MLA   ? MLA
                     : a.kind == ATTENTION_GQA ? GQA
                                               : 0; /* shared_kv: mixer_matrices */
    holds |= a.q_lora_rank ? Q_LOW_RANK : Q_DIRECT;
    holds |= a.output_gate ? OUTPUT_GATE : 0;
    holds |= a.head_gate ? HEAD_GATE : 0;
    holds |= a.head_dim == a.v_head_dim && !a.k_eq_v ? KV_ALIKE : KV_APART;
    holds |= a.k_eq_v ? 0 : HAS_V;
    holds |= moe->glu ? GLU : 0;
    holds |= moe->shared_intermediate ? SHARED : 0;
    holds |= moe->latent_size ? LATENT_ROWS : 0;
    return holds | (plan->model.residual_intermediate ? RESIDUAL : 0);
}

static struct size padded(struct sizes *s, struct size width, uint64_t multiple)
{
    return multiple > 1 ? size_up(s, width, multiple) : width;
}

/* Widths of one tensor-parallel rank: of attention in layers with this mixer, and the rest. */
static void fill_head_widths(const struct plan *plan, struct sizes *s, enum mixer mixer,
                             struct size widths[WIDTHS])
{
    const struct head_slots slots = slots_of_heads(&plan->model, mixer);
    struct size tp = size_slot(s, SLOT_TP);
    struct size nope = size_slot(s, SLOT_NOPE_DIM), rope = size_slot(s, SLOT_ROPE_DIM);
    struct size v = size_slot(s, slots.v_dim), head = size_slot(s, slots.head_dim);
    struct size mine = size_ceil_div(s, size_slot(s, slots.heads), tp);
    struct size kv = size_ceil_div(s, size_slot(s, slots.kv_heads), tp);
    widths[HEADS] = mine;
    widths[Q_HEADS] = size_mul(s, mine, head);
    widths[Q_WIDE] = size_mul(s, mine, size_add(s, nope, rope));
    widths[KV_WIDE] = size_mul(s, kv, head);
    widths[KV_VALUES] = size_mul(s, kv, v);
    widths[KV_UP] = size_mul(s, mine, size_add(s, nope, v));
    widths[V_WIDE] = size_mul(s, mine, v);
}

static void fill_widths(const struct plan *plan, const struct serve_style *style,
                        struct sizes *s, struct size widths[WIDTHS])
{
    struct size networks = dims_network_ranks(s, plan);
    fill_head_widths(plan, s, model_attention_mixer(&plan->model), widths);
    widths[HIDDEN] = size_slot(s, SLOT_HIDDEN);
    widths[Q_RANK] = size_slot(s, SLOT_Q_RANK);
    widths[KV_RANK] = size_slot(s, SLOT_KV_RANK);
    widths[LATENT] = size_add(s, widths[KV_RANK], size_slot(s, SLOT_ROPE_DIM));
    widths[DENSE] = dims_dense_width(s, plan);
    widths[INTER] = padded(s, size_slot(s, SLOT_INTER), style->experts.inter_multiple);
    widths[ROUTED] = size_row_width(s, plan);
    widths[EXPERT_HIDDEN] = padded(s, widths[ROUTED], style->experts.hidden_multiple);
    widths[SHARED_INTER] = dims_shared_width(s, plan);
    widths[RESIDUAL_INTER] = size_ceil_div(s, size_slot(s, SLOT_RESIDUAL_INTER), networks);
    widths[EXPERTS] = size_slot(s, SLOT_LOGICAL_EXPERTS);
}

static void state(struct work *work, const char *name, enum dtype dtype, struct size bytes,
                  struct size count, const char *source)
{
    work_buffer(work, (struct buffer){.name = name,
                                      .category = CATEGORY_WEIGHTS,
                                      .segment = SEGMENT_STEP,
                                      .dtype = dtype,
                                      .n_dims = 2,
                                      .dims = {count, bytes},
                                      .bytes = bytes,
                                      .count = count,
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = source});
}

/* All layers of the stage, those with attention, or of these the ones that are no window layers
 * with heads of their own. */
static struct size mixer_layers(const struct plan *plan, struct sizes *s, enum layers kind)
{
    struct size sum = size_const(s, 0);
    bool apart = kind == ALIKE_LAYERS && plan_splits_attention(plan);
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if ((kind == ALL_LAYERS || cache_name((enum mixer)m)) && !(apart && m == MIXER_WINDOW))
            sum = size_add(s, sum, cache_layers(s, plan, (enum mixer)m));
    return sum;
}

static struct size layers_of(const struct plan *plan, struct sizes *s, enum layers kind)
{
    if (kind == DENSE_LAYERS || kind == MOE_LAYERS)
        return size_slot(s,
                         kind == MOE_LAYERS ? SLOT_STAGE_MOE_LAYERS : SLOT_STAGE_DENSE_LAYERS);
    if (kind == WINDOW_LAYERS)
        return cache_layers(s, plan, MIXER_WINDOW);
    return mixer_layers(plan, s, kind);
}

static enum dtype format_of(const struct plan *plan, const struct matrix *matrix)
{
    if (matrix->part == PLAIN_PART)
        return DTYPE_BF16;
    return matrix->part == PART_AUTO ? plan->precision.weights
                                     : plan_part_format(plan, matrix->part);
}

/* Bytes in one layer of the component that begins at a row: rows with one name stand together.
 * *end: the row after them. */
static struct size component_bytes(const struct plan *plan, struct sizes *s, size_t from,
                                   enum mixer mixer, const struct size *widths, size_t *end)
{
    unsigned holds = conditions(plan, mixer);
    const struct matrix *first = &matrices[from];
    struct size bytes = size_const(s, 0);
    size_t i = from;
    for (; i < sizeof matrices / sizeof *matrices; i++) {
        const struct matrix *m = &matrices[i];
        if (!text_equal(m->component, first->component))
            break;
        if ((m->when & holds) != m->when)
            continue;
        struct size one =
            size_matrix_bytes(s, format_of(plan, m), widths[m->rows], widths[m->columns]);
        bytes = size_add(s, bytes, size_times(s, one, m->copies));
    }
    *end = i;
    return bytes;
}

/* One buffer of a component; returns the row after it. */
static size_t component(const struct plan *plan, struct work *work, size_t from,
                        const struct size *widths)
{
    struct sizes *s = &work->sizes;
    const struct matrix *first = &matrices[from];
    size_t end;
    struct size bytes =
        component_bytes(plan, s, from, model_attention_mixer(&plan->model), widths, &end);
    if (first->local)
        bytes = size_mul(s, bytes, size_slot(s, SLOT_LOCAL_EXPERTS));
    if (!size_is_zero(s, bytes))
        state(work, first->component, format_of(plan, first), bytes,
              layers_of(plan, s, first->layers), NULL);
    return end;
}

/* Attention of window layers with heads of their own: the table's first rows, in their widths.
 */
static void window_attention(const struct plan *plan, struct work *work,
                             const struct size *others)
{
    struct sizes *s = &work->sizes;
    struct size widths[WIDTHS];
    size_t end;
    if (!plan_splits_attention(plan))
        return;
    memcpy(widths, others, sizeof widths);
    fill_head_widths(plan, s, MIXER_WINDOW, widths);
    state(work, "window_attention_weights", plan_part_format(plan, PART_ATTENTION_IN),
          component_bytes(plan, s, 0, MIXER_WINDOW, widths, &end),
          layers_of(plan, s, WINDOW_LAYERS), NULL);
}

/* Matrices of linear layers, of indexers and of attention whose one head is key and value, from
 * the table that all stacks share. */
static void mixer_matrices(const struct plan *plan, struct work *work, const char *name,
                           enum mixer mixer, unsigned when, enum dtype dtype)
{
    struct sizes *s = &work->sizes;
    struct size bytes = size_const(s, 0);
    struct dims d;
    size_t n;
    const struct layer_matrix *all = matrices_of_layer(&n);
    dims_fill(&d, plan, s);
    dims_mixer(&d, mixer);
    for (size_t i = 0; i < n; i++)
        if (matrix_exists(&all[i], &d, IN_NONE) && (all[i].when & when) == when)
            bytes = size_add(s, bytes,
                             size_matrix_bytes(s, plan_part_format(plan, all[i].part),
                                               d.width[all[i].in], d.width[all[i].out]));
    state(work, name, dtype, bytes, cache_layers(s, plan, mixer), NULL);
}

/* The taps of a linear layer's convolution and its vectors, in 16 bits. */
static void linear_vectors(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct params params;
    struct dims d;
    params_count(&plan->model, &params);
    dims_fill(&d, plan, s);
    const struct params_part *part = &params.mixer[MIXER_LINEAR];
    struct size taps = size_mul(s, d.width[COL_LINEAR_CONV], size_slot(s, SLOT_LINEAR_CONV));
    struct size all = size_add(s, taps, size_const(s, part->norms + part->biases));
    state(work, "linear_vectors", DTYPE_BF16, size_times(s, all, 2),
          cache_layers(s, plan, MIXER_LINEAR), NULL);
}

/* Every kind of layer with a window, and what it has beside it. */
static void shared_mixers(const struct plan *plan, struct work *work)
{
    static const struct {
        enum mixer mixer;
        const char *name;
    } rows[] = {{MIXER_FULL, "attention_weights"},
                {MIXER_WINDOW, "window_weights"},
                {MIXER_CSA, "csa_weights"},
                {MIXER_HCA, "hca_weights"}};
    bool kinds[KIND_COUNT];
    stack_kinds(plan, kinds);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool has = false;
        for (unsigned k = 0; k < KIND_COUNT; k++)
            has |= kinds[k] && kind_mixer((enum layer_kind)k) == rows[i].mixer;
        if (has)
            mixer_matrices(plan, work, rows[i].name, rows[i].mixer, 0,
                           plan_part_format(plan, PART_ATTENTION_IN));
    }
}

/* Of hyper-connections, in f32 and whole on every rank (transformers
 * deepseek_v4/modular_deepseek_v4.py, _keep_in_fp32_modules_strict); and the experts of every
 * id of the vocabulary, of 32 bits in engines (vLLM models/deepseek_v4, hash_indices_dtype), on
 * the first stage. */
static void streams_and_tables(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct params params;
    params_count(&plan->model, &params);
    struct size sites = size_const(s, 0), head = size_slot(s, SLOT_STAGE_HEAD);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        sites = size_add(s, sites,
                         size_times(s, size_slot(s, slot_kind_layers((enum layer_kind)k)),
                                    params_stream_sites((enum layer_kind)k)));
    if (plan->model.residual_streams > 1) {
        state(work, "hyper_connection_weights", DTYPE_F32,
              size_const(s, 4 * params_part_total(params.streams)), sites, NULL);
        state(work, "hyper_connection_head", DTYPE_F32,
              size_const(s, 4 * params_part_total(params.streams_end)), head, NULL);
    }
    struct size ids = size_mul(s, size_slot(s, SLOT_VOCAB), size_slot(s, SLOT_TOP_K));
    struct size layers = size_mul(s, size_slot(s, SLOT_STAGE_EMBEDDING),
                                  size_min(s, size_slot(s, SLOT_STAGE_MOE_LAYERS),
                                           size_const(s, plan->model.moe.hash_layers)));
    if (plan->model.moe.hash_layers && plan_has_moe(plan))
        state(work, "routing_tables", DTYPE_I32, size_times(s, ids, 4), layers,
              "vLLM models/deepseek_v4: tid2eid [vocabulary, top_k]");
}

static void mixers(const struct plan *plan, struct work *work)
{
    enum dtype linear = plan_part_format(plan, PART_LINEAR);
    if (model_mixers(&plan->model, MIXER_LINEAR)) {
        mixer_matrices(plan, work, "linear_weights", MIXER_LINEAR, 0, linear);
        linear_vectors(plan, work);
    }
    if (plan_shares_kv(plan))
        shared_mixers(plan, work);
    else if (plan->model.indexer.heads)
        mixer_matrices(plan, work, "indexer_weights", MIXER_FULL, FACT_INDEX,
                       plan_part_format(plan, PART_INDEXER));
}

/* Biases, attention sinks, the gate on shared experts and the norms inside attention and of
 * latent rows, whole on every rank. */
static void vectors(const struct plan *plan, struct work *work, const struct serve_style *style)
{
    struct sizes *s = &work->sizes;
    struct params params;
    params_count(&plan->model, &params);
    const struct params_part *window = &params.mixer[MIXER_WINDOW];
    const struct params_part *plain = &params.mixer[MIXER_REUSE]; /* without an indexer */
    bool own = plan_splits_attention(plan);
    if (model_attention_mixer(&plan->model) == MIXER_WINDOW)
        plain = window;
    uint64_t attention = plain->norms + plain->biases;
    struct size beside = size_const(s, 0); /* in layers with entries */
    for (unsigned m = MIXER_CSA; m <= MIXER_HCA && plan_shares_kv(plan); m++)
        beside =
            size_add(s, beside,
                     size_times(s, cache_layers(s, plan, (enum mixer)m),
                                params.mixer[m].norms + params.mixer[m].biases - attention));
    bool gated = plan->model.moe.shared_intermediate && plan->model.moe.shared_gate;
    uint64_t moe = params.router.biases + params.shared.biases + params.residual.biases +
                   params.latent.norms + (gated ? plan->model.hidden : 0);
    struct size terms[] = {
        size_times(s, layers_of(plan, s, ALIKE_LAYERS), attention),
        beside,
        own ? size_times(s, layers_of(plan, s, WINDOW_LAYERS), window->norms + window->biases)
            : size_const(s, 0),
        size_times(s, layers_of(plan, s, ALL_LAYERS), plan->model.layer_scale),
        size_times(s, layers_of(plan, s, DENSE_LAYERS), params.dense_mlp.biases),
        size_times(s, layers_of(plan, s, MOE_LAYERS), moe),
        size_times(
            s, size_mul(s, layers_of(plan, s, MOE_LAYERS), size_slot(s, SLOT_LOCAL_EXPERTS)),
            params.expert.biases * (style->experts.wide_biases ? 2 : 1)),
    };
    struct size elements = size_sum(s, sizeof terms / sizeof *terms, terms);
    if (!size_is_zero(s, elements))
        state(work, "bias_weights", DTYPE_BF16, size_times(s, elements, 2), size_const(s, 1),
              NULL);
}

/* [vocab, hidden] over tp, twice unless tied; norms of all layers. */
static void ends(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    struct size part = size_ceil_div(s, size_slot(s, SLOT_VOCAB), size_slot(s, SLOT_TP));
    struct size table = size_times(s, size_mul(s, part, hidden), 2);
    state(work, "embedding_weights", DTYPE_BF16, table, size_slot(s, SLOT_STAGE_EMBEDDING),
          NULL);
    struct size rows =
        size_ceil_div(s, size_slot(s, SLOT_VOCAB),
                      dims_over(s, plan_head_replicas(plan), size_slot(s, SLOT_TP)));
    if (!plan->model.tied_embeddings)
        state(work, "head_weights", DTYPE_BF16, size_times(s, size_mul(s, rows, hidden), 2),
              size_slot(s, SLOT_STAGE_HEAD), NULL);
    struct size per_layer =
        size_times(s, layers_of(plan, s, ALL_LAYERS), plan->model.norms_per_layer);
    struct size norms = size_add(s, per_layer, size_slot(s, SLOT_STAGE_HEAD));
    if (plan_drafts_itself(plan)) /* a module that is only counted has its layer alone */
        norms = size_add(s, norms, size_times(s, size_slot(s, SLOT_STAGE_MTP), 3));
    state(work, "norm_weights", DTYPE_BF16, size_times(s, hidden, 2), norms, NULL);
}

/* What joins hidden rows and embeddings in front of a module's layer, [2 H, H]. */
static void projection(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    if (plan_drafts_itself(plan))
        state(work, "mtp_projection_weights", DTYPE_BF16,
              size_times(s, size_mul(s, hidden, hidden), 4), size_slot(s, SLOT_STAGE_MTP),
              "vLLM models/deepseek_mtp.py: eh_proj, whole on every rank, 16 bits");
}

/* W_UK [heads, nope, kv rank] and W_UV [heads, kv rank, v], split from kv_b after loading. */
static void absorbed(const struct plan *plan, struct work *work, const struct size *widths)
{
    struct sizes *s = &work->sizes;
    struct size bytes = size_times(s, size_mul(s, widths[KV_RANK], widths[KV_UP]), 2);
    state(work, "absorbed_kv_b_copies", DTYPE_BF16, bytes, layers_of(plan, s, ATTENTION_LAYERS),
          "vLLM v1/attention/backends/mla: W_UK_T and W_UV are kept beside kv_b_proj");
}

/* The scales that OpenAI's kernels read on Hopper, [2 I / 256, H / 32] and [H / 256, I / 32] of
 * each expert padded up, beside those that were loaded. */
static void swizzled_scales(const struct plan *plan, struct work *work,
                            const struct size *widths)
{
    struct sizes *s = &work->sizes;
    struct size wide = size_times(s, widths[INTER], plan->model.moe.glu ? 2 : 1);
    struct size up = size_mul(s, size_up(s, wide, 256),
                              size_up(s, size_ceil_by(s, widths[EXPERT_HIDDEN], 32), 2));
    struct size down = size_mul(s, size_up(s, widths[EXPERT_HIDDEN], 256),
                                size_up(s, size_ceil_by(s, widths[INTER], 32), 2));
    struct size bytes = size_mul(s, size_add(s, up, down), size_slot(s, SLOT_LOCAL_EXPERTS));
    state(work, "expert_scales_swizzled", DTYPE_INT8, bytes, layers_of(plan, s, MOE_LAYERS),
          "vLLM quantization/mxfp4.py keeps the loaded scales; triton_kernels hopper_scale.py");
}

/* [positions, rotary dimensions], cos and sin halves, in the model's format; heads of two sizes
 * have a table each. */
static void rotary_table(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    const struct model *m = &plan->model;
    bool part = m->attention.kind != ATTENTION_GQA;
    enum slot head = slots_of_heads(m, model_attention_mixer(m)).head_dim;
    enum slot window = slots_of_heads(m, MIXER_WINDOW).head_dim;
    struct size width = size_slot(s, part ? SLOT_ROPE_DIM : head);
    if (plan_splits_attention(plan) && m->window.head_dim &&
        m->window.head_dim != m->attention.head_dim)
        width = size_add(s, width, size_slot(s, window));
    struct size positions = size_const(s, plan->model.max_position);
    work_buffer(work, (struct buffer){.name = "rotary_table",
                                      .category = CATEGORY_METADATA,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_BF16,
                                      .n_dims = 2,
                                      .dims = {positions, width},
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "vLLM layers/rotary_embedding: cos_sin_cache"});
}

void serve_weights(const struct plan *plan, struct work *work, const struct serve_style *style)
{
    struct size widths[WIDTHS];
    fill_widths(plan, style, &work->sizes, widths);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices;)
        i = component(plan, work, i, widths);
    window_attention(plan, work, widths);
    mixers(plan, work);
    streams_and_tables(plan, work);
    vectors(plan, work, style);
    ends(plan, work);
    serve_encoder_weights(plan, work);
    projection(plan, work);
    if (style->absorbed_copies && plan->model.attention.kind == ATTENTION_MLA)
        absorbed(plan, work, widths);
    if (style->experts.swizzled_scales)
        swizzled_scales(plan, work, widths);
    if (style->rotary_table && plan->model.max_position)
        rotary_table(plan, work);
}
