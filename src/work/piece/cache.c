/* See cache.h. */
#include "work/piece/cache.h"

#include "base/checked.h"
#include "plan/engine.h"
#include "work/list/dtype.h"
#include "plan/mixer.h"

const char *cache_name(enum mixer mixer)
{
    static const char *const names[MIXER_COUNT] = {[MIXER_FULL] = "kv_cache",
                                                   [MIXER_WINDOW] = "window_cache",
                                                   [MIXER_CHUNK] = "chunk_cache",
                                                   [MIXER_REUSE] = "reuse_kv_cache",
                                                   [MIXER_CSA] = "csa_window_cache",
                                                   [MIXER_HCA] = "hca_window_cache",
                                                   [MIXER_CSA_REUSE] = "csa_reuse_window_cache",
                                                   [MIXER_TSA] = "tsa_window_cache",
                                                   [MIXER_TSA_CHOOSE] =
                                                       "tsa_choose_window_cache",
                                                   [MIXER_TSA_REUSE] = "tsa_reuse_window_cache",
                                                   [MIXER_BLOCKS] = "blocks_cache"};
    return names[mixer];
}

struct cache_names cache_names(enum mixer mixer)
{
    static const struct cache_names names[MIXER_COUNT] = {
        [MIXER_CSA] = {"csa_cache", "csa_index_cache", "csa_open_windows"},
        [MIXER_HCA] = {"hca_cache", NULL, "hca_open_windows"},
        [MIXER_TSA] = {"tsa_cache", "tsa_index_cache", NULL}};
    return names[mixer];
}

/* Most tokens that a layer keeps; 0: all. */
static uint64_t bound_of(const struct plan *plan, enum mixer mixer)
{
    const struct attention *a = &plan->model.attention;
    bool window = mixer_owner(mixer) == MIXER_WINDOW || mixer_ratio(&plan->model, mixer);
    return window ? a->window : mixer == MIXER_CHUNK ? a->chunk : 0;
}

/* ---- as numbers ---- */

/* Columns of tokens that a step may take back, in every pool of an engine, whatever a step
 * does. SGLang keeps whole states of them, apart (configs/mamba_utils.py: no num_spec). */
static uint64_t drafted_columns(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (plan->stack.kind == STACK_SGLANG)
        return 0;
    uint64_t drafted = plan_is_engine(plan) ? w->speculation.tokens : 0;
    return !drafted && w->mode == MODE_DECODE ? w->tokens_per_sequence - 1 : drafted;
}

/* Columns of the convolution that a sequence keeps. */
static uint64_t columns(const struct plan *plan)
{
    uint64_t conv = plan->model.linear.conv;
    return conv ? conv - 1 + drafted_columns(plan) : 0;
}

/* Of the convolution's columns. */
static unsigned column_bits(const struct plan *plan)
{
    enum dtype said = plan->model.linear.conv_state;
    return dtype_bits(said ? said : plan->precision.activations);
}

/* Of a state; 16 bits where no engine is there to say (plan/read/follow.c). */
static unsigned state_bits(const struct plan *plan)
{
    enum dtype said = plan->model.linear.state;
    return dtype_bits(said ? said : DTYPE_BF16);
}

/* Of one rank: what tensor parallelism splits is rounded up, groups are never fewer than one.
 */
static uint64_t state_bytes(const struct plan *plan, bool *overflow)
{
    struct model model = plan->model;
    struct linear *l = &model.linear;
    uint64_t tp = plan->parallel.tp;
    if (l->kind == LINEAR_MAMBA1 || l->kind == LINEAR_SHORT_CONV) {
        l->head_dim = ceil_div(l->head_dim, tp);
    } else {
        l->heads = ceil_div(l->heads, tp);
        l->key_heads = ceil_div(l->key_heads, tp);
    }
    struct linear_width w = linear_widths(&model, overflow);
    uint64_t recurs = l->kind == LINEAR_SHORT_CONV ? 0 : l->key_dim;
    uint64_t state = checked_mul(w.values, recurs, overflow);
    uint64_t conv = checked_mul(w.conv, columns(plan), overflow);
    return checked_add(checked_mul(state, state_bits(plan), overflow) / 8,
                       checked_mul(conv, column_bits(plan), overflow) / 8, overflow);
}

/* Keys of tokens are in 8 bits with an f32 scale, keys of entries only where the cache is in 8
 * bits (SGLang model_executor/pool_configurator.py, DSV4PoolConfigurator). Those that choose
 * blocks are as the activations whatever the cache's format (vLLM
 * models/minimax_m3/common/indexer.py, indexer_kv_dtype bf16; SGLang's MiniMaxSparseKVPool,
 * index_dtype of the model), one a block where they are pooled (vLLM
 * models/qwen4_exp/common/qsa_cache.py, QSACompressedKeyCache). A pool of tokens has one of all
 * of them (vLLM models/glm5next/nvidia/attention.py, Glm5NextIndexerCache: tokens_per_state;
 * SGLang model_executor/pool_configurator.py), each of which has its part, rounded up. */
static uint64_t index_bytes(const struct plan *plan, enum mixer mixer)
{
    const struct indexer *i = &plan->model.indexer;
    unsigned bits = dtype_bits(plan->precision.kv_cache);
    if (!model_has_indexer(&plan->model, mixer))
        return 0;
    if (mixer == MIXER_BLOCKS)
        return i->head_dim * dtype_bits(plan->precision.activations) / 8 /
               (i->pooled && i->block ? i->block : 1);
    return mixer == MIXER_FULL ? ceil_div(i->head_dim + 4, model_index_pool(&plan->model))
           : bits == 8         ? i->head_dim + 4
                               : i->head_dim * bits / 8;
}

uint64_t cache_index_token(const struct plan *plan)
{
    return index_bytes(plan, MIXER_FULL);
}

/* Rows of a ring of them: those of a step and one before it, a power of two (vLLM
 * models/deepseek_v41/compressor.py, CompressorStateCache). */
static uint64_t open_ring(const struct plan *plan)
{
    uint64_t rows = 8;
    while (rows < drafted_columns(plan) + 2)
        rows *= 2;
    return rows;
}

/* Rows of kv and gate that the next entries are made of, and their elements. */
static uint64_t open_elements(const struct plan *plan, enum mixer mixer, bool *overflow)
{
    const struct model *model = &plan->model;
    uint64_t overlap = mixer_overlap(model, mixer), size = model->attention.head_dim;
    if (mixer == MIXER_CSA && model->indexer.heads && !model->attention.entry_keys)
        size = checked_add(size, model->indexer.head_dim, overflow);
    uint64_t rows = checked_mul(overlap, mixer_ratio(model, mixer), overflow);
    if (plan->stack.kind == STACK_VLLM && model->attention.entry_keys)
        rows = open_ring(plan);
    if (plan->stack.kind == STACK_SGLANG && plan->workload.speculation.tokens)
        rows = checked_mul(2, rows, overflow); /* tokens that are taken back */
    return checked_mul3(rows, 2 * overlap, size, overflow);
}

/* One head that is key and value: rotary columns in 16 bits, a scale byte per 64 of the others
 * and one of padding: 584 of 448 + 64 (vLLM models/deepseek_v4/compressor.py; SGLang
 * model_executor/pool_configurator.py). Where an indexer's keys are made of entries, vLLM has a
 * scale byte per 32 of all columns on Blackwell: 528 (models/deepseek_v41/attention.py,
 * _use_v41_mxfp8_kv_record). In bytes, beside one each. */
static uint64_t packed_head_bytes(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    uint64_t head = a->head_dim, rotary = a->qk_rope_head_dim;
    if (a->entry_keys && plan->stack.kind == STACK_VLLM &&
        plan_generation(plan) == GENERATION_SM100)
        return head / 32;
    return rotary + (head > rotary ? (head - rotary) / 64 : 0) + 1;
}

/* FlashMLA's sparse kernels on Hopper, of both engines: 8 bits of the latent alone, with a f32
 * scale per 128 of them, and rotary columns in 16 (vLLM attention/backends/mla/flashmla_sparse,
 * fp8_ds_mla: 656 bytes of 512 + 64; SGLang layers/attention/nsa). Without rotary columns vLLM
 * has FlashInfer's kernel and 512 bytes (vLLM issue 55221). In bytes, beside one each. */
static uint64_t packed_bytes(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    bool engine = plan->stack.kind == STACK_VLLM || plan->stack.kind == STACK_SGLANG;
    if (a->kind == ATTENTION_SHARED_KV)
        return engine && plan->precision.kv_cache == DTYPE_FP8 ? packed_head_bytes(plan) : 0;
    bool packed = engine && plan->model.indexer.heads && a->kind == ATTENTION_MLA &&
                  a->qk_rope_head_dim && plan->precision.kv_cache == DTYPE_FP8 &&
                  plan_generation(plan) == GENERATION_SM90;
    return packed ? ceil_div(a->kv_lora_rank, 128) * 4 + a->qk_rope_head_dim : 0;
}

static uint64_t width_of(const struct plan *plan, enum mixer mixer, bool *overflow)
{
    const struct attention a = model_attention(&plan->model, mixer);
    if (a.kind == ATTENTION_MLA)
        return checked_add(checked_add(a.kv_lora_rank, a.qk_rope_head_dim, overflow),
                           packed_bytes(plan), overflow);
    if (a.kind == ATTENTION_SHARED_KV)
        return checked_add(a.head_dim, packed_bytes(plan), overflow);
    uint64_t both = checked_add(a.head_dim, a.v_head_dim, overflow);
    return checked_mul(ceil_div(a.kv_heads, engine_attention_ranks(plan)), both, overflow);
}

enum dtype cache_format(const struct plan *plan, enum mixer mixer)
{
    enum dtype window = plan->precision.window_cache;
    bool apart = plan->stack.kind == STACK_VLLM && window != DTYPE_NONE &&
                 plan->model.attention.kind == ATTENTION_GQA &&
                 mixer_owner(mixer) == MIXER_WINDOW;
    return apart ? window : plan->precision.kv_cache;
}

static uint64_t rows_bytes(const struct plan *plan, enum mixer mixer, uint64_t rows,
                           bool *overflow)
{
    uint64_t elements = checked_mul(rows, width_of(plan, mixer, overflow), overflow);
    return checked_mul(elements, dtype_bits(cache_format(plan, mixer)), overflow) / 8;
}

uint64_t cache_entry_bytes(const struct plan *plan, enum mixer mixer, uint64_t tokens)
{
    bool overflow = false;
    uint64_t ratio = mixer_ratio(&plan->model, mixer), n = ratio ? tokens / ratio : 0;
    if (!mixer_overlap(&plan->model, mixer)) /* those of an earlier layer */
        return 0;
    return checked_add(rows_bytes(plan, mixer, n, &overflow),
                       checked_mul(n, index_bytes(plan, mixer), &overflow), &overflow);
}

uint64_t cache_open_bytes(const struct plan *plan, enum mixer mixer)
{
    bool overflow = false;
    if (!mixer_overlap(&plan->model, mixer) || mixer_ratio(&plan->model, mixer) == 1)
        return 0;
    enum dtype format = plan_is_engine(plan) ? DTYPE_F32 : plan->precision.activations;
    return checked_mul(open_elements(plan, mixer, &overflow), dtype_bits(format), &overflow) /
           8;
}

uint64_t cache_layer_bytes(const struct plan *plan, enum mixer mixer, uint64_t tokens)
{
    bool overflow = false;
    uint64_t bound = bound_of(plan, mixer);
    if (mixer == MIXER_LINEAR)
        return state_bytes(plan, &overflow);
    if (!cache_name(mixer)) /* none, or that of an earlier layer */
        return 0;
    uint64_t kept = bound && bound < tokens ? bound : tokens;
    uint64_t bytes = rows_bytes(plan, mixer, kept, &overflow);
    if (mixer_ratio(&plan->model, mixer))
        return checked_add(bytes, cache_entry_bytes(plan, mixer, tokens), &overflow);
    return checked_add(bytes, checked_mul(kept, index_bytes(plan, mixer), &overflow),
                       &overflow);
}

uint64_t cache_ngram_bytes(const struct plan *plan)
{
    const struct model *model = &plan->model;
    const struct ngram *g = &model->ngram;
    bool overflow = false;
    if (!g->tables || !g->conv)
        return 0;
    uint64_t wide = checked_mul(model->residual_streams, model->hidden, &overflow);
    uint64_t columns = checked_add(checked_mul(g->conv - 1, greater(g->gap, 1), &overflow),
                                   drafted_columns(plan), &overflow);
    uint64_t elements = checked_mul3(g->tables, columns, wide, &overflow);
    return checked_mul(elements, column_bits(plan), &overflow) / 8;
}

uint64_t cache_sequence_bytes(const struct plan *plan, uint64_t tokens)
{
    bool overflow = false;
    uint64_t sum = cache_ngram_bytes(plan);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        uint64_t layers = model_mixers(&plan->model, (enum mixer)m);
        uint64_t each = cache_layer_bytes(plan, (enum mixer)m, tokens);
        sum = checked_add(sum, checked_mul(layers, each, &overflow), &overflow);
    }
    return sum;
}

/* ---- as sizes ---- */

struct size cache_width(const struct dims *d)
{
    uint64_t packed = packed_bytes(d->plan);
    if (d->facts & FACT_SHARED_KV)
        return packed ? size_plus(d->z, d->width[COL_KV], packed) : d->width[COL_KV];
    if (!(d->facts & FACT_MLA))
        return d->width[COL_KV];
    return packed ? size_plus(d->z, d->width[COL_KV_LATENT], packed) : d->width[COL_KV_LATENT];
}

struct size cache_index_bytes(struct dims *d)
{
    return size_const(d->z, index_bytes(d->plan, d->mixer));
}

struct size cache_state_bytes(struct dims *d)
{
    struct sizes *z = d->z;
    const struct size *w = d->width;
    bool recurs = d->plan->model.linear.kind != LINEAR_SHORT_CONV;
    struct size key = recurs ? size_slot(z, SLOT_LINEAR_KEY_DIM) : size_const(z, 0);
    struct size state = size_mul(z, w[COL_LINEAR_VALUES], key);
    struct size conv = size_times(z, w[COL_LINEAR_CONV], columns(d->plan));
    return size_add(z, size_times(z, state, state_bits(d->plan) / 8),
                    size_times(z, conv, column_bits(d->plan) / 8));
}

struct size cache_tokens(struct sizes *z, const struct plan *plan, enum mixer mixer,
                         struct size tokens)
{
    uint64_t bound = bound_of(plan, mixer);
    return bound ? size_min(z, tokens, size_const(z, bound)) : tokens;
}

uint64_t cache_page(const struct plan *plan, uint64_t block)
{
    return plan_shares_kv(plan) ? lesser(block, plan->model.attention.window) : block;
}

struct size cache_entries(struct sizes *z, const struct plan *plan, enum mixer mixer,
                          struct size tokens, uint64_t block)
{
    uint64_t ratio = mixer_ratio(&plan->model, mixer);
    enum mixer source = mixer_source(mixer);
    enum slot slot = source == MIXER_CSA ? SLOT_CSA_RATIO : SLOT_HCA_RATIO;
    struct size n = source == MIXER_TSA ? tokens : size_div(z, tokens, size_slot(z, slot));
    return ratio && block / ratio > 1 ? size_up(z, n, block / ratio) : n;
}

/* TensorRT-LLM's window is as long as a sequence for every layer unless
 * kv_cache_config.max_attention_window says else (_torch/pyexecutor/resource_manager.py,
 * max_attention_window_vec): then a sequence holds the window and a step's tokens beside it,
 * and one block more as the window slides (cpp/.../kvCacheManager.h and .cpp,
 * calculateTemporaryAttentionWindow and getRemainingBlocksToCompletion). */
uint64_t cache_window(const struct plan *plan)
{
    uint64_t window = plan->memory.cache_window, block = engine_cache_block(plan);
    bool overflow = false, slides = plan->stack.kind == STACK_TRTLLM && window;
    window = checked_add(window, engine_tokens(plan), &overflow);
    return slides && !overflow ? round_up(window, block) + block : UINT64_MAX;
}

struct size cache_held(struct sizes *z, const struct plan *plan, enum mixer mixer,
                       struct size tokens)
{
    bool all = plan->stack.kind == STACK_TRTLLM || plan->memory.window_ratio == 1;
    uint64_t window = cache_window(plan);
    if (window < UINT64_MAX)
        return size_min(z, tokens, size_const(z, window));
    return all ? tokens : cache_tokens(z, plan, mixer, tokens);
}

struct size cache_part(struct sizes *z, const struct plan *plan, struct size tokens)
{
    uint64_t ranks = engine_cache_ranks(plan);
    return ranks > 1 ? size_ceil_div(z, tokens, size_const(z, ranks)) : tokens;
}

struct size cache_layers(struct sizes *z, const struct plan *plan, enum mixer mixer)
{
    struct size sum = size_const(z, 0);
    if (!plan->model.layer_types.n) /* all are alike */
        return mixer == MIXER_FULL ? size_add(z, size_slot(z, SLOT_STAGE_DENSE_LAYERS),
                                              size_slot(z, SLOT_STAGE_MOE_LAYERS))
                                   : sum;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (mixer_has(kind_mixer((enum layer_kind)k), mixer))
            sum = size_add(z, sum, size_slot(z, slot_kind_layers((enum layer_kind)k)));
    return sum;
}
