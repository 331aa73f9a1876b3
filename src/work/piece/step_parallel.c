/* What data and pipeline parallelism add to a step: sharded weights gathered layer by layer and
 * gradients reduced, and rows handed to the next stage. */
#include "plan/derive.h"
#include "work/list/params.h"
#include "work/piece/step.h"

/* ---- parameters of one layer ---- */

/* Dense parameters of a layer on one rank of tp: its part of what tp splits, and the rest whole
 * (stage.c's rule, layer by layer; what rounding leaves goes to the ends). */
static uint64_t dense_parameters(const struct step *s, enum layer_kind kind)
{
    static const struct params_part none;
    struct params params;
    params_count(&s->plan->model, &params);
    enum mixer mixer = kind_mixer(kind);
    bool moe = kind_ffn(kind) == FFN_MOE, dense = kind_ffn(kind) == FFN_DENSE;
    const struct params_part *const parts[] = {
        &params.mixer[mixer],
        &params.layer_norms,
        dense ? &params.dense_mlp : &none,
        moe ? &params.router : &none,
        moe ? &params.shared : &none,
        moe ? &params.residual : &none,
    };
    uint64_t matrices = 0, vectors = 0;
    uint64_t whole = params.whole[mixer] + (moe ? params.router.matrices : 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        matrices += parts[i]->matrices;
        vectors += parts[i]->norms + parts[i]->biases;
    }
    return (matrices - whole) / s->plan->parallel.tp + whole + vectors;
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
    const char *what; /* "weights", "expert_weights" */
    enum process_group group;
    struct size elements; /* gathered */
};

static void gather(struct step *s, const struct weights_part *shard)
{
    struct layer *l = &s->l;
    enum dtype dtype = s->plan->precision.activations;
    struct size n = layer_group_ranks(l, shard->group);
    uint16_t part = flat(s, arena_printf(l->arena, "shard_of_%s", shard->what),
                         CATEGORY_WEIGHTS, dtype, size_ceil_div(l->z, shard->elements, n));
    uint16_t all = flat(s, arena_printf(l->arena, "gathered_%s", shard->what), CATEGORY_WEIGHTS,
                        dtype, shard->elements);
    layer_collective(l, arena_printf(l->arena, "gather_%s", shard->what), shard->group,
                     ALL_GATHER, part, all, l->work->buffers[all].bytes);
}

static enum dtype gradient_dtype(const struct step *s)
{
    const struct precision *p = &s->plan->precision;
    return p->gradients == DTYPE_NONE ? p->activations : p->gradients;
}

static void reduce(struct step *s, const struct weights_part *shard, enum collective_kind how)
{
    struct layer *l = &s->l;
    enum dtype dtype = gradient_dtype(s);
    struct size kept = shard->elements;
    if (how == REDUCE_SCATTER)
        kept = size_ceil_div(l->z, kept, layer_group_ranks(l, shard->group));
    uint16_t all = flat(s, arena_printf(l->arena, "gradients_of_%s", shard->what),
                        CATEGORY_GRADIENTS, dtype, shard->elements);
    uint16_t part = flat(s, arena_printf(l->arena, "reduced_gradients_of_%s", shard->what),
                         CATEGORY_GRADIENTS, dtype, kept);
    layer_collective(l, arena_printf(l->arena, "reduce_gradients_of_%s", shard->what),
                     shard->group, how, all, part, l->work->buffers[all].bytes);
}

/* The shards of the segment at hand; of the step's own ends where it is no layer. */
static unsigned shards(struct step *s, struct weights_part out[2])
{
    struct sizes *z = s->l.z;
    unsigned n = 0;
    uint64_t copies = plan_dp(s->plan) * s->plan->parallel.cp;
    struct size dense = s->l.segment == SEGMENT_HEAD
                            ? end_parameters(s)
                            : size_const(z, dense_parameters(s, segment_kind(s->l.segment)));
    if (copies > 1)
        out[n++] = (struct weights_part){"weights", GROUP_DP, dense};
    if (segment_has_experts(s->l.segment) && plan_expert_dp(s->plan) > 1)
        out[n++] = (struct weights_part){"expert_weights", GROUP_EDP, expert_parameters(s)};
    return n;
}

static bool gathers_layers(const struct step *s)
{
    return s->plan->parallel.zero >= 3;
}

void step_gather_weights(struct step *s, enum phase phase)
{
    struct weights_part list[2];
    s->l.backward = phase == PHASE_BACKWARD;
    for (unsigned i = 0, n = gathers_layers(s) ? shards(s, list) : 0; i < n; i++)
        gather(s, &list[i]);
    s->l.backward = false;
}

void step_reduce_gradients(struct step *s)
{
    struct weights_part list[2];
    s->l.backward = true;
    for (unsigned i = 0, n = gathers_layers(s) ? shards(s, list) : 0; i < n; i++)
        reduce(s, &list[i], REDUCE_SCATTER);
    s->l.backward = false;
}

/* All weights of a device, as far as there are copies; how many parts. */
static unsigned copied(struct step *s, struct weights_part out[2])
{
    struct sizes *z = s->l.z;
    const struct weights_part all[] = {
        {"weights", GROUP_DP, size_slot(z, SLOT_DENSE_PARAMETERS)},
        {"expert_weights", GROUP_EDP, size_slot(z, SLOT_EXPERT_PARAMETERS)},
    };
    const uint64_t ranks[] = {plan_dp(s->plan) * s->plan->parallel.cp, plan_expert_dp(s->plan)};
    unsigned n = 0;
    for (unsigned i = 0; i < 2; i++)
        if (ranks[i] > 1)
            out[n++] = all[i];
    return n;
}

void step_reduce_all(struct step *s)
{
    uint64_t zero = s->plan->parallel.zero;
    struct weights_part list[2];
    for (unsigned i = 0, n = zero < 3 ? copied(s, list) : 0; i < n; i++)
        reduce(s, &list[i], zero ? REDUCE_SCATTER : ALL_REDUCE);
}

void step_gather_all(struct step *s)
{
    uint64_t zero = s->plan->parallel.zero;
    struct weights_part list[2];
    for (unsigned i = 0, n = zero > 0 && zero < 3 ? copied(s, list) : 0; i < n; i++)
        gather(s, &list[i]);
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
    struct size rows = s->d.rows[ROW_LOCAL], hidden = s->d.width[COL_HIDDEN];
    uint16_t out = step_rows(s, back ? "d_stage_input" : "stage_output", CATEGORY_COMMUNICATION,
                             rows, hidden);
    uint16_t in = step_rows(s, back ? "d_stage_output" : "stage_input", CATEGORY_COMMUNICATION,
                            rows, hidden);
    struct size chunks = size_slot(l->z, SLOT_VPP), bytes = l->work->buffers[out].bytes;
    struct size downs = size_sub(l->z, chunks, size_slot(l->z, SLOT_STAGE_HEAD));
    struct size ups = size_sub(l->z, chunks, size_slot(l->z, SLOT_STAGE_EMBEDDING));
    l->backward = back;
    layer_op(l,
             (struct op){.name = back ? "send_gradient" : "send_rows",
                         .kernel = KERNEL_COLLECTIVE,
                         .args.collective = {.how = SEND},
                         .group = GROUP_PP,
                         .bytes_read = size_mul(l->z, bytes, back ? ups : downs),
                         .bytes_written = size_mul(l->z, bytes, back ? downs : ups),
                         .bytes_sent = size_mul(l->z, bytes, back ? ups : downs),
                         .bytes_received = size_mul(l->z, bytes, back ? downs : ups)},
             OPERANDS(IN(SRC, out), OUT(DST, in)));
    l->backward = false;
}
