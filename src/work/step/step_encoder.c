/* The encoder of a multimodal model as ops: its layers, bidirectional within an image, and the
 * projector. Norms, residual sums and the patch embedding are left out: 2 % of its FLOPs. */
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/piece/encoder.h"
#include "work/step/step.h"

static bool runs(const struct step *s)
{
    const struct plan *plan = s->plan;
    bool trainer = plan_is_megatron(plan) || plan_is_huggingface(plan) ||
                   plan->stack.kind == STACK_TORCHTITAN;
    bool prefill = plan_is_engine(plan) && plan->workload.mode == MODE_PREFILL;
    return encoder_is_there(plan) && plan->workload.encoder.patches &&
           (s->training ? trainer : prefill);
}

static uint16_t product(struct step *s, const char *name, uint16_t a, struct size rows,
                        struct size k, struct size n)
{
    struct layer *l = &s->l;
    uint16_t w = layer_weights_as(l, arena_join(l->arena, "w_", name), layer_wide_format(l),
                                  l->one, k, n);
    uint16_t c = step_rows(s, arena_join(l->arena, name, "_out"), CATEGORY_ACTIVATION, rows, n);
    layer_gemm(l, name, a, w, WORK_NONE, c, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = k, .n = n, .groups = l->one});
    return c;
}

/* Sums of the tp ranks' parts. */
static uint16_t summed(struct step *s, const char *name, uint16_t x)
{
    bool whole = s->plan->parallel.tp == 1 || encoder_apart(s->plan);
    return whole ? x : layer_all_reduced(&s->l, name, GROUP_TP, x);
}

/* Scores and values: 4 patches x reach x width. */
static uint16_t core(struct step *s, const struct encoder_tensor *row, uint16_t qkv,
                     struct size patches, struct size width)
{
    struct sizes *z = s->l.z;
    uint16_t context = step_rows(s, row->name, CATEGORY_ACTIVATION, patches, width);
    uint16_t op = step_op(s, row->op, KERNEL_ATTENTION,
                          OPERANDS(MANY(0, true, false, qkv), MANY(5, false, true, context)));
    struct size reach = encoder_reach(s->plan, z, patches);
    s->l.work->ops[op].flop =
        size_times(z, size_product(z, 3, (struct size[]){patches, reach, width}), 4);
    return context;
}

static uint16_t activated(struct step *s, const struct encoder_tensor *row, uint16_t x,
                          struct size patches, struct size width)
{
    uint16_t y = step_rows(s, row->name, CATEGORY_ACTIVATION, patches, width);
    layer_activation(&s->l, row->op, x, y, layer_no_groups(), patches);
    return y;
}

static uint16_t layer(struct step *s, uint16_t x, struct size patches)
{
    size_t n;
    const struct encoder_tensor *rows = encoder_layer(&n);
    struct encoder_widths w = encoder_widths(s->plan, s->l.z);
    struct size before = w.of[ENCODER_HIDDEN];
    for (size_t i = 0; i < n; i++) {
        struct size width = w.of[rows[i].width];
        if (!rows[i].op || rows[i].kind == OP_NORM)
            continue;
        if (rows[i].kind == OP_GEMM)
            x = product(s, rows[i].op, x, patches, before, width);
        else if (rows[i].kind == OP_ATTENTION)
            x = core(s, &rows[i], x, patches, width);
        else
            x = activated(s, &rows[i], x, patches, width);
        x = rows[i].sum ? summed(s, rows[i].sum, x) : x;
        before = width;
    }
    return x;
}

/* One product of as many multiplications as the projector has parameters. */
static uint16_t projector(struct step *s, uint16_t x, struct size tokens)
{
    struct sizes *z = s->l.z;
    struct encoder_widths w = encoder_widths(s->plan, z);
    struct size parameters = size_const(z, s->plan->model.encoder.projector);
    struct size columns =
        size_ceil_div(z, parameters, size_mul(z, w.merged, encoder_ranks(s->plan, z)));
    return product(s, "encoder_projector", x, tokens, w.merged, columns);
}

/* The patches of a token side by side. */
static uint16_t merge(struct step *s, uint16_t x, struct size tokens)
{
    struct encoder_widths w = encoder_widths(s->plan, s->l.z);
    uint16_t merged = step_rows(s, "merged_patches", CATEGORY_ACTIVATION, tokens, w.merged);
    step_op(s, "merge_patches", KERNEL_ROPE, OPERANDS(IN(SRC, x), OUT(DST, merged)));
    return merged;
}

/* What the ranks made of their images, [tokens, outputs x H], on all of them. */
static uint16_t gathered(struct step *s, uint16_t own)
{
    struct layer *l = &s->l;
    if (!encoder_apart(s->plan))
        return own;
    struct size tokens =
        size_mul(l->z, l->work->buffers[own].dims[0], size_slot(l->z, SLOT_TP));
    struct size width =
        size_times(l->z, size_slot(l->z, SLOT_HIDDEN), s->plan->model.encoder.outputs);
    uint16_t all = step_rows(s, "gathered_images", CATEGORY_COMMUNICATION, tokens, width);
    layer_collective(l, "gather_images", GROUP_TP, ALL_GATHER, own, all,
                     l->work->buffers[all].bytes);
    return all;
}

uint16_t step_encoder_forward(struct step *s)
{
    struct layer *l = &s->l;
    if (!runs(s))
        return WORK_NONE;
    struct encoder_run *run = &s->encoder;
    struct size patches = encoder_own_patches(s->plan, l->z), once = l->layers;
    struct size tokens = size_ceil_by(l->z, patches, s->plan->model.encoder.merge);
    struct encoder_widths w = encoder_widths(s->plan, l->z);
    run->patches =
        step_rows(s, "encoder_hidden", CATEGORY_ACTIVATION, patches, w.of[ENCODER_HIDDEN]);
    run->first = l->work->n_ops;
    l->layers = size_times(l->z, once, s->plan->model.encoder.layers);
    run->encoded = layer(s, run->patches, patches);
    run->middle = l->work->n_ops;
    l->layers = once;
    run->projected = gathered(s, projector(s, merge(s, run->encoded, tokens), tokens));
    run->end = l->work->n_ops;
    return run->projected;
}

uint16_t step_images(struct step *s, uint16_t embedded, uint16_t images)
{
    if (images == WORK_NONE)
        return embedded;
    const struct buffer *text = &s->l.work->buffers[embedded];
    uint16_t x = step_rows(s, "layer_input_with_images", CATEGORY_ACTIVATION, text->dims[0],
                           text->dims[1]);
    step_op(s, "place_images", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, embedded), MANY(1, true, false, images),
                     MANY(2, false, true, x)));
    return x;
}

void step_encoder_backward(struct step *s)
{
    struct layer *l = &s->l;
    const struct encoder_run *run = &s->encoder;
    struct size once = l->layers;
    bool frozen = s->plan->workload.encoder.train == ENCODER_FROZEN || s->plan->lora.rank;
    if (!run->end || (frozen && !encoder_adapts(s->plan)))
        return;
    const struct buffer *out = &l->work->buffers[run->projected];
    uint16_t d =
        step_rows(s, "d_image_tokens", CATEGORY_ACTIVATION, out->dims[0], out->dims[1]);
    d = layer_undo_range(l, run->middle, run->end, run->projected, d, run->encoded);
    l->layers = size_times(l->z, once, s->plan->model.encoder.layers);
    if (encoder_runs_back(s->plan)) {
        if (encoder_runs_again(s->plan))
            again_add(l->work, &s->again, run->first, run->middle);
        layer_undo_range(l, run->first, run->middle, run->encoded, d, run->patches);
    }
    l->layers = once;
}
