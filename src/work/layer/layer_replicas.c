/* Networks that are split over several replicas of attention, which have different tokens:
 * these are gathered before them, and the partial sums go back to the replica they are of.
 *
 * Over the replicas, and over the tp ranks of each as after any network that tp splits: the
 * volumes of both are those of one collective over all of them, ((n - 1) + 2 (tp - 1) / tp) T H
 * for n replicas (vLLM all2all.py AgRsAll2AllManager does just that; SGLang dp_attention.py
 * gathers over all ranks what each tp rank has of attention's sum). */
#include "plan/derive.h"
#include "work/piece/dims.h"
#include "work/layer/layer.h"

/* SGLang fills a buffer of all tokens by an all-reduce, and sums the whole again, where prompts
 * make the replicas' tokens uneven (DpPaddingMode.SUM_LEN of an extend); gathers and scatters
 * where each has as many. */
static bool reduces_all(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG && plan->workload.mode == MODE_PREFILL;
}

uint16_t layer_join(struct layer *l, const char *name, uint16_t x)
{
    const struct buffer *own = &l->work->buffers[x];
    struct size replicas = layer_group_ranks(l, GROUP_REPLICAS);
    struct extent all = layer_fixed(size_mul(l->z, own->dims[0], replicas));
    bool rows = own->category != CATEGORY_METADATA;
    uint16_t joined = layer_rows(l, arena_join(l->arena, name, "_joined"),
                                 rows ? CATEGORY_COMMUNICATION : own->category, own->dtype, all,
                                 layer_width(l, x));
    layer_collective(l, arena_join(l->arena, "join_", name), GROUP_REPLICAS,
                     reduces_all(l->plan) ? ALL_REDUCE : ALL_GATHER, x, joined,
                     l->work->buffers[joined].bytes);
    return joined;
}

uint16_t layer_own(struct layer *l, const char *name, uint16_t sums, struct size rows)
{
    uint16_t own =
        layer_rows(l, arena_join(l->arena, name, "_own"), CATEGORY_ACTIVATION,
                   l->work->buffers[sums].dtype, layer_fixed(rows), layer_width(l, sums));
    layer_collective(l, arena_join(l->arena, "part_", name), GROUP_REPLICAS,
                     reduces_all(l->plan) ? ALL_REDUCE : REDUCE_SCATTER, sums, own,
                     l->work->buffers[sums].bytes);
    return own;
}

uint16_t layer_part(struct layer *l, const char *name, uint16_t sums, struct size rows)
{
    uint16_t own = layer_own(l, name, sums, rows);
    if (l->plan->parallel.tp == 1)
        return own;
    return layer_all_reduced(l, arena_join(l->arena, name, "_sum"), GROUP_TP, own);
}

bool layer_joins(const struct layer *l)
{
    return l->listed && plan_joined_replicas(l->plan) > 1;
}

static void take_tokens(struct layer *l, struct size tokens)
{
    l->T = tokens;
    l->TK = size_mul(l->z, tokens, l->K);
    l->tokens = layer_fixed(l->T);
    l->slots = layer_fixed(l->TK);
    l->received = layer_received(l);
}

/* ---- the routed layer ---- */

struct own_tokens layer_take(struct layer *l, uint16_t x)
{
    struct own_tokens own = {l->x, l->phys, l->gates, l->T};
    l->x = x;
    take_tokens(l, l->work->buffers[x].dims[0]);
    return own;
}

void layer_take_back(struct layer *l, const struct own_tokens *own)
{
    l->x = own->x;
    l->phys = own->phys;
    l->gates = own->gates;
    take_tokens(l, own->tokens);
}

void layer_join_input(struct layer *l)
{
    (void)layer_take(l, layer_join(l, "moe_x", l->x));
}

struct own_tokens layer_join_routed(struct layer *l)
{
    struct own_tokens own = {l->x, l->phys, l->gates, l->T};
    l->phys = layer_join(l, "moe_phys", l->phys);
    l->gates = layer_join(l, "moe_gates", l->gates);
    layer_join_input(l);
    return own;
}

uint16_t layer_part_routed(struct layer *l, const struct own_tokens *own, uint16_t sums)
{
    layer_take_back(l, own);
    return layer_part(l, "routed", sums, own->tokens);
}
