/* Every rank sees every token of the group: all-gather in, partial sums exchanged and reduced
 * out (Neuron expert parallelism today; Megatron's allgather dispatcher). */
#include "work/layer/layer.h"

static uint16_t gathered(struct layer *l, const char *name, uint16_t src, struct extent all)
{
    struct buffer like = l->work->buffers[src];
    uint16_t dst = layer_rows(l, arena_join(l->arena, name, "_all"), like.category, like.dtype,
                              all, layer_width(l, src));
    layer_allgather(l, arena_join(l->arena, "gather_", name), src, dst);
    return dst;
}

struct everyone layer_gather_everyone(struct layer *l)
{
    struct everyone all = {.tokens = layer_fixed(size_mul(l->z, l->R, l->T))};
    all.x = gathered(l, "x", l->x, all.tokens);
    all.phys = gathered(l, "phys", l->phys, all.tokens);
    all.gates = gathered(l, "gates", l->gates, all.tokens);
    return all;
}

struct size layer_etp_tokens(struct layer *l)
{
    return layer_gathers_over_etp(l->plan) ? size_slot(l->z, SLOT_ETP) : l->one;
}

struct everyone layer_gather_etp(struct layer *l, const struct everyone *all)
{
    struct size rows = size_mul(l->z, all->tokens.rows, layer_etp_tokens(l));
    struct everyone etp = {.tokens = layer_fixed(rows)};
    if (!layer_gathers_over_etp(l->plan))
        return *all;
    etp.x = layer_over_etp(l, "x_etp", ALL_GATHER, all->x, etp.tokens, rows);
    etp.phys = layer_over_etp(l, "phys_etp", ALL_GATHER, all->phys, etp.tokens, rows);
    etp.gates = layer_over_etp(l, "gates_etp", ALL_GATHER, all->gates, etp.tokens, rows);
    return etp;
}

uint16_t layer_scatter_etp(struct layer *l, uint16_t sum)
{
    if (!layer_gathers_over_etp(l->plan))
        return sum;
    struct extent own = layer_fixed(size_mul(l->z, l->R, l->T));
    return layer_over_etp(l, "sum_etp", REDUCE_SCATTER, sum, own,
                          size_mul(l->z, own.rows, layer_etp_tokens(l)));
}

/* The rows of `from` in another dtype. */
static uint16_t rounded(struct layer *l, uint16_t from, enum dtype dtype, struct extent extent)
{
    if (l->work->buffers[from].dtype == dtype)
        return from;
    uint16_t to =
        layer_rows(l, "partial", CATEGORY_DISPATCH, dtype, extent, layer_width(l, from));
    layer_sum(l, "round_partial", from, to, l->one);
    return to;
}

uint16_t layer_reduce_everyone(struct layer *l, const char *name, uint16_t partial,
                               enum dtype wire, enum dtype dtype)
{
    struct extent all = layer_fixed(size_mul(l->z, l->R, l->T));
    uint16_t send = rounded(l, partial, wire, all);
    uint16_t parts = layer_rows(l, arena_join(l->arena, name, "_parts"), CATEGORY_DISPATCH,
                                l->work->buffers[send].dtype, all, layer_width(l, partial));
    layer_return_fixed(l, arena_join(l->arena, "scatter_", name), send, parts);
    uint16_t out =
        layer_rows(l, name, CATEGORY_ACTIVATION, dtype, l->tokens, layer_width(l, partial));
    layer_sum(l, arena_join(l->arena, "reduce_", name), parts, out, l->R);
    return out;
}

uint16_t layer_routed_everywhere(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t partial = layer_fan_compute(l, all.x, all.gates, all.phys, &fan, all.tokens);
    if (layer_shares_gathered(l)) {
        struct own_tokens own = layer_take(l, all.x);
        partial = layer_shared_added(l, partial);
        layer_take_back(l, &own);
    }
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}
