/* What an engine keeps beside its weights, and what of them elsewhere: room for adapters, and
 * matrices of layers that stay in host memory.
 *
 * Sources: vLLM 0.19.0 lora/layers/base_linear.py and fused_moe.py (create_lora_weights: A
 * [slots, 1, rank, in] and B [slots, 1, out, rank] of every matrix that was fused, both in the
 * model's format; tensor parallelism divides them as the matrix they stand beside; embedding
 * and head, which few models adapt, are not counted); model_executor/offloader/uva.py
 * (parameters of layers, in order, up to the given bytes; the last one may reach beyond, here
 * none does). SGLang's offloader is of the same making. */
#include "base/text.h"
#include "work/list/letters.h"
#include "work/piece/lora.h"
#include "work/serve/serve.h"

void serve_adapters(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    if (!lora_is_served(plan))
        return;
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
    static const char *const names[] = {"embedding_weights",     "head_weights",
                                        "encoder_weights",       "absorbed_kv_b_copies",
                                        "layer_embedding_table", "layer_embedding_projection",
                                        "expert_scales_swizzled"};
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
