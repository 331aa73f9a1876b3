/* Attention of ranks that share out a step's tokens, each with the keys of all of them: a
 * rank's queries are its own, keys and values are gathered before they are met and kept; see
 * step.h. vLLM v1/attention/ops/pcp.py 0.33; SGLang layers/cp/base.py 0.5.23,
 * materialize_full_kv and materialize_full_mla_kv. */
#include "plan/engine.h"
#include "work/step/step.h"

static bool shares_out(const struct step *s)
{
    return !s->training && engine_prompt_ranks(s->plan) > 1;
}

struct size step_key_rows(struct step *s)
{
    struct size own = s->d.rows[ROW_FULL];
    return shares_out(s) ? size_mul(s->l.z, own, dims_prompt_ranks(s->l.z, s->plan)) : own;
}

uint16_t step_keys_of_all(struct step *s, const char *name, uint16_t own)
{
    if (!shares_out(s) || own == WORK_NONE)
        return own;
    const struct buffer like = s->l.work->buffers[own];
    struct size rows = size_mul(s->l.z, like.dims[0], dims_prompt_ranks(s->l.z, s->plan));
    uint16_t all =
        layer_rows(&s->l, arena_join(s->l.arena, name, "_of_all"), CATEGORY_COMMUNICATION,
                   like.dtype, layer_fixed(rows), like.dims[1]);
    layer_collective(&s->l, arena_join(s->l.arena, "gather_", name), GROUP_PROMPT, ALL_GATHER,
                     own, all, s->l.work->buffers[all].bytes);
    return all;
}

/* Of SGLang, whose ranks of a prompt are some of tp: vLLM's have their own between layers. */
static bool divides_tp(const struct step *s)
{
    return !s->training && s->plan->stack.kind == STACK_SGLANG &&
           s->plan->parallel.attention_cp > 1;
}

/* Where tp shares the tokens out between layers, those that split heads gather theirs;
 * elsewhere a rank takes its part of what it has. */
uint16_t step_prompt_in(struct step *s, uint16_t x)
{
    struct sizes *z = s->l.z;
    if (!divides_tp(s) || s->decode)
        return x;
    struct size rows = size_ceil_div(z, s->d.rows[ROW_FULL], dims_prompt_ranks(z, s->plan));
    uint16_t own = step_rows(s, "prompt_part", CATEGORY_COMMUNICATION, rows,
                             s->l.work->buffers[x].dims[1]);
    if (s->d.facts & FACT_GATHER)
        layer_collective(&s->l, "gather_prompt_part", GROUP_HEADS, ALL_GATHER, x, own,
                         s->l.work->buffers[own].bytes);
    else
        step_taken(s, "take_prompt_part", x, own);
    s->d.facts &= ~FACT_GATHER;
    s->d.rows[ROW_LOCAL] = s->d.rows[ROW_FULL] = s->d.rows[ROW_NETWORK] = rows;
    return own;
}

/* The sum over the ranks that split heads. Behind a network that has every token the list has
 * an all-reduce; of a prompt in parts that is a scatter, and its second half what is gathered
 * here, before the network (layers/layer_boundary/boundary.py): serve_kernels.c takes the
 * gather for paid. */
uint16_t step_prompt_out(struct step *s, const char *name, uint16_t x)
{
    struct layer *l = &s->l;
    if (!divides_tp(s))
        return step_reduced(s, name, x);
    struct buffer like = l->work->buffers[x];
    bool scatters = s->d.facts & FACT_GATHER;
    uint16_t sum = scatters
                       ? step_rows(s, name, like.category, s->d.rows[ROW_LOCAL], like.dims[1])
                       : layer_all_reduced(l, name, GROUP_HEADS, x);
    if (scatters)
        layer_collective(l, arena_join(l->arena, "scatter_", name), GROUP_HEADS, REDUCE_SCATTER,
                         x, sum, like.bytes);
    if (scatters || s->decode)
        return sum;
    uint16_t whole = step_rows(s, arena_join(l->arena, name, "_of_all"), CATEGORY_COMMUNICATION,
                               s->d.rows[ROW_LOCAL], like.dims[1]);
    layer_collective(l, arena_join(l->arena, "gather_", name), GROUP_PROMPT, ALL_GATHER, sum,
                     whole, l->work->buffers[whole].bytes);
    return whole;
}
