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

uint16_t step_choose(struct step *s, uint16_t x, uint16_t from)
{
    struct sizes *z = s->l.z;
    bool entries = step_has_entries(s), blocks = s->d.facts & FACT_BLOCKS;
    struct size rows = s->d.rows[blocks ? ROW_FULL : ROW_LOCAL];
    if (!(s->d.facts & FACT_INDEX))
        return WORK_NONE;
    uint16_t q = step_product(s, "index_q", from, "index_query", CATEGORY_ATTENTION);
    uint16_t k =
        entries ? step_product(s, "index_compress", x, "index_key_parts", CATEGORY_ATTENTION)
                : step_product(s, "index_k", x, "index_key", CATEGORY_ATTENTION);
    k = pooled(s, x, k);
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
        context = step_entries_of(s, context);
        attended = step_entries_of(s, attended);
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
