/* What data and pipeline parallelism add to a step: sharded weights gathered layer by layer and
 * gradients reduced, and rows handed to the next stage. */
#include "plan/derive.h"
#include "plan/frozen.h"
#include "plan/params.h"
#include "work/piece/lora.h"
#include "work/piece/state.h"
#include "work/step/step.h"
#include "work/stack/stack.h"

/* ---- parameters of one layer ---- */

/* Dense parameters of a layer on one rank of tp: its part of what tp splits, and the rest whole
 * (stage.c's rule, layer by layer; what rounding leaves goes to the ends). */
static uint64_t dense_of(const struct step *s, const struct params *params,
                         enum layer_kind kind)
{
    static const struct params_part none;
    enum mixer mixer = kind_mixer(kind);
    bool moe = kind_ffn(kind) == FFN_MOE, dense = kind_ffn(kind) == FFN_DENSE;
    const struct params_part *const parts[] = {
        &params->mixer[mixer],
        &params->layer_norms,
        &params->layer_input,
        dense ? params_dense(params, mixer) : &none,
        moe ? &params->router : &none,
        moe ? &params->shared : &none,
        moe ? &params->residual : &none,
    };
    uint64_t matrices = 0, vectors = 0;
    uint64_t whole = params->whole[mixer] + params->layer_input.matrices +
                     (moe ? params->router.matrices : 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        matrices += parts[i]->matrices;
        vectors += parts[i]->norms + parts[i]->biases;
    }
    return (matrices - whole) / s->plan->parallel.tp + whole + vectors;
}

static uint64_t dense_parameters(const struct step *s, enum layer_kind kind)
{
    return dense_of(s, &s->params, kind);
}

/* What the ends hold: the stage's dense parameters less those of its layers. */
static struct size end_parameters(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size sum = size_const(z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (s->kinds[k])
            sum = size_add(
                z, sum,
                size_times(z, size_slot(z, slot_kind_layers(kind)), dense_parameters(s, kind)));
    }
    return size_sub(z, size_slot(z, SLOT_DENSE_PARAMETERS), sum);
}

static struct size expert_parameters(struct step *s)
{
    struct sizes *z = s->l.z;
    return size_div(z, size_slot(z, SLOT_EXPERT_PARAMETERS),
                    size_slot(z, SLOT_STAGE_MOE_LAYERS));
}

/* ---- shards ---- */

static uint16_t flat(struct step *s, const char *name, enum category category, enum dtype dtype,
                     struct size elements)
{
    return layer_buffer(&s->l, name, category, dtype, RULE_FIXED, 1, &elements);
}

struct weights_part {
    const char *what;         /* "weights", "expert_weights" */
    enum process_group group; /* shares them out; GROUP_NONE: every rank has them whole */
    enum process_group same;  /* its ranks hold the same shard; GROUP_NONE: no other does */
    struct size elements;     /* gathered */
    enum dtype dtype;         /* as it travels */
    bool some;                /* in those layers alone whose linear layers have adapters */
};

/* Sets how many layers have the part; returns what it was. */
static struct size in_layers(struct step *s, const struct weights_part *part)
{
    const struct size before = s->l.layers;
    if (part->some)
        s->l.layers = size_slot(s->l.z, slot_kind_adapted(segment_kind(s->l.segment)));
    return before;
}

static void gather(struct step *s, const struct weights_part *shard)
{
    struct layer *l = &s->l;
    if (shard->group == GROUP_NONE)
        return;
    enum dtype dtype = shard->dtype;
    const struct size before = in_layers(s, shard);
    struct size n = layer_group_ranks(l, shard->group);
    uint16_t part = flat(s, arena_join(l->arena, "shard_of_", shard->what), CATEGORY_WEIGHTS,
                         dtype, size_ceil_div(l->z, shard->elements, n));
    uint16_t all = flat(s, arena_join(l->arena, "gathered_", shard->what), CATEGORY_WEIGHTS,
                        dtype, shard->elements);
    layer_collective(l, arena_join(l->arena, "gather_", shard->what), shard->group, ALL_GATHER,
                     part, all, l->work->buffers[all].bytes);
    l->layers = before;
}

/* Of all gradients a rank keeps its shard, or all; returns what it keeps. */
static uint16_t reduce(struct step *s, const struct weights_part *shard,
                       enum collective_kind how)
{
    struct layer *l = &s->l;
    enum dtype dtype = shard->dtype;
    struct size kept = shard->elements;
    uint16_t all = flat(s, arena_join(l->arena, "gradients_of_", shard->what),
                        CATEGORY_GRADIENTS, dtype, shard->elements);
    if (shard->group == GROUP_NONE)
        return all;
    if (how == REDUCE_SCATTER)
        kept = size_ceil_div(l->z, kept, layer_group_ranks(l, shard->group));
    uint16_t part = flat(s, arena_join(l->arena, "reduced_gradients_of_", shard->what),
                         CATEGORY_GRADIENTS, dtype, kept);
    layer_collective(l, arena_join(l->arena, "reduce_gradients_of_", shard->what), shard->group,
                     how, all, part, l->work->buffers[all].bytes);
    return part;
}

/* A shard added up over the groups that hold the same (FSDP2 _fsdp_collectives.py
 * foreach_reduce: an all-reduce of the reduce-scatter's output). */
static void reduce_copies(struct step *s, const struct weights_part *shard, uint16_t part)
{
    struct layer *l = &s->l;
    bool outside = plan_shares_states_outside(s->plan); /* each group updates its part */
    if (shard->same == GROUP_NONE)
        return;
    struct size kept = l->work->buffers[part].dims[0];
    if (outside)
        kept = size_ceil_div(l->z, kept, layer_group_ranks(l, shard->same));
    uint16_t sum = flat(s, arena_join(l->arena, "summed_gradients_of_", shard->what),
                        CATEGORY_GRADIENTS, shard->dtype, kept);
    layer_collective(l, arena_join(l->arena, "reduce_copies_of_", shard->what), shard->same,
                     outside ? REDUCE_SCATTER : ALL_REDUCE, part, sum,
                     l->work->buffers[part].bytes);
}

/* The shard of a step's gradients. */
static uint16_t accumulated(struct step *s, const struct weights_part *shard)
{
    struct size n =
        shard->group == GROUP_NONE ? s->l.one : layer_group_ranks(&s->l, shard->group);
    return flat(s, arena_join(s->l.arena, "accumulated_gradients_of_", shard->what),
                CATEGORY_GRADIENTS, shard->dtype, size_ceil_div(s->l.z, shard->elements, n));
}

/* DeepSpeed's MiCS adds copies up at the last micro-step alone (mics.py
 * allreduce_mics_shard_grads). */
static bool copies_reduced_once(const struct step *s)
{
    return s->plan->stack.kind == STACK_DEEPSPEED;
}

static enum dtype gradient_dtype(const struct step *s)
{
    enum dtype reduced = stack_reduces_in(s->plan);
    enum dtype dtype = reduced == DTYPE_NONE ? lora_gradients(s->plan) : reduced;
    return dtype == DTYPE_NONE ? s->plan->precision.activations : dtype;
}

/* What is not nothing and has copies, or sharers; how many parts. */
static unsigned held_by_many(struct step *s, struct shards elements, enum dtype dtype,
                             bool adapters, struct weights_part out[2])
{
    struct weights_part all[] = {
        {adapters ? "adapters" : "weights", GROUP_DP, GROUP_NONE, elements.dense, dtype, false},
        {adapters ? "expert_adapters" : "expert_weights", GROUP_EDP, GROUP_NONE,
         elements.experts, dtype, false},
    };
    const uint64_t ranks[] = {plan_dp(s->plan) * s->plan->parallel.cp, plan_expert_dp(s->plan)};
    if (plan_shards_in_part(s->plan)) {
        struct sharers shard = plan_sharers(s->plan), same = plan_replicas(s->plan);
        all[0].group = shard.dense > 1 ? GROUP_DP_SHARD : GROUP_NONE;
        all[1].group = shard.experts > 1 ? GROUP_EDP_SHARD : GROUP_NONE;
        all[0].same = same.dense > 1 ? GROUP_DP_REPLICA : GROUP_NONE;
        all[1].same = same.experts > 1 ? GROUP_EDP_REPLICA : GROUP_NONE;
    }
    unsigned n = 0;
    for (unsigned i = 0; i < 2; i++)
        if (ranks[i] > 1 && !size_is_zero(s->l.z, all[i].elements))
            out[n++] = all[i];
    return n;
}

/* Weights of the segment at hand; of the step's own ends where it is no layer. */
static struct shards segment_weights(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size none = size_const(z, 0);
    if (s->l.segment == SEGMENT_HEAD)
        return (struct shards){end_parameters(s), none};
    enum layer_kind kind = segment_kind(s->l.segment);
    return (struct shards){size_const(z, dense_parameters(s, kind)),
                           kind_ffn(kind) == FFN_MOE ? expert_parameters(s) : none};
}

/* Adapters beside them; beside the ends modules that are trained whole, and the encoder's. */
static struct shards segment_adapters(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size none = size_const(z, 0);
    if (!lora_is_on(s->plan))
        return (struct shards){none, none};
    if (s->l.segment == SEGMENT_HEAD)
        return (struct shards){size_add(z, lora_saved(s->plan, z), lora_encoder(s->plan, z)),
                               none};
    struct lora_sum sum = lora_layer(s->plan, z, segment_kind(s->l.segment));
    return (struct shards){sum.dense, sum.experts};
}

/* The segment's adapters on their own; of stacked experts in every layer (lora_is_in_some). */
static unsigned adapters_apart(struct step *s, enum dtype dtype, struct weights_part out[2])
{
    unsigned n = held_by_many(s, segment_adapters(s), dtype, true, out);
    bool stacked = lora_stacks_experts(s->plan) && s->plan->lora.language;
    for (unsigned i = 0; i < n && segment_is_layer(s->l.segment); i++) {
        bool experts = text_equal(out[i].what, "expert_adapters");
        out[i].some = plan_adapts_some(s->plan) && !(experts && stacked);
    }
    return n;
}

/* Adapters are gathered with the weights they stand beside, unless only some layers have any;
 * those of a quantised base, of which the bits travel as they are kept (every rank has all
 * scales), on their own. Experts that it leaves whole travel so. */
static unsigned gathered(struct step *s, struct weights_part out[4])
{
    enum dtype gather = s->plan->precision.gather, dtype = s->plan->precision.activations;
    struct sizes *z = s->l.z;
    struct shards all = segment_weights(s), adapters = segment_adapters(s);
    if (lora_base_is_quantised(s->plan) && segment_is_layer(s->l.segment)) {
        struct shards dense = all, experts = all;
        dense.experts = experts.dense = size_const(z, 0);
        enum dtype whole = lora_plain(s->plan), few = s->plan->precision.weights;
        bool all_of_it = lora_quantises_dense(s->plan);
        unsigned n = held_by_many(s, dense, all_of_it ? few : whole, false, out);
        n += held_by_many(s, experts, lora_expert_format(s->plan), false, out + n);
        return n + adapters_apart(s, dtype, out + n);
    }
    if (plan_adapts_some(s->plan) && segment_is_layer(s->l.segment)) {
        unsigned n = held_by_many(s, all, dtype, false, out);
        return n + adapters_apart(s, dtype, out + n);
    }
    all.dense = size_add(z, all.dense, adapters.dense);
    all.experts = size_add(z, all.experts, adapters.experts);
    if (s->plan->stack.kind == STACK_DEEPSPEED && gather != DTYPE_NONE)
        dtype = gather;
    return held_by_many(s, all, dtype, false, out);
}

/* Of the weights of the segment at hand what is trained. */
static struct shards segment_trained(struct step *s)
{
    struct sizes *z = s->l.z;
    const enum segment at = s->l.segment;
    const bool layer = segment_is_layer(at);
    struct params own = s->params;
    struct size ends = size_slot(z, SLOT_TRAINED_DENSE), experts = size_const(z, 0);
    if (plan_trains_one_layer(s->plan) && !layer)
        return (struct shards){experts, experts};
    if (!plan_freezes(s->plan))
        return segment_weights(s);
    params_freeze(s->plan, &own);
    for (unsigned k = 0; k < KIND_COUNT && !layer; k++)
        if (s->kinds[k])
            ends = size_sub(z, ends,
                            size_times(z, size_slot(z, slot_kind_trained((enum layer_kind)k)),
                                       dense_of(s, &own, (enum layer_kind)k)));
    if (!layer)
        return (struct shards){ends, experts};
    enum layer_kind kind = segment_kind(at);
    if (kind_ffn(kind) == FFN_MOE && !plan_freezes_part(s->plan, FROZEN_EXPERTS))
        experts = expert_parameters(s);
    return (struct shards){size_const(z, dense_of(s, &own, kind)), experts};
}

static unsigned with_gradients(struct step *s, struct weights_part out[2])
{
    if (lora_is_on(s->plan))
        return adapters_apart(s, gradient_dtype(s), out);
    return held_by_many(s, segment_trained(s), gradient_dtype(s), false, out);
}

static bool gathers_layers(const struct step *s)
{
    return s->plan->parallel.zero >= 3;
}

/* Backward gathers the second copy, where there is one, from its own ranks. */
static void from_second_copy(const struct step *s, struct weights_part *part)
{
    struct sharers ranks = plan_second_sharers(s->plan);
    bool experts = part->group == GROUP_EDP || part->group == GROUP_EDP_SHARD;
    if (!plan_keeps_second_copy(s->plan))
        return;
    part->group = experts ? GROUP_EDP_SECOND : GROUP_DP_SECOND;
    if ((experts ? ranks.experts : ranks.dense) == 1)
        part->group = GROUP_NONE;
}

void step_gather_weights(struct step *s, enum phase phase)
{
    struct weights_part list[4];
    s->l.backward = phase == PHASE_BACKWARD;
    bool kept = s->l.backward && stack_keeps_gathered(s->plan);
    for (unsigned i = 0, n = gathers_layers(s) && !kept ? gathered(s, list) : 0; i < n; i++) {
        if (s->l.backward)
            from_second_copy(s, &list[i]);
        gather(s, &list[i]);
    }
    s->l.backward = false;
}

void step_gather_input(struct step *s)
{
    struct layer *l = &s->l;
    if (!plan_distributes_inputs(s->plan))
        return;
    struct size rows = s->d.rows[ROW_LOCAL], hidden = s->d.width[COL_HIDDEN];
    struct size own = size_ceil_div(l->z, rows, size_slot(l->z, SLOT_TP));
    uint16_t part = step_rows(s, "layer_input_part", CATEGORY_CHECKPOINT, own, hidden);
    uint16_t all = step_rows(s, "gathered_layer_input", CATEGORY_CHECKPOINT, rows, hidden);
    l->backward = true;
    layer_collective(l, "gather_layer_input", GROUP_TP, ALL_GATHER, part, all,
                     l->work->buffers[all].bytes);
    l->backward = false;
}

static void reduce_layer(struct step *s, const struct weights_part *shard)
{
    const struct size before = in_layers(s, shard);
    uint16_t part = reduce(s, shard, REDUCE_SCATTER);
    if (!copies_reduced_once(s))
        reduce_copies(s, shard, part);
    s->l.layers = before;
}

void step_reduce_gradients(struct step *s)
{
    struct weights_part list[2];
    s->l.backward = true;
    for (unsigned i = 0, n = gathers_layers(s) ? with_gradients(s, list) : 0; i < n; i++)
        reduce_layer(s, &list[i]);
    s->l.backward = false;
}

/* All that a device trains, as far as there are copies; how many parts. */
static unsigned copied(struct step *s, enum dtype dtype, struct weights_part out[2])
{
    enum { NEVER = 4 }; /* no stage of zero shards it */
    struct shards all = step_trained(s->plan, s->l.work, NEVER);
    all.dense = size_add(s->l.z, all.dense, lora_saved(s->plan, s->l.z));
    return held_by_many(s, all, dtype, lora_is_on(s->plan), out);
}

void step_reduce_all(struct step *s)
{
    uint64_t zero = s->plan->parallel.zero;
    struct weights_part list[2];
    for (unsigned i = 0, n = zero < 3 ? copied(s, gradient_dtype(s), list) : 0; i < n; i++)
        reduce_copies(s, &list[i], reduce(s, &list[i], zero ? REDUCE_SCATTER : ALL_REDUCE));
    bool once = zero == 3 && copies_reduced_once(s);
    for (unsigned i = 0, n = once ? copied(s, gradient_dtype(s), list) : 0; i < n; i++)
        reduce_copies(s, &list[i], accumulated(s, &list[i]));
}

/* Shards that the groups updated in parts. */
static void gather_outside(struct step *s, struct weights_part *shard)
{
    struct layer *l = &s->l;
    if (shard->group != GROUP_NONE)
        shard->elements =
            size_ceil_div(l->z, shard->elements, layer_group_ranks(l, shard->group));
    shard->group = shard->same;
    gather(s, shard);
}

void step_gather_all(struct step *s)
{
    uint64_t zero = s->plan->parallel.zero;
    enum dtype dtype =
        lora_is_on(s->plan) ? s->plan->lora.format : s->plan->precision.activations;
    struct weights_part list[2];
    for (unsigned i = 0, n = zero > 0 && zero < 3 ? copied(s, dtype, list) : 0; i < n; i++)
        gather(s, &list[i]);
    for (unsigned i = 0, n = plan_shares_states_outside(s->plan) ? copied(s, dtype, list) : 0;
         i < n; i++)
        gather_outside(s, &list[i]);
}

/* ---- pipeline ---- */

/* Rows to the next stage and from the one before, once per chunk of layers: all but the last
 * stage's last chunk send, all but the first's first receive. Backward the other way. */
void step_pipeline(struct step *s, enum phase phase)
{
    struct layer *l = &s->l;
    if (s->plan->parallel.pp == 1)
        return;
    bool back = phase == PHASE_BACKWARD;
    struct size rows = s->d.rows[ROW_LOCAL], before = s->d.width[COL_STREAMS], behind = before;
    if (plan_has_block_sums(s->plan)) {
        before = dims_with_blocks(l->z, s->plan, SLOT_BLOCKS_IN);
        behind = dims_with_blocks(l->z, s->plan, SLOT_BLOCKS_OUT);
    }
    uint16_t out = step_rows(s, back ? "d_stage_input" : "stage_output", CATEGORY_COMMUNICATION,
                             rows, back ? before : behind);
    uint16_t in = step_rows(s, back ? "d_stage_output" : "stage_input", CATEGORY_COMMUNICATION,
                            rows, back ? behind : before);
    struct size chunks = size_slot(l->z, SLOT_VPP);
    struct size sent = l->work->buffers[out].bytes, taken = l->work->buffers[in].bytes;
    struct size downs = size_sub(l->z, chunks, size_slot(l->z, SLOT_STAGE_HEAD));
    struct size ups = size_sub(l->z, chunks, size_slot(l->z, SLOT_STAGE_EMBEDDING));
    l->backward = back;
    layer_op(l,
             (struct op){.name = back ? "send_gradient" : "send_rows",
                         .kernel = KERNEL_COLLECTIVE,
                         .args.collective = {.how = SEND},
                         .group = GROUP_PP,
                         .bytes_read = size_mul(l->z, sent, back ? ups : downs),
                         .bytes_written = size_mul(l->z, taken, back ? downs : ups),
                         .bytes_sent = size_mul(l->z, sent, back ? ups : downs),
                         .bytes_received = size_mul(l->z, taken, back ? downs : ups)},
             OPERANDS(IN(SRC, out), OUT(DST, in)));
    l->backward = false;
}
