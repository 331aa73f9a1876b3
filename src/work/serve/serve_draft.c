/* What a draft holds beside the model that verifies: its weights, and keys and values of the
 * same sequences in its layers. The model's own prediction module needs no file: it is a layer
 * of the model (model.mtp_enabled), and shares embedding and head; layers that draft blocks of
 * tokens are no layers of the step, and are held as a draft is. Temporaries of a draft's pass
 * are smaller than those of the step, and are not alive beside them. */
#include "base/checked.h"
#include "base/text.h"
#include "plan/speculation.h"
#include "work/piece/cache.h"
#include "work/piece/segments.h"
#include "work/serve/serve.h"

static void hold(struct work *work, const char *name, enum category category, struct size count,
                 struct size bytes)
{
    work_buffer(work, (struct buffer){.name = name,
                                      .category = category,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_INT8,
                                      .n_dims = 2,
                                      .dims = {count, bytes},
                                      .bytes = bytes,
                                      .count = count,
                                      .life = LIFE_PERSISTENT,
                                      .state = true});
}

/* What of it is the model's own (SGLang speculative/eagle_worker_v2.py, init_lm_head: EAGLE
 * takes both, EAGLE-3 the embedding; vLLM v1/spec_decode/llm_base_proposer.py). */
static bool is_shared(const struct plan *plan, const struct buffer *buffer)
{
    enum draft_shares shares = plan->workload.speculation.shares;
    bool first = text_equal(buffer->name, "embedding_weights");
    bool last = text_equal(buffer->name, "head_weights");
    return (first && shares != SHARES_NOTHING) || (last && shares == SHARES_ENDS) ||
           ((first || last) && plan_drafts_blocks(plan));
}

/* Of one rank, by the same list as any model's; saturates. */
static uint64_t weights_bytes(const struct plan *plan, const struct plan *draft,
                              const struct serve_style *style, struct arena *arena)
{
    struct work work;
    struct slots slots;
    uint64_t sum = 0;
    bool overflow = false;
    work_init(&work, arena);
    segments_use(draft, &work);
    serve_weights(draft, &work, style);
    work_index(&work);
    uint64_t *values = arena_alloc(arena, work.sizes.n, sizeof *values);
    slots_from_plan(draft, &slots);
    if (!sizes_eval(&work.sizes, &slots, values))
        return UINT64_MAX;
    for (size_t i = 0; i < work.n_buffers; i++)
        if (!is_shared(plan, &work.buffers[i]))
            sum = checked_add(sum, values[work.buffers[i].all.node], &overflow);
    return sum;
}

static void draft_cache(const struct plan *plan, const struct plan *draft, struct work *work,
                        uint64_t block)
{
    struct sizes *s = &work->sizes;
    struct size context = plan->workload.mode == MODE_DECODE ? size_slot(s, SLOT_CONTEXT)
                                                             : size_slot(s, SLOT_SEQUENCE_FULL);
    struct size all = size_const(s, 0);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        enum mixer mixer = (enum mixer)m;
        uint64_t layers = model_mixers(&draft->model, mixer);
        uint64_t each = cache_layer_bytes(draft, mixer, 1);
        if (!layers || !each)
            continue;
        struct size tokens = size_const(s, 1);
        if (mixer != MIXER_LINEAR)
            tokens = size_up(s, cache_part(s, draft, cache_held(s, draft, mixer, context)),
                             block ? block : 1);
        all = size_add(s, all, size_times(s, size_times(s, tokens, layers), each));
    }
    hold(work, "draft_kv_cache", CATEGORY_KV_CACHE, serve_cached_sequences(plan, s), all);
}

/* What a draft has that no model of its sizes has: the projection of what it is given, whole on
 * every rank, and q, k and v that read twice as wide (vLLM models/llama_eagle.py: fc of [2 H,
 * H]; llama_eagle3.py: fc of three hidden rows of the model, qkv_proj of 2 H). In 16 bits. */
static uint64_t entry_bytes(const struct plan *plan, const struct plan *draft)
{
    const struct drafter *size = &plan->workload.speculation.size;
    uint64_t tp = plan->parallel.tp, heads = ceil_div(size->heads, tp);
    bool overflow = false;
    uint64_t in = checked_mul(size->inputs, plan->model.hidden, &overflow);
    uint64_t projection = checked_mul(in, size->hidden, &overflow);
    uint64_t rows =
        checked_mul(heads + 2 * ceil_div(size->kv_heads, tp), size->head_dim, &overflow);
    uint64_t wider = size->joined ? checked_mul(rows, draft->model.hidden, &overflow) : 0;
    return overflow ? UINT64_MAX / 4 : 2 * (projection + wider);
}

/* Of layers that draft blocks: what projects hidden rows, whole on every rank and in the format
 * of attention, with a norm; two tables of the vocabulary over tp and what says how far a block
 * is trusted, in 16 bits (vLLM models/deepseek_v41/nvidia/dspark.py: main_proj, main_norm,
 * markov_head, confidence_head). */
static struct size block_entry(const struct plan *plan, struct sizes *s)
{
    const struct dspark *d = &plan->model.dspark;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    struct size vocab = size_ceil_div(s, size_slot(s, SLOT_VOCAB), size_slot(s, SLOT_TP));
    struct size projection = size_matrix_bytes(s, plan_part_format(plan, PART_ATTENTION_IN),
                                               hidden, size_times(s, hidden, d->inputs));
    struct size tables = size_times(s, vocab, 2 * 2 * d->rank);
    struct size vectors = size_times(s, size_plus(s, size_times(s, hidden, 2), d->rank), 2);
    return size_sum(s, SIZES(projection, tables, vectors));
}

void serve_draft(const struct plan *plan, struct work *work, const struct serve_style *style)
{
    struct plan *draft;
    if (!plan_holds_draft(plan))
        return;
    draft = arena_alloc(work->arena, 1, sizeof *draft);
    plan_draft(plan, 1, draft);
    struct sizes *s = &work->sizes;
    hold(work, "draft_weights", CATEGORY_WEIGHTS, size_const(s, 1),
         size_const(s, weights_bytes(plan, draft, style, work->arena)));
    if (plan_drafts_blocks(plan))
        hold(work, "draft_entry_weights", CATEGORY_WEIGHTS, size_const(s, 1),
             block_entry(plan, s));
    else if (entry_bytes(plan, draft))
        hold(work, "draft_entry_weights", CATEGORY_WEIGHTS, size_const(s, 1),
             size_const(s, entry_bytes(plan, draft)));
    if (!style->profile)
        draft_cache(plan, draft, work, style->cache_block);
}
