/* One forward pass of a serving engine; see serve.h. Attention and dense layers are flows of
 * their own, so that the peak is the fullest op and not the sum of a layer's tensors. */
#include "work/serve/serve.h"

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/letters.h"
#include "work/piece/cache.h"
#include "work/piece/segments.h"

struct serve {
    const struct plan *plan;
    struct work *work;
    struct sizes *s;
    const struct serve_style *style;
    enum moe_path path;
    struct size tokens;        /* that attention sees: the whole sequence on every tp rank */
    struct size hidden, heads; /* heads: of one tensor-parallel rank, of the layer at hand */
    struct size streams; /* width of all copies of the residual, or of it and sums of blocks */
    enum mixer mixer;    /* of the layer at hand */
    struct size zero;
    bool mla, shared, decode;
};

static struct buffer shape(const struct serve *v, const char *name, enum category category,
                           struct size rows, struct size width)
{
    return (struct buffer){.name = name,
                           .category = category,
                           .dtype = v->plan->precision.activations,
                           .n_dims = 2,
                           .dims = {rows, width}};
}

static uint16_t tensor(const struct serve *v, struct flow *flow, const char *name,
                       enum category category, struct size width)
{
    return flow_tensor(flow, shape(v, name, category, v->tokens, width), false);
}

static struct tick tick_of(const struct serve *v, const char *name, enum op_kind kind)
{
    return (struct tick){.name = name, .kind = kind, .host_syncs = v->zero};
}

/* Takes a layer's mixer at hand. */
static void take_mixer(struct serve *v, enum mixer mixer)
{
    const struct head_slots slots = slots_of_heads(&v->plan->model, mixer);
    v->mixer = mixer;
    v->heads =
        size_ceil_div(v->s, size_slot(v->s, slots.heads), dims_head_ranks(v->s, v->plan));
}

/* Whether ranks of tp have parts of a prompt (SGLang): those beside it (vLLM) have their own
 * tokens between layers, too. */
static bool shares_prompt(const struct serve *v)
{
    return !v->decode && engine_attention_ranks(v->plan) != v->plan->parallel.tp;
}

/* ---- attention ---- */

/* The residual stream, or all that hyper-connections mix or attention residuals read, and the
 * normalised hidden, alive through the layer. */
static uint16_t stream(const struct serve *v, enum segment segment)
{
    struct buffer residual = shape(v, "residual", CATEGORY_ACTIVATION, v->tokens, v->streams);
    residual.segment = segment;
    residual.life = LIFE_TRANSIENT;
    residual.last = WORK_NONE;
    work_buffer(v->work, residual);
    residual.name = "layer_hidden";
    residual.dims[1] = v->hidden;
    return work_buffer(v->work, residual);
}

/* Widths per head: what the projections write, and what attention leaves. Prefill multiplies
 * expanded heads; decode of MLA stays in the latent space. */
static void head_widths(const struct serve *v, struct size *in, struct size *out)
{
    struct sizes *s = v->s;
    const struct head_slots slots = slots_of_heads(&v->plan->model, v->mixer);
    struct size latent = size_slot(s, SLOT_KV_RANK), rope = size_slot(s, SLOT_ROPE_DIM);
    struct size nope = size_slot(s, SLOT_NOPE_DIM), value = size_slot(s, SLOT_V_DIM);
    struct size qk = size_add(s, nope, rope);
    *in = size_slot(s, slots.head_dim);
    *out = size_slot(s, slots.v_dim);
    if (v->mla && v->decode) { /* q in the latent space beside the rotary part */
        *in = size_add(s, latent, rope);
        *out = latent;
    } else if (v->mla) { /* q, the up-projected k_nope and v, and k with its rotary part */
        *in = size_sum(s, SIZES(qk, nope, value, qk));
        *out = value;
    }
}

/* Beside q: the head that is key and value, what entries are made of, the indexer's q. */
static struct size shared_width(const struct serve *v, const struct dims *d)
{
    const struct size *w = d->width;
    struct size sum = w[COL_SHARED_KV];
    if (d->facts & FACT_HCA)
        sum = size_add(v->s, sum, w[COL_HCA_IN]);
    if (d->facts & FACT_CSA)
        sum = size_sum(v->s, SIZES(sum, w[COL_CSA_IN], w[COL_INDEX_IN], w[COL_INDEX_Q]));
    else if (d->facts & FACT_INDEX)
        sum = size_add(v->s, sum, w[COL_INDEX_Q]);
    return sum;
}

/* What the projections write: of grouped queries q (with its gate), k and v, and beside them
 * what q is made of, a gate per head, or what chooses blocks. */
static struct size projected_width(const struct serve *v, struct size in)
{
    struct dims d;
    if (v->mla)
        return size_mul(v->s, v->heads, in);
    dims_fill(&d, v->plan, v->s);
    dims_mixer(&d, v->mixer);
    struct size width = d.width[COL_UP_OUT];
    if (v->shared)
        return size_add(v->s, width, shared_width(v, &d));
    if (d.facts & FACT_Q_LOW_RANK)
        width = size_add(v->s, width, d.width[COL_Q_RANK]);
    if (d.facts & FACT_HEAD_GATE)
        width = size_add(v->s, width, d.width[COL_HEADS]);
    if (d.facts & FACT_BLOCKS)
        width = size_sum(v->s, SIZES(width, d.width[COL_INDEX_Q], d.width[COL_INDEX_K]));
    return width;
}

/* Cached context that prefill up-projects at once: min(max(8 L, 4 blocks of every sequence),
 * limit) tokens, at least a block of each, k_nope and v of all heads (engines.md 1.3). */
static void context_workspace(const struct serve *v, struct flow *flow)
{
    if (!v->mla || v->decode || !v->style->context_tokens)
        return;
    struct sizes *s = v->s;
    struct size longest = size_times(s, size_slot(s, SLOT_CONTEXT), 8);
    enum slot sequences = v->style->profile ? SLOT_MAX_SEQS : SLOT_MICRO_BATCH;
    struct size block = size_times(s, size_slot(s, sequences), v->style->cache_block);
    struct size tokens = size_min(s, size_max(s, longest, size_times(s, block, 4)),
                                  size_const(s, v->style->context_tokens));
    if (v->style->profile)
        tokens = size_max(s, tokens, block);
    struct size width = size_add(s, size_slot(s, SLOT_NOPE_DIM), size_slot(s, SLOT_V_DIM));
    struct buffer buffer = shape(v, "mla_context_workspace", CATEGORY_WORKSPACE, tokens,
                                 size_mul(s, v->heads, width));
    buffer.source = v->style->context_source;
    flow_scratch(flow, buffer, FLOW_FORWARD);
}

/* What groups of heads are projected down to before the output's projection. */
static uint16_t grouped_out(const struct serve *v, struct flow *flow, uint16_t context)
{
    struct dims d;
    if (!v->shared)
        return context;
    dims_fill(&d, v->plan, v->s);
    uint16_t ranks =
        tensor(v, flow, "attention_out_latent", CATEGORY_ATTENTION, d.width[COL_O_RANKS]);
    flow_op(flow, tick_of(v, "attention_out_down", OP_GEMM), FLOW(context), FLOW(ranks));
    return ranks;
}

/* MLA's gate on its output, which waits for it: as wide, or one a head. */
static uint16_t mla_gate(const struct serve *v, struct flow *flow, uint16_t hidden)
{
    const struct attention *a = &v->plan->model.attention;
    if (!v->mla || !(a->output_gate || a->head_gate))
        return WORK_NONE;
    struct size wide = size_mul(v->s, v->heads, size_slot(v->s, SLOT_V_DIM));
    uint16_t gate = tensor(v, flow, a->head_gate ? "head_gate" : "output_gate",
                           CATEGORY_ATTENTION, a->head_gate ? v->heads : wide);
    flow_op(flow, tick_of(v, a->head_gate ? "head_gate" : "attention_gate", OP_GEMM),
            FLOW(hidden), FLOW(gate));
    return gate;
}

static void attention(const struct serve *whole, enum segment segment, uint16_t hidden)
{
    struct flow flow;
    struct size in, out;
    struct serve part = *whole;
    const struct serve *v = &part;
    if (shares_prompt(whole))
        part.tokens = size_ceil_div(part.s, part.tokens, dims_prompt_ranks(part.s, part.plan));
    flow_init(&flow, v->work, segment);
    flow_given(&flow, hidden, false);
    head_widths(v, &in, &out);
    struct size projected = projected_width(v, in), left = size_mul(v->s, v->heads, out);
    uint16_t qkv = tensor(v, &flow, "attention_qkv", CATEGORY_ATTENTION, projected);
    uint16_t context = tensor(v, &flow, "attention_context", CATEGORY_ATTENTION, left);
    uint16_t result = tensor(v, &flow, "attention_out", CATEGORY_ATTENTION, v->hidden);
    flow_op(&flow, tick_of(v, "attention_qkv", OP_GEMM), FLOW(hidden), FLOW(qkv));
    uint16_t gate = mla_gate(v, &flow, hidden);
    if (serve_has_choice(v->plan, v->style, v->mixer)) {
        flow_op(&flow, tick_of(v, "choice", OP_ATTENTION), FLOW(qkv), FLOW(WORK_NONE));
        flow_scratch(&flow, serve_choice(v->s), FLOW_FORWARD);
    }
    flow_op(&flow, tick_of(v, "attention", OP_ATTENTION), FLOW(qkv), FLOW(context));
    context_workspace(v, &flow);
    context = grouped_out(v, &flow, context);
    flow_op(&flow, tick_of(v, "attention_out", OP_GEMM), FLOW(context, gate), FLOW(result));
    flow_close(&flow, &(struct flow_style){0});
}

/* A linear layer: projected rows, those the convolution made, what the recurrence leaves. */
static void linear(const struct serve *v, enum segment segment, uint16_t hidden)
{
    struct flow flow;
    struct dims d;
    dims_fill(&d, v->plan, v->s);
    dims_mixer(&d, MIXER_LINEAR);
    flow_init(&flow, v->work, segment);
    flow_given(&flow, hidden, false);
    uint16_t in = tensor(v, &flow, "linear_in", CATEGORY_ATTENTION, d.width[COL_LINEAR_IN]);
    uint16_t convolved =
        tensor(v, &flow, "convolved", CATEGORY_ATTENTION, d.width[COL_LINEAR_QKV]);
    uint16_t context =
        tensor(v, &flow, "linear_context", CATEGORY_ATTENTION, d.width[COL_LINEAR_VALUES]);
    uint16_t result = tensor(v, &flow, "attention_out", CATEGORY_ATTENTION, v->hidden);
    flow_op(&flow, tick_of(v, "linear_in", OP_GEMM), FLOW(hidden), FLOW(in));
    flow_op(&flow, tick_of(v, "convolution", OP_ATTENTION), FLOW(in), FLOW(convolved));
    flow_op(&flow, tick_of(v, "scan", OP_ATTENTION), FLOW(convolved, in), FLOW(context));
    flow_op(&flow, tick_of(v, "linear_out", OP_GEMM), FLOW(context), FLOW(result));
    flow_close(&flow, &(struct flow_style){0});
}

/* ---- the layers ---- */

/* Whether the results of a layer's mixer and network are added at once. */
static bool is_beside(const struct serve *v, enum layer_kind kind)
{
    return v->plan->model.side_by_side && kind_mixer(kind) != MIXER_NONE &&
           kind_ffn(kind) != FFN_NONE;
}

/* Rows that stand beside a layer: what its mixer gave while experts run (a dense network's flow
 * has them), and those of the network's own norm where both are added at once; what the experts
 * of the layer before gave, and a copy of what they read (vLLM
 * models/{phi,falcon,gpt_neox,commandr,longcat_flash}.py). */
static void rows_beside(const struct serve *v, enum segment segment, enum layer_kind kind)
{
    const struct model *m = &v->plan->model;
    bool both = is_beside(v, kind), dense = kind_ffn(kind) == FFN_DENSE;
    const struct {
        const char *name;
        bool holds;
    } rows[] = {
        {"attention_result", both && !dense},
        {"recurrence_result", kind_mixer(kind) == MIXER_BOTH},
        {"network_hidden", both && model_has_network_norm(m)},
        {"shortcut", plan_has_shortcut(v->plan) && dense},
        {"moe_input_copy", plan_has_shortcut(v->plan) && !dense},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer buffer =
            shape(v, rows[i].name, CATEGORY_ACTIVATION, v->tokens, v->hidden);
        buffer.segment = segment;
        buffer.life = LIFE_TRANSIENT;
        buffer.last = WORK_NONE;
        if (rows[i].holds)
            work_buffer(v->work, buffer);
    }
}

static void dense_mlp(const struct serve *v, enum layer_kind kind, uint16_t hidden)
{
    struct flow flow;
    struct sizes *s = v->s;
    flow_init(&flow, v->work, segment_of_kind(kind));
    flow_given(&flow, hidden, false);
    uint64_t replicas = plan_dense_replicas(v->plan);
    struct size inter = dims_dense_width(s, v->plan, v->mixer);
    struct size wide = size_times(s, inter, v->plan->model.moe.glu ? 2 : 1);
    struct serve all = *v;
    uint16_t in = hidden;
    if (shares_prompt(v) && v->plan->parallel.dense_apart)
        all.tokens = size_ceil_div(s, v->tokens, dims_prompt_ranks(s, v->plan));
    if (replicas > 1) { /* of all replicas that share the network's width */
        all.tokens = dims_over(s, replicas, v->tokens);
        in = tensor(&all, &flow, "mlp_joined", CATEGORY_COMMUNICATION, v->hidden);
        flow_op(&flow, tick_of(v, "join_tokens", OP_EXCHANGE), FLOW(hidden), FLOW(in));
    }
    uint16_t up = tensor(&all, &flow, "mlp_gate_up", CATEGORY_ACTIVATION, wide);
    uint16_t active = tensor(&all, &flow, "mlp_activated", CATEGORY_ACTIVATION, inter);
    uint16_t out = tensor(&all, &flow, "mlp_out", CATEGORY_ACTIVATION, v->hidden);
    uint16_t mixed = is_beside(v, kind)
                         ? tensor(v, &flow, "attention_result", CATEGORY_ACTIVATION, v->hidden)
                         : WORK_NONE;
    flow_op(&flow, tick_of(v, "mlp_gate_up", OP_GEMM), FLOW(in), FLOW(up, mixed));
    flow_op(&flow, tick_of(v, "mlp_activation", OP_ACTIVATION), FLOW(up), FLOW(active));
    if (serve_compiles(v->plan, v->style))
        flow_scratch(&flow, serve_timing(v->plan, s), FLOW_FORWARD);
    flow_op(&flow, tick_of(v, "mlp_down", OP_GEMM), FLOW(active, mixed), FLOW(out));
    flow_close(&flow, &(struct flow_style){0});
}

/* What a layer makes of its own embeddings; those of all layers stand beside it. */
static void layer_embedding(const struct serve *v, enum segment segment, uint16_t hidden)
{
    struct flow flow;
    struct dims d;
    dims_fill(&d, v->plan, v->s);
    struct buffer all = shape(v, "layer_embeddings", CATEGORY_ACTIVATION, v->tokens,
                              d.width[COL_LAYER_EMBEDDINGS]);
    all.segment = segment;
    all.life = LIFE_TRANSIENT;
    all.last = WORK_NONE;
    work_buffer(v->work, all);
    struct size width = d.width[COL_LAYER_EMBEDDING];
    flow_init(&flow, v->work, segment);
    flow_given(&flow, hidden, false);
    uint16_t gate = tensor(v, &flow, "layer_gate", CATEGORY_ACTIVATION, width);
    uint16_t gated = tensor(v, &flow, "layer_gated", CATEGORY_ACTIVATION, width);
    uint16_t out = tensor(v, &flow, "layer_projected", CATEGORY_ACTIVATION, v->hidden);
    flow_op(&flow, tick_of(v, "layer_gate", OP_GEMM), FLOW(hidden), FLOW(gate));
    flow_op(&flow, tick_of(v, "layer_gated", OP_ACTIVATION), FLOW(gate), FLOW(gated));
    flow_op(&flow, tick_of(v, "layer_projection", OP_GEMM), FLOW(gated), FLOW(out));
    flow_close(&flow, &(struct flow_style){0});
}

/* Under sp each tp rank brings its own part of the tokens to the experts. */
static uint16_t moe_input(const struct serve *v, enum segment segment, uint16_t hidden)
{
    if (plan_tokens_everywhere(v->plan) || plan_token_ranks(v->plan) == 1)
        return hidden;
    struct buffer part =
        shape(v, "moe_tokens", CATEGORY_ACTIVATION, size_slot(v->s, SLOT_TOKENS), v->hidden);
    part.segment = segment;
    part.life = LIFE_TRANSIENT;
    part.last = WORK_NONE;
    return work_buffer(v->work, part);
}

/* Of attention's output on a rank. */
static struct size context_width(const struct serve *v)
{
    struct size in, out;
    struct dims d;
    if (v->mixer != MIXER_LINEAR) {
        head_widths(v, &in, &out);
        return size_mul(v->s, v->heads, out);
    }
    dims_fill(&d, v->plan, v->s);
    dims_mixer(&d, MIXER_LINEAR);
    return d.width[COL_LINEAR_VALUES];
}

static enum status layer(const struct serve *step, enum layer_kind kind, struct err *err)
{
    enum segment segment = segment_of_kind(kind);
    struct serve at_hand = *step;
    const struct serve *v = &at_hand;
    take_mixer(&at_hand, kind_mixer(kind));
    uint16_t output, hidden = stream(v, segment);
    rows_beside(v, segment, kind);
    if (mixer_has(kind_mixer(kind), MIXER_LINEAR))
        linear(v, segment, hidden);
    if (kind_mixer(kind) != MIXER_LINEAR && kind_mixer(kind) != MIXER_NONE)
        attention(v, segment, hidden);
    if (kind_mixer(kind) != MIXER_NONE && serve_compiles(v->plan, v->style))
        serve_piece(v->plan, v->work, segment, v->tokens, context_width(v));
    if (kind_ffn(kind) == FFN_DENSE)
        dense_mlp(v, kind, hidden);
    if (plan_embeds_layers(v->plan))
        layer_embedding(v, segment, hidden);
    if (kind_ffn(kind) != FFN_MOE)
        return STATUS_OK;
    hidden = moe_input(v, segment, hidden);
    return dispatch_layer(v->plan, v->work, v->path, &v->style->moe, hidden, &output, err);
}

static enum status layers(const struct serve *v, struct err *err)
{
    bool kinds[KIND_COUNT];
    segments_kinds(v->plan, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (kinds[k])
            TRY(layer(v, (enum layer_kind)k, err));
    return STATUS_OK;
}

static void head_buffer(const struct serve *v, struct buffer buffer)
{
    buffer.segment = SEGMENT_HEAD;
    buffer.life = LIFE_TRANSIENT;
    buffer.last = WORK_NONE;
    work_buffer(v->work, buffer);
}

/* Logits of the last token of every sequence (of every token when speculating), gathered over
 * tp in f32, and the sampler's probabilities; those of all replicas that share the head's
 * matrix, gathered as they are multiplied. */
static void head(const struct serve *v)
{
    struct sizes *s = v->s;
    uint64_t per = v->decode ? v->plan->workload.tokens_per_sequence : 1;
    struct size rows = size_times(s, size_slot(s, SLOT_MICRO_BATCH), per ? per : 1);
    const char *const names[] = {"logits", "probabilities"};
    for (unsigned i = 0; i < 2; i++) {
        struct buffer buffer =
            shape(v, names[i], CATEGORY_LOGITS, rows, size_slot(s, SLOT_VOCAB));
        buffer.dtype = DTYPE_F32;
        head_buffer(v, buffer);
    }
    uint64_t replicas = plan_head_replicas(v->plan);
    if (replicas > 1)
        head_buffer(v, shape(v, "logits_joined", CATEGORY_LOGITS, dims_over(s, replicas, rows),
                             size_slot(s, SLOT_VOCAB)));
}

enum status serve_build(const struct plan *plan, struct work *work, enum moe_path path,
                        const struct serve_style *style, struct err *err)
{
    TRY(serve_refuse(plan, style, err));
    struct sizes *s = &work->sizes;
    struct serve v = {.plan = plan,
                      .work = work,
                      .s = s,
                      .style = style,
                      .path = path,
                      .tokens = size_slot(s, SLOT_TOKENS),
                      .hidden = size_slot(s, SLOT_HIDDEN),
                      .zero = size_const(s, 0),
                      .streams = dims_with_blocks(s, plan, SLOT_BLOCKS_OUT),
                      .mla = plan->model.attention.kind == ATTENTION_MLA,
                      .shared = plan_shares_kv(plan),
                      .decode = plan->workload.mode == MODE_DECODE};
    if (plan_token_ranks(plan) > 1)
        v.tokens = size_mul(s, v.tokens, dims_token_ranks(s, plan));
    segments_use(plan, work);
    size_t first = work->n_buffers;
    serve_weights(plan, work, style);
    serve_offload(plan, work, first);
    serve_adapters(plan, work);
    serve_transfer(plan, work, style->cache_block);
    if (style->remainders)
        serve_remainders(plan, work, &style->experts);
    if (!style->profile)
        serve_cache(plan, work, style->cache_block);
    serve_encoder(plan, work, style->profile != NULL);
    serve_before(plan, work, style, v.tokens);
    if (!style->profile)
        serve_embedded(plan, work, v.tokens);
    serve_draft(plan, work, style);
    TRY(layers(&v, err));
    serve_gathers(plan, work, style);
    if (style->profile)
        serve_sample(plan, work, style->profile, v.tokens);
    else
        head(&v);
    return STATUS_OK;
}
