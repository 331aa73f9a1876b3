/* deepep: a token travels once to each rank that has experts of it, is fanned out there, folded
 * back to one row with its gates, and returns by the handle of its dispatch (DeepEP normal
 * mode; seed 000 sparse-gmm-deepep). Received tokens are as many as routing makes them (exact)
 * or T R (worst: the sync-free num_worst_tokens). */
#include "work/path/path.h"

/* The layout of a dispatch. */
struct layout {
    struct extent out, in; /* tokens sent and received, one per owner */
    uint16_t index, slot, position, sends, receives, handle;
};

static struct extent tokens_out(struct layer *l)
{
    struct size used = size_slot(l->z, SLOT_TOKENS_OUT);
    if (l->received.rule == RULE_ROUTING)
        return (struct extent){used, used, RULE_ROUTING};
    struct size most = size_mul(l->z, l->T, size_min(l->z, l->R, l->K));
    return (struct extent){most, used, RULE_WORST};
}

static struct extent tokens_in(struct layer *l)
{
    struct size used = size_slot(l->z, SLOT_RECEIVED);
    if (l->received.rule == RULE_ROUTING)
        return (struct extent){used, used, RULE_ROUTING};
    return (struct extent){size_mul(l->z, l->T, l->R), used, RULE_WORST};
}

static struct layout lay_out(struct layer *l)
{
    struct layout o = {.out = tokens_out(l), .in = tokens_in(l)};
    o.index = layer_map(l, "send_index", o.out);
    o.slot = layer_map(l, "send_slot", o.out);
    o.position = layer_rows(l, "send_head", CATEGORY_METADATA, DTYPE_I32, l->tokens, l->R);
    o.sends = layer_counts(l, "sends", l->R);
    o.handle = layer_counts(l, "handle", size_const(l->z, 4));
    layer_op(l, (struct op){.name = "layout", .kernel = KERNEL_LAYOUT},
             OPERANDS(IN(PHYS, l->phys), OUT(INDEX, o.index), OUT(SLOT, o.slot),
                      OUT(POSITION, o.position), OUT(SENDS, o.sends), OUT(HANDLE, o.handle)));
    o.receives = layer_exchange_counts(l, "sends", o.sends);
    return o;
}

/* Rows of src, one per token and owner, sent; returns them received. */
static uint16_t send(struct layer *l, const struct layout *o, const char *name, uint16_t src,
                     bool payload)
{
    struct buffer like = l->work->buffers[src];
    uint16_t out = layer_rows(l, arena_printf(l->arena, "%s_send", name),
                              payload ? CATEGORY_DISPATCH : CATEGORY_METADATA, like.dtype,
                              o->out, layer_width(l, src));
    uint16_t in = layer_rows(l, arena_printf(l->arena, "%s_received", name),
                             payload ? CATEGORY_DISPATCH : CATEGORY_METADATA, like.dtype, o->in,
                             layer_width(l, src));
    layer_gather(l, arena_printf(l->arena, "pack_%s", name),
                 (struct gather){.src = src,
                                 .index = o->index,
                                 .inverse = o->position,
                                 .keys = WORK_NONE,
                                 .dst = out,
                                 .divide = l->one,
                                 .slots = l->R,
                                 .used = o->out.used});
    struct exchange exchange = {out,
                                o->sends,
                                o->receives,
                                in,
                                o->handle,
                                size_slot(l->z, SLOT_TOKENS_SENT),
                                size_slot(l->z, SLOT_TOKENS_FROM)};
    if (payload)
        layer_dispatch(l, "dispatch", exchange);
    else
        layer_exchange(l, arena_printf(l->arena, "dispatch_%s", name), exchange);
    return in;
}

uint16_t path_deepep_build(struct layer *l)
{
    struct layout o = lay_out(l);
    uint16_t x = send(l, &o, "x", l->x, true);
    uint16_t phys = send(l, &o, "phys", l->phys, false);
    uint16_t gates = send(l, &o, "gates", l->gates, false);
    struct fan fan = layer_fan(l, phys, o.receives, l->received);
    uint16_t folded = layer_fan_compute(l, x, gates, phys, &fan, o.in);

    uint16_t back = layer_rows(l, "y_back", CATEGORY_DISPATCH, l->combined, o.out, l->H);
    layer_return(l, "return",
                 (struct exchange){folded, o.receives, o.sends, back, o.handle,
                                   size_slot(l->z, SLOT_TOKENS_FROM),
                                   size_slot(l->z, SLOT_TOKENS_SENT)});
    uint16_t out =
        layer_rows(l, "routed_out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->H);
    layer_combine(l, "combine",
                  (struct combine){.y = back,
                                   .position = o.position,
                                   .gates = WORK_NONE,
                                   .keys = WORK_NONE,
                                   .inverse = o.slot,
                                   .handle = o.handle,
                                   .out = out,
                                   .slots = l->R,
                                   .used = o.out.used});
    return out;
}
