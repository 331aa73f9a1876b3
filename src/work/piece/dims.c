/* Shapes of a layer; see dims.h. */
#include "work/piece/dims.h"

#include "plan/derive.h"
#include "plan/mixer.h"
#include "plan/recipe.h"

static void fill_rows(struct dims *d)
{
    struct sizes *z = d->z;
    const struct letters *x = &d->letters;
    bool gathered = plan_token_ranks(d->plan) > 1;
    struct size *rows = d->rows;
    rows[ROW_LOCAL] = x->tokens;
    rows[ROW_FULL] =
        gathered ? size_mul(z, x->tokens, dims_token_ranks(z, d->plan)) : x->tokens;
    rows[ROW_TILE] = plan_mlp_tiles(d->plan) > 1
                         ? size_ceil_by(z, rows[ROW_FULL], plan_mlp_tiles(d->plan))
                         : rows[ROW_FULL];
    rows[ROW_HEAD] = plan_keeps_logits(d->plan) ? size_slot(z, SLOT_HEAD_ROWS) : rows[ROW_FULL];
    rows[ROW_NETWORK] = dims_over(z, plan_dense_replicas(d->plan), rows[ROW_FULL]);
    rows[ROW_GATHERED] = rows[ROW_RECEIVED_TOKENS] = size_mul(z, x->tokens, x->ranks);
    rows[ROW_IDENTITY] =
        size_times(z, x->tokens, d->plan->model.moe.top_k - plan_choices(d->plan));
    rows[ROW_SENT] = rows[ROW_RECEIVED] = rows[ROW_ROUTED] = rows_routed(x);
    rows[ROW_COMPUTED] = size_mul(z, rows[ROW_RECEIVED], size_slot(z, SLOT_ETP));
}

/* ---- widths ---- */

static struct size per_tp(struct dims *d, struct size width)
{
    return size_ceil_div(d->z, width, size_slot(d->z, SLOT_TP));
}

static struct size per_network(struct dims *d, struct size width)
{
    return size_ceil_div(d->z, width, dims_network_ranks(d->z, d->plan));
}

/* Of heads: over the ranks of tp that split them. */
static struct size per_heads(struct dims *d, struct size width)
{
    return size_ceil_div(d->z, width, dims_head_ranks(d->z, d->plan));
}

/* What queries meet by its number: the kernels' lists of numbers are as long as blocks of 64
 * (Megatron csa_utils/fused_sparse_attention.py, get_flash_mla_topk_alignment, of Blackwell);
 * of csa as many entries as the indexer chooses at most, of hca all of a sequence. */
static void fill_entries(struct dims *d, struct size head, struct size index)
{
    struct sizes *z = d->z;
    struct size csa = size_slot(z, SLOT_CSA_RATIO), hca = size_slot(z, SLOT_HCA_RATIO);
    struct size *w = d->width, block = size_const(z, 64);
    w[COL_WINDOW_PLACES] =
        size_round_up(z, size_const(z, d->plan->model.attention.window), block);
    if (plan_has_csa(d->plan)) {
        w[COL_CSA_ENTRY] = size_ceil_div(z, head, csa);
        w[COL_INDEX_ENTRY] = size_ceil_div(z, index, csa);
        w[COL_CSA_PLACES] = size_round_up(z, size_slot(z, SLOT_INDEX_TOP_K), block);
    }
    if (plan_has_hca(d->plan)) {
        w[COL_HCA_ENTRY] = size_ceil_div(z, head, hca);
        w[COL_HCA_PLACES] =
            size_round_up(z, size_div(z, size_slot(z, SLOT_SEQUENCE_FULL), hca), block);
    }
}

/* Columns of what entries of a mixer's layers are made of, and the indexer's keys of them;
 * whether their windows overlap or stand apart, as where entries are keys. */
static fact_set fill_parts(struct dims *d, enum mixer mixer)
{
    bool overflow = false, apart = mixer == MIXER_HCA || d->plan->model.attention.entry_keys;
    uint64_t parts = mixer_entry_parts(&d->plan->model, mixer, 1, &overflow);
    struct size head = size_slot(d->z, SLOT_HEAD_DIM), key = size_slot(d->z, SLOT_INDEX_DIM);
    d->width[apart ? COL_HCA_IN : COL_CSA_IN] = size_times(d->z, head, parts);
    d->width[COL_INDEX_IN] = size_times(d->z, key, parts);
    return apart ? FACT_HCA : FACT_CSA;
}

/* One head that is key and value, whole on every rank; groups of heads on theirs. Indexer's
 * keys are of entries (layer-kinds.md 1.8). */
static void fill_shared_widths(struct dims *d, struct size heads)
{
    struct sizes *z = d->z;
    struct size head = size_slot(z, SLOT_HEAD_DIM), *w = d->width;
    struct size groups = size_slot(z, SLOT_O_GROUPS), index = size_slot(z, SLOT_INDEX_DIM);
    w[COL_Q] = w[COL_CONTEXT] = w[COL_UP_OUT] = size_mul(z, heads, head);
    w[COL_K] = head;
    w[COL_V] = size_const(z, 0);
    fill_parts(d, MIXER_HCA);
    fill_parts(d, MIXER_CSA); /* whose indexer's keys stay */
    fill_entries(d, head, index);
    w[COL_GROUP_IN] = size_div(z, size_mul(z, size_slot(z, SLOT_HEADS), head), groups);
    w[COL_OUT_IN] = w[COL_O_RANKS] =
        size_mul(z, per_heads(d, groups), size_slot(z, SLOT_O_RANK));
}

static void fill_grouped_widths(struct dims *d, const struct head_slots *slots,
                                struct size heads)
{
    struct sizes *z = d->z;
    const struct attention a = model_attention(&d->plan->model, d->mixer);
    struct size *w = d->width, kv_heads = per_heads(d, size_slot(z, slots->kv_heads));
    w[COL_Q] = size_mul(z, heads, size_slot(z, slots->head_dim));
    w[COL_CONTEXT] = size_mul(z, heads, size_slot(z, slots->v_dim));
    w[COL_K] = size_mul(z, kv_heads, size_slot(z, slots->head_dim));
    w[COL_V] = size_mul(z, kv_heads, size_slot(z, slots->v_dim));
    w[COL_PROJECTED] = !dims_projects_kv(d->plan, d->mixer) ? w[COL_Q]
                       : a.k_eq_v                           ? size_add(z, w[COL_Q], w[COL_K])
                                  : size_sum(z, SIZES(w[COL_Q], w[COL_K], w[COL_V]));
    w[COL_UP_OUT] = w[COL_PROJECTED];
    w[COL_Q_GATED] = w[COL_Q];
    if (!a.output_gate)
        return;
    w[COL_Q_GATED] = w[COL_Q].node == w[COL_CONTEXT].node
                         ? size_times(z, w[COL_Q], 2)
                         : size_add(z, w[COL_Q], w[COL_CONTEXT]);
    w[COL_UP_OUT] = size_add(z, w[COL_UP_OUT], w[COL_CONTEXT]);
}

/* Ranks of cp before a rank's own whose keys its queries meet: all, or as far back as a window
 * reaches (AutoModel gemma4_moe/cp_attention.py, _ring_num_prior_chunks). */
static struct size ranks_before(struct dims *d)
{
    struct sizes *z = d->z;
    const struct plan *plan = d->plan;
    if (plan->parallel.cp == 1 || !model_borrows(&plan->model))
        return size_const(z, 0);
    struct size cp = size_slot(z, SLOT_CP), others = size_sub(z, cp, size_const(z, 1));
    if (mixer_owner(d->mixer) != MIXER_WINDOW)
        return others;
    struct size own = size_ceil_div(z, size_slot(z, SLOT_SEQUENCE_FULL), cp);
    return size_min(z, others,
                    size_ceil_div(z, size_const(z, plan->model.attention.window), own));
}

static void fill_attention_widths(struct dims *d)
{
    struct sizes *z = d->z;
    const struct head_slots slots = slots_of_heads(&d->plan->model, d->mixer);
    struct size heads = per_heads(d, size_slot(z, slots.heads)), *w = d->width;
    w[COL_HEADS] = heads;
    w[COL_SCORES] = size_mul(z, heads, size_slot(z, SLOT_SEQUENCE_FULL));
    w[COL_Q_RANK] = size_slot(z, SLOT_Q_RANK);
    w[COL_KV_RANK] = size_slot(z, SLOT_KV_RANK);
    w[COL_KV_LATENT] = size_add(z, w[COL_KV_RANK], size_slot(z, SLOT_ROPE_DIM));
    w[COL_SHARED_KV] = size_slot(z, SLOT_HEAD_DIM);
    if (d->plan->model.attention.kind == ATTENTION_SHARED_KV) {
        fill_shared_widths(d, heads);
    } else if (d->plan->model.attention.kind == ATTENTION_MLA) {
        struct size nope = size_slot(z, SLOT_NOPE_DIM), v = size_slot(z, SLOT_V_DIM);
        struct size qk = size_add(z, nope, size_slot(z, SLOT_ROPE_DIM));
        w[COL_Q] = w[COL_K] = size_mul(z, heads, qk);
        w[COL_V] = w[COL_CONTEXT] = size_mul(z, heads, v);
        w[COL_KV_UP] = size_mul(z, heads, size_add(z, nope, v));
        w[COL_UP_OUT] = size_add(z, w[COL_Q], w[COL_KV_UP]);
    } else {
        fill_grouped_widths(d, &slots, heads);
    }
    if (d->plan->model.attention.kind != ATTENTION_SHARED_KV)
        w[COL_OUT_IN] = w[COL_CONTEXT];
    w[COL_KV] = size_add(z, w[COL_K], w[COL_V]);
    w[COL_QKV] = size_sum(z, SIZES(w[COL_Q], w[COL_K], w[COL_V]));
    w[COL_RING_KV] = size_mul(z, ranks_before(d), w[COL_KV]);
    w[COL_RING_ALL] = size_add(z, w[COL_RING_KV], w[COL_KV]);
}

/* Of grouped queries the indexer chooses blocks, with a head for each group: they go over tp as
 * the groups do, unless all heads of pooled keys make one choice of tokens. */
static void fill_index_widths(struct dims *d)
{
    struct size *w = d->width, chosen = size_slot(d->z, SLOT_INDEX_TOP_K);
    w[COL_INDEX_HEADS] = size_slot(d->z, SLOT_INDEX_HEADS);
    if (d->plan->model.attention.kind == ATTENTION_GQA && !d->plan->model.indexer.pooled) {
        w[COL_INDEX_HEADS] = per_heads(d, w[COL_INDEX_HEADS]);
        chosen = size_mul(d->z, w[COL_INDEX_HEADS],
                          size_div(d->z, chosen, size_slot(d->z, SLOT_INDEX_BLOCK)));
    }
    uint64_t pool = model_index_pool(&d->plan->model);
    if (pool > 1) /* and what is there of the last pool */
        chosen = size_plus(d->z, chosen, pool - 1);
    w[COL_INDEX_K] = size_slot(d->z, SLOT_INDEX_DIM);
    w[COL_INDEX_Q] = size_mul(d->z, w[COL_INDEX_HEADS], w[COL_INDEX_K]);
    w[COL_INDEX_CHOSEN] = chosen;
}

/* What the input projection writes and the convolution sees: linear_widths as sizes. */
static void fill_linear_ends(struct dims *d, struct size keys, struct size values,
                             struct size heads)
{
    struct sizes *z = d->z;
    struct size qkv = size_add(z, size_times(z, keys, 2), values), zero = size_const(z, 0);
    struct size in[LINEAR_COUNT] = {
        [LINEAR_GATED_DELTA_NET] = size_sum(z, SIZES(qkv, values, size_times(z, heads, 2))),
        [LINEAR_KIMI_DELTA] = size_add(z, qkv, heads),
        [LINEAR_LIGHTNING] = size_add(z, qkv, values),
        [LINEAR_MAMBA2] = size_sum(z, SIZES(qkv, values, heads)),
        [LINEAR_MAMBA1] = size_times(z, values, 2),
        [LINEAR_SHORT_CONV] = size_times(z, values, 3)};
    enum linear_kind kind = d->plan->model.linear.kind;
    d->width[COL_LINEAR_IN] = in[kind];
    d->width[COL_LINEAR_CONV] = kind == LINEAR_LIGHTNING ? zero
                                : kind == LINEAR_MAMBA1  ? values
                                                         : qkv;
    d->width[COL_LINEAR_QKV] = qkv;
}

static void fill_linear_widths(struct dims *d)
{
    struct sizes *z = d->z;
    struct size *w = d->width, chunk = size_slot(z, SLOT_LINEAR_CHUNK);
    bool none = d->plan->model.linear.kind == LINEAR_SHORT_CONV;     /* no keys, no state */
    bool scan = none || d->plan->model.linear.kind == LINEAR_MAMBA1; /* tp splits channels */
    struct size heads = size_slot(z, SLOT_LINEAR_HEADS);
    struct size each = size_slot(z, SLOT_LINEAR_HEAD_DIM),
                key = none ? size_const(z, 0) : size_slot(z, SLOT_LINEAR_KEY_DIM);
    struct size groups = scan ? size_slot(z, SLOT_LINEAR_KEY_HEADS)
                              : per_tp(d, size_slot(z, SLOT_LINEAR_KEY_HEADS));
    struct size values =
        scan ? per_tp(d, size_mul(z, heads, each)) : size_mul(z, per_tp(d, heads), each);
    heads = scan ? heads : per_tp(d, heads);
    w[COL_LINEAR_HEADS] = heads;
    w[COL_LINEAR_GROUPS] = groups;
    w[COL_LINEAR_KEYS] = size_mul(z, groups, key);
    w[COL_LINEAR_VALUES] = values;
    fill_linear_ends(d, w[COL_LINEAR_KEYS], values, heads);
    w[COL_LINEAR_QK] = size_times(z, size_mul(z, heads, key), 2);
    w[COL_LINEAR_SCORES] = size_mul(z, heads, chunk);
    w[COL_LINEAR_STATES] = size_ceil_div(z, size_mul(z, values, key), chunk);
    w[COL_LINEAR_CHECKPOINTS] =
        size_ceil_div(z, size_times(z, size_mul(z, values, key), 2), size_const(z, 2048));
    w[COL_LINEAR_RANK] = size_slot(z, SLOT_LINEAR_RANK);
    w[COL_LINEAR_RANKS] =
        size_times(z, w[COL_LINEAR_RANK], d->plan->model.linear.full_rank_gate ? 1 : 2);
    w[COL_LINEAR_STEP] = size_add(z, w[COL_LINEAR_RANK], size_times(z, key, 2));
}

static bool has_linear(const struct dims *d)
{
    bool found = false;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        found |= d->kinds[k] && mixer_has(kind_mixer((enum layer_kind)k), MIXER_LINEAR);
    return found;
}

static void fill_stream_widths(struct dims *d)
{
    struct sizes *z = d->z;
    struct size n = size_slot(z, SLOT_STREAMS), *w = d->width;
    bool several = d->plan->model.residual_streams > 1;
    w[COL_STREAMS] = dims_streams(z, d->plan);
    bool apart = d->plan->model.residual_identity;
    enum { BALANCED = 2 * 20 }; /* rows and columns in turn, hc_sinkhorn_iters times */
    struct size zero = size_const(z, 0), both = size_times(z, n, 2);
    w[COL_STREAM_SQUARE] = several && !apart ? size_mul(z, n, n) : zero;
    w[COL_STREAM_MIXES] = several ? size_add(z, w[COL_STREAM_SQUARE], both) : zero;
    w[COL_STREAM_ADDED] = several ? size_add(z, w[COL_STREAM_SQUARE], n) : zero;
    w[COL_STREAM_BALANCE] = size_add(z, size_times(z, w[COL_STREAM_ADDED], BALANCED), n);
}

static void fill_block_widths(struct dims *d)
{
    struct sizes *z = d->z;
    struct size n = size_slot(z, SLOT_BLOCKS_OUT), *w = d->width;
    w[COL_BLOCK_SUMS] = size_mul(z, n, size_slot(z, SLOT_HIDDEN));
    w[COL_BLOCK_VALUES] = dims_with_blocks(z, d->plan, SLOT_BLOCKS_OUT);
    w[COL_BLOCK_STATISTICS] = size_plus(z, size_times(z, n, 2), 3);
}

static void fill_dense_widths(struct dims *d)
{
    struct size *w = d->width;
    w[COL_DENSE] = dims_dense_width(d->z, d->plan, d->mixer);
    w[COL_DENSE_IN] = size_times(d->z, w[COL_DENSE], d->plan->model.moe.glu ? 2 : 1);
}

/* Of full layers, of window layers, or both, as layers borrow them: widths at hand change. */
static void fill_lent(struct dims *d)
{
    static const enum mixer borrowers[] = {MIXER_BORROW, MIXER_WINDOW_BORROW};
    struct size sum = size_const(d->z, 0);
    for (unsigned i = 0; i < 2; i++) {
        if (!model_has_mixer(&d->plan->model, borrowers[i]))
            continue;
        d->mixer = borrowers[i];
        fill_attention_widths(d);
        sum = size_add(d->z, sum, d->width[COL_KV]);
    }
    d->mixer = MIXER_FULL;
    fill_attention_widths(d);
    d->width[COL_LENT] = sum;
}

static void fill_layer_embeddings(struct dims *d)
{
    struct size *w = d->width;
    w[COL_LAYER_EMBEDDING] = size_slot(d->z, SLOT_LAYER_EMBEDDING);
    w[COL_LAYER_EMBEDDINGS] =
        size_mul(d->z, size_slot(d->z, SLOT_LAYERS), w[COL_LAYER_EMBEDDING]);
}

static void fill_widths(struct dims *d)
{
    struct sizes *z = d->z;
    const struct model *model = &d->plan->model;
    uint64_t inputs = model->moe.glu ? 2 : 1;
    struct size *w = d->width;
    w[COL_ONE] = size_const(z, 1);
    w[COL_HIDDEN] = size_slot(z, SLOT_HIDDEN);
    w[COL_ROUTED] = w[COL_ROUTED_OUT] = d->letters.hidden;
    fill_stream_widths(d);
    if (d->plan->model.residual_block)
        fill_block_widths(d);
    fill_attention_widths(d);
    if (model_borrows(&d->plan->model))
        fill_lent(d);
    if (plan_embeds_layers(d->plan))
        fill_layer_embeddings(d);
    if (d->plan->model.indexer.heads)
        fill_index_widths(d);
    if (has_linear(d))
        fill_linear_widths(d);
    fill_dense_widths(d);
    w[COL_INTER] = d->letters.inter;
    w[COL_INTER_IN] = size_times(z, w[COL_INTER], inputs);
    w[COL_SHARED_INTER] = per_network(d, size_slot(z, SLOT_SHARED_INTER));
    w[COL_SHARED_IN] = size_times(z, w[COL_SHARED_INTER], inputs);
    w[COL_RESIDUAL_INTER] = per_network(d, size_slot(z, SLOT_RESIDUAL_INTER));
    w[COL_RESIDUAL_IN] = size_times(z, w[COL_RESIDUAL_INTER], inputs);
    w[COL_EXPERTS] = dims_choices(z, d->plan, d->letters.experts);
    w[COL_ROW_MAP] = size_plus(z, size_times(z, d->letters.experts, 2), 1);
    w[COL_TOP_K] = model->moe.zero_experts ? size_const(z, model->moe.top_k) : d->letters.top_k;
    w[COL_VOCAB] = dims_vocabulary(d->z, d->plan);
    w[COL_OUTPUTS] = model->labels ? size_slot(z, SLOT_LABELS) : w[COL_VOCAB];
}

static fact_set facts_of(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    const struct model_moe *moe = &plan->model.moe;
    const struct parallel *p = &plan->parallel;
    bool output_gate = a->output_gate && a->kind != ATTENTION_SHARED_KV,
         head_gate = a->head_gate && a->kind != ATTENTION_SHARED_KV,
         own_norm = model_has_network_norm(&plan->model);
    const struct {
        bool holds;
        fact_set fact;
    } facts[] = {
        {a->kind == ATTENTION_MLA, FACT_MLA},
        {a->kind == ATTENTION_GQA, FACT_GQA},
        {a->kind == ATTENTION_SHARED_KV, FACT_SHARED_KV},
        {a->kind != ATTENTION_SHARED_KV, FACT_KV_APART},
        {a->kind == ATTENTION_GQA && !a->q_lora_rank, FACT_QKV},
        {a->kind != ATTENTION_GQA, FACT_UNGROUPED},
        {a->q_lora_rank > 0, FACT_Q_LOW_RANK},
        {a->kind == ATTENTION_MLA && !a->q_lora_rank, FACT_Q_FULL_RANK},
        {a->kind == ATTENTION_GQA && a->qk_norm, FACT_QK_NORM},
        {output_gate, FACT_OUTPUT_GATE},
        {head_gate, FACT_HEAD_GATE},
        {output_gate || head_gate, FACT_GATED},
        {plan->stack.attention == BACKEND_FLASH, FACT_FLASH},
        {plan->stack.attention == BACKEND_UNFUSED, FACT_UNFUSED},
        {moe->glu, FACT_GLU},
        {moe->shared_intermediate > 0, FACT_SHARED},
        {plan->model.residual_intermediate > 0, FACT_RESIDUAL},
        {moe->latent_size > 0, FACT_LATENT},
        {moe->latent_size > 0 && moe->latent_norm, FACT_LATENT_NORM},
        {plan->model.linear.full_rank_gate, FACT_FULL_RANK_GATE},
        {!plan->model.linear.full_rank_gate, FACT_LOW_RANK_GATE},
        {plan->model.linear.full_rank_decay, FACT_FULL_RANK_DECAY},
        {!plan->model.linear.full_rank_decay, FACT_LOW_RANK_DECAY},
        {!plan->model.linear.bare, FACT_LINEAR_NORMS},
        {plan->model.residual_streams > 1, FACT_STREAMS},
        {plan->model.residual_block > 0, FACT_BLOCK_SUMS},
        {plan->model.residual_streams > 1 || plan->model.residual_block, FACT_WEIGHED},
        {model_borrows(&plan->model), FACT_LENDS},
        {plan_embeds_layers(plan), FACT_LAYER_EMBEDDING},
        {moe->zero_experts > 0, FACT_ZERO_EXPERTS},
        {plan_has_shortcut(plan), FACT_SHORTCUT},
        {!plan->model.side_by_side, FACT_IN_TURN},
        {plan->model.side_by_side, FACT_BESIDE},
        {!own_norm, FACT_BESIDE_SHARED},
        {own_norm, FACT_NETWORK_NORM},
        {!plan->model.norm_bias, FACT_CAST_NORM},
        {p->ep > 1, FACT_EP},
        {p->etp > 1, FACT_ETP},
        {moe->experts > p->ep, FACT_SORTED},
        {moe->experts <= p->ep, FACT_UNSORTED},
        {plan_token_ranks(plan) > 1, FACT_GATHER},
        {!plan->stack.compiled, FACT_EAGER},
        {p->cp > 1, FACT_CP},
        {p->cp > 1 && !model_borrows(&plan->model), FACT_RING},
        {p->cp > 1 && model_borrows(&plan->model), FACT_RING_AT_ONCE},
        {plan->stack.compiled, FACT_COMPILED},
        {recipe_format(plan) != DTYPE_NONE, FACT_RECIPE},
        {recipe_format(plan) != DTYPE_NONE && plan->precision.recipe == RECIPE_FP8_DELAYED,
         FACT_DELAYED},
    };
    fact_set held = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        held |= facts[i].holds ? facts[i].fact : 0;
    return held;
}

unsigned in_ffn(enum ffn ffn)
{
    static const unsigned in[FFN_COUNT] = {
        [FFN_DENSE] = IN_DENSE, [FFN_MOE] = IN_MOE, [FFN_NONE] = IN_NONE};
    return in[ffn];
}

void dims_mixer(struct dims *d, enum mixer mixer)
{
    const fact_set index = FACT_INDEX | FACT_SPARSE | FACT_INDEX_KEYS | FACT_CSA | FACT_HCA |
                           FACT_BLOCKS | FACT_INDEX_POOL;
    const fact_set own = FACT_INDEX | FACT_SPARSE | FACT_INDEX_KEYS |
                         (model_index_pool(&d->plan->model) > 1 ? FACT_INDEX_POOL : 0);
    const fact_set chosen[MIXER_COUNT] = {[MIXER_FULL] = own,
                                          [MIXER_REUSE] = FACT_SPARSE,
                                          [MIXER_CSA] = FACT_INDEX | FACT_SPARSE,
                                          [MIXER_CSA_REUSE] = FACT_SPARSE,
                                          [MIXER_TSA] = FACT_INDEX | FACT_SPARSE,
                                          [MIXER_TSA_CHOOSE] = FACT_INDEX | FACT_SPARSE,
                                          [MIXER_TSA_REUSE] = FACT_SPARSE,
                                          [MIXER_BLOCKS] = own | FACT_BLOCKS};
    const struct model *model = &d->plan->model;
    if (d->mix && d->mixer == mixer)
        return;
    bool window =
             (mixer_owner(mixer) == MIXER_WINDOW) != (mixer_owner(d->mixer) == MIXER_WINDOW),
         borrows = mixer_borrows(mixer) != mixer_borrows(d->mixer);
    d->mixer = mixer;
    if ((window && (model_has_own_window(model) || d->facts & FACT_RING_AT_ONCE)) || borrows)
        fill_attention_widths(d);
    if (borrows)
        fill_dense_widths(d);
    d->mix = mixer == MIXER_NONE ? MIX_NONE : mixer == MIXER_LINEAR ? 0 : MIX_SOFTMAX;
    if (mixer_has(mixer, MIXER_LINEAR))
        d->mix |= (unsigned)MIX_GATED_DELTA_NET << model->linear.kind;
    d->facts &= ~(index | FACT_K_EQ_V | FACT_OWN_KV | FACT_Q_ALONE | FACT_NO_ENTRIES);
    d->facts |= mixer_borrows(mixer) ? 0 : FACT_OWN_KV;
    d->facts |= dims_projects_kv(d->plan, mixer) ? 0 : FACT_Q_ALONE;
    d->facts |= model_attention(model, mixer).k_eq_v ? FACT_K_EQ_V : 0;
    if (model_has_indexer(model, mixer == MIXER_REUSE ? MIXER_FULL : mixer_source(mixer)))
        d->facts |= chosen[mixer];
    if (mixer_overlap(model, mixer))
        d->facts |= fill_parts(d, mixer);
    else if (d->facts & FACT_SHARED_KV)
        d->facts |= FACT_NO_ENTRIES;
}

void dims_fill(struct dims *d, const struct plan *plan, struct sizes *sizes)
{
    *d = (struct dims){.plan = plan, .z = sizes};
    d->letters = letters_over(sizes, plan);
    d->facts = facts_of(plan);
    model_kinds(&plan->model, d->kinds);
    fill_rows(d);
    fill_widths(d);
    dims_mixer(d, MIXER_FULL);
}
