/* Attention as ops: GQA; MLA with heads expanded from its latents, or, in decode and in prompts
 * whose keys an indexer chooses, absorbed into the latent space. Sources: training-model.md
 * section 3, engines.md (MLA decode). */
#include "plan/engine.h"
#include "plan/mixer.h"
#include "work/piece/cache.h"
#include "work/step/step.h"

enum { FLASHMLA_HEADS = 64 };

/* ---- what the core reads ---- */

static struct size cache_bytes(struct step *s, struct size tokens)
{
    return layer_bytes(&s->l, tokens, cache_width(&s->d), cache_format(s->plan, s->d.mixer));
}

bool step_has_entries(const struct step *s)
{
    return mixer_ratio(&s->plan->model, s->d.mixer) > 0;
}

bool step_makes_entries(const struct step *s)
{
    return s->d.facts & (FACT_CSA | FACT_HCA);
}

struct size step_entries_of(struct step *s, struct size tokens)
{
    return cache_entries(s->l.z, s->plan, s->d.mixer, tokens, 1);
}

/* n, and of what is beyond it half of its last `part`: sequences stand anywhere in theirs. */
static struct size less_half(struct sizes *z, struct size context, struct size n,
                             struct size part)
{
    struct size half = size_div(z, part, size_const(z, 2));
    return size_sub(z, n, size_mul(z, size_beyond(z, context, n), half));
}

/* Tokens of one sequence that a decode step meets; entries of tokens among them. Of chunks and
 * of the last chosen block it meets what is there yet (vLLM v1/attention/backends/utils.py,
 * make_local_attention_virtual_batches). */
static struct size reached_context(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size context = size_slot(z, SLOT_CONTEXT);
    struct size all = cache_tokens(z, s->plan, s->d.mixer, context);
    struct size chosen = size_min(z, all, size_slot(z, SLOT_INDEX_TOP_K));
    if (s->d.mixer == MIXER_CHUNK)
        return less_half(z, context, all, all);
    if (s->d.facts & FACT_BLOCKS)
        return less_half(z, context, chosen, size_slot(z, SLOT_INDEX_BLOCK));
    if (step_has_entries(s)) {
        struct size n = step_entries_of(s, context);
        if (s->d.facts & FACT_SPARSE)
            n = size_min(z, n, size_slot(z, SLOT_INDEX_TOP_K));
        return size_add(z, all, n);
    }
    return s->d.facts & FACT_SPARSE ? chosen : all;
}

/* Twice the mean number of n that one of them meets, at most the last `kept`. */
struct size step_mean_of(struct sizes *z, struct size n, struct size kept)
{
    return size_sub(z, size_times(z, kept, 2), size_div(z, size_mul(z, kept, kept), n));
}

/* Of a window, and of entries. */
static struct size reach_entries(struct step *s, struct size tokens, struct size kept)
{
    struct sizes *z = s->l.z;
    struct size n = step_entries_of(s, tokens), most = n;
    if (s->d.facts & FACT_SPARSE)
        most = size_min(z, n, size_slot(z, SLOT_INDEX_TOP_K));
    return size_add(z, step_mean_of(z, tokens, kept), step_mean_of(z, n, most));
}

/* Of blocks: a token's own up to itself, the others whole. */
static struct size reach_blocks(struct step *s, struct size n)
{
    struct sizes *z = s->l.z;
    struct size block = size_slot(z, SLOT_INDEX_BLOCK);
    struct size kept = size_min(z, n, size_slot(z, SLOT_INDEX_TOP_K));
    struct size beyond = size_sub(z, n, kept);
    struct size whole = size_mul(z, size_div(z, beyond, block), block);
    struct size rest = size_sub(z, beyond, whole);
    struct size others = size_mul(z, size_times(z, beyond, 2), size_sub(z, kept, block));
    struct size sum = size_sum(z, SIZES(size_mul(z, kept, kept), others,
                                        size_mul(z, whole, block), size_mul(z, rest, rest)));
    return size_div(z, sum, n);
}

/* Twice the mean number of tokens that a token meets, causal: params_reach as a size. */
static struct size reach(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size n = size_slot(z, SLOT_ATTENDED);
    if (s->d.facts & FACT_BLOCKS)
        return reach_blocks(s, n);
    struct size kept = cache_tokens(z, s->plan, s->d.mixer, n);
    if (step_has_entries(s))
        return reach_entries(s, n, kept);
    if (s->d.facts & FACT_SPARSE)
        kept = size_min(z, n, size_slot(z, SLOT_INDEX_TOP_K));
    if (mixer_owner(s->d.mixer) == MIXER_WINDOW || s->d.facts & FACT_SPARSE)
        return step_mean_of(z, n, kept);
    if (s->d.mixer != MIXER_CHUNK)
        return n;
    struct size whole = size_mul(z, size_div(z, n, kept), kept), rest = size_sub(z, n, whole);
    return size_div(z, size_add(z, size_mul(z, whole, kept), size_mul(z, rest, rest)), n);
}

struct size step_own_sequences(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size all = size_slot(z, SLOT_MICRO_BATCH);
    bool some = plan_is_engine(s->plan) && engine_prompt_ranks(s->plan) > 1;
    return some ? size_ceil_div(z, all, dims_prompt_ranks(z, s->plan)) : all;
}

/* Tokens of all of them that a rank's cache holds when a decode step reads it. */
static struct size cached_tokens(struct step *s)
{
    struct sizes *z = s->l.z;
    return size_mul(z, step_own_sequences(s), cache_part(z, s->plan, reached_context(s)));
}

/* Whether the core multiplies latents: in decode, and where every query of a prompt has keys of
 * its own, whose heads nobody expands (vLLM layers/attention/mla_attention.py, SGLang
 * layers/attention/nsa_backend.py). */
static bool is_absorbed(const struct step *s)
{
    bool apart = plan_is_engine(s->plan) && s->d.facts & FACT_SPARSE;
    return s->d.facts & FACT_MLA && (s->decode || apart);
}

/* Columns of both products of the core on latents, over all heads of a rank. FlashMLA's kernel
 * for prompts takes them in 64s on Hopper, and the engines fill up (vLLM
 * v1/attention/backends/mla/flashmla_sparse.py, SGLang _forward_flashmla_sparse). */
static struct size latent_width(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size heads = s->d.width[COL_HEADS], latent = s->d.width[COL_KV_RANK];
    if (!s->decode && plan_generation(s->plan) == GENERATION_SM90)
        heads = size_times(z, size_ceil_div(z, heads, size_const(z, FLASHMLA_HEADS)),
                           FLASHMLA_HEADS);
    struct size both = size_add(z, size_times(z, latent, 2), size_slot(z, SLOT_ROPE_DIM));
    return size_mul(z, heads, both);
}

/* Columns per token of both products of the core: q k and scores v, over all heads of a rank.
 * A prompt that is no longer than what the indexer chooses attends to all of it, with expanded
 * heads (SGLang MHA_ONE_SHOT, vLLM since 0.26 sparse_mla_force_mqa): their product is that of
 * both which absorb. */
static struct size core_width(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size expanded = size_add(z, s->d.width[COL_Q], s->d.width[COL_CONTEXT]);
    if (!is_absorbed(s))
        return expanded;
    if (s->decode)
        return latent_width(s);
    struct size chooses =
        size_beyond(z, size_slot(z, SLOT_ATTENDED), size_slot(z, SLOT_INDEX_TOP_K));
    return size_add(z, size_mul(z, latent_width(s), chooses),
                    size_mul(z, expanded, size_sub(z, size_const(z, 1), chooses)));
}

/* Causal: a token meets half of what lies in reach; in decode, all of it. 2 FLOP an element. */
static struct size core_flop(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size rows = s->d.rows[ROW_FULL], width = core_width(s);
    if (s->decode)
        return size_times(z, size_product(z, SIZES(rows, reached_context(s), width)), 2);
    return size_product(z, SIZES(rows, reach(s), width));
}

/* ---- projections ---- */

struct heads {
    uint16_t q, k, v; /* as the core reads them */
    uint16_t kv;      /* what the cache stores: k and v together, or the latent */
    uint16_t gate;    /* on the output */
    uint16_t chosen;  /* keys, by the indexer */
    uint16_t entries; /* of windows that are full */
};

static uint16_t heads_rows(struct step *s, const char *name, enum col width)
{
    return step_rows(s, name, CATEGORY_ATTENTION, s->d.rows[ROW_FULL], s->d.width[width]);
}

/* q, and what the indexer makes of the same latent. */
static uint16_t low_rank_q(struct step *s, uint16_t x, uint16_t *chosen)
{
    uint16_t down = step_product(s, "q_down", x, "q_latent", CATEGORY_ATTENTION);
    s->l.module = MODULE_UP;
    uint16_t normed = step_norm(s, "q_latent_norm", down);
    *chosen = step_choose(s, x, normed);
    s->l.module = MODULE_UP;
    return step_product(s, "q_up", step_gathered(s, "q_latent", normed), "q_out",
                        CATEGORY_ATTENTION);
}

/* Keys and values, with those of the ranks that share the tokens out. */
static struct heads keys_of_all(struct step *s, struct heads h)
{
    h.k = step_keys_of_all(s, "k", h.k);
    h.v = step_keys_of_all(s, "v", h.v);
    return h;
}

/* Queries, keys and values of the same heads, to be filled; `chosen` as choose gives it. */
static struct heads own_heads(struct step *s, uint16_t chosen)
{
    return (struct heads){heads_rows(s, "q", COL_Q),
                          heads_rows(s, "k", COL_K),
                          heads_rows(s, "v", COL_V),
                          WORK_NONE,
                          WORK_NONE,
                          chosen,
                          WORK_NONE};
}

/* Of queries with a rank, whose keys and values are a product of the layer's input (Step-3). */
static struct heads ranked(struct step *s, uint16_t x)
{
    uint16_t chosen, q = low_rank_q(s, x, &chosen), all = step_gathered(s, "attention_in", x);
    uint16_t kv = step_product(s, "kv", all, "kv_out", CATEGORY_ATTENTION);
    struct heads h = own_heads(s, chosen);
    s->l.module = MODULE_ROPE;
    step_op(s, "rope", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, q), MANY(1, true, false, kv),
                     MANY(2, false, true, h.q), MANY(3, false, true, h.k),
                     MANY(4, false, true, h.v)));
    return keys_of_all(s, h);
}

/* Layers that borrow read keys and values that the list of an earlier layer's kind has made. */
static struct heads gqa(struct step *s, uint16_t x)
{
    if (s->d.facts & FACT_Q_LOW_RANK)
        return ranked(s, x);
    uint16_t all = step_gathered(s, "attention_in", x);
    uint16_t chosen = s->d.facts & FACT_BLOCKS ? step_choose(s, all, all) : WORK_NONE;
    uint16_t qkv = step_product(s, "qkv", all, "qkv_out", CATEGORY_ATTENTION);
    s->l.module = MODULE_ROPE;
    if (s->d.facts & FACT_QK_NORM)
        qkv = step_norm(s, "qk_norm", qkv);
    struct heads h = own_heads(s, chosen);
    uint16_t split =
        s->d.facts & FACT_OUTPUT_GATE ? heads_rows(s, "output_gate", COL_CONTEXT) : WORK_NONE;
    bool own = s->d.facts & FACT_OWN_KV;
    step_op(s, "rope", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, qkv), MANY(1, false, true, h.q),
                     MANY(2, false, true, own ? h.k : WORK_NONE),
                     MANY(3, false, true, own ? h.v : WORK_NONE), MANY(4, false, true, split)));
    h.gate = s->d.facts & FACT_HEAD_GATE
                 ? step_product(s, "head_gate", all, "head_gate", CATEGORY_ATTENTION)
                 : split;
    return own ? keys_of_all(s, h) : h;
}

/* A latent of the down projection, normed and gathered over tp. */
static uint16_t latent(struct step *s, const char *matrix, const char *name, uint16_t x)
{
    uint16_t down = step_product(s, matrix, x, name, CATEGORY_ATTENTION);
    s->l.module = MODULE_UP;
    return step_gathered(s, name, step_norm(s, arena_join(s->l.arena, name, "_norm"), down));
}

static uint16_t mla_q(struct step *s, uint16_t x, uint16_t *chosen)
{
    *chosen = WORK_NONE;
    if (s->d.facts & FACT_Q_LOW_RANK)
        return low_rank_q(s, x, chosen);
    return step_product(s, "q", step_gathered(s, "attention_in", x), "q_out",
                        CATEGORY_ATTENTION);
}

/* What a sigmoid of multiplies the context (g_proj of Kimi-K3, per head of Ling-3.0, whose
 * input is the layer's). */
static uint16_t mla_gate(struct step *s, uint16_t x)
{
    bool heads = s->d.facts & FACT_HEAD_GATE;
    if (!(s->d.facts & FACT_GATED))
        return WORK_NONE;
    return step_product(s, heads ? "head_gate" : "attention_gate",
                        step_gathered(s, "attention_gate_in", x),
                        heads ? "head_gate" : "output_gate", CATEGORY_ATTENTION);
}

static struct heads mla(struct step *s, uint16_t x)
{
    uint16_t chosen, q = mla_q(s, x, &chosen), c = latent(s, "kv_down", "kv_latent", x);
    const struct size own = s->d.rows[ROW_FULL];
    c = step_keys_of_all(s, "kv_latent", c);
    s->d.rows[ROW_FULL] = step_key_rows(s);
    uint16_t up = step_product(s, "kv_up", c, "kv_up_out", CATEGORY_ATTENTION);
    uint16_t k = heads_rows(s, "k", COL_K), v = heads_rows(s, "v", COL_V);
    s->d.rows[ROW_FULL] = own;
    uint16_t gate = mla_gate(s, x);
    struct heads h = {heads_rows(s, "q", COL_Q), k, v, c, gate, chosen, WORK_NONE};
    s->l.module = MODULE_ROPE;
    step_op(s, "rope", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, q), MANY(1, true, false, up), MANY(2, true, false, c),
                     MANY(3, false, true, h.q), MANY(4, false, true, h.k),
                     MANY(5, false, true, h.v)));
    return h;
}

/* kv and gate of the tokens, and where a window is full the entry that its weighed sum makes.
 */
static uint16_t compressed(struct step *s, uint16_t x)
{
    if (!step_makes_entries(s))
        return WORK_NONE;
    uint16_t parts = step_product(s, "entry_compress", x, "entry_parts", CATEGORY_ATTENTION);
    uint16_t entries =
        step_rows(s, "entries", CATEGORY_ATTENTION, step_entries_of(s, s->d.rows[ROW_LOCAL]),
                  s->d.width[COL_SHARED_KV]);
    step_op(s, "compress", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, parts), MANY(1, false, true, entries)));
    return entries;
}

/* One head that is key and value: k alone is there, with the entries it meets beside. */
static struct heads shared_kv(struct step *s, uint16_t x)
{
    bool first = s->plan->model.attention.entry_keys;
    s->entries = first ? compressed(s, x) : WORK_NONE;
    uint16_t chosen, q = mla_q(s, x, &chosen);
    uint16_t c = latent(s, "shared_kv", "kv", x);
    uint16_t entries = step_keys_of_all(s, "entries", first ? s->entries : compressed(s, x));
    struct heads h = {heads_rows(s, "q", COL_Q),
                      heads_rows(s, "k", COL_K),
                      WORK_NONE,
                      WORK_NONE,
                      WORK_NONE,
                      chosen,
                      entries};
    s->l.module = MODULE_ROPE;
    step_op(s, "rope", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, q), MANY(1, true, false, c),
                     MANY(2, false, true, h.q), MANY(3, false, true, h.k)));
    return keys_of_all(s, h);
}

/* Groups of heads each with its own [in, out] matrix, side by side. */
static uint16_t grouped_out(struct step *s, uint16_t context)
{
    struct layer *l = &s->l;
    struct size groups =
        size_ceil_div(l->z, size_slot(l->z, SLOT_O_GROUPS), dims_head_ranks(l->z, s->plan));
    struct size rows = s->d.rows[ROW_FULL], in = s->d.width[COL_GROUP_IN];
    struct size out = size_slot(l->z, SLOT_O_RANK);
    if (!(s->d.facts & FACT_SHARED_KV))
        return context;
    s->l.module = MODULE_PROJECTION;
    uint16_t w =
        layer_weights_as(l, "w_attention_out_down",
                         plan_part_format(s->plan, PART_ATTENTION_OUT), groups, in, out);
    uint16_t c =
        step_rows(s, "attention_out_latent", CATEGORY_ATTENTION, rows, s->d.width[COL_O_RANKS]);
    layer_gemm(l, "attention_out_down", context, w, WORK_NONE, c, layer_no_groups(),
               (struct gemm_shape){
                   .rows = size_mul(l->z, rows, groups), .k = in, .n = out, .groups = groups});
    return c;
}

/* A product of every head with its own [in, out] part of kv_b, folded into q or the context. */
static uint16_t absorb(struct step *s, const char *name, uint16_t a, struct size in,
                       struct size out)
{
    struct layer *l = &s->l;
    struct size heads = s->d.width[COL_HEADS], rows = s->d.rows[ROW_FULL];
    uint16_t w = layer_weights_as(l, arena_join(l->arena, "w_", name), layer_wide_format(l),
                                  heads, in, out);
    uint16_t c = step_rows(s, arena_join(l->arena, name, "_out"), CATEGORY_ATTENTION, rows,
                           size_mul(l->z, heads, out));
    /* a row is one head's part of a token: its in columns are read, its out ones written */
    layer_gemm(l, name, a, w, WORK_NONE, c, layer_no_groups(),
               (struct gemm_shape){
                   .rows = size_mul(l->z, rows, heads), .k = in, .n = out, .groups = heads});
    return c;
}

static struct heads mla_absorbed(struct step *s, uint16_t x)
{
    struct sizes *z = s->l.z;
    uint16_t chosen, q = mla_q(s, x, &chosen), c = latent(s, "kv_down", "kv_latent", x);
    uint16_t gate = mla_gate(s, x);
    s->l.module = MODULE_ROPE;
    uint16_t turned = heads_rows(s, "q", COL_Q);
    step_op(s, "rope", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, q), MANY(1, true, false, c),
                     MANY(2, false, true, turned)));
    s->l.module = MODULE_UP;
    uint16_t folded =
        absorb(s, "absorb_q", turned, size_slot(z, SLOT_NOPE_DIM), size_slot(z, SLOT_KV_RANK));
    c = step_keys_of_all(s, "kv_latent", c);
    return (struct heads){folded, WORK_NONE, WORK_NONE, c, gate, chosen, WORK_NONE};
}

/* ---- the core ---- */

/* New tokens into the cache; the cache is a buffer of the step's. */
static void write_cache(struct step *s, const struct heads *h)
{
    struct size rows = step_key_rows(s);
    uint16_t op = step_op(s, "write_cache", KERNEL_CACHE,
                          OPERANDS(MANY(0, true, false, h->kv), MANY(1, true, false, h->k),
                                   MANY(2, true, false, h->v)));
    struct size keys = rows, kept = rows;
    if (step_has_entries(s)) {
        keys = step_makes_entries(s) ? step_entries_of(s, rows) : size_const(s->l.z, 0);
        kept = size_add(s->l.z, rows, keys);
    }
    struct size index = size_mul(s->l.z, keys, cache_index_bytes(&s->d));
    s->l.work->ops[op].bytes_written = size_add(s->l.z, cache_bytes(s, kept), index);
}

/* Keys and values of the other cp ranks go around their ring while the core runs: returns what
 * arrives. */
static uint16_t ring(struct step *s, const struct heads *h)
{
    if (!(s->d.facts & FACT_CP) || plan_is_engine(s->plan)) /* whose keys were gathered */
        return WORK_NONE;
    struct layer *l = &s->l;
    uint16_t kv = step_rows(s, "ring_kv", CATEGORY_COMMUNICATION, s->d.rows[ROW_FULL],
                            s->d.width[COL_KV]);
    step_op(s, "pack_kv", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, h->k), MANY(1, true, false, h->v),
                     MANY(2, false, true, kv)));
    uint16_t arrived = step_rows(s, "ring_kv_received", CATEGORY_COMMUNICATION,
                                 s->d.rows[ROW_FULL], s->d.width[COL_KV]);
    layer_collective(l, "ring_kv", GROUP_CP, RING, kv, arrived, l->work->buffers[kv].bytes);
    return arrived;
}

static uint16_t core(struct step *s, const struct heads *h, uint16_t arrived)
{
    struct layer *l = &s->l;
    bool absorbed = is_absorbed(s);
    uint16_t keys = absorbed && !s->decode ? h->kv : h->k;
    struct size width = absorbed
                            ? size_mul(l->z, s->d.width[COL_HEADS], s->d.width[COL_KV_RANK])
                            : s->d.width[COL_CONTEXT];
    uint16_t q = step_gathered_queries(s, h->q);
    uint16_t context =
        step_rows(s, absorbed ? "latent_context" : "attention_context", CATEGORY_ATTENTION,
                  s->d.rows[ROW_FULL], step_all_heads(s, width));
    s->l.module = MODULE_ATTENTION;
    uint16_t op =
        step_op(s, "attention", KERNEL_ATTENTION,
                OPERANDS(MANY(0, true, false, q), MANY(1, true, false, keys),
                         MANY(2, true, false, h->v), MANY(3, true, false, arrived),
                         MANY(4, true, false, h->chosen), MANY(5, false, true, context),
                         MANY(6, true, false, h->entries)));
    struct op *attention = &l->work->ops[op];
    attention->flop = core_flop(s);
    if (s->decode)
        attention->bytes_read =
            size_add(l->z, l->work->buffers[q].bytes, cache_bytes(s, cached_tokens(s)));
    else if (step_has_entries(s) && !step_makes_entries(s)) /* of an earlier layer */
        attention->bytes_read =
            size_add(l->z, attention->bytes_read,
                     cache_bytes(s, step_entries_of(s, s->d.rows[ROW_FULL])));
    context = step_summed_context(s, context, width);
    return absorbed ? absorb(s, "absorb_v", context, size_slot(l->z, SLOT_KV_RANK),
                             size_slot(l->z, SLOT_V_DIM))
                    : context;
}

/* The gate on the context. */
static uint16_t gated(struct step *s, const struct heads *h, uint16_t context)
{
    if (h->gate == WORK_NONE)
        return context;
    uint16_t out = heads_rows(s, "gated_context", COL_CONTEXT);
    step_op(s, "output_gate", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, context), MANY(1, true, false, h->gate),
                     MANY(2, false, true, out)));
    return out;
}

static uint16_t softmax(struct step *s, uint16_t normed)
{
    bool is_mla = s->d.facts & FACT_MLA, shared = s->d.facts & FACT_SHARED_KV;
    struct heads h = shared           ? shared_kv(s, normed)
                     : !is_mla        ? gqa(s, normed)
                     : is_absorbed(s) ? mla_absorbed(s, normed)
                                      : mla(s, normed);
    if (!s->training && s->d.facts & FACT_OWN_KV)
        write_cache(s, &h);
    uint16_t context = grouped_out(s, gated(s, &h, core(s, &h, ring(s, &h))));
    return step_product(s, "attention_out", context, "attention_out", CATEGORY_ATTENTION);
}

/* An engine's ranks make the latents of all tokens, each the same: their products are not split
 * (vLLM and SGLang models/deepseek_v2.py, step3_text.py: ReplicatedLinear), and tokens that
 * ranks share out between layers are gathered before (SGLang layers/communicator.py). */
static uint16_t latents_of_all(struct step *s, uint16_t normed)
{
    bool ranks = s->d.facts & FACT_GQA && s->d.facts & FACT_Q_LOW_RANK;
    if (!plan_is_engine(s->plan) || !(s->d.facts & FACT_MLA || ranks))
        return normed;
    uint16_t all = step_gathered(s, "attention_in", normed);
    s->d.facts &= ~FACT_GATHER;
    s->d.rows[ROW_LOCAL] = s->d.rows[ROW_FULL];
    return all;
}

static uint16_t attend(struct step *s, uint16_t normed)
{
    const struct dims kept = s->d;
    uint16_t part = step_prompt_in(s, normed);
    uint16_t out = softmax(s, latents_of_all(s, part));
    s->d = kept;
    return step_prompt_out(s, "attention_sum", out);
}

/* Of both, each is summed over tp by its own projection, then they are added (vLLM
 * models/falcon_h1.py, FalconH1ParallelHybrid). */
uint16_t step_mixer(struct step *s, uint16_t normed)
{
    const struct dims kept = s->d;
    if (!(s->d.mix & MIX_LINEAR))
        return attend(s, normed);
    uint16_t out = step_linear(s, normed);
    s->d = kept;
    out = step_reduced(s, "attention_sum", out);
    if (!(s->d.mix & MIX_SOFTMAX))
        return out;
    s->l.module = MODULE_DOWN;
    return step_add(s, "mixers_sum", attend(s, normed), out);
}

uint16_t step_attention(struct step *s, uint16_t x)
{
    s->l.module = MODULE_ATTENTION_NORM;
    struct streams streams = step_streams(s, "attention", x);
    uint16_t out = step_mixer(s, step_norm_in(s, "attention_norm", streams.row));
    s->l.module = MODULE_RESIDUAL;
    return step_into(s, "mlp_input", &streams, out);
}
