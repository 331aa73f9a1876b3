/* See mixer.h. Every product is checked: a model file may hold anything. */
#include "work/list/mixer.h"

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
    if (attention->kind == ATTENTION_GQA)
        return attention->head_dim;
    return checked_add(attention->qk_nope_head_dim, attention->qk_rope_head_dim, overflow);
}

/* q [H, h d], k [H, h_kv d], v [H, h_kv dv] unless keys are values, o [h dv, H]; a gate as wide
 * as o's input, or of one column a head */
static struct params_part count_gqa(const struct model *model, const struct attention *a,
                                    bool *overflow)
{
    uint64_t q = checked_mul(a->heads, a->head_dim, overflow);
    uint64_t k = checked_mul(a->kv_heads, a->head_dim, overflow);
    uint64_t v = a->k_eq_v ? 0 : checked_mul(a->kv_heads, a->v_head_dim, overflow);
    uint64_t context = checked_mul(a->heads, a->v_head_dim, overflow);
    uint64_t qkv = checked_add(q, checked_add(k, v, overflow), overflow);
    uint64_t width = mul_add(a->output_gate ? 2 : 1, context, qkv, overflow);
    if (a->head_gate)
        width = checked_add(width, a->heads, overflow);
    struct params_part part = {.matrices = checked_mul(width, model->hidden, overflow)};
    if (a->qk_norm)
        part.norms = a->qk_norm_all_heads ? checked_add(q, k, overflow)
                                          : checked_mul(2, a->head_dim, overflow);
    if (a->bias)
        part.biases = qkv;
    if (a->sinks)
        part.biases = checked_add(part.biases, a->heads, overflow);
    return part;
}

/* q down [H, r_q], q up [r_q, h (nope + rope)] or q [H, h (nope + rope)] alone,
 * kv down [H, r_kv + rope], kv up [r_kv, h (nope + v)], o [h v, H]; norms on both low ranks */
static struct params_part count_mla(const struct model *model, bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t q = checked_mul(a->heads, qk_dim(a, overflow), overflow);
    uint64_t down = checked_add(a->kv_lora_rank, a->qk_rope_head_dim, overflow);
    uint64_t v = checked_mul(a->heads, a->v_head_dim, overflow);
    uint64_t up =
        checked_add(checked_mul(a->heads, a->qk_nope_head_dim, overflow), v, overflow);
    uint64_t from_hidden = checked_add(checked_add(down, v, overflow),
                                       a->q_lora_rank ? a->q_lora_rank : q, overflow);
    uint64_t from_rank = checked_add(checked_mul(a->kv_lora_rank, up, overflow),
                                     checked_mul(a->q_lora_rank, q, overflow), overflow);
    return (struct params_part){
        .matrices =
            checked_add(checked_mul(model->hidden, from_hidden, overflow), from_rank, overflow),
        .norms = checked_add(a->q_lora_rank, a->kv_lora_rank, overflow),
        .biases = a->bias ? checked_add(a->q_lora_rank, down, overflow) : 0,
    };
}

/* ---- the indexer of sparse attention ---- */

static bool has_indexer(const struct model *model, enum mixer mixer)
{
    return mixer == MIXER_FULL && model->indexer.heads > 0;
}

/* wq_b [ni di, q rank], wk [di, H], weights [ni, H]; whole on every rank of tp. */
static uint64_t indexer_matrices(const struct model *model, enum mixer mixer, bool *overflow)
{
    const struct indexer *i = &model->indexer;
    if (!has_indexer(model, mixer))
        return 0;
    uint64_t q = checked_mul3(i->heads, i->head_dim, model->attention.q_lora_rank, overflow);
    uint64_t rows = checked_add(i->heads, i->head_dim, overflow);
    return mul_add(rows, model->hidden, q, overflow);
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
    case LINEAR_COUNT:
        break;
    }
    return w;
}

/* Vectors: norms, and what stands per head or channel (A_log, D, dt_bias). */
static void linear_vectors(const struct linear *l, uint64_t values, struct params_part *part,
                           bool *overflow)
{
    switch (l->kind) {
    case LINEAR_GATED_DELTA_NET:
        part->norms = l->head_dim;
        part->biases = checked_mul(2, l->heads, overflow);
        break;
    case LINEAR_KIMI_DELTA:
        part->norms = l->head_dim;
        part->biases = checked_add(l->heads, values, overflow);
        break;
    case LINEAR_LIGHTNING:
        part->norms = values;
        break;
    case LINEAR_MAMBA2:
        part->norms = values;
        part->biases = checked_mul(3, l->heads, overflow);
        break;
    case LINEAR_MAMBA1:
        part->norms = mul_add(2, l->key_dim, l->rank, overflow);
        part->biases = mul_add(l->key_dim, values, checked_mul(3, values, overflow), overflow);
        break;
    case LINEAR_COUNT:
        break;
    }
}

/* in [H, in], out [values, H], the taps of the convolution, and Mamba's bias of it; the
 * low-rank gates of KDA [H, r] and [r, values] twice; Mamba-1's [values, r + 2 N] and [r,
 * values]. */
static struct params_part linear_parameters(const struct model *model, bool *overflow)
{
    const struct linear *l = &model->linear;
    struct linear_width w = linear_widths(model, overflow);
    uint64_t hidden = model->hidden, ends = checked_add(w.in, w.values, overflow);
    struct params_part part = {.matrices = checked_mul(ends, hidden, overflow)};
    linear_vectors(l, w.values, &part, overflow);
    part.matrices = mul_add(w.conv, l->conv, part.matrices, overflow);
    if (l->kind == LINEAR_MAMBA2 && l->conv)
        part.biases = checked_add(part.biases, w.conv, overflow);
    if (l->kind == LINEAR_KIMI_DELTA)
        part.matrices = checked_add(
            part.matrices,
            checked_mul3(2, l->rank, checked_add(hidden, w.values, overflow), overflow),
            overflow);
    if (l->kind == LINEAR_MAMBA1)
        part.matrices =
            mul_add(w.values, checked_add(w.step, l->rank, overflow), part.matrices, overflow);
    return part;
}

uint64_t linear_core_flop(const struct linear *l, uint64_t chunk)
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
            checked_mul3(checked_mul3(2, chunk, l->heads, &overflow), both, 1, &overflow),
            &overflow);
    case LINEAR_LIGHTNING:
        return mul_add(4, state, checked_mul3(4, values, chunk, &overflow), &overflow);
    case LINEAR_MAMBA2:
        both = checked_add(keys, values, &overflow);
        return mul_add(4, state, checked_mul3(2, chunk, both, &overflow), &overflow);
    case LINEAR_MAMBA1:
        return checked_mul(7, state, &overflow);
    case LINEAR_COUNT:
        break;
    }
    return 0;
}

/* ---- any mixer ---- */

struct params_part mixer_parameters(const struct model *model, enum mixer mixer, bool *overflow)
{
    if (mixer == MIXER_NONE)
        return (struct params_part){0};
    if (mixer == MIXER_LINEAR)
        return linear_parameters(model, overflow);
    const struct attention a = model_attention(model, mixer);
    struct params_part part =
        a.kind == ATTENTION_GQA ? count_gqa(model, &a, overflow) : count_mla(model, overflow);
    if (model->attention.output_bias)
        part.biases = checked_add(part.biases, model->hidden, overflow);
    part.matrices =
        checked_add(part.matrices, indexer_matrices(model, mixer, overflow), overflow);
    if (has_indexer(model, mixer))
        part.norms = checked_add(part.norms, checked_mul(2, model->indexer.head_dim, overflow),
                                 overflow);
    return part;
}

uint64_t mixer_whole(const struct model *model, enum mixer mixer, bool *overflow)
{
    const struct attention *a = &model->attention;
    if (mixer == MIXER_LINEAR)
        return model->linear.kind == LINEAR_KIMI_DELTA
                   ? checked_mul3(2, model->linear.rank, model->hidden, overflow)
                   : 0;
    if (mixer == MIXER_NONE || a->kind != ATTENTION_MLA)
        return 0;
    uint64_t ranks = checked_add(a->q_lora_rank, a->kv_lora_rank, overflow);
    uint64_t down =
        checked_mul(model->hidden, checked_add(ranks, a->qk_rope_head_dim, overflow), overflow);
    return checked_add(down, indexer_matrices(model, mixer, overflow), overflow);
}

uint64_t params_reach(const struct model *model, enum mixer mixer, uint64_t sequence_length)
{
    bool overflow = false;
    uint64_t s = sequence_length, window = model->attention.window,
             chunk = model->attention.chunk;
    if (model->indexer.heads && (mixer == MIXER_FULL || mixer == MIXER_REUSE)) {
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

/* Both products of one token with what lies in reach; an indexer reaches all. */
static uint64_t attention_flop(const struct model *model, enum mixer mixer,
                               uint64_t sequence_length, bool *overflow)
{
    const struct attention a = model_attention(model, mixer);
    uint64_t dims = checked_add(qk_dim(&a, overflow), a.v_head_dim, overflow);
    uint64_t core =
        checked_mul3(a.heads, dims, params_reach(model, mixer, sequence_length), overflow);
    if (!has_indexer(model, mixer))
        return core;
    return checked_add(
        core,
        checked_mul3(model->indexer.heads, model->indexer.head_dim, sequence_length, overflow),
        overflow);
}

/* The convolution's taps are matrices already. */
uint64_t mixer_flop(const struct model *model, enum mixer mixer, uint64_t sequence_length,
                    bool *overflow)
{
    if (mixer == MIXER_NONE)
        return 0;
    if (mixer == MIXER_LINEAR)
        return linear_core_flop(&model->linear, model->linear.chunk);
    return attention_flop(model, mixer, sequence_length, overflow);
}
