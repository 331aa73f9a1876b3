/* Groups of cached layers; see serving_cache.h. */
#include "sim/serve/serving_cache.h"

#include <string.h>

#include "base/checked.h"
#include "plan/engine.h"
#include "plan/mixer.h"
#include "plan/speculation.h"
#include "work/piece/cache.h"

/* Layers of the stage by mixer, those that reuse an indexer's choice or choose blocks among the
 * full ones: pages of all are one group's (vLLM v1/kv_cache_interface.py,
 * UniformTypeKVCacheSpecs). */
static void count_layers(const struct plan *plan, const struct slots *slots,
                         uint64_t count[MIXER_COUNT])
{
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        count[m] = 0;
    if (!plan->model.layer_types.n) {
        count[MIXER_FULL] =
            slots->value[SLOT_STAGE_DENSE_LAYERS] + slots->value[SLOT_STAGE_MOE_LAYERS];
        return;
    }
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum mixer mixer = kind_mixer((enum layer_kind)k);
        uint64_t layers = slots->value[slot_kind_layers((enum layer_kind)k)];
        if (mixer == MIXER_BOTH) {
            count[MIXER_FULL] += layers;
            count[MIXER_LINEAR] += layers;
        }
        if (cache_name(mixer) || mixer == MIXER_LINEAR)
            count[mixer == MIXER_REUSE || mixer == MIXER_BLOCKS ? MIXER_FULL : mixer] += layers;
    }
    if (plan_drafts_blocks(plan))
        count[MIXER_WINDOW] += plan->model.dspark.layers;
}

static uint64_t least_common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    bool overflow = false;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return checked_mul(a / x, b, &overflow);
}

/* Tokens of a block: where layers keep a state, so many that one layer's attention page holds
 * it (v1/worker, models/config.py: multiples of 16, MLA of its own block and before 0.19 of 64,
 * "Other MLA backends: kernel_block_size 64 alignment"; where states are kept
 * every so many tokens, of a multiple of these too, HybridAttentionMambaModelConfig). Keys of
 * pools of tokens have pages of their own, which kernels read 32 at a time
 * (models/glm5next/nvidia/attention.py, Glm5NextIndexerCache). */
static uint64_t block_tokens(const struct plan *plan, const uint64_t count[MIXER_COUNT])
{
    enum { MLA_ALIGN = 64, POOL_ROWS = 32 };
    uint64_t pool = model_index_pool(&plan->model);
    uint64_t block = engine_cache_block(plan), token = cache_layer_bytes(plan, MIXER_FULL, 1);
    if (pool > 1) {
        block = least_common_multiple(block, POOL_ROWS * pool);
        token -= cache_index_token(plan);
    }
    if (!count[MIXER_LINEAR] || !token)
        return block;
    bool asks = engine_release(plan)->keeps_workspaces; /* its backend for blocks: 0.19 */
    uint64_t latent = asks || pool > 1 ? block : MLA_ALIGN;
    uint64_t align = plan->model.attention.kind == ATTENTION_MLA ? latent : 16;
    if (plan->memory.state_block)
        align = least_common_multiple(plan->memory.state_block, align);
    uint64_t state = ceil_div(cache_layer_bytes(plan, MIXER_LINEAR, 1), token);
    uint64_t whole = ceil_div(state, align) * align;
    return whole > block ? whole : block;
}

/* The smallest kind's layers; the largest's where that is less than half more, the others then
 * padded to it (since 0.19). */
static uint64_t group_size(const uint64_t count[MIXER_COUNT], bool pads)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        least = count[m] && count[m] < least ? count[m] : least;
        most = count[m] > most ? count[m] : most;
    }
    if (!most)
        return 0;
    return pads && 2 * most < 3 * least ? most : least;
}

/* Bytes of a token in one layer of a mixer. */
static uint64_t token_bytes(const struct plan *plan, enum mixer mixer)
{
    return cache_layer_bytes(plan, mixer, 1);
}

/* Bytes of a page, and how many blocks' tokens one holds in layers of each mixer. Where window
 * layers' heads make their tokens larger or smaller, layers of the smaller pages take so many
 * times the tokens into one as fit; a page that does not divide the largest is padded to it
 * (vLLM v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size; backends without strided
 * pages refuse that). */
static uint64_t unify_pages(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                            struct cache_groups *out)
{
    uint64_t largest = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if (count[m] && m != MIXER_LINEAR && token_bytes(plan, (enum mixer)m) > largest)
            largest = token_bytes(plan, (enum mixer)m);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        uint64_t own = m == MIXER_LINEAR ? 0 : token_bytes(plan, (enum mixer)m);
        if (count[m] && own && largest % own == 0)
            out->times[m] = largest / own;
    }
    bool overflow = false;
    return checked_mul(largest, out->block_tokens, &overflow);
}

/* A block's tokens in every layer, of those that slide in part of them. */
static uint64_t bytes_of_all(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                             uint64_t tokens, double kept)
{
    double sum = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        bool slides = m == MIXER_WINDOW || m == MIXER_CHUNK;
        if (m != MIXER_LINEAR)
            sum += (double)count[m] * (double)token_bytes(plan, (enum mixer)m) *
                   (slides ? kept : 1);
    }
    return (uint64_t)(sum * (double)tokens);
}

/* One group of all layers that grow or slide, these for fewer tokens where the engine says so;
 * states have a pool of their own. */
static double group_all(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                        struct cache_groups *out)
{
    uint64_t slide = count[MIXER_WINDOW] + count[MIXER_CHUNK];
    out->block_tokens = engine_cache_block(plan);
    out->layers = count[MIXER_FULL] + slide;
    out->groups[MIXER_FULL] = out->n = 1;
    return count[MIXER_FULL] ? (1 - engine_window_ratio(plan)) * (double)slide : 0;
}

/* What layers that choose blocks have of so many tokens beside keys and values. */
static uint64_t choice_bytes(const struct plan *plan, const struct slots *slots,
                             uint64_t tokens)
{
    bool overflow = false;
    uint64_t layers = 0, each = cache_layer_bytes(plan, MIXER_BLOCKS, tokens) -
                                cache_layer_bytes(plan, MIXER_FULL, tokens);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (kind_mixer((enum layer_kind)k) == MIXER_BLOCKS)
            layers += slots->value[slot_kind_layers((enum layer_kind)k)];
    return checked_mul(layers, each, &overflow);
}

/* A draft model's keys and values of the same tokens; layers of a block are among the model's
 * (count_layers). */
static uint64_t draft_bytes(const struct plan *plan, uint64_t tokens)
{
    struct plan draft;
    if (!plan_holds_draft(plan) || plan_drafts_blocks(plan))
        return 0;
    plan_draft(plan, 1, &draft);
    return cache_sequence_bytes(&draft, tokens);
}

/* ---- layers with entries beside a window (DeepSeek-V4) ---- */

/* Layers that make entries. */
static uint64_t making(const struct model *model, const uint64_t count[MIXER_COUNT])
{
    uint64_t n = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        n += mixer_overlap(model, (enum mixer)m) ? count[m] : 0;
    return n;
}

/* These, and layers that read entries of theirs: all have a window beside. */
static uint64_t meeting(const struct model *model, const uint64_t count[MIXER_COUNT])
{
    uint64_t n = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        n += mixer_ratio(model, (enum mixer)m) ? count[m] : 0;
    return n;
}

/* SGLang: blocks hold what grows, the entries of all layers; open entries of hca have a pool of
 * their own (cache_open_pool). A second pool of so many times fewer tokens has
 * windows and the open entries of csa (model_executor/pool_configurator.py,
 * DSV4PoolConfigurator), which takes its part of every block. */
static void group_entries(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                          struct cache_groups *out)
{
    const uint64_t window = plan->model.attention.window;
    bool overflow = false;
    double slides = 0; /* bytes of a token in the second pool */
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        enum mixer mixer = (enum mixer)m;
        uint64_t entries = cache_entry_bytes(plan, mixer, out->block_tokens);
        uint64_t kept =
            cache_layer_bytes(plan, mixer, window) - cache_entry_bytes(plan, mixer, window);
        uint64_t open = cache_open_bytes(plan, mixer);
        if (window) {
            bool slid = mixer == MIXER_CSA;
            slides += (double)count[m] * (double)(kept + (slid ? open : 0)) / (double)window;
            kept = 0;
            open = slid ? 0 : open;
        }
        out->block_bytes =
            checked_add(out->block_bytes, checked_mul(count[m], entries, &overflow), &overflow);
        out->kept_bytes = checked_add(out->kept_bytes,
                                      checked_mul(count[m], kept + open, &overflow), &overflow);
    }
    out->block_bytes +=
        (uint64_t)(slides * engine_window_ratio(plan) * (double)out->block_tokens);
}

/* A page of vLLM's, padded to what the kernels read at once (v1/kv_cache_interface.py,
 * _apply_alignment_padding; models/deepseek_v4: 576 bytes of fp8, else 512). */
static uint64_t page_of(const struct plan *plan, uint64_t rows, uint64_t row)
{
    uint64_t align = plan->precision.kv_cache == DTYPE_FP8 ? 576 : 512;
    bool overflow = false;
    return checked_mul(ceil_div(checked_mul(rows, row, &overflow), align), align, &overflow);
}

/* Layers of a group of windows: so many that counts of layers, each rounded up to whole groups,
 * are padded least (v1/core/kv_cache_planning.py, _approximate_gcd, of 0.33), no fewer than
 * those of csa, whose states are one group of two pages a layer. */
static uint64_t repeats_of(uint64_t csa, uint64_t hca, uint64_t all)
{
    uint64_t best = csa > 1 ? csa : 1, least = UINT64_MAX;
    for (uint64_t d = best; d <= all; d++) {
        const uint64_t counts[] = {csa, hca, all};
        uint64_t pad = 0;
        for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
            pad += ceil_div(counts[i], d) * d - counts[i];
        if (pad <= least) {
            best = d;
            least = pad;
        }
    }
    return best;
}

/* Bytes of the open entries of so many tokens in one layer: rows of kv and gate in f32
 * (models/deepseek_v4/compressor.py, CompressorStateCache: state_dim). */
static uint64_t open_page(const struct plan *plan, enum mixer mixer, uint64_t tokens,
                          uint64_t head)
{
    return head ? page_of(plan, tokens, 4 * 2 * mixer_overlap(&plan->model, mixer) * head) : 0;
}

/* Of a layer's entries and their keys the pages of a block. */
static uint64_t entry_pages(const struct plan *plan, enum mixer mixer, uint64_t block,
                            uint64_t row)
{
    uint64_t ratio = mixer_ratio(&plan->model, mixer), n = ratio ? block / ratio : 0;
    uint64_t keys = cache_entry_bytes(plan, mixer, ratio) - row;
    return page_of(plan, n, row) + (keys ? page_of(plan, n, keys) : 0);
}

/* Open entries of csa: in pages that slide, or in a ring of which every sequence has one where
 * keys are made of entries (models/deepseek_v41/compressor.py: CircularBufferSpec). */
static uint64_t open_csa(const struct plan *plan, uint64_t tokens)
{
    const struct model *m = &plan->model;
    if (m->attention.entry_keys)
        return page_of(plan, 1, cache_open_bytes(plan, MIXER_CSA));
    return open_page(plan, MIXER_CSA, tokens, m->attention.head_dim) +
           open_page(plan, MIXER_CSA, tokens, m->indexer.heads ? m->indexer.head_dim : 0);
}

/* Before 0.33 a block has room for a page of each size that entries and indexers' keys have,
 * as often as the deepest group has layers of one size (v1/core/kv_cache_utils.py,
 * _get_kv_cache_config_deepseek_v4: layer_tuple_page_bytes x num_layer_tuples). */
static uint64_t tuples_bytes(const struct plan *plan, uint64_t tuple, uint64_t depth)
{
    bool overflow = false;
    return engine_release(plan)->tuples_pages ? checked_mul(tuple, depth, &overflow) : 0;
}

/* vLLM: entries and indexers' keys are one group, windows some of blocks of 64 tokens, open
 * entries of csa one of 4 and of hca one of 8 (compressor.py: block_size; sparse_swa.py), or a
 * ring, every block as large as the largest group's (0.33 v1/core/kv_cache_planning.py,
 * get_kv_cache_config_from_groups). DeepSeek-V4-Flash's groups are of 62, 22, 21, 42 and 20
 * layers, the largest of 1,002,240 bytes (vLLM issue 54703). */
static void group_pages(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                        struct cache_groups *out)
{
    enum { WINDOW_BLOCK = 64, CSA_BLOCK = 4, HCA_BLOCK = 8 };
    const struct attention *a = &plan->model.attention;
    const uint64_t csa = count[MIXER_CSA], hca = count[MIXER_HCA], tsa = count[MIXER_TSA];
    const uint64_t all = meeting(&plan->model, count) + count[MIXER_WINDOW];
    const uint64_t block = out->block_tokens;
    const uint64_t row = cache_layer_bytes(plan, MIXER_WINDOW, 1);
    const uint64_t repeats = repeats_of(csa, hca, all);
    const uint64_t far = hca ? entry_pages(plan, MIXER_HCA, block, row) : 0;
    const uint64_t near = csa ? entry_pages(plan, MIXER_CSA, block, row) : 0;
    const uint64_t each = tsa ? entry_pages(plan, MIXER_TSA, block, row) : 0;
    const uint64_t depth = lesser(repeats, all);
    const bool ring = a->entry_keys;
    const uint64_t sizes[] = {
        hca * far + csa * near + tsa * each,
        depth * page_of(plan, WINDOW_BLOCK, row),
        tuples_bytes(plan, near + far + each, greater(depth, hca)),
        csa * open_csa(plan, CSA_BLOCK),
        hca * open_page(plan, MIXER_HCA, HCA_BLOCK, a->head_dim),
    };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        out->block_bytes = sizes[i] > out->block_bytes ? sizes[i] : out->block_bytes;
    out->slides[0] = (struct cache_slide){ceil_div(all, repeats), WINDOW_BLOCK, a->window};
    out->slides[1] = (struct cache_slide){
        csa > 0 && !ring, CSA_BLOCK, mixer_overlap(&plan->model, MIXER_CSA) * a->csa_ratio};
    out->rings = csa > 0 && ring;
    out->slides[2] = (struct cache_slide){hca > 0, HCA_BLOCK, a->hca_ratio};
    out->n_slides = CACHE_SLIDES;
}

static void group_compressed(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                             struct cache_groups *out)
{
    bool overflow = false;
    out->block_tokens = engine_cache_block(plan);
    out->layers = making(&plan->model, count);
    out->groups[MIXER_FULL] = out->n = 1;
    if (plan->stack.kind == STACK_VLLM)
        group_pages(plan, count, out);
    else
        group_entries(plan, count, out);
    out->block_bytes =
        checked_add(out->block_bytes, draft_bytes(plan, out->block_tokens), &overflow);
}

/* States alone: a block is one layer's state of one sequence, however long that is (vLLM
 * model_executor/models/config.py, MambaModelConfig: mamba_block_size is max_model_len). */
static void group_states(const struct plan *plan, const uint64_t count[MIXER_COUNT],
                         struct cache_groups *out)
{
    bool overflow = false;
    out->block_tokens = engine_context(plan);
    out->layers = count[MIXER_LINEAR];
    out->groups[MIXER_LINEAR] = out->n = 1;
    out->block_bytes =
        checked_mul(out->layers, cache_layer_bytes(plan, MIXER_LINEAR, 1), &overflow);
}

/* Layers of pooled blocks keep a ring of the open block's keys, and n-grams the columns of
 * their convolution as recurrent layers a state, in groups of their own (vLLM
 * models/qwen4_exp/common/qsa_cache.py, QSAKeyStateCache; nvidia/ple_layer.py); so do open
 * pools (models/glm5next/nvidia/attention.py: KpoolTailSpec). */
static void add_beside(const struct plan *plan, const struct slots *slots,
                       struct cache_groups *out)
{
    const struct ngram *g = &plan->model.ngram;
    bool first = slots->value[SLOT_STAGE_EMBEDDING] > 0, pooled = plan->model.indexer.pooled;
    if (!out->layers)
        return;
    if (g->tables && g->conv > 1 && first)
        out->groups[MIXER_LINEAR] += ceil_div(g->tables, out->layers);
    for (unsigned k = 0; k < KIND_COUNT && pooled; k++)
        if (kind_mixer((enum layer_kind)k) == MIXER_BLOCKS)
            out->rings += slots->value[slot_kind_layers((enum layer_kind)k)];
    out->rings = ceil_div(out->rings, out->layers) + (model_index_pool(&plan->model) > 1);
    out->n += out->rings;
}

/* Keys that layers with another one's choice do not have, where one group holds all layers:
 * each has its own row (vLLM v1/kv_cache_interface.py, UniformTypeKVCacheSpecs; SGLang pull
 * request 30531, of August 2026; TensorRT-LLM 16558). */
static uint64_t keys_of_reuse(const struct plan *plan, const struct slots *slots,
                              uint64_t tokens)
{
    uint64_t layers = 0;
    bool overflow = false;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (kind_mixer((enum layer_kind)k) == MIXER_REUSE)
            layers += slots->value[slot_kind_layers((enum layer_kind)k)];
    return checked_mul3(layers, tokens, cache_index_token(plan), &overflow);
}

void cache_groups_of(const struct plan *plan, const struct slots *slots,
                     struct cache_groups *out)
{
    const struct engine_release *release = engine_release(plan);
    uint64_t count[MIXER_COUNT], each[MIXER_COUNT];
    bool overflow = false;
    bool own = plan_has_own_window(plan) ||
               cache_format(plan, MIXER_WINDOW) != cache_format(plan, MIXER_FULL);
    double spared = 0; /* layers' tokens that slide out */
    *out = (struct cache_groups){0};
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        out->times[m] = 1;
    count_layers(plan, slots, count);
    if (meeting(&plan->model, count)) {
        group_compressed(plan, count, out);
        return;
    }
    if (plan_is_recurrent(plan)) {
        group_states(plan, count, out);
        return;
    }
    memcpy(each, count, sizeof each);
    bool joined = plan->memory.window_ratio == 1;
    if (joined) { /* layers that slide keep all tokens, as full ones */
        count[MIXER_FULL] += count[MIXER_WINDOW] + count[MIXER_CHUNK];
        count[MIXER_WINDOW] = count[MIXER_CHUNK] = 0;
    }
    if (release->pool == POOL_OF_DEVICE) {
        out->block_tokens = block_tokens(plan, count);
        out->layers = group_size(count, release->keeps_workspaces);
        for (unsigned m = 0; m < MIXER_COUNT; m++) {
            out->groups[m] = out->layers ? ceil_div(count[m], out->layers) : 0;
            out->n += out->groups[m];
        }
        add_beside(plan, slots, out);
    } else {
        spared = group_all(plan, count, out);
    }
    uint64_t layer = cache_layer_bytes(plan, MIXER_FULL, out->block_tokens);
    bool pages = release->pool == POOL_OF_DEVICE && !joined;
    if (own && pages)
        layer = unify_pages(plan, count, out);
    out->block_bytes =
        checked_mul(out->layers, layer, &overflow) - (uint64_t)(spared * (double)layer);
    if (own && !pages)
        out->block_bytes =
            bytes_of_all(plan, each, out->block_tokens,
                         joined || !count[MIXER_FULL] ? 1 : engine_window_ratio(plan));
    if (out->n == 1)
        out->block_bytes -= keys_of_reuse(plan, slots, out->block_tokens);
    out->block_bytes =
        checked_add(out->block_bytes, choice_bytes(plan, slots, out->block_tokens), &overflow);
    out->block_bytes =
        checked_add(out->block_bytes, draft_bytes(plan, out->block_tokens), &overflow);
}

uint64_t cache_states_bytes(const struct plan *plan, const struct slots *slots)
{
    uint64_t count[MIXER_COUNT];
    bool overflow = false;
    count_layers(plan, slots, count);
    uint64_t states =
        checked_mul(count[MIXER_LINEAR], cache_layer_bytes(plan, MIXER_LINEAR, 1), &overflow);
    bool first = slots->value[SLOT_STAGE_EMBEDDING] > 0;
    return checked_add(states, first ? cache_ngram_bytes(plan) : 0, &overflow);
}

uint64_t cache_open_pool(const struct plan *plan, const struct slots *slots, uint64_t *n)
{
    struct cache_groups groups;
    bool overflow = false, drafts = plan->workload.speculation.tokens > 0;
    if (plan->stack.kind != STACK_SGLANG)
        return 0;
    cache_groups_of(plan, slots, &groups);
    if (!groups.kept_bytes)
        return 0;
    *n = engine_sequences(plan) + 2;
    return checked_add(checked_mul(groups.kept_bytes, *n, &overflow),
                       groups.kept_bytes / (drafts ? 2 : 1), &overflow);
}

uint64_t cache_groups_span(const struct plan *plan, const struct cache_groups *groups)
{
    bool overflow = false;
    return checked_mul(groups->block_tokens, engine_cache_ranks(plan), &overflow);
}

/* Blocks of a layer that slides: those of a window and of the steps under way, wherever they
 * begin. */
static uint64_t window_blocks(uint64_t window, uint64_t flight, uint64_t tokens, uint64_t block)
{
    return ceil_div(lesser(window - 1 + flight, tokens), block) + 1;
}

uint64_t cache_groups_blocks(const struct plan *plan, const struct cache_groups *groups,
                             uint64_t tokens, uint64_t flight)
{
    const struct attention *a = &plan->model.attention;
    uint64_t block = cache_groups_span(plan, groups), held = lesser(tokens, cache_window(plan));
    uint64_t states = plan->memory.state_block ? ceil_div(tokens, groups->block_tokens)
                                               : engine_state_copies(plan);
    uint64_t drafted = plan->workload.speculation.tokens; /* each passes through a state */
    uint64_t sum = groups->groups[MIXER_LINEAR] * (states + drafted) + groups->rings;
    sum += groups->groups[MIXER_FULL] * ceil_div(held, block * groups->times[MIXER_FULL]);
    for (unsigned i = 0; i < groups->n_slides; i++) {
        const struct cache_slide *slide = &groups->slides[i];
        sum += slide->groups * window_blocks(slide->window, flight, tokens, slide->block);
    }
    if (groups->groups[MIXER_WINDOW])
        sum += groups->groups[MIXER_WINDOW] *
               window_blocks(a->window, flight, tokens, block * groups->times[MIXER_WINDOW]);
    uint64_t reach = a->chunk + flight, part = block * groups->times[MIXER_CHUNK];
    return sum + groups->groups[MIXER_CHUNK] * ceil_div(reach < tokens ? reach : tokens, part);
}
