/* See mixer.h. Every product is checked: a model file may hold anything. */
#include "plan/mixer.h"

#include "base/checked.h"

/* a * b * c */
/* a * b + c */
static uint64_t mul_add(uint64_t a, uint64_t b, uint64_t c, bool *overflow)
{
    return checked_add(checked_mul(a, b, overflow), c, overflow);
}

/* ---- attention ---- */

/* Width of the q and k vectors of one head. */
static uint64_t qk_dim(const struct attention *attention, bool *overflow)
{
    if (attention->kind != ATTENTION_MLA)
        return attention->head_dim;
    return checked_add(attention->qk_nope_head_dim, attention->qk_rope_head_dim, overflow);
}

/* q [H, h d], k [H, h_kv d], v [H, h_kv dv] unless keys are values, o [h dv, H]; a gate as wide
 * as o's input, or of one column a head. Layers that borrow keys have neither k nor v, nor a
 * norm of keys. With a rank of queries q is [H, r], a norm and [r, h d] (vLLM
 * models/step3_text.py, Step3TextAttention). */
static struct params_part count_gqa(const struct model *model, const struct attention *a,
                                    bool borrows, bool *overflow)
{
    uint64_t q = checked_mul(a->heads, a->head_dim, overflow);
    uint64_t k = borrows ? 0 : checked_mul(a->kv_heads, a->head_dim, overflow);
    uint64_t v = a->k_eq_v || borrows ? 0 : checked_mul(a->kv_heads, a->v_head_dim, overflow);
    uint64_t context = checked_mul(a->heads, a->v_head_dim, overflow);
    uint64_t qkv = checked_add(q, checked_add(k, v, overflow), overflow), rank = a->q_lora_rank;
    uint64_t read = rank ? checked_add(rank, checked_add(k, v, overflow), overflow) : qkv;
    uint64_t width = mul_add(a->output_gate ? 2 : 1, context, read, overflow);
    if (a->head_gate)
        width = checked_add(width, a->heads, overflow);
    struct params_part part = {
        .matrices = mul_add(width, model->hidden, checked_mul(rank, q, overflow), overflow),
        .norms = rank};
    if (a->qk_norm)
        part.norms = a->qk_norm_all_heads ? checked_add(q, k, overflow)
                                          : checked_mul(borrows ? 1 : 2, a->head_dim, overflow);
    if (a->bias)
        part.biases = qkv;
    if (a->sinks)
        part.biases = checked_add(part.biases, a->heads, overflow);
    return part;
}

/* q down [H, r_q], q up [r_q, h (nope + rope)] or q [H, h (nope + rope)] alone,
 * kv down [H, r_kv + rope], kv up [r_kv, h (nope + v)], o [h v, H], with a gate another [H, h
 * v], or [H, h] where heads have one each (vLLM models/bailing_moe_v3.py,
 * BailingMoeV3MLAAttention); norms on both low ranks; a sink for each head */
static struct params_part count_mla(const struct model *model, bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t q = checked_mul(a->heads, qk_dim(a, overflow), overflow);
    uint64_t down = checked_add(a->kv_lora_rank, a->qk_rope_head_dim, overflow);
    uint64_t v = checked_mul(a->heads, a->v_head_dim, overflow);
    uint64_t up =
        checked_add(checked_mul(a->heads, a->qk_nope_head_dim, overflow), v, overflow);
    uint64_t from_hidden = checked_add(mul_add(a->output_gate ? 2 : 1, v, down, overflow),
                                       a->q_lora_rank ? a->q_lora_rank : q, overflow);
    if (a->head_gate)
        from_hidden = checked_add(from_hidden, a->heads, overflow);
    uint64_t from_rank = checked_add(checked_mul(a->kv_lora_rank, up, overflow),
                                     checked_mul(a->q_lora_rank, q, overflow), overflow);
    uint64_t biases = a->bias ? checked_add(a->q_lora_rank, down, overflow) : 0;
    return (struct params_part){
        .matrices =
            checked_add(checked_mul(model->hidden, from_hidden, overflow), from_rank, overflow),
        .norms = checked_add(a->q_lora_rank, a->kv_lora_rank, overflow),
        .biases = checked_add(biases, a->sinks ? a->heads : 0, overflow),
    };
}

/* ---- one head that is key and value (layer-kinds.md 1.8) ---- */

uint64_t mixer_ratio(const struct model *model, enum mixer mixer)
{
    const struct attention *a = &model->attention;
    enum mixer source = mixer_source(mixer);
    return source == MIXER_CSA   ? a->csa_ratio
           : source == MIXER_HCA ? a->hca_ratio
                                 : source == MIXER_TSA;
}

uint64_t mixer_overlap(const struct model *model, enum mixer mixer)
{
    if (mixer_source(mixer) != mixer || !mixer_ratio(model, mixer))
        return 0;
    return mixer == MIXER_CSA && !model->attention.entry_keys ? 2 : 1;
}

uint64_t mixer_entry_parts(const struct model *model, enum mixer mixer, uint64_t size,
                           bool *overflow)
{
    uint64_t gated = mixer_ratio(model, mixer) > 1 ? 2 : 1;
    return checked_mul3(gated, mixer_overlap(model, mixer), size, overflow);
}

/* Of an entry of `size`: kv and gate [H, o size] each. */
static uint64_t compressor_matrices(const struct model *model, enum mixer mixer, uint64_t size,
                                    bool *overflow)
{
    return checked_mul(mixer_entry_parts(model, mixer, size, overflow), model->hidden,
                       overflow);
}

/* Of the gates of an entry's tokens by their places [ratio, o size], but where windows do not
 * overlap and keys are made of entries (transformers deepseek_v41/modular_deepseek_v41.py,
 * DeepseekV41Compressor, which has none). */
static uint64_t place_biases(const struct model *model, enum mixer mixer, uint64_t size,
                             bool *overflow)
{
    if (model->attention.entry_keys)
        return 0;
    return checked_mul3(mixer_ratio(model, mixer), mixer_overlap(model, mixer), size, overflow);
}

/* q down [H, r_q] and kv [H, d]: with the compressor what reads the hidden state. */
static uint64_t shared_whole(const struct model *model, enum mixer mixer, bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t down = checked_mul(checked_add(a->q_lora_rank, a->head_dim, overflow),
                                model->hidden, overflow);
    return checked_add(down, compressor_matrices(model, mixer, a->head_dim, overflow),
                       overflow);
}

/* q up [r_q, h d], o down [h d / g, r_o] of each of g groups, o up [g r_o, H]; norms on q's
 * rank and the head, another on an entry, and a bias of its gates. */
static struct params_part count_shared(const struct model *model, enum mixer mixer,
                                       bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t q = checked_mul(a->heads, a->head_dim, overflow), d = a->head_dim;
    uint64_t ranks = checked_add(a->q_lora_rank, a->o_lora_rank, overflow);
    uint64_t up = checked_mul3(a->o_groups, a->o_lora_rank, model->hidden, overflow);
    bool makes = mixer_overlap(model, mixer) > 0;
    struct params_part part = {
        .matrices = checked_add(shared_whole(model, mixer, overflow),
                                mul_add(ranks, q, up, overflow), overflow),
        .norms = checked_add(a->q_lora_rank, makes ? checked_mul(2, d, overflow) : d, overflow),
        .biases = place_biases(model, mixer, d, overflow)};
    if (a->sinks)
        part.biases = checked_add(part.biases, a->heads, overflow);
    return part;
}

/* ---- the indexer of sparse attention ---- */

/* Of entries: from a compressor of their own in place of wk, or a wk [di, d] of what makes
 * entries; none where those of an earlier layer are read. */
static uint64_t entry_key_matrices(const struct model *model, enum mixer mixer, bool *overflow)
{
    uint64_t size = model->indexer.head_dim;
    if (!model->attention.entry_keys)
        return compressor_matrices(model, mixer, size, overflow);
    return mixer_overlap(model, mixer) ? checked_mul(size, model->attention.head_dim, overflow)
                                       : 0;
}

/* wq_b [ni di, q rank], wk [di, H], weights [ni, H]; whole on every rank of tp. Keys of several
 * tokens are weighed into one by a gate [di, H] (transformers glm5_next/modular_glm5_next.py,
 * Glm5NextTextIndexer). Of blocks q and k alone, [ni di, H] and [di, H] (transformers
 * minimax_m3_vl/modular_minimax_m3_vl.py, MiniMaxM3VLIndexer). */
uint64_t mixer_indexer_matrices(const struct model *model, enum mixer mixer, bool *overflow)
{
    const struct indexer *i = &model->indexer;
    if (!model_has_indexer(model, mixer))
        return 0;
    if (mixer == MIXER_BLOCKS)
        return checked_mul3(checked_add(i->heads, 1, overflow), i->head_dim, model->hidden,
                            overflow);
    uint64_t q = checked_mul3(i->heads, i->head_dim, model->attention.q_lora_rank, overflow);
    uint64_t keys = mixer_ratio(model, mixer)
                        ? entry_key_matrices(model, mixer, overflow)
                        : checked_mul3(i->head_dim, model->hidden,
                                       model_index_pool(model) > 1 ? 2 : 1, overflow);
    return mul_add(i->heads, model->hidden, checked_add(keys, q, overflow), overflow);
}

/* A LayerNorm with its bias, or of blocks a norm of queries and one of keys; of entries' keys,
 * where they are made, a norm, and the compressor's bias; of several tokens' a bias of the gate
 * by their places. */
static void indexer_vectors(const struct model *model, enum mixer mixer,
                            struct params_part *part, bool *overflow)
{
    uint64_t size = model->indexer.head_dim, keys = checked_mul(2, size, overflow);
    if (!model_has_indexer(model, mixer))
        return;
    if (mixer_ratio(model, mixer)) {
        part->biases =
            checked_add(part->biases, place_biases(model, mixer, size, overflow), overflow);
        keys = mixer_overlap(model, mixer) ? size : 0;
    }
    if (model_index_pool(model) > 1)
        part->biases = mul_add(model_index_pool(model), size, part->biases, overflow);
    part->norms = checked_add(part->norms, keys, overflow);
}

/* ---- recurrences ---- */

struct linear_width linear_widths(const struct model *model, bool *overflow)
{
    const struct linear *l = &model->linear;
    uint64_t keys = checked_mul(l->key_heads, l->key_dim, overflow);
    uint64_t values = checked_mul(l->heads, l->head_dim, overflow), both;
    struct linear_width w = {.keys = keys, .values = values};
    switch (l->kind) {
    case LINEAR_GATED_DELTA_NET: /* q, k, v, z; b and a */
        w.conv = mul_add(2, keys, values, overflow);
        both = checked_add(w.conv, values, overflow);
        w.in = mul_add(2, l->heads, both, overflow);
        break;
    case LINEAR_KIMI_DELTA: /* q, k, v; b */
        w.conv = checked_mul(3, values, overflow);
        w.in = checked_add(w.conv, l->heads, overflow);
        break;
    case LINEAR_LIGHTNING: /* q, k, v and the output gate */
        w.in = checked_mul(4, values, overflow);
        break;
    case LINEAR_MAMBA2: /* z; x, B, C; dt */
        w.conv = mul_add(2, keys, values, overflow);
        both = checked_add(w.conv, values, overflow);
        w.in = checked_add(both, l->heads, overflow);
        break;
    case LINEAR_MAMBA1: /* x and z */
        w.conv = values;
        w.in = checked_mul(2, values, overflow);
        w.step = mul_add(2, l->key_dim, l->rank, overflow);
        break;
    case LINEAR_SHORT_CONV: /* both gates and what they gate */
        w.keys = 0;
        w.conv = values;
        w.in = checked_mul(3, values, overflow);
        break;
    case LINEAR_COUNT:
        break;
    }
    return w;
}

/* Vectors: norms, and what stands per head or channel (A_log, D, dt_bias). */
static void linear_vectors(const struct model *model, uint64_t values, struct params_part *part,
                           bool *overflow)
{
    const struct linear *l = &model->linear;
    switch (l->kind) {
    case LINEAR_GATED_DELTA_NET:
        part->norms = l->head_dim;
        part->biases = checked_mul(2, l->heads, overflow);
        break;
    case LINEAR_KIMI_DELTA:
        part->norms = l->head_dim;
        part->biases = checked_add(l->heads, values, overflow);
        break;
    case LINEAR_LIGHTNING: /* and norms of queries and keys, as attention's (Ling-2.5) */
        part->norms = mul_add(model->attention.qk_norm ? 2 : 0, l->head_dim, values, overflow);
        break;
    case LINEAR_MAMBA2:
        part->norms = l->bare ? 0 : values;
        part->biases = checked_mul(3, l->heads, overflow);
        break;
    case LINEAR_MAMBA1:
        part->norms = l->bare ? 0 : mul_add(2, l->key_dim, l->rank, overflow);
        part->biases = mul_add(l->key_dim, values, checked_mul(3, values, overflow), overflow);
        break;
    case LINEAR_SHORT_CONV:
    case LINEAR_COUNT:
        break;
    }
}

/* Gates of KDA that are one matrix [H, values]: the output's, the decay's. */
static uint64_t full_rank_gates(const struct linear *l)
{
    return (uint64_t)l->full_rank_gate + l->full_rank_decay;
}

/* And those that come from a low rank. */
static uint64_t low_rank_gates(const struct linear *l)
{
    return 2 - full_rank_gates(l);
}

/* in [H, in], out [values, H], the taps of the convolution, and Mamba's bias of it; each of
 * both gates of KDA [H, r] and [r, values], or [H, values] (vLLM models/bailing_moe_v3.py,
 * BailingMoeV3KimiDeltaAttention: f_proj, g_proj); Mamba-1's [values, r + 2 N] and [r, values].
 */
static struct params_part linear_parameters(const struct model *model, bool *overflow)
{
    const struct linear *l = &model->linear;
    struct linear_width w = linear_widths(model, overflow);
    uint64_t hidden = model->hidden, ends = checked_add(w.in, w.values, overflow);
    struct params_part part = {.matrices = checked_mul(ends, hidden, overflow)};
    linear_vectors(model, w.values, &part, overflow);
    part.matrices = mul_add(w.conv, l->conv, part.matrices, overflow);
    if (l->kind == LINEAR_MAMBA2 && l->conv)
        part.biases = checked_add(part.biases, w.conv, overflow);
    if (l->kind == LINEAR_KIMI_DELTA)
        part.matrices =
            checked_add(part.matrices,
                        checked_mul3(low_rank_gates(l), l->rank,
                                     checked_add(hidden, w.values, overflow), overflow),
                        overflow);
    if (l->kind == LINEAR_KIMI_DELTA)
        part.matrices =
            checked_add(part.matrices,
                        checked_mul3(full_rank_gates(l), hidden, w.values, overflow), overflow);
    if (l->kind == LINEAR_MAMBA1)
        part.matrices =
            mul_add(w.values, checked_add(w.step, l->rank, overflow), part.matrices, overflow);
    return part;
}

/* FLOP per token of the recurrence when chunk tokens Q are taken at once: delta
 * rules heads (6 dk dv + 2 Q (3 dk + 2 dv)), lightning 4 P d + 4 P Q, Mamba-2
 * 4 D N + 2 Q (G N + D), Mamba-1 7 D N. */
static uint64_t core_flop_of(const struct linear *l)
{
    bool overflow = false;
    uint64_t values = checked_mul(l->heads, l->head_dim, &overflow);
    uint64_t keys = checked_mul(l->key_heads, l->key_dim, &overflow);
    uint64_t state = checked_mul(values, l->key_dim, &overflow), both;
    switch (l->kind) {
    case LINEAR_GATED_DELTA_NET:
    case LINEAR_KIMI_DELTA:
        both = mul_add(3, l->key_dim, checked_mul(2, l->head_dim, &overflow), &overflow);
        return mul_add(
            6, state,
            checked_mul3(checked_mul3(2, l->chunk, l->heads, &overflow), both, 1, &overflow),
            &overflow);
    case LINEAR_LIGHTNING:
        return mul_add(4, state, checked_mul3(4, values, l->chunk, &overflow), &overflow);
    case LINEAR_MAMBA2:
        both = checked_add(keys, values, &overflow);
        return mul_add(4, state, checked_mul3(2, l->chunk, both, &overflow), &overflow);
    case LINEAR_MAMBA1:
        return checked_mul(7, state, &overflow);
    case LINEAR_SHORT_CONV: /* what both gates multiply */
        return checked_mul(2, values, &overflow);
    case LINEAR_COUNT:
        break;
    }
    return 0;
}

/* ---- any mixer ---- */

static struct params_part both_parameters(const struct model *model, bool *overflow)
{
    struct params_part sum = mixer_parameters(model, MIXER_FULL, overflow),
                       other = mixer_parameters(model, MIXER_LINEAR, overflow);
    sum.matrices = checked_add(sum.matrices, other.matrices, overflow);
    sum.norms = checked_add(sum.norms, other.norms, overflow);
    sum.biases = checked_add(sum.biases, other.biases, overflow);
    return sum;
}

struct params_part mixer_parameters(const struct model *model, enum mixer mixer, bool *overflow)
{
    if (mixer == MIXER_BOTH)
        return both_parameters(model, overflow);
    if (mixer == MIXER_NONE)
        return (struct params_part){0};
    if (mixer == MIXER_LINEAR)
        return linear_parameters(model, overflow);
    const struct attention a = model_attention(model, mixer);
    struct params_part part;
    switch (a.kind) {
    case ATTENTION_GQA:
        part = count_gqa(model, &a, mixer_borrows(mixer), overflow);
        break;
    case ATTENTION_SHARED_KV:
        part = count_shared(model, mixer, overflow);
        break;
    case ATTENTION_MLA:
    default:
        part = count_mla(model, overflow);
    }
    if (model->attention.output_bias)
        part.biases = checked_add(part.biases, model->hidden, overflow);
    part.matrices =
        checked_add(part.matrices, mixer_indexer_matrices(model, mixer, overflow), overflow);
    indexer_vectors(model, mixer, &part, overflow);
    return part;
}

uint64_t mixer_whole(const struct model *model, enum mixer mixer, bool *overflow)
{
    const struct attention *a = &model->attention;
    if (mixer == MIXER_BOTH)
        return checked_add(mixer_whole(model, MIXER_FULL, overflow),
                           mixer_whole(model, MIXER_LINEAR, overflow), overflow);
    if (mixer == MIXER_LINEAR)
        return model->linear.kind == LINEAR_KIMI_DELTA
                   ? checked_mul3(low_rank_gates(&model->linear), model->linear.rank,
                                  model->hidden, overflow)
                   : 0;
    if (mixer == MIXER_BLOCKS && model->indexer.pooled)
        return mixer_indexer_matrices(model, mixer, overflow);
    if (mixer == MIXER_BLOCKS) /* its queries go with the heads that they choose for */
        return checked_mul(model->indexer.head_dim, model->hidden, overflow);
    if (mixer == MIXER_NONE)
        return 0;
    if (a->kind == ATTENTION_GQA)
        return checked_mul(model->hidden, a->q_lora_rank, overflow);
    if (a->kind == ATTENTION_SHARED_KV)
        return checked_add(shared_whole(model, mixer, overflow),
                           mixer_indexer_matrices(model, mixer, overflow), overflow);
    uint64_t ranks = checked_add(a->q_lora_rank, a->kv_lora_rank, overflow);
    uint64_t down =
        checked_mul(model->hidden, checked_add(ranks, a->qk_rope_head_dim, overflow), overflow);
    return checked_add(down, mixer_indexer_matrices(model, mixer, overflow), overflow);
}

/* Entries of s / ratio there are, beside the window: all, or as many as are chosen. */
static uint64_t reach_compressed(const struct model *model, enum mixer mixer, uint64_t s)
{
    struct model entries = *model;
    bool overflow = false;
    uint64_t ratio = mixer_ratio(model, mixer), n = ratio ? s / ratio : 0;
    uint64_t window = params_reach(model, MIXER_WINDOW, s);
    entries.attention.window = mixer == MIXER_HCA ? 0 : model->indexer.top_k;
    return checked_add(window, n ? params_reach(&entries, MIXER_WINDOW, n) : 0, &overflow);
}

/* A token's own block up to itself and the others whole, as soon as there are so many. */
static uint64_t reach_blocks(const struct indexer *indexer, uint64_t s)
{
    bool overflow = false;
    uint64_t block = indexer->block, kept = indexer->top_k;
    if (!block || s <= kept)
        return s;
    uint64_t rest = (s - kept) % block, whole = s - kept - rest;
    uint64_t others = checked_mul3(2, s - kept, kept > block ? kept - block : 0, &overflow);
    uint64_t own = mul_add(whole, block, checked_mul(rest, rest, &overflow), &overflow);
    return mul_add(kept, kept, checked_add(others, own, &overflow), &overflow) / s;
}

uint64_t params_reach(const struct model *model, enum mixer mixer, uint64_t sequence_length)
{
    bool overflow = false;
    uint64_t s = sequence_length, window = model->attention.window,
             chunk = model->attention.chunk;
    mixer = mixer_owner(mixer);
    if (mixer_ratio(model, mixer))
        return reach_compressed(model, mixer, s);
    if (mixer == MIXER_BLOCKS)
        return reach_blocks(&model->indexer, s);
    if (model_has_indexer(model, MIXER_FULL) && (mixer == MIXER_FULL || mixer == MIXER_REUSE)) {
        window = model->indexer.top_k;
        mixer = MIXER_WINDOW;
    }
    if (mixer == MIXER_WINDOW && window && window < s)
        return checked_mul(2, window, &overflow) - checked_mul(window, window, &overflow) / s;
    if (mixer == MIXER_CHUNK && chunk && chunk < s) {
        uint64_t rest = s % chunk, all = checked_mul(s - rest, chunk, &overflow);
        return checked_add(all, checked_mul(rest, rest, &overflow), &overflow) / s;
    }
    return s;
}

/* Twice the mean of what a token scores of n entries when it scores so many at most. */
static uint64_t chosen_among(uint64_t n, uint64_t most)
{
    bool overflow = false;
    return most < n ? 2 * most - checked_mul(most, most, &overflow) / n : n;
}

/* Scores of one token by an indexer, which reaches all, all entries, or those that an earlier
 * one left to choose among, or all pools of tokens. */
static uint64_t indexer_scores(const struct model *model, enum mixer mixer,
                               uint64_t sequence_length, bool *overflow)
{
    uint64_t ratio = mixer_ratio(model, mixer), pool = model_index_pool(model);
    if (!model_has_indexer(model, mixer))
        return 0;
    if (mixer == MIXER_BLOCKS && model->indexer.pooled)
        ratio = model->indexer.block;
    uint64_t keys = sequence_length / (ratio ? ratio : pool);
    if (mixer == MIXER_TSA_CHOOSE && model->indexer.candidates)
        keys = chosen_among(keys, model->indexer.candidates);
    return checked_mul3(model->indexer.heads, model->indexer.head_dim, keys, overflow);
}

/* Both products of one token with what lies in reach. */
static uint64_t attention_flop(const struct model *model, enum mixer mixer,
                               uint64_t sequence_length, bool *overflow)
{
    const struct attention a = model_attention(model, mixer);
    uint64_t dims = checked_add(qk_dim(&a, overflow), a.v_head_dim, overflow);
    return checked_mul3(a.heads, dims, params_reach(model, mixer, sequence_length), overflow);
}

/* The convolution's taps are matrices already. */
uint64_t mixer_back_flop(const struct model *model, enum mixer mixer, uint64_t sequence_length,
                         bool *overflow)
{
    if (mixer == MIXER_NONE)
        return 0;
    if (mixer == MIXER_LINEAR)
        return core_flop_of(&model->linear);
    if (mixer == MIXER_BOTH)
        return checked_add(core_flop_of(&model->linear),
                           attention_flop(model, MIXER_FULL, sequence_length, overflow),
                           overflow);
    return attention_flop(model, mixer, sequence_length, overflow);
}

uint64_t mixer_flop(const struct model *model, enum mixer mixer, uint64_t sequence_length,
                    bool *overflow)
{
    return checked_add(mixer_back_flop(model, mixer, sequence_length, overflow),
                       indexer_scores(model, mixer, sequence_length, overflow), overflow);
}
