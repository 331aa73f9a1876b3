/* MaxText (JAX, XLA): static shapes, rematerialised layers, gradients as part of temp.
 *
 * The buffers alive while a layer runs backward are declared by name; their fold is the model
 * of reference "training memory and throughput", section 2, to the byte: temp = F + mb (c + nH
 * rows + nF rows I/H + 3 masks) XLA keeps six [rows, I] buffers in its relaxed schedule and
 * three after rematerialisation; which of the two runs is decided by the memory limit, in sim.
 * Sources of the shapes: MaxText layers/moe.py (permute, generate_masks) and published job logs
 * of seed 000. */
#include "plan/derive.h"
#include "work/list/dtype.h"
#include "work/path/path.h"
#include "work/piece/segments.h"
#include "work/piece/state.h"
#include "work/stack/maxtext.h"
#include "work/stack/stacks.h"

enum { RELAXED = 1u << 0, REMATERIALISED = 1u << 1 };

static void declare_rows(struct maxtext_layer *layer, const char *name, enum category category,
                         uint32_t schedules, struct size width)
{
    struct size dims[3];
    for (unsigned i = 0; i < layer->n_rows; i++)
        dims[i] = layer->rows[i];
    dims[layer->n_rows] = width;
    maxtext_declare(layer, layer->segment, name, category, schedules, layer->n_rows + 1, dims);
}

/* 2 (q + k + v) + context + 3 [T, H]: flash attention's inputs, their gradients, its output,
 * and the residual stream with its gradient. What projections read is whole on every rank. */
static void declare_attention(struct maxtext_layer *layer)
{
    const struct {
        const char *name;
        enum category category;
        struct size width;
    } tensors[] = {
        {"q", CATEGORY_ATTENTION, layer->q},
        {"k", CATEGORY_ATTENTION, layer->k},
        {"v", CATEGORY_ATTENTION, layer->v},
        {"d_q", CATEGORY_ATTENTION, layer->q},
        {"d_k", CATEGORY_ATTENTION, layer->k},
        {"d_v", CATEGORY_ATTENTION, layer->v},
        {"attention_context", CATEGORY_ATTENTION, layer->context},
        {"layer_norm_out", CATEGORY_ACTIVATION, layer->hidden},
        {"residual", CATEGORY_ACTIVATION, layer->between},
        {"d_residual", CATEGORY_ACTIVATION, layer->between},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        maxtext_declare(layer, layer->segment, tensors[i].name, tensors[i].category, 0, 2,
                        (struct size[]){layer->tokens, tensors[i].width});
}

/* [rows, H] buffers alive in the layer's backward, by what exchanges; counts by published job
 * logs (capacity 3, ragged all-to-all 4, DeepEP 2). Sorted rows are whole on every rank, slots
 * of a capacity split (layers/moe.py: input_partition_pspec, dispatch_axis). */
static void declare_rows_hidden(struct maxtext_layer *layer, enum path_exchange exchange)
{
    static const struct {
        enum path_exchange exchange;
        const char *names[5];
    } tensors[] = {
        {EXCHANGE_CAPACITY, {"dispatched_x", "expert_out", "d_dispatched_x"}},
        {EXCHANGE_EVERYONE, {"expert_out", "d_expert_out"}},
        {EXCHANGE_ROWS, {"received_x", "sorted_x", "expert_out", "d_sorted_x"}},
        {EXCHANGE_TOKENS, {"fan_out_x", "d_fan_out_x"}},
        {EXCHANGE_GATHER, {"permuted_x", "expert_out", "d_permuted_x"}},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        for (unsigned j = 0; tensors[i].exchange == exchange && tensors[i].names[j]; j++)
            declare_rows(layer, tensors[i].names[j], CATEGORY_DISPATCH, 0,
                         exchange == EXCHANGE_CAPACITY ? layer->between : layer->hidden);
}

/* Six [rows, I] in the relaxed schedule; rematerialisation drops three. */
static void declare_rows_inter(struct maxtext_layer *layer)
{
    static const struct {
        const char *name;
        uint32_t schedules;
    } tensors[] = {
        {"gate_out", 0},     {"up_out", 0},     {"activated", 0},
        {"d_gate", RELAXED}, {"d_up", RELAXED}, {"d_activated", RELAXED},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        declare_rows(layer, tensors[i].name, CATEGORY_EXPERT, tensors[i].schedules,
                     layer->inter);
}

/* One-hot masks [b, S, E, C]: combine, dispatch (as the weights' dtype in the einsum), and the
 * gradient of combine. */
static void declare_masks(struct maxtext_layer *layer)
{
    static const char *const names[] = {"combine_mask", "dispatch_mask", "d_combine_mask"};
    struct sizes *z = layer->z;
    struct size dims[] = {size_slot(z, SLOT_MICRO_BATCH), size_slot(z, SLOT_SEQUENCE_FULL),
                          size_slot(z, SLOT_EXPERTS), maxtext_capacity(layer)};
    for (unsigned i = 0; i < 3; i++)
        maxtext_declare(layer, layer->segment, names[i], CATEGORY_MASK, 0, 4, dims);
}

/* ragged_dot without a grouped kernel: XLA masks and expands one operand per local expert,
 * [e, rows, width]. Counts: 2 x H, 5 x I with the ragged all-to-all, 3 x I with DeepEP. */
static void declare_expanded(struct maxtext_layer *layer, enum path_exchange exchange)
{
    static const struct {
        const char *name;
        bool hidden, deepep;
    } tensors[] = {
        {"expanded_x", true, true},          {"expanded_d_out", true, true},
        {"expanded_activated", false, true}, {"expanded_d_gate", false, true},
        {"expanded_d_up", false, true},      {"expanded_gate", false, false},
        {"expanded_up", false, false},
    };
    struct size experts = size_slot(layer->z, SLOT_LOCAL_EXPERTS);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (exchange != EXCHANGE_TOKENS || tensors[i].deepep)
            maxtext_declare(layer, layer->segment, tensors[i].name, CATEGORY_EXPERT, 0, 3,
                            (struct size[]){experts, layer->rows[0],
                                            tensors[i].hidden ? layer->hidden : layer->inter});
}

static void declare_dense_mlp(struct maxtext_layer *layer)
{
    static const char *const names[] = {"gate_out", "up_out", "activated", "d_activated"};
    for (unsigned i = 0; i < 4; i++)
        maxtext_declare(layer, layer->segment, names[i], CATEGORY_ACTIVATION, 0, 2,
                        (struct size[]){layer->tokens, layer->dense_inter});
}

/* Weights in 32 bits are cast for every product (layers/linears.py); of stacked layers XLA
 * moves the cast in front of the loop, so that all of a rank's are there in 16 bits through the
 * step. 16 layers of 4096 x 16384 on 16 v6e, ahead of time: 570 MB of 2.37 GB of temp; none
 * where weight_dtype is bfloat16. Looked at on TPUs alone, and held there alone. */
static void declare_casts(const struct plan *plan, struct work *work)
{
    const struct precision *precision = &plan->precision;
    bool narrow = plan_on_tpu(plan) && precision->weights == DTYPE_F32 &&
                  dtype_bits(precision->activations) < 32;
    struct shards all = step_shards(plan, work, 3);
    if (narrow && !plan->stack.unrolled && !state_waits_there(plan))
        step_reserve(work, "weights_cast", CATEGORY_WEIGHTS, precision->activations,
                     size_add(&work->sizes, all.dense, all.experts), 1, NULL);
}

/* The sum of the micro-batches before this one, which a loop carries beside its gradients in
 * the weights' format, that of ZeRO-1's copies in bf16 (utils/gradient_accumulation.py,
 * init_grad, ga_params). A pipeline's micro-batches are one loss. Two steps of 16 layers of
 * 4096 x 16384 add 1.03 GB to XLA's own 2.37 (ahead of time, 16 v6e), where a sum has 1.14. */
static void declare_sums(const struct plan *plan, struct work *work, struct shards shards)
{
    struct sizes *z = &work->sizes;
    enum dtype dtype = plan->parallel.zero == 1 ? DTYPE_BF16 : plan->precision.weights;
    if (plan->parallel.pp == 1)
        step_accumulate(work, dtype, size_add(z, shards.dense, shards.experts), NULL);
}

/* F: gradients of the rank's shard, and f32 copies of the largest stacked tensor (scanned
 * layers hold one kind of weight as [layers, ...], others each its own): an expert matrix, a
 * dense one, or the embedding. */
static void declare_gradients(const struct plan *plan, struct work *work)
{
    struct sizes *z = &work->sizes;
    struct shards shards = step_shards(plan, work, 2);
    step_reserve(work, "gradients", CATEGORY_GRADIENTS, plan->precision.gradients, shards.dense,
                 1, NULL);
    step_reserve(work, "expert_gradients", CATEGORY_GRADIENTS, plan->precision.gradients,
                 shards.experts, 1, NULL);
    declare_sums(plan, work, shards);
    struct size copies = size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP));
    struct size hidden = size_slot(z, SLOT_HIDDEN),
                expert_copies = size_slot(z, SLOT_EXPERT_DP);
    bool scan = !plan->stack.unrolled;
    struct size one = size_const(z, 1);
    struct size moe_layers = size_slot(z, SLOT_STAGE_MOE_LAYERS);
    struct size dense_layers = size_slot(z, SLOT_STAGE_DENSE_LAYERS);
    struct size experts =
        size_product(z, 4,
                     (struct size[]){scan ? moe_layers : one, size_slot(z, SLOT_LOCAL_EXPERTS),
                                     hidden, size_slot(z, SLOT_INTER)});
    struct size dense = size_product(
        z, 3,
        (struct size[]){scan ? dense_layers : one, hidden, size_slot(z, SLOT_DENSE_INTER)});
    struct size embedding = size_mul(z, size_slot(z, SLOT_VOCAB), hidden);
    if (plan->parallel.zero >= 2) {
        experts = size_ceil_div(z, experts, expert_copies);
        dense = size_ceil_div(z, dense, copies);
        embedding = size_ceil_div(z, embedding, copies);
    }
    struct size tp = size_slot(z, SLOT_TP);
    struct size largest =
        size_max(z, experts, size_ceil_div(z, size_max(z, dense, embedding), tp));
    if (plan->stack.grad_copies) /* a buffer without a count has one copy */
        step_reserve(work, "f32_gradient_copies", CATEGORY_GRADIENTS, DTYPE_F32, largest,
                     plan->stack.grad_copies, NULL);
}

/* Logits and their gradient, while the loss runs. cross_entropy_with_logits (MaxText
 * utils/max_utils.py) takes them in f32, and so they are held; but XLA for TPUs fuses the cast,
 * the soft cap, exponentials and the one-hot targets into what reads and what writes logits in
 * the format of the head's product (v5p, v6e and TPU7x, ahead of time, libtpu 0.0.42 and
 * 0.0.52: 2 + 2 bytes a logit of bf16 whatever cast_logits_to_fp32, final_logits_soft_cap and
 * z_loss_multiplier say; 4 for dtype float32, whose gradient is fused away: 8 are held here).
 * Of all rows, or of one tile after the other (num_vocab_tiling cuts the rows in so many:
 * utils/vocabulary_tiling.py). Ranks of "tensor_sequence" share the vocabulary too, not the
 * rows (base.yml: activation_vocab). */
static void declare_logits(const struct plan *plan, const struct maxtext_layer *layer)
{
    struct maxtext_layer held = *layer;
    held.dtype = plan_on_tpu(plan) ? layer->dtype : DTYPE_F32;
    struct sizes *z = layer->z;
    struct size vocab = size_ceil_div(z, size_slot(z, SLOT_VOCAB), size_slot(z, SLOT_TP));
    struct size rows = layer->tokens;
    if (plan->parallel.tp > 1 && plan->parallel.sp)
        rows = size_mul(z, rows, size_slot(z, SLOT_TP));
    if (plan->stack.cross_entropy == LOSS_CHUNKED)
        rows = size_ceil_div(z, rows, size_const(z, plan->stack.loss_chunks));
    maxtext_declare(&held, SEGMENT_HEAD, "logits", CATEGORY_LOGITS, 0, 2,
                    (struct size[]){rows, vocab});
    maxtext_declare(&held, SEGMENT_HEAD, "d_logits", CATEGORY_LOGITS, 0, 2,
                    (struct size[]){rows, vocab});
}

/* Weights that wait in host memory come for the layer at hand: an even part of the rank's. */
static void declare_weights_here(const struct plan *plan, struct maxtext_layer *layer,
                                 enum layer_kind kind)
{
    struct sizes *z = layer->z;
    struct shards all = step_shards(plan, layer->work, 3);
    struct size moe_layers = size_slot(z, SLOT_STAGE_MOE_LAYERS);
    struct size layers = size_add(z, size_slot(z, SLOT_STAGE_DENSE_LAYERS), moe_layers);
    struct size own = size_ceil_div(z, all.dense, layers);
    struct maxtext_layer stored = *layer;
    stored.dtype = plan->precision.weights;
    if (kind_ffn(kind) == FFN_MOE)
        own = size_add(z, own, size_ceil_div(z, all.experts, moe_layers));
    if (state_waits_there(plan))
        maxtext_declare(&stored, layer->segment, "weights_here", CATEGORY_WEIGHTS, 0, 1, &own);
}

/* One layer of a kind: what is alive while it runs backward. */
static void declare_layer(const struct plan *plan, struct maxtext_layer *layer,
                          enum layer_kind kind, const struct path_system *system)
{
    enum path_exchange exchange = system->exchange;
    bool expanded = system->expands || plan_masks_products(plan);
    layer->segment = segment_of_kind(kind);
    maxtext_take(plan, layer, kind_mixer(kind));
    declare_weights_here(plan, layer, kind);
    if (kind_mixer(kind) != MIXER_NONE)
        declare_attention(layer);
    if (kind_ffn(kind) == FFN_DENSE)
        declare_dense_mlp(layer);
    if (kind_ffn(kind) != FFN_MOE)
        return;
    declare_rows_hidden(layer, exchange);
    declare_rows_inter(layer);
    if (exchange == EXCHANGE_CAPACITY)
        declare_masks(layer);
    if (expanded && exchange != EXCHANGE_CAPACITY && exchange != EXCHANGE_EVERYONE)
        declare_expanded(layer, exchange);
}

const struct stack_path stack_maxtext_paths[] = {
    {"capacity", NULL}, {"ragged_a2a", NULL}, {"ragged_dot", NULL}, {"deepep", NULL},
    {"masked", NULL},   {"allgather", NULL},  {NULL, NULL},
};

struct maxtext_refusal {
    bool (*applies)(const struct plan *plan, enum path_exchange exchange);
    const char *text, *hint;
};

static bool deepep_not_bf16(const struct plan *plan, enum path_exchange exchange)
{
    return exchange == EXCHANGE_TOKENS && (plan->precision.activations != DTYPE_BF16 ||
                                           plan->precision.dispatch != DTYPE_BF16);
}

static bool not_training(const struct plan *plan, enum path_exchange exchange)
{
    (void)exchange;
    return plan->workload.mode != MODE_TRAIN;
}

static bool exact_buffer(const struct plan *plan, enum path_exchange exchange)
{
    return plan->moe.buffer == SIZING_EXACT &&
           (exchange == EXCHANGE_ROWS || exchange == EXCHANGE_TOKENS);
}

static const struct maxtext_refusal refusals[] = {
    {deepep_not_bf16, "stack maxtext runs path deepep in bf16 only",
     "set precision.activations and precision.dispatch to bf16"},
    {not_training, "stack maxtext is modelled for workload.mode train only",
     "use stack vllm, sglang, nxd or generic for inference"},
    {exact_buffer, "stack maxtext cannot size a buffer by routing: XLA shapes are static",
     "use moe.buffer worst, balanced or a factor"},
};

static enum status refuse(const struct plan *plan, enum path_exchange exchange, struct err *err)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (!refusals[i].applies(plan, exchange))
            continue;
        err_set(err, STATUS_INPUT, "%s", refusals[i].text);
        return err_hint(err, "%s", refusals[i].hint);
    }
    return STATUS_OK;
}

/* Gradients are a part of what XLA plans anew for every step. */
void stack_maxtext_state(const struct plan *plan, struct work *work)
{
    step_state(plan, work, false);
}

enum status stack_maxtext_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    const struct path_system *system = path_system_of(path);
    TRY(stack_runs(plan, path, err));
    TRY(refuse(plan, system->exchange, err));
    struct maxtext_layer layer;
    maxtext_layer_init(plan, work, system, &layer);
    work->n_schedules = 2;
    work->schedule_name[0] = "relaxed";
    work->schedule_name[1] = "after rematerialisation";
    segments_use(plan, work);
    work->alternating |= plan->model.layer_types.n > 0;
    stack_maxtext_state(plan, work);
    declare_gradients(plan, work);
    declare_casts(plan, work);
    TRY(maxtext_save(plan, &layer, err));
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (layer.kinds[k])
            declare_layer(plan, &layer, (enum layer_kind)k, system);
    declare_logits(plan, &layer);
    return STATUS_OK;
}
