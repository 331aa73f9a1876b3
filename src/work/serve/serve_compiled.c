/* What torch.compile makes of a profile run. vLLM cuts the model into pieces between attention
 * calls and compiles each: a piece's caller holds what enters it until it ends (the output of
 * attention, the residual stream), and a kernel that runs for the first time is timed beside a
 * buffer of the size of the L2 cache. Before anything runs, kernels that may be joined are
 * timed on made-up operands: the first is the embedding's, whose table then stands there twice.
 *
 * Source: vLLM 0.19.0 compilation/piecewise_backend.py (__call__ passes *args on), config/
 * compilation.py (combo_kernels, benchmark_combo_kernel), v1/worker/gpu_model_runner.py
 * (intermediate_tensors of stages after the first, of max_num_tokens); torch
 * _inductor/runtime/benchmarking.py (L2_cache_size). Inferred from seven printed peaks and
 * pools of stages that do not sample, which come out within 0.01 GiB
 * (models/published/vllm_memory.csv). */
#include "work/list/letters.h"
#include "work/piece/dims.h"
#include "work/serve/serve.h"

bool serve_compiles(const struct plan *plan, const struct serve_style *style)
{
    return style->profile && style->profile->compiles && plan->stack.graphs != GRAPHS_NONE;
}

static struct buffer rows_of(const struct plan *plan, const char *name, struct size rows,
                             struct size width)
{
    return (struct buffer){.name = name,
                           .category = CATEGORY_ACTIVATION,
                           .dtype = plan->precision.activations,
                           .n_dims = 2,
                           .dims = {rows, width},
                           .source = "vLLM compilation/piecewise_backend.py"};
}

static uint16_t transient(struct work *work, enum segment segment, uint16_t first,
                          struct buffer buffer)
{
    buffer.segment = segment;
    buffer.life = LIFE_TRANSIENT;
    buffer.first = first;
    buffer.last = WORK_NONE;
    return work_buffer(work, buffer);
}

void serve_piece(const struct plan *plan, struct work *work, enum segment segment,
                 struct size tokens, struct size context)
{
    transient(work, segment, (uint16_t)work->n_ticks,
              rows_of(plan, "piece_context", tokens, context));
}

struct buffer serve_timing(const struct plan *plan, struct sizes *s)
{
    return (struct buffer){.name = "kernel_timing",
                           .category = CATEGORY_WORKSPACE,
                           .dtype = DTYPE_INT8,
                           .n_dims = 1,
                           .dims = {size_const(s, plan->cluster.device.l2_bytes)},
                           .source = "torch _inductor/runtime/benchmarking.py"};
}

/* The table's rows of a rank, what is read from them and its norm. */
static void time_embedding(const struct plan *plan, struct work *work, struct size tokens)
{
    struct sizes *s = &work->sizes;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    struct size vocab = size_up(s, size_slot(s, SLOT_VOCAB), 64);
    struct size rows = size_ceil_div(s, vocab, size_slot(s, SLOT_TP));
    uint16_t tick = work_tick(work, (struct tick){.name = "embedding_timing",
                                                  .kind = OP_GATHER,
                                                  .segment = SEGMENT_EMBED,
                                                  .phase = PHASE_FORWARD,
                                                  .host_syncs = size_const(s, 0)});
    const struct buffer operands[] = {
        rows_of(plan, "embedding_timed", rows, hidden),
        rows_of(plan, "embedded_timed", tokens, hidden),
        rows_of(plan, "norm_timed", tokens, hidden),
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        transient(work, SEGMENT_EMBED, tick, operands[i]);
}

/* Hidden rows and residual stream that a stage takes from the one before it; of
 * hyper-connections all streams and nothing else, of attention residuals the sums of blocks. */
static void hold_incoming(const struct plan *plan, struct work *work, struct size tokens)
{
    static const char *const names[] = {"incoming_hidden", "incoming_residual"};
    struct sizes *s = &work->sizes;
    const size_t n = plan->model.residual_streams > 1 ? 1 : 2;
    struct size hidden = size_slot(s, SLOT_HIDDEN), blocks = size_slot(s, SLOT_BLOCKS_IN);
    struct size later = size_sub(s, size_const(s, 1), size_slot(s, SLOT_STAGE_EMBEDDING));
    for (size_t i = 0; i < n; i++) {
        struct buffer buffer =
            rows_of(plan, names[i], tokens,
                    i && plan->model.residual_block ? size_mul(s, blocks, hidden)
                                                    : dims_streams(s, plan));
        buffer.segment = SEGMENT_STEP;
        buffer.life = LIFE_PERSISTENT;
        buffer.count = later;
        buffer.source = "vLLM v1/worker/gpu_model_runner.py";
        work_buffer(work, buffer);
    }
}

void serve_before(const struct plan *plan, struct work *work, const struct serve_style *style,
                  struct size tokens)
{
    if (!style->profile)
        return;
    if (plan->parallel.pp > 1)
        hold_incoming(plan, work, tokens);
    if (serve_compiles(plan, style) && style->profile->times_joined)
        time_embedding(plan, work, tokens);
}
