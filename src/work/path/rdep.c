/* rdep: route rows with their records go to their owners in (token, k) order, are pooled by
 * expert into padded segments, and return by row id to the token's slot, where slots are summed
 * (seed 001; seed-systems.md A2). Padding rows are computed, as there. What stacks hold:
 * seed-systems.md A2, A3. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

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
    uint16_t home = layer_rows(l, arena_join(l->arena, name, "_returned"), like.category,
                               like.dtype, l->slots, width);
    uint16_t slots = layer_rows(l, arena_join(l->arena, name, "_slots"), like.category,
                                like.dtype, l->slots, width);
    layer_return(l, arena_join(l->arena, "return_", name),
                 (struct exchange){rows, p->receives, s->sends, home, WORK_NONE, from, sent});
    layer_reorder(l, arena_join(l->arena, "place_", name),
                  (struct reorder){home, s->position, s->order, slots, l->TK});
    return slots;
}

static uint16_t build(struct layer *l)
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
        l, (struct exchange){send, s.sends, p.receives, arrived, WORK_NONE, sent, from});
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

static enum align_kind align(const struct plan *plan)
{
    (void)plan;
    return ALIGN_RDEP;
}

static const char *const keeps[] = {"router_scores", "topk_indices", "topk_gates", NULL};

static void rdep_heaps(struct hold_path *p, uint16_t heap[2])
{
    heap[0] = part_heap(p, "rdep_x_buf", CATEGORY_COMMUNICATION, rdep_payload_bytes(&p->x),
                        "nmoe rdep.cu: R T K rows of 8 ceil(H / 8) bf16");
    part_heap(p, "rdep_records", CATEGORY_METADATA, rdep_record_bytes(&p->x),
              "nmoe rdep.cu: 16 bytes per row");
    heap[1] = part_heap(p, "rdep_tok_y", CATEGORY_COMMUNICATION, rdep_return_bytes(&p->x),
                        "nmoe rdep.cu: token slots and gates");
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    uint64_t multiple = p->style->alignment > 1 ? p->style->alignment : 1;
    struct row_dims got = part_expert_rows(p, 1), padded = got;
    padded.dims[0] = rdep_allocated_rows(&p->x, got.dims[0], multiple);
    uint16_t heap[2];
    rdep_heaps(p, heap);
    struct size one = size_const(s, 1);
    uint16_t order = part_table(p, "owner_order", DTYPE_I32, &got, one);
    struct tick put = part_exchange(p, "put");
    put.host_syncs = one;
    flow_op(&p->flow, put, FLOW(p->input, p->indices, p->gates), FLOW(heap[0]));
    flow_op(&p->flow, part_move(p, "owner_sort", OP_SORT), FLOW(heap[0]), FLOW(order));
    uint16_t x = part_rows(p, "x_pad", CATEGORY_DISPATCH, &padded, p->x.hidden);
    flow_op(&p->flow, part_move(p, "gather", OP_GATHER), FLOW(p->input, order), FLOW(x));
    uint16_t out = part_experts(p, x, &padded, WORK_NONE, OP_GROUPED_GEMM);
    flow_op(&p->flow, part_exchange(p, "return"), FLOW(out, order), FLOW(heap[1]));
    *output = part_output(p);
    flow_op(&p->flow, part_move(p, "slot_sum", OP_REDUCE), FLOW(out, heap[1], p->gates),
            FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_rdep = {
    .backward = true,
    .build = build,
    .hold = hold,
    .alignment = 128,
    .align = align,
    .exchange = EXCHANGE_ROWS,
    .computes = COMPUTES_RESERVED,
    .pools = true,
    .returns_gates = true,
    .keeps = keeps,
};
