/* generic: what an eager, PyTorch-like stack keeps, without any one library's extras.
 *
 * Saved tensors are those the autograd rules of the layer need (buffers.md 1.4): the inputs of
 * every product, the inputs of the activation, router scores. Rows follow routing unless
 * moe.buffer reserves the worst case. Each tensor is one row of a table; recompute decides
 * whether it lives from forward to backward, or only while its layer runs backward. */
#include "work/stack.h"

enum rows { ROWS_TOKENS, ROWS_ROUTED, ROWS_RECEIVED, ROWS_EXPERT_SLOTS };

enum width {
    WIDTH_HIDDEN,
    WIDTH_Q,
    WIDTH_K,
    WIDTH_V,
    WIDTH_CONTEXT,
    WIDTH_DENSE,
    WIDTH_INTER,
    WIDTH_SHARED,
    WIDTH_EXPERTS,
    WIDTH_COUNT
};

enum { IN_DENSE = 1, IN_MOE = 2, IN_BOTH = 3 };

/* keep: what becomes of the tensor between forward and backward */
enum keep {
    KEEP_ALWAYS,    /* saved even under full recomputation */
    KEEP_SELECTIVE, /* recomputed by full only */
    KEEP_NONE,      /* recomputed by selective and full: cheap element-wise results */
    KEEP_BACKWARD   /* a gradient: alive in the layer's backward only */
};

static const struct tensor {
    const char *name;
    enum category category;
    unsigned segments;
    enum rows rows;
    enum width width;
    enum keep keep;
} tensors[] = {
    {"layer_input", CATEGORY_CHECKPOINT, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_ALWAYS},
    {"attention_norm_out", CATEGORY_ACTIVATION, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_NONE},
    {"q", CATEGORY_ATTENTION, IN_BOTH, ROWS_TOKENS, WIDTH_Q, KEEP_SELECTIVE},
    {"k", CATEGORY_ATTENTION, IN_BOTH, ROWS_TOKENS, WIDTH_K, KEEP_SELECTIVE},
    {"v", CATEGORY_ATTENTION, IN_BOTH, ROWS_TOKENS, WIDTH_V, KEEP_SELECTIVE},
    {"attention_context", CATEGORY_ATTENTION, IN_BOTH, ROWS_TOKENS, WIDTH_CONTEXT,
     KEEP_SELECTIVE},
    {"mlp_input", CATEGORY_ACTIVATION, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_SELECTIVE},
    {"mlp_norm_out", CATEGORY_ACTIVATION, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_NONE},
    {"mlp_gate", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_SELECTIVE},
    {"mlp_up", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_SELECTIVE},
    {"mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_NONE},
    {"d_mlp_gate", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_BACKWARD},
    {"d_mlp_up", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_BACKWARD},
    {"d_mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, ROWS_TOKENS, WIDTH_DENSE, KEEP_BACKWARD},
    {"router_scores", CATEGORY_METADATA, IN_MOE, ROWS_TOKENS, WIDTH_EXPERTS, KEEP_SELECTIVE},
    {"expert_input", CATEGORY_DISPATCH, IN_MOE, ROWS_ROUTED, WIDTH_HIDDEN, KEEP_SELECTIVE},
    {"expert_gate", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_SELECTIVE},
    {"expert_up", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_SELECTIVE},
    {"expert_activated", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_NONE},
    {"shared_gate", CATEGORY_EXPERT, IN_MOE, ROWS_TOKENS, WIDTH_SHARED, KEEP_SELECTIVE},
    {"shared_up", CATEGORY_EXPERT, IN_MOE, ROWS_TOKENS, WIDTH_SHARED, KEEP_SELECTIVE},
    {"shared_activated", CATEGORY_EXPERT, IN_MOE, ROWS_TOKENS, WIDTH_SHARED, KEEP_NONE},
    {"d_expert_out", CATEGORY_DISPATCH, IN_MOE, ROWS_ROUTED, WIDTH_HIDDEN, KEEP_BACKWARD},
    {"d_expert_gate", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_BACKWARD},
    {"d_expert_up", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_BACKWARD},
    {"d_expert_activated", CATEGORY_EXPERT, IN_MOE, ROWS_ROUTED, WIDTH_INTER, KEEP_BACKWARD},
    {"d_layer_output", CATEGORY_ACTIVATION, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_BACKWARD},
    {"d_residual", CATEGORY_ACTIVATION, IN_BOTH, ROWS_TOKENS, WIDTH_HIDDEN, KEEP_BACKWARD},
};

/* Buffers of the exchange, by path; they live while the layer runs. */
static const struct exchanged {
    enum moe_path path;
    const char *name;
    enum rows rows;
    bool backward; /* training only */
} exchanged[] = {
    {PATH_RAGGED_A2A, "send_buffer", ROWS_EXPERT_SLOTS, false},
    {PATH_RAGGED_A2A, "receive_buffer", ROWS_ROUTED, false},
    {PATH_RAGGED_DOT, "send_buffer", ROWS_EXPERT_SLOTS, false},
    {PATH_RAGGED_DOT, "receive_buffer", ROWS_ROUTED, false},
    {PATH_DEEPEP, "receive_buffer", ROWS_RECEIVED, false},
    {PATH_DEEPEP, "d_receive_buffer", ROWS_RECEIVED, true},
    {PATH_CAPACITY, "receive_buffer", ROWS_ROUTED, false},
};

struct generic {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    enum moe_path path;
    struct size rows[4], width[WIDTH_COUNT];
    enum sizing_rule routed_rule;
};

static struct size attention_width(const struct plan *plan, struct sizes *z, enum width which)
{
    struct size heads = size_slot(z, SLOT_HEADS), head = size_slot(z, SLOT_HEAD_DIM);
    struct size each = head;
    bool kv = which == WIDTH_K || which == WIDTH_V;
    if (plan->model.attention.kind == ATTENTION_MLA) {
        bool value = which == WIDTH_V || which == WIDTH_CONTEXT;
        each = value ? size_slot(z, SLOT_V_DIM)
                     : size_add(z, size_slot(z, SLOT_NOPE_DIM), size_slot(z, SLOT_ROPE_DIM));
    } else if (kv) {
        heads = size_slot(z, SLOT_KV_HEADS);
    }
    return size_ceil_div(z, size_mul(z, heads, each), size_slot(z, SLOT_TP));
}

static void fill_widths(struct generic *g)
{
    struct sizes *z = g->z;
    struct size tp = size_slot(z, SLOT_TP);
    g->width[WIDTH_HIDDEN] = size_slot(z, SLOT_HIDDEN);
    for (unsigned i = WIDTH_Q; i <= WIDTH_CONTEXT; i++)
        g->width[i] = attention_width(g->plan, z, (enum width)i);
    g->width[WIDTH_DENSE] = size_ceil_div(z, size_slot(z, SLOT_DENSE_INTER), tp);
    g->width[WIDTH_INTER] = size_slot(z, SLOT_INTER);
    g->width[WIDTH_SHARED] = size_ceil_div(z, size_slot(z, SLOT_SHARED_INTER), tp);
    g->width[WIDTH_EXPERTS] = size_slot(z, SLOT_EXPERTS);
}

/* Rows that a rank's experts compute. Capacity: E C slots; otherwise by moe.buffer. */
static struct size routed_rows(struct generic *g)
{
    struct sizes *z = g->z;
    struct size tokens = size_slot(z, SLOT_TOKENS), top_k = size_slot(z, SLOT_TOP_K);
    struct size sent = size_mul(z, tokens, top_k);
    g->routed_rule = RULE_FIXED;
    if (g->path == PATH_CAPACITY) {
        struct size mean = size_ceil_div(z, sent, size_slot(z, SLOT_EXPERTS));
        return size_mul(z, size_slot(z, SLOT_EXPERTS),
                        size_scale(z, mean, REAL_CAPACITY_FACTOR));
    }
    if (g->path == PATH_MASKED || g->path == PATH_ALL_EXPERTS)
        return size_mul(z, size_slot(z, SLOT_LOCAL_EXPERTS), tokens);
    enum buffer_sizing sizing = stack_sizing(g->plan);
    if (sizing == SIZING_FACTOR)
        return size_scale(z, sent, REAL_BUFFER_FACTOR);
    if (sizing == SIZING_BALANCED)
        return sent;
    g->routed_rule = sizing == SIZING_EXACT ? RULE_ROUTING : RULE_WORST;
    if (g->routed_rule == RULE_ROUTING)
        return size_slot(z, SLOT_ROWS);
    struct size copies = size_min(z, top_k, size_slot(z, SLOT_LOCAL_EXPERTS));
    return size_product(z, 3, (struct size[]){size_slot(z, SLOT_EP), tokens, copies});
}

static void fill_rows(struct generic *g)
{
    struct sizes *z = g->z;
    struct size tokens = size_slot(z, SLOT_TOKENS);
    g->rows[ROWS_TOKENS] = tokens;
    g->rows[ROWS_ROUTED] = routed_rows(g);
    g->rows[ROWS_RECEIVED] = g->routed_rule == RULE_ROUTING
                                 ? size_slot(z, SLOT_RECEIVED)
                                 : size_mul(z, size_slot(z, SLOT_EP), tokens);
    g->rows[ROWS_EXPERT_SLOTS] = size_mul(z, tokens, size_slot(z, SLOT_TOP_K));
}

static void add(struct generic *g, enum segment segment, const char *name,
                enum category category, enum rows rows, enum width width, enum life life)
{
    bool routed = rows == ROWS_ROUTED || rows == ROWS_RECEIVED;
    work_buffer(g->work, (struct buffer){.name = name,
                                         .category = category,
                                         .segment = segment,
                                         .dtype = g->plan->precision.activations,
                                         .n_dims = 2,
                                         .dims = {g->rows[rows], g->width[width]},
                                         .rule = routed ? g->routed_rule : RULE_FIXED,
                                         .life = life,
                                         .last = WORK_NONE});
}

/* none: keeps all but gradients; selective: all but element-wise results; full: layer inputs.
 */
static enum life life_of(const struct plan *plan, enum keep keep)
{
    enum recompute kind = plan->recompute.kind;
    bool saved = keep == KEEP_ALWAYS || (keep == KEEP_SELECTIVE && kind != RECOMPUTE_FULL) ||
                 (keep == KEEP_NONE && kind == RECOMPUTE_NONE);
    return saved ? LIFE_SAVED : LIFE_TRANSIENT;
}

static bool has_width(const struct generic *g, enum width width)
{
    if (width == WIDTH_SHARED)
        return g->plan->model.moe.shared_intermediate != 0;
    return true;
}

static void add_layers(struct generic *g, bool training)
{
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const struct tensor *t = &tensors[i];
        if ((!training && t->keep == KEEP_BACKWARD) || !has_width(g, t->width))
            continue;
        enum life life = training ? life_of(g->plan, t->keep) : LIFE_TRANSIENT;
        if (t->segments & IN_DENSE)
            add(g, SEGMENT_DENSE, t->name, t->category, t->rows, t->width, life);
        if (t->segments & IN_MOE)
            add(g, SEGMENT_MOE, t->name, t->category, t->rows, t->width, life);
    }
    for (size_t i = 0; i < sizeof exchanged / sizeof *exchanged; i++)
        if (exchanged[i].path == g->path && (training || !exchanged[i].backward))
            add(g, SEGMENT_MOE, exchanged[i].name, CATEGORY_DISPATCH, exchanged[i].rows,
                WIDTH_HIDDEN, LIFE_TRANSIENT);
}

/* ragged_dot without a grouped kernel: [e, rows, H] for the forward and weight-gradient
 * products (buffers.md 6). */
static void add_expanded(struct generic *g, bool training)
{
    if (g->path != PATH_RAGGED_DOT && g->plan->moe.matmul != MATMUL_RAGGED_DOT)
        return;
    const char *const names[] = {"expanded_x", "expanded_d_out"};
    for (unsigned i = 0; i < (training ? 2u : 1u); i++)
        work_buffer(g->work,
                    (struct buffer){.name = names[i],
                                    .category = CATEGORY_EXPERT,
                                    .segment = SEGMENT_MOE,
                                    .dtype = g->plan->precision.activations,
                                    .n_dims = 3,
                                    .dims = {size_slot(g->z, SLOT_LOCAL_EXPERTS),
                                             g->rows[ROWS_ROUTED], g->width[WIDTH_HIDDEN]},
                                    .rule = g->routed_rule,
                                    .life = LIFE_TRANSIENT,
                                    .last = WORK_NONE});
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

/* Keys and values (GQA), or the compressed latent and the rotary key (MLA), of every layer. */
static void add_kv_cache(struct generic *g)
{
    struct sizes *z = g->z;
    bool mla = g->plan->model.attention.kind == ATTENTION_MLA;
    struct size width =
        mla ? size_add(z, size_slot(z, SLOT_KV_RANK), size_slot(z, SLOT_ROPE_DIM))
            : size_times(z,
                         size_ceil_div(z,
                                       size_mul(z, size_slot(z, SLOT_KV_HEADS),
                                                size_slot(z, SLOT_HEAD_DIM)),
                                       size_slot(z, SLOT_TP)),
                         2);
    struct size context = g->plan->workload.mode == MODE_DECODE
                              ? size_slot(z, SLOT_CONTEXT)
                              : size_slot(z, SLOT_SEQUENCE_FULL);
    struct size layers =
        size_add(z, size_slot(z, SLOT_STAGE_DENSE_LAYERS), size_slot(z, SLOT_STAGE_MOE_LAYERS));
    work_buffer(g->work, (struct buffer){
                             .name = "kv_cache",
                             .category = CATEGORY_KV_CACHE,
                             .segment = SEGMENT_STEP,
                             .dtype = g->plan->precision.kv_cache,
                             .n_dims = 4,
                             .dims = {layers, size_slot(z, SLOT_MICRO_BATCH), context, width},
                             .life = LIFE_PERSISTENT,
                             .state = true});
}

enum status stack_generic_build(const struct plan *plan, struct work *work, struct err *err)
{
    (void)err;
    bool training = plan->workload.mode == MODE_TRAIN;
    struct generic g = {
        .plan = plan, .work = work, .z = &work->sizes, .path = stack_path(plan, NULL)};
    fill_widths(&g);
    fill_rows(&g);
    step_segments(work);
    step_state(plan, work, training);
    if (!training)
        add_kv_cache(&g);
    add_layers(&g, training);
    add_expanded(&g, training);
    add_logits(&g, training);
    return STATUS_OK;
}
