/* State of a training step: weights, gradients, what the optimizer keeps, on the device or in
 * host memory; see state.h. Sources: training-stacks.md 1 and 2, with the files named there. */
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "work/list/dtype.h"
#include "work/piece/encoder.h"
#include "work/piece/lora.h"
#include "work/piece/recipe.h"
#include "work/piece/state_parts.h"

/* Ranks that hold the same parameters. */
static struct shards all_holders(struct sizes *z)
{
    return (struct shards){size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP)),
                           size_slot(z, SLOT_EXPERT_DP)};
}

/* Ranks that share a copy out. */
struct shards step_sharers(const struct plan *plan, struct sizes *z)
{
    const struct sharers n = plan_sharers(plan);
    if (!plan->parallel.dp_shard)
        return all_holders(z);
    return (struct shards){size_const(z, n.dense), size_const(z, n.experts)};
}

/* And the optimizer's states of it, which all that hold it may share. */
struct shards state_sharers(const struct plan *plan, struct sizes *z)
{
    return plan_shares_states_outside(plan) ? all_holders(z) : step_sharers(plan, z);
}

enum { STATES_FROM = 1 }; /* the stage of zero that shares the optimizer's states */

/* A shard is the ceiling of the even part. */
struct shards step_share_out(const struct plan *plan, struct sizes *z, struct shards whole,
                             unsigned from_zero)
{
    if (plan->parallel.zero < from_zero)
        return whole;
    struct shards ranks =
        from_zero == STATES_FROM ? state_sharers(plan, z) : step_sharers(plan, z);
    return (struct shards){size_ceil_div(z, whole.dense, ranks.dense),
                           size_ceil_div(z, whole.experts, ranks.experts)};
}

struct shards step_shards(const struct plan *plan, struct work *work, unsigned from_zero)
{
    struct sizes *z = &work->sizes;
    struct shards whole = {size_slot(z, SLOT_DENSE_PARAMETERS),
                           size_slot(z, SLOT_EXPERT_PARAMETERS)};
    return step_share_out(plan, z, whole, from_zero);
}

/* Sizes that are the same whenever they are asked for, and are asked for by every buffer. */
static struct shards adapters_of(const struct plan *plan, struct work *work)
{
    if (!work->adapters.known) {
        struct lora_sum sum = lora_parameters(plan, &work->sizes);
        work->adapters.dense = sum.dense;
        work->adapters.experts = sum.experts;
        work->adapters.known = true;
    }
    return (struct shards){work->adapters.dense, work->adapters.experts};
}

struct shards step_trained(const struct plan *plan, struct work *work, unsigned from_zero)
{
    struct sizes *z = &work->sizes;
    if (plan_freezes(plan))
        return step_share_out(plan, z,
                              (struct shards){size_slot(z, SLOT_TRAINED_DENSE),
                                              size_slot(z, SLOT_TRAINED_EXPERTS)},
                              from_zero);
    if (!lora_is_on(plan))
        return step_shards(plan, work, from_zero);
    return step_share_out(plan, z, adapters_of(plan, work), from_zero);
}

static void hold(struct work *work, const char *name, enum category category, enum dtype dtype,
                 struct size elements, uint64_t count, bool state, const char *source)
{
    work_buffer(work, (struct buffer){.name = name,
                                      .category = category,
                                      .segment = SEGMENT_STEP,
                                      .dtype = dtype,
                                      .n_dims = 1,
                                      .dims = {elements},
                                      .count = size_const(&work->sizes, count),
                                      .life = LIFE_PERSISTENT,
                                      .state = state,
                                      .source = source});
}

void step_keep(struct work *work, const char *name, enum category category, enum dtype dtype,
               struct size elements, uint64_t count, const char *source)
{
    if (count && dtype != DTYPE_NONE)
        hold(work, name, category, dtype, elements, count, true, source);
}

void step_reserve(struct work *work, const char *name, enum category category, enum dtype dtype,
                  struct size elements, uint64_t count, const char *source)
{
    hold(work, name, category, dtype, elements, count, false, source);
}

/* ---- buffers in pairs: dense parameters, experts ---- */

void state_add_pair(struct state *s, struct state_names names, struct shards shards,
                    struct buffer like)
{
    const char *const each[] = {names.dense, names.experts};
    struct size elements[] = {shards.dense, shards.experts};
    for (unsigned i = 0; i < 2; i++) {
        like.name = each[i];
        like.segment = SEGMENT_STEP;
        like.n_dims = 1;
        like.dims[0] = elements[i];
        like.bytes = like.all = size_const(s->z, 0); /* by shape */
        work_buffer(s->work, like);
    }
}

void state_keep(struct state *s, struct state_names names, struct shards shards,
                enum category category, enum dtype dtype, uint64_t count)
{
    if (dtype != DTYPE_NONE && count)
        state_add_pair(s, names, shards,
                       (struct buffer){.category = category,
                                       .dtype = dtype,
                                       .count = size_const(s->z, count),
                                       .life = LIFE_PERSISTENT,
                                       .state = true});
}

/* ---- what goes to the host ---- */

bool state_offloads(const struct plan *plan)
{
    return plan->optimizer.offload > 0;
}

bool state_waits_there(const struct plan *plan)
{
    bool has = plan_is_huggingface(plan) || plan->stack.kind == STACK_TORCHTITAN ||
               plan->stack.kind == STACK_MAXTEXT;
    return has && state_offloads(plan) && plan->optimizer.offload_params &&
           plan->parallel.zero >= 3;
}

static struct size moved(struct state *s, struct size elements)
{
    return size_scale_up(s->z, elements, REAL_OFFLOAD);
}

/* Of the parameters that a rank updates, those whose states stay on the device. */
static struct shards updated_here(struct state *s)
{
    struct shards shards = step_trained(s->plan, s->work, 1);
    if (!state_offloads(s->plan))
        return shards;
    shards.dense = size_sub(s->z, shards.dense, moved(s, shards.dense));
    shards.experts = size_sub(s->z, shards.experts, moved(s, shards.experts));
    return shards;
}

/* Per element that is moved: Megatron's HybridDeviceOptimizer keeps a master, both moments and
 * an f32 gradient, DeepSpeed a 16-bit staging copy beside them (18 bytes); FSDP what it had,
 * with an f32 gradient. */
static void add_host(struct state *s)
{
    const struct plan *plan = s->plan;
    const uint64_t n = state_moments(plan->optimizer.kind).n;
    struct shards shards = step_trained(plan, s->work, 1);
    struct shards saved = {lora_saved(plan, s->z), size_const(s->z, 0)};
    struct size all =
        size_sum(s->z, SIZES(moved(s, shards.dense), moved(s, shards.experts),
                             moved(s, step_share_out(plan, s->z, saved, STATES_FROM).dense)));
    const struct {
        const char *name;
        uint64_t bits;
        bool holds;
    } rows[] = {
        {"host_master_weights", 32, plan->precision.master != DTYPE_NONE},
        {"host_adam_moments", n > 2 ? 32 * n : 64, true},
        {"host_gradients", 32, true},
        {"host_staging", dtype_bits(plan->precision.weights),
         plan->stack.kind == STACK_DEEPSPEED},
        {"host_weights", dtype_bits(plan->precision.weights), state_waits_there(plan)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds)
            work_host(
                s->work, rows[i].name,
                size_ceil_div(s->z, size_times(s->z, all, rows[i].bits), size_const(s->z, 8)),
                "training-stacks.md 1 and 2");
}

bool state_is_native(const struct plan *plan)
{
    bool megatron = plan_is_megatron(plan);
    bool aware = plan->optimizer.aware == AWARE_NATIVE ||
                 (plan->optimizer.aware == AWARE_COPIED && state_offloads(plan));
    return megatron && aware;
}

/* Adapters in f32 are their own master copy. */
static void keep_master(struct state *s)
{
    const struct precision *p = &s->plan->precision;
    if (lora_is_on(s->plan) && s->plan->lora.format == DTYPE_F32)
        return;
    bool native = state_is_native(s->plan);
    bool remainders =
        native && !state_offloads(s->plan) && p->master == DTYPE_F32 && p->weights != DTYPE_F32;
    bool megatron_holds = plan_is_megatron(s->plan) && state_offloads(s->plan) && !native;
    struct shards shards = megatron_holds ? step_trained(s->plan, s->work, 1) : updated_here(s);
    state_keep(s, STATE_NAMES("master_weights"), shards, CATEGORY_MASTER,
               remainders ? DTYPE_BF16 : p->master, 1);
}

static bool leaves(const struct state *s, const struct layer_matrix *m)
{
    return !m->expert && plan_base_leaves(s->plan, m->part);
}

static struct size columns_of(struct state *s, const struct dims *d,
                              const struct layer_matrix *m)
{
    return leaves(s, m) ? size_const(s->z, 0) : d->width[m->out];
}

/* Of a matrix that few bits are not of. */
static struct size left_of(struct state *s, const struct dims *d, const struct layer_matrix *m)
{
    return leaves(s, m) ? size_mul(s->z, d->width[m->in], d->width[m->out])
                        : size_const(s->z, 0);
}

/* Scales of the layers' matrices, of which a rank has so many elements; of whole columns, as
 * many as the matrices have columns. */
static struct shards scales(struct state *s, struct dtype_scale scale, struct shards elements)
{
    struct sizes *z = s->z;
    struct dims d;
    if (scale.rows == UINT64_MAX)
        return step_share_out(s->plan, z, state_sum_matrices(s, &d, false, columns_of), 3);
    return (struct shards){size_ceil_by(z, elements.dense, scale.rows * scale.columns),
                           size_ceil_by(z, elements.experts, scale.rows * scale.columns)};
}

static void keep_plain(struct state *s, const char *name, struct size elements)
{
    step_keep(s->work, name, CATEGORY_WEIGHTS, lora_plain(s->plan), elements, 1,
              "training-stacks.md 5: QLoRA");
}

/* A frozen base in few bits: the layers' matrices with their scales, experts too where they are
 * linear layers; embedding, head, norms and stacked experts whole. */
static void keep_quantised(struct state *s, struct shards shards, struct size plain)
{
    struct sizes *z = s->z;
    enum dtype format = s->plan->precision.weights;
    struct dtype_scale scale = dtype_scale(format);
    struct dims d;
    if (plan_parts_are_given(s->plan))
        plain = size_add(z, plain, state_sum_matrices(s, &d, false, left_of).dense);
    if (s->plan->parallel.zero >= 3)
        plain = size_ceil_div(z, plain, step_sharers(s->plan, z).dense);
    plain = lora_quantises_dense(s->plan) ? size_min(z, plain, shards.dense) : shards.dense;
    shards.dense = size_sub(z, shards.dense, plain);
    const struct shards scales_of = scales(s, scale, shards);
    const struct size elements[] = {shards.dense, shards.experts};
    const struct size n_scales[] = {scales_of.dense, scales_of.experts};
    static const char *const names[] = {"weights", "expert_weights"};
    bool whole = lora_expert_format(s->plan) != format;
    for (unsigned i = lora_quantises_dense(s->plan) ? 0 : 1; i < (whole ? 1 : 2); i++) {
        struct size n = n_scales[i];
        struct size bytes = size_ceil_by(z, size_times(z, elements[i], dtype_bits(format)), 8);
        bytes = size_add(z, bytes, size_scale_bytes(z, format, n));
        work_buffer(s->work, (struct buffer){.name = names[i],
                                             .category = CATEGORY_WEIGHTS,
                                             .segment = SEGMENT_STEP,
                                             .dtype = format,
                                             .n_dims = 1,
                                             .dims = {elements[i]},
                                             .bytes = bytes,
                                             .life = LIFE_PERSISTENT,
                                             .state = true,
                                             .source = "training-stacks.md 5: QLoRA"});
    }
    keep_plain(s, "plain_weights", plain);
    if (whole)
        keep_plain(s, "plain_expert_weights", shards.experts);
}

/* What is frozen stands apart from what the optimizer writes, in a format of its own maybe. */
static struct shards keep_untrained(struct state *s, struct shards all)
{
    const struct shards trained = step_trained(s->plan, s->work, 3);
    const enum dtype own = s->plan->frozen.format;
    const bool apart = plan_is_huggingface(s->plan) && own != DTYPE_NONE;
    if (!plan_freezes(s->plan))
        return all;
    state_keep(s, STATE_NAMES("untrained_weights"),
               (struct shards){size_sub(s->z, all.dense, trained.dense),
                               size_sub(s->z, all.experts, trained.experts)},
               CATEGORY_WEIGHTS, apart ? own : s->plan->precision.weights, 1);
    return trained;
}

/* What of the base waits in host memory is not on the device: the embedding's table, the
 * matrices of the layers (norms and biases, which go with them, are counted here). *plain: of
 * what a base in few bits leaves whole. */
static struct shards without_host(struct state *s, struct shards shards, struct size *plain)
{
    struct sizes *z = s->z;
    const struct plan *plan = s->plan;
    const bool few = lora_base_is_quantised(plan);
    const enum dtype whole = few ? lora_plain(plan) : plan->precision.weights;
    struct size table =
        size_product(z, SIZES(size_slot(z, SLOT_STAGE_EMBEDDING), dims_vocabulary(z, plan),
                              size_slot(z, SLOT_HIDDEN)));
    if (lora_waits(plan, BASE_LAYERS)) {
        struct size layers = size_add(z, size_sub(z, shards.dense, *plain), shards.experts);
        work_host(
            s->work, "host_layers",
            size_ceil_by(z, size_times(z, layers, dtype_bits(plan->precision.weights)), 8),
            "axolotl core/trainers/mixins/layer_offloading.py");
        shards = (struct shards){*plain, size_const(z, 0)};
    }
    if (lora_waits(plan, BASE_EMBED_TOKENS)) {
        work_host(s->work, "host_embedding",
                  size_ceil_by(z, size_times(z, table, dtype_bits(whole)), 8),
                  "unsloth models/vision.py, _resolve_offload_embedding");
        shards.dense = size_sub(z, shards.dense, table);
        *plain = size_sub(z, *plain, table);
    }
    return shards;
}

/* Where the recipe's copies are the weights, only the rest is kept as it is trained. */
static void keep_weights(struct state *s)
{
    struct shards shards = step_shards(s->plan, s->work, 3);
    struct size plain = size_slot(s->z, SLOT_PLAIN_PARAMETERS);
    if (lora_waits(s->plan, BASE_LAYERS) || lora_waits(s->plan, BASE_EMBED_TOKENS))
        shards = without_host(s, shards, &plain);
    if (state_waits_there(s->plan)) {
        shards.dense = size_sub(s->z, shards.dense, moved(s, shards.dense));
        shards.experts = size_sub(s->z, shards.experts, moved(s, shards.experts));
    }
    if (lora_base_is_quantised(s->plan)) {
        keep_quantised(s, shards, plain);
        return;
    }
    if (!recipe_is_primary(s->plan)) {
        state_keep(s, STATE_NAMES("weights"), keep_untrained(s, shards), CATEGORY_WEIGHTS,
                   s->plan->precision.weights, 1);
        return;
    }
    struct recipe_sum sum = recipe_matrices(s->plan, s->z);
    static const char *const names[] = {"quantized_weights", "expert_quantized_weights"};
    struct size copies[] = {size_const(s->z, 1), size_const(s->z, 1)};
    if (s->plan->parallel.zero >= 3) {
        copies[0] = step_sharers(s->plan, s->z).dense;
        copies[1] = step_sharers(s->plan, s->z).experts;
    }
    struct size rest[2] = {shards.dense, shards.experts};
    for (unsigned i = 0; i < 2; i++) {
        rest[i] = size_sub(s->z, rest[i], size_ceil_div(s->z, sum.elements[i], copies[i]));
        work_buffer(s->work,
                    (struct buffer){.name = names[i],
                                    .category = CATEGORY_WEIGHTS,
                                    .segment = SEGMENT_STEP,
                                    .dtype = recipe_format(s->plan),
                                    .n_dims = 1,
                                    .dims = {sum.elements[i]},
                                    .bytes = size_ceil_div(s->z, sum.bytes[i], copies[i]),
                                    .life = LIFE_PERSISTENT,
                                    .state = true,
                                    .source = "training-stacks.md 6"});
    }
    state_keep(s, STATE_NAMES("weights"), (struct shards){rest[0], rest[1]}, CATEGORY_WEIGHTS,
               s->plan->precision.weights, 1);
}

/* Transposes of weights that are gathered, of every layer (Megatron-FSDP README, fully_shard's
 * keep_fp8_transpose_cache: a byte per parameter). */
static void keep_transposes(struct state *s)
{
    struct recipe_sum sum;
    if (!recipe_keeps_transposes(s->plan))
        return;
    sum = recipe_matrices(s->plan, s->z);
    step_keep(s->work, "fp8_transposes", CATEGORY_WEIGHTS, DTYPE_FP8,
              size_add(s->z, sum.elements[0], sum.elements[1]), 1,
              "Megatron-FSDP keep_fp8_transpose_cache");
}

/* What is frozen of an encoder has weights and nothing else; beside a quantised base it stays
 * in 16 bits. */
static void keep_frozen(struct state *s)
{
    struct sizes *z = s->z;
    enum dtype format = s->plan->precision.weights;
    struct size elements = size_slot(z, SLOT_ENCODER_FROZEN);
    bool trains = s->plan->workload.mode == MODE_TRAIN;
    bool all = encoder_runs_back(s->plan) && !encoder_adapts(s->plan);
    if (!encoder_is_there(s->plan) || !trains || all)
        return;
    if (s->plan->parallel.zero >= 3)
        elements = size_ceil_div(z, elements, step_sharers(s->plan, z).dense);
    step_keep(s->work, "encoder_weights", CATEGORY_WEIGHTS,
              dtype_is_plain(format) ? format : DTYPE_BF16, elements, 1, NULL);
}

struct shards state_with_gradients(const struct plan *plan, struct work *work,
                                   unsigned from_zero)
{
    struct sizes *z = &work->sizes;
    if (!plan_draws_layers(plan))
        return step_trained(plan, work, from_zero);
    return (struct shards){size_slot(z, SLOT_TRAINED_DENSE),
                           size_slot(z, SLOT_TRAINED_EXPERTS)};
}

/* FSDP2 hands a reduced shard on to the host (_fsdp_collectives.py foreach_reduce). DeepSpeed
 * accumulates there whatever the ratio is (stage3.py grad_partitions_flat_buffer,
 * stage_1_and_2.py async_accumulate_grad_in_cpu_via_gpu): under stage 1 nothing is
 * partitioned, and the whole of them stays. */
static struct shards gradients_here(struct state *s)
{
    struct shards gradients = state_with_gradients(s->plan, s->work, 2);
    bool deepspeed = s->plan->stack.kind == STACK_DEEPSPEED;
    if (deepspeed && state_offloads(s->plan) && s->plan->parallel.zero >= 2)
        return (struct shards){size_const(s->z, 0), size_const(s->z, 0)};
    if (!deepspeed && state_waits_there(s->plan)) {
        gradients.dense = size_sub(s->z, gradients.dense, moved(s, gradients.dense));
        gradients.experts = size_sub(s->z, gradients.experts, moved(s, gradients.experts));
    }
    return gradients;
}

static bool keeps_gradients(const struct plan *plan)
{
    return !plan_steps_in_backward(plan) && !plan_drops_gradients(plan);
}

void step_state(const struct plan *plan, struct work *work, bool gradients_persist)
{
    struct state s = {.plan = plan, .work = work, .z = &work->sizes};
    const size_t first = work->n_buffers;
    keep_weights(&s);
    keep_transposes(&s);
    keep_frozen(&s);
    if (plan->workload.mode != MODE_TRAIN)
        return;
    if (lora_is_on(plan))
        state_keep(&s, STATE_NAMES("adapters"), step_trained(plan, work, 3), CATEGORY_WEIGHTS,
                   plan->lora.format, 1);
    if (gradients_persist && keeps_gradients(plan))
        state_keep(&s, STATE_NAMES("gradients"), gradients_here(&s), CATEGORY_GRADIENTS,
                   lora_gradients(plan), 1);
    keep_master(&s);
    state_keep_moments(&s, updated_here(&s));
    step_modules(plan, work, gradients_persist && keeps_gradients(plan));
    if (state_offloads(plan))
        add_host(&s);
    step_checkpoint(plan, work, first);
    step_colocated(plan, work, first);
}
