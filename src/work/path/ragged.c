/* Every (token, expert) row travels: sorted rows, a ragged all-to-all, products by expert; see
 * ragged.h. What stacks hold: buffers.md 5.3, 7, 9.2. */
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
    layer_op(l,
             (struct op){.name = "group",
                         .kernel = KERNEL_GROUP,
                         .args.group = {.alignment = {size_const(l->z, alignment)}}},
             OPERANDS(IN(COUNTS, layer_exchange_counts(l, "counts", counts)),
                      OUT(RECEIVES, a.receives), OUT(OFFSETS, a.groups.offsets),
                      OUT(SIZES, rows), OUT(INDEX, a.index), OUT(PLACE, a.place)));
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
        l, (struct exchange){send, s.sends, a.receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_expert", CATEGORY_DISPATCH, act, a.rows, l->H);
    layer_reorder(l, "fan_out",
                  (struct reorder){arrived, a.index, a.place, x, l->received.used});

    uint16_t y =
        sparse ? sparse(l, x, a.rows, a.groups.offsets) : layer_expert(l, x, a.rows, a.groups);
    layer_mask(l, "mask_tail", y, a.groups.offsets);

    uint16_t back =
        layer_rows(l, "y_received", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "fan_in", (struct reorder){y, a.place, a.index, back, l->received.used});
    uint16_t home = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_return(l, "return",
                 (struct exchange){back, a.receives, s.sends, home, WORK_NONE, from, sent});
    return layer_unpack_slots(l, home, s.order, s.position, l->TK);
}

/* ---- what stacks hold ---- */

bool ragged_spread(const struct hold_path *p)
{
    return p->plan->parallel.ep > 1;
}

struct row_dims ragged_rows(const struct hold_path *p)
{
    return rows_of(rows_routed(&p->x), RULE_FIXED);
}

/* Rows in order of expert: an index of T K, and [T K, H] gathered through it. */
uint16_t ragged_permute(struct hold_path *p, uint16_t *row_gates)
{
    struct row_dims rows = ragged_rows(p);
    struct size one = size_const(p->x.sizes, 1);
    uint16_t order = part_table(p, "sort_order", DTYPE_I32, &rows, one);
    flow_op(&p->flow, part_move(p, "sort", OP_SORT), FLOW(p->indices), FLOW(order));
    uint16_t sent = part_rows(p, "send_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
    *row_gates = WORK_NONE;
    if (p->style->scale_before_down)
        *row_gates =
            part_floats(p, "send_gates", CATEGORY_METADATA, p->style->scores, &rows, one);
    flow_op(&p->flow, part_move(p, "permute", OP_PERMUTE), FLOW(p->input, p->gates, order),
            FLOW(sent, *row_gates));
    return sent;
}

/* Counts between ranks; the host waits for them where buffers are sized by them. */
void ragged_counts(struct hold_path *p, uint64_t syncs)
{
    struct row_dims ranks = rows_of(p->x.ranks, RULE_FIXED);
    uint16_t table = part_table(p, "rank_counts", DTYPE_I64, &ranks, p->x.experts);
    struct tick op = part_exchange(p, "exchange_counts");
    if (p->style->sizing == SIZING_EXACT) {
        op.host_syncs = size_const(p->x.sizes, syncs);
    }
    flow_op(&p->flow, op, FLOW(p->indices), FLOW(table));
}

/* Rows of all sources, then sorted by local expert (a second copy) when there are several. */
uint16_t ragged_receive(struct hold_path *p, uint16_t sent, const struct row_dims *rows,
                        const struct row_dims *sorted, uint16_t *gates)
{
    struct size one = size_const(p->x.sizes, 1);
    uint16_t got = part_rows(p, "received_rows", CATEGORY_DISPATCH, rows, p->x.hidden);
    uint16_t got_gates = WORK_NONE;
    if (*gates != WORK_NONE)
        got_gates =
            part_floats(p, "received_gates", CATEGORY_METADATA, p->style->scores, rows, one);
    flow_op(&p->flow, part_exchange(p, "dispatch"), FLOW(sent, *gates), FLOW(got, got_gates));
    *gates = got_gates;
    uint16_t order = part_table(p, "local_order", DTYPE_I32, rows, one);
    uint16_t out = part_rows(p, "sorted_rows", CATEGORY_DISPATCH, sorted, p->x.hidden);
    flow_op(&p->flow, part_move(p, "local_permute", OP_PERMUTE), FLOW(got, order), FLOW(out));
    return out;
}

uint16_t ragged_send_back(struct hold_path *p, uint16_t from, const struct row_dims *rows)
{
    struct row_dims back = ragged_rows(p);
    uint16_t unsorted = part_rows(p, "unsorted_rows", CATEGORY_DISPATCH, rows, p->x.hidden);
    flow_op(&p->flow, part_move(p, "local_unpermute", OP_PERMUTE), FLOW(from), FLOW(unsorted));
    uint16_t out = part_rows(p, "returned_rows", CATEGORY_DISPATCH, &back, p->x.hidden);
    flow_op(&p->flow, part_exchange(p, "return"), FLOW(unsorted), FLOW(out));
    return out;
}

static enum status sorted_path(struct hold_path *p, const struct row_dims *sorted,
                               uint16_t *output)
{
    struct row_dims rows = part_expert_rows(p, 1), back = ragged_rows(p);
    uint16_t gates, x = ragged_permute(p, &gates);
    if (ragged_spread(p)) {
        ragged_counts(p, 1);
        x = ragged_receive(p, x, &rows, sorted, &gates);
    }
    const struct row_dims *computed = ragged_spread(p) ? sorted : &back;
    uint16_t out = part_experts(p, x, computed, gates, OP_GROUPED_GEMM);
    if (ragged_spread(p))
        out = ragged_send_back(p, out, &rows);
    *output = part_combine(p, out, &back);
    return STATUS_OK;
}

enum status ragged_hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    if (!ragged_spread(p) && p->style->kernel != EXPERT_KERNEL_PLAIN) {
        struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
        *output = part_fused(p, p->input, &tokens);
        return STATUS_OK;
    }
    struct row_dims sorted = part_expert_rows(p, p->style->alignment);
    return sorted_path(p, &sorted, output);
}
