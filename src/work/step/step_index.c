/* What an indexer does before attention: queries, keys and weights of its own, and the choice
 * of keys or blocks (DeepSeek-V3.2, DeepSeek-V4, MiniMax-M3, Qwen3.8-Flash-Next,
 * GLM-5.3-Flash). */
#include "work/piece/cache.h"
#include "work/step/step.h"

/* Keys that an indexer scores of so many tokens. */
static struct size pools_of(struct step *s, struct size tokens)
{
    uint64_t pool = model_index_pool(&s->plan->model);
    return pool > 1 ? size_div(s->l.z, tokens, size_const(s->l.z, pool)) : tokens;
}

/* Keys of as many tokens as a pool has are weighed into one, by gates of every column
 * (transformers glm5_next/modular_glm5_next.py, get_pooled_states). */
static uint16_t pooled(struct step *s, uint16_t x, uint16_t k)
{
    if (!(s->d.facts & FACT_INDEX_POOL))
        return k;
    uint16_t gate = step_product(s, "index_gate", x, "index_gate", CATEGORY_ATTENTION);
    uint16_t keys = step_rows(s, "index_pools", CATEGORY_ATTENTION,
                              pools_of(s, s->d.rows[ROW_LOCAL]), s->d.width[COL_INDEX_K]);
    step_op(s, "index_pool", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, k), MANY(1, true, false, gate),
                     MANY(2, false, true, keys)));
    return keys;
}

/* The keys of what this layer makes: of tokens, of entries, or of the entries themselves; none
 * where those of an earlier layer are there. */
static uint16_t own_keys(struct step *s, uint16_t x)
{
    if (s->d.facts & FACT_CSA)
        return step_product(s, "index_compress", x, "index_key_parts", CATEGORY_ATTENTION);
    if (s->d.facts & FACT_HCA) {
        const struct size tokens = s->d.rows[ROW_LOCAL];
        s->d.rows[ROW_LOCAL] = step_entries_of(s, tokens);
        uint16_t k =
            step_product(s, "index_entry_k", s->entries, "index_key", CATEGORY_ATTENTION);
        s->d.rows[ROW_LOCAL] = tokens;
        return k;
    }
    return step_has_entries(s) ? WORK_NONE
                               : step_product(s, "index_k", x, "index_key", CATEGORY_ATTENTION);
}

/* Entries of so many tokens that are scored: of a step's twice their mean, as of tokens. */
static struct size scored(struct step *s, struct size tokens, bool mean)
{
    struct sizes *z = s->l.z;
    uint64_t most = s->plan->model.indexer.candidates;
    struct size n = step_entries_of(s, tokens);
    if (s->d.mixer != MIXER_TSA_CHOOSE || !most)
        return n;
    struct size kept = size_min(z, n, size_const(z, most));
    return mean ? step_mean_of(z, n, kept) : kept;
}

uint16_t step_choose(struct step *s, uint16_t x, uint16_t from)
{
    struct sizes *z = s->l.z;
    bool entries = step_has_entries(s), blocks = s->d.facts & FACT_BLOCKS;
    struct size rows = s->d.rows[blocks ? ROW_FULL : ROW_LOCAL];
    if (!(s->d.facts & FACT_INDEX))
        return WORK_NONE;
    uint16_t q = step_product(s, "index_q", from, "index_query", CATEGORY_ATTENTION);
    uint16_t k = pooled(s, x, own_keys(s, x));
    k = step_keys_of_all(s, "index_key", k);
    uint16_t w =
        blocks ? WORK_NONE
               : step_product(s, "index_weights", x, "index_head_weights", CATEGORY_ATTENTION);
    uint16_t chosen = layer_rows(&s->l, "chosen_keys", CATEGORY_METADATA, DTYPE_I32,
                                 layer_fixed(rows), s->d.width[COL_INDEX_CHOSEN]);
    uint16_t op = step_op(s, "index", KERNEL_INDEX,
                          OPERANDS(MANY(0, true, false, q), MANY(1, true, false, k),
                                   MANY(2, true, false, w), MANY(3, false, true, chosen)));
    struct size context = size_slot(z, SLOT_CONTEXT), attended = size_slot(z, SLOT_ATTENDED);
    if (entries) {
        context = scored(s, context, false);
        attended = scored(s, attended, true);
    }
    struct size reached = pools_of(s, s->decode ? size_times(z, context, 2) : attended);
    if (blocks && s->plan->model.indexer.pooled) /* one key a block */
        reached = size_div(z, reached, size_slot(z, SLOT_INDEX_BLOCK));
    s->l.work->ops[op].flop = size_product(z, SIZES(rows, s->d.width[COL_INDEX_Q], reached));
    if (s->decode)
        s->l.work->ops[op].bytes_read = size_add(
            z, s->l.work->ops[op].bytes_read,
            size_product(z, SIZES(step_own_sequences(s), context, cache_index_bytes(&s->d))));
    return chosen;
}
