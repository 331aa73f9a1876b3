/* Weights of a serving rank, component by component; see serve.h. */
#include "base/text.h"
#include "work/list/letters.h"
#include "plan/params.h"
#include "work/piece/cache.h"
#include "work/piece/matrix.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/piece/segments.h"
#include "work/serve/serve.h"

/* ---- the matrices of one layer ---- */

enum layers {
    DENSE_LAYERS,
    BORROW_LAYERS, /* dense ones that borrow keys; of DENSE_LAYERS these are none then */
    MOE_LAYERS,
    ALL_LAYERS,
    ATTENTION_LAYERS,
    ALIKE_LAYERS,  /* of those: without window layers that have heads of their own */
    WINDOW_LAYERS, /* these alone */
    ONE_MIXER
};

#define BIT(part) (1u << (part))
#define ATTENTION_PARTS (BIT(PART_ATTENTION_IN) | BIT(PART_ATTENTION_OUT))
#define INDEXER_PARTS (BIT(PART_INDEXER) | BIT(PART_WHOLE))

/* Matrices of a layer that make one buffer: those of some parts, in some kind of network. */
static const struct component {
    const char *name;
    enum layers layers;
    unsigned in;    /* IN_... of matrix_exists */
    unsigned parts; /* bits of enum weight_part */
    enum component_kind { PLAIN, EXPERTS, ROUTER } kind;
} components[] = {
    {"attention_weights", ALIKE_LAYERS, IN_NONE, ATTENTION_PARTS, PLAIN},
    {"dense_mlp_weights", DENSE_LAYERS, IN_DENSE, BIT(PART_DENSE), PLAIN},
    {"borrow_mlp_weights", BORROW_LAYERS, IN_DENSE, BIT(PART_DENSE), PLAIN},
    {"layer_embedding_weights", ALL_LAYERS, IN_ALL, BIT(PART_WHOLE), PLAIN},
    {"expert_weights", MOE_LAYERS, IN_MOE, BIT(PART_AUTO), EXPERTS},
    {"latent_weights", MOE_LAYERS, IN_MOE, BIT(PART_LATENT), PLAIN},
    {"shared_expert_weights", MOE_LAYERS, IN_MOE, BIT(PART_SHARED), PLAIN},
    {"residual_mlp_weights", MOE_LAYERS, IN_MOE, BIT(PART_RESIDUAL), PLAIN},
    {"router_weights", MOE_LAYERS, IN_MOE, BIT(PART_AUTO), ROUTER},
};

static struct size padded(struct sizes *s, struct size width, uint64_t multiple)
{
    return multiple > 1 ? size_up(s, width, multiple) : width;
}

/* The widths of attention's mixer at hand, and of experts as their backend keeps them. */
static struct dims fill_dims(const struct plan *plan, struct sizes *s, enum mixer mixer)
{
    struct dims d;
    dims_fill(&d, plan, s);
    dims_mixer(&d, mixer);
    d.width[COL_SHARED_INTER] = dims_shared_width(s, plan);
    d.width[COL_EXPERTS] = dims_choices(s, plan, size_slot(s, SLOT_LOGICAL_EXPERTS));
    return d;
}

static struct dims padded_dims(const struct serve_experts *experts, const struct dims *plain)
{
    struct dims d = *plain;
    d.width[COL_INTER] = padded(d.z, d.width[COL_INTER], experts->inter_multiple);
    d.width[COL_ROUTED] = padded(d.z, plain->width[COL_ROUTED], experts->hidden_multiple);
    d.width[COL_ROUTED_OUT] = padded(d.z, plain->width[COL_ROUTED], experts->out_multiple);
    return d;
}

void serve_state(struct work *work, const char *name, enum dtype dtype, struct size bytes,
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
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        enum mixer owner = mixer_owner((enum mixer)m);
        if (m == MIXER_BOTH) /* counted by the attention and the recurrence that they have */
            continue;
        if ((owner == m || plan_borrows(plan)) && (kind == ALL_LAYERS || cache_name(owner)) &&
            !(apart && owner == MIXER_WINDOW))
            sum = size_add(s, sum, cache_layers(s, plan, (enum mixer)m));
    }
    if (kind == ALL_LAYERS && plan_has_both(plan)) /* which two mixers have counted */
        sum = size_sub(s, sum, cache_layers(s, plan, MIXER_BOTH));
    return sum;
}

struct size serve_all_layers(const struct plan *plan, struct sizes *s)
{
    return mixer_layers(plan, s, ALL_LAYERS);
}

struct size serve_borrow_layers(const struct plan *plan, struct sizes *s)
{
    struct size sum = size_const(s, 0);
    for (unsigned k = 0; k < KIND_COUNT && plan_borrows(plan); k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (kind_ffn(kind) == FFN_DENSE && mixer_borrows(kind_mixer(kind)))
            sum = size_add(s, sum, size_slot(s, slot_kind_layers(kind)));
    }
    return sum;
}

static struct size layers_of(const struct plan *plan, struct sizes *s, enum layers kind)
{
    struct size dense = size_slot(s, SLOT_STAGE_DENSE_LAYERS);
    if (kind == MOE_LAYERS)
        return size_slot(s, SLOT_STAGE_MOE_LAYERS);
    if (kind == DENSE_LAYERS)
        return plan_borrows(plan) ? size_sub(s, dense, serve_borrow_layers(plan, s)) : dense;
    if (kind == BORROW_LAYERS)
        return serve_borrow_layers(plan, s);
    if (kind == WINDOW_LAYERS)
        return serve_window_layers(plan, s);
    return mixer_layers(plan, s, kind);
}

struct size serve_window_layers(const struct plan *plan, struct sizes *s)
{
    struct size own = cache_layers(s, plan, MIXER_WINDOW);
    return plan_borrows(plan) ? size_add(s, own, cache_layers(s, plan, MIXER_WINDOW_BORROW))
                              : own;
}

/* Bytes of a matrix as a checkpoint has it: in pieces whose scales are rounded each. */
static struct size matrix_bytes(const struct dims *d, const struct layer_matrix *m,
                                enum dtype format)
{
    struct size bytes = size_const(d->z, 0);
    enum col pieces[MATRIX_PIECES];
    size_t n = matrix_pieces(m, d, pieces);
    for (size_t i = 0; i < n; i++) {
        bool last = m->expert && pieces[i] == COL_ROUTED;
        struct size in = d->width[m->in], out = d->width[last ? COL_ROUTED_OUT : pieces[i]];
        bytes = size_add(d->z, bytes, size_matrix_bytes(d->z, format, in, out));
    }
    return bytes;
}

static enum dtype format_of(const struct plan *plan, enum weight_part part,
                            enum component_kind kind)
{
    return kind == ROUTER    ? DTYPE_BF16
           : kind == EXPERTS ? plan->precision.weights
                             : plan_part_format(plan, part);
}

/* Bytes in one layer of the mixer at hand. */
static struct size component_bytes(const struct component *c, const struct dims *d)
{
    struct size bytes = size_const(d->z, 0);
    size_t n;
    const struct layer_matrix *m = matrices_of_layer(&n), *end = m + n;
    for (; m < end; m++)
        if (BIT(m->part) & c->parts && matrix_exists(m, d, c->in) &&
            m->expert == (c->kind == EXPERTS))
            bytes =
                size_add(d->z, bytes, matrix_bytes(d, m, format_of(d->plan, m->part, c->kind)));
    return bytes;
}

/* Whether a layer of a kind is one of those. */
static bool is_of(const struct plan *plan, enum layers which, enum mixer mixer,
                  enum layer_kind kind)
{
    enum mixer own = kind_mixer(kind), owner = mixer_owner(own);
    bool dense = kind_ffn(kind) == FFN_DENSE;
    bool borrows = plan_borrows(plan) && mixer_borrows(own);
    bool apart = which == ALIKE_LAYERS && plan_splits_attention(plan);
    switch (which) {
    case ONE_MIXER:
        return mixer_has(own, mixer);
    case MOE_LAYERS:
        return kind_ffn(kind) == FFN_MOE;
    case DENSE_LAYERS:
        return dense && !borrows;
    case BORROW_LAYERS:
        return dense && borrows;
    case WINDOW_LAYERS:
        return owner == MIXER_WINDOW;
    case ALL_LAYERS:
        return true;
    case ATTENTION_LAYERS:
    case ALIKE_LAYERS:
        break;
    }
    return (cache_name(owner) || own == MIXER_BOTH) && !(apart && owner == MIXER_WINDOW);
}

/* Of these layers those whose weights are in host memory. */
static struct size away_of(const struct plan *plan, struct sizes *s, enum layers which,
                           enum mixer mixer)
{
    struct size sum = size_const(s, 0);
    for (unsigned k = 0; k < KIND_COUNT && engine_groups_layers(plan); k++)
        if (is_of(plan, which, mixer, (enum layer_kind)k))
            sum = size_add(s, sum, size_slot(s, slot_kind_away((enum layer_kind)k)));
    return sum;
}

/* Matrices of layers in host memory: room on the device for as many layers as come in ahead,
 * one for every name; SGLang makes the next before it drops the one that ran. */
static void send_away(const struct plan *plan, struct work *work, enum dtype dtype,
                      struct size bytes, struct size away)
{
    bool sglang = plan->stack.kind == STACK_SGLANG;
    const char *source = sglang ? "SGLang utils/offloader.py: OffloaderV2"
                                : "vLLM offloader/prefetch.py: StaticBufferPool";
    struct sizes *s = &work->sizes;
    uint64_t ahead = plan->memory.offload_ahead;
    struct size some = size_min(s, away, size_const(s, 1)), all = size_mul(s, bytes, away);
    struct size slots =
        sglang ? size_min(s, away, size_const(s, ahead + 1)) : size_times(s, some, ahead);
    serve_state(work, "offload_slots", dtype, bytes, slots, source);
    for (size_t i = 0; i < work->n_host; i++)
        if (text_equal(work->host[i].name, "offloaded_weights")) {
            work->host[i].bytes = size_add(s, work->host[i].bytes, all);
            return;
        }
    work_host(work, "offloaded_weights", all, source);
}

/* Experts of a layer that are on the device, each of so many bytes. Those that the CPU
 * multiplies wait whole on the first rank, whose part of all is counted of each (SGLang
 * layers/moe/kt_ep_wrapper.py, KTEPWrapperMethod), in the format that the device's have:
 * KTransformers' own is not modelled. */
static struct size experts_here(struct work *work, const struct dims *d, const char *name,
                                struct size bytes, struct size layers)
{
    struct sizes *s = d->z;
    struct size all = size_slot(s, SLOT_LOCAL_EXPERTS);
    uint64_t away = plan_local_experts(d->plan) - engine_device_experts(d->plan);
    if (!away)
        return size_mul(s, bytes, all);
    work_host(work, arena_join(work->arena, "host_", name),
              size_mul(s, layers, size_times(s, bytes, away)), "kt_ep_wrapper.py");
    return size_mul(s, bytes, size_sub(s, all, size_const(s, away)));
}

/* One buffer of a component, but where it has no bytes. */
static void add_component(const struct component *c, const char *name, struct work *work,
                          const struct dims *d, struct size layers, struct size away)
{
    struct size bytes = component_bytes(c, d);
    enum weight_part first = (enum weight_part)0;
    while (!(c->parts & BIT(first)))
        first++;
    if (c->kind == EXPERTS)
        bytes = experts_here(work, d, name, bytes, layers);
    if (size_is_zero(d->z, bytes))
        return;
    enum dtype format = format_of(d->plan, first, c->kind);
    bool groups = engine_groups_layers(d->plan) &&
                  (d->plan->stack.kind == STACK_VLLM || c->kind == EXPERTS);
    serve_state(work, name, format, bytes, groups ? size_sub(d->z, layers, away) : layers,
                NULL);
    if (groups)
        send_away(d->plan, work, format, bytes, away);
}

/* Attention of window layers with heads of their own. */
static void window_attention(const struct plan *plan, struct work *work)
{
    struct dims d = fill_dims(plan, &work->sizes, MIXER_WINDOW);
    if (plan_splits_attention(plan))
        add_component(&components[0], "window_attention_weights", work, &d,
                      layers_of(plan, d.z, WINDOW_LAYERS),
                      away_of(plan, d.z, WINDOW_LAYERS, MIXER_WINDOW));
}

/* Experts of another width for tokens of images, and their router (vLLM ernie45_vl_moe.py). */
static void image_experts(const struct plan *plan, struct work *work,
                          const struct serve_experts *layout, const struct dims *plain)
{
    static const struct component both[] = {
        {"image_expert_weights", MOE_LAYERS, IN_MOE, BIT(PART_AUTO), EXPERTS},
        {"image_router_weights", MOE_LAYERS, IN_MOE, BIT(PART_AUTO), ROUTER},
    };
    struct dims d = *plain;
    struct size width = size_const(d.z, plan->model.moe.image_intermediate);
    if (!plan->model.moe.image_intermediate)
        return;
    d.width[COL_INTER] = size_ceil_div(d.z, width, size_slot(d.z, SLOT_ETP));
    d = padded_dims(layout, &d);
    d.width[COL_INTER_IN] = size_times(d.z, d.width[COL_INTER], plan->model.moe.glu ? 2 : 1);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        add_component(&both[i], both[i].name, work, &d, layers_of(plan, d.z, MOE_LAYERS),
                      away_of(plan, d.z, MOE_LAYERS, MIXER_FULL));
}

/* All that a mixer multiplies by, under one name. */
static void mixer_matrices(const struct plan *plan, struct work *work, const char *name,
                           enum mixer mixer, unsigned parts)
{
    const struct component all = {.in = IN_NONE, .parts = parts};
    struct dims d = fill_dims(plan, &work->sizes, mixer);
    add_component(&all, name, work, &d, cache_layers(d.z, plan, mixer),
                  away_of(plan, d.z, ONE_MIXER, mixer));
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
    serve_state(work, "linear_vectors", DTYPE_BF16, size_times(s, all, 2),
                cache_layers(s, plan, MIXER_LINEAR), NULL);
}

/* Every kind of layer with a window, and what it has beside it. */
static void shared_mixers(const struct plan *plan, struct work *work)
{
    static const char *const names[MIXER_COUNT] = {[MIXER_FULL] = "attention_weights",
                                                   [MIXER_WINDOW] = "window_weights",
                                                   [MIXER_CSA] = "csa_weights",
                                                   [MIXER_HCA] = "hca_weights",
                                                   [MIXER_CSA_REUSE] = "csa_reuse_weights",
                                                   [MIXER_TSA] = "tsa_weights",
                                                   [MIXER_TSA_CHOOSE] = "tsa_choose_weights",
                                                   [MIXER_TSA_REUSE] = "tsa_reuse_weights"};
    bool kinds[KIND_COUNT], has[MIXER_COUNT] = {false};
    segments_kinds(plan, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        has[kind_mixer((enum layer_kind)k)] |= kinds[k];
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if (has[m] && names[m])
            mixer_matrices(plan, work, names[m], (enum mixer)m,
                           ATTENTION_PARTS | INDEXER_PARTS);
}

/* The experts of every id of the vocabulary, of 32 bits in engines (vLLM models/deepseek_v4,
 * hash_indices_dtype), on the first stage. */
static void routing_tables(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    if (plan->model.moe.hash_layers && plan_has_moe(plan))
        serve_state(work, "routing_tables", DTYPE_I32,
                    size_times(s, dims_routing_tables(s, plan), 4), size_const(s, 1),
                    "vLLM models/deepseek_v4: tid2eid [vocabulary, top_k]");
}

static void mixers(const struct plan *plan, struct work *work)
{
    if (model_mixers(&plan->model, MIXER_LINEAR)) {
        mixer_matrices(plan, work, "linear_weights", MIXER_LINEAR, BIT(PART_LINEAR));
        linear_vectors(plan, work);
    }
    if (plan_shares_kv(plan))
        shared_mixers(plan, work);
    else if (plan->model.indexer.heads)
        mixer_matrices(plan, work, "indexer_weights",
                       plan_has_blocks(plan) ? MIXER_BLOCKS : MIXER_FULL, INDEXER_PARTS);
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
    bool own = plan_splits_attention(plan), dense = model_ffns(&plan->model, FFN_DENSE) > 0;
    if (model_attention_mixer(&plan->model) == MIXER_WINDOW)
        plain = window;
    uint64_t attention = plain->norms + plain->biases;
    struct size beside = size_const(s, 0); /* in layers with entries, and of chosen blocks */
    for (unsigned m = MIXER_CSA; m <= MIXER_BLOCKS; m++)
        if (model_mixers(&plan->model, (enum mixer)m))
            beside = size_add(
                s, beside,
                size_times(s, cache_layers(s, plan, (enum mixer)m),
                           params.mixer[m].norms + params.mixer[m].biases - attention));
    bool gated = plan->model.moe.shared_intermediate && plan->model.moe.shared_gate;
    uint64_t moe = params.router.biases + params.shared.biases + params.residual.biases +
                   params.latent.norms + (gated ? plan->model.hidden : 0);
    if (plan->model.moe.image_intermediate)
        moe += params.router.biases;
    struct size terms[] = {
        size_times(s, layers_of(plan, s, ALIKE_LAYERS), attention),
        beside,
        own ? size_times(s, layers_of(plan, s, WINDOW_LAYERS), window->norms + window->biases)
            : size_const(s, 0),
        size_times(s, layers_of(plan, s, ALL_LAYERS), plan->model.layer_scale),
        dense ? size_times(s, layers_of(plan, s, DENSE_LAYERS), params.dense_mlp.biases)
              : size_const(s, 0),
        size_times(s, layers_of(plan, s, MOE_LAYERS), moe),
        size_times(s,
                   size_mul(s, layers_of(plan, s, MOE_LAYERS),
                            size_sub(s, size_slot(s, SLOT_LOCAL_EXPERTS),
                                     size_const(s, plan_local_experts(plan) -
                                                       engine_device_experts(plan)))),
                   params.expert.biases * (style->experts.wide_biases ? 2 : 1)),
    };
    struct size elements = size_sum(s, sizeof terms / sizeof *terms, terms);
    if (!size_is_zero(s, elements))
        serve_state(work, "bias_weights", DTYPE_BF16, size_times(s, elements, 2),
                    size_const(s, 1), NULL);
}

/* W_UK [heads, nope, kv rank] and W_UV [heads, kv rank, v], split from kv_b after loading. */
static void absorbed(const struct plan *plan, struct work *work, const struct dims *d)
{
    struct sizes *s = &work->sizes;
    struct size matrix = size_mul(s, d->width[COL_KV_RANK], d->width[COL_KV_UP]);
    struct size bytes = size_times(s, matrix, 2);
    serve_state(work, "absorbed_kv_b_copies", DTYPE_BF16, bytes,
                layers_of(plan, s, ATTENTION_LAYERS),
                "vLLM v1/attention/backends/mla: W_UK_T and W_UV are kept beside kv_b_proj");
}

/* The scales that OpenAI's kernels read on Hopper, [2 I / 256, H / 32] and [H / 256, I / 32] of
 * each expert padded up, beside those that were loaded. */
static void swizzled_scales(const struct plan *plan, struct work *work, const struct dims *d)
{
    struct sizes *s = &work->sizes;
    struct size hidden = d->width[COL_ROUTED], inter = d->width[COL_INTER],
                wide = size_times(s, inter, plan->model.moe.glu ? 2 : 1);
    struct size in = size_up(s, size_ceil_by(s, hidden, 32), 2),
                back = size_up(s, size_ceil_by(s, inter, 32), 2);
    struct size up = size_mul(s, size_up(s, wide, 256), in),
                down = size_mul(s, size_up(s, hidden, 256), back);
    struct size bytes = size_mul(s, size_add(s, up, down), size_slot(s, SLOT_LOCAL_EXPERTS));
    serve_state(
        work, "expert_scales_swizzled", DTYPE_INT8, bytes, layers_of(plan, s, MOE_LAYERS),
        "quantization/mxfp4.py keeps the loaded scales; triton_kernels hopper_scale.py");
}

void serve_weights(const struct plan *plan, struct work *work, const struct serve_style *style)
{
    struct sizes *s = &work->sizes;
    struct dims d = fill_dims(plan, s, model_attention_mixer(&plan->model));
    struct dims experts = padded_dims(&style->experts, &d);
    struct dims borrow = d;
    dims_mixer(&borrow, MIXER_BORROW);
    for (size_t i = 0; i < sizeof components / sizeof *components; i++) {
        const struct component *c = &components[i];
        if (c->layers == BORROW_LAYERS && !plan_borrows(plan))
            continue;
        if (c->layers != ALIKE_LAYERS || !plan_shares_kv(plan))
            add_component(c, c->name, work,
                          c->kind == EXPERTS           ? &experts
                          : c->layers == BORROW_LAYERS ? &borrow
                                                       : &d,
                          layers_of(plan, s, c->layers),
                          away_of(plan, s, c->layers, MIXER_FULL));
    }
    image_experts(plan, work, &style->experts, &d);
    window_attention(plan, work);
    mixers(plan, work);
    serve_residual_weights(plan, work);
    serve_chosen(plan, work);
    routing_tables(plan, work);
    vectors(plan, work, style);
    serve_end_weights(plan, work);
    if (plan_embeds_layers(plan))
        serve_layer_embeddings(plan, work, &d);
    serve_encoder_weights(plan, work);
    serve_module_projection(plan, work);
    if (style->absorbed_copies && plan->model.attention.kind == ATTENTION_MLA)
        absorbed(plan, work, &d);
    if (style->experts.swizzled_scales)
        swizzled_scales(plan, work, &experts);
    if (style->rotary_table && plan->model.rotary && plan->model.max_position)
        serve_rotary_table(plan, work, style->rotary_table);
}
