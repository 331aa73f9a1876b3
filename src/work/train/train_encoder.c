/* The encoder of a multimodal model in training: what its layers save between their passes,
 * what one of them and the projector hold while they run, and what is gathered of it.
 *
 * It runs whole before the language model's first layer and backward behind it, so its tensors
 * stand in the embedding's segment, once for all layers. Its own recomputation is the plan's
 * for whole layers; of selective lists only torchtitan's reach it, and its op list keeps qkv,
 * attention's output and the first product of the network. Where no layer is trained, none
 * saves anything. What a layer has is work/piece/encoder.h's table, with its sources. */
#include "work/piece/encoder.h"

#include "plan/derive.h"
#include "work/pass/again.h"
#include "work/train/train.h"

enum encoder_tick {
    TICK_ATTENTION,
    TICK_NETWORK,
    TICK_PROJECTOR,
    TICK_D_PROJECTOR,
    TICK_D_NETWORK,
    TICK_D_ATTENTION,
    ENCODER_TICKS
};

/* Of one layer, in one pass alone. */
static const struct passing {
    const char *name;
    enum encoder_width width;
    enum encoder_tick first, last;
} passing[] = {
    {"encoder_output", ENCODER_HIDDEN, TICK_NETWORK, TICK_NETWORK},
    {"d_encoder_output", ENCODER_HIDDEN, TICK_D_NETWORK, TICK_D_ATTENTION},
    {"d_encoder_up", ENCODER_UP, TICK_D_NETWORK, TICK_D_NETWORK},
    {"d_encoder_activated", ENCODER_INTER, TICK_D_NETWORK, TICK_D_NETWORK},
    {"d_encoder_qkv", ENCODER_QKV, TICK_D_ATTENTION, TICK_D_ATTENTION},
    {"d_encoder_context", ENCODER_CONTEXT, TICK_D_ATTENTION, TICK_D_ATTENTION},
};

struct encoder_hold {
    struct train *t;
    struct sizes *z;
    struct size patches, tokens;
    struct encoder_widths w;
    uint16_t base;
    bool back;
    enum { AGAIN_NOT, AGAIN_OPS, AGAIN_WHOLE } again;
    uint64_t every; /* of every so many layers one runs again; 0: all that do */
};

static void add_ticks(struct encoder_hold *r)
{
    static const char *const names[ENCODER_TICKS] = {
        "encoder_attention",   "encoder_network",   "encoder_projector",
        "d_encoder_projector", "d_encoder_network", "d_encoder_attention",
    };
    r->base = (uint16_t)r->t->work->n_ticks;
    for (unsigned i = 0; i < ENCODER_TICKS; i++)
        work_tick(r->t->work, (struct tick){.name = names[i],
                                            .kind = OP_GEMM,
                                            .segment = SEGMENT_EMBED,
                                            .phase = i < TICK_D_PROJECTOR ? PHASE_FORWARD
                                                                          : PHASE_BACKWARD});
}

static void hold(struct encoder_hold *r, struct buffer like, struct size rows,
                 struct size width, enum encoder_tick first, enum encoder_tick last)
{
    like.segment = SEGMENT_EMBED;
    like.n_dims = 2;
    like.dims[0] = rows;
    like.dims[1] = width;
    like.dtype = like.dtype == DTYPE_NONE ? r->t->plan->precision.activations : like.dtype;
    like.first = (uint16_t)(r->base + first);
    like.last = (uint16_t)(r->base + last);
    work_buffer(r->t->work, like);
}

/* While a layer runs: both passes where it saves nothing but its input, else the forward alone
 * needs no room of its own beside what all layers save. */
static void hold_passing(struct encoder_hold *r, const char *name, enum dtype dtype,
                         enum encoder_width width, enum encoder_tick first,
                         enum encoder_tick last)
{
    if (!r->back && first >= TICK_D_PROJECTOR)
        return;
    if (!r->back && last >= TICK_D_PROJECTOR)
        last = TICK_NETWORK;
    hold(r,
         (struct buffer){.name = name,
                         .category = CATEGORY_ACTIVATION,
                         .dtype = dtype,
                         .life = LIFE_TRANSIENT},
         r->patches, r->w.of[width], first, last);
}

/* Layers that keep a tensor from their forward to their backward. */
static uint64_t keeping(const struct encoder_hold *r, const struct encoder_tensor *tensor)
{
    uint64_t layers = r->t->plan->model.encoder.layers;
    unsigned by = r->again == AGAIN_OPS ? ENCODER_KEEPS_OPS : ENCODER_KEEPS_INPUT;
    if (!r->back)
        return 0;
    if (r->again == AGAIN_NOT || tensor->keeps & by)
        return layers;
    return r->every ? layers - layers / r->every : 0;
}

static void add_tensor(struct encoder_hold *r, const struct encoder_tensor *tensor)
{
    static const enum encoder_tick forward[] = {TICK_ATTENTION, TICK_NETWORK},
                                   back[] = {TICK_D_ATTENTION, TICK_D_NETWORK};
    uint64_t layers = keeping(r, tensor), all = r->t->plan->model.encoder.layers;
    if (layers < all)
        hold_passing(r, tensor->name, tensor->dtype, tensor->width, forward[tensor->made],
                     back[tensor->until]);
    if (layers)
        hold(r,
             (struct buffer){.name = tensor->name,
                             .category = CATEGORY_ACTIVATION,
                             .dtype = tensor->dtype,
                             .count = size_const(r->z, layers),
                             .life = LIFE_SAVED},
             r->patches, r->w.of[tensor->width], TICK_ATTENTION, TICK_D_ATTENTION);
}

static void add_layers(struct encoder_hold *r)
{
    bool glu = r->t->plan->model.encoder.glu, eager = !plan_is_megatron(r->t->plan);
    size_t n;
    const struct encoder_tensor *tensors = encoder_layer(&n);
    for (size_t i = 0; i < n; i++)
        if (tensors[i].saved && (glu || !tensors[i].glu) && (eager || !tensors[i].eager))
            add_tensor(r, &tensors[i]);
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        hold_passing(r, passing[i].name, DTYPE_NONE, passing[i].width, passing[i].first,
                     passing[i].last);
}

/* Beside the inputs that frozen products leave (work/piece/encoder.c: the adapters read those
 * of qkv, of the network and of its second product), what adapters keep: the low-rank products,
 * and where each has a copy of its input that of attention's output, which attention keeps as
 * well; behind a dropout a byte of the mask (PEFT tuners/lora/layer.py). */
static void add_adapters(struct encoder_hold *r)
{
    const struct plan *plan = r->t->plan;
    const struct encoder_widths *w = &r->w;
    const uint64_t products = plan->model.encoder.glu ? 5 : 4;
    const bool copies = plan->lora.inputs != INPUTS_SHARED;
    struct size hidden = w->of[ENCODER_HIDDEN], context = w->of[ENCODER_CONTEXT];
    struct size masks =
        size_sum(r->z, SIZES(hidden, context, size_times(r->z, hidden, products - 3),
                             w->of[ENCODER_INTER]));
    const struct {
        const char *name;
        enum dtype dtype;
        struct size width;
        bool there;
    } rows[] = {
        {"encoder_lora", DTYPE_NONE, size_const(r->z, products * plan->lora.rank), true},
        {"encoder_lora_input", DTYPE_NONE, context, copies},
        {"encoder_lora_masks", DTYPE_BOOL, masks, plan->lora.inputs == INPUTS_DROPPED},
    };
    const uint64_t layers = r->again == AGAIN_NOT ? plan->model.encoder.layers : 1;
    for (size_t i = 0; encoder_adapts(plan) && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there)
            hold(r,
                 (struct buffer){.name = rows[i].name,
                                 .category = CATEGORY_ACTIVATION,
                                 .dtype = rows[i].dtype,
                                 .count = size_const(r->z, layers),
                                 .life = layers > 1 ? LIFE_SAVED : LIFE_TRANSIENT,
                                 .source = "training-stacks.md 5"},
                 r->patches, rows[i].width, TICK_ATTENTION, TICK_D_ATTENTION);
}

/* The images' values in the format of the first product, which saves them. */
static void add_pixels(struct encoder_hold *r)
{
    hold(r,
         (struct buffer){.name = "pixel_values",
                         .category = CATEGORY_ACTIVATION,
                         .life = r->back ? LIFE_SAVED : LIFE_TRANSIENT},
         r->patches, size_const(r->z, r->t->plan->model.encoder.inputs), TICK_ATTENTION,
         r->back ? TICK_D_ATTENTION : TICK_ATTENTION);
}

/* A norm, two products over a token's patches side by side and the activation between them
 * (Qwen2.5-VL, Qwen3-VL, Kimi-VL), once per output; what they give waits for the language
 * model's layers. */
static void add_projector(struct encoder_hold *r)
{
    static const char *const inner[] = {"projector_norm_out", "projector_up",
                                        "projector_activated"};
    const struct plan *plan = r->t->plan;
    bool trained = encoder_adapts(plan) || /* gradients pass it */
                   (plan->workload.encoder.train != ENCODER_FROZEN && !plan->lora.rank);
    struct size outputs = size_const(r->z, plan->model.encoder.outputs);
    struct size part = size_ceil_div(r->z, r->w.merged, size_slot(r->z, SLOT_TP));
    for (unsigned i = 0; i < 3; i++)
        hold(r,
             (struct buffer){.name = inner[i],
                             .category = CATEGORY_ACTIVATION,
                             .count = trained ? outputs : size_const(r->z, 1),
                             .life = trained ? LIFE_SAVED : LIFE_TRANSIENT},
             r->tokens, i ? part : r->w.merged, trained ? TICK_ATTENTION : TICK_PROJECTOR,
             trained ? TICK_D_ATTENTION : TICK_PROJECTOR);
    hold(r,
         (struct buffer){.name = "image_tokens",
                         .category = CATEGORY_ACTIVATION,
                         .count = outputs,
                         .life = LIFE_SAVED},
         r->tokens, r->t->d.width[COL_HIDDEN], TICK_ATTENTION, TICK_D_ATTENTION);
}

/* Whether the plan's recomputation reaches the encoder: Bridge hands it the method, not the
 * list of modules; ms-swift has a switch for it. */
static void choose_again(struct encoder_hold *r)
{
    const struct plan *plan = r->t->plan;
    if (encoder_runs_again(plan))
        r->again = AGAIN_WHOLE;
    if (plan->recompute.kind != RECOMPUTE_SELECTIVE || plan->stack.kind != STACK_TORCHTITAN)
        return;
    r->every = r->t->drop_every;
    bool whole = r->every || r->t->drops & TRAIN_FULL_LAYER;
    r->again = whole ? AGAIN_WHOLE : AGAIN_OPS;
}

void train_encoder(struct train *t)
{
    const struct plan *plan = t->plan;
    if (!encoder_is_there(plan) || !plan->workload.encoder.patches)
        return;
    struct encoder_hold r = {.t = t,
                             .z = t->z,
                             .patches = encoder_patches(plan, t->z),
                             .w = encoder_widths(plan, t->z),
                             .back = encoder_runs_back(plan)};
    r.tokens = size_ceil_by(t->z, r.patches, plan->model.encoder.merge);
    choose_again(&r);
    add_ticks(&r);
    t->encoder = r.base;
    if (plan->model.encoder.inputs)
        add_pixels(&r);
    add_layers(&r);
    add_adapters(&r);
    add_projector(&r);
}

/* ---- what is gathered ---- */

static void gather(struct train *t, const char *name, enum category category, enum dtype dtype,
                   struct size elements, uint64_t copies, enum encoder_tick first,
                   enum encoder_tick last)
{
    work_buffer(t->work, (struct buffer){.name = name,
                                         .category = category,
                                         .segment = SEGMENT_EMBED,
                                         .dtype = dtype,
                                         .n_dims = 1,
                                         .dims = {elements},
                                         .count = size_const(t->z, copies),
                                         .life = LIFE_TRANSIENT,
                                         .first = (uint16_t)(t->encoder + first),
                                         .last = (uint16_t)(t->encoder + last)});
}

/* Of a unit the gathered weights and the output of their all-gather; backward its gradients and
 * the input of their reduction. */
void train_encoder_unit(struct train *t, bool kept)
{
    const struct precision *p = &t->plan->precision;
    if (!t->encoder)
        return;
    struct params params;
    params_count(&t->plan->model, &params);
    struct encoder_share share = encoder_share(t->plan, &params);
    bool whole = t->plan->stack.kind == STACK_TORCHTITAN;
    struct size unit = size_const(t->z, whole ? share.trained + share.frozen : share.layer);
    if (kept)
        work_buffer(t->work,
                    (struct buffer){.name = "encoder_gathered_weights_kept",
                                    .category = CATEGORY_WEIGHTS,
                                    .segment = SEGMENT_STEP,
                                    .dtype = p->activations,
                                    .n_dims = 1,
                                    .dims = {size_const(t->z, share.trained + share.frozen)},
                                    .count = size_slot(t->z, SLOT_STAGE_EMBEDDING),
                                    .life = LIFE_PERSISTENT,
                                    .source = "FSDP2 reshard_after_forward false"});
    gather(t, "encoder_gathered_weights", CATEGORY_WEIGHTS, p->activations, unit, kept ? 1 : 2,
           TICK_ATTENTION, TICK_PROJECTOR);
    if (!encoder_runs_back(t->plan))
        return;
    if (!kept)
        gather(t, "encoder_gathered_weights", CATEGORY_WEIGHTS, p->activations, unit, 2,
               TICK_D_PROJECTOR, TICK_D_ATTENTION);
    if (encoder_adapts(t->plan))
        return; /* adapters' are small */
    gather(t, "encoder_unsharded_gradients", CATEGORY_GRADIENTS, p->activations, unit, 1,
           TICK_D_PROJECTOR, TICK_D_ATTENTION);
    if (t->reduces_in != DTYPE_NONE)
        gather(t, "encoder_reduce_scatter_input", CATEGORY_GRADIENTS, t->reduces_in, unit, 1,
               TICK_D_PROJECTOR, TICK_D_ATTENTION);
}
