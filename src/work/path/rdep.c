/* rdep: route rows with their records go to their owners in (token, k) order, are pooled by
 * expert into padded segments, and return by row id to the token's slot, where slots are summed
 * (seed 001; seed-systems.md A2). Padding rows are computed, as there. */
#include "work/path/path.h"

struct pool_maps {
    uint16_t receives, records, index, place, gates;
    struct groups groups;
};

/* The 16-byte records of all rows, sent to the owners and pooled there. */
static struct pool_maps exchange_records(struct layer *l, const struct sorted *s,
                                         struct extent padded, struct size sent,
                                         struct size from)
{
    struct size two = size_const(l->z, 2);
    uint16_t records = layer_rows(l, "records", CATEGORY_METADATA, DTYPE_I64, l->slots, two);
    struct pool_maps p = {
        .receives = layer_exchange_counts(l, "sends", s->sends),
        .records =
            layer_rows(l, "records_received", CATEGORY_METADATA, DTYPE_I64, l->received, two),
        .index = layer_map(l, "pool_index", padded),
        .place = layer_map(l, "pool_place", l->received),
        .gates = layer_rows(l, "pool_gates", CATEGORY_METADATA, DTYPE_F32, l->received, l->one),
        .groups = layer_no_groups()};
    p.groups.offsets = layer_counts(l, "pool_offsets", size_add(l->z, l->e, l->one));
    layer_op(l, (struct op){.name = "record", .kernel = KERNEL_RECORD},
             OPERANDS(IN(PHYS, l->phys), IN(GATES, l->gates), IN(ORDER, s->order),
                      OUT(DST, records)));
    layer_exchange(
        l, "dispatch_records",
        (struct exchange){records, s->sends, p.receives, p.records, WORK_NONE, sent, from});
    layer_op(
        l,
        (struct op){.name = "pool",
                    .kernel = KERNEL_POOL,
                    .args.group = {.alignment = {size_const(l->z, layer_alignment(l->plan))}}},
        OPERANDS(IN(SRC, p.records), IN(RECEIVES, p.receives), OUT(OFFSETS, p.groups.offsets),
                 OUT(SIZES, layer_counts(l, "pool_sizes", l->e)), OUT(INDEX, p.index),
                 OUT(PLACE, p.place), OUT(GATES, p.gates)));
    return p;
}

/* Rows sent back in the order they came, and put into the slot of their row id. */
static uint16_t to_slots(struct layer *l, const char *name, uint16_t rows,
                         const struct pool_maps *p, const struct sorted *s, struct size sent,
                         struct size from)
{
    struct buffer like = l->work->buffers[rows];
    struct size width = layer_width(l, rows);
    uint16_t home = layer_rows(l, arena_printf(l->arena, "%s_returned", name), like.category,
                               like.dtype, l->slots, width);
    uint16_t slots = layer_rows(l, arena_printf(l->arena, "%s_slots", name), like.category,
                                like.dtype, l->slots, width);
    layer_return(l, arena_printf(l->arena, "return_%s", name),
                 (struct exchange){rows, p->receives, s->sends, home, WORK_NONE, from, sent});
    layer_reorder(l, arena_printf(l->arena, "place_%s", name),
                  (struct reorder){home, s->position, s->order, slots, l->TK});
    return slots;
}

uint16_t path_rdep_build(struct layer *l)
{
    struct size sent = size_slot(l->z, SLOT_ROWS_SENT), from = size_slot(l->z, SLOT_ROWS_FROM);
    struct extent padded = layer_padded(l, layer_alignment(l->plan));
    struct sorted s = layer_sort(l, false);
    struct pool_maps p = exchange_records(l, &s, padded, sent, from);

    uint16_t send = layer_rows(l, "x_rows", CATEGORY_DISPATCH, l->activation, l->slots, l->H);
    layer_pack_slots(l, "pack", s.order, s.position, send, l->TK);
    uint16_t arrived =
        layer_rows(l, "x_received", CATEGORY_DISPATCH, l->activation, l->received, l->H);
    layer_dispatch(
        l, "dispatch",
        (struct exchange){send, s.sends, p.receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_pool", CATEGORY_DISPATCH, l->activation, padded, l->H);
    layer_reorder(l, "pool_rows",
                  (struct reorder){arrived, p.index, p.place, x, l->received.used});
    uint16_t y = layer_expert(l, x, padded, p.groups);

    uint16_t back = layer_rows(l, "y", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "unpool_rows",
                  (struct reorder){y, p.place, p.index, back, l->received.used});
    uint16_t rows = to_slots(l, "y", back, &p, &s, sent, from);
    uint16_t gates = WORK_NONE; /* needed no more when they have scaled the input */
    if (layer_gates_out(l, l->gates) != WORK_NONE)
        l->gates_returned = gates = to_slots(l, "gates", p.gates, &p, &s, sent, from);
    uint16_t out =
        layer_rows(l, "routed_out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->H);
    layer_combine(l, "reduce_slots",
                  (struct combine){.y = rows,
                                   .position = WORK_NONE,
                                   .gates = gates,
                                   .keys = l->phys,
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = l->K,
                                   .used = l->TK});
    layer_last(l)->args.combine.slot_major = true;
    return out;
}
