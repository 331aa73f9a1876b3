/* Models beside the one that is trained; see state_parts.h. Sources: verl (b178a3cd) and
 * vLLM's sleep mode, training-stacks.md 7: reference and reward models are plain
 * weights, those of 16 bits; an engine that sleeps discards weights and cache, or has its
 * weights in pinned host memory (level 1: cumem.py, CuMemAllocator.sleep), and takes both
 * before it generates. First its weights, which the trainer's are copied to while those are on
 * the device; then the trainer's leave where they wait in host memory, and the cache comes
 * (verl 0017354ef582, workers/engine_workers.py). A critic's states stay there while the actor
 * steps, as the actor's do while it steps. */
#include "base/checked.h"
#include "plan/derive.h"
#include "plan/params.h"
#include "work/list/dtype.h"
#include "work/piece/cache.h"
#include "work/piece/state_parts.h"

static const char source[] = "training-stacks.md 7";

static bool waits(const struct plan *plan, enum colocated_away what)
{
    const struct enum_list *away = &plan->workload.colocated.away;
    for (size_t i = 0; i < away->n; i++)
        if (away->value[i] == what)
            return true;
    return false;
}

/* Of a critic what is in `category`: gradients go with the weights. */
static bool critic_waits(const struct plan *plan, enum category category)
{
    bool weights = category == CATEGORY_WEIGHTS || category == CATEGORY_GRADIENTS;
    return waits(plan, AWAY_CRITIC) ||
           waits(plan, weights ? AWAY_CRITIC_WEIGHTS : AWAY_CRITIC_STATES);
}

static void add(struct work *work, struct buffer like)
{
    like.segment = SEGMENT_STEP;
    like.n_dims = 1;
    like.source = source;
    work_buffer(work, like);
}

/* State of a model that answers or is trained in turn; `away`: it waits in host memory. */
static void add_model(struct work *work, struct buffer like, bool away)
{
    struct sizes *z = &work->sizes;
    like.n_dims = 1;
    like.life = LIFE_PERSISTENT;
    like.state = true;
    if (!away)
        add(work, like);
    else if (like.category != CATEGORY_GRADIENTS) /* which are freed */
        work_host(work, like.name, size_mul(z, buffer_shape_bytes(z, &like), like.count),
                  source);
}

static void add_frozen(const struct plan *plan, struct work *work)
{
    const struct colocated *c = &plan->workload.colocated;
    struct sizes *z = &work->sizes;
    const struct shards own = step_shards(plan, work, 3);
    struct size others = size_const(z, c->parameters);
    bool away = waits(plan, AWAY_REFERENCE), means_away = waits(plan, AWAY_AVERAGE);
    if (plan->parallel.zero >= 3)
        others = size_ceil_div(z, others, step_sharers(plan, z).dense);
    const struct {
        const char *name;
        struct size elements;
        enum dtype dtype;
        uint64_t count;
        bool away;
    } rows[] = {
        {"reference_weights", own.dense, c->format, c->reference, away},
        {"expert_reference_weights", own.experts, c->format, c->reference, away},
        {"average_weights", own.dense, c->format, c->average, means_away},
        {"expert_average_weights", own.experts, c->format, c->average, means_away},
        {"frozen_weights", others, DTYPE_BF16, c->parameters > 0, waits(plan, AWAY_FROZEN)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count)
            add_model(work,
                      (struct buffer){.name = rows[i].name,
                                      .category = CATEGORY_WEIGHTS,
                                      .dtype = rows[i].dtype,
                                      .dims = {rows[i].elements},
                                      .count = size_const(z, rows[i].count)},
                      rows[i].away);
}

/* What is shared out from a stage of ZeRO on of a model trained in turn: of this one's shape,
 * or with parameters of its own. */
static struct shards trained_shards(const struct plan *plan, struct work *work,
                                    unsigned from_zero, bool other)
{
    struct sizes *z = &work->sizes;
    const struct shards own = {.dense =
                                   size_const(z, plan->workload.colocated.critic_parameters),
                               .experts = size_const(z, 0)};
    return other ? step_share_out(plan, z, own, from_zero) : step_shards(plan, work, from_zero);
}

/* Of a model that waits for its turn: FSDP and DeepSpeed free gradients behind a step, Megatron
 * keeps its buffers of them; of one in the same pass they are the step's. */
static void add_critics(const struct plan *plan, struct work *work, bool other, uint64_t n)
{
    const struct precision *p = &plan->precision;
    const struct {
        const char *names[3]; /* dense, experts, of other shapes */
        unsigned from_zero;
        enum category category;
        enum dtype dtype;
        uint64_t count;
    } rows[] = {
        {{"critic_weights", "expert_critic_weights", "other_critic_weights"},
         3,
         CATEGORY_WEIGHTS,
         p->weights,
         1},
        {{"critic_gradients", "expert_critic_gradients", "other_critic_gradients"},
         2,
         CATEGORY_GRADIENTS,
         plan_is_megatron(plan) || plan->workload.colocated.critic_joint ? p->gradients
                                                                         : DTYPE_NONE,
         1},
        {{"critic_master", "expert_critic_master", "other_critic_master"},
         1,
         CATEGORY_MASTER,
         p->master,
         1},
        {{"critic_moments", "expert_critic_moments", "other_critic_moments"},
         1,
         CATEGORY_OPTIMIZER,
         p->moments,
         2},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows && n > 0; i++) {
        bool experts = i % 2 != 0;
        const struct shards of = trained_shards(plan, work, rows[i / 2].from_zero, other);
        if (rows[i / 2].dtype == DTYPE_NONE || (experts && other))
            continue;
        add_model(work,
                  (struct buffer){.name = rows[i / 2].names[other ? 2 : experts],
                                  .category = rows[i / 2].category,
                                  .dtype = rows[i / 2].dtype,
                                  .dims = {experts ? of.experts : of.dense},
                                  .count = size_const(&work->sizes, rows[i / 2].count * n)},
                  critic_waits(plan, rows[i / 2].category));
    }
}

/* ---- the engine ---- */

/* Ticks at which an engine that slept takes its place: its weights are filled; it generates. */
struct turn {
    uint16_t sync, rollout;
};

static struct turn turn_of(struct work *work)
{
    const struct tick like = {
        .kind = OP_UPDATE, .segment = SEGMENT_STEP, .phase = PHASE_UPDATE};
    struct tick sync = like, rollout = like;
    sync.name = "sync";
    rollout.name = "rollout";
    const uint16_t first = work_tick(work, sync);
    return (struct turn){first, work_tick(work, rollout)};
}

/* What of the trainer's state is not on the device then. Gradients but Megatron's buffers are
 * freed behind a step, and those with the weights (offload_megatron_model_to_cpu): what they
 * held is used up. */
static void leave(const struct plan *plan, struct work *work, size_t first, struct turn turn)
{
    const bool weights = waits(plan, AWAY_WEIGHTS), states = waits(plan, AWAY_STATES);
    for (size_t i = first; i < work->n_buffers; i++) {
        struct buffer *b = &work->buffers[i];
        bool gradients = b->category == CATEGORY_GRADIENTS;
        bool there = b->category == CATEGORY_WEIGHTS ? weights : states;
        if (!b->state || !(gradients ? weights || !plan_is_megatron(plan) : there))
            continue;
        b->leaves = true;
        b->first = b->category == CATEGORY_WEIGHTS ? turn.rollout : turn.sync;
        b->last = turn.rollout;
        if (!gradients)
            work_host(work, b->name, size_mul(&work->sizes, b->bytes, b->count), source);
    }
}

/* Layers that run again in backward keep their inputs, those of a model in the same pass beside
 * the trained one's (TRL experimental/ppo/ppo_trainer.py, PolicyAndValueWrapper: the value
 * model's forward comes first, so that its backward comes last). */
static void add_joint(const struct plan *plan, struct work *work, size_t first,
                      const struct turn *turn)
{
    struct sizes *z = &work->sizes;
    const uint64_t n = plan->workload.colocated.critic;
    const struct recompute_plan *again = &plan->recompute;
    if (n && again->kind == RECOMPUTE_FULL && again->offload.n == 0)
        work_buffer(
            work, (struct buffer){.name = "critic_layer_inputs",
                                  .segment = SEGMENT_STEP,
                                  .category = CATEGORY_CHECKPOINT,
                                  .dtype = plan->precision.activations,
                                  .life = LIFE_PERSISTENT,
                                  .n_dims = 3,
                                  .dims = {size_slot(z, SLOT_LAYERS), size_slot(z, SLOT_TOKENS),
                                           size_slot(z, SLOT_HIDDEN)},
                                  .count = size_const(z, n),
                                  .source = "trl experimental/ppo/ppo_trainer.py"});
    for (size_t i = first; turn && i < work->n_buffers; i++) {
        struct buffer *b = &work->buffers[i];
        if (b->category != CATEGORY_GRADIENTS && b->category != CATEGORY_CHECKPOINT)
            continue;
        b->leaves = true; /* they are the step's alone */
        b->first = turn->sync;
        b->last = turn->rollout;
    }
}

/* A rank's weights of the engine: of fewer bits but for embedding and head (verl
 * utils/vllm/vllm_fp8_utils.py, whose linear layers and experts alone are quantised); bytes of
 * both. */
static uint64_t add_engine_weights(const struct plan *plan, struct work *work,
                                   struct buffer like)
{
    const struct colocated *c = &plan->workload.colocated;
    struct sizes *z = &work->sizes;
    struct params params;
    params_count(&plan->model, &params);
    bool few = dtype_bits(c->weights) < 16;
    uint64_t plain = few ? params.embedding + params.head.matrices : 0;
    const struct {
        const char *name;
        enum dtype dtype;
        uint64_t elements;
    } parts[] = {{"engine_weights", c->weights, ceil_div(params.parameters - plain, c->tp)},
                 {"engine_embeddings", DTYPE_BF16, ceil_div(plain, c->tp)}};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && parts[i].elements; i++) {
        like.name = parts[i].name;
        like.category = CATEGORY_WEIGHTS;
        like.dtype = parts[i].dtype;
        like.dims[0] = size_const(z, parts[i].elements);
        uint64_t matrix = dtype_matrix_bytes(like.dtype, plan->model.hidden,
                                             ceil_div(parts[i].elements, plan->model.hidden));
        if (few) /* with scales */
            like.bytes = size_const(z, matrix);
        bytes += few ? matrix : parts[i].elements * dtype_bits(like.dtype) / 8;
        add(work, like);
    }
    return bytes;
}

/* gpu_memory_utilization bounds weights and cache together. Weights are gathered one at a time;
 * the largest is the embedding. */
static void add_engine(const struct plan *plan, struct work *work, struct turn turn)
{
    const struct colocated *c = &plan->workload.colocated;
    struct sizes *z = &work->sizes;
    bool awake = c->engine == ENGINE_AWAKE, overflow = false;
    uint64_t takes = (uint64_t)(c->fraction * (double)plan_rank_memory(plan));
    uint64_t largest = checked_mul(plan->model.vocab, plan->model.hidden, &overflow);
    struct buffer like = {.life = awake ? LIFE_PERSISTENT : LIFE_TRANSIENT, .outside = true};
    like.first = turn.sync;
    like.last = turn.rollout;
    uint64_t weights = add_engine_weights(plan, work, like);
    uint64_t cache = takes > weights ? takes - weights : 0;
    like.first = turn.rollout;
    like.name = "engine_cache";
    like.category = CATEGORY_KV_CACHE;
    like.dtype = DTYPE_INT8;
    like.dims[0] = size_const(z, cache);
    add(work, like);
    if (!awake && waits(plan, AWAY_ENGINE)) /* pinned memory, which is not given back */
        work_host(work, "engine_weights", size_const(z, weights), source);
    if (!awake)
        add(work, (struct buffer){.name = "synced_weight",
                                  .category = CATEGORY_WEIGHTS,
                                  .dtype = plan->precision.weights,
                                  .dims = {size_const(z, largest)},
                                  .life = LIFE_TRANSIENT,
                                  .first = turn.sync,
                                  .last = turn.sync});
}

/* ---- by the model itself ---- */

static void add_generated(struct work *work, struct turn turn, struct buffer like)
{
    like.segment = SEGMENT_STEP;
    like.life = LIFE_TRANSIENT;
    like.first = like.last = turn.rollout;
    work_buffer(work, like);
}

/* Keys and values of a token in a layer: of latent attention those of all heads, which
 * transformers expands before it keeps them (modeling_deepseek_v3.py). */
static struct size generated_width(const struct dims *d)
{
    return d->facts & FACT_MLA ? size_add(d->z, d->width[COL_Q], d->width[COL_CONTEXT])
                               : cache_width(d);
}

/* The caches of sequences at their longest: of windows and chunks what the next token reads
 * (DynamicSlidingWindowLayer). A layer's keys are copied to make room for one token more, then
 * its values (DynamicLayer.update). */
static void add_cache(const struct plan *plan, struct work *work, struct turn turn)
{
    static const char caches[] = "transformers cache_utils.py";
    struct sizes *z = &work->sizes;
    const struct size n = size_const(z, plan->workload.colocated.sequences);
    struct size largest = size_const(z, 0);
    bool mixers[MIXER_COUNT] = {false};
    struct dims d;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        mixers[m] = model_mixers(&plan->model, (enum mixer)m) > 0;
    dims_fill(&d, plan, z);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        const enum mixer mixer = (enum mixer)m;
        const bool state = mixer == MIXER_LINEAR;
        dims_mixer(&d, mixer);
        if (!mixers[m] || (!state && !cache_name(mixer)))
            continue;
        struct size tokens =
            state ? size_const(z, 1)
                  : cache_tokens(z, plan, mixer, size_slot(z, SLOT_SEQUENCE_FULL));
        struct size width = state ? cache_state_bytes(&d) : generated_width(&d);
        add_generated(work, turn,
                      (struct buffer){.name = state ? "generated_state" : "generated_cache",
                                      .category = CATEGORY_KV_CACHE,
                                      .dtype = state ? DTYPE_INT8 : plan->precision.activations,
                                      .n_dims = 4,
                                      .dims = {cache_layers(z, plan, mixer), n, tokens, width},
                                      .source = caches});
        if (!state)
            largest = size_max(z, largest, size_mul(z, tokens, width));
    }
    add_generated(work, turn,
                  (struct buffer){.name = "generated_cache_copy",
                                  .category = CATEGORY_KV_CACHE,
                                  .dtype = plan->precision.activations,
                                  .n_dims = 2,
                                  .dims = {n, size_ceil_by(z, largest, 2)},
                                  .source = caches});
}

/* DeepSpeed's third stage gathers all weights for the time (TRL models/utils.py,
 * unwrap_model_for_generation); told not to, its modules gather theirs within the parameters
 * that live in training (train_deepspeed). FSDP gathers those of one layer. */
static void add_generation(const struct plan *plan, struct work *work, struct turn turn)
{
    const struct colocated *c = &plan->workload.colocated;
    struct params params;
    uint64_t together = 0;
    add_cache(plan, work, turn);
    if (plan->stack.kind != STACK_DEEPSPEED || plan->parallel.zero < 3 || !c->whole)
        return;
    params_count(&plan->model, &params);
    if (c->critic_joint) /* one engine has all of them */
        together = params.parameters * c->critic + c->critic_parameters;
    add_generated(
        work, turn,
        (struct buffer){.name = "generating_weights",
                        .category = CATEGORY_WEIGHTS,
                        .dtype = plan->precision.activations,
                        .n_dims = 1,
                        .dims = {size_const(&work->sizes, params.parameters + together)},
                        .source = "trl models/utils.py"});
}

void step_colocated(const struct plan *plan, struct work *work, size_t first)
{
    const struct colocated *c = &plan->workload.colocated;
    struct turn turn = {0, 0};
    if (plan->workload.mode != MODE_TRAIN || plan->stack.kind == STACK_HOST)
        return;
    if (c->engine == ENGINE_ASLEEP) {
        turn = turn_of(work);
        leave(plan, work, first, turn);
    }
    const bool generates =
        c->engine == ENGINE_NONE && c->sequences && plan_is_huggingface(plan);
    if (generates) {
        turn = turn_of(work);
        leave(plan, work, first, turn);
    }
    add_frozen(plan, work);
    const size_t models = work->n_buffers;
    add_critics(plan, work, false, c->critic);
    add_critics(plan, work, true, c->critic_parameters > 0);
    if (c->critic_joint)
        add_joint(plan, work, models, generates ? &turn : NULL);
    if (generates)
        add_generation(plan, work, turn);
    if (c->engine != ENGINE_NONE)
        add_engine(plan, work, turn);
}
