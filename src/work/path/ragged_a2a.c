/* ragged_a2a: every (token, expert) row travels; sorted rows, ragged all-to-all, grouped GEMM
 * (seed 000 sparse-gmm; MaxText sparse_matmul). ragged_dot is the same with masked expansion in
 * place of the grouped GEMM, block_sparse with rows padded to blocks (MegaBlocks). */
#include "work/path/path.h"

/* Received rows, in (source, expert) order, to expert order. */
struct arrival {
    uint16_t receives, index, place;
    struct extent rows; /* of the experts: padded when they are blocks */
    struct groups groups;
};

static bool is_sparse(const struct layer *l)
{
    return l->plan->moe.path == PATH_BLOCK_SPARSE;
}

static struct arrival group_rows(struct layer *l, uint16_t counts)
{
    uint64_t alignment = is_sparse(l) ? layer_alignment(l->plan) : 1;
    struct arrival a = {.receives = layer_counts(l, "receives", l->R),
                        .rows = is_sparse(l) ? layer_padded(l, alignment) : l->received,
                        .place = layer_map(l, "group_place", l->received),
                        .groups = {.rows = WORK_NONE, .map = WORK_NONE}};
    uint16_t rows = layer_counts(l, "group_sizes", l->e);
    a.index = layer_map(l, "group_index", a.rows);
    a.groups.offsets = layer_counts(l, "group_offsets", size_add(l->z, l->e, l->one));
    layer_op(l,
             (struct op){.name = "group",
                         .kernel = KERNEL_GROUP,
                         .args.group = {.alignment = {size_const(l->z, alignment)}}},
             OPERANDS(IN(COUNTS, layer_exchange_counts(l, "counts", counts)),
                      OUT(RECEIVES, a.receives), OUT(OFFSETS, a.groups.offsets),
                      OUT(SIZES, rows), OUT(INDEX, a.index), OUT(PLACE, a.place)));
    return a;
}

uint16_t path_ragged_a2a_build(struct layer *l)
{
    struct size sent = size_slot(l->z, SLOT_ROWS_SENT), from = size_slot(l->z, SLOT_ROWS_FROM);
    enum dtype act = l->activation;
    struct sorted s = layer_sort(l, true);
    struct arrival a = group_rows(l, s.counts);

    uint16_t send = layer_rows(l, "x_sorted", CATEGORY_DISPATCH, act, l->slots, l->H);
    layer_pack_slots(l, "permute", s.order, s.position, send, l->TK);
    uint16_t arrived = layer_rows(l, "x_received", CATEGORY_DISPATCH, act, l->received, l->H);
    layer_dispatch(
        l, "dispatch",
        (struct exchange){send, s.sends, a.receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_expert", CATEGORY_DISPATCH, act, a.rows, l->H);
    layer_reorder(l, "fan_out",
                  (struct reorder){arrived, a.index, a.place, x, l->received.used});

    uint16_t y = is_sparse(l) ? path_block_sparse_expert(l, x, a.rows, a.groups.offsets)
                              : layer_expert(l, x, a.rows, a.groups);
    layer_mask(l, "mask_tail", y, a.groups.offsets);

    uint16_t back =
        layer_rows(l, "y_received", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "fan_in", (struct reorder){y, a.place, a.index, back, l->received.used});
    uint16_t home = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_return(l, "return",
                 (struct exchange){back, a.receives, s.sends, home, WORK_NONE, from, sent});
    return layer_unpack_slots(l, "combine", home, s.order, s.position, l->TK);
}
