/* The end of an engine's profile run: the last rows' logits and what samples them. The
 * vocabulary decides it: with 1,024 rows it is more than any layer holds.
 *
 * Source: engines.md 1.3 (vLLM v1/worker/gpu_model_runner.py and v1/sample; torch's
 * SortStable.cu): bytes per row and vocabulary entry are 38 sorted, 14 with either later
 * sampler; checked there against 15 printed peaks within 0.007 GiB. */
#include "work/list/letters.h"
#include "work/piece/segments.h"
#include "work/serve/serve.h"

struct sample {
    struct work *work;
    struct size rows, vocab, hidden;
};

static void hold(const struct sample *x, const char *name, enum dtype dtype, struct size rows,
                 struct size width, enum segment segment)
{
    work_buffer(x->work,
                (struct buffer){
                    .name = name,
                    .category = segment == SEGMENT_HEAD ? CATEGORY_LOGITS : CATEGORY_WORKSPACE,
                    .segment = segment,
                    .dtype = dtype,
                    .n_dims = 2,
                    .dims = {rows, width},
                    .life = segment == SEGMENT_HEAD ? LIFE_TRANSIENT : LIFE_PERSISTENT,
                    .last = WORK_NONE,
                    .source = "vLLM v1/worker/gpu_model_runner.py"});
}

/* What each sampler holds of [rows, vocabulary], beside the logits and their f32 copy. */
static const struct held {
    enum sampler sampler;
    const char *name;
    enum dtype dtype;
} tensors[] = {
    {SAMPLER_SORT, "sorted_logits", DTYPE_F32},
    {SAMPLER_SORT, "sorted_indices", DTYPE_I64},
    {SAMPLER_SORT, "reverse_indices", DTYPE_I64},
    {SAMPLER_SORT, "radix_sort_keys", DTYPE_F32}, /* keys and values once more: CUB */
    {SAMPLER_SORT, "radix_sort_values", DTYPE_I64},
    {SAMPLER_TRITON, "probabilities", DTYPE_F32},
    {SAMPLER_TRITON, "exponential_noise", DTYPE_F32},
    {SAMPLER_FUSED, "top_k_mask", DTYPE_F32},
    {SAMPLER_FUSED, "probabilities", DTYPE_F32},
};

static void sampler(const struct sample *x, enum sampler sampler)
{
    struct sizes *s = &x->work->sizes;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (tensors[i].sampler == sampler)
            hold(x, tensors[i].name, tensors[i].dtype, x->rows, x->vocab, SEGMENT_HEAD);
    struct size head = size_slot(s, SLOT_STAGE_HEAD); /* on the stage that samples */
    struct size vocab = size_mul(s, size_slot(s, SLOT_VOCAB), head);
    if (sampler == SAMPLER_TRITON) /* it stays, but the layers' peak was before it */
        hold(x, "sampler_scratch", DTYPE_F32, size_slot(s, SLOT_UNITS), vocab, SEGMENT_HEAD);
    if (sampler != SAMPLER_FUSED)
        return;
    struct size sequences = size_slot(s, SLOT_MAX_SEQS);
    hold(x, "sampler_counts", DTYPE_I32, sequences, vocab, SEGMENT_STEP);
    hold(x, "sampler_prompt_bits", DTYPE_I32, sequences, size_ceil_by(s, vocab, 32),
         SEGMENT_STEP);
}

/* cuBLAS's workspace, made by the first product and never freed: 32 MiB from Hopper on, before
 * it 2 areas of 4 MiB and 8 of 16 KiB (torch CUDABlas.cpp). */
static uint64_t blas_bytes(const struct plan *plan)
{
    enum generation generation = plan_generation(plan);
    bool hopper = generation == GENERATION_SM90 || generation == GENERATION_SM100;
    return hopper ? 32 << 20 : 2 * (4 << 20) + 8 * (16 << 10);
}

void serve_blas(const struct plan *plan, struct work *work, enum segment segment,
                uint16_t first, uint16_t last)
{
    struct sizes *s = &work->sizes;
    work_buffer(work, (struct buffer){.name = "blas_workspace",
                                      .category = CATEGORY_WORKSPACE,
                                      .segment = segment,
                                      .dtype = DTYPE_INT8,
                                      .n_dims = 1,
                                      .dims = {size_const(s, blas_bytes(plan))},
                                      .life = LIFE_TRANSIENT,
                                      .first = first,
                                      .last = last,
                                      .source = "torch CUDABlas.cpp"});
}

/* In every segment that multiplies: nothing has before the embedding is timed. */
static void multiply(const struct plan *plan, struct work *work)
{
    bool kinds[KIND_COUNT];
    segments_kinds(plan, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (kinds[k])
            serve_blas(plan, work, segment_of_kind((enum layer_kind)k), 0, WORK_NONE);
    serve_blas(plan, work, SEGMENT_HEAD, 0, WORK_NONE);
}

void serve_sample(const struct plan *plan, struct work *work,
                  const struct engine_release *release, struct size tokens)
{
    struct sizes *s = &work->sizes;
    enum dtype model = plan->precision.activations;
    struct sample x = {
        .work = work,
        .rows = size_min(s, tokens, size_slot(s, SLOT_MAX_SEQS)),
        .vocab = size_up(s, size_slot(s, SLOT_VOCAB), 64),
        .hidden = size_slot(s, SLOT_HIDDEN),
    };
    multiply(plan, work);
    hold(&x, "hidden_states", model, tokens, x.hidden, SEGMENT_HEAD);
    hold(&x, "last_rows", model, x.rows, x.hidden, SEGMENT_HEAD);
    hold(&x, "last_rows_copy", model, x.rows, x.hidden, SEGMENT_HEAD);
    hold(&x, "logits", model, x.rows, x.vocab, SEGMENT_HEAD);
    hold(&x, "logits_f32", DTYPE_F32, x.rows, x.vocab, SEGMENT_HEAD);
    sampler(&x, release->sampler);
}
