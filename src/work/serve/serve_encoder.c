/* The encoder of a multimodal model in an engine: its weights, in 16 bits on every pipeline
 * stage (the model is built whole, and its layers alone are cut); what its largest layer holds
 * in the profile run, whose outputs stay cached to its end; and in a prefill with images.
 * Sources: vLLM model_executor/models/qwen3_vl.py at 002d7b93, v1/worker/gpu_model_runner.py
 * profile_run; engines.md 1.3. */
#include "work/list/letters.h"
#include "work/piece/encoder.h"
#include "work/serve/serve.h"

struct encoder_flow {
    struct work *work;
    struct size patches;
    enum dtype dtype;
};

void serve_encoder_weights(const struct plan *plan, struct work *work)
{
    if (!encoder_is_there(plan))
        return;
    struct params params;
    params_count(&plan->model, &params);
    struct encoder_share share = encoder_share(plan, &params);
    work_buffer(work, (struct buffer){.name = "encoder_weights",
                                      .category = CATEGORY_WEIGHTS,
                                      .segment = SEGMENT_STEP,
                                      .dtype = DTYPE_BF16,
                                      .n_dims = 1,
                                      .dims = {size_const(&work->sizes, share.trained)},
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "vLLM models/qwen3_vl.py"});
}

static struct buffer shape(const struct encoder_flow *e, const char *name, struct size width)
{
    return (struct buffer){.name = name,
                           .category = CATEGORY_ACTIVATION,
                           .dtype = e->dtype,
                           .n_dims = 2,
                           .dims = {e->patches, width}};
}

static uint16_t tensor(const struct encoder_flow *e, struct flow *flow, const char *name,
                       struct size width)
{
    return flow_tensor(flow, shape(e, name, width), false);
}

/* Held from the first layer to the last: what enters the encoder, the residual stream. */
static uint16_t held(const struct encoder_flow *e, const char *name, struct size width)
{
    struct buffer buffer = shape(e, name, width);
    buffer.segment = SEGMENT_EMBED;
    buffer.life = LIFE_TRANSIENT;
    buffer.last = WORK_NONE;
    return work_buffer(e->work, buffer);
}

/* Half a layer: what each op makes is there until the next has read it. */
static void half(const struct encoder_flow *e, const struct encoder_widths *w,
                 enum encoder_half half, uint16_t hidden)
{
    struct flow flow;
    size_t n;
    const struct encoder_tensor *rows = encoder_layer(&n);
    uint16_t before = hidden;
    flow_init(&flow, e->work, SEGMENT_EMBED);
    flow_given(&flow, hidden, false);
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].op || rows[i].made != half)
            continue;
        uint16_t made = tensor(e, &flow, rows[i].name, w->of[rows[i].width]);
        flow_op(&flow, (struct tick){.name = rows[i].op, .kind = rows[i].kind}, FLOW(before),
                FLOW(made));
        before = made;
    }
    flow_close(&flow, &(struct flow_style){0});
}

/* What was held from here on ends with the last op so far. */
static void let_go(struct work *work, size_t first)
{
    for (size_t i = first; i < work->n_buffers; i++)
        if (work->buffers[i].last == WORK_NONE)
            work->buffers[i].last = (uint16_t)(work->n_ticks - 1);
}

/* [tokens, outputs x H]: cached in the profile run, else until the model has read them. */
static void outputs(const struct plan *plan, struct work *work, struct size patches,
                    bool profile)
{
    struct sizes *z = &work->sizes;
    struct size tokens = size_ceil_by(z, patches, plan->model.encoder.merge);
    struct size width = size_times(z, size_slot(z, SLOT_HIDDEN), plan->model.encoder.outputs);
    work_buffer(work,
                (struct buffer){.name = "image_tokens",
                                .category = CATEGORY_ACTIVATION,
                                .segment = SEGMENT_STEP,
                                .dtype = plan->precision.activations,
                                .n_dims = 2,
                                .dims = {tokens, width},
                                .count = size_slot(z, SLOT_STAGE_EMBEDDING),
                                .life = LIFE_PERSISTENT,
                                .source = profile ? "vLLM profile_run: encoder_cache" : NULL});
}

void serve_encoder(const struct plan *plan, struct work *work, bool profile)
{
    if (profile && plan->workload.encoder.unprofiled)
        return;
    bool runs =
        profile || (plan->workload.mode == MODE_PREFILL && plan->workload.encoder.patches);
    if (!encoder_is_there(plan) || !runs || !plan_is_engine(plan))
        return;
    struct sizes *z = &work->sizes;
    struct encoder_widths w = encoder_widths(plan, z);
    struct encoder_flow e = {work, encoder_own_patches(plan, z), plan->precision.activations};
    size_t first = work->n_buffers;
    uint16_t tick = (uint16_t)work->n_ticks;
    if (plan->model.encoder.inputs)
        held(&e, "pixel_values", size_const(z, plan->model.encoder.inputs));
    uint16_t hidden = held(&e, "encoder_hidden", w.of[ENCODER_HIDDEN]);
    half(&e, &w, ENCODER_ATTENTION, hidden);
    half(&e, &w, ENCODER_NETWORK, hidden);
    let_go(work, first);
    if (profile)
        serve_blas(plan, work, SEGMENT_EMBED, tick, (uint16_t)(work->n_ticks - 1));
    outputs(plan, work, encoder_patches(plan, z), profile);
}
