/* What an optimizer keeps of what it trains; see state_parts.h. Sources:
 * training-stacks.md 2 for those with a name of their own there, and the files named here. */
#include "plan/frozen.h"
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/piece/state_parts.h"

struct kept_moments state_moments(enum optimizer_kind kind)
{
    static const struct kept_moments kinds[] = {
        [OPTIMIZER_ADAM] = {2, 0},
        [OPTIMIZER_ADAM8BIT] = {2, 8},
        [OPTIMIZER_MUON] = {1, 0},
        [OPTIMIZER_LION] = {1, 0},
        [OPTIMIZER_LION8BIT] = {1, 8},
        [OPTIMIZER_ADAFACTOR] = {0, 0},
        [OPTIMIZER_SGD] = {1, 0},
        [OPTIMIZER_ADAM4BIT] = {2, 4},     /* torchao optim/adam.py, subclass_4bit.py */
        [OPTIMIZER_ADEMAMIX] = {3, 0},     /* bitsandbytes optim/ademamix.py: m1, m2, nu */
        [OPTIMIZER_ADEMAMIX8BIT] = {3, 8}, /* a scale per block of each */
        [OPTIMIZER_RMSPROP] = {1, 0},      /* torch optim/rmsprop.py: squares */
        [OPTIMIZER_RMSPROP8BIT] = {1, 8},
        [OPTIMIZER_KAHAN_ADAM] = {2, 0},    /* optimi/adamw.py, stableadamw.py */
        [OPTIMIZER_SCHEDULE_FREE] = {2, 0}, /* schedulefree/adamw_schedulefree.py: z, squares */
        [OPTIMIZER_ADAM_MINI] = {1, 0},     /* adam_mini/adam_mini.py 11ee3058 */
        [OPTIMIZER_GALORE] = {2, 0},        /* galore_torch/adamw.py, galore_projector.py */
        [OPTIMIZER_GALORE8BIT] = {2, 8},
        [OPTIMIZER_APOLLO] = {2, 0}, /* apollo_torch/apollo.py */
        [OPTIMIZER_LOMO] = {0, 0},   /* lomo_optim/lomo.py, adalomo.py */
        [OPTIMIZER_ADALOMO] = {0, 0},
    };
    return kinds[kind];
}

enum dtype state_moment2(const struct plan *plan)
{
    const struct precision *p = &plan->precision;
    return p->moment2 == DTYPE_NONE ? p->moments : p->moment2;
}

/* Elements of so many tables of the vocabulary among those that a rank updates. */
static struct size tables(struct state *s, struct size n)
{
    struct sizes *z = s->z;
    struct size vocab = dims_vocabulary(z, s->plan);
    struct size all = size_product(z, SIZES(n, vocab, size_slot(z, SLOT_HIDDEN)));
    return step_share_out(s->plan, z, (struct shards){all, size_const(z, 0)}, 1).dense;
}

static struct size embedding(struct state *s)
{
    return tables(s, size_slot(s->z, SLOT_STAGE_EMBEDDING));
}

/* Adam-mini steps embedding and head as Adam does: they have squares as well. A score head's
 * name is none of those. */
static void keep_squares_of_ends(struct state *s)
{
    const struct size none = size_const(s->z, 0);
    const struct model *model = &s->plan->model;
    bool frozen = plan_freezes_part(s->plan, FROZEN_EMBED_TOKENS),
         no_head = plan_freezes_part(s->plan, FROZEN_LM_HEAD) || model->tied_embeddings ||
                   model->labels;
    struct size n = size_add(s->z, frozen ? none : size_slot(s->z, SLOT_STAGE_EMBEDDING),
                             no_head ? none : size_slot(s->z, SLOT_STAGE_HEAD));
    if (!lora_is_on(s->plan))
        step_keep(s->work, "moments_of_ends", CATEGORY_OPTIMIZER, s->plan->precision.moments,
                  tables(s, n), 1, "adam_mini/adam_mini.py: embd_names");
}

/* Few bits and, per block of 256, an f32 scale (bitsandbytes; transformers asks torchao for the
 * same block; tensors under 4,096 elements, which both leave whole, are counted with the rest).
 * The trainer may ask bitsandbytes for an embedding's in f32 (trainer.py, create_optimizer). */
static void keep_few_bits(struct state *s, struct shards shards, struct kept_moments moments)
{
    struct sizes *z = s->z;
    if (s->plan->optimizer.plain_embedding && !lora_is_on(s->plan) &&
        !plan_freezes_part(s->plan, FROZEN_EMBED_TOKENS) && !state_offloads(s->plan)) {
        struct size plain = embedding(s);
        step_keep(s->work, "embedding_moments", CATEGORY_OPTIMIZER, DTYPE_F32, plain, moments.n,
                  "transformers trainer.py: optim_bits 32");
        shards.dense = size_sub(z, shards.dense, plain);
    }
    struct size block = size_const(z, 256);
    struct shards scales = {size_ceil_div(z, shards.dense, block),
                            size_ceil_div(z, shards.experts, block)};
    if (moments.bits == 4) /* two in a byte */
        shards = (struct shards){size_ceil_by(z, shards.dense, 2),
                                 size_ceil_by(z, shards.experts, 2)};
    state_keep(s, STATE_NAMES("adam_moments"), shards, CATEGORY_OPTIMIZER, DTYPE_INT8,
               moments.n);
    state_keep(s, STATE_NAMES("moment_scales"), scales, CATEGORY_OPTIMIZER, DTYPE_F32,
               moments.n);
}

/* What rounding an update took from 16-bit weights, in their format; an f32 master loses
 * nothing (optimi optimizer.py, kahan_comp). */
static void keep_rounding(struct state *s, struct shards shards)
{
    const struct precision *p = &s->plan->precision;
    enum dtype own = lora_is_on(s->plan) ? s->plan->lora.format : p->weights;
    enum dtype stepped = p->master == DTYPE_NONE || own == DTYPE_F32 ? own : p->master;
    if (stepped == DTYPE_BF16 || stepped == DTYPE_F16)
        state_keep(s, STATE_NAMES("kahan_sums"), shards, CATEGORY_OPTIMIZER, stepped, 1);
}

/* See state.h. */
struct shards state_sum_matrices(struct state *s, struct dims *d, bool adapters,
                                 struct size (*of)(struct state *s, const struct dims *d,
                                                   const struct layer_matrix *m))
{
    struct matrix_walk walk = {0};
    struct sizes *z = s->z;
    struct size zero = size_const(z, 0);
    struct shards sums = {zero, zero};
    dims_fill(d, s->plan, z);
    while (matrix_next(&walk, d)) {
        const struct layer_matrix *m = walk.matrix;
        struct size layers = adapters                ? lora_layers_of(&walk, *d)
                             : plan_freezes(s->plan) ? frozen_layers_of(&walk, *d)
                                                     : walk.layers;
        struct size all = size_mul(z, layers, of(s, d, m));
        if (m->expert)
            sums.experts = size_add(z, sums.experts, size_mul(z, all, lora_copies(s->plan, d)));
        else
            sums.dense = size_add(z, sums.dense, all);
    }
    return sums;
}

/* Rows and columns: of the matrix, or of the two of each of its adapters. */
static struct size sides_of(struct state *s, const struct dims *d, const struct layer_matrix *m)
{
    struct sizes *z = s->z;
    if (!lora_is_on(s->plan))
        return size_add(z, d->width[m->in], d->width[m->out]);
    struct lora_sides a = lora_of(s->plan, z, d, m);
    struct size in = size_plus(z, size_times(z, d->width[m->in], a.n), 2 * a.low);
    struct size all = size_add(z, in, a.outputs);
    return lora_has_magnitudes(s->plan) ? size_add(z, all, a.outputs) : all;
}

/* Rows and columns of what is trained of a stage's layers, and of embedding and head. */
static struct shards factors(struct state *s)
{
    struct sizes *z = s->z;
    struct dims d;
    struct shards sums = state_sum_matrices(s, &d, lora_is_on(s->plan), sides_of);
    const struct size none = size_const(z, 0);
    struct size hidden = d.width[COL_HIDDEN];
    struct size embedding = plan_freezes_part(s->plan, FROZEN_EMBED_TOKENS)
                                ? none
                                : size_slot(z, SLOT_STAGE_EMBEDDING);
    struct size head =
        plan_freezes_part(s->plan, FROZEN_LM_HEAD) ? none : size_slot(z, SLOT_STAGE_HEAD);
    struct size ends =
        size_add(z, size_mul(z, embedding, size_add(z, d.width[COL_VOCAB], hidden)),
                 size_mul(z, head, size_add(z, d.width[COL_OUTPUTS], hidden)));
    if (!lora_is_on(s->plan))
        sums.dense = size_add(z, sums.dense, ends);
    if (!lora_is_on(s->plan) && plan_embeds_layers(s->plan)) { /* its table, its projection */
        struct size both = size_add(z, size_slot(z, SLOT_LAYER_VOCAB), d.width[COL_HIDDEN]);
        both = size_add(z, both, size_times(z, d.width[COL_LAYER_EMBEDDINGS], 2));
        sums.dense =
            size_add(z, sums.dense, size_mul(z, size_slot(z, SLOT_STAGE_EMBEDDING), both));
    }
    return step_share_out(s->plan, z, sums, 1);
}

/* Magnitudes beside adapters. */
static struct size magnitudes_of(struct state *s, const struct dims *d,
                                 const struct layer_matrix *m)
{
    return lora_of(s->plan, s->z, d, m).outputs;
}

/* Muon's second moment: of what is no matrix of a layer, as adapters are and magnitudes not. */
static void keep_plain_moment(struct state *s)
{
    struct sizes *z = s->z;
    struct dims d;
    struct size plain =
        size_slot(z, plan_freezes(s->plan) ? SLOT_TRAINED_PLAIN : SLOT_PLAIN_PARAMETERS);
    if (lora_is_on(s->plan)) {
        struct shards all = state_sum_matrices(s, &d, true, magnitudes_of);
        plain = size_add(z, all.dense, all.experts);
    }
    if (s->plan->parallel.zero >= 1)
        plain = size_ceil_div(z, plain, state_sharers(s->plan, z).dense);
    step_keep(s->work, "adam_second_moments", CATEGORY_OPTIMIZER, state_moment2(s->plan), plain,
              1, NULL);
}

/* ---- projected gradients ---- */

static bool projects(const struct plan *plan)
{
    enum optimizer_kind kind = plan->optimizer.kind;
    return kind == OPTIMIZER_GALORE || kind == OPTIMIZER_GALORE8BIT || kind == OPTIMIZER_APOLLO;
}

static bool is_projected(const struct plan *plan, const struct layer_matrix *m)
{
    const struct enum_list *parts = &plan->optimizer.projected;
    bool experts = segment_has_experts(SEGMENT_MOE) && m->segments == IN_MOE;
    enum frozen_part part = frozen_part_of(experts ? SEGMENT_MOE : SEGMENT_DENSE, m->op);
    for (uint64_t i = 0; i < parts->n; i++)
        if (parts->value[i] == part)
            return !m->expert; /* one parameter of all, no linear layer (transformers 5) */
    return false;
}

/* Of a matrix that is projected, over its linear layers: elements, and rank x one of its sides.
 */
enum projected { PROJECTED_ALL, PROJECTED_LONG, PROJECTED_SHORT };

static struct size projected(struct state *s, const struct dims *d,
                             const struct layer_matrix *m, enum projected what)
{
    struct sizes *z = s->z;
    enum col pieces[MATRIX_PIECES];
    size_t n = matrix_pieces(m, d, pieces);
    struct size in = d->width[m->in], sum = size_const(z, 0);
    for (size_t i = 0; i < n && is_projected(s->plan, m); i++) {
        struct size out = d->width[pieces[i]];
        struct size less = size_min(z, in, out), more = size_max(z, in, out);
        struct size rank = size_min(z, less, size_const(z, s->plan->optimizer.rank));
        sum = size_add(z, sum,
                       what == PROJECTED_ALL
                           ? size_mul(z, in, out)
                           : size_mul(z, rank, what == PROJECTED_LONG ? more : less));
    }
    return sum;
}

static struct size projected_all(struct state *s, const struct dims *d,
                                 const struct layer_matrix *m)
{
    return projected(s, d, m, PROJECTED_ALL);
}

static struct size projected_long(struct state *s, const struct dims *d,
                                  const struct layer_matrix *m)
{
    return projected(s, d, m, PROJECTED_LONG);
}

static struct size projected_short(struct state *s, const struct dims *d,
                                   const struct layer_matrix *m)
{
    return projected(s, d, m, PROJECTED_SHORT);
}

/* An embedding's table among what is projected (ms-swift's galore_with_embedding), which has
 * more rows than columns: so much of the elements times `what`. */
static struct size projected_table(struct state *s, enum projected what)
{
    struct sizes *z = s->z;
    const struct enum_list *parts = &s->plan->optimizer.projected;
    bool named = false;
    for (uint64_t i = 0; i < parts->n; i++)
        named = named || parts->value[i] == FROZEN_EMBED_TOKENS;
    if (!named || plan_freezes_part(s->plan, FROZEN_EMBED_TOKENS))
        return size_const(z, 0);
    struct size rows = dims_vocabulary(z, s->plan), columns = size_slot(z, SLOT_HIDDEN);
    struct size less = size_min(z, rows, columns), more = size_max(z, rows, columns);
    struct size rank = size_min(z, less, size_const(z, s->plan->optimizer.rank));
    struct size one = what == PROJECTED_ALL    ? size_mul(z, rows, columns)
                      : what == PROJECTED_LONG ? size_mul(z, rank, more)
                                               : size_mul(z, rank, less);
    return size_mul(z, size_slot(z, SLOT_STAGE_EMBEDDING), one);
}

/* Of all that is projected. */
static struct size projected_sum(struct state *s, enum projected what)
{
    struct size (*const of[])(struct state * s, const struct dims *d,
                              const struct layer_matrix *m) = {
        [PROJECTED_ALL] = projected_all,
        [PROJECTED_LONG] = projected_long,
        [PROJECTED_SHORT] = projected_short,
    };
    struct dims d;
    return size_add(s->z, state_sum_matrices(s, &d, false, of[what]).dense,
                    projected_table(s, what));
}

/* Moments of a projected gradient are as large as it is; the projection of the other side stays
 * until the next one (galore_projector.py, 'std'), APOLLO's is drawn again. */
static struct shards project(struct state *s, struct shards shards)
{
    struct sizes *z = s->z;
    if (s->plan->optimizer.kind != OPTIMIZER_APOLLO)
        step_keep(s->work, "projections", CATEGORY_OPTIMIZER, s->plan->precision.gradients,
                  projected_sum(s, PROJECTED_SHORT), 1, "galore_torch/galore_projector.py");
    shards.dense = size_sub(z, shards.dense, projected_sum(s, PROJECTED_ALL));
    shards.dense = size_add(z, shards.dense, projected_sum(s, PROJECTED_LONG));
    return shards;
}

void state_keep_moments(struct state *s, struct shards shards)
{
    if (projects(s->plan) && !lora_is_on(s->plan))
        shards = project(s, shards);
    const struct precision *p = &s->plan->precision;
    enum optimizer_kind kind = s->plan->optimizer.kind;
    struct kept_moments moments = state_moments(kind);
    bool host = state_offloads(s->plan);
    enum dtype first = host ? DTYPE_F32 : p->moments;
    enum dtype second = host || kind != OPTIMIZER_ADAM ? first : state_moment2(s->plan);
    if (moments.bits) {
        keep_few_bits(s, shards, moments);
        return;
    }
    bool apart = first != second;
    state_keep(s, STATE_NAMES("adam_moments"), shards, CATEGORY_OPTIMIZER, first,
               apart ? 1 : moments.n);
    if (apart)
        state_keep(s, STATE_NAMES("adam_second_moments"), shards, CATEGORY_OPTIMIZER, second,
                   1);
    if (kind == OPTIMIZER_ADAFACTOR || kind == OPTIMIZER_ADALOMO)
        state_keep(s, STATE_NAMES("factored_moments"), factors(s), CATEGORY_OPTIMIZER,
                   DTYPE_F32, 1);
    if (kind == OPTIMIZER_ADAM_MINI)
        keep_squares_of_ends(s);
    if (kind == OPTIMIZER_KAHAN_ADAM)
        keep_rounding(s, shards);
    if (kind == OPTIMIZER_MUON && first != DTYPE_NONE &&
        (!lora_is_on(s->plan) || lora_has_magnitudes(s->plan)))
        keep_plain_moment(s);
}
