/* deepep_ll: every row travels to a fixed slot of its expert, [e, R T, H]; the products skip
 * the slots that stayed empty; gates are applied where the rows return (DeepEP low latency;
 * decode). */
#include "work/path/path.h"

uint16_t path_deepep_ll_build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size sent = size_slot(z, SLOT_ROWS_SENT), from = size_slot(z, SLOT_ROWS_FROM);
    struct size depth = size_mul(z, l->R, l->T); /* slots of an expert */
    struct extent slots = {size_mul(z, l->e, depth), l->received.used, RULE_WORST};
    struct sorted s = layer_sort(l, true);
    struct groups groups = {.offsets =
                                layer_counts(l, "group_offsets", size_add(z, l->e, l->one)),
                            .rows = layer_counts(l, "group_sizes", l->e),
                            .map = WORK_NONE};
    uint16_t receives = layer_counts(l, "receives", l->R);
    uint16_t index = layer_map(l, "slot_index", slots);
    uint16_t place = layer_map(l, "slot_place", l->received);
    layer_op(l,
             (struct op){.name = "group",
                         .kernel = KERNEL_GROUP,
                         .args.group = {.alignment = {depth}, .fixed = true}},
             OPERANDS(IN(COUNTS, layer_exchange_counts(l, "counts", s.counts)),
                      OUT(RECEIVES, receives), OUT(OFFSETS, groups.offsets),
                      OUT(SIZES, groups.rows), OUT(INDEX, index), OUT(PLACE, place)));

    uint16_t send = layer_rows(l, "x_sorted", CATEGORY_DISPATCH, l->activation, l->slots, l->H);
    layer_pack_slots(l, "pack", s.order, s.position, send, l->TK);
    uint16_t arrived =
        layer_rows(l, "x_received", CATEGORY_DISPATCH, l->activation, l->received, l->H);
    layer_dispatch(l, "dispatch",
                   (struct exchange){send, s.sends, receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_slots", CATEGORY_DISPATCH, l->activation, slots, l->H);
    layer_reorder(l, "fill_slots",
                  (struct reorder){arrived, index, place, x, l->received.used});
    uint16_t y = layer_expert(l, x, slots, groups);

    uint16_t back =
        layer_rows(l, "y_received", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "empty_slots", (struct reorder){y, place, index, back, l->received.used});
    uint16_t home = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_return(l, "return",
                 (struct exchange){back, receives, s.sends, home, WORK_NONE, from, sent});
    return layer_unpack_slots(l, "combine", home, s.order, s.position, l->TK);
}
