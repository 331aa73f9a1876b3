/* Larger pieces of paths: sorting, fanning out, swapping; see layer.h. */
#include "work/path/path.h"
#include "work/layer/layer.h"

struct sorted layer_sort(struct layer *l, bool by_expert)
{
    struct sorted s = {.order = layer_map(l, "order", l->slots),
                       .position = layer_map(l, "position", l->slots),
                       .counts = layer_counts(l, "counts", l->E),
                       .sends = layer_counts(l, "sends", l->R)};
    layer_op(l, (struct op){.name = "sort", .kernel = KERNEL_SORT, .args.sort = {by_expert}},
             OPERANDS(IN(PHYS, l->phys), OUT(ORDER, s.order), OUT(POSITION, s.position),
                      OUT(COUNTS, s.counts), OUT(SENDS, s.sends)));
    return s;
}

uint16_t layer_swap(struct layer *l, const char *name, uint16_t src, struct size m,
                    struct size n, struct size k)
{
    struct buffer like = l->work->buffers[src];
    like.name = name;
    uint16_t dst = work_buffer(l->work, like);
    layer_op(l,
             (struct op){.name = arena_join(l->arena, "to_", name),
                         .kernel = KERNEL_SWAP,
                         .args.swap = {{m}, {n}, {k}}},
             OPERANDS(IN(SRC, src), OUT(DST, dst)));
    return dst;
}

struct fan layer_fan(struct layer *l, uint16_t phys, uint16_t receives, struct extent rows)
{
    struct buffer tokens = l->work->buffers[phys];
    struct extent slots = {.rows = size_mul(l->z, tokens.dims[0], l->K), .rule = tokens.rule};
    struct fan fan = {.groups = layer_no_groups(),
                      .sizes = layer_counts(l, "group_sizes", l->e),
                      .index = layer_map(l, "fan_index", rows),
                      .place = layer_map(l, "fan_place", slots)};
    fan.groups.offsets = layer_counts(l, "group_offsets", size_add(l->z, l->e, l->one));
    layer_op(l, (struct op){.name = "fan", .kernel = KERNEL_FAN},
             OPERANDS(IN(PHYS, phys), IN(RECEIVES, receives), OUT(OFFSETS, fan.groups.offsets),
                      OUT(SIZES, fan.sizes), OUT(INDEX, fan.index), OUT(PLACE, fan.place)));
    return fan;
}

uint16_t layer_fan_compute(struct layer *l, uint16_t x, uint16_t gates, uint16_t phys,
                           const struct fan *fan, struct extent tokens)
{
    uint16_t rows =
        layer_rows(l, "x_expert", CATEGORY_DISPATCH, l->activation, l->received, l->H);
    layer_fan_out(l, "fan_out",
                  (struct gather){.src = x,
                                  .index = fan->index,
                                  .inverse = fan->place,
                                  .keys = phys,
                                  .dst = rows,
                                  .divide = l->K,
                                  .slots = l->K,
                                  .used = l->received.used},
                  gates);
    uint16_t y = layer_expert(l, rows, l->received, fan->groups);
    layer_mask(l, "mask_tail", y, fan->groups.offsets);
    uint16_t folded = layer_rows(l, "y_folded", CATEGORY_DISPATCH, l->combined, tokens, l->H);
    layer_combine(l, "fan_in",
                  (struct combine){.y = y,
                                   .position = fan->place,
                                   .gates = layer_gates_out(l, gates),
                                   .keys = phys,
                                   .inverse = fan->index,
                                   .handle = WORK_NONE,
                                   .out = folded,
                                   .slots = l->K,
                                   .used = l->received.used});
    return folded;
}

void layer_reorder(struct layer *l, const char *name, struct reorder r)
{
    layer_gather(l, name,
                 (struct gather){.src = r.src,
                                 .index = r.index,
                                 .inverse = r.inverse,
                                 .keys = WORK_NONE,
                                 .dst = r.dst,
                                 .divide = l->one,
                                 .slots = l->one,
                                 .used = r.used});
}

void layer_pack_slots(struct layer *l, const char *name, uint16_t index, uint16_t position,
                      uint16_t dst, struct size used)
{
    layer_fan_out(l, name,
                  (struct gather){.src = l->x,
                                  .index = index,
                                  .inverse = position,
                                  .keys = l->phys,
                                  .dst = dst,
                                  .divide = l->K,
                                  .slots = l->K,
                                  .used = used},
                  l->gates);
}

uint16_t layer_unpack_slots(struct layer *l, uint16_t y, uint16_t index, uint16_t position,
                            struct size used)
{
    uint16_t out =
        layer_rows(l, "routed_out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->H);
    layer_combine(l, "combine",
                  (struct combine){.y = y,
                                   .position = position,
                                   .gates = layer_gates_out(l, l->gates),
                                   .keys = l->phys,
                                   .inverse = index,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = l->K,
                                   .used = used});
    return out;
}

uint64_t layer_alignment(const struct plan *plan)
{
    return plan->moe.alignment ? plan->moe.alignment : path_alignment(plan->moe.path);
}

bool layer_computes_allocated(enum moe_path path, const struct plan *plan)
{
    return path_align(plan, path) == ALIGN_RDEP && plan->stack.kind != STACK_HOST;
}

uint64_t layer_computed_rows(enum moe_path path, const struct plan *plan, const uint64_t *v)
{
    const struct align_ask ask = {
        .rows = v[SLOT_ROWS], .experts = v[SLOT_LOCAL_EXPERTS], .align = v[SLOT_ALIGNMENT]};
    return layer_computes_allocated(path, plan) ? align_allocated(ALIGN_RDEP, &ask)
                                                : v[SLOT_PADDED_ROWS];
}

struct extent layer_padded(struct layer *l, uint64_t alignment)
{
    struct sizes *z = l->z;
    struct size a = size_const(z, alignment);
    struct extent padded = {.used = size_slot(z, SLOT_PADDED_ROWS), .rule = l->received.rule};
    struct size slack = size_mul(z, l->e, size_const(z, alignment - 1));
    padded.rows = l->received.rule == RULE_ROUTING
                      ? padded.used
                      : size_round_up(z, size_add(z, l->received.rows, slack), a);
    return padded;
}
