/* Ops of the layer with their costs: FLOP executed, bytes touched, bytes over links. */
#include "work/layer/layer.h"
#include "work/list/traffic.h"

static struct size rows_of(const struct layer *l, uint16_t buffer)
{
    return l->work->buffers[buffer].dims[0];
}

void layer_fill(struct layer *l, uint16_t buffer, enum fill fill)
{
    if (l->listed)
        return;
    layer_op(l,
             (struct op){.name = l->work->buffers[buffer].name,
                         .kernel = KERNEL_FILL,
                         .args.fill = {(uint8_t)fill}},
             OPERANDS(OUT(DST, buffer)));
}

uint16_t layer_gates_in(const struct layer *l, uint16_t gates)
{
    return l->plan->model.moe.scale == GATE_PRE ? gates : WORK_NONE;
}

uint16_t layer_gates_out(const struct layer *l, uint16_t gates)
{
    return l->plan->model.moe.scale == GATE_PRE ? WORK_NONE : gates;
}

static void gather(struct layer *l, const char *name, struct gather g, uint16_t gates)
{
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_GATHER,
                         .args.gather = {.divide = {g.divide}, .slots = {g.slots}},
                         .rows = g.used},
             OPERANDS(IN(SRC, g.src), IN(INDEX, g.index), IN(INVERSE, g.inverse),
                      IN(KEYS, g.keys), IN(GATES, gates), OUT(DST, g.dst)));
}

void layer_gather(struct layer *l, const char *name, struct gather g)
{
    gather(l, name, g, WORK_NONE);
}

void layer_fan_out(struct layer *l, const char *name, struct gather g, uint16_t gates)
{
    gather(l, name, g, layer_gates_in(l, gates));
}

void layer_exchange(struct layer *l, const char *name, struct exchange x)
{
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_EXCHANGE,
                         .args.exchange = {.sent = {x.sent}, .from = {x.from}},
                         .rows = x.sent,
                         .bytes_sent = layer_traffic(l, x.sent, x.src),
                         .bytes_received = layer_traffic(l, x.from, x.dst)},
             OPERANDS(IN(SRC, x.src), IN(SENDS, x.sends), IN(RECEIVES, x.receives),
                      IN(HANDLE, x.handle), OUT(DST, x.dst)));
}

void layer_return(struct layer *l, const char *name, struct exchange x)
{
    layer_exchange(l, name, x);
    layer_last(l)->args.exchange.home = true;
}

/* A buffer with the rows of `like` in the dtype of the wire. */
static uint16_t wire_buffer(struct layer *l, uint16_t like)
{
    struct buffer buffer = l->work->buffers[like];
    buffer.name = arena_join(l->arena, buffer.name, "_packed");
    buffer.category = CATEGORY_COMMUNICATION;
    buffer.dtype = l->wire;
    buffer.bytes = layer_bytes(l, buffer.dims[0], layer_width(l, like), l->wire);
    return work_buffer(l->work, buffer);
}

static void convert(struct layer *l, enum kernel kernel, const char *name, uint16_t from,
                    uint16_t to)
{
    layer_op(l, (struct op){.name = name, .kernel = (uint16_t)kernel},
             OPERANDS(IN(SRC, from), OUT(DST, to)));
}

void layer_dispatch(struct layer *l, struct exchange x)
{
    if (l->wire == l->activation) {
        layer_exchange(l, "dispatch", x);
        return;
    }
    uint16_t packed = wire_buffer(l, x.src), arrived = wire_buffer(l, x.dst);
    convert(l, KERNEL_QUANTIZE, "pack", x.src, packed);
    struct exchange wire = x;
    wire.src = packed;
    wire.dst = arrived;
    layer_exchange(l, "dispatch", wire);
    convert(l, KERNEL_DEQUANTIZE, "unpack", arrived, x.dst);
}

/* All rows but the rank's own part cross a link. */
static void fixed(struct layer *l, enum kernel kernel, const char *name, uint16_t src,
                  uint16_t dst, struct size part)
{
    struct size others = size_sub(l->z, l->R, l->one);
    struct size trips = l->loop ? l->trips : l->one;
    struct size factors[] = {part, others, trips};
    struct size bytes = layer_traffic(l, size_product(l->z, 3, factors), src);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = (uint16_t)kernel,
                         .bytes_sent = bytes,
                         .bytes_received = bytes},
             OPERANDS(IN(SRC, src), OUT(DST, dst)));
}

void layer_exchange_fixed(struct layer *l, const char *name, uint16_t src, uint16_t dst)
{
    fixed(l, KERNEL_EXCHANGE_FIXED, name, src, dst, size_div(l->z, rows_of(l, dst), l->R));
}

void layer_return_fixed(struct layer *l, const char *name, uint16_t src, uint16_t dst)
{
    layer_exchange_fixed(l, name, src, dst);
    layer_last(l)->args.exchange.home = true;
}

void layer_allgather(struct layer *l, const char *name, uint16_t src, uint16_t dst)
{
    fixed(l, KERNEL_ALLGATHER, name, src, dst, rows_of(l, src));
}

uint16_t layer_exchange_counts(struct layer *l, const char *name, uint16_t counts)
{
    uint16_t received =
        layer_counts(l, arena_join(l->arena, name, "_received"), rows_of(l, counts));
    layer_exchange_fixed(l, arena_join(l->arena, "exchange_", name), counts, received);
    return received;
}

static struct rows_args rows_of_groups(struct groups g, struct size groups)
{
    return (struct rows_args){
        .groups = {groups}, .turn = g.turn, .parts = g.parts, .shared = g.shared};
}

struct groups layer_no_groups(void)
{
    return (struct groups){.offsets = WORK_NONE, .rows = WORK_NONE, .map = WORK_NONE};
}

/* What products in these groups touch of their matrices, in all trips of the loop at hand. */
static struct size matrices_touched(const struct layer *l, uint16_t w, struct groups g)
{
    return traffic_matrices(l->work, w,
                            &(struct traffic_groups){.offsets = g.offsets,
                                                     .map = g.map,
                                                     .turn = g.turn,
                                                     .parts = g.parts,
                                                     .loop = l->loop,
                                                     .trips = l->trips});
}

uint16_t layer_wide(struct layer *l, uint16_t w, struct groups groups)
{
    struct buffer copy = l->work->buffers[w];
    if (!l->quantised || copy.dtype != l->weight || !segment_is_layer(l->segment))
        return w;
    copy.name = arena_join(l->arena, copy.name, "_wide");
    copy.dtype = l->activation;
    copy.bytes = size_const(l->z, 0); /* anew, from the dims */
    copy.life = LIFE_TRANSIENT;
    copy.state = false;
    copy.of = (uint16_t)(w + 1);
    uint16_t wide = work_buffer(l->work, copy);
    layer_op(l,
             (struct op){.name = arena_join(l->arena, "dequantize_", l->work->buffers[w].name),
                         .kernel = KERNEL_DEQUANTIZE,
                         .bytes_read = matrices_touched(l, w, groups),
                         .bytes_written = matrices_touched(l, wide, groups)},
             OPERANDS(IN(SRC, w), OUT(DST, wide)));
    return wide;
}

void layer_gemm(struct layer *l, const char *name, uint16_t a, uint16_t w, uint16_t bias,
                uint16_t c, struct groups g, struct gemm_shape shape)
{
    struct sizes *z = l->z;
    w = layer_wide(l, w, g);
    struct size flop =
        size_times(z, size_product(z, 3, (struct size[]){shape.rows, shape.k, shape.n}), 2);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_GEMM,
                         .args.gemm = {.rows = rows_of_groups(g, shape.groups),
                                       .transposed = shape.transposed,
                                       .split = g.split},
                         .rows = shape.rows,
                         .flop = flop,
                         .groups = shape.groups,
                         .m = shape.rows,
                         .n = shape.n,
                         .k = shape.k},
             OPERANDS(IN(SRC, a), IN(WEIGHT, w), IN(OFFSETS, g.offsets), IN(SIZES, g.rows),
                      IN(MAP, g.map), IN(BIAS, bias), OUT(DST, c)));
}

void layer_activation(struct layer *l, const char *name, uint16_t h, uint16_t a,
                      struct groups g, struct size used)
{
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_ACTIVATION,
                         .args.activation = {.rows = rows_of_groups(g, l->one)},
                         .rows = used},
             OPERANDS(IN(SRC, h), IN(OFFSETS, g.offsets), IN(SIZES, g.rows), OUT(DST, a)));
}

void layer_mask(struct layer *l, const char *name, uint16_t y, uint16_t offsets)
{
    layer_op(l, (struct op){.name = name, .kernel = KERNEL_MASK},
             OPERANDS(IN(OFFSETS, offsets), INOUT(DST, y)));
}

void layer_combine(struct layer *l, const char *name, struct combine c)
{
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_COMBINE,
                         .args.combine = {.slots = {c.slots}},
                         .rows = c.used},
             OPERANDS(IN(SRC, c.y), IN(POSITION, c.position), IN(GATES, c.gates),
                      IN(KEYS, c.keys), IN(INVERSE, c.inverse), IN(HANDLE, c.handle),
                      OUT(DST, c.out)));
}

void layer_sum(struct layer *l, const char *name, uint16_t y, uint16_t out, struct size slots)
{
    layer_combine(l, name,
                  (struct combine){.y = y,
                                   .position = WORK_NONE,
                                   .gates = WORK_NONE,
                                   .keys = WORK_NONE,
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = slots,
                                   .used = rows_of(l, y)});
}

uint16_t layer_factors(struct layer *l, const char *name, struct size width, enum fill fill)
{
    if (l->listed)
        return WORK_NONE;
    uint16_t factors =
        layer_rows(l, name, CATEGORY_WEIGHTS, DTYPE_F32, layer_fixed(l->one), width);
    layer_fill(l, factors, fill);
    return factors;
}

uint16_t layer_norm(struct layer *l, struct norm norm, uint16_t x)
{
    uint16_t y = layer_rows(l, norm.result, CATEGORY_ACTIVATION, l->activation, l->tokens,
                            layer_width(l, x)),
             factor = WORK_NONE;
    if (l->trains && !l->listed) /* what its gradient needs not compute again */
        factor = layer_rows(l, arena_join(l->arena, norm.name, "_factor"), CATEGORY_METADATA,
                            DTYPE_F32, l->tokens, l->one);
    layer_op(
        l,
        (struct op){.name = norm.name, .kernel = KERNEL_NORM, .args.norm = {.root = norm.root}},
        OPERANDS(IN(SRC, x), IN(WEIGHT, norm.weight), OUT(DST, y), OUT(FACTOR, factor)));
    return y;
}
