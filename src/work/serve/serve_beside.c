/* What an engine keeps beside its weights, and what of them elsewhere: room for adapters, and
 * matrices of layers that stay in host memory.
 *
 * Sources: vLLM 0.19.0 lora/layers/base_linear.py and fused_moe.py (create_lora_weights: A
 * [slots, 1, rank, in] and B [slots, 1, out, rank] of every matrix that was fused, both in the
 * model's format; tensor parallelism divides them as the matrix they stand beside; embedding
 * and head, which few models adapt, are not counted); TensorRT-LLM's cache of adapters below;
 * model_executor/offloader/uva.py
 * (parameters of layers, in order, up to the given bytes; the last one may reach beyond, here
 * none does). SGLang's offloader is of the same making. */
#include "base/text.h"
#include "plan/derive.h"
#include "work/list/letters.h"
#include "work/piece/lora.h"
#include "work/serve/serve.h"

/* Modules of TensorRT-LLM's adapters, and of their widths on a rank what tensor parallelism
 * splits (cpp/tensorrt_llm/runtime/loraModule.cpp, createLoraModules): the output projection is
 * taken to read as many values as a token has. */
static const struct adapted {
    const char *target;
    enum col split;
    bool input; /* is the input */
    bool key;   /* one of three that go together */
} modules[] = {
    {"q_proj", COL_Q, false, true},         {"k_proj", COL_K, false, true},
    {"v_proj", COL_V, false, true},         {"o_proj", COL_HIDDEN, true, false},
    {"gate_proj", COL_DENSE, false, false}, {"up_proj", COL_DENSE, false, false},
    {"down_proj", COL_DENSE, true, false},
};

/* A rank's values of rank 1 in one layer: of the smallest module (a page is so wide) and of the
 * largest, and how many modules are counted: those of q, k and v that are missing as well. */
struct adapted_sizes {
    struct size least, most, each[sizeof modules / sizeof *modules];
    uint64_t n, n_counted;
};

static struct adapted_sizes sizes_of(const struct plan *plan, struct sizes *s)
{
    struct adapted_sizes m = {.n = 0};
    struct dims d;
    uint64_t n_key = 0;
    dims_fill(&d, plan, s);
    dims_mixer(&d, MIXER_FULL);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const struct adapted *module = &modules[i];
        if (!plan_lists(&plan->lora.targets, module->target))
            continue;
        struct size part = module->split == COL_HIDDEN
                               ? size_ceil_div(s, d.width[COL_HIDDEN], size_slot(s, SLOT_TP))
                               : d.width[module->split];
        struct size one = size_add(s, d.width[COL_HIDDEN], part);
        m.least = m.n ? size_min(s, m.least, one) : one;
        m.most = m.n ? size_max(s, m.most, one) : one;
        m.each[m.n++] = one;
        n_key += module->key;
    }
    m.n_counted = m.n + (n_key ? 3 - n_key : 0);
    return m;
}

/* TensorRT-LLM's cache of adapters: pages of slots as wide as the smallest module, so many that
 * lora.slots adapters of the largest module's size fit (_torch/pyexecutor/_util.py, max_loras;
 * cpp/tensorrt_llm/batch_manager/peftCacheManager.cpp, getPageManagerConfig and getMaxNumSlots;
 * PeftCacheConfig's adapters of 8 and 64 where lora.rank is not below). */
static struct size cached(const struct plan *plan, struct sizes *s)
{
    const uint64_t rank = plan->lora.rank, usual = rank < 8 ? rank : 8,
                   largest = rank < 64 ? rank : 64;
    struct adapted_sizes m = sizes_of(plan, s);
    struct size slots = size_ceil_div(s, m.most, m.least), layer = size_const(s, 0);
    for (size_t i = 0; i < m.n; i++)
        layer = size_add(s, layer, size_ceil_div(s, m.each[i], m.least));
    slots = size_mul(s, size_times(s, slots, rank * m.n_counted * plan->lora.slots),
                     size_slot(s, SLOT_LAYERS));
    struct size layers = size_sub(
        s,
        size_add(s, size_slot(s, SLOT_STAGE_DENSE_LAYERS), size_slot(s, SLOT_STAGE_MOE_LAYERS)),
        size_slot(s, SLOT_STAGE_MTP));
    struct size page = size_max(s, size_mul(s, size_times(s, layer, usual), layers),
                                size_ceil_div(s, size_times(s, m.most, largest), m.least));
    return size_product(s, 3, (struct size[]){size_ceil_div(s, slots, page), page, m.least});
}

static void add_cache(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    work_buffer(work, (struct buffer){.name = "adapter_cache",
                                      .category = CATEGORY_WEIGHTS,
                                      .segment = SEGMENT_STEP,
                                      .dtype = plan->precision.activations,
                                      .n_dims = 1,
                                      .dims = {cached(plan, s)},
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "TensorRT-LLM peftCacheManager.cpp"});
}

void serve_adapters(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    if (!lora_is_served(plan))
        return;
    if (plan->stack.kind == STACK_TRTLLM) {
        add_cache(plan, work);
        return;
    }
    struct lora_sum sum = lora_parameters(plan, s);
    work_buffer(work, (struct buffer){.name = "adapter_slots",
                                      .category = CATEGORY_WEIGHTS,
                                      .segment = SEGMENT_STEP,
                                      .dtype = plan->precision.activations,
                                      .n_dims = 2,
                                      .dims = {size_const(s, plan->lora.slots),
                                               size_add(s, sum.dense, sum.experts)},
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "vLLM lora/layers"});
}

/* Tables of the ends, and what is made of weights when they are on the device. */
static bool stays(const struct buffer *buffer)
{
    static const char *const names[] = {"embedding_weights",      "head_weights",
                                        "encoder_weights",        "absorbed_kv_b_copies",
                                        "layer_embedding_table",  "layer_embedding_projection",
                                        "expert_scales_swizzled", "ngram_tables"};
    bool found = buffer->category != CATEGORY_WEIGHTS;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= text_equal(buffer->name, names[i]);
    return found;
}

void serve_offload(const struct plan *plan, struct work *work, size_t first)
{
    struct sizes *s = &work->sizes;
    struct size all = size_const(s, plan->memory.weight_offload_bytes), left = all;
    bool has = plan->stack.kind == STACK_VLLM || plan->stack.kind == STACK_SGLANG;
    if (!has || !plan->memory.weight_offload_bytes || engine_groups_layers(plan))
        return; /* vLLM takes groups where both are asked for */
    for (size_t i = first; i < work->n_buffers; i++) {
        struct buffer *buffer = &work->buffers[i];
        if (stays(buffer))
            continue;
        struct size whole = size_mul(s, buffer->bytes, buffer->count);
        buffer->bytes = buffer->dims[1] = size_sub(s, whole, left);
        buffer->count = buffer->dims[0] = size_const(s, 1);
        left = size_sub(s, left, whole);
    }
    work_host(work, "offloaded_weights", size_sub(s, all, left), "vLLM offloader/uva.py");
}
