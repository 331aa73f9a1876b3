/* A training layer as eager frameworks run it; see train.h. */
#include "work/stack/train.h"

#include "base/text.h"
#include "work/path/path.h"
#include "work/stack/dispatch_rows.h"
#include "work/stack/stack.h"

/* ---- rows ---- */

static bool has_slots(const struct train *t)
{
    return path_system_of(t->path)->exchange == EXCHANGE_CAPACITY;
}

/* moe.buffer balanced (forced balance) and a factor (a budget per rank) size rows by the plan;
 * otherwise routing does. */
static struct size received_rows(struct train *t)
{
    struct sizes *z = t->z;
    t->routed = RULE_FIXED;
    if (has_slots(t))
        return size_mul(z, t->letters.experts, capacity_megatron(&t->letters));
    if (t->plan->moe.buffer == SIZING_FACTOR)
        return size_scale(z, rows_routed(&t->letters), REAL_BUFFER_FACTOR);
    if (t->plan->moe.buffer == SIZING_BALANCED)
        return rows_routed(&t->letters);
    t->routed = RULE_ROUTING;
    return t->letters.rows;
}

static void fill_rows(struct train *t)
{
    struct sizes *z = t->z;
    const struct letters *x = &t->letters;
    bool gathered = t->plan->parallel.sp && t->plan->parallel.tp > 1;
    struct size *rows = t->rows;
    rows[TRAIN_LOCAL] = x->tokens;
    rows[TRAIN_FULL] = gathered ? size_mul(z, x->tokens, size_slot(z, SLOT_TP)) : x->tokens;
    rows[TRAIN_RECEIVED] = received_rows(t);
    rows[TRAIN_SENT] = has_slots(t) ? rows[TRAIN_RECEIVED] : rows_routed(x);
    rows[TRAIN_RECEIVED_TOKENS] =
        t->routed == RULE_ROUTING ? x->received : size_mul(z, x->tokens, x->ranks);
    rows[TRAIN_GATHERED] = size_mul(z, x->tokens, x->ranks);
    rows[TRAIN_ROUTED] = rows[TRAIN_SENT];
    t->received_rule = t->routed;
    rows[TRAIN_COMPUTED] = size_mul(z, rows[TRAIN_RECEIVED], size_slot(z, SLOT_ETP));
}

/* ---- widths ---- */

static struct size per_tp(struct train *t, struct size width)
{
    return size_ceil_div(t->z, width, size_slot(t->z, SLOT_TP));
}

static void fill_attention_widths(struct train *t)
{
    struct sizes *z = t->z;
    struct size heads = per_tp(t, size_slot(z, SLOT_HEADS)), *w = t->width;
    w[TRAIN_HEADS] = heads;
    w[TRAIN_SCORES] = size_mul(z, heads, size_slot(z, SLOT_SEQUENCE_FULL));
    w[TRAIN_Q_RANK] = size_slot(z, SLOT_Q_RANK);
    w[TRAIN_KV_RANK] = size_slot(z, SLOT_KV_RANK);
    w[TRAIN_KV_LATENT] = size_add(z, w[TRAIN_KV_RANK], size_slot(z, SLOT_ROPE_DIM));
    if (t->plan->model.attention.kind == ATTENTION_MLA) {
        struct size nope = size_slot(z, SLOT_NOPE_DIM), v = size_slot(z, SLOT_V_DIM);
        struct size qk = size_add(z, nope, size_slot(z, SLOT_ROPE_DIM));
        w[TRAIN_Q] = w[TRAIN_K] = size_mul(z, heads, qk);
        w[TRAIN_V] = w[TRAIN_CONTEXT] = size_mul(z, heads, v);
        w[TRAIN_KV_UP] = size_mul(z, heads, size_add(z, nope, v));
        w[TRAIN_UP_OUT] = size_add(z, w[TRAIN_Q], w[TRAIN_KV_UP]);
    } else {
        struct size head = size_slot(z, SLOT_HEAD_DIM);
        w[TRAIN_Q] = w[TRAIN_CONTEXT] = size_mul(z, heads, head);
        w[TRAIN_K] = w[TRAIN_V] = size_mul(z, per_tp(t, size_slot(z, SLOT_KV_HEADS)), head);
        w[TRAIN_UP_OUT] = size_sum(z, SIZES(w[TRAIN_Q], w[TRAIN_K], w[TRAIN_V]));
    }
    w[TRAIN_KV] = size_add(z, w[TRAIN_K], w[TRAIN_V]);
    w[TRAIN_QKV] = size_sum(z, SIZES(w[TRAIN_Q], w[TRAIN_K], w[TRAIN_V]));
}

/* Padded to a multiple of stack.vocab_multiple x tp. */
static struct size vocabulary(struct train *t)
{
    uint64_t multiple = t->plan->stack.vocab_multiple;
    struct size vocab = size_slot(t->z, SLOT_VOCAB), tp = size_slot(t->z, SLOT_TP);
    if (multiple > 1)
        vocab = size_round_up(t->z, vocab, size_times(t->z, tp, multiple));
    return size_ceil_div(t->z, vocab, tp);
}

static void fill_widths(struct train *t)
{
    struct sizes *z = t->z;
    uint64_t inputs = t->plan->model.moe.glu ? 2 : 1;
    struct size *w = t->width;
    w[TRAIN_ONE] = size_const(z, 1);
    w[TRAIN_HIDDEN] = t->letters.hidden;
    fill_attention_widths(t);
    w[TRAIN_DENSE] = per_tp(t, size_slot(z, SLOT_DENSE_INTER));
    w[TRAIN_DENSE_IN] = size_times(z, w[TRAIN_DENSE], inputs);
    w[TRAIN_INTER] = t->letters.inter;
    w[TRAIN_INTER_IN] = size_times(z, w[TRAIN_INTER], inputs);
    w[TRAIN_SHARED_INTER] = per_tp(t, size_slot(z, SLOT_SHARED_INTER));
    w[TRAIN_SHARED_IN] = size_times(z, w[TRAIN_SHARED_INTER], inputs);
    w[TRAIN_EXPERTS] = t->letters.experts;
    w[TRAIN_ROW_MAP] = size_plus(z, size_times(z, t->letters.experts, 2), 1);
    w[TRAIN_TOP_K] = t->letters.top_k;
    w[TRAIN_VOCAB] = vocabulary(t);
}

/* ---- what holds for this plan ---- */

static unsigned exchange_of(enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_GATHER)
        return TRAIN_ALLGATHER;
    return exchange == EXCHANGE_TOKENS ? TRAIN_FLEX : TRAIN_ALLTOALL;
}

static unsigned facts_of(const struct plan *plan, enum moe_path path)
{
    const struct attention *a = &plan->model.attention;
    const struct parallel *p = &plan->parallel;
    const struct {
        bool holds;
        unsigned fact;
    } facts[] = {
        {a->kind == ATTENTION_MLA, TRAIN_MLA},
        {a->kind == ATTENTION_GQA, TRAIN_GQA},
        {a->kind == ATTENTION_MLA && a->q_lora_rank, TRAIN_Q_LOW_RANK},
        {a->kind == ATTENTION_MLA && !a->q_lora_rank, TRAIN_Q_FULL_RANK},
        {a->kind == ATTENTION_GQA && a->qk_norm, TRAIN_QK_NORM},
        {plan->stack.attention == BACKEND_FLASH, TRAIN_FLASH},
        {plan->stack.attention == BACKEND_UNFUSED, TRAIN_UNFUSED},
        {plan->model.moe.shared_intermediate > 0, TRAIN_HAS_SHARED},
        {p->ep > 1, TRAIN_EP},
        {p->etp > 1, TRAIN_ETP},
        {plan->model.moe.experts > p->ep, TRAIN_SORTED},
        {plan->model.moe.experts <= p->ep, TRAIN_UNSORTED},
        {p->sp && p->tp > 1, TRAIN_GATHER},
        {!plan->stack.compiled, TRAIN_EAGER},
        {p->cp > 1, TRAIN_CP},
        {plan->stack.compiled, TRAIN_COMPILED},
    };
    unsigned held = exchange_of(path);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        held |= facts[i].holds ? facts[i].fact : 0;
    return held;
}

/* ---- ops ---- */

static const struct train_op_row {
    const char *name;
    enum op_kind kind;
} op_rows[] = {
#define TRAIN_ROW(name, text, kind) {text, OP_##kind},
    TRAIN_OP_LIST(TRAIN_ROW)
#undef TRAIN_ROW
};

/* Which MoE ops a dense layer runs: its two products take the experts' places. */
static bool dense_runs(enum train_op op)
{
    return op <= TRAIN_MLP_NORM || op == TRAIN_GATE_UP || op == TRAIN_ACTIVATE ||
           op == TRAIN_EXPERT_DOWN || op == TRAIN_RESIDUAL;
}

static struct size attention_flop(const struct train *t)
{
    struct size each = size_add(t->z, t->width[TRAIN_Q], t->width[TRAIN_CONTEXT]);
    struct size square =
        size_mul(t->z, t->rows[TRAIN_FULL], size_slot(t->z, SLOT_SEQUENCE_FULL));
    return size_mul(t->z, square, each);
}

/* Forward FLOPs of an op: 2 m k n of each matrix it multiplies; causal attention's half square.
 */
static struct size flop_of(const struct train *t, enum segment segment, enum train_op op)
{
    size_t n;
    const struct train_matrix *matrices = train_matrices(&n);
    unsigned in = segment == SEGMENT_MOE ? TRAIN_IN_MOE : TRAIN_IN_DENSE;
    struct size flop = size_const(t->z, 0);
    if (op == TRAIN_ATTENTION)
        flop = attention_flop(t);
    for (size_t i = 0; i < n; i++) {
        const struct train_matrix *m = &matrices[i];
        if (m->op != op || !(m->segments & in) || (m->when & t->holds) != m->when)
            continue;
        struct size one =
            size_product(t->z, SIZES(t->rows[m->rows], t->width[m->in], t->width[m->out]));
        flop = size_add(t->z, flop, size_times(t->z, one, 2));
    }
    return flop;
}

static void add_op(struct train *t, enum segment segment, enum train_op op, enum phase phase)
{
    static const char *const backward[] = {
#define TRAIN_BACKWARD_NAME(name, text, kind) "d_" text,
        TRAIN_OP_LIST(TRAIN_BACKWARD_NAME)
#undef TRAIN_BACKWARD_NAME
    };
    bool runs = segment == SEGMENT_MOE || dense_runs(op);
    struct size flop = runs ? flop_of(t, segment, op) : size_const(t->z, 0);
    bool exchange = op_rows[op].kind == OP_EXCHANGE && runs && t->plan->parallel.ep > 1;
    struct size sent = size_product(t->z, SIZES(t->rows[TRAIN_SENT], t->width[TRAIN_HIDDEN]));
    work_op(t->work,
            (struct op){
                .name = phase == PHASE_FORWARD ? op_rows[op].name : backward[op],
                .kind = op_rows[op].kind,
                .segment = segment,
                .phase = phase,
                .resource = exchange                   ? RESOURCE_SCALE_UP
                            : size_is_zero(t->z, flop) ? RESOURCE_MEMORY
                                                       : RESOURCE_COMPUTE,
                .flop = phase == PHASE_FORWARD ? flop : size_times(t->z, flop, 2),
                .bytes_sent = exchange ? size_times(t->z, sent, 2) : size_const(t->z, 0),
                .bytes_received = exchange ? size_times(t->z, sent, 2) : size_const(t->z, 0),
            });
}

static void add_ops(struct train *t, enum segment segment)
{
    t->base[segment] = (uint16_t)t->work->n_ops;
    for (unsigned op = 0; op < TRAIN_FORWARD_OPS; op++)
        add_op(t, segment, (enum train_op)op, PHASE_FORWARD);
    for (unsigned op = TRAIN_FORWARD_OPS; op-- > 0;)
        add_op(t, segment, (enum train_op)op, PHASE_BACKWARD);
}

void train_init(struct train *t, const struct plan *plan, struct work *work, enum moe_path path)
{
    *t = (struct train){.plan = plan, .work = work, .z = &work->sizes, .path = path};
    t->letters = letters_over(t->z, plan->parallel.ep);
    t->holds = facts_of(plan, path);
    fill_rows(t);
    fill_widths(t);
    step_segments(work);
    work->alternating = plan->model.moe_every > 1;
    add_ops(t, SEGMENT_DENSE);
    add_ops(t, SEGMENT_MOE);
}

/* ---- tensors ---- */

static enum sizing_rule rule_of(const struct train *t, enum train_rows rows)
{
    if (rows == TRAIN_RECEIVED_TOKENS)
        return t->received_rule;
    return rows == TRAIN_RECEIVED || rows == TRAIN_COMPUTED ? t->routed : RULE_FIXED;
}

static void add_life(struct train *t, const struct train_tensor *tensor, const char *name,
                     enum segment segment, enum life life, unsigned first, unsigned last)
{
    bool fp8 = tensor->product_input && t->plan->precision.compute == COMPUTE_FP8;
    enum dtype dtype =
        tensor->dtype == DTYPE_NONE ? t->plan->precision.activations : tensor->dtype;
    dtype = fp8 ? DTYPE_FP8 : dtype;
    work_buffer(t->work, (struct buffer){
                             .name = name,
                             .category = tensor->category,
                             .segment = segment,
                             .dtype = dtype,
                             .n_dims = tensor->width == TRAIN_ONE ? 1 : 2,
                             .dims = {t->rows[tensor->rows], t->width[tensor->width]},
                             .rule = rule_of(t, tensor->rows),
                             .life = life,
                             .first = (uint16_t)(t->base[segment] + first),
                             .last = (uint16_t)(t->base[segment] + last),
                             .source = tensor->source,
                         });
}

/* Waits in host memory: here while its layer runs, and while the layer before it runs backward
 * it is on its way back (one layer is reloaded ahead). */
static void add_offloaded(struct train *t, const struct train_tensor *tensor,
                          enum segment segment)
{
    const char *reloaded = arena_printf(t->work->arena, "reloaded_%s", tensor->name);
    add_life(t, tensor, tensor->name, segment, LIFE_TRANSIENT, tensor->first, tensor->last);
    add_life(t, tensor, reloaded, segment, LIFE_TRANSIENT, TRAIN_FORWARD_OPS,
             2 * TRAIN_FORWARD_OPS - 1);
}

/* Whether recomputation drops a saved tensor in every layer. */
static bool is_dropped(const struct train *t, const struct train_tensor *tensor)
{
    if (!tensor->saved || tensor->dropped_by & TRAIN_KEPT)
        return false;
    if (t->drops & TRAIN_OPS)
        return !(tensor->dropped_by & TRAIN_OP_KEPT);
    return t->drops & (TRAIN_FULL_LAYER | tensor->dropped_by);
}

/* A dropped tensor lives twice: while forward reads it, and from its remaking to its last use.
 * Where whole modules run again, remaking and backward follow each other, so it lives once,
 * throughout; the first forward of that module holds less and never is the peak. */
static void add_tensor(struct train *t, const struct train_tensor *tensor, enum segment segment)
{
    bool dropped = is_dropped(t, tensor), kept = tensor->dropped_by & TRAIN_KEPT;
    bool whole = t->drops & (TRAIN_FULL_LAYER | TRAIN_OPS);
    bool sometimes = tensor->saved && !dropped && !kept && t->drop_every;
    const char *name = tensor->name;
    if (dropped && tensor->until && !whole) {
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->first, tensor->until);
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->again, tensor->last);
        return;
    }
    if (tensor->saved && !dropped && tensor->offload & t->offloads) {
        add_offloaded(t, tensor, segment);
        return;
    }
    bool saved = tensor->saved && !dropped;
    if (sometimes)
        add_life(t, tensor, arena_printf(t->work->arena, "recomputed_%s", name), segment,
                 LIFE_TRANSIENT, tensor->first, tensor->last);
    add_life(t, tensor, name, segment, saved ? LIFE_SAVED : LIFE_TRANSIENT, tensor->first,
             tensor->last);
    if (sometimes)
        t->work->buffers[t->work->n_buffers - 1].drop_every = t->drop_every;
}

void train_tensors(struct train *t, const struct train_tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct train_tensor *tensor = &tensors[i];
        if ((tensor->when & t->holds) != tensor->when)
            continue;
        if (tensor->segments & TRAIN_IN_DENSE)
            add_tensor(t, tensor, SEGMENT_DENSE);
        if (tensor->segments & TRAIN_IN_MOE)
            add_tensor(t, tensor, SEGMENT_MOE);
    }
}

/* ---- names ---- */

static const char *name_at(const void *table, size_t i)
{
    return ((const struct train_name *)table)[i].name;
}

enum status train_names(const struct word_list *words, const struct train_name *names,
                        const char *what, unsigned *bits, struct err *err)
{
    size_t n = 0;
    while (names[n].name)
        n++;
    for (uint64_t i = 0; i < words->n; i++) {
        size_t j = 0;
        while (j < n && !text_equal(names[j].name, words->word[i]))
            j++;
        if (j < n) {
            *bits |= names[j].bits;
            continue;
        }
        err_set(err, STATUS_INPUT, "%s: no module is called '%s'", what, words->word[i]);
        const char *nearest = text_nearest(words->word[i], n, name_at, names);
        return err_hint(err, "did you mean '%s'?", nearest ? nearest : names[0].name);
    }
    return STATUS_OK;
}

void train_host_syncs(struct train *t, uint64_t n)
{
    for (size_t i = 0; i < t->work->n_ops; i++) {
        struct op *op = &t->work->ops[i];
        if (op->segment != SEGMENT_MOE || op->phase != PHASE_FORWARD || op->kind != OP_EXCHANGE)
            continue;
        op->host_syncs = size_const(t->z, n);
        return;
    }
}
