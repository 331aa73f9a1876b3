/* What torch's allocator keeps of the segments that weights come from. A tensor of 10 MiB or
 * more gets a segment rounded up to 2 MiB, and what is left of it is split off only above 1 MiB
 * (c10/cuda/CUDACachingAllocator.cpp: kMinLargeAlloc, kRoundLarge, kSmallSize); the engine's
 * own count of its weights includes it. 56 MiB of Qwen2.5-7B, nothing of Llama-3.1-8B. */
#include "base/checked.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/list/dtype.h"
#include "work/piece/cache.h"
#include "work/serve/serve.h"

static uint64_t remainder_of(uint64_t bytes)
{
    bool overflow = false;
    uint64_t segment = checked_mul(ceil_div(bytes, 2 * MIB), 2 * MIB, &overflow);
    return !overflow && bytes >= 10 * MIB && segment - bytes <= MIB ? segment - bytes : 0;
}

struct sum {
    const struct plan *plan;
    uint64_t bytes;
};

/* `count` tensors [rows, columns]; 4-bit formats have their scales in a tensor of their own. */
static void add(struct sum *sum, enum dtype dtype, uint64_t count, uint64_t rows,
                uint64_t columns)
{
    bool overflow = false;
    uint64_t elements = checked_mul(checked_mul(count, rows, &overflow), columns, &overflow);
    uint64_t bytes = checked_mul(elements, dtype_bits(dtype), &overflow) / 8;
    sum->bytes += overflow ? 0 : remainder_of(bytes);
}

/* Fused as the engine fuses them: q, k and v; gate and up. */
static void add_attention(struct sum *sum, enum mixer mixer)
{
    const struct plan *plan = sum->plan;
    const struct attention own = model_attention(&plan->model, mixer), *a = &own;
    const struct indexer *index = &plan->model.indexer;
    uint64_t tp = engine_attention_ranks(plan), hidden = plan->model.hidden;
    uint64_t heads = ceil_div(a->heads, tp), kv = ceil_div(a->kv_heads, tp);
    uint64_t values = a->k_eq_v ? 0 : kv * a->v_head_dim;
    enum dtype in = plan_part_format(plan, PART_ATTENTION_IN);
    enum dtype out = plan_part_format(plan, PART_ATTENTION_OUT);
    if (a->kind == ATTENTION_GQA) {
        uint64_t choice = mixer == MIXER_BLOCKS ? ceil_div(index->heads, tp) + 1 : 0;
        uint64_t rank = a->q_lora_rank, q = heads * a->head_dim;
        add(sum, in, 1, hidden,
            (rank ? rank : q) + kv * a->head_dim + values + choice * index->head_dim);
        add(sum, in, 1, rank, q);
        add(sum, out, 1, heads * a->v_head_dim, hidden);
        return;
    }
    if (a->kind == ATTENTION_SHARED_KV) { /* what compresses tokens left out */
        uint64_t ranks = ceil_div(a->o_groups, tp) * a->o_lora_rank;
        add(sum, in, 1, hidden, a->q_lora_rank + a->head_dim);
        add(sum, in, 1, a->q_lora_rank, heads * a->head_dim);
        add(sum, out, 1, a->heads * a->head_dim / a->o_groups, ranks);
        add(sum, out, 1, ranks, hidden);
        return;
    }
    uint64_t latent = a->kv_lora_rank + a->qk_rope_head_dim;
    uint64_t q = heads * (a->qk_nope_head_dim + a->qk_rope_head_dim);
    add(sum, in, 1, hidden, latent + a->q_lora_rank);
    add(sum, in, 1, a->q_lora_rank ? a->q_lora_rank : hidden, q);
    add(sum, in, 1, a->kv_lora_rank, heads * (a->qk_nope_head_dim + a->v_head_dim));
    add(sum, out, 1, heads * a->v_head_dim, hidden);
    if (a->output_gate || a->head_gate)
        add(sum, in, 1, hidden, heads * (a->head_gate ? 1 : a->v_head_dim));
}

static void add_network(struct sum *sum, enum dtype dtype, uint64_t count, uint64_t hidden,
                        uint64_t inter)
{
    uint64_t wide = sum->plan->model.moe.glu ? 2 * inter : inter;
    add(sum, dtype, count, hidden, wide);
    add(sum, dtype, count, inter, hidden);
}

static uint64_t up(uint64_t a, uint64_t multiple)
{
    return multiple > 1 ? ceil_div(a, multiple) * multiple : a;
}

static void add_experts(struct sum *sum, const struct serve_experts *layout)
{
    const struct plan *plan = sum->plan;
    enum dtype dtype = plan->precision.weights;
    uint64_t local = engine_device_experts(plan);
    uint64_t hidden = up(model_row_width(&plan->model), layout->hidden_multiple);
    uint64_t inter = up(plan_expert_width(plan), layout->inter_multiple);
    add_network(sum, dtype, local, hidden, inter);
    if (dtype != DTYPE_MXFP4)
        return;
    uint64_t wide = plan->model.moe.glu ? 2 * inter : inter;
    uint64_t in = ceil_div(hidden, 32), mid = ceil_div(inter, 32);
    add(sum, DTYPE_INT8, local, in, wide);
    add(sum, DTYPE_INT8, local, mid, hidden);
    if (!layout->swizzled_scales)
        return;
    add(sum, DTYPE_INT8, local, up(in, 2), up(wide, 256));
    add(sum, DTYPE_INT8, local, up(mid, 2), up(hidden, 256));
}

static void hold(struct work *work, const char *name, uint64_t bytes, struct size count)
{
    if (!bytes)
        return;
    work_buffer(work, (struct buffer){.name = name,
                                      .category = CATEGORY_RUNTIME,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_INT8,
                                      .n_dims = 1,
                                      .dims = {size_const(&work->sizes, bytes)},
                                      .count = count,
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "torch c10/cuda/CUDACachingAllocator.cpp"});
}

void serve_remainders(const struct plan *plan, struct work *work,
                      const struct serve_experts *layout)
{
    struct sizes *s = &work->sizes;
    uint64_t tp = plan->parallel.tp;
    uint64_t of_dense = plan->parallel.dense_apart ? engine_attention_ranks(plan) : tp;
    struct sum dense = {plan, 0}, moe = {plan, 0}, table = {plan, 0}, window = {plan, 0};
    struct sum others = {plan, 0}, blocks = {plan, 0}, borrow;
    bool own = plan_splits_attention(plan) || plan_has_blocks(plan);
    add_attention(&window, MIXER_WINDOW);
    add_attention(&blocks, MIXER_BLOCKS);
    add_attention(&others, model_attention_mixer(&plan->model));
    dense.bytes = moe.bytes = own ? 0 : others.bytes;
    borrow = dense;
    add_network(&dense, plan_part_format(plan, PART_DENSE), 1, plan->model.hidden,
                ceil_div(plan->model.dense_intermediate, of_dense));
    add_network(&borrow, plan_part_format(plan, PART_DENSE), 1, plan->model.hidden,
                ceil_div(model_dense_width(&plan->model, MIXER_BORROW), tp));
    add_experts(&moe, layout);
    for (unsigned i = 0; i < 2; i++) /* down and up */
        add(&moe, plan_part_format(plan, PART_LATENT), 1, plan->model.hidden,
            plan->model.moe.latent_size);
    add_network(&moe, plan_part_format(plan, PART_SHARED), 1, plan->model.hidden,
                plan_shared_width(plan));
    add(&table, DTYPE_BF16, 1, ceil_div(plan->model.vocab, tp), plan->model.hidden);
    struct size ends = size_slot(s, SLOT_STAGE_EMBEDDING);
    if (!plan->model.tied_embeddings)
        ends = size_add(s, ends, size_slot(s, SLOT_STAGE_HEAD));
    struct size borrowing =
        plan_borrows(plan) ? serve_borrow_layers(plan, s) : size_const(s, 0);
    hold(work, "allocator_remainders_dense", dense.bytes,
         plan_borrows(plan) ? size_sub(s, size_slot(s, SLOT_STAGE_DENSE_LAYERS), borrowing)
                            : size_slot(s, SLOT_STAGE_DENSE_LAYERS));
    if (plan_borrows(plan))
        hold(work, "allocator_remainders_borrow", borrow.bytes, borrowing);
    hold(work, "allocator_remainders_moe", moe.bytes, size_slot(s, SLOT_STAGE_MOE_LAYERS));
    hold(work, "allocator_remainders_ends", table.bytes, ends);
    if (!own)
        return;
    struct size full =
        size_add(s, cache_layers(s, plan, MIXER_FULL), cache_layers(s, plan, MIXER_CHUNK));
    if (plan_borrows(plan))
        full = size_add(s, full, cache_layers(s, plan, MIXER_BORROW));
    hold(work, "allocator_remainders_attention", others.bytes, full);
    hold(work, "allocator_remainders_window", window.bytes, serve_window_layers(plan, s));
    hold(work, "allocator_remainders_blocks", blocks.bytes,
         cache_layers(s, plan, MIXER_BLOCKS));
}
