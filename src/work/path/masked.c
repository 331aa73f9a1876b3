/* masked: every local expert computes every token, and a mask keeps what was routed to it
 * (seed 003's naive scan). */
#include "work/path/path.h"

/* Which slot a row of expert x is: maps over [e, R T]; only gates that scale need them. */
struct slot_maps {
    uint16_t place, index;
};

static struct slot_maps map_slots(struct layer *l, const struct everyone *all)
{
    struct sizes *z = l->z;
    struct slot_maps s = {
        layer_map(l, "place", layer_fixed(size_mul(z, all->tokens.rows, l->K))),
        layer_map(l, "index", layer_fixed(size_mul(z, l->e, all->tokens.rows)))};
    layer_op(l, (struct op){.name = "table", .kernel = KERNEL_TABLE},
             OPERANDS(IN(PHYS, all->phys), OUT(PLACE, s.place), OUT(INDEX, s.index)));
    return s;
}

/* The tokens as this iteration's expert sees them: its own scaled, the others zero. */
static uint16_t scaled(struct layer *l, const struct everyone *all, const struct slot_maps *s)
{
    struct extent rows = all->tokens;
    rows.used = size_mul(l->z, l->e, rows.rows);
    uint16_t x = layer_rows(l, "x_scaled", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "scale",
                         .kernel = KERNEL_GATHER,
                         .args.gather = {.divide = {l->K},
                                         .slots = {l->K},
                                         .part = {.rows = {rows.rows}, .by_iteration = true}},
                         .bytes_read = layer_traffic(l, rows.used, all->x),
                         .bytes_written = layer_traffic(l, rows.used, x)},
             OPERANDS(IN(SRC, all->x), IN(INDEX, s->index), IN(INVERSE, s->place),
                      IN(KEYS, all->phys), IN(GATES, all->gates), OUT(DST, x)));
    return x;
}

uint16_t path_masked_build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    bool scales = layer_gates_in(l, all.gates) != WORK_NONE;
    struct slot_maps slots = {WORK_NONE, WORK_NONE};
    if (scales)
        slots = map_slots(l, &all);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, sum)));
    layer_loop_begin(l, l->e, WORK_NONE);
    struct groups turn = layer_no_groups();
    turn.turn = true;
    struct extent rows = all.tokens;
    rows.used = size_mul(l->z, l->e, rows.rows);
    uint16_t x = scales ? scaled(l, &all, &slots) : all.x;
    uint16_t y = layer_expert(l, x, rows, turn);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .bytes_read = layer_traffic(l, rows.used, y)},
             OPERANDS(IN(SRC, y), IN(GATES, layer_gates_out(l, all.gates)), IN(PHYS, all.phys),
                      INOUT(DST, sum)));
    layer_loop_end(l);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}
