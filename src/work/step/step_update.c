/* What runs once per step: gradients reduced, their norm, the optimizer, new weights gathered.
 * Its operands are the state that the stack holds, so its bytes are the state's. */
#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "work/list/letters.h"
#include "work/piece/lora.h"
#include "plan/recipe.h"
#include "work/piece/state.h"
#include "work/step/step.h"
#include "work/stack/stack.h"

/* The buffers of one part of the state: dense and experts. */
struct pair {
    uint16_t number[2];
};

static const struct pair NO_PAIR = {{WORK_NONE, WORK_NONE}};

static bool is_state(const struct buffer *held)
{
    return held->segment == SEGMENT_STEP && held->life == LIFE_PERSISTENT;
}

/* Whether a buffer has one of the two names, and is the first that has. */
static bool take_named(const struct buffer *held, size_t number, const char *dense,
                       const char *experts, struct pair *pair)
{
    const char *const names[] = {dense, experts};
    for (unsigned n = 0; n < 2; n++)
        if (pair->number[n] == WORK_NONE && text_equal(held->name, names[n])) {
            pair->number[n] = (uint16_t)number;
            return true;
        }
    return false;
}

static struct pair state_of(const struct step *s, const char *dense, const char *experts)
{
    struct pair pair = NO_PAIR;
    const struct work *work = s->l.work;
    for (size_t i = 0; i < work->n_held; i++)
        if (is_state(&work->buffers[i]))
            take_named(&work->buffers[i], i, dense, experts, &pair);
    return pair;
}

static struct size bytes_of(struct step *s, struct pair pair)
{
    struct sizes *z = s->l.z;
    struct size sum = size_const(z, 0);
    for (unsigned n = 0; n < 2; n++) {
        if (pair.number[n] == WORK_NONE)
            continue;
        const struct buffer *buffer = &s->l.work->buffers[pair.number[n]];
        sum = size_add(z, sum, size_mul(z, buffer->bytes, buffer->count));
    }
    return sum;
}

/* Of arrays that every rank holds whole, a rank updates its own part under zero 1 and 2. */
static struct size own_part(struct step *s, struct pair pair, uint64_t sharded_from)
{
    struct sizes *z = s->l.z;
    uint64_t zero = s->plan->parallel.zero;
    if (zero == 0 || zero >= sharded_from)
        return bytes_of(s, pair);
    struct size sum = size_const(z, 0);
    for (unsigned n = 0; n < 2; n++) {
        struct pair one = {
            {n == 0 ? pair.number[0] : WORK_NONE, n == 1 ? pair.number[1] : WORK_NONE}};
        struct shards ranks = step_sharers(s->plan, z);
        sum = size_add(
            z, sum, size_ceil_div(z, bytes_of(s, one), n == 0 ? ranks.dense : ranks.experts));
    }
    return sum;
}

/* The norm of all gradients: read once, and one number agreed on by all ranks. */
static void gradient_norm(struct step *s, struct pair gradients, struct size read)
{
    struct layer *l = &s->l;
    uint16_t norm =
        layer_buffer(l, "gradient_norm", CATEGORY_METADATA, DTYPE_F32, RULE_FIXED, 1, &l->one);
    layer_op(
        l,
        (struct op){.name = "gradient_norm",
                    .kernel = KERNEL_UPDATE,
                    .bytes_read = read,
                    .bytes_written = l->work->buffers[norm].bytes},
        OPERANDS(IN(SRC, gradients.number[0]), IN(OTHER, gradients.number[1]), OUT(DST, norm)));
    uint16_t sum = layer_buffer(l, "global_gradient_norm", CATEGORY_METADATA, DTYPE_F32,
                                RULE_FIXED, 1, &l->one);
    /* copies of shards in other groups have the same norm */
    enum process_group group = plan_shards_in_part(s->plan) ? GROUP_DP_SHARD : GROUP_DP;
    layer_collective(l, "reduce_gradient_norm", group, ALL_REDUCE, norm, sum,
                     l->work->buffers[norm].bytes);
}

/* Of an array of every trained element, what is of those that the host updates. */
static void host_copy(struct step *s, const char *name, struct pair pair)
{
    struct sizes *z = s->l.z;
    struct shards shards = step_trained(s->plan, s->l.work, 1);
    if (pair.number[0] == WORK_NONE)
        return;
    struct size moved =
        size_scale_up(z, size_add(z, shards.dense, shards.experts), REAL_OFFLOAD);
    struct size bytes = dispatch_bytes(z, s->l.work->buffers[pair.number[0]].dtype, moved);
    layer_op(
        &s->l,
        (struct op){
            .name = name, .kernel = KERNEL_COPY, .bytes_read = bytes, .bytes_written = bytes},
        OPERANDS(INOUT(DST, pair.number[0])));
}

/* Gradients of what the host updates go there, it reads all it keeps and writes all but them,
 * and the weights come back, unless they wait there (add_shard_copies). */
static void host_update(struct step *s, struct pair gradients, struct pair weights)
{
    struct layer *l = &s->l;
    struct sizes *z = l->z;
    struct size read = size_const(z, 0), written = read;
    for (size_t i = 0; i < l->work->n_host; i++) {
        const struct host_buffer *host = &l->work->host[i];
        if (!text_starts(host->name, "host_")) /* activations wait there too */
            continue;
        read = size_add(z, read, host->bytes);
        if (!text_equal(host->name, "host_gradients"))
            written = size_add(z, written, host->bytes);
    }
    host_copy(s, "offload_gradients", gradients);
    /* gradients of layers that are updated in backward are no buffer of the step */
    uint16_t of = gradients.number[0] == WORK_NONE ? weights.number[0] : gradients.number[0];
    layer_op(l,
             (struct op){.name = "host_optimizer",
                         .kernel = KERNEL_HOST_UPDATE,
                         .bytes_read = read,
                         .bytes_written = written},
             OPERANDS(INOUT(DST, of)));
    if (!state_waits_there(s->plan)) /* shards that stay there come for each gather */
        host_copy(s, "reload_weights", weights);
}

/* Gradients that a rank's update reads. Those of a layer that is updated in backward are no
 * buffer of the step. */
static struct size gradient_bytes(struct step *s, struct pair gradients)
{
    struct sizes *z = s->l.z;
    if (!plan_steps_in_backward(s->plan) && !plan_drops_gradients(s->plan))
        return own_part(s, gradients, 2);
    struct shards shards = step_trained(s->plan, s->l.work, 2);
    return dispatch_bytes(z, lora_gradients(s->plan),
                          size_add(z, shards.dense, shards.experts));
}

/* Modules that are trained whole beside adapters (state_modules.c). */
static void update_modules(struct step *s)
{
    struct layer *l = &s->l;
    const struct pair weights = state_of(s, "saved_modules", "");
    if (weights.number[0] == WORK_NONE)
        return;
    const struct pair kept = state_of(s, "saved_modules_master", "saved_modules_moments"),
                      gradients = state_of(s, "saved_modules_gradients", ""),
                      kahan = state_of(s, "saved_modules_kahan_sums", "");
    struct size states = size_add(l->z, bytes_of(s, kept), bytes_of(s, kahan)),
                written = own_part(s, weights, 3);
    struct size read = size_add(l->z, own_part(s, gradients, 2), states);
    layer_op(l,
             (struct op){.name = "optimizer_of_modules",
                         .kernel = KERNEL_UPDATE,
                         .bytes_read = size_add(l->z, read, written),
                         .bytes_written = size_add(l->z, states, written)},
             OPERANDS(IN(SRC, gradients.number[0]), MANY(2, true, true, kept.number[0]),
                      MANY(4, true, true, kept.number[1]),
                      MANY(6, true, true, weights.number[0]),
                      MANY(16, true, true, kahan.number[0])));
}

/* What the optimizer reads and writes: operand 2 i is the dense buffer of part i, 2 i + 1 the
 * experts'. What is both read and written is state that it keeps. */
enum {
    GRADIENTS,
    MASTER,
    MOMENTS,
    WEIGHTS,
    SECOND,
    SCALES,
    FACTORS,
    COPIES,
    KAHAN,
    TABLE,
    ENDS,
    PARTS
};

static const struct {
    const char *dense, *experts;
    bool read, written;
} parts[PARTS] = {
    [GRADIENTS] = {"gradients", "expert_gradients", true, false},
    [MASTER] = {"master_weights", "expert_master_weights", true, true},
    [MOMENTS] = {"adam_moments", "expert_adam_moments", true, true},
    [WEIGHTS] = {"weights", "expert_weights", false, true},
    [SECOND] = {"adam_second_moments", "expert_adam_second_moments", true, true},
    [SCALES] = {"moment_scales", "expert_moment_scales", true, true},
    [FACTORS] = {"factored_moments", "expert_factored_moments", true, true},
    [COPIES] = {"quantized_weights", "expert_quantized_weights", false, true},
    [KAHAN] = {"kahan_sums", "expert_kahan_sums", true, true},
    [TABLE] = {"embedding_moments", "", true, true},
    [ENDS] = {"moments_of_ends", "", true, true},
};

static void find_parts(const struct step *s, struct pair of[PARTS])
{
    const struct work *work = s->l.work;
    const bool adapters = lora_is_on(s->plan);
    for (unsigned i = 0; i < PARTS; i++)
        of[i] = NO_PAIR;
    for (size_t i = 0; i < work->n_held; i++)
        for (unsigned p = 0; is_state(&work->buffers[i]) && p < PARTS; p++)
            if (take_named(&work->buffers[i], i, parts[p].dense, parts[p].experts, &of[p]))
                break;
    if (adapters)
        of[WEIGHTS] = state_of(s, "adapters", "expert_adapters");
    if (adapters || !recipe_is_primary(s->plan))
        of[COPIES] = NO_PAIR;
}

static struct size kept_bytes(struct step *s, const struct pair of[PARTS])
{
    struct size kept = size_const(s->l.z, 0);
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].read && parts[i].written)
            kept = size_add(s->l.z, kept, bytes_of(s, of[i]));
    return kept;
}

static void optimizer_op(struct step *s, const struct pair of[PARTS], struct size read,
                         struct size written)
{
    struct sizes *z = s->l.z;
    struct size kept = kept_bytes(s, of);
    bool in_place = s->plan->precision.master == DTYPE_NONE; /* the weights are updated */
    struct operand operands[2 * PARTS + 1];
    for (uint8_t i = 0; i < 2 * PARTS; i++)
        operands[i] = (struct operand)MANY(i, parts[i / 2].read, parts[i / 2].written,
                                           of[i / 2].number[i % 2]);
    operands[2 * PARTS] = (struct operand){.role = ROLE_COUNT};
    layer_op(&s->l,
             (struct op){.name = "optimizer",
                         .kernel = KERNEL_UPDATE,
                         .bytes_read = size_sum(
                             z, SIZES(read, kept, in_place ? written : size_const(z, 0))),
                         .bytes_written = size_add(z, kept, written)},
             operands);
}

void step_update(struct step *s)
{
    struct layer *l = &s->l;
    size_t first = l->work->n_ops;
    struct pair of[PARTS];
    find_parts(s, of);
    struct size read = gradient_bytes(s, of[GRADIENTS]);
    struct size written =
        size_add(l->z, own_part(s, of[WEIGHTS], 3), own_part(s, of[COPIES], 3));
    if (size_is_zero(l->z, written))
        return; /* adapters of matrices that the model does not have */
    l->segment = SEGMENT_STEP;
    step_reduce_all(s);
    if (!plan_steps_in_backward(s->plan) && !plan_drops_gradients(s->plan))
        /* no moment has all of them */
        gradient_norm(s, of[GRADIENTS], read);
    optimizer_op(s, of, read, written);
    update_modules(s);
    if (s->plan->optimizer.offload > 0)
        host_update(s, of[plan_steps_in_backward(s->plan) ? WEIGHTS : GRADIENTS], of[WEIGHTS]);
    step_gather_all(s);
    for (size_t i = first; i < l->work->n_ops; i++)
        l->work->ops[i].phase = PHASE_UPDATE;
}

/* ---- what hangs on the stack's own ticks and buffers ---- */

static void add_waits(struct step *s, size_t n_ticks)
{
    struct layer *l = &s->l;
    for (size_t i = 0; i < n_ticks; i++) {
        const struct tick tick = l->work->ticks[i];
        if (size_is_zero(l->z, tick.host_syncs))
            continue;
        l->segment = tick.segment;
        l->layers = l->work->use[tick.segment].repeat;
        uint16_t op = layer_op(l,
                               (struct op){.name = arena_join(l->arena, "wait_", tick.name),
                                           .kernel = KERNEL_WAIT,
                                           .host_syncs = tick.host_syncs},
                               OPERANDS(IN(SRC, WORK_NONE)));
        l->work->ops[op].phase = tick.phase;
    }
}

/* A tensor that waits in host memory goes out after its layer's forward and comes back before
 * its backward. */
static void add_copies(struct step *s, size_t n_buffers)
{
    struct layer *l = &s->l;
    for (size_t i = 0; i < n_buffers; i++) {
        const struct buffer buffer = l->work->buffers[i];
        if (!text_starts(buffer.name, "reloaded_"))
            continue;
        l->segment = buffer.segment;
        l->layers =
            buffer.away ? size_const(l->z, buffer.away) : l->work->use[buffer.segment].repeat;
        for (unsigned back = 0; back < 2; back++) {
            struct op copy = {.name = arena_printf(l->arena, back ? "reload_%s" : "offload_%s",
                                                   buffer.name + strlen("reloaded_")),
                              .kernel = KERNEL_COPY,
                              .bytes_read = buffer.bytes,
                              .bytes_written = buffer.bytes};
            uint16_t op = layer_op(l, copy, OPERANDS(INOUT(DST, (uint16_t)i)));
            l->work->ops[op].phase = back ? PHASE_BACKWARD : PHASE_FORWARD;
        }
    }
}

/* Weights that are kept in host memory (`from`), copied through the link in every pass: of each
 * of the stage's layers as much as of the others. */
static void add_weight_copies(struct step *s, const char *from, const char *name,
                              enum phase phase)
{
    struct layer *l = &s->l;
    const struct work *work = l->work;
    size_t host = 0, held = 0;
    while (host < work->n_host && !text_equal(work->host[host].name, from))
        host++;
    while (held < work->n_held && work->buffers[held].category != CATEGORY_WEIGHTS)
        held++;
    if (host == work->n_host || held == work->n_held)
        return;
    struct size layers = size_const(l->z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        layers = size_add(l->z, layers, size_slot(l->z, slot_kind_layers((enum layer_kind)k)));
    struct size bytes = size_ceil_div(l->z, work->host[host].bytes, layers);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        if (!s->kinds[k])
            continue;
        l->segment = segment_of_kind((enum layer_kind)k);
        l->layers =
            phase == PHASE_FORWARD ? work->use[l->segment].repeat : work->use[l->segment].back;
        struct op copy = {
            .name = name, .kernel = KERNEL_COPY, .bytes_read = bytes, .bytes_written = bytes};
        uint16_t op = layer_op(l, copy, OPERANDS(INOUT(DST, (uint16_t)held)));
        l->work->ops[op].phase = phase;
    }
}

/* Frozen layers come for their turn and go behind it, forward and backward (axolotl
 * core/trainers/mixins/layer_offloading.py, setup_hooks; what runs again in backward finds them
 * there). */
static void add_layer_copies(struct step *s)
{
    static const char *const names[] = {"load_layer", "store_layer"};
    static const enum phase phases[] = {PHASE_FORWARD, PHASE_BACKWARD};
    for (unsigned i = 0; i < 4; i++)
        add_weight_copies(s, "host_layers", names[i % 2], phases[i / 2]);
}

/* A layer's shards come before each of its gathers (FSDP2 _fsdp_param.py, all_gather_inputs;
 * DeepSpeed runtime/zero/partition_parameters.py). */
static void add_shard_copies(struct step *s)
{
    add_weight_copies(s, "host_weights", "load_shard", PHASE_FORWARD);
    if (!stack_keeps_gathered(s->plan))
        add_weight_copies(s, "host_weights", "load_shard", PHASE_BACKWARD);
}

void step_extras(struct step *s)
{
    add_weight_copies(s, "offloaded_weights", "read_offloaded_weights", PHASE_FORWARD);
    add_layer_copies(s);
    add_shard_copies(s);
    add_copies(s, s->l.work->n_held);
    add_waits(s, s->l.work->n_ticks);
}
