/* The cache of a serving rank: keys and values, entries, states; see serve.h. */
#include "plan/engine.h"
#include "work/list/letters.h"
#include "work/piece/cache.h"
#include "work/piece/segments.h"
#include "work/serve/serve.h"

/* Sequences of all batches in flight: an engine with pp stages keeps pp batches under way, or
 * its stages wait for each other. */
struct size serve_cached_sequences(const struct plan *plan, struct sizes *s)
{
    struct size batch = size_slot(s, SLOT_MICRO_BATCH);
    return plan_is_engine(plan) ? size_mul(s, batch, size_slot(s, SLOT_BATCHES)) : batch;
}

/* Tokens of a rank that all sequences begin with, in whole pages, which layers of full
 * attention hold once. */
static uint64_t prefix_held(const struct plan *plan, enum mixer mixer, uint64_t page)
{
    uint64_t pages = plan->workload.shared_prefix / (page * engine_cache_ranks(plan));
    return plan_is_engine(plan) && mixer == MIXER_FULL ? pages * page : 0;
}

/* prefix: of the tokens those that are there once for all sequences. */
static void cache_buffer(const struct plan *plan, struct work *work, const char *name,
                         enum mixer mixer, enum dtype dtype, uint64_t prefix,
                         struct size tokens, struct size width)
{
    struct sizes *s = &work->sizes;
    struct size sequences = serve_cached_sequences(plan, s);
    if (prefix) {
        struct size once = size_min(s, tokens, size_const(s, prefix));
        tokens = size_add(s, size_mul(s, sequences, size_sub(s, tokens, once)), once);
        sequences = size_const(s, 1);
    }
    work_buffer(
        work, (struct buffer){.name = name,
                              .category = CATEGORY_KV_CACHE,
                              .segment = SEGMENT_STEP,
                              .dtype = dtype,
                              .n_dims = 4,
                              .dims = {cache_layers(s, plan, mixer), sequences, tokens, width},
                              .life = LIFE_PERSISTENT,
                              .state = true});
}

/* Beside the window: entries, the indexer's keys of them, and windows that are open. */
static void entry_buffers(const struct plan *plan, struct work *work, struct dims *d,
                          struct size tokens, uint64_t block)
{
    struct sizes *s = &work->sizes;
    const struct cache_names names = cache_names(d->mixer);
    if (!names.entries)
        return;
    struct size n = cache_entries(s, plan, d->mixer, tokens, block);
    cache_buffer(plan, work, names.entries, d->mixer, plan->precision.kv_cache, 0, n,
                 cache_width(d));
    if (d->facts & FACT_INDEX)
        cache_buffer(plan, work, names.keys, d->mixer, DTYPE_INT8, 0, n, cache_index_bytes(d));
    if (names.open)
        cache_buffer(plan, work, names.open, d->mixer, DTYPE_INT8, 0, size_const(s, 1),
                     size_const(s, cache_open_bytes(plan, d->mixer)));
}

/* Columns of the convolutions behind n-grams, of every sequence. */
static void ngram_states(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct size bytes = size_const(s, cache_ngram_bytes(plan));
    if (!size_is_zero(s, bytes))
        work_buffer(work, (struct buffer){.name = "ngram_states",
                                          .category = CATEGORY_KV_CACHE,
                                          .segment = SEGMENT_STEP,
                                          .dtype = DTYPE_INT8,
                                          .n_dims = 2,
                                          .dims = {serve_cached_sequences(plan, s), bytes},
                                          .count = size_slot(s, SLOT_STAGE_EMBEDDING),
                                          .life = LIFE_PERSISTENT,
                                          .state = true});
}

void serve_cache(const struct plan *plan, struct work *work, uint64_t block)
{
    struct sizes *s = &work->sizes;
    struct dims d;
    struct size context = plan->workload.mode == MODE_DECODE ? size_slot(s, SLOT_CONTEXT)
                                                             : size_slot(s, SLOT_SEQUENCE_FULL);
    bool kinds[KIND_COUNT], mixers[MIXER_COUNT] = {false};
    segments_kinds(plan, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        for (unsigned m = 0; m < MIXER_COUNT; m++)
            mixers[m] |= kinds[k] && mixer_has(kind_mixer((enum layer_kind)k), (enum mixer)m);
    dims_fill(&d, plan, s);
    ngram_states(plan, work);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        enum mixer mixer = (enum mixer)m;
        dims_mixer(&d, mixer);
        if (mixers[m] && mixer == MIXER_LINEAR)
            cache_buffer(plan, work, "state_cache", mixer, DTYPE_INT8, 0, size_const(s, 1),
                         cache_state_bytes(&d));
        if (!mixers[m] || !cache_name(mixer))
            continue;
        struct size tokens = cache_part(s, plan, cache_held(s, plan, mixer, context));
        uint64_t page = cache_page(plan, block) ? cache_page(plan, block) : 1;
        uint64_t prefix = prefix_held(plan, mixer, page);
        tokens = size_up(s, tokens, page);
        cache_buffer(plan, work, cache_name(mixer), mixer, cache_format(plan, mixer), prefix,
                     tokens, cache_width(&d));
        entry_buffers(plan, work, &d, context, block);
        if (d.facts & FACT_INDEX_KEYS)
            cache_buffer(plan, work, "index_cache", mixer, DTYPE_INT8, prefix, tokens,
                         cache_index_bytes(&d));
    }
}
