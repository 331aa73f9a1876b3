/* A training layer as eager frameworks run it; see train.h. */
#include "work/stack/train.h"

#include "plan/derive.h"
#include "base/text.h"
#include "work/path/path.h"
#include "work/piece/recipe.h"
#include "work/stack/dispatch_rows.h"
#include "work/stack/megatron.h"
#include "work/stack/stack.h"

/* ---- rows ---- */

static bool has_slots(const struct train *t)
{
    return path_system_of(t->path)->exchange == EXCHANGE_CAPACITY;
}

/* A budget per rank, whatever routing asks for. */
static struct size budget_rows(struct train *t)
{
    struct work_room *room = &t->work->room;
    t->routed = RULE_FACTOR;
    room->set = true;
    room->rows = size_scale(t->z, rows_routed(&t->d.letters), REAL_BUFFER_FACTOR);
    return room->rows;
}

/* moe.buffer balanced (forced balance), a factor (a budget) and worst size rows by the plan;
 * otherwise routing does. */
static struct size received_rows(struct train *t)
{
    struct sizes *z = t->z;
    t->routed = RULE_FIXED;
    if (has_slots(t))
        return size_mul(z, t->d.letters.experts, capacity_megatron(&t->d.letters));
    if (t->plan->moe.buffer == SIZING_FACTOR)
        return budget_rows(t);
    if (t->plan->moe.buffer == SIZING_BALANCED)
        return rows_routed(&t->d.letters);
    t->routed = t->plan->moe.buffer == SIZING_WORST ? RULE_WORST : RULE_ROUTING;
    return t->routed == RULE_WORST ? rows_worst(&t->d.letters) : t->d.letters.rows;
}

/* Rows that the exchange makes, as the stack sizes them. */
static void fill_rows(struct train *t)
{
    struct sizes *z = t->z;
    const struct letters *x = &t->d.letters;
    struct size *rows = t->d.rows;
    rows[ROW_RECEIVED] = received_rows(t);
    rows[ROW_SENT] = has_slots(t) ? rows[ROW_RECEIVED] : rows_routed(x);
    if (t->routed == RULE_ROUTING)
        rows[ROW_RECEIVED_TOKENS] = x->received;
    if (t->routed == RULE_WORST)
        rows[ROW_RECEIVED_TOKENS] = rows_worst_tokens(x);
    rows[ROW_ROUTED] = rows[ROW_SENT];
    t->received_rule = t->routed;
    rows[ROW_COMPUTED] = size_mul(z, rows[ROW_RECEIVED], size_slot(z, SLOT_ETP));
}

/* ---- ticks ---- */

static unsigned exchange_of(enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_GATHER)
        return FACT_ALLGATHER;
    return exchange == EXCHANGE_TOKENS ? FACT_FLEX : FACT_ALLTOALL;
}

static const struct train_op_row {
    const char *name;
    enum op_kind kind;
} op_rows[] = {
#define TRAIN_ROW(name, text, kind) {text, OP_##kind},
    MODULE_LIST(TRAIN_ROW)
#undef TRAIN_ROW
};

static void add_tick(struct train *t, enum segment segment, enum module op, enum phase phase)
{
    static const char *const backward[] = {
#define TRAIN_BACKWARD_NAME(name, text, kind) "d_" text,
        MODULE_LIST(TRAIN_BACKWARD_NAME)
#undef TRAIN_BACKWARD_NAME
    };
    work_tick(t->work,
              (struct tick){.name = phase == PHASE_FORWARD ? op_rows[op].name : backward[op],
                            .kind = op_rows[op].kind,
                            .segment = segment,
                            .phase = phase});
}

static void add_ticks(struct train *t, enum segment segment)
{
    t->base[segment] = (uint16_t)t->work->n_ticks;
    for (unsigned op = 0; op < MODULES; op++)
        add_tick(t, segment, (enum module)op, PHASE_FORWARD);
    for (unsigned op = MODULES; op-- > 0;)
        add_tick(t, segment, (enum module)op, PHASE_BACKWARD);
}

void train_init(struct train *t, const struct plan *plan, struct work *work, enum moe_path path)
{
    *t = (struct train){.plan = plan, .work = work, .z = &work->sizes, .path = path};
    dims_fill(&t->d, plan, t->z);
    t->d.facts |= exchange_of(path);
    fill_rows(t);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        t->mixer[m] = t->d;
        dims_mixer(&t->mixer[m], (enum mixer)m);
    }
    step_segments(work);
    work->alternating = plan->model.moe_every > 1 || plan->model.layer_types.n;
    stack_kinds(plan, t->kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            add_ticks(t, segment_of_kind((enum layer_kind)k));
}

/* ---- tensors ---- */

static enum sizing_rule rule_of(const struct train *t, enum row rows)
{
    if (rows == ROW_RECEIVED_TOKENS)
        return t->received_rule;
    return rows == ROW_RECEIVED || rows == ROW_COMPUTED ? t->routed : RULE_FIXED;
}

/* Saved as the copy that a recipe's product makes of its input. */
static bool by_recipe(const struct train *t, const struct train_tensor *tensor)
{
    bool one = tensor->product_input == PRODUCT_INPUT ||
               (tensor->product_input == PRODUCT_INPUT_GQA && t->d.facts & FACT_GQA);
    return one && t->d.facts & FACT_RECIPE;
}

static const struct dims *dims_of(const struct train *t, enum segment segment)
{
    return &t->mixer[kind_mixer(segment_kind(segment))];
}

static void add_life(struct train *t, const struct train_tensor *tensor, const char *name,
                     enum segment segment, enum life life, unsigned first, unsigned last)
{
    struct size rows = t->d.rows[tensor->rows];
    struct size width = dims_of(t, segment)->width[tensor->width];
    enum dtype dtype =
        tensor->dtype == DTYPE_NONE ? t->plan->precision.activations : tensor->dtype;
    struct size bytes = size_const(t->z, 0); /* by shape */
    if (by_recipe(t, tensor)) {
        dtype = recipe_format(t->plan);
        bytes = recipe_input_bytes(t->plan, t->z, rows, width);
    } else if (tensor->product_input == PRODUCT_INPUT &&
               t->plan->precision.compute == COMPUTE_FP8) {
        dtype = DTYPE_FP8;
    }
    work_buffer(t->work, (struct buffer){
                             .name = name,
                             .category = tensor->category,
                             .segment = segment,
                             .dtype = dtype,
                             .n_dims = tensor->width == COL_ONE ? 1 : 2,
                             .dims = {rows, width},
                             .bytes = bytes,
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
    const char *reloaded = arena_join(t->work->arena, "reloaded_", tensor->name);
    add_life(t, tensor, tensor->name, segment, LIFE_TRANSIENT, tensor->first, tensor->last);
    add_life(t, tensor, reloaded, segment, LIFE_TRANSIENT, MODULES, 2 * MODULES - 1);
    const struct segment_use *use = &t->work->use[segment];
    struct size each = t->work->buffers[t->work->n_buffers - 1].bytes;
    struct size copies = size_mul(t->z, use->repeat, use->in_flight);
    work_host(t->work, tensor->name,
              size_ceil_div(t->z, size_mul(t->z, each, copies), size_const(t->z, 1000)),
              tensor->source);
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

/* With two micro-batches at once, what the forward of one holds where its exchange comes back
 * stands beside the backward of the other. */
static bool is_beside(const struct train *t, const struct train_tensor *tensor,
                      enum segment segment)
{
    return plan_overlaps_experts(t->plan) && segment_has_experts(segment) &&
           tensor->first <= MODULE_UNPERMUTE && tensor->last >= MODULE_UNPERMUTE &&
           tensor->last < MODULES;
}

static bool is_stashed(const struct train *t, const struct train_tensor *tensor)
{
    return plan_is_megatron(t->plan) && t->plan->moe.paged_stash &&
           tensor->rows == ROW_COMPUTED && tensor->width != COL_ONE;
}

/* In pages between forward and backward; two layers' own copies: one is packed, one in use. */
static void add_stashed(struct train *t, const struct train_tensor *tensor,
                        enum segment segment)
{
    add_life(t, tensor, tensor->name, segment, LIFE_TRANSIENT, tensor->first, tensor->last);
    struct buffer *own = &t->work->buffers[t->work->n_buffers - 1];
    enum dtype dtype = own->dtype;
    own->count = size_const(t->z, 2);
    megatron_stash(t, tensor->name, dtype, t->d.width[tensor->width]);
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
    unsigned frozen =
        tensor->saved && !dropped ? train_frozen_until(t, name, segment_kind(segment)) : 0;
    if (frozen) {
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->first, frozen);
        return;
    }
    if (dropped && tensor->until && !whole) {
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->first, tensor->until);
        add_life(t, tensor, name, segment, LIFE_TRANSIENT, tensor->again, tensor->last);
        return;
    }
    if (!tensor->saved && is_beside(t, tensor, segment))
        add_life(t, tensor, arena_join(t->work->arena, "beside_", name), segment,
                 LIFE_TRANSIENT, MODULES, 2 * MODULES - 1);
    if (tensor->saved && !dropped && is_stashed(t, tensor)) {
        add_stashed(t, tensor, segment);
        return;
    }
    if (tensor->saved && !dropped && tensor->offload & t->offloads) {
        add_offloaded(t, tensor, segment);
        return;
    }
    bool saved = tensor->saved && !dropped;
    if (sometimes)
        add_life(t, tensor, arena_join(t->work->arena, "recomputed_", name), segment,
                 LIFE_TRANSIENT, tensor->first, tensor->last);
    add_life(t, tensor, name, segment, saved ? LIFE_SAVED : LIFE_TRANSIENT, tensor->first,
             tensor->last);
    if (sometimes)
        t->work->buffers[t->work->n_buffers - 1].drop_every = t->drop_every;
}

/* Whether a layer of this kind, which the stage holds, has a row of a table. */
static bool applies(const struct train *t, const struct train_tensor *tensor,
                    enum layer_kind kind)
{
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    const unsigned mask = FACTS_OF_MIXER;
    unsigned facts = (t->d.facts & ~mask) | (d->facts & mask);
    return tensor->segments & in_ffn(kind_ffn(kind)) &&
           !size_is_zero(t->z, t->d.rows[tensor->rows]) &&
           (tensor->when & facts) == tensor->when &&
           (!tensor->mixers || tensor->mixers & d->mix);
}

void train_mixer(struct train *t, unsigned mixers, const struct train_tensor *tensors, size_t n)
{
    enum layer_kind kinds[KIND_COUNT];
    unsigned n_kinds = 0;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k] && t->mixer[kind_mixer((enum layer_kind)k)].mix & mixers)
            kinds[n_kinds++] = (enum layer_kind)k;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < n_kinds; k++)
            if (applies(t, &tensors[i], kinds[k]))
                add_tensor(t, &tensors[i], segment_of_kind(kinds[k]));
}

void train_tensors(struct train *t, const struct train_tensor *tensors, size_t n)
{
    train_mixer(t, MIX_ALL, tensors, n);
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
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum segment segment = segment_of_kind((enum layer_kind)k);
        if (t->kinds[k] && segment_has_experts(segment))
            t->work->ticks[t->base[segment] + MODULE_DISPATCH].host_syncs = size_const(t->z, n);
    }
}
