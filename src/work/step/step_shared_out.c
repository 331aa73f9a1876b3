/* Attention over a cache whose tokens ranks share out; see step.h. */
#include "plan/engine.h"
#include "work/step/step.h"

/* Each rank has every query of the group and meets its part of the tokens; parts of a context
 * are weighed by their sums of exponentials and added up, each rank's heads on that rank (vLLM
 * v1/attention/ops/common.py, cp_lse_ag_out_rs; backends/flash_attn.py, mla/common.py). The
 * step's own tokens, which GQA's attend to apart, are few. Prompts have no cached tokens. */
static bool is_shared_out(const struct step *s)
{
    return s->decode && engine_cache_ranks(s->plan) > 1;
}

struct size step_all_heads(struct step *s, struct size width)
{
    return is_shared_out(s) ? size_times(s->l.z, width, engine_cache_ranks(s->plan)) : width;
}

uint16_t step_gathered_queries(struct step *s, uint16_t q)
{
    struct layer *l = &s->l;
    bool latent = s->d.facts & FACT_MLA;
    struct size width = latent
                            ? size_mul(l->z, s->d.width[COL_HEADS], s->d.width[COL_KV_LATENT])
                            : s->d.width[COL_Q];
    if (!is_shared_out(s))
        return q;
    uint16_t all = step_rows(s, "queries_gathered", CATEGORY_COMMUNICATION, s->d.rows[ROW_FULL],
                             step_all_heads(s, width));
    layer_collective(l, "gather_queries", GROUP_DCP, ALL_GATHER, q, all,
                     l->work->buffers[all].bytes);
    return all;
}

/* The rank's heads of a context that every rank has its part of. */
uint16_t step_summed_context(struct step *s, uint16_t context, struct size width)
{
    struct layer *l = &s->l;
    struct size rows = s->d.rows[ROW_FULL], heads = step_all_heads(s, s->d.width[COL_HEADS]);
    if (!is_shared_out(s))
        return context;
    uint16_t sums = layer_rows(l, "exponential_sums", CATEGORY_COMMUNICATION, DTYPE_F32,
                               layer_fixed(rows), heads);
    uint16_t all = layer_rows(l, "exponential_sums_gathered", CATEGORY_COMMUNICATION, DTYPE_F32,
                              layer_fixed(rows), step_all_heads(s, heads));
    layer_collective(l, "gather_exponential_sums", GROUP_DCP, ALL_GATHER, sums, all,
                     l->work->buffers[all].bytes);
    uint16_t weighed = step_rows(s, "weighed_context", CATEGORY_ATTENTION, rows,
                                 l->work->buffers[context].dims[1]);
    step_op(s, "weigh_context", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, context), MANY(1, true, false, all),
                     MANY(2, false, true, weighed)));
    uint16_t own = step_rows(s, "own_context", CATEGORY_ATTENTION, rows, width);
    layer_collective(l, "scatter_context", GROUP_DCP, REDUCE_SCATTER, weighed, own,
                     l->work->buffers[weighed].bytes);
    return own;
}
