/* Both ends of the model and what lives through the whole step: embedding, head and loss,
 * workspaces, placeholders, gathered weights. Sources beside each. */
#include "work/stack/train.h"

#include "base/arena.h"
#include "plan/derive.h"
#include "work/stack/stack.h"

/* ---- embedding, head and loss ---- */

enum head_op {
    HEAD_NORM,
    HEAD_LOGITS,
    HEAD_LOSS,
    HEAD_BACK_LOSS,
    HEAD_BACK_LOGITS,
    HEAD_BACK_NORM,
    HEAD_OPS
};

static void add_head_ticks(struct train *t)
{
    static const struct {
        const char *name;
        enum op_kind kind;
    } rows[HEAD_OPS] = {
        {"final_norm", OP_NORM}, {"logits", OP_GEMM},   {"loss", OP_LOSS},
        {"d_loss", OP_LOSS},     {"d_logits", OP_GEMM}, {"d_final_norm", OP_NORM},
    };
    t->base[SEGMENT_HEAD] = (uint16_t)t->work->n_ticks;
    for (unsigned i = 0; i < HEAD_OPS; i++)
        work_tick(t->work,
                  (struct tick){.name = rows[i].name,
                                .kind = rows[i].kind,
                                .segment = SEGMENT_HEAD,
                                .phase = i < HEAD_BACK_LOSS ? PHASE_FORWARD : PHASE_BACKWARD});
}

static void head_tensor(struct train *t, struct buffer buffer, enum head_op first,
                        enum head_op last)
{
    buffer.segment = SEGMENT_HEAD;
    buffer.n_dims = 2;
    buffer.first = (uint16_t)(t->base[SEGMENT_HEAD] + first);
    buffer.last = (uint16_t)(t->base[SEGMENT_HEAD] + last);
    work_buffer(t->work, buffer);
}

/* Losses of the model: its own and one per prediction module, each with its own logits. */
static struct size losses(struct train *t)
{
    return size_plus(t->z, size_slot(t->z, SLOT_STAGE_MTP), 1);
}

/* In place, the loss writes the gradient over the 16-bit logits (TransformerEngine's
 * parallel_cross_entropy). In f32, softmax keeps an f32 copy until backward; the 16-bit logits
 * stand beside it when it is made, and their gradient when it is cast back (Megatron
 * vocab_parallel_cross_entropy, fused or not). */
static void add_logits(struct train *t)
{
    struct size rows = t->d.rows[ROW_FULL], vocab = t->d.width[COL_VOCAB];
    enum dtype dtype = t->plan->precision.activations;
    bool in_place = t->plan->stack.cross_entropy == LOSS_IN_PLACE;
    head_tensor(t,
                (struct buffer){.name = in_place ? "logits" : "softmax",
                                .category = CATEGORY_LOGITS,
                                .dtype = in_place ? dtype : DTYPE_F32,
                                .dims = {rows, vocab},
                                .count = losses(t),
                                .life = LIFE_SAVED},
                HEAD_LOGITS, HEAD_BACK_LOGITS);
    if (!in_place)
        head_tensor(t,
                    (struct buffer){.name = "logits",
                                    .category = CATEGORY_LOGITS,
                                    .dtype = dtype,
                                    .dims = {rows, vocab},
                                    .life = LIFE_TRANSIENT},
                    HEAD_LOGITS, HEAD_BACK_LOGITS);
}

static void add_head(struct train *t)
{
    struct size hidden = t->d.width[COL_HIDDEN];
    enum dtype dtype = t->plan->precision.activations;
    const struct {
        const char *name;
        enum row rows;
        enum life life;
        enum head_op first, last;
    } rows[] = {
        {"head_input", ROW_LOCAL, LIFE_SAVED, HEAD_NORM, HEAD_BACK_NORM},
        {"final_norm_out", ROW_LOCAL, LIFE_SAVED, HEAD_NORM, HEAD_BACK_LOGITS},
        {"d_final_norm_out", ROW_FULL, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_NORM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        head_tensor(t,
                    (struct buffer){.name = rows[i].name,
                                    .category = CATEGORY_ACTIVATION,
                                    .dtype = dtype,
                                    .dims = {t->d.rows[rows[i].rows], hidden},
                                    .count = rows[i].life == LIFE_SAVED ? losses(t)
                                                                        : size_const(t->z, 1),
                                    .life = rows[i].life},
                    rows[i].first, rows[i].last);
    add_logits(t);
    if (!t->plan->stack.wgrad_placeholders)
        head_tensor(t,
                    (struct buffer){.name = "d_head_weight",
                                    .category = CATEGORY_GRADIENTS,
                                    .dtype = t->plan->precision.weights,
                                    .dims = {t->d.width[COL_VOCAB], hidden},
                                    .life = LIFE_TRANSIENT},
                    HEAD_BACK_LOGITS, HEAD_BACK_LOGITS);
}

/* The embedding's gradient is one dense tensor before it is added to the main gradient. */
static void add_embedding(struct train *t)
{
    t->base[SEGMENT_EMBED] = work_tick(
        t->work,
        (struct tick){.name = "embedding", .kind = OP_EMBED, .segment = SEGMENT_EMBED});
    uint16_t back = work_tick(t->work, (struct tick){.name = "d_embedding",
                                                     .kind = OP_EMBED,
                                                     .segment = SEGMENT_EMBED,
                                                     .phase = PHASE_BACKWARD});
    work_buffer(t->work, (struct buffer){
                             .name = "d_embedding_weight",
                             .category = CATEGORY_GRADIENTS,
                             .segment = SEGMENT_EMBED,
                             .dtype = t->plan->precision.weights,
                             .n_dims = 2,
                             .dims = {t->d.width[COL_VOCAB], t->d.width[COL_HIDDEN]},
                             .life = LIFE_TRANSIENT,
                             .first = back,
                             .last = back,
                         });
}

void train_ends(struct train *train)
{
    add_embedding(train);
    add_head_ticks(train);
    add_head(train);
}

/* ---- what lives through the step ---- */

static void persistent(struct train *t, const char *name, enum category category,
                       enum dtype dtype, struct size rows, struct size columns,
                       struct size count, const char *source)
{
    work_buffer(t->work, (struct buffer){.name = name,
                                         .category = category,
                                         .segment = SEGMENT_STEP,
                                         .dtype = dtype,
                                         .n_dims = 2,
                                         .dims = {rows, columns},
                                         .count = count,
                                         .life = LIFE_PERSISTENT,
                                         .source = source});
}

/* Shapes seen so far, as numbers: the same shape shares one placeholder. */
struct shapes {
    uint64_t out[32], in[32];
    unsigned n;
};

static bool seen(struct shapes *shapes, uint64_t out, uint64_t in)
{
    for (unsigned i = 0; i < shapes->n; i++)
        if (shapes->out[i] == out && shapes->in[i] == in)
            return true;
    shapes->out[shapes->n] = out;
    shapes->in[shapes->n++] = in;
    return false;
}

/* Whether this rank has such a matrix at all: 1 or 0. */
static struct size present(struct train *t, unsigned segments)
{
    struct size one = size_const(t->z, 1);
    if (segments == IN_BOTH)
        return one;
    enum slot layers = segments == IN_MOE ? SLOT_STAGE_MOE_LAYERS : SLOT_STAGE_DENSE_LAYERS;
    return size_min(t->z, size_slot(t->z, layers), one);
}

static void add_placeholder(struct train *t, const uint64_t *values, struct shapes *shapes,
                            const char *name, struct size out, struct size in,
                            struct size count)
{
    if (seen(shapes, values[out.node], values[in.node]))
        return;
    persistent(t, arena_printf(t->work->arena, "wgrad_placeholder_%s", name),
               CATEGORY_GRADIENTS, t->plan->precision.weights, out, in, count,
               "TransformerEngine get_dummy_wgrad");
}

/* With gradients accumulated into main gradients by the product itself, autograd still gets a
 * tensor of the weight's shape: TransformerEngine keeps one per shape for good
 * (get_dummy_wgrad), and Megatron takes it for the head too. The router's product does not
 * fuse. */
static void add_placeholders(struct train *t)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct size hidden = t->d.width[COL_HIDDEN], twice = size_times(t->z, hidden, 2);
    struct size mtp_out = size_ceil_div(t->z, hidden, size_slot(t->z, SLOT_TP));
    struct size vocab = t->d.width[COL_VOCAB], head = size_slot(t->z, SLOT_STAGE_HEAD);
    struct size mtp = size_min(t->z, size_slot(t->z, SLOT_STAGE_MTP), size_const(t->z, 1));
    struct slots slots;
    struct shapes shapes = {.n = 0};
    uint64_t *values = arena_alloc(t->work->arena, t->z->n, sizeof *values);
    slots_from_plan(t->plan, &slots);
    sizes_eval(t->z, &slots, values);
    for (size_t i = 0; i < n; i++)
        if ((matrices[i].when & t->d.facts) == matrices[i].when &&
            matrices[i].op != MODULE_ROUTER)
            add_placeholder(t, values, &shapes, matrices[i].name, t->d.width[matrices[i].out],
                            t->d.width[matrices[i].in], present(t, matrices[i].segments));
    add_placeholder(t, values, &shapes, "mtp_projection", mtp_out, twice, mtp);
    add_placeholder(t, values, &shapes, "head", vocab, hidden, head);
}

/* Weights of the layers' products in 8 bits, by rows and by columns, kept for all micro-batches
 * of a step (TransformerEngine weight workspaces); weights that are 8 bits themselves are the
 * rows already. Router, embedding and head stay in 16 bits. */
static void add_fp8_weights(struct train *t)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct size sum = size_const(t->z, 0);
    struct size dense = size_slot(t->z, SLOT_STAGE_DENSE_LAYERS);
    struct size moe = size_slot(t->z, SLOT_STAGE_MOE_LAYERS);
    for (size_t i = 0; i < n; i++) {
        const struct layer_matrix *m = &matrices[i];
        if ((m->when & t->d.facts) != m->when || m->op == MODULE_ROUTER)
            continue;
        struct size layers = m->segments == IN_MOE     ? moe
                             : m->segments == IN_DENSE ? dense
                                                       : size_add(t->z, dense, moe);
        struct size copies = m->expert ? size_mul(t->z, layers, t->d.letters.local) : layers;
        sum =
            size_add(t->z, sum,
                     size_product(t->z, SIZES(t->d.width[m->out], t->d.width[m->in], copies)));
    }
    uint64_t copies_kept = t->plan->precision.weights == DTYPE_FP8 ? 1 : 2;
    persistent(t, "fp8_weights", CATEGORY_WEIGHTS, DTYPE_FP8, sum,
               size_const(t->z, copies_kept), size_const(t->z, 1),
               "TransformerEngine weight workspaces, rows and columns");
}

void train_extras(struct train *t)
{
    const struct stack *stack = &t->plan->stack;
    struct size one = size_const(t->z, 1), hidden = t->d.width[COL_HIDDEN];
    enum dtype dtype = t->plan->precision.activations;
    if (stack->workspace_bytes)
        persistent(t, "gemm_workspaces", CATEGORY_WORKSPACE, DTYPE_INT8,
                   size_const(t->z, stack->workspace_bytes), one, one, "stack profile");
    if (t->d.facts & FACT_GATHER)
        persistent(t, "gathered_sequence", CATEGORY_COMMUNICATION, dtype, t->d.rows[ROW_FULL],
                   hidden, one, "Megatron GlobalMemoryBuffer \"mpu\"");
    if (t->plan->parallel.pp > 1)
        persistent(t, "pipeline_gradient", CATEGORY_COMMUNICATION, dtype, t->d.rows[ROW_LOCAL],
                   hidden, one, "gradient of the last micro-batch, held by the schedule");
    if (t->plan->precision.compute == COMPUTE_FP8)
        add_fp8_weights(t);
    if (stack->wgrad_placeholders)
        add_placeholders(t);
}

/* ---- fully sharded weights ---- */

/* FSDP gathers a layer's weights while it runs and the next one's meanwhile, and reduces whole
 * gradients of a layer: two gathered layers, one set of gradients. */
void train_gathered_weights(struct train *t)
{
    if (t->plan->parallel.zero < 3)
        return;
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    const struct {
        enum segment segment;
        unsigned in;
    } segments[] = {{SEGMENT_DENSE, IN_DENSE}, {SEGMENT_MOE, IN_MOE}};
    for (unsigned s = 0; s < 2; s++) {
        struct size sum = size_const(t->z, 0);
        for (size_t i = 0; i < n; i++) {
            const struct layer_matrix *m = &matrices[i];
            if (!(m->segments & segments[s].in) || (m->when & t->d.facts) != m->when ||
                (m->expert && plan_expert_dp(t->plan) == 1))
                continue;
            struct size one = size_mul(t->z, t->d.width[m->out], t->d.width[m->in]);
            sum =
                size_add(t->z, sum, m->expert ? size_mul(t->z, one, t->d.letters.local) : one);
        }
        const struct {
            const char *name;
            enum category category;
            enum dtype dtype;
            uint64_t copies;
            unsigned first;
        } kinds[] = {
            {"gathered_weights", CATEGORY_WEIGHTS, t->plan->precision.activations, 2, 0},
            {"unsharded_gradients", CATEGORY_GRADIENTS, t->plan->precision.activations, 1,
             MODULES},
        };
        for (unsigned k = 0; k < 2; k++)
            work_buffer(t->work,
                        (struct buffer){
                            .name = kinds[k].name,
                            .category = kinds[k].category,
                            .segment = segments[s].segment,
                            .dtype = kinds[k].dtype,
                            .n_dims = 1,
                            .dims = {sum},
                            .count = size_const(t->z, kinds[k].copies),
                            .life = LIFE_TRANSIENT,
                            .first = (uint16_t)(t->base[segments[s].segment] + kinds[k].first),
                            .last = (uint16_t)(t->base[segments[s].segment] + 2 * MODULES - 1),
                        });
    }
}
