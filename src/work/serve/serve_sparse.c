/* What attention to chosen tokens takes in vLLM beside its layers: tokens that an indexer
 * chose, the logits of its choice, and the room in which keys and latents are gathered, which
 * the profile run asks for. Sources, of vLLM 0.33 where no other release is named:
 * model_executor/layers/sparse_attn_indexer.py, v1/attention/backends/mla/indexer.py and
 * flashmla_sparse.py, models/deepseek_v4/nvidia/flashmla.py, v1/worker/workspace.py. */
#include "base/checked.h"
#include "base/text.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/list/dtype.h"
#include "work/list/letters.h"
#include "work/piece/cache.h"
#include "work/piece/dims.h"
#include "work/serve/serve.h"

/* VLLM_SPARSE_INDEXER_MAX_LOGITS_MB: a prompt's logits are made in pieces of so much. */
enum { LOGITS = 512 * MIB };

/* ---- choices ---- */

/* Of latents and of entries; blocks choose otherwise. */
static bool chooses(const struct plan *plan, enum mixer mixer)
{
    return plan->stack.kind == STACK_VLLM && mixer != MIXER_BLOCKS &&
           model_has_indexer(&plan->model, mixer);
}

static bool chooses_any(const struct plan *plan)
{
    return chooses(plan, MIXER_FULL) || chooses(plan, MIXER_CSA);
}

bool serve_has_choice(const struct plan *plan, const struct serve_style *style,
                      enum mixer mixer)
{
    return style->profile && style->moe.keeps_workspaces && chooses(plan, mixer);
}

struct buffer serve_choice(struct sizes *s)
{
    return (struct buffer){.name = "index_logits",
                           .category = CATEGORY_WORKSPACE,
                           .dtype = DTYPE_INT8,
                           .n_dims = 1,
                           .dims = {size_const(s, LOGITS)},
                           .source = "vLLM sparse_attn_indexer.py: dummy allocation"};
}

/* Of whole blocks every layer keeps those of the one that is open, too, and how many they are.
 */
void serve_chosen(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    const struct indexer *i = &plan->model.indexer;
    bool blocks = plan->stack.kind == STACK_VLLM && plan_has_blocks(plan) && i->pooled;
    if (!blocks && !chooses_any(plan))
        return;
    work_buffer(
        work, (struct buffer){
                  .name = "chosen_tokens",
                  .category = CATEGORY_METADATA,
                  .segment = SEGMENT_STEP,
                  .dtype = DTYPE_I32,
                  .n_dims = 2,
                  .dims = {size_slot(s, SLOT_STEP_TOKENS),
                           size_const(s, i->top_k + (blocks ? i->block : 0))},
                  .count = blocks ? cache_layers(s, plan, MIXER_BLOCKS) : (struct size){0},
                  .life = LIFE_PERSISTENT,
                  .state = true,
                  .source = blocks ? "vLLM models/qwen4_exp/nvidia/qsa.py: topk_indices_buffer"
                                   : "vLLM models/deepseek_v2.py: topk_indices_buffer"});
}

/* ---- the shared room ---- */

/* Tokens that prompts gather at once (sparse_mla_prefill_workspace_factor): five times the
 * longest sequence, since 0.33 twice one beyond 256 Ki tokens (config/vllm.py). */
static struct size gathered(const struct plan *plan, struct sizes *s)
{
    enum { TIMES = 5, FEWER = 3, LONG = 256 * 1024 + 1 };
    struct size longest = size_slot(s, SLOT_CONTEXT), times = size_const(s, TIMES);
    struct size is_long =
        size_min(s, size_div(s, longest, size_const(s, LONG)), size_const(s, 1));
    if (engine_release(plan)->second_runner)
        times = size_sub(s, times, size_times(s, is_long, FEWER));
    return size_mul(s, longest, times);
}

/* Keys, a byte each with 4 of scale: as many as fill the latents' room, 576 x 2 / 132 = 8 for
 * each of these (get_max_prefill_buffer_size), of every token that a sequence may have, pooled
 * or not (issue 55221), or of its entries. */
static struct size keys_room(const struct plan *plan, struct sizes *s)
{
    enum { KEYS = 8, SCALE = 4 };
    struct size tokens = size_times(s, gathered(plan, s), KEYS);
    if (plan_shares_kv(plan))
        tokens = size_div(s, tokens, size_slot(s, SLOT_CSA_RATIO));
    return size_times(s, tokens, plan->model.indexer.head_dim + SCALE);
}

/* FlashMLA, which Hopper takes for latents in 8 bits: queries beside their rotary part, and
 * latents widened to 16 bits; since 0.33 queries padded to 64 heads, too, what attention leaves
 * of them, and of those that are heads. */
static struct size latents_room(const struct plan *plan, struct sizes *s)
{
    enum { BYTES = 2, PADDING = 64 };
    const struct attention *a = &plan->model.attention;
    struct size tokens = size_slot(s, SLOT_STEP_TOKENS);
    struct size heads = size_ceil_div(s, size_slot(s, SLOT_HEADS), dims_head_ranks(s, plan));
    struct size padded = size_up(s, heads, PADDING);
    uint64_t latent = a->kv_lora_rank, row = latent + a->qk_rope_head_dim;
    bool flash = a->kind == ATTENTION_MLA && a->qk_rope_head_dim &&
                 plan_generation(plan) == GENERATION_SM90 &&
                 dtype_bits(plan->precision.kv_cache) == 8;
    if (!flash)
        return size_const(s, 0);
    struct size rows = size_times(s, size_mul(s, tokens, heads), row);
    struct size kept = size_times(s, gathered(plan, s), row);
    struct size sum = size_add(s, rows, kept);
    if (engine_release(plan)->second_runner) {
        struct size wide = size_times(s, size_mul(s, tokens, padded), row + latent);
        sum = size_sum(s, SIZES(sum, wide, size_times(s, size_mul(s, tokens, heads), latent)));
    }
    return size_times(s, sum, BYTES);
}

/* DeepSeek-V4's: of four prompts the entries of a longest sequence, its window and a step's
 * tokens, widened; since 0.33 numbers of what each token meets and how many, too. GB10 and its
 * like read the cache where it lies. */
static struct size entries_room(const struct plan *plan, struct sizes *s)
{
    enum { PROMPTS = 4, BYTES = 2, PADDING = 128 };
    const struct model *model = &plan->model;
    struct size tokens = size_slot(s, SLOT_STEP_TOKENS);
    bool known =
        plan_generation(plan) == GENERATION_SM90 || plan_generation(plan) == GENERATION_SM100;
    if (!plan_shares_kv(plan) || !known)
        return size_const(s, 0);
    struct size entries =
        size_ceil_div(s, size_slot(s, SLOT_CONTEXT), size_slot(s, SLOT_CSA_RATIO));
    struct size rows =
        size_sum(s, SIZES(entries, size_const(s, model->attention.window), tokens));
    struct size room = size_times(s, rows, PROMPTS * BYTES * model->attention.head_dim);
    uint64_t met = ceil_div(model->indexer.top_k + model->attention.window, PADDING) * PADDING;
    if (engine_release(plan)->second_runner)
        room = size_add(s, room, size_times(s, tokens, 4 * (met + 1)));
    return room;
}

/* All take turns in one room, the experts' workspaces among them (get_simultaneous): what is
 * beyond these. */
void serve_gathers(const struct plan *plan, struct work *work, const struct serve_style *style)
{
    struct sizes *s = &work->sizes;
    struct size there = size_const(s, 0), most;
    if (!chooses_any(plan) || !style->moe.keeps_workspaces)
        return;
    for (size_t i = 0; i < work->n_buffers; i++) {
        const struct buffer *b = &work->buffers[i];
        if (text_equal(b->name, "workspace13") || text_equal(b->name, "workspace2"))
            there = size_add(s, there, b->bytes);
    }
    most = size_max(s, keys_room(plan, s),
                    size_max(s, latents_room(plan, s), entries_room(plan, s)));
    work_buffer(work, (struct buffer){.name = "index_workspace",
                                      .category = CATEGORY_WORKSPACE,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_INT8,
                                      .n_dims = 1,
                                      .dims = {size_sub(s, size_max(s, most, there), there)},
                                      .life = LIFE_PERSISTENT,
                                      .source = "vLLM mla/indexer.py, flashmla_sparse.py, "
                                                "beyond experts'"});
}
