/* What TensorRT-LLM sends caches from and takes them into, where other servers have a part of
 * every request: a buffer each way, made before the cache's pool is sized. So many tokens of
 * all layers of the rank, no more of a layer than its window, and a block; or 512 MiB. An
 * indexer's keys have buffers of their own.
 *
 * Source: cpp/tensorrt_llm/batch_manager/cacheTransBuffer.cpp (computeTransferBufferSize,
 * preAllocBufferSize) and common/envUtils.cpp 02734d9e111c (one to send, one to receive,
 * "512MB"); _torch/pyexecutor/py_executor_creator.py gives the transceiver to the executor that
 * the pool is sized by, too. */
#include "base/checked.h"
#include "base/unit.h"
#include "work/piece/cache.h"
#include "work/serve/serve.h"

enum { BUFFERS = 2 };

static const uint64_t own_bytes = 512 * MIB;

/* Of the layers of the stage; states of a recurrence pass in other buffers. */
static struct size tokens_bytes(const struct plan *plan, struct sizes *s, uint64_t block)
{
    bool overflow = false;
    uint64_t tokens = plan->memory.transfer_tokens, window = plan->memory.cache_window;
    struct size sum = size_const(s, 0);
    if (window)
        tokens = lesser(tokens, round_up(window, block));
    tokens = checked_add(tokens, block, &overflow);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        enum mixer mixer = (enum mixer)m;
        uint64_t each = mixer == MIXER_LINEAR ? 0 : cache_layer_bytes(plan, mixer, 1);
        if (each && cache_name(mixer))
            sum = size_add(s, sum,
                           size_times(s, cache_layers(s, plan, mixer),
                                      checked_mul(tokens, each, &overflow)));
    }
    return sum;
}

void serve_transfer(const struct plan *plan, struct work *work, uint64_t block)
{
    struct sizes *s = &work->sizes;
    if (plan->stack.kind != STACK_TRTLLM || plan->workload.role == DUTY_ALL)
        return;
    bool keys = plan->model.indexer.heads > 0;
    struct size bytes = plan->memory.transfer_tokens
                            ? tokens_bytes(plan, s, block ? block : 1)
                            : size_const(s, (keys ? 2 : 1) * own_bytes);
    work_buffer(work, (struct buffer){.name = "cache_transfer_buffers",
                                      .category = CATEGORY_RUNTIME,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_INT8,
                                      .n_dims = 2,
                                      .dims = {size_const(s, BUFFERS), bytes},
                                      .bytes = bytes,
                                      .count = size_const(s, BUFFERS),
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "TensorRT-LLM batch_manager/"
                                                "cacheTransBuffer.cpp"});
}
