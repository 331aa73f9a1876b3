/* Walking the forward backwards, and what its rules share; see backward.h. */
#include "work/pass/backward.h"

#include <string.h>

#include "plan/frozen.h"
#include "work/piece/frozen.h"

uint16_t backward_of(const struct backward *b, const struct op *op, enum role role)
{
    return op_buffer(b->l->work, op, role);
}

uint16_t backward_value(const struct backward *b, uint16_t buffer)
{
    bool copied = b->in_loop && buffer != WORK_NONE && b->clone[buffer] != WORK_NONE;
    return copied ? b->clone[buffer] : buffer;
}

uint16_t backward_buffer(struct backward *b, uint16_t of, const char *suffix)
{
    struct layer *l = b->l;
    struct buffer like = l->work->buffers[of];
    like.name = arena_join(l->arena, "d_", like.name);
    if (suffix[0])
        like.name = arena_join(l->arena, like.name, suffix);
    like.life = LIFE_TRANSIENT;
    like.state = false;
    like.first = WORK_NONE;
    like.last = 0;
    like.count = l->one;
    if (like.category == CATEGORY_COMMUNICATION) { /* rows packed for the wire */
        like.dtype = l->activation;
        like.bytes = size_const(l->z, 0); /* anew, from the dims */
    }
    return work_buffer(l->work, like);
}

void backward_arrive(struct backward *b, uint16_t of, uint16_t contribution)
{
    uint16_t before = b->grad[of];
    if (before == WORK_NONE) {
        b->grad[of] = contribution;
        return;
    }
    uint16_t sum = backward_buffer(b, of, "_sum");
    layer_op(b->l,
             (struct op){.name = arena_join(b->l->arena, "add_",
                                            b->l->work->buffers[contribution].name),
                         .kernel = KERNEL_ADD},
             OPERANDS(IN(SRC, before), IN(OTHER, contribution), OUT(DST, sum)));
    b->grad[of] = sum;
}

bool backward_trains(const struct backward *b, const struct op *op)
{
    uint16_t w = backward_of(b, op, ROLE_WEIGHT);
    if (b->l->freezes) {
        enum frozen_part part = frozen_part_of(op->segment, op->module);
        return part == FROZEN_PARTS || !plan_freezes_part(b->l->plan, part);
    }
    return !b->l->frozen || (w != WORK_NONE && b->l->work->buffers[w].trained);
}

uint16_t backward_weight(struct backward *b, uint16_t weight)
{
    if (b->grad[weight] != WORK_NONE)
        return b->grad[weight];
    struct layer *l = b->l;
    struct buffer like = l->work->buffers[weight];
    like.name = arena_join(l->arena, "d_", like.name);
    like.category = CATEGORY_GRADIENTS;
    like.life = LIFE_TRANSIENT;
    like.state = false;
    like.first = WORK_NONE;
    like.last = 0;
    /* the router and biases are f32; so are sums over blocks, which are rounded at the end */
    like.dtype = like.n_dims < 3 || b->in_loop ? DTYPE_F32 : l->gradient;
    like.bytes = size_const(l->z, 0);
    b->grad[weight] = work_buffer(l->work, like);
    return b->grad[weight];
}

static size_t loop_begin(const struct work *work, size_t last)
{
    size_t first = last;
    while (first > 0 && work->ops[first - 1].loop == work->ops[last].loop)
        first--;
    return first;
}

/* A copy, as the list grows: of the loop's ops, or of the plainer ones written down for it. */
static void walk_loop(struct backward *b, size_t first, size_t end)
{
    const struct layer *l = b->l;
    const struct op *loop = l->work->ops + first;
    for (const struct loop_twin *twin = l->twins; twin; twin = twin->before)
        if (twin->n && twin->ops[0].loop == loop->loop) {
            backward_loop(b, twin->ops, twin->n);
            return;
        }
    struct op *body = arena_alloc(l->arena, end - first, sizeof *body);
    memcpy(body, loop, (end - first) * sizeof *body);
    backward_loop(b, body, end - first);
}

/* The gradient of a buffer of the layer, which may have neither. */
static struct operand result(const struct backward *b, enum fill fill, uint16_t of)
{
    return (struct operand)RESULT(fill, of == WORK_NONE ? WORK_NONE : b->grad[of]);
}

/* All results in the order of exec/verify. */
static void add_results(struct backward *b)
{
    struct layer *l = b->l;
    layer_op(l, (struct op){.name = "gradients", .kernel = KERNEL_RESULT},
             OPERANDS(result(b, FILL_X, l->x), IN(D_GATES, b->grad[l->gates]), IN(IDS, l->ids),
                      result(b, FILL_W13, l->w13), result(b, FILL_W2, l->w2),
                      result(b, FILL_ROUTER, l->router), result(b, FILL_B13, l->b13),
                      result(b, FILL_B2, l->b2), result(b, FILL_SHARED_13, l->shared13),
                      result(b, FILL_SHARED_2, l->shared2),
                      result(b, FILL_RESIDUAL_13, l->residual13),
                      result(b, FILL_RESIDUAL_2, l->residual2),
                      result(b, FILL_SHARED_GATE, l->shared_gate),
                      result(b, FILL_LINEAR_BIAS, l->linear_bias),
                      result(b, FILL_LATENT_DOWN, l->latent_down),
                      result(b, FILL_LATENT_UP, l->latent_up),
                      result(b, FILL_LATENT_NORM, l->latent_norm),
                      result(b, FILL_ROUTER_NORM, l->router_norm),
                      result(b, FILL_GATE_SCALE, l->gate_scale)));
}

static void backward_begin(struct backward *b, struct layer *l)
{
    size_t n = l->work->n_buffers;
    *b = (struct backward){.l = l,
                           .grad = arena_alloc(l->arena, n, sizeof(uint16_t)),
                           .clone = arena_alloc(l->arena, n, sizeof(uint16_t)),
                           .outside = arena_alloc(l->arena, n, sizeof(uint16_t)),
                           .n_buffers = n,
                           .n_ops = l->work->n_ops};
    memset(b->grad, 0xff, n * sizeof *b->grad);
    memset(b->clone, 0xff, n * sizeof *b->clone);
    memset(b->outside, 0xff, n * sizeof *b->outside);
    l->backward = true;
}

/* From the last forward op to op `first`. */
static void walk(struct backward *b, size_t first)
{
    const struct work *work = b->l->work;
    const struct size layers = b->l->layers;
    for (size_t i = b->n_ops; i-- > first;) {
        const struct op *of = &work->ops[i]; /* of some layers: so is what undoes it */
        bool some = b->l->listed && of->layers.node != work->use[of->segment].repeat.node;
        b->l->layers = some ? of->layers : layers;
        b->l->module = work->ops[i].module;
        b->l->group = work->ops[i].group;
        b->l->wide = work->ops[i].wide;
        if (work->ops[i].loop) {
            size_t begin = loop_begin(work, i);
            walk_loop(b, begin, i + 1);
            i = begin;
            continue;
        }
        struct op op = work->ops[i]; /* a copy: the list grows */
        backward_rule(b, &op);
    }
    b->l->wide = false;
    b->l->layers = layers;
}

void layer_backward(struct layer *l, uint16_t out)
{
    struct backward b;
    backward_begin(&b, l);
    b.grad[out] =
        layer_rows(l, "d_out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->hidden);
    layer_fill(l, b.grad[out], FILL_DOUT);
    walk(&b, 0);
    add_results(&b);
}

uint16_t layer_undo(struct layer *l, size_t first, uint16_t out, uint16_t gradient, uint16_t in)
{
    return layer_undo_range(l, first, l->work->n_ops, out, gradient, in);
}

uint16_t layer_undo_range(struct layer *l, size_t first, size_t end, uint16_t out,
                          uint16_t gradient, uint16_t in)
{
    struct backward b;
    backward_begin(&b, l);
    b.n_ops = end;
    b.grad[out] = gradient;
    walk(&b, first);
    l->backward = false;
    return b.grad[in];
}
