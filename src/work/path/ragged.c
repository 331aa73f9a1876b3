/* Every (token, expert) row travels: sorted rows, a ragged all-to-all, products by expert; see
 * ragged.h. */
#include "work/path/ragged.h"

#include <stddef.h>

/* Received rows, in (source, expert) order, to expert order. */
struct arrival {
    uint16_t receives, index, place;
    struct extent rows; /* of the experts: padded when they are blocks */
    struct groups groups;
};

static struct arrival group_rows(struct layer *l, uint16_t counts, bool sparse)
{
    uint64_t alignment = sparse ? layer_alignment(l->plan) : 1;
    struct arrival a = {.receives = layer_counts(l, "receives", l->R),
                        .rows = sparse ? layer_padded(l, alignment) : l->received,
                        .place = layer_map(l, "group_place", l->received),
                        .groups = {.rows = WORK_NONE, .map = WORK_NONE}};
    uint16_t rows = layer_counts(l, "group_sizes", l->e);
    a.index = layer_map(l, "group_index", a.rows);
    a.groups.offsets = layer_counts(l, "group_offsets", size_add(l->z, l->e, l->one));
    layer_op(
        l,
        (struct op){.name = "group", .kernel = KERNEL_GROUP, .m = size_const(l->z, alignment)},
        LAYER_OPERANDS(layer_exchange_counts(l, "counts", counts)),
        LAYER_OPERANDS(a.receives, a.groups.offsets, rows, a.index, a.place));
    return a;
}

uint16_t ragged_build(struct layer *l, sparse_experts *sparse)
{
    struct size sent = size_slot(l->z, SLOT_ROWS_SENT), from = size_slot(l->z, SLOT_ROWS_FROM);
    enum dtype act = l->activation;
    struct sorted s = layer_sort(l, true);
    struct arrival a = group_rows(l, s.counts, sparse != NULL);

    uint16_t send = layer_rows(l, "x_sorted", CATEGORY_DISPATCH, act, l->slots, l->H);
    layer_pack_slots(l, "permute", s.order, s.position, send, l->TK);
    uint16_t arrived = layer_rows(l, "x_received", CATEGORY_DISPATCH, act, l->received, l->H);
    layer_dispatch(
        l, "dispatch",
        (struct exchange){send, s.sends, a.receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_expert", CATEGORY_DISPATCH, act, a.rows, l->H);
    layer_reorder(l, "fan_out",
                  (struct reorder){arrived, a.index, a.place, x, l->received.used});

    uint16_t y = sparse ? sparse(l, x, a.rows, a.groups.offsets)
                        : layer_expert(l, x, a.rows, a.groups, 0);
    layer_mask(l, "mask_tail", y, a.groups.offsets);

    uint16_t back =
        layer_rows(l, "y_received", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "fan_in", (struct reorder){y, a.place, a.index, back, l->received.used});
    uint16_t home = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_return(l, "return",
                 (struct exchange){back, a.receives, s.sends, home, WORK_NONE, from, sent});
    return layer_unpack_slots(l, "combine", home, s.order, s.position, l->TK);
}
