/* chunked_a2a: rounds of C rows per (source, expert) through equal all-to-alls, as many rounds
 * as the fullest queue needs (seed 003; seed-systems.md C2). With moe.overlap a round's
 * dispatch is under way while the one before is computed. What stacks hold: seed-systems.md C2.
 */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

/* Rounds that all ranks agree on: the largest count of any source and expert, in chunks. */
static uint16_t agree_rounds(struct layer *l, uint16_t counts)
{
    uint16_t most = layer_counts(l, "most", l->one);
    uint16_t all = layer_counts(l, "most_all", l->R);
    uint16_t rounds = layer_counts(l, "rounds", l->one);
    layer_op(l, (struct op){.name = "most", .kernel = KERNEL_MOST},
             OPERANDS(IN(COUNTS, counts), OUT(DST, most)));
    layer_allgather(l, "gather_most", most, all);
    layer_op(l,
             (struct op){.name = "rounds",
                         .kernel = KERNEL_ROUNDS,
                         .args.chunk = {{size_slot(l->z, SLOT_CHUNK)}},
                         .host_syncs = l->one},
             OPERANDS(IN(COUNTS, all), OUT(DST, rounds)));
    return rounds;
}

/* Buffers of a round in flight: two copies when rounds overlap. */
static uint16_t round_buffer(struct layer *l, const char *name, enum category category,
                             enum dtype dtype, struct extent slots, struct size width)
{
    uint16_t buffer = layer_rows(l, name, category, dtype, slots, width);
    if (l->plan->moe.overlap)
        l->work->buffers[buffer].count = size_const(l->z, 2);
    return buffer;
}

struct round {
    uint16_t index, home, send, arrived;
};

/* Picks this round's rows and sends them; ahead of the computation when rounds overlap. */
static struct round send_round(struct layer *l, const struct sorted *s, struct extent slots)
{
    size_t first = l->work->n_ops;
    struct round r = {
        .index = round_buffer(l, "chunk_index", CATEGORY_METADATA, DTYPE_I32, slots, l->one),
        .home = round_buffer(l, "chunk_home", CATEGORY_METADATA, DTYPE_I32, slots, l->one),
        .send = round_buffer(l, "x_chunk", CATEGORY_DISPATCH, l->activation, slots, l->H),
        .arrived =
            round_buffer(l, "x_received", CATEGORY_DISPATCH, l->activation, slots, l->H)};
    layer_op(l,
             (struct op){.name = "chunk",
                         .kernel = KERNEL_CHUNK,
                         .args.chunk = {{size_slot(l->z, SLOT_CHUNK)}}},
             OPERANDS(IN(ORDER, s->order), IN(COUNTS, s->counts), OUT(INDEX, r.index),
                      OUT(HOME, r.home)));
    layer_fan_out(l, "fill_chunk",
                  (struct gather){.src = l->x,
                                  .index = r.index,
                                  .inverse = WORK_NONE,
                                  .keys = WORK_NONE,
                                  .dst = r.send,
                                  .divide = l->K,
                                  .slots = l->one,
                                  .used = size_mul(l->z, l->trips, slots.rows)},
                  l->gates);
    layer_exchange_fixed(l, "dispatch", r.send, r.arrived);
    for (size_t i = first; l->plan->moe.overlap && i < l->work->n_ops; i++)
        l->work->ops[i].ahead = true;
    return r;
}

static uint16_t build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size chunk = size_slot(z, SLOT_CHUNK), rounds = size_slot(z, SLOT_ROUNDS);
    struct extent slots = layer_fixed(size_mul(z, l->E, chunk));
    struct sorted s = layer_sort(l, true);
    uint16_t trips = agree_rounds(l, s.counts);
    uint16_t sums = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_op(l, (struct op){.name = "zero_y", .kernel = KERNEL_ZERO}, OPERANDS(OUT(DST, sums)));

    layer_loop_begin(l, rounds, trips);
    struct round r = send_round(l, &s, slots);
    uint16_t x = layer_swap(l, "x_expert", r.arrived, l->R, l->e, chunk);
    l->work->buffers[x].count = l->one;
    struct extent computed = slots;
    computed.used = size_mul(z, rounds, slots.rows);
    uint16_t y = layer_expert(l, x, computed, layer_no_groups());
    uint16_t back = layer_swap(l, "y_received", y, l->e, l->R, chunk);
    uint16_t home = layer_rows(l, "y_chunk", CATEGORY_DISPATCH, l->combined, slots, l->H);
    layer_return_fixed(l, "return", back, home);
    layer_op(l, (struct op){.name = "scatter_chunk", .kernel = KERNEL_SCATTER, .rows = l->TK},
             OPERANDS(IN(SRC, home), IN(INDEX, r.home), INOUT(DST, sums)));
    layer_loop_end(l);

    return layer_unpack_slots(l, sums, s.order, s.position, l->TK);
}

/* Send [E, C, H] and receive [e, R C, H] of a round; a second pair where rounds overlap. */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct size chunk = size_slot(s, SLOT_CHUNK), rounds = chunk_rounds(&p->x, chunk);
    struct size pairs = size_const(s, p->plan->moe.overlap ? 2 : 1);
    if (p->style->flow.backward) /* autograd keeps every round's chunks */
        pairs = size_max(s, pairs, rounds);
    struct row_dims send = {3, {pairs, p->x.experts, chunk}, RULE_FIXED};
    struct row_dims receive = {
        3, {pairs, p->x.local, size_mul(s, p->x.ranks, chunk)}, RULE_FIXED};
    struct row_dims routed = rows_of(rows_routed(&p->x), RULE_FIXED);
    struct size one = size_const(s, 1);
    uint16_t order = part_table(p, "sort_order", DTYPE_I32, &routed, one);
    flow_op(&p->flow, part_move(p, "sort", OP_SORT), FLOW(p->indices), FLOW(order));
    uint16_t sent = part_rows(p, "send_chunk", CATEGORY_DISPATCH, &send, p->x.hidden);
    uint16_t got = part_rows(p, "received_chunk", CATEGORY_DISPATCH, &receive, p->x.hidden);
    uint16_t back = part_rows(p, "returned_chunk", CATEGORY_DISPATCH, &send, p->x.hidden);
    uint16_t all = part_rows(p, "returned_rows", CATEGORY_DISPATCH, &routed, p->x.hidden);
    flow_op(&p->flow, part_move(p, "pack_chunk", OP_PACK), FLOW(p->input, order), FLOW(sent));
    flow_op(&p->flow, part_exchange(p, "dispatch"), FLOW(sent), FLOW(got));
    uint16_t out = part_experts(p, got, &receive, WORK_NONE, OP_BATCHED_GEMM);
    flow_op(&p->flow, part_exchange(p, "return"), FLOW(out), FLOW(back));
    flow_op(&p->flow, part_move(p, "scatter_chunk", OP_PACK), FLOW(back, order), FLOW(all));
    *output = part_combine(p, all, &routed);
    return STATUS_OK;
}

const struct path_system path_chunked_a2a = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_CHUNKS,
    .computes = COMPUTES_RESERVED,
    .loads = LOADS_ROUNDS,
};
