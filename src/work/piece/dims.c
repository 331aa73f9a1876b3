/* Shapes of a layer; see dims.h. */
#include "work/piece/dims.h"

#include "plan/derive.h"
#include "work/piece/recipe.h"

static void fill_rows(struct dims *d)
{
    struct sizes *z = d->z;
    const struct letters *x = &d->letters;
    bool gathered = plan_token_ranks(d->plan) > 1;
    struct size *rows = d->rows;
    rows[ROW_LOCAL] = x->tokens;
    rows[ROW_FULL] = gathered ? size_mul(z, x->tokens, size_slot(z, SLOT_TP)) : x->tokens;
    rows[ROW_GATHERED] = rows[ROW_RECEIVED_TOKENS] = size_mul(z, x->tokens, x->ranks);
    rows[ROW_SENT] = rows[ROW_RECEIVED] = rows[ROW_ROUTED] = rows_routed(x);
    rows[ROW_COMPUTED] = size_mul(z, rows[ROW_RECEIVED], size_slot(z, SLOT_ETP));
}

/* ---- widths ---- */

static struct size per_tp(struct dims *d, struct size width)
{
    return size_ceil_div(d->z, width, size_slot(d->z, SLOT_TP));
}

static void fill_attention_widths(struct dims *d)
{
    struct sizes *z = d->z;
    struct size heads = per_tp(d, size_slot(z, SLOT_HEADS)), *w = d->width;
    w[COL_HEADS] = heads;
    w[COL_SCORES] = size_mul(z, heads, size_slot(z, SLOT_SEQUENCE_FULL));
    w[COL_Q_RANK] = size_slot(z, SLOT_Q_RANK);
    w[COL_KV_RANK] = size_slot(z, SLOT_KV_RANK);
    w[COL_KV_LATENT] = size_add(z, w[COL_KV_RANK], size_slot(z, SLOT_ROPE_DIM));
    if (d->plan->model.attention.kind == ATTENTION_MLA) {
        struct size nope = size_slot(z, SLOT_NOPE_DIM), v = size_slot(z, SLOT_V_DIM);
        struct size qk = size_add(z, nope, size_slot(z, SLOT_ROPE_DIM));
        w[COL_Q] = w[COL_K] = size_mul(z, heads, qk);
        w[COL_V] = w[COL_CONTEXT] = size_mul(z, heads, v);
        w[COL_KV_UP] = size_mul(z, heads, size_add(z, nope, v));
        w[COL_UP_OUT] = size_add(z, w[COL_Q], w[COL_KV_UP]);
    } else {
        struct size head = size_slot(z, SLOT_HEAD_DIM);
        w[COL_Q] = w[COL_CONTEXT] = size_mul(z, heads, head);
        w[COL_K] = w[COL_V] = size_mul(z, per_tp(d, size_slot(z, SLOT_KV_HEADS)), head);
        w[COL_UP_OUT] = size_sum(z, SIZES(w[COL_Q], w[COL_K], w[COL_V]));
    }
    w[COL_KV] = size_add(z, w[COL_K], w[COL_V]);
    w[COL_QKV] = size_sum(z, SIZES(w[COL_Q], w[COL_K], w[COL_V]));
}

/* Padded to a multiple of stack.vocab_multiple x tp. */
static struct size vocabulary(struct dims *d)
{
    uint64_t multiple = d->plan->stack.vocab_multiple;
    struct size vocab = size_slot(d->z, SLOT_VOCAB), tp = size_slot(d->z, SLOT_TP);
    if (multiple > 1)
        vocab = size_round_up(d->z, vocab, size_times(d->z, tp, multiple));
    return size_ceil_div(d->z, vocab, tp);
}

static void fill_widths(struct dims *d)
{
    struct sizes *z = d->z;
    uint64_t inputs = d->plan->model.moe.glu ? 2 : 1;
    struct size *w = d->width;
    w[COL_ONE] = size_const(z, 1);
    w[COL_HIDDEN] = d->letters.hidden;
    fill_attention_widths(d);
    w[COL_DENSE] = per_tp(d, size_slot(z, SLOT_DENSE_INTER));
    w[COL_DENSE_IN] = size_times(z, w[COL_DENSE], inputs);
    w[COL_INTER] = d->letters.inter;
    w[COL_INTER_IN] = size_times(z, w[COL_INTER], inputs);
    w[COL_SHARED_INTER] = per_tp(d, size_slot(z, SLOT_SHARED_INTER));
    w[COL_SHARED_IN] = size_times(z, w[COL_SHARED_INTER], inputs);
    w[COL_EXPERTS] = d->letters.experts;
    w[COL_ROW_MAP] = size_plus(z, size_times(z, d->letters.experts, 2), 1);
    w[COL_TOP_K] = d->letters.top_k;
    w[COL_VOCAB] = vocabulary(d);
}

static unsigned facts_of(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    const struct parallel *p = &plan->parallel;
    const struct {
        bool holds;
        unsigned fact;
    } facts[] = {
        {a->kind == ATTENTION_MLA, FACT_MLA},
        {a->kind == ATTENTION_GQA, FACT_GQA},
        {a->kind == ATTENTION_MLA && a->q_lora_rank, FACT_Q_LOW_RANK},
        {a->kind == ATTENTION_MLA && !a->q_lora_rank, FACT_Q_FULL_RANK},
        {a->kind == ATTENTION_GQA && a->qk_norm, FACT_QK_NORM},
        {plan->stack.attention == BACKEND_FLASH, FACT_FLASH},
        {plan->stack.attention == BACKEND_UNFUSED, FACT_UNFUSED},
        {plan->model.moe.shared_intermediate > 0, FACT_SHARED},
        {p->ep > 1, FACT_EP},
        {p->etp > 1, FACT_ETP},
        {plan->model.moe.experts > p->ep, FACT_SORTED},
        {plan->model.moe.experts <= p->ep, FACT_UNSORTED},
        {plan_token_ranks(plan) > 1, FACT_GATHER},
        {!plan->stack.compiled, FACT_EAGER},
        {p->cp > 1, FACT_CP},
        {plan->stack.compiled, FACT_COMPILED},
        {recipe_format(plan) != DTYPE_NONE, FACT_RECIPE},
    };
    unsigned held = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        held |= facts[i].holds ? facts[i].fact : 0;
    return held;
}

void dims_fill(struct dims *d, const struct plan *plan, struct sizes *sizes)
{
    *d = (struct dims){.plan = plan, .z = sizes};
    d->letters = letters_over(sizes, plan->parallel.ep);
    d->facts = facts_of(plan);
    fill_rows(d);
    fill_widths(d);
}
