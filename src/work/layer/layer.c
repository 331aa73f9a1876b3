/* The layer's frame: sizes, order of its parts, buffers and ops; see layer.h. */
#include "work/layer/layer.h"

#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/dtype.h"
#include "work/list/letters.h"
#include "work/list/traffic.h"
#include "work/pass/fuse.h"
#include "work/path/path.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

struct extent layer_fixed(struct size rows)
{
    return (struct extent){.rows = rows, .used = rows, .rule = RULE_FIXED};
}

/* ---- buffers ---- */

static enum life life_of(enum category category)
{
    return category == CATEGORY_WEIGHTS || category == CATEGORY_WORKSPACE ? LIFE_PERSISTENT
                                                                          : LIFE_TRANSIENT;
}

/* Bytes of n_groups [rows, columns] matrices with their scales. */
static struct size matrix_bytes(struct sizes *z, enum dtype dtype, const struct size *dims)
{
    return size_mul(z, dims[0], size_matrix_bytes(z, dtype, dims[1], dims[2]));
}

uint16_t layer_buffer(struct layer *l, const char *name, enum category category,
                      enum dtype dtype, enum sizing_rule rule, unsigned n_dims,
                      const struct size *dims)
{
    struct buffer buffer = {.name = name,
                            .category = category,
                            .segment = l->segment,
                            .dtype = dtype,
                            .n_dims = n_dims,
                            .rule = rule,
                            .life = life_of(category),
                            .first = WORK_NONE,
                            .state = category == CATEGORY_WEIGHTS};
    for (unsigned i = 0; i < n_dims; i++)
        buffer.dims[i] = dims[i];
    return work_buffer(l->work, buffer);
}

uint16_t layer_rows(struct layer *l, const char *name, enum category category, enum dtype dtype,
                    struct extent extent, struct size width)
{
    struct size dims[] = {extent.rows, width};
    return layer_buffer(l, name, category, dtype, extent.rule, 2, dims);
}

uint16_t layer_map(struct layer *l, const char *name, struct extent extent)
{
    return layer_buffer(l, name, CATEGORY_METADATA, DTYPE_I32, extent.rule, 1, &extent.rows);
}

uint16_t layer_counts(struct layer *l, const char *name, struct size n)
{
    return layer_buffer(l, name, CATEGORY_METADATA, DTYPE_I64, RULE_FIXED, 1, &n);
}

uint16_t layer_weights_as(struct layer *l, const char *name, enum dtype dtype,
                          struct size groups, struct size rows, struct size columns)
{
    struct size dims[] = {groups, rows, columns};
    uint16_t number = layer_buffer(l, name, CATEGORY_WEIGHTS, dtype, RULE_FIXED, 3, dims);
    l->work->buffers[number].bytes = matrix_bytes(l->z, dtype, dims);
    return number;
}

uint16_t layer_weights(struct layer *l, const char *name, struct size groups, struct size rows,
                       struct size columns)
{
    return layer_weights_as(l, name, l->weight, groups, rows, columns);
}

enum dtype layer_wide_format(const struct layer *l)
{
    return plan_is_engine(l->plan) ? DTYPE_BF16 : l->weight;
}

struct size layer_width(const struct layer *l, uint16_t buffer)
{
    const struct buffer *b = &l->work->buffers[buffer];
    return size_product(l->z, b->n_dims - 1, b->dims + 1);
}

struct size layer_bytes(const struct layer *l, struct size rows, struct size width,
                        enum dtype dtype)
{
    return traffic_bytes(l->z, rows, width, dtype);
}

struct size layer_traffic(const struct layer *l, struct size rows, uint16_t buffer)
{
    return layer_bytes(l, rows, layer_width(l, buffer), l->work->buffers[buffer].dtype);
}

/* ---- ops ---- */

uint16_t layer_op(struct layer *l, struct op op, const struct operand *operands)
{
    op.kind = kernel_kind((enum kernel)op.kernel);
    op.segment = l->segment;
    op.module = l->module;
    op.group = op.group                 ? op.group
               : l->group               ? l->group
               : op.kind == OP_EXCHANGE ? GROUP_EP
                                        : GROUP_NONE;
    op.layers = l->layers;
    op.phase = l->backward ? PHASE_BACKWARD : PHASE_FORWARD;
    op.wide = l->wide;
    op.loop = l->loop;
    op.trips_from = l->trips_from;
    op.trips = l->loop ? l->trips : l->one;
    work_operands(l->work, &op, operands);
    return work_op(l->work, op);
}

struct op *layer_last(const struct layer *l)
{
    return &l->work->ops[l->work->n_ops - 1];
}

void layer_loop_begin(struct layer *l, struct size trips, uint16_t trips_from)
{
    uint16_t last = 0;
    for (size_t i = 0; i < l->work->n_ops; i++)
        last = l->work->ops[i].loop > last ? l->work->ops[i].loop : last;
    l->loop = (uint16_t)(last + 1);
    l->trips = trips;
    l->trips_from = trips_from;
}

void layer_loop_end(struct layer *l)
{
    l->loop = 0;
    l->trips_from = WORK_NONE;
}

bool layer_twin_begin(struct layer *l)
{
    l->twin_first = l->work->n_ops;
    return l->trains;
}

void layer_twin_end(struct layer *l)
{
    struct work *work = l->work;
    struct loop_twin *twin = arena_alloc(l->arena, 1, sizeof *twin);
    size_t n = work->n_ops - l->twin_first;
    struct op *ops = arena_alloc(l->arena, n + 1, sizeof *ops);
    for (size_t i = 0; i < n; i++)
        ops[i] = work->ops[l->twin_first + i];
    *twin = (struct loop_twin){.ops = ops, .n = n, .before = l->twins};
    l->twins = twin;
    work->n_ops = l->twin_first;
}

/* ---- the whole ---- */

/* Whether moe.buffer says how many rows the plan's path takes in. */
static bool takes_rows(const struct plan *plan)
{
    const struct path_system *path = path_system_of(stack_path(plan, NULL));
    bool rows = path->exchange == EXCHANGE_ROWS || path->exchange == EXCHANGE_TOKENS ||
                path->exchange == EXCHANGE_GATHER;
    return rows && !path->blocks;
}

struct extent layer_received(struct layer *l)
{
    struct extent extent = {.used = size_slot(l->z, SLOT_ROWS), .rule = RULE_FIXED};
    switch (l->plan->moe.buffer) {
    case SIZING_EXACT:
        extent.rows = extent.used;
        extent.rule = RULE_ROUTING;
        break;
    case SIZING_BALANCED:
        extent.rows = l->TK;
        break;
    case SIZING_FACTOR:
        extent.rows = size_scale(l->z, l->TK, REAL_BUFFER_FACTOR);
        extent.rule = RULE_FACTOR;
        if (takes_rows(l->plan))
            l->work->room = (struct work_room){.set = true, .rows = extent.rows};
        break;
    case SIZING_AUTO:
    case SIZING_WORST:
        extent.rows =
            size_product(l->z, 3, (struct size[]){l->R, l->T, size_min(l->z, l->K, l->e)});
        extent.rule = RULE_WORST;
        break;
    }
    return extent;
}

static void fill_sizes(struct layer *l)
{
    struct sizes *z = l->z;
    l->one = size_const(z, 1);
    l->T = size_slot(z, SLOT_TOKENS);
    l->K = size_slot(z, SLOT_TOP_K);
    l->R = size_slot(z, SLOT_EP);
    l->E = size_slot(z, SLOT_EXPERTS);
    l->e = size_slot(z, SLOT_LOCAL_EXPERTS);
    l->hidden = size_slot(z, SLOT_HIDDEN);
    l->H = size_row_width(z, l->plan);
    l->I = size_slot(z, SLOT_INTER);
    l->GI = l->plan->model.moe.glu ? size_times(z, l->I, 2) : l->I;
    l->TK = size_mul(z, l->T, l->K);
    l->tokens = layer_fixed(l->T);
    l->slots = layer_fixed(l->TK);
    l->received = layer_received(l);
}

/* Activations travel and rest in plain formats; a quantised one is for the wire only. */
static enum dtype plain(enum dtype dtype, enum dtype otherwise)
{
    return dtype_is_plain(dtype) ? dtype : otherwise;
}

static void fill_dtypes(struct layer *l)
{
    const struct precision *p = &l->plan->precision;
    l->activation = plain(p->activations, DTYPE_BF16);
    l->weight = p->weights;
    l->gradient = plain(p->gradients, DTYPE_F32);
    l->combined = plain(p->combine, l->activation);
    l->wire = p->dispatch == DTYPE_NONE ? l->activation : p->dispatch;
}

static void add_weights(struct layer *l)
{
    const struct model_moe *moe = &l->plan->model.moe;
    enum dtype format = lora_expert_format(l->plan);
    l->w13 = layer_weights_as(l, "w13", format, l->e, l->H, l->GI);
    l->w2 = layer_weights_as(l, "w2", format, l->e, l->I, l->H);
    layer_fill(l, l->w13, FILL_W13);
    layer_fill(l, l->w2, FILL_W2);
    l->b13 = l->b2 = WORK_NONE;
    if (!moe->bias)
        return;
    l->b13 = layer_rows(l, "b13", CATEGORY_WEIGHTS, DTYPE_F32, layer_fixed(l->e), l->GI);
    l->b2 = layer_rows(l, "b2", CATEGORY_WEIGHTS, DTYPE_F32, layer_fixed(l->e), l->H);
    layer_fill(l, l->b13, FILL_B13);
    layer_fill(l, l->b2, FILL_B2);
}

void layer_scratch(struct layer *l)
{
    struct size dims[] = {size_slot(l->z, SLOT_WORKERS),
                          size_const(l->z, KERNEL_SCRATCH_FLOATS)};
    uint16_t scratch =
        layer_buffer(l, "worker_scratch", CATEGORY_WORKSPACE, DTYPE_F32, RULE_FIXED, 2, dims);
    l->work->buffers[scratch].segment = SEGMENT_STEP;
}

void layer_begin(struct layer *l, const struct plan *plan, struct work *work, struct err *err)
{
    uint16_t none = WORK_NONE;
    *l = (struct layer){.plan = plan,
                        .path = path_system_of(stack_path(plan, NULL)),
                        .work = work,
                        .z = &work->sizes,
                        .arena = work->arena,
                        .err = err,
                        .segment = SEGMENT_MOE,
                        .trips_from = none,
                        .x = none,
                        .shared13 = none,
                        .shared2 = none,
                        .residual13 = none,
                        .residual2 = none,
                        .shared_gate = none,
                        .linear_bias = none,
                        .latent_down = none,
                        .latent_up = none,
                        .latent_norm = none,
                        .router_norm = none,
                        .gate_scale = none,
                        .gates_returned = none};
    fill_sizes(l);
    fill_dtypes(l);
    l->layers = l->one;
}

uint16_t layer_forward(struct layer *l)
{
    struct size own = l->T;
    bool joins = layer_joins(l) && plan_joins_networks(l->plan);
    add_weights(l);
    if (joins)
        layer_join_input(l);
    layer_router(l);
    uint16_t out = layer_shared(l, layer_routed(l));
    return joins ? layer_part(l, "moe", out, own) : out;
}

enum status layer_build(const struct plan *plan, bool backward, struct arena *arena,
                        struct work *work, struct err *err)
{
    TRY(layer_check(plan, err));
    enum moe_path path = stack_path(plan, NULL);
    if (backward && !path_system_of(path)->backward) {
        err_set(err, STATUS_INPUT, "path \"%s\" has no backward", words_path[path]);
        return err_hint(err, "without --backward, or --set moe.path=deepep");
    }
    work_init(work, arena);
    struct layer layer, *l = &layer;
    layer_begin(l, plan, work, err);
    l->trains = backward;
    layer_scratch(l);
    uint16_t out = layer_forward(l);
    layer_op(l, (struct op){.name = "output", .kernel = KERNEL_RESULT},
             OPERANDS(RESULT(0, out)));
    if (backward)
        layer_backward(l, out);
    if (plan->moe.fuse_activation)
        fuse_activations(work);
    layer_finish(l);
    return l->status;
}
