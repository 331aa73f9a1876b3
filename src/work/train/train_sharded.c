/* Weights that data-parallel ranks share out (zero 3): what is gathered of a layer while it
 * runs, and its whole gradients before they are reduced. Source: training-stacks.md 1 and 4. */
#include "base/text.h"
#include "plan/derive.h"
#include "plan/frozen.h"
#include "work/list/dtype.h"
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/piece/state.h"
#include "work/stack/stack.h"
#include "work/train/train.h"

struct size train_matrix_elements(struct train *t, enum layer_kind kind,
                                  const struct layer_matrix *m)
{
    const struct dims *d = &t->mixer[kind_mixer(kind)];
    if (!matrix_exists(m, d, in_ffn(kind_ffn(kind))))
        return size_const(t->z, 0);
    struct size one = size_mul(t->z, d->width[m->out], d->width[m->in]);
    return m->expert ? size_mul(t->z, one, t->d.letters.local) : one;
}

/* Elements of the matrices of a layer of this kind that have sharers; `alone`: of those that
 * have none, experts that one rank holds for itself; `trained`: without those that are frozen.
 */
static struct size some_elements(struct train *t, enum layer_kind kind, bool alone,
                                 bool trained)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    bool experts_shared = plan_expert_dp(t->plan) > 1;
    struct size sum = size_const(t->z, 0);
    for (size_t i = 0; i < n; i++) {
        bool counts = !trained || !frozen_matrix(t->plan, &matrices[i], kind_ffn(kind));
        if (counts && (matrices[i].expert && !experts_shared) == alone)
            sum = size_add(t->z, sum, train_matrix_elements(t, kind, &matrices[i]));
    }
    return sum;
}

static struct size layer_elements(struct train *t, enum layer_kind kind, bool alone)
{
    return some_elements(t, kind, alone, false);
}

/* Those that have gradients. */
static struct size trained_elements(struct train *t, enum layer_kind kind, bool alone)
{
    return some_elements(t, kind, alone, true);
}

/* Layers of a kind on the stage. */
static struct size layers_of(struct train *t, enum layer_kind kind)
{
    if (t->plan->model.layer_types.n)
        return size_slot(t->z, slot_kind_layers(kind));
    return size_slot(t->z, kind == KIND_MOE ? SLOT_STAGE_MOE_LAYERS : SLOT_STAGE_DENSE_LAYERS);
}

/* When in a layer: its forward, its backward, or both. */
enum span { FORWARD = 1, BACKWARD = 2, THROUGHOUT = 3 };

static void add(struct train *t, enum layer_kind kind, const char *name, enum category category,
                enum dtype dtype, struct size elements, uint64_t copies, enum span span)
{
    uint16_t base = t->base[segment_of_kind(kind)];
    if (category == CATEGORY_GRADIENTS && lora_is_on(t->plan))
        return; /* adapters' are small */
    work_buffer(t->work,
                (struct buffer){
                    .name = name,
                    .category = category,
                    .segment = segment_of_kind(kind),
                    .dtype = dtype,
                    .n_dims = 1,
                    .dims = {elements},
                    .count = size_const(t->z, copies),
                    .life = LIFE_TRANSIENT,
                    .first = (uint16_t)(base + (span & FORWARD ? 0 : MODULES)),
                    .last = (uint16_t)(base + (span & BACKWARD ? 2 * MODULES : MODULES) - 1),
                });
}

/* Of the model's layers, the kind that most are of. */
static enum layer_kind commonest(const struct train *t)
{
    uint64_t count[KIND_COUNT] = {0};
    enum layer_kind most = KIND_DENSE;
    model_layers(&t->plan->model, 0, t->plan->model.layers, count);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (count[k] > count[most])
            most = (enum layer_kind)k;
    return most;
}

/* Pools of two units of weights and two of gradients, for the units that most are like; others
 * are allocated as they come (Megatron-FSDP param_and_grad_buffer.py, FixedPoolAllocator). */
static void hold_pools(struct train *t, struct size unit, struct size own, enum dtype dtype)
{
    static const char source[] = "Megatron-FSDP FixedPoolAllocator";
    step_reserve(t->work, "gathered_weights_pool", CATEGORY_WEIGHTS, dtype, unit, 2, source);
    step_reserve(t->work, "unsharded_gradients_pool", CATEGORY_GRADIENTS, dtype, own, 2,
                 source);
}

/* Megatron-FSDP: two gathered layers, one set of gradients. */
void train_gathered_weights(struct train *t)
{
    enum dtype dtype = t->plan->precision.activations;
    bool pools = t->plan->parallel.double_buffer;
    for (unsigned k = 0; k < KIND_COUNT && t->plan->parallel.zero >= 3; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!t->kinds[k])
            continue;
        struct size sum = layer_elements(t, kind, false);
        struct size own = trained_elements(t, kind, false);
        if (pools && kind == commonest(t)) {
            hold_pools(t, sum, own, dtype);
            continue;
        }
        add(t, kind, "gathered_weights", CATEGORY_WEIGHTS, dtype, sum, 2, THROUGHOUT);
        add(t, kind, "unsharded_gradients", CATEGORY_GRADIENTS, dtype, own, 1, BACKWARD);
    }
    if (t->plan->parallel.zero >= 3)
        train_encoder_unit(t, false);
}

/* ---- FSDP2 (PyTorch _fsdp_param_group.py, _fsdp_collectives.py) ---- */

bool stack_keeps_gathered(const struct plan *plan)
{
    bool titan = plan->stack.kind == STACK_TORCHTITAN;
    if (plan->parallel.zero < 3 || (!titan && plan->stack.kind != STACK_FSDP))
        return false;
    return plan->parallel.reshard == RESHARD_NEVER ||
           (plan->parallel.reshard == RESHARD_AUTO && titan && plan->parallel.pp > 1);
}

/* torchtitan's mixed_precision_reduce is f32; Accelerate's policy of bf16 reduces in bf16. */
enum dtype stack_reduces_in(const struct plan *plan)
{
    if (plan->parallel.zero < 3)
        return DTYPE_NONE;
    if (plan->stack.kind == STACK_TORCHTITAN)
        return DTYPE_F32;
    return plan->stack.kind == STACK_FSDP ? plan->precision.activations : DTYPE_NONE;
}

/* By themselves the Trainer and Accelerate reduce with a step's last micro-batch alone unless
 * sync_each_batch is set (transformers trainer.py; accelerate accelerator.py, no_sync: FSDP2's
 * set_requires_gradient_sync), and so do the stages of torch's pipelines (distributed/
 * pipelining/stage.py, backward_maybe_with_nosync, _post_backward); torchtitan's own steps
 * reduce each (trainer.py). */
enum dtype stack_accumulates_in(const struct plan *plan)
{
    static const enum dtype formats[] = {[ACCUMULATED_NONE] = DTYPE_NONE,
                                         [ACCUMULATED_F32] = DTYPE_F32,
                                         [ACCUMULATED_BF16] = DTYPE_BF16,
                                         [ACCUMULATED_F16] = DTYPE_F16};
    bool fsdp = plan->stack.kind == STACK_FSDP,
         has = fsdp || plan->stack.kind == STACK_TORCHTITAN;
    bool waits = fsdp || plan->parallel.pp > 1;
    if (!has || plan->parallel.zero < 3)
        return DTYPE_NONE;
    if (plan->precision.accumulated != ACCUMULATED_AUTO)
        return formats[plan->precision.accumulated];
    return waits ? stack_reduces_in(plan) : DTYPE_NONE;
}

/* What stays gathered from forward to backward: every layer of the stage. Backward shares it
 * out again (torch _fsdp_param_group.py, post_backward), so it is gone when an engine that
 * slept takes its turn. */
static void add_kept(struct train *t)
{
    uint16_t sync, rollout;
    bool away = step_is_away(t->work, &sync, &rollout);
    struct size sum = size_const(t->z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (t->kinds[k])
            sum = size_add(t->z, sum,
                           size_mul(t->z, layers_of(t, kind), layer_elements(t, kind, false)));
    }
    work_buffer(t->work, (struct buffer){.name = "gathered_weights_kept",
                                         .category = CATEGORY_WEIGHTS,
                                         .segment = SEGMENT_STEP,
                                         .dtype = t->plan->precision.activations,
                                         .n_dims = 1,
                                         .dims = {sum},
                                         .life = LIFE_PERSISTENT,
                                         .leaves = away,
                                         .first = sync,
                                         .last = rollout,
                                         .source = "FSDP2 reshard_after_forward false"});
}

/* Whether backward holds the next layer's weights beside those of the layer at hand (torch
 * fsdp/api.py, BackwardPrefetch). */
static bool gathered_ahead(const struct plan *plan)
{
    bool choice =
        plan->stack.kind == STACK_FSDP; /* of Accelerate's, which torchtitan has not */
    return !choice || plan->parallel.prefetch == PREFETCH_AUTO ||
           plan->parallel.prefetch == PREFETCH_PRE;
}

/* Forward: a layer, the output of its all-gather, which waits for the next copy-out, and the
 * next layer's. Backward: a layer, the one before it fetched ahead, its gradients, and the
 * input of the reduce-scatter of the layer behind. Parameters without sharers are copied as
 * they are stored and cast from there. */
static void add_units(struct train *t, enum layer_kind kind)
{
    const struct precision *p = &t->plan->precision;
    struct size sum = layer_elements(t, kind, false);
    struct size own = trained_elements(t, kind, false);
    struct size alone = layer_elements(t, kind, true);
    bool kept = stack_keeps_gathered(t->plan);
    add(t, kind, "gathered_weights", CATEGORY_WEIGHTS, p->activations, sum, kept ? 2 : 3,
        FORWARD);
    if (!kept)
        add(t, kind, "gathered_weights", CATEGORY_WEIGHTS, p->activations, sum,
            gathered_ahead(t->plan) ? 2 : 1, BACKWARD);
    add(t, kind, "unsharded_gradients", CATEGORY_GRADIENTS, p->activations, own, 1, BACKWARD);
    add(t, kind, "reduce_scatter_input", CATEGORY_GRADIENTS, t->reduces_in, own, 1, BACKWARD);
    if (t->plan->parallel.ep == 1 || plan_expert_dp(t->plan) > 1)
        return;
    add(t, kind, "copied_weights", CATEGORY_WEIGHTS, p->weights, alone, 1, THROUGHOUT);
    add(t, kind, "cast_weights", CATEGORY_WEIGHTS, p->activations, alone, 1, THROUGHOUT);
    add(t, kind, "unsharded_gradients", CATEGORY_GRADIENTS, p->activations,
        trained_elements(t, kind, true), 1, BACKWARD);
}

/* The units at the ends: the embedding's table while it is read, the head's from forward to
 * backward. */
static void add_end_units(struct train *t)
{
    const struct {
        enum segment segment;
        uint16_t ticks;
        enum col rows;
    } ends[] = {{SEGMENT_EMBED, 2, COL_VOCAB},
                {SEGMENT_HEAD, (uint16_t)train_head_ticks(t->plan), COL_OUTPUTS}};
    for (unsigned i = 0; i < 2; i++)
        work_buffer(
            t->work,
            (struct buffer){.name = "gathered_table",
                            .category = CATEGORY_WEIGHTS,
                            .segment = ends[i].segment,
                            .dtype = t->plan->precision.activations,
                            .n_dims = 2,
                            .dims = {t->d.width[ends[i].rows], t->d.width[COL_HIDDEN]},
                            .life = LIFE_TRANSIENT,
                            .first = t->base[ends[i].segment],
                            .last = (uint16_t)(t->base[ends[i].segment] + ends[i].ticks - 1)});
}

/* Elements of the table of the layers' embeddings, with what projects tokens to them. */
static struct size table_of_layers(struct train *t)
{
    struct size rows =
        size_add(t->z, size_slot(t->z, SLOT_LAYER_VOCAB), t->d.width[COL_HIDDEN]);
    return size_mul(t->z, rows, t->d.width[COL_LAYER_EMBEDDINGS]);
}

/* The table of the layers' embeddings belongs to the root's unit, which is gathered before the
 * first layer and shared out behind the last, in both passes; its gradients are reduced with
 * the embedding's (torch _fsdp_state.py, _lazy_init and _root_post_backward_final_callback). */
static void add_layer_table(struct train *t)
{
    static const char source[] = "FSDP2: the root's unit";
    uint16_t back = (uint16_t)(t->base[SEGMENT_EMBED] + 1);
    if (!plan_embeds_layers(t->plan))
        return;
    step_reserve(t->work, "gathered_layer_table", CATEGORY_WEIGHTS,
                 t->plan->precision.activations, table_of_layers(t), 1, source);
    if (!lora_is_on(t->plan))
        work_buffer(t->work, (struct buffer){.name = "reduce_scatter_input",
                                             .category = CATEGORY_GRADIENTS,
                                             .segment = SEGMENT_EMBED,
                                             .dtype = t->reduces_in,
                                             .n_dims = 1,
                                             .dims = {table_of_layers(t)},
                                             .life = LIFE_TRANSIENT,
                                             .first = back,
                                             .last = back,
                                             .source = source});
}

/* Elements of what is trained of a stage, of experts where they are shared out at all: those of
 * one rank alone are its own in any case. */
static struct size trained_of_stage(struct train *t, unsigned from_zero)
{
    struct shards all = step_trained(t->plan, t->work, from_zero);
    bool shared = t->plan->model.moe.experts && plan_expert_dp(t->plan) > 1;
    return shared ? size_add(t->z, all.dense, all.experts) : all.dense;
}

/* Gradients of the whole stage where reductions wait for a step's last micro-batch (torch
 * _fsdp_param.py, to_accumulated_grad_if_needed), less the shards that stand for them in the
 * state: those come in backward of the last one, a layer's as its whole ones go. */
static void add_accumulated(struct train *t)
{
    enum { NEVER = 4 }; /* no stage of zero shares it out */
    struct sizes *z = t->z;
    enum dtype dtype = stack_accumulates_in(t->plan), kept = t->plan->precision.gradients;
    if (dtype == DTYPE_NONE || lora_is_on(t->plan))
        return;
    struct size all = trained_of_stage(t, NEVER);
    struct size shard = size_times(z, trained_of_stage(t, 3), dtype_bits(kept) / 8);
    if (!state_waits_there(t->plan))
        all = size_sub(z, all, size_div(z, shard, size_const(z, dtype_bits(dtype) / 8)));
    struct size shared = size_beyond(z, step_sharers(t->plan, z).dense, size_const(z, 1));
    step_accumulate(t->work, dtype, size_mul(z, all, shared),
                    "FSDP2 set_requires_gradient_sync false");
}

void train_fsdp2(struct train *t)
{
    if (t->plan->parallel.zero < 3)
        return;
    add_accumulated(t);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            add_units(t, (enum layer_kind)k);
    if (stack_keeps_gathered(t->plan))
        add_kept(t);
    add_end_units(t);
    add_layer_table(t);
    train_encoder_unit(t, stack_keeps_gathered(t->plan));
}

/* What is left of gradients where every parameter has an optimizer that steps and drops them:
 * those of the layer at hand, reduced and shared out (torchtitan components/optimizer.py,
 * OptimizersInBackwardContainer). */
void train_in_backward(struct train *t)
{
    struct sizes *z = t->z;
    enum dtype dtype = t->plan->precision.gradients;
    struct size ranks =
        t->plan->parallel.zero >= 2 ? step_sharers(t->plan, z).dense : size_const(z, 1);
    if (!plan_steps_in_backward(t->plan))
        return;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!t->kinds[k])
            continue;
        struct size all =
            size_add(z, layer_elements(t, kind, false), layer_elements(t, kind, true));
        add(t, kind, "layer_gradients", CATEGORY_GRADIENTS, dtype, size_ceil_div(z, all, ranks),
            1, BACKWARD);
    }
}

/* ---- nobody shares (torch DistributedDataParallel) ---- */

/* Elements of all matrices of the stage's layers, that are trained or in their format. */
static struct size all_layers(struct train *t)
{
    struct size sum = size_const(t->z, 0);
    bool apart = t->plan->frozen.format != DTYPE_NONE; /* no cast, as good as activations */
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        struct size layers =
            apart ? t->work->use[segment_of_kind(kind)].back : layers_of(t, kind);
        if (t->kinds[k])
            sum = size_add(t->z, sum,
                           size_mul(t->z, layers,
                                    size_add(t->z, some_elements(t, kind, false, apart),
                                             some_elements(t, kind, true, apart))));
    }
    return sum;
}

/* Autocast casts each f32 weight that is trained once and keeps it until forward ends (aten
 * autocast_mode.cpp, cached_cast); products that save it keep it for backward. Layers that run
 * again cast their own there. */
static void add_casts(struct train *t)
{
    const struct precision *p = &t->plan->precision;
    struct sizes *z = t->z;
    /* rounded weights are cast by themselves */
    bool rounds = p->fake_weights != FAKE_NONE && !plan_has_moe(t->plan);
    if (p->weights != DTYPE_F32 || dtype_bits(p->activations) >= 32 || lora_is_on(t->plan) ||
        rounds)
        return;
    struct size layers = all_layers(t),
                head = size_mul(z, t->d.width[COL_OUTPUTS], t->d.width[COL_HIDDEN]);
    if (!(t->drops & TRAIN_FULL_LAYER)) {
        step_reserve(t->work, "autocast_weights", CATEGORY_WEIGHTS, p->activations,
                     size_add(z, layers, head), 1, "aten autocast_mode.cpp, cached_cast");
        return;
    }
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!t->kinds[k])
            continue;
        struct size own =
            size_add(z, layer_elements(t, kind, false), layer_elements(t, kind, true));
        add(t, kind, "autocast_weights", CATEGORY_WEIGHTS, p->activations, layers, 1, FORWARD);
        add(t, kind, "autocast_weights", CATEGORY_WEIGHTS, p->activations, own, 1, BACKWARD);
    }
    work_buffer(t->work, (struct buffer){.name = "autocast_weights",
                                         .category = CATEGORY_WEIGHTS,
                                         .segment = SEGMENT_HEAD,
                                         .dtype = p->activations,
                                         .n_dims = 1,
                                         .dims = {size_add(z, layers, head)},
                                         .life = LIFE_TRANSIENT,
                                         .first = t->base[SEGMENT_HEAD],
                                         .last = (uint16_t)(t->base[SEGMENT_HEAD] +
                                                            TRAIN_HEAD_TICKS / 2 - 1)});
}

/* All that a rank trains, nothing of it shared out. */
static struct size trained_whole(struct train *t)
{
    enum { NEVER = 4 }; /* no stage of zero shards it */
    struct shards all = step_trained(t->plan, t->work, NEVER);
    return size_add(t->z, all.dense, all.experts);
}

/* Elements of the largest parameter: a table of the vocabulary, or a layer's experts. */
static struct size largest_parameter(struct train *t)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct size largest = size_mul(t->z, t->d.width[COL_VOCAB], t->d.width[COL_HIDDEN]);
    if (plan_embeds_layers(t->plan))
        largest = size_max(t->z, largest, table_of_layers(t));
    for (unsigned k = 0; k < KIND_COUNT; k++)
        for (size_t i = 0; t->kinds[k] && i < n; i++) {
            struct size one = train_matrix_elements(t, (enum layer_kind)k, &matrices[i]);
            if (!size_is_zero(t->z, one))
                largest = size_max(t->z, largest, one);
        }
    return largest;
}

/* A weight is updated when the next one's gradient is there: both gradients, and what the
 * update makes in f32 of the one before it: gradient and weight, with AdaLOMO its square and
 * the update besides (lomo_optim/lomo.py, adalomo.py, fuse_update). A hook that steps one
 * weight runs when its gradient alone is there (trainer_optimizer.py, optimizer_hook). */
static void hold_gradients(struct train *t)
{
    enum optimizer_kind kind = t->plan->optimizer.kind;
    bool ada = kind == OPTIMIZER_ADALOMO, lomo = ada || kind == OPTIMIZER_LOMO;
    const char *source = lomo ? "lomo_optim fuse_update" : "transformers trainer_optimizer.py";
    struct size largest = largest_parameter(t);
    if (!plan_drops_gradients(t->plan))
        return;
    step_reserve(t->work, "passing_gradients", CATEGORY_GRADIENTS, t->plan->precision.gradients,
                 largest, lomo ? 2 : 1, source);
    if (lomo)
        step_reserve(t->work, "f32_updates", CATEGORY_OPTIMIZER, DTYPE_F32, largest,
                     ada ? 4 : 2, source);
}

/* Layers of the base that come from host memory for their turn: the one at hand, the one before
 * it, which goes behind it, and the one after it, which comes meanwhile; backward likewise
 * (axolotl core/trainers/mixins/layer_offloading.py, setup_hooks). */
static void hold_loaded(struct train *t)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (t->kinds[k])
            add(t, kind, "loaded_weights", CATEGORY_WEIGHTS, t->plan->precision.weights,
                size_add(t->z, layer_elements(t, kind, false), layer_elements(t, kind, true)),
                3, THROUGHOUT);
    }
}

/* The reducer's buckets hold every gradient once more: they are views of them only where that
 * is asked for, which no trainer does (torch reducer.cpp, gradient_as_bucket_view). */
void train_whole(struct train *t)
{
    struct sizes *z = t->z;
    if (t->plan->parallel.zero > 0)
        return;
    if (lora_waits(t->plan, BASE_LAYERS))
        hold_loaded(t);
    struct size all = trained_whole(t);
    struct size others = size_sub(z, size_slot(z, SLOT_DP), size_const(z, 1));
    step_reserve(t->work, "reducer_buckets", CATEGORY_COMMUNICATION, lora_gradients(t->plan),
                 size_mul(z, all, size_min(z, others, size_const(z, 1))), 1,
                 "torch csrc/distributed/c10d/reducer.cpp");
    hold_gradients(t);
    add_casts(t);
}

/* ---- DeepSpeed (zero/stage_1_and_2.py, stage3.py; elements by zero/config.py) ---- */

enum { BUCKET = 500000000, PREFETCH = 50000000, LIVE = 1000000000 };

static const char deepspeed[] = "training-stacks.md 1: DS";

/* The weights once more, shared out by fewer ranks, from the first forward on (ZeRO++ hpZ,
 * zero/partition_parameters.py, ds_secondary_tensor). */
static void reserve_second_copy(struct train *t)
{
    struct sharers ranks = plan_second_sharers(t->plan);
    struct sizes *z = t->z;
    struct size dense = size_ceil_by(z, size_slot(z, SLOT_DENSE_PARAMETERS), ranks.dense);
    struct size experts = size_ceil_by(z, size_slot(z, SLOT_EXPERT_PARAMETERS), ranks.experts);
    step_reserve(t->work, "second_weights", CATEGORY_WEIGHTS, t->plan->precision.activations,
                 size_add(z, dense, experts), 1, deepspeed);
}

void train_deepspeed(struct train *t)
{
    const struct parallel *p = &t->plan->parallel;
    const struct precision *f = &t->plan->precision;
    struct sizes *z = t->z;
    if (p->zero == 0)
        return;
    struct size whole = trained_whole(t);
    step_reserve(
        t->work, "reduce_bucket", CATEGORY_COMMUNICATION, f->gradients,
        size_min(z, whole, size_const(z, p->reduce_bucket ? p->reduce_bucket : BUCKET)),
        p->overlap_reduce ? 2 : 1, deepspeed);
    if (p->zero < 3) {
        if (t->plan->optimizer.offload > 0 && !lora_is_on(t->plan))
            step_reserve(t->work, "offload_gradient", CATEGORY_GRADIENTS, f->weights,
                         largest_parameter(t), 1,
                         deepspeed); /* stage_1_and_2.py temp_grad_buffer_for_gpu_offload */
        return;
    }
    whole =
        size_add(z, size_slot(z, SLOT_DENSE_PARAMETERS), size_slot(z, SLOT_EXPERT_PARAMETERS));
    struct size largest = size_const(z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            largest = size_max(z, largest, layer_elements(t, (enum layer_kind)k, false));
    if (plan_embeds_layers(t->plan))
        largest = size_max(z, largest, table_of_layers(t));
    struct size live = size_const(z, p->live_parameters ? p->live_parameters : LIVE);
    step_reserve(t->work, "live_parameters", CATEGORY_WEIGHTS, f->activations,
                 size_min(z, whole, size_max(z, live, largest)), 1, deepspeed);
    struct size ahead =
        size_min(z, whole, size_const(z, p->prefetch_bucket ? p->prefetch_bucket : PREFETCH));
    step_reserve(t->work, "prefetch_bucket", CATEGORY_WEIGHTS, f->activations, ahead, 1,
                 deepspeed);
    if (f->gather != DTYPE_NONE) /* as they arrive, beside what is made of them */
        step_reserve(t->work, "prefetch_as_sent", CATEGORY_WEIGHTS, f->gather, ahead, 1,
                     deepspeed);
    if (plan_keeps_second_copy(t->plan))
        reserve_second_copy(t);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            add(t, (enum layer_kind)k, "unsharded_gradients", CATEGORY_GRADIENTS, f->gradients,
                trained_elements(t, (enum layer_kind)k, false), 1, BACKWARD);
}
